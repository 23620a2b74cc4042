"""What a report proposes where something stayed untested: lines to paste, and what they would open."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from rap_conformance.protocol.presence import Presence, State
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting.terminal import opening_block
from rap_conformance.server.config import Config, ScenarioConfig, ServerConfig
from rap_conformance.server.config_file import parse
from rap_conformance.server.facts import Facts
from rap_conformance.server.needs import Needs
from rap_conformance.server.openings import openings
from rap_conformance.server.tools import Tools
from tests.support import run

REFERENCE = f'"{sys.executable}" -m rap_conformance serve --port {{port}}'
NUMBER = {"type": "number", "minimum": 0}
SLEEP = {
    "name": "sleep",
    "annotations": {"readOnly": True},
    "inputSchema": {"type": "object", "properties": {"seconds": NUMBER}, "required": ["seconds"]},
}
DEPLOY = {**SLEEP, "name": "deploy", "annotations": {"longRunning": True}}


def needs(*tools: dict[str, Any], status: State = State.PRESENT, **scenarios: ScenarioConfig) -> Needs:
    facts = Facts(manifest={"tools": [*tools]}, status=Presence(status, ""))
    config = Config(server=ServerConfig(url="http://127.0.0.1:1"), scenarios=scenarios)
    return Needs(facts, Tools(facts, config, "", 0), trusted=False, identified=True, other=True, ours=True)


def found(*tools: dict[str, Any], **how: Any) -> dict[str, Any]:
    return {each.need: each for each in openings(needs(*tools, **how), catalogue(), 0)}


def test_the_servers_own_tool_is_proposed_with_arguments_and_time() -> None:
    pending = found(SLEEP)["pending"]
    made = tomllib.loads("\n".join(["[server]", 'url = "http://127.0.0.1:1"', *pending.lines]))
    chosen = parse(made, "made").scenarios["pending"]
    assert (chosen.operation, chosen.arguments, chosen.seconds) == ("sleep", {"seconds": 4}, 4.0)
    assert "TCS005" in pending.codes
    assert "TCS004" in pending.parts
    assert 0 < pending.musts < len(pending.codes)
    assert not pending.remark


def test_what_nobody_promised_to_be_harmless_is_said_to_be_called() -> None:
    assert "deploy is not annotated readOnly" in found(DEPLOY)["pending"].remark


def test_nothing_is_made_up_where_no_tool_looks_like_it() -> None:
    subscription = found(SLEEP)["sub"]
    assert subscription.lines == ()
    assert "looks like a subscription" in opening_block(subscription)[0]


def test_what_is_there_opens_nothing() -> None:
    configured = ScenarioConfig("sleep", {"seconds": 3}, seconds=3.0)
    assert "pending" not in found(SLEEP, pending=configured)


def test_without_the_endpoint_nothing_would_be_opened() -> None:
    assert not found(SLEEP, status=State.ABSENT)


def test_a_dry_run_asks_discovery_only(tmp_path: Path) -> None:
    outcome = run(tmp_path, "check", "--server-cmd", REFERENCE, "--dry-run")
    assert outcome.exit == 0
    lines = outcome.out.splitlines()
    assert '  to try        echo {"text": "a"}' in lines
    assert any(line.startswith("to open ") and "TCS005" in line for line in lines)
    assert lines[-1] == "nothing was judged (--dry-run)"
    assert not (tmp_path / "reports").exists()


def test_a_dry_run_names_what_is_configured(tmp_path: Path) -> None:
    (tmp_path / "rap-conformance.toml").write_text(
        f"[server]\ncommand = '{REFERENCE}'\n"
        '[scenario.quick]\noperation = "echo"\n'
        'arguments = { text = "hello" }\n[scenario.pending]\noperation = "nobody"\nseconds = 3\n'
    )
    outcome = run(tmp_path, "check", "--dry-run")
    assert '  quick         echo {"text": "hello"}' in outcome.out
    assert "  pending       nothing: scenario.pending.operation 'nobody' is not among" in outcome.out


def test_a_dry_run_with_nobody_there_is_exit_6(tmp_path: Path) -> None:
    outcome = run(tmp_path, "check", "--server-url", "http://127.0.0.1:1", "--dry-run")
    assert outcome.exit == 6
    assert "nobody answers" in outcome.out
