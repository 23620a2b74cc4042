"""What a runtime waits for and what it injected, as its adapter tells. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.messages import EVENT as EVENT
from rap_conformance.protocol.messages import RESULT as RESULT


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something that was put into a conversation. `final` is None where the runtime does not keep it."""

    id: str
    kind: str
    text: str
    final: bool | None


@dataclass(slots=True, eq=False)
class Waiting:
    """A pending call or (`subscription`) a subscription that a boot gives the runtime. `server`: who has it.

    `hidden`: the runtime is not told who has it.
    """

    thread: str
    id: str
    subscription: bool
    server: ToolServer
    hidden: bool = False
    alone: bool = True
    """Nothing else waits in its thread, so that the thread's id means this call."""

    @property
    def what(self) -> str:
        """What it is, in words."""
        return "a subscription" if self.subscription else "a pending call"

    @property
    def given(self) -> dict[str, Any]:
        """The entry in the body of /boot."""
        tool = self.server.feed if self.subscription else self.server.job
        return {
            "tool_call_id": self.id,
            "tool": tool,
            "server_url": None if self.hidden else self.server.base,
        }

    def renamed(self, thread: str) -> None:
        """The runtime gave the thread an id of its own: the answer about the call is found under that too."""
        if act := self.server.script.get((self.thread, self.id)):
            self.server.play(thread, self.id, act)
        self.thread = thread


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation; `parent` names the one of which it is a child."""

    pending: frozenset[str] = frozenset()
    subscriptions: frozenset[str] = frozenset()
    injected: tuple[Outcome, ...] = ()
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """All conversations at one moment. `checking` is None where the adapter cannot tell."""

    exchange: Exchange
    threads: dict[str, Thread] = field(default_factory=dict)
    checking: bool | None = None
    children: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, exchange: Exchange, body: dict[str, Any]) -> State:
        """From an answer that keeps to the contract."""
        threads = {
            thread["thread_id"]: Thread(
                frozenset(thread["pending"]),
                frozenset(thread["subscriptions"]),
                tuple(
                    Outcome(one["tool_call_id"], one["kind"], one["text"], one.get("final"))
                    for one in thread["injected"]
                ),
                thread.get("parent"),
            )
            for thread in body["threads"]
        }
        children: dict[str, list[str]] = {}
        for name, thread in threads.items():
            if thread.parent is not None:
                children.setdefault(thread.parent, []).append(name)
        return cls(exchange, threads, body.get("checking"), children)

    def thread(self, name: str) -> Thread:
        """One conversation; an empty one if it is not there."""
        return self.threads.get(name, Thread())

    def family(self, name: str) -> list[str]:
        """A thread and the threads that were opened for its events, and for theirs."""
        found = [name]
        for one in found:
            found += [child for child in self.children.get(one, ()) if child not in found]
        return found

    def waits(self, call: Waiting) -> bool:
        """Whether the conversation still waits for the call's result, or for the subscription's events."""
        thread = self.thread(call.thread)
        return call.id in (thread.subscriptions if call.subscription else thread.pending)

    def outcomes(self, call: Waiting) -> tuple[Outcome, ...]:
        """What was injected for the call, in its own thread or in a child of that."""
        family = self.family(call.thread)
        return tuple(one for name in family for one in self.thread(name).injected if one.id == call.id)

    def ends(self, call: Waiting, outcome: Outcome) -> bool:
        """Whether this is the last event of a subscription; where nobody keeps that, whether it seems so."""
        if outcome.final is not None:
            return outcome.final
        return outcome.kind == EVENT and outcome is self.outcomes(call)[-1] and not self.waits(call)

    def elsewhere(self, call: Waiting) -> tuple[str, ...]:
        """Other threads, no children of its own, into which something was injected under the call's id."""
        family = {*self.family(call.thread)}
        return tuple(
            name
            for name, thread in self.threads.items()
            if name not in family and any(one.id == call.id for one in thread.injected)
        )

    def pruned(self, call: Waiting) -> bool:
        """Whether the runtime gave the call up: it does not wait any more, or told the conversation so."""
        return not self.waits(call) or bool(self.outcomes(call))
