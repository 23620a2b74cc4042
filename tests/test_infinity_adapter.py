"""The adapter to infinity-daemon, so far as it can be tried without it; for the rest see docs/runtimes.md."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.runtime.adapter import adapter_contract
from tests.support import environment

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "adapters" / "infinity"
THREADS = [
    {
        "thread_id": "t1",
        "pending": [{"tool_call_id": "c1", "tool": "job", "server_url": None}],
        "subscriptions": [{"tool_call_id": "s1", "tool": "feed", "server_url": None}],
    },
    {"thread_id": "t2", "pending": [], "subscriptions": []},
]


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Its module of files."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("storage")
    for name in ("storage", "model"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("together", [False, True])
def test_what_was_persisted_is_shown(storage: Any, tmp_path: Path, together: bool) -> None:
    files = storage.Storage(str(tmp_path), together)
    files.begin(THREADS)
    shown = files.state()
    assert adapter_contract().problems("state", shown) == []
    assert [(one["thread_id"], one["pending"], one["subscriptions"]) for one in shown["threads"]] == [
        ("t1", ["c1"], ["s1"]),
        ("t2", [], []),
    ]
    assert not any(one["injected"] for one in shown["threads"])
    sessions = json.loads((tmp_path / ".infinity" / "sessions.json").read_text("utf-8"))["sessions"]
    assert sorted(sessions) == ([storage.ROOT] if together else ["t1", "t2"])


def test_a_result_and_the_child_thread_of_an_event_are_shown(storage: Any, tmp_path: Path) -> None:
    files = storage.Storage(str(tmp_path), False)
    files.begin(THREADS)
    history = files.read("threads/t1.json")
    history["messages"].append([storage._result("c1", "done"), "m1"])
    files.write("threads/t1.json", history)
    files.write("threads/t1.meta.json", {**storage._meta("t1", None, ["child", "summary"])})
    files.write(
        "threads/child.meta.json", {**storage._meta("child", "t1", []), "is_subscription_event": True}
    )
    files.write("threads/summary.meta.json", {**storage._meta("summary", "t1", []), "is_compaction": True})
    told = {"tool_call_id": "e1", "tool": "receive_event__injected"}
    call = storage._call(told)
    call["call"]["function"]["arguments"] = {"original_tool_call_id": "s1"}
    begun = [storage._call({"tool_call_id": "x", "tool": "spawn_thread"}), storage._result("x", "You are")]
    child = [[one, "m"] for one in (*begun, call, storage._result("e1", "news"))]
    files.write("threads/child.json", {"messages": child})
    shown = {one["thread_id"]: one for one in files.state()["threads"]}
    assert list(shown) == ["t1", "child", "t2"]
    assert shown["t1"]["pending"] == []
    assert [(one["kind"], one["text"]) for one in shown["t1"]["injected"]] == [("tool_result", "done")]
    assert shown["child"]["parent"] == "t1"
    assert shown["child"]["injected"] == [
        {"tool_call_id": "s1", "kind": "subscription_event", "text": "news"}
    ]


def test_without_a_daemon_it_says_what_is_missing() -> None:
    given = environment()
    given.pop("INFINITY_DAEMON", None)
    command = [sys.executable, str(FOLDER / "adapter.py"), "4000"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("say where the daemon is: INFINITY_DAEMON=")
