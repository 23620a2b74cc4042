"""The payload files: readable in any language, complete, and what they claim to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rap_conformance import contract
from rap_conformance.contract.malformed import could_invoke, is_valid_request, names_fields
from rap_conformance.places import place
from rap_conformance.protocol.payloads import (
    HostileId,
    Malformed,
    PayloadError,
    hostile_ids,
    load_hostile_ids,
    load_malformed,
    malformed_payloads,
)

FOLDER = place("fixtures") / "payloads"
# In order to a lenient reader: it forgives a key twice, ignores a mark, or takes any length.
LENIENT = {
    "byte-order-mark",
    "duplicate-keys-differing",
    "two-mib-tool-call-id",
    "many-keys",
    "content-type-unknown-charset",
    "utf-16-with-byte-order-mark",
    "utf-16-le-declared",
    "utf-32-be",
    "utf-8-encoded-surrogate",
}


@pytest.mark.parametrize("name", ["hostile_ids.json", "malformed_bodies.json"])
def test_files_are_ascii_small_and_have_no_lone_surrogate(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    assert data.isascii()
    assert len(data) < 100_000
    entries = json.loads(data)
    json.dumps(entries, ensure_ascii=False).encode("utf-8")  # raises on a lone surrogate
    for entry in entries:
        assert entry["name"].replace("-", "").isalnum()
        assert entry["name"] == entry["name"].lower()


def test_there_are_many_hostile_ids_of_every_kind() -> None:
    found = {entry.name: entry.value for entry in hostile_ids()}
    assert len(found) == len(hostile_ids()) >= 60
    values = list(found.values())
    assert len(set(values)) == len(values)
    for wanted in (
        "",
        "\0",
        "null",
        "true",
        "0",
        "-1",
        "__proto__",
        "constructor",
        "toString",
        "*",
        ".*",
        "\n",
    ):
        assert wanted in values
    for wanted in ("\u0130", "\u00df", "\ufeff", "\u2028", "\ud800", "\udc00", "\u0661\u0662\u0663"):
        assert wanted in values
    for part in (
        "../",
        "' OR '",
        "$ne",
        "uid=*",
        "$(",
        "{{",
        "\r\n",
        "<!ENTITY",
        "%n",
        "\u202e",
        "\u200d",
        "%2f",
    ):
        assert any(part in value for value in values), part
    assert {300, 65_536, 1_048_576} <= {len(value) for value in values}
    assert any(value and not value.strip() for value in values)


def test_every_hostile_id_can_be_sent() -> None:
    for entry in hostile_ids():
        query = {"thread_id": entry.value, "tool_call_id": entry.value}
        assert json.loads(json.dumps(query).encode()) == query
        assert contract.problems("tool_call_status_request", query) == []


def test_the_json_form_is_used_for_lone_surrogates_only() -> None:
    for entry in json.loads((FOLDER / "hostile_ids.json").read_text()):
        if "json" in entry:
            with pytest.raises(UnicodeEncodeError):
                json.loads(entry["json"]).encode()


def test_there_are_many_malformed_bodies_of_every_kind() -> None:
    found = {entry.label: entry for entry in malformed_payloads()}
    assert len(found) == len(malformed_payloads()) >= 40
    assert found["empty"].body == b""
    assert found["json-without-content-type"].content_type is None
    assert found["form-urlencoded"].content_type == "application/x-www-form-urlencoded"
    assert found["not-json"].content_type == "application/json"
    assert found["nested-arrays-10000-deep"].body == b"[" * 10_000 + b"]" * 10_000
    assert json.loads(found["tool-call-id-object-ne"].body)["tool_call_id"] == {"$ne": None}
    assert max(len(entry.body) for entry in found.values()) > 2 * 1024 * 1024
    assert len({(entry.body, entry.content_type) for entry in found.values()}) == len(found)


@pytest.mark.parametrize("entry", malformed_payloads(), ids=lambda entry: entry.label)
def test_a_malformed_body_is_malformed_and_can_run_no_tool(entry: Malformed) -> None:
    assert not could_invoke(entry)
    assert entry.method == "POST"
    assert not is_valid_request(contract.contract(), entry) or entry.label in LENIENT


def test_every_identifier_in_a_malformed_body_is_ours() -> None:
    for entry in malformed_payloads():
        try:
            value = json.loads(entry.body)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("tool_call_id"), str):
            assert value["tool_call_id"].startswith("rapc-") or len(value["tool_call_id"]) > 1_000_000


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ({"name": "a", "value": "\u00e9"}, "\u00e9"),
        ({"name": "a", "repeat": "ab", "times": 3}, "ababab"),
        ({"name": "a", "json": '"\\ud800"'}, "\ud800"),
    ],
)
def test_the_forms_of_an_identifier(tmp_path: Path, entry: dict[str, Any], value: str) -> None:
    (tmp_path / "ids.json").write_text(json.dumps([entry]))
    assert load_hostile_ids(tmp_path / "ids.json") == (HostileId("a", value),)


@pytest.mark.parametrize(
    ("entry", "body", "content_type"),
    [
        ({"name": "a", "body_text": "\u00e9"}, b"\xc3\xa9", "application/json"),
        ({"name": "a", "body_base64": "/w==", "content_type": None}, b"\xff", None),
        (
            {"name": "a", "parts": [{"text": "x"}, {"text": "y", "times": 2}], "content_type": "b"},
            b"xyy",
            "b",
        ),
    ],
)
def test_the_forms_of_a_body(
    tmp_path: Path, entry: dict[str, Any], body: bytes, content_type: str | None
) -> None:
    (tmp_path / "bodies.json").write_text(json.dumps([entry]))
    assert load_malformed(tmp_path / "bodies.json") == (Malformed("a", body, content_type),)


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "[1]",
        "[{}]",
        '[{"name": ""}]',
        '[{"name": "a"}]',
        '[{"name": "a", "value": 1}]',
        '[{"name": "a", "json": "1"}]',
        '[{"name": "a", "repeat": "x", "times": "y"}]',
        '[{"name": "a", "value": "x"}, {"name": "a", "value": "y"}]',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "ids.json").write_text(text)
    with pytest.raises(PayloadError, match=r"ids\.json"):
        load_hostile_ids(tmp_path / "ids.json")


@pytest.mark.parametrize("entry", ['{"name": "a", "body_base64": "?"}', '{"name": "a", "body_text": 1}'])
def test_a_damaged_body_is_named(tmp_path: Path, entry: str) -> None:
    (tmp_path / "bodies.json").write_text(f"[{entry}]")
    with pytest.raises(PayloadError, match=r"bodies\.json: a"):
        load_malformed(tmp_path / "bodies.json")


@pytest.mark.parametrize(
    ("body", "content_type", "fields"),
    [
        (b'{"thread_id": 7}', "application/json", True),
        (b" {} ", "application/json; charset=UTF-8", True),
        (b'{"a": 1, "a": 2}', "Application/JSON", True),
        (b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "application/json", True),
        (b'{"a": ' + b"9" * 20_000 + b"}", "application/json", True),
        (b'{"a": "\\ud800"}', "application/json", True),
        (b"[" * 20_000, "application/json", False),
        (b"[{}]", "application/json", False),
        (b"null", "application/json", False),
        (b"", "application/json", False),
        (b'{"a": NaN}', "application/json", False),
        (b'{"a": "\xff"}', "application/json", False),
        (b"\xef\xbb\xbf{}", "application/json", False),
        (b"{}", "application/json; charset=utf-16", False),
        (b"{}", "text/plain", False),
        (b"{}", None, False),
    ],
)
def test_only_a_json_object_declared_as_such_has_fields(
    body: bytes, content_type: str | None, fields: bool
) -> None:
    assert names_fields(Malformed("x", body, content_type)) is fields
