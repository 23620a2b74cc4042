"""Chromium and axe-core for tests: what is missing skips them on a desk and fails them in CI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

AXE = "axe-core@4.14.1"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def missing(what: str) -> NoReturn:
    """Skip, or fail where nothing may be missing."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} (CI=true: the browser tests have to run)", pytrace=False)
    pytest.skip(what)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, headless."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the package playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        missing("there is no chromium on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def axe() -> str:
    """The source of axe-core, from npm, kept in the user's cache."""
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        / "rap-conformance"
        / AXE.replace("@", "-")
    )
    script = cache / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            missing("there is no npm to install axe-core with")
        cache.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(cache), AXE]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if not script.exists():
            missing(f"npm could not install {AXE}: {done.stderr.strip()[:200]}")
    return script.read_text("utf-8")


class Watched:
    """A page, and everything it should not have done."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on(
            "console",
            lambda message: self._note(message.type in {"error", "warning"}, f"console: {message.text}"),
        )
        page.on("pageerror", lambda error: self._note(True, f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on(
            "request", lambda request: self._note(not _local(request.url), f"request: {request.url[:200]}")
        )
        page.on("popup", lambda _: self._note(True, "a window"))

    def _dismiss(self, dialog: Dialog) -> None:
        self._note(True, "a dialog")
        dialog.dismiss()

    def _note(self, is_wrong: bool, what: str) -> None:
        if is_wrong:
            self.wrong.append(what)

    def open(self, path: Path, fragment: str = "") -> Page:
        """Load a file and wait for its scripts."""
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_load_state("load")
        return self.page


def _local(url: str) -> bool:
    return url.startswith(("file:", "about:blank"))


@contextmanager
def watched(browser: Browser, **how: Any) -> Iterator[Watched]:
    """A new page in a context of its own; at the end it must have done nothing wrong."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
    try:
        seen = Watched(context.new_page())
        yield seen
        assert seen.wrong == []
    finally:
        context.close()


def accessibility_faults(page: Page) -> list[str]:
    """Serious and critical violations that axe-core finds, each with the first element it is about."""
    page.evaluate(axe())
    found = json.loads(
        page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations))"
        )
    )
    faults = []
    for each in found:
        if each["impact"] in {"serious", "critical"}:
            node = each["nodes"][0]
            faults.append(f"{each['id']}: {node['html'][:200]} ({node.get('failureSummary', '')[:300]})")
    return faults
