"""One invocation of ours, and what its server delivered for it so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.receiver import Delivery, Mailbox

_CANARIES = ("callback URL", "callback URL", "arguments", "user")
"""Where each of a call's canaries is planted."""


@dataclass(slots=True)
class Call:
    """One invocation we made. `canaries` are secrets planted in it that no answer may show.

    `acts`: how it was cancelled and its thread closed. `code`: the requirement for which it was made.
    `operation` is the tool, `seconds` for how long it stays pending as configured, 0 if it does not.
    """

    kind: str
    id: str
    thread: str
    mailbox: Mailbox
    canaries: tuple[str, ...]
    other: bool = False
    operation: str = ""
    seconds: float = 0.0
    sent: float = 0.0
    acknowledged: float = 0.0
    exchange: Exchange | None = None
    cancelled: bool = field(default=False)
    acts: list[Exchange] = field(default_factory=list)
    code: str = ""

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """Every attempt to deliver something for this call so far."""
        return self.mailbox.deliveries

    @property
    def results(self) -> tuple[Delivery, ...]:
        """Every attempt to deliver a tool_result."""
        return tuple(d for d in self.deliveries if d.type == "tool_result")

    @property
    def result(self) -> Delivery | None:
        """The first tool_result that we acknowledged."""
        return next((d for d in self.results if d.acknowledged), None)

    @property
    def events(self) -> tuple[Delivery, ...]:
        """The subscription's events so far."""
        return tuple(d for d in self.deliveries if d.type == "subscription_event")

    @property
    def final(self) -> Delivery | None:
        """The subscription's final event, once we acknowledged it."""
        return next((d for d in self.events if d.final and d.acknowledged), None)

    def planted(self) -> Iterator[tuple[str, str]]:
        """What no answer may show unless it was asked about: the value, and in words what it would tell."""
        for secret, where in zip(self.canaries, _CANARIES, strict=False):
            yield secret, f"a secret of a call's {where}"
        yield self.mailbox.token, "a call's callback URL"
        yield self.id, "the id of another call"
        yield self.thread, "the id of another call"


def planted(calls: Iterable[Call]) -> Iterator[tuple[str, str]]:
    """The same for many calls."""
    for call in calls:
        yield from call.planted()
