"""Whether what a requirement needs is there: the words of the catalogue, and what lacks where it is not."""

from __future__ import annotations

from dataclasses import dataclass

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.scenario import NotApplicable, Trouble, Untested
from rap_conformance.engine.session import Lack
from rap_conformance.protocol.presence import State
from rap_conformance.server.facts import Facts
from rap_conformance.server.tools import Tools

_KINDS = {"pending": "pending", "quick": "quick", "sub": "subscription", "final": "final"}
"""The kind of call that a need of the catalogue stands for."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What is there.

    `trusted`: the network is declared to need no credentials. `identified`: credentials are configured;
    `other`: those of a second identity too. `ours`: the suite started the server.
    """

    facts: Facts
    tools: Tools
    trusted: bool
    identified: bool
    other: bool
    ours: bool

    def lack(self, need: str) -> Lack | None:
        """What is wrong if something of that name is needed; None if it is there, or nobody knows yet."""
        try:
            self._need(need)
        except NotApplicable as missing:
            return Lack(Verdict.NOT_APPLICABLE, str(missing))
        except Untested as missing:
            return Lack(Verdict.UNTESTED, str(missing))
        except Trouble as trouble:
            return Lack(Verdict.ERROR, str(trouble))
        return None

    def _need(self, need: str) -> None:
        """Raises NotApplicable, Untested or Trouble if something is not there."""
        if need == "manifest" and self.facts.manifest is None:
            silent = self.facts.discovery is None or self.facts.discovery.status is None
            raise (Trouble if silent else Untested)(self.facts.no_calls)
        if need == "status":
            self._need_status()
        elif need == "control" and not self.ours:
            raise Untested("only the suite can restart the server: give --server-cmd instead of --server-url")
        elif need == "auth":
            self._need_credentials()
        elif need == "other" and not self.other:
            raise Untested("no second identity is configured; give [auth.other]")
        elif need == "prefix" and not self.facts.prefix:
            raise NotApplicable("the base URL has no path prefix")
        elif need in _KINDS:
            self.tools.of(_KINDS[need])

    def _need_status(self) -> None:
        presence = self.facts.status
        match presence.state:
            case State.ABSENT:
                reason = f"the server has no /tool_call_status: {presence.reason}"
                if self.facts.status_without_live:
                    reason += (
                        " (asked while no call was live: a server that answers 404 for unknown ids "
                        "looks the same)"
                    )
                raise NotApplicable(reason)
            case State.UNSURE:
                raise Untested(f"/tool_call_status cannot be judged: {presence.reason}")
            case State.ERROR:
                raise Trouble(f"/tool_call_status cannot be judged: {presence.reason}")

    def _need_credentials(self) -> None:
        """Raises NotApplicable for a declared trusted network, Untested if no credentials are configured."""
        if self.trusted:
            raise NotApplicable(
                "the configuration declares a trusted network without authentication (--no-auth)"
            )
        if not self.identified:
            raise Untested("no credentials are configured; give --auth-header or [auth]")
