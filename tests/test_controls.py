"""Law 3: every negative check has its positive control, and where nothing is there nothing passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rap_conformance.engine.controls import Control
from tests.certify import certify, configuration, reasons
from tests.empty_servers import ONCE
from tests.scenarios import scenarios
from tests.support import ROOT, Outcome

TOKENS = ["first-token-of-the-test", "second-token-of-the-test"]
TIMING = {"grace": 2.0, "race_window": 0.4, "arrival_slack": 0.1}
PENDING = 0.8
PASSED_OVER = frozenset({"TCS013", "TCS014", "TCS015", "TCS019", "TCS033"})
"""Long ones; asked at the servers at which they could pass wrongly."""

CONTROLLED = [mark.code for _, mark in scenarios("server") if isinstance(mark.control, Control)]

WITHOUT_A_CALL = "needs no call: what is asked about was never invoked, or the caller is nobody"
RIGHT_ANSWER = "the answer `false` is given, and is the right one here"
LEGITIMATE: dict[str, dict[str, str]] = {
    "rejects-all": {},
    "refuses-all": {},
    "rejects-status": {},
    "forbids-status": {},
    "hangs": {},
    "says-false": {
        "TCS004": RIGHT_ANSWER,
        "TCS010": "a call was accepted, and nothing of it comes back",
        "TCS013": RIGHT_ANSWER,
        "TCS014": RIGHT_ANSWER,
        "TCS015": "questions by other methods, and by strangers, are answered, and tell nothing of any call",
    },
    "calls-nobody-back": {
        "TCS004": WITHOUT_A_CALL,
        "TCS010": "a call was accepted, and nothing of it comes back",
        "TCS011": WITHOUT_A_CALL,
        "TCS023": WITHOUT_A_CALL,
        "TCS034": WITHOUT_A_CALL,
        "TCS035": WITHOUT_A_CALL,
    },
    "never-alive": {
        "TCS004": RIGHT_ANSWER,
        "TCS006": "a quick call that ended is answered `false`; that it never was alive is TCS005's",
        "TCS009": "questions are answered, and change nothing",
        "TCS010": "questions about live calls are answered, and tell nothing",
        "TCS011": "only the authentic are answered",
        "TCS012": "only the authentic are answered",
        "TCS023": "only POST is answered",
        "TCS024": "only the authentic are answered",
        "TCS026": "questions are answered, and change nothing",
        "TCS027": "questions about a live call are answered, each time",
        "TCS028": "an invocation's fields run no tool; the rest is noted as not exercised",
        "TCS034": "only the authentic are answered",
        "TCS035": "only the authentic are answered",
    },
}
"""What may pass at a server at which nothing is there (`tests/empty_servers.py`), and why that is right."""


def outcome(name: str, folder: Path, codes: Sequence[str]) -> Outcome:
    """A certification of an empty server."""
    command = [sys.executable, "-m", "tests.empty_servers", name, "{port}", "{folder}/state.db", *TOKENS]
    config = configuration(command, TOKENS, TIMING, PENDING)
    return certify(folder, config, *(f"--requirement={code}" for code in codes), PYTHONPATH=str(ROOT))


@pytest.mark.long
@pytest.mark.parametrize("name", LEGITIMATE)
def test_nothing_passes_where_nothing_is_there(name: str, tmp_path: Path) -> None:
    long = name in {"calls-nobody-back", "never-alive"}
    judged = outcome(name, tmp_path, [code for code in CONTROLLED if not (long and code in PASSED_OVER)])
    passed = {code for code, verdict in judged.verdicts().items() if verdict == "pass"}
    assert passed <= set(LEGITIMATE[name])
    assert "our own error" not in " ".join(reasons(judged).values())


def test_a_server_that_does_not_start_again_is_accused_of_nothing(tmp_path: Path) -> None:
    judged = outcome(ONCE, tmp_path, ["DSC013", "TCS016"])
    assert judged.verdicts() == {"DSC013": "error", "TCS016": "error"}
    assert "could not be started again" in reasons(judged)["TCS016"]


def test_what_may_pass_has_a_reason() -> None:
    assert all(reason for reasons in LEGITIMATE.values() for reason in reasons.values())
    assert {code for reasons in LEGITIMATE.values() for code in reasons} | PASSED_OVER <= set(CONTROLLED)
