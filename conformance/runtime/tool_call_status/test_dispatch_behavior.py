"""Whom a runtime asks, and that nothing waits for a slow answer.

Specification: "Tool Call Status Check", section "Dispatch Behavior".
"""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Failure
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.network.acts import Act, Gate, alive, answer
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.peer import NOBODY_ASKED, RuntimePeer, named
from rap_conformance.runtime.state import Waiting

SLOW = 6.0
"""Seconds for which a slow server holds its answer, unless nothing depends on it any more."""
STALL = 2.5
"""Seconds without any progress that show that the others wait for the slow one."""


@scenario("RTS004", control=Positive("the owner has to be asked"))
def test_asks_the_owner(runtime: RuntimePeer) -> None:
    """Nobody but the server that received the invocation is asked."""
    with runtime.part("servers at ports of their own"):
        servers = [runtime.server() for _ in range(3)]
        calls = [call for server in servers[:2] for call in runtime.both(server, alive(True))]
        judge_owner(runtime, servers, calls, "another server is asked")
    with runtime.part("two servers at one port"):
        short = runtime.server(prefix="/tools")
        servers = [short, runtime.servers.beside(short, "/tools/more/of-them")]
        calls = [call for server in reversed(servers) for call in runtime.both(server, alive(True))]
        judge_owner(runtime, servers, calls, "the server with the other path at the same port is asked")


def judge_owner(runtime: RuntimePeer, servers: list[ToolServer], calls: list[Waiting], what: str) -> None:
    """The checks about these calls come to their own servers, of all that are configured."""
    runtime.boot(calls, servers=servers)
    runtime.settled(calls)
    checks = [(call, query) for call in calls for query in runtime.queries(call) if query.is_status]
    if not checks:
        raise Untested(NOBODY_ASKED)
    if missed := [call for call in calls if call not in {asked for asked, _ in checks}]:
        runtime.partial(f"never asked about: {named(missed)} (see RTS003)")
    for call, query in checks:
        runtime.expect(
            query.server is call.server,
            "a status check at the server that received the invocation only",
            "one at another server, which cannot know the call",
            query.exchange,
            case=f"{call.what}: {what}",
        )


@scenario("RTS013", control=Positive("the others have to be asked about while the slow server is silent"))
def test_concurrent(runtime: RuntimePeer) -> None:
    """One slow server delays nobody else's check. Its calls are first, last and in between."""
    with runtime.part("calls of one server, and of one thread"):
        judge_one_server(runtime)
    slow = max(SLOW, 2.4 * grace(runtime))
    if runtime.session.common.profile == "thorough":
        judge_concurrency(runtime, servers=20, calls=1000, slow=max(slow, 5 * SLOW))
    else:
        judge_concurrency(runtime, servers=7, calls=21, slow=slow)


def grace(runtime: RuntimePeer) -> float:
    """Seconds without an effect that show that an answer waits for something else."""
    runtime.learn_pruning()
    return max(STALL, 1.0 + 1.5 * runtime.habits.pruning)


def judge_one_server(runtime: RuntimePeer) -> None:
    """All answers of one server are held: at least two of its calls have to be asked about meanwhile, and
    calls of another server, though they are in one thread with one of them."""
    gate, server, other = Gate(SLOW), runtime.server(), runtime.server()
    held = alive(True, gate=gate)
    both_kinds = len(runtime.kinds) > 1
    calls = [call for _ in range(1 if both_kinds else 3) for call in runtime.both(server, held)]
    beside: list[Waiting] = []
    for kind in runtime.kinds if both_kinds else ():
        thread = fresh("thread")
        calls.append(runtime.call(server, held, subscription=kind, thread=thread))
        beside.append(runtime.call(other, alive(True), subscription=not kind, thread=thread))
    runtime.boot([*calls, *beside], status_timeout=SLOW)

    def asked_about() -> int:
        return sum(bool(server.about.get(call.id)) for call in calls)

    if not runtime.servers.until(lambda: server.open, runtime.quiet):
        raise Untested("the runtime did not ask the slow server (see RTS003)")
    try:
        alone = still(runtime, server, lambda: asked_about() > 1)
        runtime.expect(
            not alone,
            "checks about several calls of one server under way at once",
            f"one, and nothing about {len(calls) - 1} others for {STALL:g} s",
            *[query.exchange for query in server.queries if query.is_status][:1],
            case="checks of one server's calls wait for each other",
            absence=True,
        )
        judge_beside(runtime, server, beside)
    finally:
        gate.open()
    runtime.settled([*calls, *beside])


