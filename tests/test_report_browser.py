"""report.html and the matrix in a real Chromium: they work, they are accessible, and nothing hostile runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting import matrix
from tests import browser as chrome
from tests import runs
from tests.report_page import page as make_page
from tests.test_reporting_card import LIFE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DARK = {"color_scheme": "dark"}
PHONE = {"viewport": {"width": 390, "height": 844}}
LARGEST = 5_000_000  # bytes
USABLE = 2.0  # seconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chrome.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def failing_run() -> Run:
    deep = replace(runs.finding(), case="between two attempts", exchanges=LIFE)
    results = [
        *runs.one_of_each(),
        replace(runs.result(Verdict.FAIL, "TCS025"), findings=(deep, runs.finding())),
    ]
    return replace(runs.run(*results), latencies=(0.002, 0.003, 0.1), life=LIFE)


@pytest.fixture(scope="module")
def failing(folder: Path) -> Path:
    return make_page(failing_run(), folder / "failing")


@pytest.fixture(scope="module")
def passing(folder: Path) -> Path:
    results = [runs.result(Verdict.PASS, code) for code in ("DSC001", "TCS001", "TCS002")]
    whole = runs.run(*results, verdict=RunVerdict.CONFORMANT, exit_status=0)
    return make_page(whole, folder / "passing")


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    return make_page(runs.hostile(), folder / "hostile")


@pytest.fixture(scope="module")
def compared(folder: Path) -> Path:
    before, after = json_report.report(runs.run()), json_report.report(failing_run())
    after["started"] = "2026-08-02T12:00:00Z"
    after["requirements"][0]["verdict"] = "fail"
    hostile_one = json_report.report(runs.hostile())
    entries = [matrix.Entry(runs.HOSTILE, each) for each in (before, after, hostile_one)]
    path = folder / "matrix.html"
    path.write_text(matrix.compare(entries), "utf-8")
    return path


def shown(page: Page) -> list[str]:
    """Codes of the cards that are to be seen."""
    return [str(card.get_attribute("id")) for card in page.query_selector_all(".rap-card:not([hidden])")]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))


def tab_to(page: Page, mark: str) -> None:
    """Press Tab until the element with that in its tag has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if mark in focused(page):
            return
    pytest.fail(f"Tab never reaches {mark}")


# --- how it works


