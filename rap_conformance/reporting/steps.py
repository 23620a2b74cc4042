"""What shows a finding again, as commands to paste: one request, several on one connection, or all it took.

Like a single command it is printable ASCII throughout and holds no secret.
"""

from __future__ import annotations

import math
import shlex

from rap_conformance.engine.evidence import Exchange, Finding, Steps
from rap_conformance.reporting.curl import IN_A_ROW, chained, commented, curl

AT_ONCE = 16
"""Requests of a crowd that are under way at the same time."""
_PAUSE = 0.05
"""Seconds between two steps from which on they are waited out."""
_MORE = 0.7
"""Seconds for which it is waited longer where something is to arrive meanwhile."""

_RECEIVER = """\
python3 -c '
import http.server as h, sys
class R(h.BaseHTTPRequestHandler):
    def do_POST(s):
        body, size = b"", s.headers.get("content-length")
        if size: body = s.rfile.read(int(size))
        while not size and (n := int(s.rfile.readline(), 16)): body += s.rfile.read(n); s.rfile.readline()
        print("received:", body, flush=True)
        s.send_response(int(sys.argv.pop(3)) if sys.argv[3:] else 200)
        s.send_header("content-length", "0"); s.end_headers()
    def log_message(s, *a): pass
h.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), R).serve_forever()' {arguments} &
receiver=$!
sleep 1
"""


def reproduce(finding: Finding) -> str:
    """Commands that show it again; empty if it holds no exchange."""
    first = next(iter(finding.exchanges), None)
    steps = finding.steps
    if first is None:
        return ""
    said = commented([f"It depends on {finding.depends}."]) if finding.depends else ""
    if steps is None:
        return said + curl(first)
    if steps.kept:
        return said + chained(steps.exchanges)
    return said + _script(finding, first, steps)


def _script(finding: Finding, first: Exchange, steps: Steps) -> str:
    out: list[str] = []
    if steps.listen:
        out.append(commented(["Its ids were used before: if they are refused now, change them throughout."]))
        out.append(_RECEIVER.format(arguments=_listening(steps)))
    clock: float | None = None
    arrives = False
    ours = [exchange for exchange in finding.exchanges if not exchange.inbound]
    for exchange in steps.exchanges:
        if exchange.inbound:
            arrives = True
            continue
        if steps.crowd and exchange in ours and exchange is not first:
            continue
        if clock is not None:
            later = any(e.inbound and e.started > exchange.started for e in steps.exchanges)
            out.append(_meanwhile(steps, clock, exchange.started, arrives and not later))
        clock, arrives = exchange.ended, False
        if exchange is first and len(steps.exchanges) > 1:
            out.append("# This is what it is about:\n")
        if exchange is first and steps.crowd:
            out.append(_crowd(ours, steps.crowd))
        else:
            out.append(f"{curl(exchange, show=IN_A_ROW)}\n")
    if steps.listen:
        last = max((e.started for e in steps.exchanges if e.inbound), default=0.0)
        more = max(steps.watch, last - clock + _MORE if clock is not None and last > clock else 0.0)
        out.append(f"sleep {_seconds(more)}\n" if more else "")
        out.append('kill "$receiver"')
    return "".join(out).rstrip("\n")


def _listening(steps: Steps) -> str:
    """Where the receiver listens, and what it answers until it answers 200 for good."""
    assert steps.listen is not None
    host, port = steps.listen
    answers = [str(exchange.status or 503) for exchange in steps.exchanges if exchange.inbound]
    while answers and answers[-1].startswith("2"):
        answers.pop()
    return " ".join([shlex.quote(host), str(port), *answers])


def _meanwhile(steps: Steps, since: float, until: float, arrives: bool) -> str:
    """What happens between two requests: a restart, or a pause."""
    if any(since <= time <= until for time in steps.restarts):
        return "printf 'Kill the server and start it again, then press Enter: '; read -r _\n"
    pause = until - since + (_MORE if arrives else 0.0)
    return f"sleep {_seconds(pause)}\n" if pause >= _PAUSE else ""


def _seconds(pause: float) -> str:
    return f"{math.ceil(pause * 10) / 10:g}"


def _crowd(exchanges: list[Exchange], number: int) -> str:
    """Many of the same at once, and how often each answer came."""
    commands = [curl(exchange, show="-sS -w ' %{http_code}'") for exchange in exchanges]
    said = [line for command in commands for line in command.splitlines() if line.startswith("# ")]
    bare = ["\n".join(x for x in command.splitlines() if not x.startswith("# ")) for command in commands]
    # What one prints comes in one piece, whatever the others print meanwhile.
    inside = "".join(f"  printf '%s\\n' \"$({command})\" &\n" for command in bare)
    many = max(1, number // len(exchanges))
    at_once = max(1, AT_ONCE // len(exchanges))
    return (
        "".join(f"{line}\n" for line in said)
        + f"for n in $(seq {many}); do\n{inside}  [ $((n % {at_once})) -ne 0 ] || wait\n"
        + "done | sort | uniq -c\n"
    )
