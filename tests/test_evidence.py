"""Evidence that others can see again: what is found is asked again, and what is printed shows the fault."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.network import recipes
from rap_conformance.network.recipes import Recipe, Recipes
from tests import faulty
from tests.support import Outcome, run

SECRET = faulty.TOKEN.partition(" ")[2]


def checked(folder: Path, server: faulty.Server, *codes: str) -> Outcome:
    """What comes out for these requirements."""
    (folder / "c.toml").write_text(faulty.CONFIG.format(url=server.url), "utf-8")
    selected = [word for code in codes for word in ("--requirement", code)]
    words = ("check", "--config", "c.toml", "--profile", "quick", "--seed", "1", *selected)
    return run(folder, *words, RAP_TOKEN=faulty.TOKEN, within=120)


def evidence(outcome: Outcome, code: str) -> list[dict[str, Any]]:
    """What was found against a requirement."""
    found = next(each for each in outcome.report["requirements"] if each["code"] == code)
    listed: list[dict[str, Any]] = found["evidence"]
    assert listed, found["reason"]
    return listed


def shown(command: str, folder: Path) -> str:
    """What the printed commands print; they hold no secret, and nobody but the environment gives them one."""
    assert SECRET not in command
    assert SECRET.swapcase() not in command
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "RAP_TOKEN": faulty.TOKEN},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[faulty.Server]:
    with faulty.serving(request.param) as serving:
        yield serving


@pytest.mark.parametrize("server", ["header-cache"], indirect=True)
def test_what_the_request_before_brings_about_is_shown_with_it(server: faulty.Server, tmp_path: Path) -> None:
    outcome = checked(tmp_path, server, "TCS011")
    found = evidence(outcome, "TCS011")
    case = "the credential in another letter case, on a connection that we used before"
    assert [each["title"] for each in found] == [case]
    for each in found:
        assert each["depends"].startswith("the request before it on the same connection; on a fresh one the")
        # The offending one first, then what came before it; in time it is the other way round.
        offending, before = each["exchanges"]
        assert before["started_s"] < offending["started_s"]
        assert [e["response"]["status"] for e in each["exchanges"]] == [200, 200]
        assert each["sequence"] == [before, offending]
        command = each["reproduce"]
        assert command.count("curl -") == command.count("--next") == 1
        answers = re.findall(r"^HTTP/1.1 (\d+)", shown(command, tmp_path), re.MULTILINE)
        assert answers == ["200", "200"]
        alone = "curl" + command.partition("--next")[2]
        assert "HTTP/1.1 401" in shown(alone, tmp_path)
    page = (tmp_path / "reports" / "report.html").read_text("utf-8")
    assert "It depends on</b> the request before it on the same connection" in json.loads(json.dumps(page))
    assert "it depends on the request before it" in (tmp_path / "reports" / "summary.md").read_text("utf-8")
    assert re.search(r"depends +on the request before it", outcome.out)


@pytest.mark.parametrize("server", ["folded-ids"], indirect=True)
def test_what_shows_while_a_call_is_live_is_shown_with_the_call(
    server: faulty.Server, tmp_path: Path
) -> None:
    found = evidence(checked(tmp_path, server, "TCS004"), "TCS004")
    assert {each["title"] for each in found} >= {"a live call's id in upper case"}
    for each in found:
        assert each["depends"] == "a call that is live; later the same request got `alive: false`"
        assert each["liveness"].startswith("alive: ")
        assert [e["url"].rpartition("/")[2] for e in each["sequence"]] == ["invoke", "tool_call_status"]
    said = shown(found[0]["reproduce"], tmp_path)
    assert said.strip().endswith('{"alive": true}')


@pytest.mark.parametrize("server", ["always-404"], indirect=True)
def test_what_is_always_wrong_is_one_command(server: faulty.Server, tmp_path: Path) -> None:
    found = evidence(checked(tmp_path, server, "TCS001"), "TCS001")
    assert {each["depends"] for each in found} == {""}
    assert not any(each["sequence"] for each in found)
    for each in found[:3]:
        assert each["reproduce"].count("curl") == 1
        assert '-H "Authorization: $RAP_TOKEN"' in each["reproduce"]
        assert "HTTP/1.1 404" in shown(each["reproduce"], tmp_path)


@pytest.mark.parametrize("server", ["crowd"], indirect=True)
def test_what_many_at_once_bring_about_is_shown_by_many(server: faulty.Server, tmp_path: Path) -> None:
    found = evidence(checked(tmp_path, server, "TCS022"), "TCS022")
    wrong = next(each for each in found if each["title"] == "an unknown id, asked by many")
    assert wrong["depends"] == "240 requests at about the same time"
    said = shown(wrong["reproduce"], tmp_path)
    counts = {answer: int(number) for number, answer in re.findall(r"^ *(\d+) (\{.*\}) 200$", said, re.M)}
    assert sum(counts.values()) == 240
    assert counts['{"alive": true}'] > 120, "also those about the unknown id"


@pytest.mark.long
@pytest.mark.parametrize("server", ["forgets"], indirect=True)
def test_what_is_right_about_anything_else_is_shown_with_its_call(
    server: faulty.Server, tmp_path: Path
) -> None:
    found = evidence(checked(tmp_path, server, "TCS005"), "TCS005")
    assert found[0]["depends"] == "a call that is live"
    # The answer that is wrong first, and a runtime's reading is of that one.
    assert found[0]["exchanges"][0]["response"]["body"]["text"] == '{"alive": false}'
    assert found[0]["liveness"].startswith("gone: ")
    said = shown(found[0]["reproduce"], tmp_path)
    assert said.index('{"alive": false}') < said.index('received: b\'{"type": "tool_result"')


def recipe(body: bytes = b"", connection: int = 0, **more: Any) -> Recipe:
    return Recipe("POST", "http://127.0.0.1/x", body, (), None, None, 1, connection, **more)


def test_recipes_know_what_came_before_on_the_same_connection() -> None:
    kept = Recipes()
    for number, connection in enumerate((1, 2, 1, 0, 1), 1):
        kept.keep(number, recipe(connection=connection))
    assert kept.before(5, 9) == [3, 1]
    assert kept.before(5, 1) == [3]
    assert kept.before(4, 9) == kept.before(2, 9) == kept.before(99, 9) == []
    assert kept.get(99) is None


def test_recipes_are_bounded_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "MOST", 3)
    monkeypatch.setattr(recipes, "MOST_BYTES", 10)
    kept = Recipes()
    for number in range(1, 6):
        kept.keep(number, recipe(b"x", connection=number))
    assert [number for number in range(1, 6) if kept.get(number)] == [3, 4, 5]
    kept.keep(6, recipe(b"x" * 9))
    assert [number for number in range(1, 7) if kept.get(number)] == [5, 6]


def test_recipes_count_what_was_under_way_at_the_same_time() -> None:
    kept = Recipes()
    for number, (began, ended) in enumerate(((0.0, 1.0), (0.5, 2.0), (1.5, 3.0), (9.0, 9.1)), 1):
        kept.keep(number, recipe(began=began, ended=ended))
    assert [kept.beside(number) for number in (1, 2, 3, 4, 5)] == [1, 2, 1, 0, 0]
