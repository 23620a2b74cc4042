"""The contract: schemas as the specification has them, one description, generators that keep to it.

Long because one section for each module of the contract, with the schemas they share.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing.exceptions import Unresolvable

from rap_conformance import contract as c
from rap_conformance.contract.__main__ import main
from rap_conformance.contract.malformed import could_invoke, is_valid_request
from rap_conformance.contract.queries import is_ordinary
from rap_conformance.engine.evidence import Exchange, Failure, Finding, Verdict
from rap_conformance.engine.requirement import Level, Requirement, Stage
from rap_conformance.engine.run import Result, Run, RunVerdict, Target
from rap_conformance.places import place
from rap_conformance.reporting.json import incomplete, report

STATUS = "tool_call_status_request"
FILES = sorted(path for path in place("schemas").glob("*.json") if path.name != "openapi.json")
RESULT = {"type": "tool_result", "group_id": "t", "id": "c", "text": "done"}
IMAGE = {"data": "aGk=", "mediaType": "image/png"}
TOOL = {"name": "echo", "description": "says it again", "inputSchema": {"type": "object"}}
TOOLSET = {"name": "tools", "endpoint": "http://127.0.0.1:3001/invoke", "tools": [TOOL]}
CHOICE = {
    "type": "user_choice",
    "group_id": "t",
    "id": "c",
    "prompt": "Which?",
    "choices": ["a"],
    "default": 0,
    "response_url": "http://127.0.0.1/x",
}
OAUTH = {"type": "oauth", "group_id": "t", "id": "c", "auth_url": "https://example.com/a?b=c"}
EVENT = {"type": "subscription_event", "group_id": "t", "tool_call_id": "c", "text": "x"}
VIEW = {"type": "view_update", "group_id": "t", "view_type": "diff", "content": {}}
CALL = {"operation": "echo", "arguments": {}, "id": "c", "callback_url": "http://127.0.0.1/", "group_id": "t"}
QUERY = {"thread_id": "t", "tool_call_id": "c"}
VALID: dict[str, dict[str, Any]] = {
    "tool_invocation": CALL,
    "tool_result": RESULT,
    "tool_result_main": RESULT,
    "subscription_event": EVENT,
    "oauth": OAUTH,
    "user_choice": CHOICE,
    "user_choice_response": {"id": "c", "selected": 0},
    "view_update": VIEW,
    "toolset": TOOLSET,
    "tool_call_status_request": QUERY,
    "tool_call_status_response": {"alive": False},
    "cancel_tool_call": QUERY,
    "close_thread": {"thread_id": "t"},
    "migrate": {"session_id": "t", "destination_url": "http://127.0.0.1:9123"},
}


def segment(kind: str, content: Any) -> dict[str, Any]:
    return {**RESULT, "display_as": [{"type": kind, "content": content}]}


def tool(**changes: Any) -> dict[str, Any]:
    return {**TOOLSET, "tools": [{**TOOL, **changes}]}


# --- schemas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_schema_is_valid_and_says_what_each_member_means(path: Path) -> None:
    schema = json.loads(path.read_text("ascii"))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/{path.name}")
    assert schema["title"]

    def described(node: Any, where: str) -> None:
        if not isinstance(node, dict):
            return
        for name, member in node.get("properties", {}).items():
            refers = isinstance(member, dict) and "$ref" in member
            narrows = where.endswith(("/then", "/if"))
            assert refers or narrows or member.get("description"), f"{where}/{name} has no description"
        for key, value in node.items():
            for item in value if isinstance(value, list) else [value]:
                described(item, f"{where}/{key}")

    described(schema, path.name)


def test_every_reference_leads_somewhere_within_the_folder() -> None:
    contract = c.contract()
    for name, schema in contract:
        resolver = contract.registry.resolver(schema["$id"])
        text = json.dumps(schema)
        for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
            assert isinstance(resolver.lookup(reference).contents, dict), (name, reference)


def test_every_message_has_an_example_here() -> None:
    assert set(VALID) == set(c.contract().names) - {"report"}


@pytest.mark.parametrize("name", VALID)
def test_examples_are_accepted_with_unknown_members_too_and_not_without_a_required_one(name: str) -> None:
    assert c.problems(name, VALID[name]) == []
    assert c.problems(name, {**VALID[name], "x-more": 1}) == []
    for member in c.schema(name)["required"]:
        less = {key: value for key, value in VALID[name].items() if key != member}
        assert c.problems(name, less) == [f"$: {member} is missing"]
    assert c.problems(name, [VALID[name]])[0].startswith("$: must be of type object, is array")


ACCEPTED = [
    ("tool_result", {**RESULT, "call_id": None, "subscription": True, "display_as": []}),
    ("tool_result", segment("text", "short")),
    ("tool_result", segment("diff", {"path": "a", "patch": "b"})),
    ("tool_result", segment("image", {"anything": 1})),  # unknown at this revision: skipped
    ("tool_result_main", segment("image", IMAGE)),
    ("tool_result_main", {**RESULT, "content": [{"type": "text", "text": "a"}, {"type": "image", **IMAGE}]}),
    ("tool_invocation", {**CALL, "call_id": None, "user_id": None, "thread_ancestors": None}),
    ("tool_invocation", {**CALL, "call_id": "x", "user_id": "y", "thread_ancestors": ["a", "b"]}),
    ("toolset", {**TOOLSET, "needsMigration": True, "description": "x"}),
    ("toolset", tool(annotations={"readOnly": True, "x-mine": 1}, displayScript="args.a")),
    ("toolset", {**TOOLSET, "endpoint": "HTTPS://[::1]:80/"}),
    ("toolset", tool(name="n" * 128)),
    ("subscription_event", {**EVENT, "associative": True, "final": False}),
]
REFUSED = [
    ("tool_call_status_response", {"alive": 1}, "$.alive: must be of type boolean, is number: 1"),
    ("tool_call_status_response", {"alive": None}, "$.alive: must be of type boolean, is null: null"),
    ("tool_call_status_request", {**QUERY, "thread_id": 7}, "$.thread_id: must be of type string"),
    ("tool_result", {**RESULT, "type": "result"}, "$.type: must be 'tool_result', is 'result'"),
    ("tool_result", {**RESULT, "call_id": 1}, "$.call_id: must be of type string or null, is number"),
    ("tool_result", {**RESULT, "subscription": "true"}, "$.subscription: must be of type boolean"),
    ("tool_result", segment("text", {}), "$.display_as[0].content: must be of type string, is object"),
    ("tool_result", segment("diff", {"path": "a"}), "$.display_as[0].content: patch is missing"),
    ("tool_result", segment("later", 1), "$.display_as[0].content: must be of type string or object"),
    ("tool_result_main", segment("image", {"data": "aGk="}), "$.display_as[0].content: mediaType is missing"),
    ("tool_result_main", {k: RESULT[k] for k in ("type", "group_id", "id")}, "$: lacks text or content"),
    ("tool_result_main", {**RESULT, "content": [{"type": "image"}]}, "$.content[0]: data is missing"),
    ("tool_invocation", {**CALL, "thread_ancestors": [1]}, "$.thread_ancestors[0]: must be of type string"),
    ("tool_invocation", {**CALL, "arguments": []}, "$.arguments: must be of type object, is array"),
    ("toolset", {**TOOLSET, "name": ""}, "$.name: must have at least 1 characters, has 0"),
    ("toolset", {**TOOLSET, "name": "n" * 129}, "$.name: must have at most 128 characters, has 129"),
    ("toolset", {**TOOLSET, "tools": []}, "$.tools: must have at least 1 items, has 0"),
    ("toolset", {**TOOLSET, "endpoint": "/invoke"}, "$.endpoint: must match"),
    ("toolset", tool(name="two words"), "$.tools[0].name: must not match"),
    ("toolset", tool(name="line\n"), "$.tools[0].name: must not match"),
    ("toolset", tool(inputSchema=True), "$.tools[0].inputSchema: must be of type object, is boolean: true"),
    ("toolset", tool(annotations={"readOnly": "yes"}), "$.tools[0].annotations.readOnly: must be of type"),
    ("user_choice", {**CHOICE, "choices": []}, "$.choices: must have at least 1 items"),
    ("user_choice", {**CHOICE, "default": -1}, "$.default: must be at least 0, is -1"),
    ("user_choice", {**CHOICE, "default": 0.5}, "$.default: must be of type integer, is number: 0.5"),
    ("oauth", {**OAUTH, "auth_url": "http://example.com/"}, "$.auth_url: must match"),
    ("view_update", {**VIEW, "content": "x"}, "$.content: must be of type object, is string: 'x'"),
]


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_accepted(name: str, value: Any) -> None:
    assert c.problems(name, value) == []


@pytest.mark.parametrize(("name", "value", "problem"), REFUSED)
def test_refused(name: str, value: Any, problem: str) -> None:
    problems = c.problems(name, value)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_what_a_server_sends_is_shown_short_and_in_ascii() -> None:
    long = c.problems("tool_call_status_response", {"alive": "\x1b\u202e\ud800" * 100_000})[0]
    assert len(long) < 150
    assert long.isascii()
    assert long.isprintable()
    odd = c.problems("toolset", tool(annotations={"readOnly": 1, "\u202e": 1}))
    assert odd == ["$.tools[0].annotations.readOnly: must be of type boolean, is number: 1"]
    assert len(c.problems("toolset", {**TOOLSET, "tools": [1] * 1000})) <= 20
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert c.problems("tool_call_status_response", {"alive": deep})[0].endswith("to be judged")
    assert c.problems("tool_call_status_response", {"alive": 10**5000})[0].endswith("to be judged")


def test_a_name_that_does_not_exist_is_an_error_that_lists_those_that_do() -> None:
    with pytest.raises(c.ContractError, match=r"'nope'.*toolset"):
        c.schema("nope")


def test_a_reference_out_of_the_folder_is_not_fetched(tmp_path: Path) -> None:
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = {"$schema": dialect, "$id": "https://example.com/a.json", "$ref": "http://127.0.0.1:1/b.json"}
    (tmp_path / "a.json").write_text(json.dumps(schema))
    with pytest.raises(Unresolvable):
        c.Contract(tmp_path).problems("a", {})


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"$id": "https://example.com/other.json"}'])
def test_a_damaged_schema_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(c.ContractError, match=r"a\.json"):
        c.Contract(tmp_path)


# --- the schema of reports --------------------------------------------------------------------------------


def a_run() -> Run:
    requirement = Requirement(
        code="TCS004",
        name="unknown-not-alive",
        level=Level.MUST,
        basis="stated",
        role="server",
        revisions=("2026-07-pr62",),
        section="basic/tool-call-status.md#query-semantics",
        statement="s",
        why="w",
        remedy="r",
        needs=("status",),
        stage=Stage.HARMLESS,
    )
    url, headers = "http://127.0.0.1:1/tool_call_status", (("Content-Type", "application/json"),)
    answered = Exchange("POST", url, headers, b"{}", 200, headers, b"\xff\x00", 0.5, 0.75)
    silent = Exchange("POST", url, headers, b"{}", None, (), b"", 0.5, 0.75, Failure.TIMEOUT)
    finding = Finding(
        "TCS004", Level.MUST, "an unknown id \ud800", "alive: false", "alive: true", (answered, silent)
    )
    return Run(
        target=Target("http://127.0.0.1:1", "tools", ("echo",)),
        revision="2026-07-pr62",
        catalogue="0.1",
        suite_version="0.1.0",
        started="2026-01-01T00:00:00Z",
        profile="standard",
        seed=1,
        results=(Result(requirement, Verdict.FAIL, findings=(finding,)),),
        verdict=RunVerdict.NOT_CONFORMANT,
        exit=1,
        causes=("one",),
        configuration=(("server.url", "http://127.0.0.1:1"),),
    )


def test_reports_conform_to_their_schema() -> None:
    assert c.problems("report", report(a_run())) == []
    assert c.problems("report", incomplete("http://127.0.0.1:1", "2026-01-01T00:00:00Z")) == []


def test_a_report_without_a_promised_member_does_not_conform() -> None:
    whole = report(a_run())
    evidence = whole["requirements"][0]["evidence"][0]
    for part, name in [
        (whole, None),
        (whole["suite"], None),
        (whole["target"], "authentication"),
        (whole["requirements"][0], None),
        (evidence, None),
        (evidence["exchanges"][0], "detail"),
    ]:
        optional = {name, "causes", "cut_short", "notes", "configuration", "url", "why", "needs"}
        optional |= {"exchanges", "catalogue_digest"}
        optional |= {"selected", "baseline", "latency_s", "options", "depends", "sequence", "openings"}
        for member in list(part):
            kept = part.pop(member)
            missing = any(f"{member} is missing" in problem for problem in c.problems("report", whole))
            assert missing or member in optional, member
            part[member] = kept
    assert c.problems("report", whole) == []


# --- the OpenAPI description ------------------------------------------------------------------------------


def test_the_description_is_valid_openapi() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openapi_spec_validator import validate
    validate(c.openapi())


def test_the_description_is_loaded_by_schemathesis_with_all_operations() -> None:
    from rap_conformance.contract import generation as engine

    with engine.calm():
        import schemathesis
        from schemathesis.core.result import Ok

        loaded = schemathesis.openapi.from_dict(c.openapi(), config=schemathesis.Config())
        found = {result.ok().path for result in loaded.get_all_operations() if isinstance(result, Ok)}
    assert found == set(c.openapi()["paths"])


def test_the_description_refers_to_nothing_outside_itself() -> None:
    document = c.openapi()
    for reference in {part.split('"')[0] for part in json.dumps(document).split('"$ref": "')[1:]}:
        node: Any = document
        assert reference.startswith("#/components/schemas/")
        for step in reference[2:].split("/"):
            node = node[step]
    callbacks = document["paths"]["/invoke"]["post"]["callbacks"]
    assert set(callbacks) == {"tool_result", "subscription_event", "oauth", "user_choice", "view_update"}


def test_the_checked_in_description_is_not_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    for path in FILES:
        shutil.copy(path, tmp_path)
    assert main(["--check", "--schemas", str(tmp_path)]) == 1
    assert "stale" in capsys.readouterr().err
    assert main(["--schemas", str(tmp_path)]) == 0
    assert main(["--check", "--schemas", str(tmp_path)]) == 0


# --- generators -------------------------------------------------------------------------------------------


def test_ordinary_queries_are_valid_ours_different_and_of_both_kinds() -> None:
    queries = c.ordinary_queries(100, 1)
    assert len(queries) == 100
    assert len({json.dumps(query, sort_keys=True) for query in queries}) == 100
    for query in queries:
        assert c.problems(STATUS, query) == []
        assert is_ordinary(query)
        assert set(query) == {"thread_id", "tool_call_id"}
        assert all(value.startswith("rapc-") and 6 <= len(value) <= 64 for value in query.values())
    shaped = sum("rapc-call_" in str(query) or "rapc-toolu_01" in str(query) for query in queries)
    assert 3 <= shaped <= 60


def test_ordinary_queries_come_fast_in_any_number() -> None:
    c.ordinary_queries(10, 2)
    started = time.perf_counter()
    assert len(c.ordinary_queries(100, 2)) == 100
    assert time.perf_counter() - started < 5.0
    assert len(c.ordinary_queries(0, 2)) == 0
    assert len(c.ordinary_queries(1, 2)) == 1


def test_hostile_queries_reach_what_plain_generation_never_does() -> None:
    queries = c.hostile_queries(300, 1)
    values = [value for query in queries for value in query.values()]
    assert len(queries) == 300
    assert all(c.problems(STATUS, query) == [] for query in queries)
    assert all(set(query) == {"thread_id", "tool_call_id"} for query in queries)
    assert any("\ud800" <= char <= "\udfff" for value in values for char in value)
    assert any(value and not value.strip() for value in values)
    assert any(len(value) >= 300 for value in values)
    assert "" in values
    for member in ("thread_id", "tool_call_id"):
        assert any(is_ordinary({"x": q[member]}) and not is_ordinary(q) for q in queries)
    assert all(json.loads(json.dumps(query).encode()) == query for query in queries)


def test_malformed_bodies_are_never_valid_and_never_an_invocation() -> None:
    bodies = c.malformed_bodies(100, 1)
    assert len(bodies) == 100
    assert len({body.body for body in bodies}) == 100
    for body in bodies:
        assert not is_valid_request(c.contract(), body)
        assert not could_invoke(body)
        assert body.label
        assert body.label != "schema-valid"
        assert len(body.label) < 100
        assert body.label.isascii()
        assert body.method == "POST"


def test_coverage_cases_name_one_departure_each() -> None:
    cases = c.coverage_cases(1)
    labels = [case.label for case in cases]
    assert len(cases) >= 20
    assert len(set(labels)) == len(labels)
    for wanted in (
        "thread_id missing",
        "tool_call_id missing",
        "tool_call_id null",
        "tool_call_id a number",
        "thread_id an object",
        "top level an array",
        "an empty body",
        "content type text/plain",
    ):
        assert wanted in labels
    for case in cases:
        assert case.method == "POST", "other methods are no status checks"
        assert not is_valid_request(c.contract(), case)
        assert not could_invoke(case)
        value = json.loads(case.body) if case.body else None
        if isinstance(value, dict):
            assert all(v.startswith("rapc-") for v in value.values() if isinstance(v, str))


def test_a_list_that_the_caller_changes_is_not_what_the_next_one_gets() -> None:
    c.ordinary_queries(10, 3)[0]["thread_id"] = "spoilt"
    assert c.ordinary_queries(10, 3)[0]["thread_id"] != "spoilt"


def test_another_seed_gives_another_list() -> None:
    assert c.ordinary_queries(20, 1) != c.ordinary_queries(20, 2)
    assert c.hostile_queries(20, 1) != c.hostile_queries(20, 2)
    assert c.malformed_bodies(20, 1) != c.malformed_bodies(20, 2)


LISTS = "c.ordinary_queries(16, 5), c.hostile_queries(16, 5), c.malformed_bodies(16, 5), c.coverage_cases(5)"
ELSEWHERE = (
    f"import local_module_of_the_user; from rap_conformance import contract as c; print(ascii(({LISTS})))"
)


def test_the_same_seed_gives_the_same_lists_whatever_is_loaded_and_leaves_no_files(tmp_path: Path) -> None:
    """Hypothesis mixes constants of local modules in, and its `ci` profile differs: neither may count."""
    (tmp_path / "local_module_of_the_user.py").write_text("WORDS = ['rapc-local-word', 'local-word', 4711]\n")
    (tmp_path / "schemathesis.toml").write_text("[generation]\nallow-x00 = false\n")

    path = f"{place('schemas').parent}:{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ELSEWHERE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "CI": "true", "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == ascii(eval(LISTS))  # noqa: S307 - the very same words
    assert not (tmp_path / ".hypothesis").exists()


def test_hypothesis_is_left_as_it_was() -> None:
    import hypothesis.configuration
    import hypothesis.core
    from hypothesis.internal.conjecture import providers
    from hypothesis.vendor import pretty

    c.hostile_queries(5, 9)
    assert hypothesis.core.RepresentationPrinter is pretty.RepresentationPrinter  # type: ignore[attr-defined]
    assert vars(hypothesis.configuration)["__hypothesis_home_directory"] is None
    assert providers._get_local_constants.__name__ == "_get_local_constants"


def test_importing_the_contract_is_light() -> None:
    code = (
        "import sys; from rap_conformance import contract; contract.problems('toolset', {}); "
        "print([m for m in ('hypothesis', 'schemathesis', 'httpx', 'requests') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=place("schemas").parent
    )
    assert done.stdout.strip() == "[]"


# --- one field less ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_thread(tmp_path_factory: pytest.TempPathFactory) -> c.Contract:
    """The same schemas, but a status request has no `thread_id`."""
    folder = tmp_path_factory.mktemp("schemas")
    for path in FILES:
        shutil.copy(path, folder)
    target = folder / f"{STATUS}.json"
    schema = json.loads(target.read_text())
    schema["required"].remove("thread_id")
    del schema["properties"]["thread_id"]
    target.write_text(json.dumps(schema))
    return c.Contract(folder)


def test_a_field_removed_from_a_schema_is_no_longer_asked_for(without_thread: c.Contract) -> None:
    assert without_thread.problems(STATUS, {"tool_call_id": "c"}) == []
    assert c.problems(STATUS, {"tool_call_id": "c"}) == ["$: thread_id is missing"]


def test_a_field_removed_from_a_schema_is_no_longer_sent(without_thread: c.Contract) -> None:
    assert {tuple(query) for query in c.ordinary_queries(10, 1, without_thread)} == {("tool_call_id",)}
    assert {tuple(query) for query in c.hostile_queries(10, 1, without_thread)} == {("tool_call_id",)}


def test_a_field_removed_from_a_schema_is_no_longer_missed(without_thread: c.Contract) -> None:
    labels = {case.label for case in c.coverage_cases(1, without_thread)}
    assert "tool_call_id missing" in labels
    assert not any("thread_id" in label for label in labels)
    assert not any("thread_id" in body.label for body in c.malformed_bodies(20, 1, without_thread))


def test_a_field_removed_from_a_schema_is_no_longer_described(without_thread: c.Contract) -> None:
    assert "thread_id" not in json.dumps(without_thread.openapi()["components"]["schemas"][STATUS])


# --- the smallest that violates ---------------------------------------------------------------------------
