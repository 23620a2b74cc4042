"""Sample runs for the tests of reports: one of every verdict, and text as hostile as it gets."""

from __future__ import annotations

from dataclasses import replace

from rap_conformance.engine.evidence import Exchange, Failure, Finding, Verdict
from rap_conformance.engine.requirement import Area, Level, Requirement, Stage
from rap_conformance.engine.run import Known, Result, Run, RunVerdict, Target
from rap_conformance.protocol.specification import page

OWN = "document.title='owned'"
SCRIPT = f"<script>{OWN}</script><img src=x onerror={OWN}>"
BREAKOUT = (
    f"\"'><svg onload={OWN}></svg></script><script>{OWN}</script></textarea></title></style></details></main>"
    f"<base href=//evil.example><iframe srcdoc='<script>parent.{OWN}</script>'></iframe>"
    f"<a href='javascript:{OWN}'>x</a><!-- --><![CDATA[<input autofocus onfocus={OWN}>]]>"
    "<meta http-equiv=refresh content='0;url=//evil.example'>"
)
ANSI = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m\x00\x08\r"
BIDI = "\u202eevil\u202c \u2066x\u2069 \u200e\u200f\u061c\ufeff\u2028"
SURROGATE = "\ud800 lone \udfff"
MARKUP = "]]> & \" ' `|` [x](javascript:alert(1)) @everyone ::error::x ##[error]x \ufffe"
HOSTILE = " ".join((SCRIPT, ANSI, BIDI, SURROGATE, MARKUP, BREAKOUT))
HARMFUL = [chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F))] + [
    *"\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\ufeff\ufffe\ud800\udfff"
]
AREAS = {
    "DSC": Area(1, "discovery", "Discovery"),
    "INV": Area(2, "invocation", "Invocation"),
    "TCS": Area(4, "tool_call_status", "Tool call status"),
    "SUB": Area(7, "subscription", "Subscriptions"),
}
MEGABYTE = b"A" * 2**20


def requirement(code: str = "TCS004", level: Level = Level.MUST) -> Requirement:
    return Requirement(
        code=code,
        name="unknown-not-alive",
        level=level,
        basis="stated: a sentence uses the word",
        role="server",
        revisions=("2026-07-pr62",),
        section="basic/tool-call-status.md#response",
        url=page("2026-07-pr62", "basic/tool-call-status.md#response"),
        area=AREAS[code[:3]],
        statement="An ordinary id that was never invoked is not alive.",
        why="A restarted runtime keeps waiting for a call that nobody will ever finish.",
        remedy="Look ids up exactly as they were given, and answer false for every other.",
        needs=("status",),
        stage=Stage.HARMLESS,
    )


def exchange(
    body: bytes = b'{"thread_id":"rapc-t1","tool_call_id":"RAPC-C1"}',
    answer: bytes = b'{"alive": true}',
    url: str = "http://127.0.0.1:3001/tool_call_status",
) -> Exchange:
    return Exchange(
        method="POST",
        url=url,
        request_headers=(
            ("Host", "127.0.0.1:3001"),
            ("Content-Type", "application/json"),
            ("Authorization", "Bearer <redacted>"),
        ),
        request_body=body,
        status=200,
        response_headers=(("content-type", "application/json"), ("date", "Thu, 01 Jan 2026 00:00:00 GMT")),
        response_body=answer,
        started=1.25,
        ended=1.2534,
    )


NO_ANSWER = replace(
    exchange(b"{}"),
    status=None,
    response_headers=(),
    response_body=b"",
    failure=Failure.RESET,
    detail="connection reset by peer",
)
CALLBACK = replace(
    exchange(b'{"type":"tool_result","id":"007","text":"done"}', b"", "http://127.0.0.1:39001/cb/1?q=%2F"),
    inbound=True,
)


def finding(level: Level = Level.MUST, code: str = "TCS004") -> Finding:
    actual = '{"alive": true} for an id nobody invoked'
    return Finding(code, level, "another case of a live id", '{"alive": false}', actual, (exchange(),))


