"""Drives one run inside pytest, for whatever role: collects scenarios, runs them in order, writes reports.

Long because pytest calls the methods of one plugin, and a run's course is read in their order.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rap_conformance import __version__
from rap_conformance.engine import baseline
from rap_conformance.engine.events import Ended, Event, Events
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.job import Job
from rap_conformance.engine.making import Ending, made
from rap_conformance.engine.requirement import Requirement
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.runner import Runner
from rap_conformance.engine.safe import terminal_text
from rap_conformance.engine.scenario import Halted, Refused, scenario_of
from rap_conformance.engine.session import Preview
from rap_conformance.engine.signals import SIGNALS
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_CRASHED, EXIT_NOBODY
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting import files, html, markdown, terminal
from rap_conformance.reporting.github import annotated
from rap_conformance.reporting.page import Page
from rap_conformance.reporting.voice import Voice
from rap_conformance.request import Request, read_request

_FIRST = frozenset({EXIT_BAD_INPUT, EXIT_NOBODY})
"""Exit codes that outrank a crash of ours."""
_RESULT = pytest.StashKey[Result]()
_REQUIREMENT = pytest.StashKey[Requirement]()


def _import_as_it_is() -> None:
    """Have pytest rewrite no assertions in what is imported from now on, by whatever thread.

    It would, in all libraries that bring a plugin; two threads that parse at once break Python 3.11's `ast`.
    """
    ours = [finder for finder in sys.meta_path if type(finder).__module__ != "_pytest.assertion.rewrite"]
    sys.meta_path[:] = ours


class Driver:
    """The part of the plugin that exists only in a run of ours."""

    def __init__(self, config: pytest.Config, request: Request) -> None:
        self.config, self.request = config, request
        self.events = Events()
        self.session = request.settings.session(request.options)
        role = request.role
        self.runner = Runner(
            self.session,
            lambda record, attempt: role.peer(self.session, record, attempt),
            request.options,
            self.events,
        )
        self.page = Page(catalogue())
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.voice: Voice | None = None
        self.run: Run | None = None
        self.preview: Preview | None = None
        self.ending = Ending()
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def configure(cls, config: pytest.Config) -> Driver:
        """Check all that was given. Raises ConfigError, one line, before the first request."""
        for option, flag in (("numprocesses", "-n"), ("reruns", "--reruns")):
            if config.getoption(option, None):
                raise ConfigError(
                    f"{flag} cannot be used: hostile checks must not meet other checks' calls, "
                    "so one target gets one process and each check is run once"
                )
        SIGNALS.defer()
        try:
            driver = cls(config, read_request(config))
        except BaseException:
            SIGNALS.restore()
            raise
        folder = driver.request.options.report_dir
        if folder is not None:
            files.begin(folder, driver.session.shown(), driver.started)
            if any(config.pluginmanager.has_plugin(name) for name in ("html", "pytest_html.plugin")):
                config.option.htmlpath = str(folder / "report.html")
                config.option.self_contained_html = True
                config.option.css = [*(getattr(config.option, "css", None) or []), str(html.CSS_FILE)]
        config.pluginmanager.register(driver.page, "rap_conformance.page")
        driver.events.listen(driver._hook)
        return driver

    def _hook(self, event: Event) -> None:
        """Tell pytest's plugins; `detection` has one."""
        self.config.hook.pytest_rap_event(event=event)

    # --- collection ----------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """From here on pytest itself sees to it that an interruption comes to our reports."""
        if not self.config.pluginmanager.has_plugin("terminalreporter"):
            # `check` turns pytest's own reporter off and lets us speak.
            self.voice = Voice(self.config.option.verbose)
            self.events.listen(self.voice.hear)
        SIGNALS.interrupt()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the scenarios of this run, in the order of their turns; leave other people's tests alone."""
        wanted = {r.code: r for r in self.request.options.requirements}
        foreign: list[pytest.Item] = []
        ours: dict[str, tuple[pytest.Item, Job]] = {}
        gone: list[pytest.Item] = []
        for item in items:
            mark = scenario_of(getattr(item, "obj", None))
            if mark is None:
                foreign.append(item)
            elif requirement := wanted.get(mark.code):
                ours[mark.code] = item, Job(requirement, mark, item.obj)  # type: ignore[attr-defined]
                item.stash[_REQUIREMENT] = requirement
                item.user_properties += [("code", mark.code), ("level", str(requirement.level))]
            else:
                gone.append(item)
        planned = self.runner.plan([job for _, job in ours.values()])
        items[:] = [*foreign, *(ours[job.requirement.code][0] for job in planned)]
        if gone and self.request.options.selected:
            config.hook.pytest_deselected(items=gone)

    # --- running -------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        """Start the peers, look the peer over, start what mostly waits; then pytest's own loop."""
        if session.config.option.collectonly or not self.runner.jobs:
            return (yield)
        _import_as_it_is()
        options = self.request.options
        if self.voice is not None:
            self.voice.begins(self.session.shown(), len(self.runner.jobs), options.seed, options.profile)
        try:
            if options.dry_run and self.request.role.preview is not None:
                self.preview = self.request.role.preview(self.session)
            else:
                self.request.role.begin(self.session)
        except Refused as refused:
            self._refuse(refused)
        except Halted:
            pass
        if self.ending.refusal or self.preview is not None or self.session.over():
            # Nothing can be judged: an empty loop, so that nothing can pass.
            items, session.items = session.items, []
            try:
                result = yield
            finally:
                session.items = items
            return result
        self.runner.start_early()
        return (yield)

    def _refuse(self, refused: Refused) -> None:
        self.ending = replace(self.ending, refusal=str(refused), exit=refused.exit)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Judge in the set-up phase, where pytest tells an error of ours from a failure of the peer."""
        requirement = item.stash.get(_REQUIREMENT, None)
        if requirement is None:
            return
        try:
            result = self.runner.result(requirement.code)
        except Refused as refused:
            self._refuse(refused)
            item.session.shouldstop = str(refused)
            pytest.fail(terminal_text(str(refused)), pytrace=False)
        if self.session.over() and result.verdict is Verdict.ERROR:
            item.session.shouldstop = self.session.over()
        result = self.known(result)
        item.stash[_RESULT] = result
        item.user_properties += [("verdict", str(result.verdict)), ("reason", terminal_text(result.reason))]
        if result.verdict is Verdict.ERROR:
            pytest.fail(terminal_text(result.reason), pytrace=False)

    def known(self, result: Result) -> Result:
        """The result, marked if the baseline covers it."""
        return baseline.apply([result], self.request.options.known).results[0]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Turn the verdict into pytest's outcome."""
        result = pyfuncitem.stash.get(_RESULT, None)
        if result is None:
            return None
        if result.verdict is Verdict.FAIL:
            pytest.fail(terminal.failure_block(result), pytrace=False)
        if result.verdict is Verdict.KNOWN:
            pytest.xfail(terminal_text(result.reason))
        if result.verdict in {Verdict.UNTESTED, Verdict.NOT_APPLICABLE}:
            pytest.skip(f"{result.verdict}: {terminal_text(result.reason)}")
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        """Hang the evidence on the item's row in report.html."""
        report = yield
        result = item.stash.get(_RESULT, None)
        if result is not None and (report.when == "call" or (report.when == "setup" and report.failed)):
            report.extras = [*getattr(report, "extras", []), Page.evidence(result)]
            if result.verdict in {Verdict.WARN, Verdict.ADVICE}:
                report.sections.append((f"RAP {result.verdict}", terminal.failure_block(result)))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Show SHOULDs not met and advice as what they are, not as plain passes."""
        if report.when != "call" or not report.passed:
            return None
        verdict = dict(report.user_properties).get("verdict")
        if verdict == Verdict.WARN:
            return "warned", "w", ("WARNED", {"yellow": True})
        if verdict == Verdict.ADVICE:
            return "advised", "a", ("ADVISED", {"yellow": True})
        return None

    # --- the end -------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Any:
        """Compute the run, write every report, say the verdict on the last line."""
        if session.config.option.collectonly:
            return (yield)
        if exitstatus == pytest.ExitCode.INTERRUPTED and not self.session.over() and not self.ending.refusal:
            self.ending = replace(self.ending, cut_short="it was interrupted")
        elif exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            self.ending = replace(self.ending, exit=EXIT_CRASHED)
        self.close()
        if self.preview is not None:
            session.exitstatus = 0
            self._say(terminal.preview_lines(self.preview), session.config)
            return (yield)
        if not self.runner.jobs and exitstatus not in {
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
        }:
            self._refuse(Refused("no scenario was collected: nothing was judged", EXIT_BAD_INPUT))
        self.run = self.page.run = self._made()
        session.exitstatus = self.run.exit
        folder = self.request.options.report_dir
        unwritten = None if folder is None else self._write(folder, self.run)
        result = None
        try:
            result = yield
            if folder is not None:
                files.tidy_page(folder)
        except OSError as error:  # pytest-html's page, which is written in here
            unwritten = unwritten or error
        if unwritten is not None:
            # No report, no verdict that anybody could check: as bad as a crash.
            self.run = replace(
                self.run, exit=max(EXIT_CRASHED, self.run.exit if self.run.exit in _FIRST else 0)
            )
            session.exitstatus = self.run.exit
            said = f"the reports could not be written to {folder}: {unwritten.strerror or unwritten}"
            self.run = replace(self.run, notes=(*self.run.notes, said))
        reports = str(folder) if folder is not None else ""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            self._say(annotated(self.run), session.config)
        self.events.tell(Ended(self.run, self.ending.refusal, reports))
        self._say_the_end(self.run, session.config.pluginmanager.get_plugin("terminalreporter"), reports)
        return result

    def _say(self, lines: Iterable[str], config: pytest.Config) -> None:
        """Say lines by ourselves, or where pytest's own reporter speaks, by that."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        for line in lines:
            if self.voice is not None:
                self.voice.say(line)
            elif reporter is not None:
                reporter.write_line(line)

    def _say_the_end(self, run: Run, reporter: Any, reports: str) -> None:
        if reporter is None:
            return
        reporter.write_line("")
        if self.ending.refusal:
            reporter.write_line(f"rap-conformance: {terminal_text(self.ending.refusal)}")
        else:
            for line in terminal.summary_lines(run):
                reporter.write_line(line)
        if reports:
            reporter.write_line(f"reports: {reports}")
        reporter.write_line(terminal.last_line(run))

    def _made(self) -> Run:
        account, ending = self.session.account(), self.ending
        judged = self.runner.gathered()
        if self.session.time_is_up() and not ending.cut_short:
            max_time = self.request.options.max_time or 0.0
            account = replace(account, cut_short=f"--max-time {max_time:g} s was up")
        return made(
            self.request.options,
            account,
            judged,
            ending,
            started=self.started,
            suite_version=__version__,
            catalogue=catalogue(),
        )

    def _write(self, folder: Path, run: Run) -> OSError | None:
        """Write the reports; gives what kept us from it."""
        try:
            files.write(folder, run, self.request.options.subject)
        except OSError as error:
            return error
        if step_summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with contextlib.suppress(OSError), open(step_summary, "a", encoding="utf-8") as summary:
                summary.write(markdown.summary(run) + "\n")
        return None

    def close(self) -> None:
        """Leave the peer as we found it and stop what we started; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self.ending.cut_short and self.voice is not None:
            self.voice.interrupted(self.session.leaving())
        SIGNALS.hold(self.session.hurry)
        self.session.halt()
        self.session.close()
