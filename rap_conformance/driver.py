"""Drives one run inside pytest: collects scenarios, runs them in order, makes outcomes and reports."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rap_conformance import __version__, baseline
from rap_conformance.catalogue import CATALOGUE_VERSION, Requirement, Stage, catalogue
from rap_conformance.command_line import Request, read_request
from rap_conformance.config import redacted
from rap_conformance.evidence import Result, Run, Target, Verdict
from rap_conformance.gate import EXIT_BAD_INPUT, EXIT_CRASHED, EXIT_NOBODY, judge
from rap_conformance.options import ConfigError
from rap_conformance.peer import Peer
from rap_conformance.peers.patience import Halted
from rap_conformance.peers.supervisor import CommandFailed
from rap_conformance.preflight import NobodyHome, preflight, target_name
from rap_conformance.reporting import files, html, markdown, terminal
from rap_conformance.reporting.safe import terminal_text
from rap_conformance.runner import Runner
from rap_conformance.scenario import Record, ServerDied, scenario_of
from rap_conformance.session import Session
from rap_conformance.signals import Signals
from rap_conformance.voice import Voice

_STAGES = list(Stage)
_FIRST = frozenset({EXIT_BAD_INPUT, EXIT_NOBODY})
"""Exit codes that outrank a crash of ours."""
_RESULT = pytest.StashKey[Result]()
_REQUIREMENT = pytest.StashKey[Requirement]()


class Driver:
    """The part of the plugin that exists only in a run of ours."""

    def __init__(self, config: pytest.Config, request: Request) -> None:
        self.config, self.request = config, request
        self.session = Session(request.config, request.options)
        self.runner = Runner(self.session)
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.planned: tuple[Requirement, ...] = ()
        self.run: Run | None = None
        self.cut_short = ""
        self.exit_hint: int | None = None
        self.refusal = ""
        self._lock = threading.Lock()
        self._closed = False
        self._signals = Signals()
        self._late: dict[str, Stage] = {}
        self._page: Any = None
        self._began_early = 0.0
        self.voice: Voice | None = None

    @classmethod
    def configure(cls, config: pytest.Config) -> Driver:
        """Check all that was given. Raises ConfigError, one line, before the first request."""
        for option, flag in (("numprocesses", "-n"), ("reruns", "--reruns")):
            if config.getoption(option, None):
                raise ConfigError(
                    f"{flag} cannot be used: hostile checks must not meet other checks' calls, "
                    "so one target gets one process and each check is run once"
                )
        request = read_request(config)
        try:
            driver = cls(config, request)
        except OSError as error:
            host, port = request.options.callback_bind
            raise ConfigError(
                f"--callback-bind: cannot listen on {host}:{port} ({error.strerror or error}); "
                "give a free port of this machine, or 0 to have one chosen"
            ) from None
        if request.report_dir is not None:
            files.begin(request.report_dir, driver.session.facts.base, driver.started)
            if any(config.pluginmanager.has_plugin(name) for name in ("html", "pytest_html.plugin")):
                config.option.htmlpath = str(request.report_dir / "report.html")
                config.option.self_contained_html = True
                config.option.css = [*(getattr(config.option, "css", None) or []), str(html.CSS_FILE)]
        driver._signals.defer()
        return driver

    # --- collection ----------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """From here on pytest itself sees to it that an interruption comes to our reports."""
        self._signals.interrupt()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the scenarios of this run, in the order of their stages; leave other people's tests alone."""
        wanted = {r.code: r for r in self.request.requirements}
        keep: list[pytest.Item] = []
        gone: list[pytest.Item] = []
        for item in items:
            mark = scenario_of(getattr(item, "obj", None))
            if mark is None:
                keep.append(item)
            elif mark.late is not None:
                self.runner.late.setdefault(mark.code, []).append(item.obj)  # type: ignore[attr-defined]
                turn = self._late.get(mark.code, Stage.HARMLESS)
                self._late[mark.code] = max(turn, mark.late, key=_STAGES.index)
            elif mark.code in wanted:
                item.stash[_REQUIREMENT] = wanted[mark.code]
                requirement = wanted[mark.code]
                item.user_properties += [("code", mark.code), ("level", str(requirement.level))]
                keep.append(item)
            elif self.request.options.selected:
                gone.append(item)
        ours = [item for item in keep if _REQUIREMENT in item.stash]
        ours.sort(key=self._turn)
        items[:] = [item for item in keep if _REQUIREMENT not in item.stash] + ours
        self.planned = tuple(item.stash[_REQUIREMENT] for item in ours)
        if gone:
            config.hook.pytest_deselected(items=gone)

    def _turn(self, item: pytest.Item) -> tuple[int, bool, bool, str]:
        """What may do harm comes last; what mostly waits comes first, so that nothing meets its calls."""
        requirement = item.stash[_REQUIREMENT]
        late = self._late.get(requirement.code)
        stage = max(requirement.stage, late or requirement.stage, key=_STAGES.index)
        return _STAGES.index(stage), late is not None, not _overlaps(item), requirement.code

    # --- running -------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        """Start the peers, look the server over, start what mostly waits; then pytest's own loop."""
        if session.config.option.collectonly or not self.planned:
            return (yield)
        options = self.request.options
        if not self.config.pluginmanager.has_plugin("terminalreporter"):
            # `check` turns pytest's own reporter off and lets us speak.
            self.voice = Voice(self.config.option.verbose)
        if self.voice is not None:
            self.voice.begins(self.session.facts.base, len(self.planned), options.seed, options.profile)
        try:
            self.session.start()
            self._look_over()
        except NobodyHome as nobody:
            self._refuse(str(nobody), EXIT_NOBODY)
        except CommandFailed as failed:
            self._refuse(f"--server-cmd: the command {failed}", EXIT_BAD_INPUT)
        except Halted:
            self.session.dead = "the run ended in the preflight"
        except ServerDied as death:
            self.session.dead = f"{death}, in the preflight"
            self.session.causes.append(self.session.dead)
        if self.session.dead:
            # Nothing can be judged: an empty loop, so that nothing can pass.
            items, session.items = session.items, []
            try:
                result = yield
            finally:
                session.items = items
            return result
        early = [
            (item.stash[_REQUIREMENT], item.obj)  # type: ignore[attr-defined]
            for item in session.items
            if _REQUIREMENT in item.stash and _overlaps(item)
        ]
        self._began_early = self.session.patience.now()
        self.runner.start_early(early)
        return (yield)

    def _look_over(self) -> None:
        anything = next(iter(catalogue()))
        preflight(self.session, Peer(self.session, Record(anything)))

    def _refuse(self, message: str, code: int) -> None:
        self.refusal, self.exit_hint = message, code
        self.session.dead = message

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Judge in the set-up phase, where pytest tells an error of ours from a failure of the server."""
        requirement = item.stash.get(_REQUIREMENT, None)
        if requirement is None:
            return
        if self.voice is not None:
            done, planned = len(self.runner.results), len(self.planned)
            self.voice.judging(requirement, done, planned, self._left(item))
        result = self.runner.result(requirement, item.obj)  # type: ignore[attr-defined]
        if self.session.dead and result.verdict is Verdict.ERROR:
            item.session.shouldstop = "the server is dead"
        result = baseline.apply([result], self.request.known).results[0]
        item.stash[_RESULT] = result
        if self.voice is not None:
            self.voice.judged(result)
        item.user_properties += [("verdict", str(result.verdict)), ("reason", terminal_text(result.reason))]
        if result.verdict is Verdict.ERROR:
            pytest.fail(terminal_text(result.reason), pytrace=False)

    def _left(self, item: pytest.Item) -> float:
        """Seconds that the calls which were started together still pend, about; 0 for what does not wait."""
        pending = self.session.config.scenarios.get("pending")
        if not _overlaps(item) or pending is None or pending.seconds is None:
            return 0.0
        return max(0.0, self._began_early + pending.seconds - self.session.patience.now())

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
            report.extras = [*getattr(report, "extras", []), _extra(html.evidence_html(result))]
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
        if exitstatus == pytest.ExitCode.INTERRUPTED and not self.session.dead:
            self.cut_short = "it was interrupted"
        elif exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            self.exit_hint = EXIT_CRASHED
        self.close()
        if not self.planned and exitstatus not in {
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
        }:
            self.exit_hint = self.exit_hint or EXIT_BAD_INPUT
            self.refusal = self.refusal or "no scenario was collected: nothing was judged"
        self.run = self._run()
        session.exitstatus = self.run.exit
        folder = self.request.report_dir
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
        self._say_the_end(self.run, session.config.pluginmanager.get_plugin("terminalreporter"))
        return result

    def _say_the_end(self, run: Run, reporter: Any) -> None:
        reports = str(self.request.report_dir) if self.request.report_dir is not None else ""
        if self.voice is not None:
            self.voice.ends(run, self.refusal, reports)
            return
        if reporter is None:
            return
        reporter.write_line("")
        if self.refusal:
            reporter.write_line(f"rap-conformance: {terminal_text(self.refusal)}")
        else:
            for line in terminal.summary_lines(run):
                reporter.write_line(line)
        if reports:
            reporter.write_line(f"reports: {reports}")
        reporter.write_line(terminal.last_line(run))

    def _run(self) -> Run:
        results = self.runner.gathered()
        executed = len(results)
        session, options = self.session, self.request.options
        unjudged = executed < len(self.planned) or any(r.verdict is Verdict.ERROR for r in results)
        if session.patience.time_is_up and unjudged:
            self.cut_short = self.cut_short or f"--max-time {options.max_time:g} s was up"
        if session.dead and not self.refusal:
            self.cut_short = self.cut_short or session.dead
        reason = self.refusal or self.cut_short or "the run ended before this was judged"
        judged = {result.requirement.code: result for result in results}
        results = tuple(judged.get(r.code) or Result(r, Verdict.ERROR, reason) for r in self.planned)
        applied = baseline.apply(results, self.request.known)
        results = applied.results
        doubtful = session.facts.status_without_live and session.facts.status.state == "absent"
        verdict, code = judge(
            results,
            planned=len(self.planned),
            cut_short=self.cut_short or self.refusal,
            selection=bool(options.selected),
            level=options.level,
            strict=options.strict,
            doubtful=doubtful and session.config.features.get("status") is None,
            stale=bool(applied.stale),
        )
        if self.exit_hint is not None:
            code = self.exit_hint
        tools = tuple(str(tool.get("name", "")) for tool in session.facts.tools)
        return Run(
            target=Target(
                url=session.facts.base,
                name=target_name(session),
                tools=tools,
                embedded=options.embedded,
                authentication=self._authentication(),
                command=""
                if options.embedded
                else session.redactor.text(self.request.config.server.command or ""),
            ),
            revision=self.request.config.server.revision,
            catalogue=CATALOGUE_VERSION,
            suite_version=__version__,
            started=self.started,
            profile=options.profile,
            seed=options.seed,
            results=results,
            verdict=verdict,
            exit=code,
            duration=session.patience.now(),
            requests=session.probe.requests,
            planned=len(self.planned),
            executed=executed,
            causes=tuple(session.causes),
            cut_short=self.cut_short,
            notes=tuple(session.notes),
            configuration=redacted(self.request.config),
            catalogue_digest=catalogue().digest,
            selected=options.selected,
            known=applied.used,
            stale=applied.stale,
            latencies=tuple(session.latencies),
            life=tuple(session.life),
        )

    def _write(self, folder: Path, run: Run) -> OSError | None:
        """Write the reports; gives what kept us from it."""
        try:
            files.write(folder, run, self.request.subject)
        except OSError as error:
            return error
        if step_summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with contextlib.suppress(OSError), open(step_summary, "a", encoding="utf-8") as summary:
                summary.write(markdown.summary(run) + "\n")
        return None

    def _authentication(self) -> str:
        if self.request.config.auth.none:
            return "declared: a trusted network without authentication"
        return "credentials given" if self.session.probe.credentials else "no credentials given"

    def close(self) -> None:
        """Leave the server as we found it and stop what we started; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._signals.hold()
        self.session.patience.halt()
        self.session.close()

    def release(self) -> None:
        """Give the signals back, when everything is written."""
        self._signals.restore()

    # --- pytest-html ---------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title is known at the end only; fold what needs no attention."""
        self._page = report
        report.title = "RAP conformance"
        report._data["renderCollapsed"] = ["passed", "skipped", "xfailed"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """What stands above the table."""
        if self.run is not None:
            self._page.title = html.title(self.run)
            prefix.extend(html.prefix(self.run))

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """The table's columns; pytest-html's own first one stays, its filters read it."""
        cells[1:] = [*html.header_cells(), cells[2]]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """One requirement's row."""
        properties = dict(report.user_properties)
        requirement = catalogue().get(str(properties.get("code", "")))
        verdict = Verdict(properties["verdict"]) if "verdict" in properties else None
        label = "" if requirement is not None else str(report.nodeid)
        cells[1:] = [*html.row_cells(requirement, verdict, label), cells[2]]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """The evidence says it all: no log beside it."""
        if "code" in dict(report.user_properties):
            data.clear()


def _overlaps(item: pytest.Item) -> bool:
    mark = scenario_of(getattr(item, "obj", None))
    return mark is not None and mark.overlap and item.stash[_REQUIREMENT].stage is Stage.HARMLESS


def _extra(content: str) -> dict[str, Any]:
    return {"name": None, "format_type": "html", "content": content, "mime_type": None, "extension": None}
