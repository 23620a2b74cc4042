"""docs/detection.md: which faults each requirement is shown to catch. A pure function of the mutants.

Written by `python -m rap_conformance.detection --write-docs`, after a run of all mutants in which each was
found by exactly the requirements that it declares; so what is declared is what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rap_conformance.docs import cell, level
from rap_conformance.engine.requirement import Requirement
from rap_conformance.places import PACKAGE
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting.view import plural

PLACE = PACKAGE.parent / "docs" / "detection.md"
HEAD = """\
# What the suite catches

<!-- Written by `python -m rap_conformance.detection --write-docs`. Do not edit. -->

A mutant is the reference server with one fault. It declares which requirements the fault violates, each with
its reason from the specification, before it first runs. Then it is certified like any other server, by
`rap-conformance check`. It is *exact* if the suite found just the requirements that it declares, and gave
every other the verdict that the reference server gets: a requirement missed, one accused wrongly and one left
`untested` count alike.

`make mutants` runs all of them; `rap-conformance serve --mutant NAME` starts one to look at.
"""


def anchor(name: str) -> str:
    """A link to a mutant's row."""
    return f"[{name}](#{name})"


def by_requirement(mutants: Mapping[str, Any], judged: list[Requirement]) -> Iterator[str]:
    """The table of requirements."""
    yield "| requirement | | level | mutants that violate it and nothing else | with others |"
    yield "|---|---|---|---|---|"
    for requirement in judged:
        code = requirement.code
        alone = [anchor(name) for name, mutant in mutants.items() if set(mutant.violates) == {code}]
        others = [anchor(name) for name, mutant in mutants.items() if {code} < set(mutant.violates)]
        where = f"[{code}](requirements.md#{code.lower()}-{requirement.name})"
        yield (
            f"| {where} | {requirement.name} | {level(requirement)} | {', '.join(alone) or '-'} "
            f"| {', '.join(others) or '-'} |"
        )


def by_mutant(mutants: Mapping[str, Any]) -> Iterator[str]:
    """The table of mutants."""
    yield "| mutant | what it does | violates, and so is found by |"
    yield "|---|---|---|"
    for name, mutant in mutants.items():
        reasons = "<br>".join(
            f"{code}{f' ({mutant.mild[code]})' if code in mutant.mild else ''}: {cell(reason)}"
            for code, reason in sorted(mutant.violates.items())
        )
        spared = "".join(
            f"<br>{verdict}, since nothing is left to judge: {cell(glob)}"
            for glob, verdict in sorted(mutant.unjudged.items())
        )
        what = cell(" ".join(mutant.what.split()))
        yield f'| <a id="{name}"></a>{name} | {what} | {reasons}{spared} |'


def text(mutants: Mapping[str, Any]) -> str:
    """The whole page."""
    judged = [r for r in catalogue() if any(r.code in mutant.violates for mutant in mutants.values())]
    lines = [
        HEAD,
        f"{plural(len(mutants), 'mutant')}, {plural(len(judged), 'requirement')}; at the last run of all: "
        f"{len(mutants)} of {len(mutants)} exact, no wrong accusation.",
        "",
        "## By requirement",
        "",
        *by_requirement(mutants, judged),
        "",
        "## By mutant",
        "",
        *by_mutant(mutants),
    ]
    return "\n".join(lines) + "\n"


def write(mutants: Mapping[str, Any], place: Path = PLACE) -> None:
    """Write the page anew."""
    place.write_text(text(mutants), "utf-8")
