"""The failure card: what differs is marked, pictures show what happened, and size has a limit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rap_conformance.engine.evidence import Exchange, Finding, Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Known, Run
from rap_conformance.reporting import card, html, marks, markup, pictures, view
from tests import runs


def marked(data: bytes, spans: marks.Spans) -> list[bytes]:
    return [piece for piece, is_marked in marks.pieces(data, spans) if is_marked]


def status(answer: bytes, at: float = 1.0, code: int = 200, **more: object) -> Exchange:
    return replace(runs.exchange(answer=answer), started=at, ended=at + 0.003, status=code, **more)  # type: ignore[arg-type]


def invocation(at: float) -> Exchange:
    body = b'{"operation":"wait","id":"rapc-c1","group_id":"t","callback_url":"http://127.0.0.1:39001/cb/1"}'
    return replace(runs.exchange(body, b"", "http://127.0.0.1:3001/invoke"), started=at, ended=at + 0.004)


LIFE = (
    invocation(1.0),
    status(b'{"alive": true}', 1.5),
    replace(runs.CALLBACK, started=2.0, ended=2.01, status=503),
    status(b'{"alive": false}', 2.1),
    status(b"", 2.2, 500),
    replace(runs.CALLBACK, started=3.0, ended=3.01),
)


def failing(*findings: Finding) -> Run:
    return runs.run(replace(runs.result(Verdict.FAIL), findings=findings))


# --- what differs


def test_two_answers_are_compared_with_each_other() -> None:
    one, two = status(b'{"alive": false}'), status(b'{"alive": true}', code=202)
    finding = replace(runs.finding(), exchanges=(one, two))
    first, second = marks.differences(finding)
    assert marked(one.response_body, first.response) == [b"false"]
    assert marked(two.response_body, second.response) == [b"true"]
    assert (first.status, second.status) == (True, True)


def test_headers_that_differ_are_marked_and_volatile_ones_are_not() -> None:
    one = status(b"{}", response_headers=(("Content-Type", "application/json"), ("Date", "1")))
    two = status(b"{}", response_headers=(("Content-Type", "text/html"), ("Date", "2"), ("X-New", "1")))
    marks_of_two = marks.differences(replace(runs.finding(), exchanges=(one, two)))[1]
    assert marks_of_two.headers == {"content-type", "x-new"}


@pytest.mark.parametrize(
    ("expected", "actual", "body", "found"),
    [
        ("`alive: false`", "`alive: true`", b'{"alive":true,"x":1}', [b'alive":true']),
        ("`alive: false`", "`alive: true`", b'{ "alive" :\n true }', [b'alive" :\n true']),
        ("no member but `alive`", "also 'operation'", b'{"alive":false,"operation":"echo"}', [b"operation"]),
        ("a 4xx", "status 500", b"{}", []),
    ],
)
def test_what_the_finding_quotes_is_found_in_the_answer(
    expected: str, actual: str, body: bytes, found: list[bytes]
) -> None:
    exchange = status(body, code=500)
    finding = replace(runs.finding(), expected=expected, actual=actual, exchanges=(exchange,))
    (mark,) = marks.differences(finding)
    assert marked(body, mark.response) == found
    assert mark.status == ("500" in actual)


def test_the_card_shows_the_marks() -> None:
    finding = replace(runs.finding(), expected="`alive: false`", actual="`alive: true`")
    shown = card.card(failing(finding), failing(finding).results[0])
    assert "<code>alive: <mark>false</mark></code>" in shown
    assert "<code>alive: <mark>true</mark></code>" in shown
    assert "<mark>alive&#34;: true</mark>" in shown


def test_marks_never_cut_a_character() -> None:
    data = "aé🎉b".encode()
    for start in range(len(data)):
        for end in range(start, len(data) + 3):
            parts = list(marks.pieces(data, ((start, end),)))
            assert b"".join(piece for piece, _ in parts) == data
            assert all(piece.decode("utf-8") for piece, _ in parts)


def test_long_and_odd_bodies_are_compared_in_bounded_time() -> None:
    many = [status(bytes([65 + n % 7, 34, 32]) * 3000, float(n)) for n in range(12)]
    finding = replace(runs.finding(), actual='"' + "` " * 900 + "\" `a` '' \"", exchanges=tuple(many))
    assert len(marks.differences(finding)) == 12
    assert marks.differences(replace(finding, exchanges=(replace(many[0], status=None),))) == (marks.Marks(),)


# --- pictures


def parsed(figure: str) -> ET.Element:
    return ET.fromstring(figure)  # noqa: S314 - made by us a line above


def test_the_time_line_draws_acknowledgement_queries_and_deliveries() -> None:
    root = parsed(pictures.lifeline(LIFE))
    titles = [title.text for title in root.iter("title")]
    assert titles == [
        "1: invocation acknowledged, at 1.00 s",
        "2: status check: alive, at 1.50 s",
        "4: status check: gone, at 2.10 s",
        "5: status check: unknown, at 2.20 s",
        "3: tool_result, answered 503, at 2.00 s",
        "6: tool_result, answered 200, at 3.00 s",
    ]
    groups = {group.get("class") for group in root.iter("g")}
    assert groups == {f"rap-p-{look}" for look in ("good", "odd", "alive", "gone", "unknown")}
    caption = "".join(next(root.iter("figcaption")).itertext())
    assert "2 status check: alive (0.50 s)" in caption


def test_marks_on_the_time_line_do_not_cover_each_other() -> None:
    close = [status(b'{"alive": true}', 1.0 + n / 10_000) for n in range(30)]
    root = parsed(
        pictures.lifeline([invocation(1.0), *close, replace(runs.CALLBACK, started=9.0, ended=9.1)])
    )
    places = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("circle")]
    assert len(places) == 30
    for n, (x, y) in enumerate(places):
        assert all(abs(x - a) > 20 or abs(y - b) > 20 for a, b in places[:n])


def test_a_time_line_needs_two_exchanges_and_draws_no_more_than_sixty() -> None:
    assert pictures.lifeline(LIFE[:1]) == ""
    many = pictures.lifeline([status(b"", float(n)) for n in range(500)])
    assert many.count("<circle") == 60
    assert "the first 60 are drawn" in many


@pytest.mark.parametrize(
    "latencies",
    [
        (0.003,),
        (0.003,) * 500,
        (1e-9, 1e-6),
        tuple(n / 1000 for n in range(1, 900)),
        (0.5, 30.0),
        (float("nan"), 1.0),
    ],
)
def test_the_histogram_counts_every_answer(latencies: tuple[float, ...]) -> None:
    root = parsed(pictures.histogram(latencies))
    bars = list(root.iter("rect"))
    drawn = [title.text or "" for bar in bars for title in bar.iter("title")]
    finite = sum(value == value for value in latencies)
    assert sum(int(text.split()[0].replace(",", "")) for text in drawn) == finite
    assert all(0 <= float(bar.get("x", -1)) <= 600 and float(bar.get("height", -1)) > 0 for bar in bars)
    assert "median" in "".join(root.itertext())


def test_no_answer_gives_no_histogram() -> None:
    assert pictures.histogram(()) == ""
    assert "svg" not in "".join(html.prefix(runs.run(runs.result(Verdict.PASS))))


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.00084, "0.84 ms"), (0.0123, "12 ms"), (0.0999, "100 ms"), (1.25, "1.25 s")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert pictures.milliseconds(seconds) == shown


def test_a_run_shows_latency_and_one_calls_life() -> None:
    shown = "".join(html.prefix(replace(runs.run(), latencies=(0.002, 0.003), life=LIFE)))
    assert "The life of one call" in shown
    assert "Response times of the status endpoint" in shown


# --- the card as a whole


def test_a_failure_card_says_all_that_a_reader_needs() -> None:
    offending_first = (LIFE[4], *LIFE[:4], *LIFE[5:])
    finding = Finding("TCS004", Level.MUST, "a hostile id, generated", "a 4xx", "status 500", offending_first)
    shown = card.card(failing(finding), failing(finding).results[0], open_=True)
    for part in (
        "An ordinary id that was never invoked is not alive.",
        'href="https://github.com/hydro-project/infinity/blob/',
        "Expected",
        "Actual",
        "What a restarted runtime would do now",
        "Time line",
        "Smallest input found",
        "curl -sSi",
        "How to mend it",
        "rap-conformance check --server-url http://127.0.0.1:3001 --requirement TCS004 --seed 7",
        f"case = &#34;{finding.fingerprint}&#34;",
        "4 more exchanges",
    ):
        assert part in shown, part


def test_the_waiver_is_toml_that_only_lacks_a_reason() -> None:
    import tomllib

    assert tomllib.loads(view.waiver(runs.finding()))["known"] == [
        {"requirement": "TCS004", "case": runs.finding().fingerprint, "reason": ""}
    ]


def test_the_embedded_server_is_judged_again_by_pytest() -> None:
    embedded = replace(runs.run(), target=replace(runs.run().target, embedded=True))
    assert (
        view.again(embedded, "TCS004")
        == "pytest --rap-requirement TCS004 --rap-seed 7 --rap-profile standard"
    )
    started = replace(runs.run(), target=replace(runs.run().target, command="node 'a b.mjs' {port}"))
    assert "--server-cmd 'node '\"'\"'a b.mjs'\"'\"' {port}'" in view.again(started, "TCS004")


def test_ten_thousand_exchanges_make_a_page_below_five_megabytes() -> None:
    written = "".join(html.prefix(runs.ten_thousand()))
    assert len(written.encode("utf-8")) < 3_500_000
    assert written.count("<details id=") == 100
    assert "more findings in report.json" in written


def test_even_hostile_text_keeps_a_bare_card_small() -> None:
    worst = "\U0001f0ff\u202e<" * 2**18
    finding = Finding("TCS004", Level.MUST, worst, worst, worst, (status(worst.encode(), url=worst),) * 50)
    result = replace(runs.result(Verdict.FAIL), findings=(finding,) * 12, reason=worst, notes=(worst,) * 50)
    assert len(card.card(runs.run(result), result, limits=card.LIMITS[-1])) < 60_000


def test_cards_stand_failures_first() -> None:
    shown = "".join(html.prefix(runs.run()))
    order = re.findall(r'<details id="(\w+)" class="rap-card rap-v-([a-z-]+)"', shown)
    assert [verdict for _, verdict in order[:6]] == [
        "fail",
        "warn",
        "known",
        "advice",
        "untested",
        "untested",
    ]
    assert order[-1] == ("DSC001", "pass")
    assert re.findall(r'<details id="(\w+)"[^>]* open>', shown) == ["TCS004"]


def test_baseline_entries_are_shown() -> None:
    entries = (Known("TCS006", "limits are set at the `gateway` <b>", "9c1f", "2027-06-30"),)
    shown = "".join(
        html.prefix(replace(runs.run(), known=entries, stale=("TCS031: the requirement passed",)))
    )
    assert "case 9c1f: limits are set at the <code>gateway</code> &lt;b&gt; (until 2027-06-30)" in shown
    assert "TCS031: the requirement passed" in shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a `b` c", "a <code>b</code> c"),
        ("a ` b", "a ` b"),
        ("`<x>`", "<code>&lt;x&gt;</code>"),
        ("``", "<code></code>"),
        ("a`b`c`", "a<code>b</code>c`"),
    ],
)
def test_prose_sets_code(given: str, shown: str) -> None:
    assert markup.prose(given) == shown


def test_prose_that_is_cut_says_so() -> None:
    assert markup.prose("a`" + "b" * 50, 10) == "a`bbbbbbbb… [cut: 10 of 52 characters]"