def judge_beside(runtime: RuntimePeer, slow: ToolServer, beside: list[Waiting]) -> None:
    """Calls whose threads wait for something of the slow server, too, are asked about all the same."""
    if not beside or not slow.open:
        return
    stuck = still(runtime, slow, lambda: all(call.server.about.get(call.id) for call in beside))
    left = [call for call in beside if not call.server.about.get(call.id)]
    runtime.expect(
        not stuck,
        "checks about a thread's other calls while one of its checks has no answer",
        f"none for {STALL:g} s about {named(left)}",
        *[query.exchange for query in slow.queries if query.is_status][:1],
        case="checks of one thread's calls wait for each other",
        absence=True,
    )


def judge_concurrency(runtime: RuntimePeer, servers: int, calls: int, slow: float) -> None:
    """Calls spread evenly over the servers, of which the first holds its answers for `slow` seconds."""
    gate = Gate(slow)
    crowd = [runtime.server() for _ in range(servers)]
    held, ends = alive(True, gate=gate), (alive(False), answer(404))
    waiting = [
        runtime.call(crowd[number % servers], ends[number % 2] if number % servers else held)
        for number in range(calls)
    ]
    waiting.append(runtime.call(crowd[0], held))
    fast = [call for call in waiting if call.server is not crowd[0]]
    runtime.boot(waiting, status_timeout=slow)
    if not runtime.servers.until(lambda: crowd[0].open, runtime.quiet):
        raise Untested("the runtime did not ask the slow server (see RTS003)")
    try:
        judge_asked(runtime, fast, crowd[0])
        with runtime.part("answers that end calls"):
            judge_effect(runtime, fast, crowd[0])
    finally:
        gate.open()
    runtime.settled(waiting, fast)


def judge_asked(runtime: RuntimePeer, fast: list[Waiting], slow: ToolServer) -> None:
    """Every call of the others is asked about while the slow server holds its answers."""
    left = [*fast]

    def over() -> bool:
        left[:] = [call for call in left if not call.server.about.get(call.id)]
        return not left

    while not over():
        before = len(left)
        if still(runtime, slow, lambda now=before: over() or len(left) < now):  # type: ignore[misc]
            raise Violation(
                "checks about other servers' calls while one server has not answered yet",
                f"none about {len(left)} of {len(fast)} calls for {STALL:g} s: {named(left)}",
                *[query.exchange for query in slow.queries if query.is_status][:1],
                case="checks wait for a slow server",
                absence=True,
            )
    runtime.judged(len(fast))


def judge_effect(runtime: RuntimePeer, fast: list[Waiting], slow: ToolServer) -> None:
    """Answers that end calls take effect while the slow server holds its own; so far as any do at all."""

    def effect() -> bool:
        return any(map(runtime.state().pruned, fast))

    in_time = not still(runtime, slow, effect, grace(runtime))
    slow_query = [query.exchange for query in slow.queries if query.is_status][:1]
    if not in_time:
        runtime.patience.until(lambda: not slow.open, runtime.timing.silence)
        runtime.until(lambda now: any(map(now.pruned, fast)), runtime.timing.settle)
        if not effect():
            raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    runtime.expect(
        in_time,
        "answers take effect while one server has not answered yet",
        "other servers' calls were given up only afterwards",
        *slow_query,
        case="answers wait for a slow server",
        absence=True,
    )


