"""How long a callback URL is good for.

Specification: "Transport", section "Tool to Runtime", heading "Callback URL".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, text
from rap_conformance.runtime.peer import RuntimePeer, outcome
from rap_conformance.runtime.state import Waiting


@scenario("RTS024", control=Control("the same at a callback URL that is asked for after the restart"))
def test_callback_urls_survive(runtime: RuntimePeer) -> None:
    """What a server was given before a restart still takes its results and events after it."""
    calls = runtime.both(runtime.server(), alive(True))
    booted(runtime, calls)
    urls = [runtime.callback_url(call) for call in calls]
    runtime.boot_again([call.server for call in calls])
    state = runtime.settled([])
    runtime.controlled(
        all(state.waits(call) for call in calls),
        "what the runtime waited for did not survive a shutdown (see RTS016)",
    )
    for call, url in zip(calls, urls, strict=True):
        with runtime.part(call.what):
            judge_old(runtime, call, url)


def judge_old(runtime: RuntimePeer, call: Waiting, url: str) -> None:
    """One delivery to the old URL, and if that does not arrive one to the new."""
    news = text("news")
    exchange = runtime.post(url, outcome(call, news))
    if runtime.patience.until(runtime.session.adapter.gone, 0.0):
        raise Untested("the adapter is gone")
    state = runtime.until(brought(call, news), runtime.timing.settle)
    if not brought(call, news)(state):
        again = text("news")
        runtime.deliver(call, again)
        if not brought(call, again)(runtime.until(brought(call, again), runtime.timing.settle)):
            raise Untested("what comes to a new callback URL does not arrive either (see RTS018)")
    runtime.expect(
        brought(call, news)(state),
        f"the {'event' if call.subscription else 'result'} arrives, as at a URL that is asked for now",
        f"it did not within {runtime.timing.settle:g} s",
        exchange,
        case=f"{call.what}: the callback URL from before a restart",
        absence=True,
    )
