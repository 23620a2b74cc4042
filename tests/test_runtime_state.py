"""What an adapter tells, and what is made of it; what texts tell a model. No runtime is started."""

from __future__ import annotations

from typing import Any

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable
from rap_conformance.network.acts import alive
from rap_conformance.network.patience import Bell, Patience
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.runtime.habits import Habits, needs
from rap_conformance.runtime.state import State, Waiting
from rap_conformance.runtime.telling import tells_of_failure

ANSWER = Exchange(
    method="GET",
    url="http://127.0.0.1/state",
    request_headers=(),
    request_body=b"",
    status=200,
    response_headers=(),
    response_body=b"",
    started=0.0,
    ended=0.0,
)


def server() -> ToolServer:
    return ToolServer("s0", "http://127.0.0.1:1", Bell(Patience()))


def state(*threads: dict[str, Any]) -> State:
    empty: dict[str, Any] = {"pending": [], "subscriptions": [], "injected": []}
    return State.of(ANSWER, {"threads": [{**empty, **thread} for thread in threads]})


def event(call: str, text: str, **more: Any) -> dict[str, Any]:
    return {"tool_call_id": call, "kind": "subscription_event", "text": text, **more}


def test_an_event_in_a_child_thread_counts_as_its_parents() -> None:
    found = state(
        {"thread_id": "t", "subscriptions": ["c"]},
        {"thread_id": "child", "parent": "t", "injected": [event("c", "one", final=False)]},
        {"thread_id": "grandchild", "parent": "child", "injected": [event("c", "two", final=False)]},
        {"thread_id": "stranger", "parent": "u", "injected": [event("c", "three", final=False)]},
    )
    call = Waiting("t", "c", True, server())
    assert [one.text for one in found.outcomes(call)] == ["one", "two"]
    assert found.elsewhere(call) == ("stranger",)


def test_threads_that_are_each_others_children_end_nothing() -> None:
    found = state({"thread_id": "t", "parent": "u"}, {"thread_id": "u", "parent": "t"})
    assert found.family("t") == ["t", "u"]


def test_what_is_final_is_inferred_where_nobody_keeps_it() -> None:
    call = Waiting("t", "c", True, server())
    told = {"injected": [event("c", "one"), event("c", "two")]}
    over, tracked = (
        state({"thread_id": "t", **told}),
        state({"thread_id": "t", "subscriptions": ["c"], **told}),
    )
    assert [over.ends(call, one) for one in over.outcomes(call)] == [False, True]
    assert [tracked.ends(call, one) for one in tracked.outcomes(call)] == [False, False]
    said = state({"thread_id": "t", "injected": [event("c", "one", final=False)]})
    assert not said.ends(call, said.outcomes(call)[0]), "what is kept is believed"


def test_a_thread_that_got_another_id_keeps_its_answers() -> None:
    there, act = server(), alive(True)
    call = Waiting("given", "c", False, there)
    there.play("given", "c", act)
    call.renamed("made")
    assert call.thread == "made"
    assert there.script["made", "c"] is act


def thread(
    name: str = "t", pending: int = 1, subscriptions: int = 0, base: str | None = "b"
) -> dict[str, Any]:
    calls = [{"server_url": base}]
    return {"thread_id": name, "pending": calls * pending, "subscriptions": calls * subscriptions}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (thread(), []),
        (thread(subscriptions=1), ["subscriptions"]),
        (thread(pending=2), ["several-pending"]),
        (thread(base=None), ["unknown-origin"]),
        (thread("a/b"), ["foreign-thread-ids"]),
        (thread("x" * 65), ["foreign-thread-ids"]),
    ],
)
def test_what_a_boot_needs(given: dict[str, Any], wanted: list[str]) -> None:
    assert [*needs([given])] == wanted


def test_what_is_unsupported_does_not_apply_and_is_told() -> None:
    habits = Habits()
    habits.demand(["subscriptions"])
    habits.learn(["subscriptions"])
    habits.learn(["subscriptions", "kill"])
    with pytest.raises(NotApplicable, match="subscriptions"):
        habits.demand(["subscriptions"])
    assert len(habits.told()) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Error: the tool server is no longer processing this call",
        "The call was lost.",
        "no result",
        "Tool call abandoned",
        "it didn\u2019t answer",
        '{"status": "failed"}',
        "TOOL_CALL_TIMED_OUT",
        "isError: true",
        "The subscription is over; subscribe again.",
        "Der Aufruf ist verloren",
        "Erreur : appel perdu",
        "La llamada fall\u00f3",
    ],
)
def test_words_of_failure_are_found(text: str) -> None:
    assert tells_of_failure(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "All done.",
        "OK",
        "{}",
        "null",
        "42",
        "Completed without errors.",
        "No error.",
        "Download done",
    ],
)
def test_what_tells_of_no_failure_is_found(text: str) -> None:
    assert tells_of_failure(text) is False


def test_another_script_is_left_to_its_reader() -> None:
    assert tells_of_failure("\u5931\u6557\u3057\u307e\u3057\u305f") is None