def still(
    runtime: RuntimePeer, slow: ToolServer, progress: Callable[[], object], stall: float = STALL
) -> bool:
    """Whether nothing happens for so long (`stall`, in seconds) that it must wait for the slow server.

    Raises Untested if the runtime gives up on the slow server before that can be told.
    """
    if runtime.servers.until(lambda: progress() or not slow.open, stall) and slow.open:
        return False
    if slow.open:
        runtime.state()  # a runtime that is merely busy goes on with its checks before it answers this
        return not runtime.servers.until(progress, stall / 2)
    if progress():
        return False
    raise Untested("the runtime gave up on the slow server too soon to see whether others wait for it")


@scenario("RTS014", control=Positive("messages have to be taken up while a check is held"))
def test_does_not_block(runtime: RuntimePeer) -> None:
    """Messages are taken up while checks are under way, also in the thread that waits."""
    gate, server = Gate(SLOW), runtime.server()
    calls = runtime.both(server, alive(True, gate=gate))
    runtime.boot(calls, threads=[fresh("thread")], status_timeout=SLOW / 2)
    if not runtime.servers.until(lambda: server.open, runtime.quiet):
        raise Untested("the runtime did not ask the slow server (see RTS003)")
    try:
        with runtime.part("another thread"):
            judge_message(runtime, server, runtime.given[-1], "another thread")
        with runtime.part("the thread that waits"):
            judge_message(runtime, server, calls[0].thread, "the thread that waits")
    finally:
        gate.open()
    runtime.settled(calls)


def judge_message(runtime: RuntimePeer, server: ToolServer, thread: str, where: str) -> None:
    """One message, sent while a check is held."""
    if not server.open:
        raise Untested("the runtime gave its checks up before a message could be sent")
    said = runtime.say_beside(thread)
    runtime.servers.until(lambda: said.done() or not server.open, SLOW + 1.0)
    if not said.done():
        # The check is over: a message that waited for it is answered now, one that is only slow was prompt.
        runtime.servers.until(said.done, runtime.timing.silence)
    exchange = said.result(runtime.timing.answer)
    ended = max((query.ended or exchange.ended for query in server.queries), default=exchange.ended)
    runtime.expect(
        exchange.elapsed <= runtime.timing.prompt or exchange.ended < ended,
        f"a message in {where} is taken up while checks are under way",
        f"it was after {exchange.elapsed:.1f} s, when they were over",
        exchange,
        case=f"a message in {where} waits for the checks",
        absence=True,
    )


@scenario("RTS015", control=Positive("only calls that some server was asked about, or that left, are judged"))
def test_many_servers_rule(runtime: RuntimePeer) -> None:
    """Origin unknown: alive if anyone says so, else unknown if anyone cannot be asked."""
    runtime.learn_pruning()
    servers = [runtime.server() for _ in range(3)]
    cases = {
        "one of several says that it is alive": alive(True),
        "one of several answers 503": answer(503),
        "one of several gives no answer": Act(ending="reset", failure=Failure.RESET),
    }
    calls: dict[str, list[Waiting]] = {}
    for title, act in cases.items():
        calls[title] = runtime.both(servers[1], act, hidden=True)
    everything = [call for some in calls.values() for call in some]
    runtime.boot(everything, servers=servers)
    runtime.servers.until(
        lambda: all(len(asked_at(servers, call)) == 3 for call in everything), runtime.quiet
    )
    state = runtime.settled([], wary=True)
    if not any(asked_at(servers, call) for call in everything) and not any(map(state.pruned, everything)):
        raise NotApplicable("the runtime asks nobody about calls whose server it does not know, which it may")
    missed = [call for call in everything if not asked_at(servers, call) and not state.pruned(call)]
    if missed:
        runtime.partial(f"never asked about, though others were: {named(missed)}")
    for title, some in calls.items():
        for call in some:
            if asked_at(servers, call) or state.pruned(call):
                runtime.expect(
                    not state.pruned(call),
                    "the call is kept",
                    "the runtime gave it up",
                    *[query.exchange for query in runtime.queries(call)],
                    case=f"{call.what}: {title}",
                )


def asked_at(servers: list[ToolServer], call: Waiting) -> set[str]:
    """The names of the servers that were asked about a call."""
    return {server.name for server in servers if server.about.get(call.id)}
