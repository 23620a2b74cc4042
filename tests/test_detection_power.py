"""Delete any one scenario and some mutant survives: shown for ten requirements picked at random.

The seed is printed; `RAPC_POWER_SEED` repeats a choice. For each picked requirement a mutant that breaks it
and nothing else is certified by its scenario alone, which has to find it. For one of them everything but that
scenario runs, and must find nothing.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.cli import import_mutants
from rap_conformance.detection import mutants as detection
from rap_conformance.protocol.specification import catalogue
from tests.certify import certify

PICKED = 10
WITHOUT = "without "
CODES = [r.code for r in catalogue() if r.role == "server" and not r.planned and not r.unseen]


def alone(code: str) -> list[str]:
    """The mutants that break this requirement and no other."""
    return [name for name, mutant in import_mutants().items() if set(mutant.violates) == {code}]


def run_of(name: str, code: str, *, without: bool = False) -> dict[str, Any]:
    """A certification of a mutant by one scenario alone, or by all the others."""
    subject = next(each for each in detection.subjects() if each.name == name)
    chosen = [each for each in CODES if each != code] if without else [code]
    options = ["--rap-profile=quick", *(f"--rap-requirement={each}" for each in chosen)]
    return {
        "name": f"{WITHOUT if without else ''}{code}",
        "config": detection.configuration(subject, Path("{folder}")),
        "options": [*options, "--rap-no-auth"] if subject.open else options,
    }


@pytest.mark.parametrize("code", CODES)
def test_some_mutant_breaks_this_requirement_alone(code: str) -> None:
    assert alone(code), "without its scenario every mutant would still be found, by others"


def test_ten_scenarios_picked_at_random_are_each_needed() -> None:
    seed = int(os.environ.get("RAPC_POWER_SEED") or random.SystemRandom().randrange(1, 2**31))
    print(f"RAPC_POWER_SEED={seed}")
    chance = random.Random(seed)
    picked = {code: chance.choice(alone(code)) for code in chance.sample(CODES, PICKED)}
    first = next(iter(picked))
    runs = [run_of(picked[first], first, without=True)]
    runs += [run_of(name, code) for code, name in picked.items()]
    outcomes = certify(runs, jobs=3, within=400.0)
    for code, name in picked.items():
        outcome = outcomes[code]
        assert not outcome["trouble"], (name, outcome["trouble"])
        assert set(outcome["verdicts"]) == {code}
        assert outcome["verdicts"][code] in detection.FINDINGS, (seed, name, code, outcome["reasons"])
    rest = outcomes[WITHOUT + first]
    found = {code: rest["reasons"][code] for code, v in rest["verdicts"].items() if v in detection.FINDINGS}
    assert not rest["trouble"]
    assert found == {}, (seed, picked[first], "is found without its scenario, too")
    assert first not in rest["verdicts"]
