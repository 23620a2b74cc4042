"""Makes the value of a run of results, options and a session's account of itself; nobody else does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rap_conformance.engine import baseline
from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.run import Given, Result, Run
from rap_conformance.engine.runner import ENDED, results_of
from rap_conformance.engine.session import Account
from rap_conformance.engine.verdict import judge


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: `cut_short` before its time, or `refusal`: it could not be made. `exit` outranks."""

    cut_short: str = ""
    refusal: str = ""
    exit: int | None = None


def made(
    options: Plan,
    account: Account,
    judged: Mapping[str, Result],
    ending: Ending,
    *,
    started: str,
    suite_version: str,
    catalogue: Catalogue,
) -> Run:
    """The run as a value. With a refusal nothing is judged, whatever was found before."""
    found = {} if ending.refusal else judged
    cut_short = ending.cut_short
    unjudged = len(found) < len(options.requirements) or any(
        result.verdict is Verdict.ERROR for result in found.values()
    )
    if account.cut_short and unjudged:
        cut_short = cut_short or account.cut_short
    reason = ending.refusal or cut_short or ENDED
    applied = baseline.apply(results_of(options.requirements, found, reason), options.known)
    verdict, code = judge(
        applied.results,
        planned=len(options.requirements),
        cut_short=cut_short or ending.refusal or account.incomplete,
        selection=bool(options.selected),
        level=options.level,
        strict=options.strict,
        doubtful=account.doubtful,
        stale=bool(applied.stale),
    )
    return Run(
        target=account.target,
        revision=options.revision,
        catalogue=catalogue.specification.version,
        protocol=catalogue.specification.name,
        suite_version=suite_version,
        started=started,
        profile=options.profile,
        seed=options.seed,
        results=applied.results,
        verdict=verdict,
        exit=code if ending.exit is None else ending.exit,
        duration=account.duration,
        requests=account.requests,
        planned=len(options.requirements),
        executed=len(found),
        causes=account.causes,
        cut_short=cut_short or ending.refusal,
        notes=account.notes,
        configuration=account.configuration,
        catalogue_digest=catalogue.digest,
        selected=options.selected,
        known=applied.used,
        stale=applied.stale,
        options=_repeatable(options, account),
        latencies=account.latencies,
        life=account.life,
        openings=account.openings,
    )


def _repeatable(options: Plan, account: Account) -> tuple[tuple[str, Given], ...]:
    """What was given, with a command as reports show it: it may hold a secret."""
    command = account.target.command
    return tuple(
        (name, command if name.endswith("-cmd") and command else value) for name, value in options.given
    )
