"""Who is certified to see whether the suite finds what it should: references and mutants, of both roles."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rap_conformance.protocol.specification import catalogue
from rap_conformance.runtime import embedded

REFERENCE = "reference"
"""How the names of all references begin, and the reference server's whole name."""
BEARER = "bearer"
"""How callers identify themselves unless something else is said."""
SERVER, RUNTIME = ROLES = ("server", "runtime")
FINDINGS = frozenset({"fail", "warn", "advice"})
NO_FINDING = frozenset({"pass", "not-applicable"})
"""What a reference may get."""


@dataclass(frozen=True)
class Subject:
    """A peer to certify: a mutant, or a reference.

    `open`: it asks for no credentials. `way` is how callers identify themselves otherwise. `mild` has the
    verdict of those expected that are to be found as less than what their level says.
    """

    name: str
    what: str
    expected: frozenset[str] = frozenset()
    unjudged: Mapping[str, str] = field(default_factory=dict)
    open: bool = False
    role: str = "server"
    way: str = BEARER
    mild: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> Subject:
        """The reference that it is compared with: of the same role, as open, for the same callers."""
        return reference_subject(open=self.open, role=self.role, way=self.way)

    @property
    def mutant(self) -> bool:
        """Whether it is a mutant."""
        return not self.name.startswith(REFERENCE)


@dataclass(frozen=True)
class Outcome:
    """What a run said. `first` is the number of requests made until the first finding, if there was one."""

    subject: Subject
    verdicts: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)
    first: int | None = None
    seconds: float = 0.0
    trouble: str = ""

    @property
    def found(self) -> frozenset[str]:
        """The requirements that were found violated."""
        return frozenset(code for code, verdict in self.verdicts.items() if verdict in FINDINGS)

    def wrong(self, reference: Mapping[str, str] | None) -> dict[str, str]:
        """Every code whose verdict is not the right one, with that verdict; "missing" if there is none.

        Without `reference`, the verdicts on the reference, this outcome is about the reference itself.
        """
        own = self.verdicts if reference is None else reference
        found = {}
        for code in sorted(set(own) | set(self.verdicts) | self.subject.expected):
            verdict = self.verdicts.get(code, "missing")
            if code in self.subject.expected:
                right = verdict == self.subject.mild.get(code, verdict) and verdict in FINDINGS
            else:
                allowed = NO_FINDING if reference is None else {own.get(code, "missing")}
                allowed = allowed | {
                    v for glob, v in self.subject.unjudged.items() if fnmatch.fnmatchcase(code, glob)
                }
                right = verdict in allowed
            if not right:
                found[code] = verdict
        return found


def reference_subject(*, open: bool = False, role: str = SERVER, way: str = BEARER) -> Subject:
    """The reference of a role, which violates nothing."""
    if role == RUNTIME:
        return Subject(f"{REFERENCE} runtime", "The reference runtime.", role=role)
    if open:
        unjudged = {r.code: "untested" for r in catalogue() if "other" in r.needs}
        return Subject(f"{REFERENCE}, open", "The reference server.", unjudged=unjudged, open=True)
    if way != BEARER:
        unjudged = {"TCS037": "untested"}
        return Subject(f"{REFERENCE}, {way}", "The reference server.", unjudged=unjudged, way=way)
    return Subject(REFERENCE, "The reference server.")


def subjects(roles: Sequence[str] = (SERVER,)) -> list[Subject]:
    """Every mutant there is, of these roles."""
    from rap_conformance.cli import import_mutants

    found = []
    if SERVER in roles:
        found += [
            Subject(name, m.what, frozenset(m.violates), m.unjudged, m.open, way=m.way, mild=m.mild)
            for name, m in import_mutants().items()
        ]
    if RUNTIME in roles:
        found += [
            Subject(name, m.what, frozenset(m.violates), m.unjudged, role=RUNTIME, mild=m.mild)
            for name, m in embedded.mutants().items()
        ]
    return found