def test_the_page_says_the_verdict_and_opens_what_to_begin_with(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(failing)
        assert page.inner_text(".rap-verdict") == "Not conformant: 2 requirements failed."
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.get_attribute("#TCS004", "open") is not None
        assert page.get_attribute("#TCS025", "open") is None
        assert page.title().startswith("RAP conformance of calculator")
        assert len(shown(page)) == 10


def test_filters_work_by_keyboard_and_live_in_the_address(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(failing)
        tab_to(page, 'value="fail"')
        press(page, "Space")
        assert shown(page) == ["TCS004", "TCS025"]
        assert page.url.endswith("#verdict=fail")
        assert page.inner_text("#rap-filter output") == "2 of 10 shown"
        tab_to(page, 'name="text"')
        page.keyboard.type("attempts & ")
        assert shown(page) == []
        assert page.is_visible(".rap-nothing")
        page.fill('input[name="text"]', "two attempts")
        assert shown(page) == ["TCS025"]
        page.reload()
        assert shown(page) == ["TCS025"]
        assert page.is_checked('input[value="fail"]')
        tab_to(page, 'type="reset"')
        press(page, "Enter")
        page.wait_for_function("!location.hash")
        assert len(shown(page)) == 10
        page.check('input[value="SHOULD"]')
        assert shown(page) == ["TCS019"]
        assert [area.is_visible() for area in page.query_selector_all(".rap-area")].count(True) == 1


def test_cards_open_by_keyboard_by_link_and_by_address(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(failing)
        press(page, "Tab")
        assert "rap-skip" in focused(page)
        press(page, "Enter")
        assert "rap-requirements" in focused(page)
        page.check('input[value="pass"]')
        page.focus('a.rap-tile[href="#TCS025"]')
        press(page, "Enter")
        page.wait_for_function("document.getElementById('TCS025').open")
        assert "TCS025" in str(page.evaluate("document.activeElement.parentElement.id"))
        assert len(shown(page)) == 10, "what the filter hides is shown when somebody asks for it"
        press(page, "Enter")
        assert page.get_attribute("#TCS025", "open") is None
        page = seen.open(failing, "#TCS019&verdict=warn")
        assert shown(page) == ["TCS019"]
        assert page.get_attribute("#TCS019", "open") is not None
        assert page.url.endswith("#TCS019&verdict=warn")


def test_open_shown_close_and_copy(browser: Browser, failing: Path) -> None:
    grants: dict[str, Any] = {"permissions": ["clipboard-read", "clipboard-write"]}
    with chrome.watched(browser, **grants) as seen:
        page = seen.open(failing)
        page.check('input[value="fail"]')
        page.click('button[name="close"]')
        page.click('button[name="open"]')
        assert page.eval_on_selector_all(".rap-card[open]", "cards => cards.map((card) => card.id)") == [
            "TCS004",
            "TCS025",
        ]
        page.click("#TCS004 .rap-copy button")
        page.wait_for_function("document.querySelector('#TCS004 .rap-copy button').textContent !== 'Copy'")
        if page.inner_text("#TCS004 .rap-copy button") == "Copied":
            assert page.evaluate("navigator.clipboard.readText()").startswith("curl -sSi")


def test_without_script_everything_is_there_but_the_filters(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser, java_script_enabled=False) as seen:
        page = seen.open(failing)
        assert not page.is_visible("#rap-filter")
        page.click("#TCS019 > summary")
        assert page.is_visible("#TCS019 .rap-evidence")


def test_what_pytest_saw_is_folded_at_the_end(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(failing)
        assert page.get_attribute(".rap-raw", "open") is None
        page.click(".rap-raw > summary")
        assert page.is_visible("#results-table")
        page.click("#results-table .col-name >> nth=0")
        assert len(page.query_selector_all("#results-table tbody")) == 10


def test_on_paper_what_did_not_pass_stands_open(browser: Browser, failing: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(failing)
        page.click('button[name="close"]')
        page.emulate_media(media="print")
        assert page.is_visible("#TCS019 .rap-evidence")
        assert not page.is_visible("#DSC001 .rap-evidence")
        assert not page.is_visible("#rap-filter")


# --- how it holds


@pytest.mark.parametrize("how", [{}, DARK, PHONE], ids=["light", "dark", "telephone"])
@pytest.mark.parametrize("which", ["failing", "passing", "hostile", "compared"])
def test_no_serious_accessibility_fault(
    browser: Browser, which: str, how: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    with chrome.watched(browser, **how) as seen:
        page = seen.open(request.getfixturevalue(which))
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.wait_for_timeout(50)
        assert chrome.accessibility_faults(page) == []


@pytest.mark.parametrize("which", ["failing", "passing", "hostile"])
def test_nothing_is_wider_than_a_telephone(
    browser: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    with chrome.watched(browser, **PHONE) as seen:
        page = seen.open(request.getfixturevalue(which))
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("which", ["hostile", "compared"])
def test_nothing_hostile_runs(browser: Browser, which: str, request: pytest.FixtureRequest) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(request.getfixturevalue(which))
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for part in page.query_selector_all(".collapsible, input[type=checkbox]"):
            part.dispatch_event("click")
        page.wait_for_timeout(200)
        assert "owned" not in page.title().replace("document.title='owned'", "")
        assert (
            page.query_selector("iframe, base, meta[http-equiv], [onload], [onerror], main input[autofocus]")
            is None
        )
        assert page.query_selector('a[href^="javascript" i]') is None
        text = str(page.evaluate("document.body.innerText"))
        assert not [char for char in runs.HARMFUL if char in text]


def test_ten_thousand_exchanges_are_usable_in_time(browser: Browser, folder: Path) -> None:
    path = make_page(runs.ten_thousand(), folder / "large")
    assert path.stat().st_size < LARGEST
    with chrome.watched(browser) as seen:
        # The page's own time on its thread: what else runs on the machine does not count.
        client = seen.page.context.new_cdp_session(seen.page)
        client.send("Performance.enable", {"timeDomain": "threadTicks"})
        page = seen.open(path)
        page.fill('input[name="text"]', "tcs042")
        assert shown(page) == ["TCS042"]
        page.click("#TCS042 > summary")
        assert page.is_visible("#TCS042 .rap-evidence")
        metrics = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
        assert metrics["TaskDuration"] < USABLE


# --- the matrix


def test_the_matrix_filters_and_marks_what_changed(browser: Browser, compared: Path) -> None:
    with chrome.watched(browser) as seen:
        page = seen.open(compared)
        rows = "tr:not([hidden]) > th[scope=row]"
        everything = len(page.query_selector_all(rows))
        page.check('input[name="changed"]')
        assert page.url.endswith("#changed=1")
        changed = page.eval_on_selector_all(rows, "rows => rows.map((row) => row.textContent.slice(0, 6))")
        assert changed == ["DSC001"]
        assert "▼" in page.inner_text("tr:not([hidden]) > td >> nth=1")
        page.reload()
        assert len(page.query_selector_all(rows)) == 1
        page.uncheck('input[name="changed"]')
        page.fill('input[name="text"]', "tcs0")
        assert 1 < len(page.query_selector_all(rows)) < everything
