"""Where a runtime asks, and how.

Specification: "Tool Call Status Check", section "Request".
"""

from __future__ import annotations

from typing import Any

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive, answer
from rap_conformance.network.toolserver import STATUS_PATH, Query
from rap_conformance.protocol.reading import strict_json
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import Waiting

REDIRECTS = (301, 302, 303, 307, 308)


@scenario("RTS001", control=Positive("requests have to come before their form can be right"))
def test_posts_json(runtime: RuntimePeer) -> None:
    """A POST of JSON to the status endpoint below the base URL, whatever the base URL looks like."""
    bases: dict[str, dict[str, Any]] = {
        "a base URL without a path": {},
        "a base URL with a path prefix": {"prefix": "/tools/rap"},
        "a base URL that ends with a slash": {"prefix": "/tools/rap", "slash": True},
    }
    servers = {title: runtime.server(**how) for title, how in bases.items()}
    calls = [call for server in servers.values() for call in runtime.both(server, alive(True))]
    found = runtime.asked(calls)
    for title, server in servers.items():
        with runtime.part(title):
            mine = [query for call, queries in found if call.server is server for query in queries]
            if not mine:
                raise Untested("the runtime asked about none of these calls (see RTS003)")
            for query in mine:
                judge_request(query, title)
                runtime.judged()
    with runtime.part("redirects"):
        judge_redirects(runtime)


def judge_request(query: Query, case: str) -> None:
    """One status check, as to its form. Raises Violation for the first thing that is wrong with it."""
    request, wanted = query.request, query.server.prefix + STATUS_PATH

    def departs(expected: str, actual: str, what: str, level: Level | None = None) -> Violation:
        return Violation(expected, actual, query.exchange, case=f"{case}: {what}", level=level)

    if request.path != wanted:
        # How slashes join is not specified (note N8).
        joined = query.server.base.endswith("/") and request.path == wanted.replace(
            STATUS_PATH, f"/{STATUS_PATH}"
        )
        raise departs(
            f"a request to {wanted}",
            f"one to {ascii(request.target)[1:-1]}",
            "another path",
            Level.ADVICE if joined else None,
        )
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
    """Who follows a redirect should still POST the same: advice, for HTTP lets a 303 become a GET."""
    server, calls = runtime.server(), dict[int, Waiting]()
    for status in REDIRECTS:
        path = moved_to(status)
        server.elsewhere[path] = alive(True)
        calls[status] = runtime.call(server, answer(status, headers=(("Location", path),)))
    found = runtime.asked([*calls.values()])
    runtime.settled([*calls.values()])
    for status, (_, queries) in zip(calls, found, strict=True):
        followed = [query for query in server.queries if query.request.path == moved_to(status)]
        wrong = [query for query in followed if query.request.method != "POST" or not query.request.body]
        for query in wrong:
            runtime.report(
                Violation(
                    "the check is not redirected, or stays a POST with its body",
                    f"a {ascii(query.request.method)[1:-1]} with {len(query.request.body)} bytes",
                    query.exchange,
                    case=f"after a {status}: no POST any more",
                    level=Level.ADVICE,
                )
            )
        if queries and not wrong:
            runtime.judged()


def moved_to(status: int) -> str:
    """Where a redirect leads."""
    return f"/moved/{status}"
