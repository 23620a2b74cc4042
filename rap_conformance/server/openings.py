"""What would let more be judged: lines to paste into a configuration, made of the server's own tools.

Nothing here asks the server anything: the manifest and what the preflight found out are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level, Requirement
from rap_conformance.engine.run import Opening
from rap_conformance.server.first_config import Proposal, final_table, proposals, table
from rap_conformance.server.needs import Needs

_KINDS = {"quick": "quick", "pending": "pending", "sub": "subscription"}
_LIKE = {
    "quick": "one that ends at once",
    "pending": "one that stays pending for some seconds",
    "subscription": "a subscription",
}
_FIXED = {
    "auth": (
        "[auth]",
        'headers = { Authorization = "env:RAP_TOKEN" }  # the variable holds the whole value: Bearer …',
    ),
    "other": ("[auth.other]", 'headers = { Authorization = "env:RAP_TOKEN_2" }  # a second identity'),
    "control": ("[server]", 'command = "the command that starts it --port {port}"  # instead of url'),
}
"""By need: what is the same for every server."""


def openings(needs: Needs, requirements: Iterable[Requirement], seed: int) -> tuple[Opening, ...]:
    """For each thing that is missing: what to write, and which requirements that would open.

    What is missing for good (the server has no such endpoint) opens nothing. Made for the report's
    "untested" and for `check --dry-run`.
    """
    waiting = [each for each in requirements if not _hopeless(needs, each)]
    found = []
    offered = proposals(needs.facts.tools, seed) if needs.facts.tools else {}
    for need in (*_KINDS, "final", *_FIXED):
        lack = needs.lack(need)
        if lack is None or lack.verdict is not Verdict.UNTESTED or needs.facts.no_calls:
            continue
        if need == "final" and needs.lack("sub") is not None:
            continue  # the subscription comes first, and its block has both
        wholly = [each for each in waiting if need in each.needs]
        partly = [each for each in waiting if need in each.parts]
        if wholly or partly:
            lines, remark = _written(need, offered)
            found.append(
                Opening(
                    need=need,
                    lines=lines,
                    remark=remark,
                    codes=tuple(each.code for each in wholly),
                    parts=tuple(each.code for each in partly),
                    musts=sum(each.level is Level.MUST for each in wholly),
                )
            )
    return tuple(found)


def _hopeless(needs: Needs, requirement: Requirement) -> bool:
    lacks = (needs.lack(need) for need in requirement.needs)
    return any(lack is not None and lack.verdict is not Verdict.UNTESTED for lack in lacks)


def _written(need: str, offered: dict[str, Proposal]) -> tuple[tuple[str, ...], str]:
    """The lines to paste, and what to know before."""
    if need in _FIXED:
        return _FIXED[need], ""
    if need == "final":
        proposal = offered.get("subscription", Proposal(None))
        lines = final_table(proposal)
        return tuple(lines), "" if lines else "arguments with which the subscription ends by itself"
    kind = _KINDS[need]
    proposal = offered.get(kind, Proposal(None))
    if proposal.tool is None:
        return (), f"none of the server's tools looks like {_LIKE[kind]}: name one in [scenario.{kind}]"
    return tuple(_lines(kind, proposal)), _before(proposal.tool)


def _lines(kind: str, proposal: Proposal) -> Iterator[str]:
    yield from table(kind, proposal)
    if kind == "subscription":
        yield from final_table(proposal)


def _before(tool: dict[str, Any]) -> str:
    annotations = tool.get("annotations")
    known = annotations if isinstance(annotations, dict) else {}
    if known.get("readOnly") is True:
        return ""
    return f"{str(tool.get('name'))[:60]} is not annotated readOnly: what is named here is called"
