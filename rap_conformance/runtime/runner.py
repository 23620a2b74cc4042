"""Runs scenarios against a runtime and turns what they raise into results.

Like `rap_conformance.runner`: only a Violation accuses, whatever else goes wrong is an error of ours, and
what merely did not happen by a deadline is confirmed by a second run. Trouble with the adapter is no result:
it ends the run.
"""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.catalogue import Requirement
from rap_conformance.evidence import Result, Verdict
from rap_conformance.peers.patience import Halted
from rap_conformance.runtime.adapter import AdapterSilent, AdapterTrouble
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.scenario import NotApplicable, Record, Trouble, Untested, Violation, confirmed, our_own

Function = Callable[[RuntimePeer], None]


class RuntimeRunner:
    """Judges requirements with their scenarios, one after another: there is one runtime."""

    def __init__(self, session: RuntimeSession) -> None:
        self.session = session
        self.results: dict[str, Result] = {}

    def result(self, requirement: Requirement, function: Function) -> Result:
        """The result for one requirement. Raises AdapterTrouble if the adapter cannot be used (any more)."""
        if self.session.patience.halted:
            found = Result(requirement, Verdict.ERROR, "the run ended before this was judged")
        else:
            found = self._judge(requirement, function)
        self.results[requirement.code] = found
        return found

    def _judge(self, requirement: Requirement, function: Function) -> Result:
        def once(attempt: int) -> Record:
            return self._once(requirement, function, attempt)

        return confirmed(once, lambda: self.session.patience.halted)

    def _once(self, requirement: Requirement, function: Function, attempt: int) -> Record:
        record = Record(requirement)
        peer = RuntimePeer(self.session, record, attempt)
        began = self.session.patience.now()
        try:
            function(peer)
            if not record.missing and not record.inapplicable:
                record.judged += 1
        except Violation as violation:
            record.judged += 1
            record.add(violation)
        except Untested as missing:
            record.missing.append(str(missing))
        except NotApplicable as missing:
            record.inapplicable.append(str(missing))
        except AdapterSilent as silence:
            self._bury(record, peer, silence)
        except AdapterTrouble:
            raise
        except (Halted, Trouble) as trouble:
            record.errors.append(str(trouble))
        except Exception as error:
            record.errors.append(our_own(error))
        record.seconds = self.session.patience.now() - began
        return record

    def _bury(self, record: Record, peer: RuntimePeer, silence: AdapterSilent) -> None:
        """A runtime that is gone right after a callback died of it; any other silence is the adapter's."""
        adapter = self.session.adapter
        if peer.culprit is None or not self.session.patience.until(adapter.gone, 1.0):
            raise silence
        culprit = peer.culprit
        self.session.restart_adapter()
        actual = "it was gone right after this callback, and its adapter with it"
        record.judged += 1
        record.add(Violation("the runtime goes on", actual, culprit, case="the runtime died of a callback"))
