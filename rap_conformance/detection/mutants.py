"""Is every fault caught, by its own requirement and no other? `python -m rap_conformance.detection [NAME…]`.

Certifies the reference server and each mutant of it as a user would (`check
--server-cmd … --config …`), and the reference runtime and its mutants likewise,
several at a time, and compares what was found with what the mutant declares.
Anything else is inexact: a requirement missed, one accused wrongly, or a
verdict other than the reference's own where nothing is declared. Exit 1 unless
all are exact.
"""

from __future__ import annotations

import argparse
import fnmatch
import random
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rap_conformance.detection.runs import Job, run_all, warm_up
from rap_conformance.detection.servers import configuration
from rap_conformance.detection.subjects import (
    FINDINGS,
    REFERENCE,
    ROLES,
    SERVER,
    Outcome,
    Subject,
    reference_subject,
    subjects,
)
from rap_conformance.detection.touched import touched
from rap_conformance.places import place

__all__ = [
    "FINDINGS",
    "REFERENCE",
    "Job",
    "Outcome",
    "Subject",
    "certify",
    "choose",
    "configuration",
    "reference_subject",
    "run_all",
    "subjects",
    "warm_up",
]


def codes(found: Iterable[str]) -> str:
    """Codes as the table shows them."""
    return " ".join(sorted(found)) or "-"


def row(outcome: Outcome, wrong: Mapping[str, str]) -> Iterator[str]:
    """The table's lines for one subject."""
    mark = "exact  " if not wrong and not outcome.trouble else "INEXACT"
    first = "-" if outcome.first is None else str(outcome.first)
    yield (
        f"{mark} {outcome.subject.name:<40} {codes(outcome.subject.expected):<24} {codes(outcome.found):<24} "
        f"{first:>5} {outcome.seconds:6.1f}"
    )
    if outcome.trouble:
        yield from (f"          {line[:200]!a}" for line in outcome.trouble.splitlines()[-5:])
        return
    for code, verdict in wrong.items():
        yield f"          {code} {verdict}: {outcome.reasons.get(code, '')[:300]!a}"


def certify(
    chosen: Sequence[Subject],
    seed: int,
    jobs: int,
    out: Callable[[str], None] = print,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Run the references and the subjects, print the table, and give the outcomes that are not exact.

    `on_outcome` is called with each outcome.
    """
    warm_up(seed)
    needed = {subject.reference.name: subject.reference for subject in chosen}
    references = list(needed.values()) or [reference_subject()]
    out(f"seed {seed}")
    out(f"{'':7} {'mutant':<40} {'expected':<24} {'found':<24} {'first':>5} {'s':>6}")
    own: dict[str, Mapping[str, str]] = {}
    waiting: list[Outcome] = []
    inexact: list[Outcome] = []

    def compare(outcome: Outcome) -> None:
        if not outcome.subject.mutant:
            own[outcome.subject.name] = outcome.verdicts
        waiting.append(outcome)
        on_outcome(outcome)
        for each in [each for each in waiting if each.subject.reference.name in own]:
            waiting.remove(each)
            wrong = each.wrong(own[each.subject.reference.name] if each.subject.mutant else None)
            if wrong or each.trouble:
                inexact.append(each)
            for line in row(each, wrong):
                out(line)

    run_all([*references, *chosen], seed, jobs, compare)
    total = len(references) + len(chosen)
    if inexact:
        out("inexact: " + ", ".join(outcome.subject.name for outcome in inexact))
    out(f"{total - len(inexact)} of {total} exact")
    return inexact


def choose(
    names: Sequence[str],
    third: bool,
    touching: Sequence[str],
    seed: int,
    most: int | None = None,
    roles: Sequence[str] = (SERVER,),
) -> list[Subject]:
    """The subjects asked for: by name (globs), those that declare a code (globs), a seeded third of the rest.

    Those are no more than `most`, the third being cut first. Raises LookupError for a name or code that no
    mutant has.
    """
    known = subjects(roles)
    picked = {s.name for glob in names for s in known if fnmatch.fnmatchcase(s.name, glob)}
    for glob in names:
        if not fnmatch.filter([s.name for s in known], glob):
            raise LookupError(
                f"there is no mutant {glob!r} of a {' or '.join(roles)}; docs/detection.md has them"
            )
    for glob in touching:
        found = {s.name for s in known if fnmatch.filter(s.expected, glob)}
        if not found:
            raise LookupError(f"no mutant declares {glob!r}")
        picked |= found
    if not (names or touching or third):
        picked = {s.name for s in known}
    chance = random.Random(seed)
    if most is not None and len(picked) > most:
        picked = set(chance.sample(sorted(picked), most))
    if third:
        rest = [s.name for s in known if s.name not in picked]
        number = (len(rest) + 2) // 3
        picked |= set(chance.sample(rest, number if most is None else min(number, most - len(picked))))
    return [s for s in known if s.name in picked]


def main(given: Sequence[str] | None = None) -> int:
    """The command: 0 if all are exact, 1 if not, 4 for a name that is not there."""
    options = _parser().parse_args(given)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 2**31)
    roles = ROLES if options.role is None else (options.role,)
    try:
        names, touching = [] if options.all else list(options.names), list(options.touching)
        if options.since:
            codes_touched, names_touched = touched(place("conformance").parent, options.since)
            here = subjects(roles)
            declared = {code for s in here for code in s.expected}
            print("touched:", codes(codes_touched), "mutants:", codes(names_touched), flush=True)
            names += sorted(names_touched & {s.name for s in here})
            touching += sorted(codes_touched & declared)
        chosen = choose(names, options.third or bool(options.since), touching, seed, options.at_most, roles)
    except LookupError as error:
        print(f"detection: {error.args[0]}", file=sys.stderr)
        return 4
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    inexact = certify(chosen, seed, max(1, options.jobs), lambda line: print(line, flush=True))
    return 1 if inexact else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rap_conformance.detection", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="mutants of either role, globs allowed; none: all")
    add("--role", choices=ROLES, help="mutants of this role only")
    add("--all", action="store_true", help="every mutant (what happens without names, too)")
    add("--third", action="store_true", help="a seeded third of those not chosen otherwise")
    add("--touching", action="append", default=[], metavar="CODE", help="mutants that declare CODE")
    add("--since", metavar="REV", help="a seeded third, and those of what differs from this git revision")
    add("--at-most", type=int, metavar="N", help="no more than so many, picked by the seed")
    add("--seed", type=int, default=None, help="repeat a run's generated examples and choice")
    add("--jobs", type=int, default=3, help="runs at a time (they mostly wait)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
