"""Mutants: a sane registry, and a few of them certified exactly (all of them: `make mutants`)."""

from __future__ import annotations

import fnmatch
import inspect
import random
import re
from collections import Counter
from typing import Any

import pytest

from fixtures.servers.mutants import MUTANTS, Mutant
from fixtures.servers.mutants.registry import mutant
from fixtures.servers.reference import ReferenceServer
from fixtures.servers.ways import WAYS
from rap_conformance.detection import documents as detection_docs
from rap_conformance.detection import mutants as detection
from rap_conformance.protocol.specification import catalogue
from tests import warm
from tests.support import ROOT, environment
from tests.warm import SEED

BROAD = ("TCS004", "TCS009", "TCS010", "TCS011", "TCS013", "TCS014")
"""Requirements with many ways to break them: each has six mutants at least that differ in kind."""
CODES = {r.code for r in catalogue() if r.role == "server" and not r.planned and not r.unseen}
SAMPLE = 3
SLOW = {"always-true", "always-false", "question-cancels", "endpoint-without-tls"}
"""Mutants that take long, or a reference run of their own; `make mutants` has them."""

every_mutant = pytest.mark.parametrize("known", MUTANTS.values(), ids=MUTANTS)


@every_mutant
def test_names_and_words(known: Mutant) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", known.name)
    assert not known.name.startswith(detection.REFERENCE)
    assert known.what.count("\n") == 0, "one line says what it does wrong"
    assert known.what.endswith(".")
    for code, reason in known.violates.items():
        assert code in CODES
        assert len(reason) > 15
        assert not reason.endswith(".")


@every_mutant
def test_one_override_each(known: Mutant) -> None:
    base = WAYS[known.way].server
    assert known.server.__bases__ == (base,)
    own = {name: value for name, value in vars(known.server).items() if not name.startswith("_")}
    assert len(own) == 1, "one method or constant, and private state at the most"
    (name,) = own
    assert hasattr(base, name), "it overrides something"
    state = [name for name in vars(known.server) if name.startswith("_") and not name.startswith("__")]
    assert not [name for name in state if hasattr(base, name)]


@every_mutant
def test_unjudged_codes_are_known_and_not_declared(known: Mutant) -> None:
    for glob, verdict in known.unjudged.items():
        assert verdict in {"untested", "not-applicable"}
        assert fnmatch.filter(CODES, glob)
        assert glob not in known.violates


@every_mutant
def test_mild_codes_are_declared_ones_of_a_higher_level(known: Mutant) -> None:
    levels = {r.code: r.level for r in catalogue()}
    for code, verdict in known.mild.items():
        assert code in known.violates
        assert (verdict, levels[code]) in {("warn", "MUST"), ("advice", "MUST"), ("advice", "SHOULD")}


def test_every_requirement_has_a_mutant() -> None:
    count = Counter(code for known in MUTANTS.values() for code in known.violates)
    assert CODES - set(count) == set()
    alone = Counter(code for known in MUTANTS.values() if len(known.violates) == 1 for code in known.violates)
    assert CODES - set(alone) == set(), "one that violates it and nothing else"
    assert {code: count[code] for code in BROAD if count[code] < 6} == {}


def test_each_fault_is_another_one() -> None:
    assert len({known.what for known in MUTANTS.values()}) == len(MUTANTS)
    assert len({known.server for known in MUTANTS.values()}) == len(MUTANTS)


def test_mutants_know_nothing_of_the_suite() -> None:
    for known in MUTANTS.values():
        module = inspect.getmodule(known.server)
        assert module is not None
        source = inspect.getsource(module)
        assert "rap_conformance" not in source
        assert "rapc" not in source, "a fault shows for anybody's ids"


@pytest.mark.parametrize(
    ("name", "violates"), [("folded-case", {"TCS004": "x"}), ("new", {}), ("new", {"TCS004": ""})]
)
def test_the_registry_refuses(name: str, violates: dict[str, str]) -> None:
    class Broken(ReferenceServer):
        """Is broken."""

    with pytest.raises(ValueError):
        mutant(name, violates)(Broken)


def outcome(verdicts: dict[str, str], **subject: Any) -> detection.Outcome:
    return detection.Outcome(detection.Subject("m", "what", **subject), verdicts)


def test_only_the_declared_verdicts_are_exact() -> None:
    own = {"TCS001": "pass", "TCS004": "pass", "DSC014": "not-applicable"}
    declared = {"expected": frozenset({"TCS004"})}
    exact = {"TCS001": "pass", "TCS004": "fail", "DSC014": "not-applicable"}
    assert outcome(exact, **declared).wrong(own) == {}
    assert outcome({**exact, "TCS004": "pass"}, **declared).wrong(own) == {"TCS004": "pass"}
    assert outcome({**exact, "TCS001": "warn"}, **declared).wrong(own) == {"TCS001": "warn"}
    assert outcome({**exact, "TCS001": "untested"}, **declared).wrong(own) == {"TCS001": "untested"}
    assert outcome({**exact, "DSC014": "pass"}, **declared).wrong(own) == {"DSC014": "pass"}
    assert outcome({"TCS004": "fail"}, **declared).wrong(own) == {"TCS001": "missing", "DSC014": "missing"}
    mild = {**declared, "mild": {"TCS004": "warn"}}
    assert outcome(exact, **mild).wrong(own) == {"TCS004": "fail"}
    assert outcome({**exact, "TCS004": "warn"}, **mild).wrong(own) == {}
    spared = outcome({**exact, "TCS001": "untested"}, **declared, unjudged={"TCS0*": "untested"})
    assert spared.wrong(own) == {}


def test_the_reference_may_not_leave_anything_open() -> None:
    assert outcome({"TCS001": "pass", "DSC014": "not-applicable"}).wrong(None) == {}
    wrong = {"TCS001": "error", "TCS002": "untested", "TCS003": "advice"}
    assert outcome(wrong).wrong(None) == wrong


def test_a_choice_is_repeatable() -> None:
    third = detection.choose([], True, [], 7)
    assert third == detection.choose([], True, [], 7)
    assert len(third) == (len(MUTANTS) + 2) // 3
    touched = {s.name for s in detection.choose([], True, ["TCS004"], 7)}
    assert {known.name for known in MUTANTS.values() if "TCS004" in known.violates} < touched
    assert [s.name for s in detection.choose(["folded-*"], False, [], 7)] == ["folded-case"]
    assert len(detection.choose([], False, [], 7)) == len(MUTANTS)
    with pytest.raises(LookupError, match="no mutant"):
        detection.choose(["no-such"], False, [], 7)


def test_the_page_is_up_to_date() -> None:
    assert detection_docs.main(["--check"]) == 0, "make docs"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_sample_is_found_exactly() -> None:
    names = random.Random(SEED).sample([name for name in MUTANTS if name not in SLOW], SAMPLE)
    words = ["rap_conformance.detection", "--role", "server", *names, "--seed", str(SEED), "--jobs", "4"]
    done = warm.run(words, ROOT, environment(), 280.0)
    said = (done.stdout + done.stderr).decode()
    assert done.stdout.decode().splitlines()[-1] == f"{SAMPLE + 1} of {SAMPLE + 1} exact", said
    assert done.returncode == 0
