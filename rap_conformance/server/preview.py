"""`check --dry-run`: what a run would call and what would stay untested, with one question, for discovery."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.safe import terminal_text
from rap_conformance.engine.scenario import NotApplicable, Untested
from rap_conformance.engine.session import Preview
from rap_conformance.protocol.presence import Presence, State
from rap_conformance.server.config import ScenarioConfig
from rap_conformance.server.openings import openings
from rap_conformance.server.preflight import discover, start
from rap_conformance.server.session import ServerSession

_LONGEST = 200


def preview(session: ServerSession) -> Preview:
    """Start the server if it is ours, ask for the manifest, and say what a run would do.

    Raises Refused if nobody answers or the command fails.
    """
    start(session)
    discover(session)
    lines = tuple(_lines(session))
    found = openings(session.needs, session.common.requirements, session.common.seed)
    return Preview(lines, found if session.facts.manifest is not None else ())


def _lines(session: ServerSession) -> Iterator[str]:
    facts = session.facts
    if facts.manifest is None:
        yield f"nothing can be judged: {facts.no_calls}"
        return
    name = facts.manifest.get("name")
    yield f"discovery shows {terminal_text(str(name), 80)!r} with {len(facts.tools)} tools"
    yield "would be called:"
    yield from _calls(session)
    # Whether the endpoint is there is not asked: what needs it is taken to be possible.
    if session.config.features.get("status") is not False:
        facts.status = Presence(State.PRESENT, "taken to be there, for the preview")
    else:
        facts.status = Presence(State.ABSENT, "the configuration declares that there is none")
    unless = ", unless what is tried turns out to be what they need" if "quick" in facts.found else ""
    yield f"would stay untested{unless}:"
    yield from _untested(session)


def _calls(session: ServerSession) -> Iterator[str]:
    named = session.config.scenarios
    for kind, chosen in named.items():
        try:
            session.tools.of(kind)
        except (Untested, NotApplicable) as missing:
            yield f"  {kind:<13} nothing: {terminal_text(str(missing), _LONGEST)}"
        else:
            yield f"  {kind:<13} {_shown(chosen)}"
            for before in chosen.setup:
                yield f"  {'':<13} after {_shown(ScenarioConfig(before.operation, before.arguments))}"
    if "quick" in named:
        return
    try:
        tried = session.tools.candidates()
    except (Untested, NotApplicable) as missing:
        yield f"  no tool: {terminal_text(str(missing), _LONGEST)}"
        return
    for each in tried:
        session.facts.found.setdefault("quick", each)
        yield f"  {'to try':<13} {_shown(each)}"
    if not tried and not named:
        yield "  no tool: none is configured, annotated readOnly and callable with generated arguments"


def _shown(tool: ScenarioConfig) -> str:
    arguments = json.dumps(tool.arguments, ensure_ascii=False)
    lasts = f", for about {tool.seconds:g} s" if tool.seconds else ""
    return f"{terminal_text(tool.operation, 80)} {terminal_text(arguments, _LONGEST)}{lasts}"


def _untested(session: ServerSession) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for requirement in session.common.requirements:
        for need in requirement.needs:
            lack = session.lack(need)
            if lack is not None and lack.verdict is Verdict.UNTESTED:
                mark = "" if requirement.level is Level.MUST else f" ({requirement.level})"
                by_reason.setdefault(lack.reason, []).append(f"{requirement.code}{mark}")
                break
    for reason, codes in by_reason.items():
        yield f"  {' '.join(codes)}: {terminal_text(reason, _LONGEST)}"
    if not by_reason:
        yield "  nothing, as far as discovery tells"
