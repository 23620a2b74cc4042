"""What `init` proposes, for tools that are not called as ours are."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from rap_conformance.server.config_file import parse
from rap_conformance.server.first_config import first_config
from rap_conformance.server.likely import LASTS, likely_arguments, with_command
from rap_conformance.server.seen import Did, Measured, Seen

SAFE = {"readOnly": True}


def _tool(name: str, annotations: dict[str, Any], required: int = 9, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:required]}
    return {"name": name, "description": "", "annotations": annotations, "inputSchema": schema}


def _made(*tools: dict[str, Any], auth: dict[str, str] | None = None) -> dict[str, Any]:
    made = tomllib.loads(first_config("http://127.0.0.1:1", list(tools), auth=auth))
    if auth is None:
        parse(made, "made")
    return made


@pytest.mark.parametrize(
    ("properties", "arguments", "seconds"),
    [
        ({"seconds": {"type": "number", "maximum": 60}}, {"seconds": 4}, 4),
        ({"wait_ms": {"type": "integer"}}, {"wait_ms": 4000}, 4),
        ({"pause": {"type": "number", "description": "Seconds to wait"}}, {"pause": 4}, 4),
        (
            {"delay_ms": {"type": "integer", "maximum": 1000}, "rows": {"type": "integer", "maximum": 100}},
            {"delay_ms": 1000, "rows": 4},
            4,
        ),
    ],
)
def test_arguments_and_seconds_agree(properties: Any, arguments: dict[str, Any], seconds: float) -> None:
    pending = _made(_tool("run_report", SAFE, **properties))["scenario"]["pending"]
    assert (pending["arguments"], pending["seconds"]) == (arguments, seconds)


def test_what_the_schema_has_no_room_for_is_not_promised() -> None:
    short: Any = {"delay_ms": {"type": "integer", "maximum": 1000}, "rows": {"type": "integer", "maximum": 2}}
    made = first_config("http://127.0.0.1:1", [_tool("run_report", SAFE, **short)])
    assert "its schema does not tell" in made


def test_each_kind_has_its_own_tool() -> None:
    every: Any = {"every": {"type": "number"}, "count": {"type": "integer", "minimum": 1}}
    scenarios = _made(
        _tool("confirm_plan", SAFE),
        _tool("watch_folder", SAFE, 1, **every),
        _tool("count_rows", SAFE),
        _tool("run_report", SAFE, seconds={"type": "number"}),
    )["scenario"]
    assert {kind: each["operation"] for kind, each in scenarios.items()} == {
        "quick": "count_rows",
        "pending": "run_report",
        "subscription": "watch_folder",
        "choice": "confirm_plan",
    }
    assert scenarios["subscription"]["final_arguments"]["count"] == 2
    assert "count" not in scenarios["subscription"]["arguments"]


@pytest.mark.parametrize(
    "count", [{"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, {"type": ["integer", "null"]}]
)
def test_a_number_that_may_be_null_is_one(count: Any) -> None:
    tool = _tool("watch", SAFE, 1, every={"type": "number"}, count=count)
    assert _made(tool)["scenario"]["subscription"]["final_arguments"] == {"every": 0.5, "count": 2}


def test_a_destructive_tool_is_never_proposed() -> None:
    dangerous = {"destructive": True, "longRunning": True, "readOnly": True}
    tools = [
        _tool(name, dangerous, seconds={"type": "number"}) for name in ("run", "watch", "confirm", "get")
    ]
    made = first_config("http://127.0.0.1:1", tools)
    assert 'operation = "name-of-a-tool"' in made
    assert not any(f'operation = "{tool["name"]}"' in made for tool in tools)


def test_credentials_stay_in_the_environment() -> None:
    made = _made(_tool("get", SAFE), auth={"Authorization": "env:A_TOKEN"})
    assert made["auth"] == {"headers": {"Authorization": "env:A_TOKEN"}}


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        ({"path": {"type": "string"}}, {"path": "."}),
        ({"path": {"type": "string", "examples": ["a.txt"]}}, {"path": "a.txt"}),
        ({"path": {"type": "string", "pattern": "^/"}, "tz": {"type": "string"}}, None),
        ({"intervalMs": {"type": "integer"}}, {"intervalMs": 500}),
        ({"every": {"type": "integer"}}, {"every": 1}),
        ({"interval": {"type": "number", "minimum": 2}}, {"interval": 2}),
        ({"timezone": {"type": "string"}}, {"timezone": "UTC"}),
    ],
)
def test_arguments_fit_what_they_are_called(
    properties: dict[str, Any], arguments: dict[str, Any] | None
) -> None:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    made = likely_arguments(schema, 0)
    if arguments is None:
        assert made is not None
        assert (made["path"][0], made["tz"]) == ("/", "UTC"), "one that does not fit spoils no other"
    else:
        assert made == arguments


def _seen(operation: str, did: Did, seconds: float = 0.0, said: str = "", **arguments: Any) -> Seen:
    return Seen(operation, arguments, did, seconds, said, ended="count" in arguments)


def test_what_was_measured_is_written_and_on() -> None:
    tools = [_tool(name, {}) for name in ("alpha", "beta", "gamma", "delta")]
    seen = (
        _seen("alpha", Did.RESULT, 0.04),
        _seen("beta", Did.RESULT, 3.14),
        _seen("beta", Did.RESULT, 9.9, n=2),
        _seen("gamma", Did.SUBSCRIPTION, 0.1),
        _seen("gamma", Did.SUBSCRIPTION, 0.1, count=2),
        _seen("delta", Did.CHOICE, 0.1),
    )
    made = tomllib.loads(first_config("http://127.0.0.1:1", tools, measured=Measured(seen, ())))
    parse(made, "made")
    scenarios = made["scenario"]
    assert {kind: each["operation"] for kind, each in scenarios.items()} == {
        "quick": "alpha",
        "pending": "beta",
        "subscription": "gamma",
        "choice": "delta",
    }
    assert scenarios["pending"]["seconds"] == 3.1
    assert scenarios["subscription"]["final_arguments"] == {"count": 2}
    assert "features" not in made or not made["features"]


@pytest.mark.parametrize(
    ("measured", "declared"),
    [
        (Measured((_seen("alpha", Did.RESULT),), ()), {"subscription": False, "choice": False}),
        (Measured((_seen("alpha", Did.RESULT),), (("beta", "it is annotated destructive"),)), {}),
        (Measured((_seen("alpha", Did.ERROR, said="Error: no"),), ()), {}),
        (Measured((_seen("alpha", Did.RESULT),), (), "the server died"), {}),
        (Measured((), ()), {}),
    ],
)
def test_that_there_is_none_is_declared_only_where_everything_was_seen(
    measured: Measured, declared: dict[str, bool]
) -> None:
    made = tomllib.loads(first_config("http://127.0.0.1:1", [_tool("alpha", {})], measured=measured))
    assert made["features"] == declared


def test_what_has_to_be_called_first_is_written() -> None:
    tools = [_tool(name, {}) for name in ("open", "read")]
    seen = (
        Seen("open", {"path": "."}, Did.RESULT, 0.1),
        Seen("read", {}, Did.ERROR, 0.0, "Error: nothing is open"),
        Seen("read", {}, Did.RESULT, 3.9, setup=("open", {"path": "."})),
    )
    made = tomllib.loads(first_config("http://127.0.0.1:1", tools, measured=Measured(seen, ())))
    parse(made, "made")
    assert made["scenario"]["pending"]["setup"] == [{"operation": "open", "arguments": {"path": "."}}]
    assert "setup" not in made["scenario"]["quick"]


def test_a_command_of_a_shell_can_be_made_to_last() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    plain = likely_arguments(schema, 0)
    assert plain == {"command": "echo hello"}
    assert with_command(schema, plain, LASTS, 0) == {"command": "sleep 4"}
    assert with_command(schema, {"command": "something else"}, LASTS, 0) is None
