"""Delete any one scenario and some mutant survives: shown for a requirement, and in `make deep` for ten.

The ten are picked at random; their seed is printed, and `RAPC_POWER_SEED` repeats a choice.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from rap_conformance.cli import import_mutants, import_ways
from rap_conformance.detection import mutants as detection
from rap_conformance.protocol.specification import catalogue
from tests.certify import certify, reasons
from tests.support import Outcome

CODES = [r.code for r in catalogue() if r.role == "server" and not r.planned and not r.unseen]


def alone(code: str) -> list[str]:
    """The mutants that break this requirement and no other."""
    return [name for name, mutant in import_mutants().items() if set(mutant.violates) == {code}]


def certified(name: str, folder: Path, codes: Sequence[str]) -> Outcome:
    """A certification of a mutant by some scenarios alone."""
    subject = next(each for each in detection.subjects() if each.name == name)
    folder.mkdir(exist_ok=True)
    config = detection.configuration(subject, folder)
    options = [f"--requirement={code}" for code in codes]
    more = import_ways()[subject.way].environment
    return certify(folder, config, *options, *(["--no-auth"] if subject.open else []), **more)


@pytest.mark.parametrize("code", CODES)
def test_some_mutant_breaks_this_requirement_alone(code: str) -> None:
    assert alone(code), "without its scenario every mutant would still be found, by others"


def needed(number: int, seed: int, folder: Path) -> None:
    """Show for so many scenarios, picked by the seed: each alone finds a mutant that breaks nothing else.

    For one of them everything but that scenario runs, and finds nothing.
    """
    chance = random.Random(seed)
    picked = {code: chance.choice(alone(code)) for code in chance.sample(CODES, number)}
    for code, name in picked.items():
        outcome = certified(name, folder / code, [code])
        assert list(outcome.verdicts()) == [code]
        assert outcome.verdicts()[code] in detection.FINDINGS, (seed, name, code, reasons(outcome))
    first = next(iter(picked))
    rest = certified(picked[first], folder / "rest", [each for each in CODES if each != first])
    found = {code for code, verdict in rest.verdicts().items() if verdict in detection.FINDINGS}
    assert found == set(), (seed, picked[first], "is found without its scenario, too")
    assert first not in rest.verdicts()


@pytest.mark.long
def test_a_scenario_is_needed(tmp_path: Path) -> None:
    needed(1, 4, tmp_path)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_ten_scenarios_picked_at_random_are_each_needed(tmp_path: Path) -> None:
    seed = int(os.environ.get("RAPC_POWER_SEED") or random.SystemRandom().randrange(1, 2**31))
    print(f"RAPC_POWER_SEED={seed}")
    needed(10, seed, tmp_path)