def result(verdict: Verdict, code: str = "TCS004", level: Level = Level.MUST, reason: str = "") -> Result:
    departs = verdict in {Verdict.FAIL, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN}
    findings = (finding(level, code),) if departs else ()
    return Result(requirement(code, level), verdict, reason, findings, (), 3, 100, 0.125)


def run(*results: Result, verdict: RunVerdict = RunVerdict.NOT_CONFORMANT, exit_status: int = 1) -> Run:
    return Run(
        target=Target("http://127.0.0.1:3001", "calculator", ("echo", "wait"), authentication="bearer token"),
        revision="2026-07-pr62",
        protocol="RAP",
        catalogue="0.1",
        suite_version="0.1.0",
        started="2026-08-01T12:00:00Z",
        profile="standard",
        seed=7,
        results=results or one_of_each(),
        verdict=verdict,
        exit=exit_status,
        duration=12.5,
        requests=412,
        planned=8,
        executed=8,
        configuration=(("request_timeout", "10.0"),),
    )


def one_of_each() -> tuple[Result, ...]:
    pending = "no tool stays pending: configure [scenario.pending]"
    return (
        result(Verdict.PASS, "DSC001"),
        result(Verdict.FAIL, "TCS004"),
        result(Verdict.KNOWN, "TCS006", reason="known until 2027-06-30: limits are set at the gateway"),
        result(Verdict.UNTESTED, "TCS005", reason=pending),
        result(Verdict.UNTESTED, "TCS009", reason=pending),
        result(Verdict.NOT_APPLICABLE, "SUB001", reason="the server has no subscription tool"),
        result(Verdict.ERROR, "INV005", reason="the network went away"),
        result(Verdict.WARN, "TCS019", Level.SHOULD),
        result(Verdict.ADVICE, "TCS036", Level.ADVICE),
    )


def hostile() -> Run:
    """A run in which everything that can come from a server is hostile, and much of it long."""
    raw = HOSTILE.encode("utf-8", "surrogatepass") + b"\xff\x00"
    nasty = replace(
        exchange(raw, raw),
        url="http://127.0.0.1:3001/" + HOSTILE,
        request_headers=(("X-" + ANSI, HOSTILE),),
        response_headers=(("content-type", HOSTILE), (HOSTILE, HOSTILE)),
        detail=HOSTILE,
        failure=Failure.CUT_SHORT,
    )
    big = exchange(MEGABYTE, MEGABYTE)
    exchanges = (nasty, big, NO_ANSWER, CALLBACK, replace(CALLBACK, request_body=raw, url=HOSTILE))
    found = Finding("TCS004", Level.MUST, HOSTILE, HOSTILE, HOSTILE + "B" * 2**20, exchanges)
    bad = Result(requirement(), Verdict.FAIL, HOSTILE, (found,), (HOSTILE,))
    odd = (replace(result(v, f"TCS02{n}"), reason=HOSTILE) for n, v in enumerate(Verdict) if v != "fail")
    return replace(
        run(bad, *odd),
        target=Target("http://x/" + HOSTILE, HOSTILE, (HOSTILE,) * 30, authentication=HOSTILE),
        causes=(HOSTILE,),
        cut_short=HOSTILE,
        notes=(HOSTILE,),
        configuration=((HOSTILE, HOSTILE),),
        known=(Known("TCS004", HOSTILE, HOSTILE, HOSTILE),),
        stale=(HOSTILE,),
        selected=(HOSTILE,),
        latencies=(0.001, 0.002),
        life=exchanges,
    )


def ten_thousand() -> Run:
    """A hundred failed requirements with ten thousand exchanges, their bodies as long as they are kept."""
    results = []
    for number in range(100):
        code = f"TCS{number:03}"
        bodies = [f'{{"alive": true, "n": {n}, "text": "{"<&é" * 1500}"}}'.encode() for n in range(10)]
        exchanges = tuple(replace(exchange(answer=body), started=n / 3) for n, body in enumerate(bodies))
        findings = tuple(
            Finding(code, Level.MUST, f"case {n}", "`alive: false`", "`alive: true` " + "é" * 2000, exchanges)
            for n in range(10)
        )
        results.append(replace(result(Verdict.FAIL, code), findings=findings))
    return run(*results)
