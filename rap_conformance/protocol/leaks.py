"""What an answer gives away: planted secrets, ids of other calls, internals. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.messages import lenient_json

VOLATILE_HEADERS = frozenset(
    "date age x-request-id request-id x-correlation-id x-amzn-requestid x-amzn-trace-id traceparent "
    "x-trace-id "
    "cf-ray x-runtime x-response-time server-timing set-cookie x-ratelimit-remaining ratelimit-remaining "
    "x-ratelimit-reset ratelimit-reset ratelimit x-rate-limit-remaining retry-after connection keep-alive "
    "x-envoy-upstream-service-time via x-cache x-served-by x-timer report-to nel expires "
    "last-modified".split()
)
"""Headers that differ between any two answers, or between machines."""

OF_THE_BODY = frozenset("content-length etag content-md5 digest content-digest repr-digest".split())
"""Headers computed from the body: `true` and `false` differ in them."""

_SECRET = re.compile(rb"[0-9a-f]{16,}")
INTERNALS = (
    ("a Python traceback", re.compile(rb"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+")),
    ("a JavaScript stack trace", re.compile(rb"\n?\s+at [^\s(]+ ?\(?[^\s)]+:\d+:\d+\)?|\bnode:internal/")),
    ("a Java stack trace", re.compile(rb"\bat [\w.$]+\([\w]+\.java:\d+\)|java\.lang\.\w+(Exception|Error)")),
    ("a Go stack trace", re.compile(rb"goroutine \d+ \[|panic: ")),
    ("a Rust panic", re.compile(rb"thread '[^']*' panicked|RUST_BACKTRACE")),
    ("a .NET stack trace", re.compile(rb"\bat [\w.]+\(.*\) in .+:line \d+|System\.\w+Exception")),
    ("a Ruby stack trace", re.compile(rb"\.rb:\d+:in [`']")),
    ("a PHP error", re.compile(rb"(Fatal error|Warning|Notice)</?b?>?: .* on line|\.php:\d+|\.php on line")),
    (
        "an exception's name",
        re.compile(
            rb"\b(?:[A-Z]\w+)?(?:JSONDecodeError|UnicodeDecodeError|KeyError|TypeError|ValueError|AttributeError"
            rb"|NullPointerException|SyntaxError|OperationalError|IntegrityError|ReferenceError|RuntimeError)\b"
        ),
    ),
    (
        "SQL",
        re.compile(
            rb"\bSELECT\s.+\sFROM\b|\bINSERT\s+INTO\b|\bUPDATE\s\w+\sSET\b|\bDELETE\s+FROM\b|SQLITE_\w+|"
            rb"near \"[^\"]*\": syntax error|unrecognized token|psycopg|ORA-\d{5}|SQLSTATE"
        ),
    ),
    (
        "a file path",
        re.compile(
            rb"(?<![\w:/.])/(?:usr|home|var|opt|app|srv|tmp|etc|root|work)/[\w./-]+|[A-Z]:\\\\?[\w\\]+"
        ),
    ),
)


def blob(exchange: Exchange) -> bytes:
    """Everything the server sent, headers and body."""
    headers = "\n".join(f"{name}: {value}" for name, value in exchange.response_headers)
    return headers.encode("utf-8", "surrogateescape") + b"\n\n" + exchange.response_body


def leaked(exchange: Exchange, planted: Iterable[tuple[str, str]]) -> str | None:
    """What of our calls the answer shows although the request did not name it, in words; None if nothing.

    `planted` are values and, in words, what each would tell.
    """
    answer = blob(exchange)
    if not _SECRET.search(answer):
        return None
    request = exchange.request_body + exchange.url.encode("utf-8", "replace")
    for value, what in planted:
        if value.encode() in answer and value.encode() not in request:
            return what
    return None


def reveals(exchange: Exchange) -> bool:
    """Whether the answer tells, in whatever form, if the call is alive: any `alive`, or a bare boolean."""
    value = lenient_json(exchange.response_body)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return isinstance(value, bool) or (isinstance(value, dict) and value.get("alive") is not None)


def internals(exchange: Exchange) -> str | None:
    """What of the server's inside the answer shows that the request did not contain; None if nothing."""
    answer = blob(exchange)
    for what, pattern in INTERNALS:
        for match in pattern.finditer(answer):
            if match.group() not in exchange.request_body:
                return f"{what}: {match.group()[:60].decode('utf-8', 'replace')!a}"
    return None
