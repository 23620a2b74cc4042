"""Whom the runtime asks after a boot, where, and by which names.

Specification: "Tool Call Status Check", sections "Request", "Fields", "Recovery After Runtime Restart" and
"Dispatch Behavior".
"""

from __future__ import annotations

from rap_conformance.peers.acts import alive, answer
from rap_conformance.peers.toolserver import STATUS_PATH, Query, ToolServer
from rap_conformance.runtime.peer import RuntimePeer, fresh
from rap_conformance.runtime.state import Waiting
from rap_conformance.scenario import Untested, Violation, scenario
from rap_conformance.wire import strict_json

ODD_IDS = (
    *(
        "007",
        "1e3",
        "null",
        "Call_A",
        "call_a",
        "a/b?c=d&e#f",
        ' "quoted" \\ ',
        "\u00e4\u6f22\U0001f680",
        "x" * 300,
    ),
)
"""Ids as models and frameworks make them up; each has to come back as it is."""


def asked(runtime: RuntimePeer, calls: list[Waiting]) -> list[tuple[Waiting, list[Query]]]:
    """Boot, and give each call's requests. Raises Untested if there is none at all."""
    runtime.boot(calls)
    runtime.wait_for_checks(calls)
    found = [(call, runtime.queries(call)) for call in calls]
    if not any(queries for _, queries in found):
        raise Untested("the runtime asked nobody about anything after its boot (see RTS003)")
    return found


@scenario("RTS001")
def test_posts_json(runtime: RuntimePeer) -> None:
    """A POST of JSON to the status endpoint below the base URL, whatever the base URL looks like."""
    for title, how in (
        ("a base URL without a path", {}),
        ("a base URL with a path prefix", {"prefix": "/tools/rap"}),
        ("a base URL that ends with a slash", {"prefix": "/tools/rap", "slash": True}),
    ):
        with runtime.part(title):
            server = runtime.server(**how)
            for _, queries in asked(runtime, runtime.both(server, alive(True))):
                for query in queries:
                    judge_request(query, title)
    with runtime.part("redirects"):
        judge_redirects(runtime)


def judge_request(query: Query, case: str) -> None:
    """One status check, as to its form."""
    request, wanted = query.request, query.server.prefix + STATUS_PATH

    def departs(expected: str, actual: str, what: str) -> Violation:
        return Violation(expected, actual, query.exchange, case=f"{case}: {what}")

    if request.path != wanted:
        raise departs(f"a request to {wanted}", f"one to {ascii(request.target)[1:-1]}", "another path")
    if request.method != "POST":
        raise departs("a POST", f"a {ascii(request.method)[1:-1]}", "another method")
    media = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise departs("Content-Type: application/json", media or "no such header", "another media type")
    try:
        value = strict_json(request.body)
    except ValueError as error:
        raise departs("a body that is JSON in UTF-8", f"one that is not: {error}", "no JSON") from None
    if not isinstance(value, dict):
        raise departs("a JSON object", "other JSON", "no object")


def judge_redirects(runtime: RuntimePeer) -> None:
    """Who follows a redirect still POSTs the same; not to follow is right, too."""
    server, calls = runtime.server(), []
    for status in (301, 302, 303, 307, 308):
        path = f"/moved/{status}"
        server.elsewhere[path] = alive(True)
        calls.append(runtime.call(server, answer(status, headers=(("Location", path),))))
    asked(runtime, calls)
    runtime.settled(calls)
    for query in server.queries:
        if not query.request.path.startswith("/moved/"):
            continue
        moved = query.request.path.rpartition("/")[2]
        if query.request.method != "POST" or not query.request.body:
            runtime.report(
                Violation(
                    "the check is not redirected, or stays a POST with its body",
                    f"a {ascii(query.request.method)[1:-1]} with {len(query.request.body)} bytes",
                    query.exchange,
                    case=f"after a {moved}: no POST any more",
                )
            )


@scenario("RTS002")
def test_identifies(runtime: RuntimePeer) -> None:
    """Both ids of the original invocation, as they were; a subscription by the call that established it."""
    with runtime.part("plain ids"):
        judge_names(runtime, runtime.both(runtime.server(), alive(True)))
    with runtime.part("odd ids"):
        server = runtime.server()
        calls = [runtime.call(server, alive(True), thread=fresh("thread"), id=odd) for odd in ODD_IDS]
        calls += [runtime.call(server, alive(True), thread=f"{odd} ", id=fresh()) for odd in ODD_IDS]
        for call in calls:
            call.alone = True
        judge_names(runtime, calls)
    with runtime.part("one id in two threads"):
        server, shared = runtime.server(), fresh()
        calls = [runtime.call(server, alive(True), thread=fresh("thread"), id=shared) for _ in range(2)]
        judge_names(runtime, calls)


def judge_names(runtime: RuntimePeer, calls: list[Waiting]) -> None:
    """Each call has a query of its own that names it right."""
    answers = asked(runtime, calls)
    server = calls[0].server
    runtime.servers.until(lambda: all(names(server, call) for call in calls), runtime.timing.idle)
    for call, queries in answers:
        if queries and not names(server, call):
            query = queries[0]
            raise Violation(
                f"thread_id {call.thread[:60]!a} and tool_call_id {call.id[:60]!a}, as texts",
                f"the body {query.request.body[:160].decode('utf-8', 'replace')!a}",
                query.exchange,
                case=f"{call.what} is named otherwise",
            )


def names(server: ToolServer, call: Waiting) -> bool:
    """Whether some query names the call as it should."""
    messages = [query.message for query in server.about.get(call.id, ()) if isinstance(query.message, dict)]
    return any((m.get("thread_id"), m.get("tool_call_id")) == (call.thread, call.id) for m in messages)


@scenario("RTS003")
def test_asks_on_boot(runtime: RuntimePeer) -> None:
    """At least one check for every pending call and every active subscription, in whatever threads."""
    servers = [runtime.server() for _ in range(3)]
    threads = [fresh("thread") for _ in range(2)]
    calls = [
        runtime.call(servers[number % 3], alive(True), thread=thread, subscription=subscription)
        for thread in threads
        for subscription in (False, True)
        for number in range(3)
    ]
    calls += [call for server in servers for call in runtime.both(server, alive(True))]
    runtime.boot(calls)
    for call in runtime.wait_for_checks(calls):
        alone = "the only thing in its thread" if call.alone else "one of several things in its thread"
        runtime.report(
            Violation(
                f"a status check about {call.what} that is {alone}",
                f"none, {runtime.timing.idle:g} s after the last request to any server",
                case=f"{call.what}, {alone}: not asked about",
                absence=True,
            )
        )


@scenario("RTS004")
def test_asks_the_owner(runtime: RuntimePeer) -> None:
    """Nobody but the server that received the invocation is asked."""
    servers = [runtime.server() for _ in range(3)]
    calls = [call for server in servers[:2] for call in runtime.both(server, alive(True))]
    runtime.boot(calls, servers=servers)
    if len(runtime.wait_for_checks(calls)) == len(calls):
        raise Untested("the runtime asked nobody about anything after its boot (see RTS003)")
    runtime.settled(calls)
    for call in calls:
        for query in runtime.queries(call):
            if query.is_status and query.server is not call.server:
                raise Violation(
                    "a status check at the server that received the invocation only",
                    "one at another server, which cannot know the call",
                    query.exchange,
                    case=f"{call.what}: another server is asked",
                )
