"""One run against a runtime, from options to the value that reports are made from."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType

from rap_conformance import __version__, baseline
from rap_conformance.catalogue import CATALOGUE_VERSION, Requirement, Stage
from rap_conformance.command_line import select
from rap_conformance.evidence import Result, Run, Target, Verdict
from rap_conformance.gate import judge
from rap_conformance.peers.patience import Halted
from rap_conformance.places import place
from rap_conformance.reporting import files
from rap_conformance.runtime.adapter import AdapterTrouble
from rap_conformance.runtime.options import RuntimeOptions
from rap_conformance.runtime.preflight import preflight
from rap_conformance.runtime.runner import Function, RuntimeRunner
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.scenario import scenario_of
from rap_conformance.signals import Signals
from rap_conformance.voice import Voice

_STAGES = list(Stage)


def scenarios() -> dict[str, Function]:
    """Every scenario of conformance/runtime/ by the code it judges."""
    found: dict[str, Function] = {}
    for path in sorted((place("conformance") / "runtime").glob("test_*.py")):
        for value in vars(_module(path.stem)).values():
            mark = scenario_of(value)
            if mark is not None:
                found[mark.code] = value
    return found


def _module(name: str) -> ModuleType:
    full = f"rapc_runtime_scenarios_{name}"
    if full not in sys.modules:
        path = place("conformance") / "runtime" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(full, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]


def planned(options: RuntimeOptions) -> list[Requirement]:
    """What a run judges, in order: what may do harm comes last. Raises ConfigError for an empty selection."""
    here = select(options.selected, options.revision, options.pin, role="runtime")
    return sorted(here, key=lambda requirement: (_STAGES.index(requirement.stage), requirement.code))


class RuntimeRun:
    """A run: `certify` carries it out."""

    def __init__(self, options: RuntimeOptions, voice: Voice | None = None) -> None:
        self.options, self.voice = options, voice
        self.planned = planned(options)
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.refusal: AdapterTrouble | None = None
        self.interrupted = False

    def certify(self) -> Run:
        """Judge everything, stop everything, write the reports and say the verdict."""
        session = RuntimeSession(self.options)
        runner = RuntimeRunner(session)
        signals = Signals()
        signals.defer()
        if self.options.report_dir is not None:
            files.begin(self.options.report_dir, session.adapter.url, self.started)
        if self.voice is not None:
            seed, profile = self.options.seed, self.options.profile
            self.voice.begins(session.adapter.url, len(self.planned), seed, profile)
        with self._ending(session, signals):
            signals.interrupt()
            session.start()
            preflight(session, self.planned[0])
            self._judge(runner)
            session.adapter.state()
        run = run_value(session, self.planned, runner.results, self.started, self._cut(session), self.refusal)
        if self.options.report_dir is not None:
            files.write(self.options.report_dir, run, page=True)
        if self.voice is not None:
            folder = str(self.options.report_dir) if self.options.report_dir is not None else ""
            self.voice.ends(run, str(self.refusal) if self.refusal is not None else "", folder)
        signals.restore()
        return run

    def _judge(self, runner: RuntimeRunner) -> None:
        functions = scenarios()
        for requirement in self.planned:
            if self.voice is not None:
                self.voice.judging(requirement, len(runner.results), len(self.planned))
            result = runner.result(requirement, functions[requirement.code])
            result = baseline.apply([result], self.options.known).results[0]
            if self.voice is not None:
                self.voice.judged(result)

    @contextlib.contextmanager
    def _ending(self, session: RuntimeSession, signals: Signals) -> Iterator[None]:
        try:
            yield
        except AdapterTrouble as trouble:
            self.refusal = trouble
        except Halted:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            signals.hold()
            session.close()

    def _cut(self, session: RuntimeSession) -> str:
        if self.refusal is not None:
            return str(self.refusal)
        if self.interrupted:
            return "it was interrupted"
        return f"--max-time {self.options.max_time:g} s was up" if session.patience.time_is_up else ""


def run_value(
    session: RuntimeSession,
    planned: Sequence[Requirement],
    judged: Mapping[str, Result],
    started: str,
    cut_short: str = "",
    refusal: AdapterTrouble | None = None,
) -> Run:
    """The run as a value. With a `refusal` nothing is judged, whatever was found before."""
    options = session.options
    reason = cut_short or "the run ended before this was judged"
    found = {} if refusal is not None else judged
    applied = baseline.apply(
        [found.get(r.code) or Result(r, Verdict.ERROR, reason) for r in planned], options.known
    )
    results = applied.results
    verdict, code = judge(
        results,
        planned=len(planned),
        cut_short=cut_short,
        selection=bool(options.selected),
        level=options.level,
        strict=options.strict,
        stale=bool(applied.stale),
    )
    command = "" if options.embedded else session.redactor.text(options.command)
    return Run(
        target=Target(
            url=session.adapter.url,
            name="the reference runtime" if options.embedded else "the runtime behind an adapter",
            embedded=options.embedded,
            command=command,
            role="runtime",
        ),
        revision=options.revision,
        catalogue=CATALOGUE_VERSION,
        suite_version=__version__,
        started=started,
        profile=options.profile,
        seed=options.seed,
        results=results,
        verdict=verdict,
        exit=code if refusal is None else refusal.exit,
        duration=session.patience.now(),
        requests=session.requests,
        planned=len(planned),
        executed=len(found),
        causes=tuple(session.causes),
        cut_short=cut_short,
        notes=tuple(session.notes),
        configuration=(("adapter", command),) if command else (),
        selected=options.selected,
        known=applied.used,
        stale=applied.stale,
    )


def certify(options: RuntimeOptions, voice: Voice | None = None) -> Run:
    """Judge one runtime. Raises ConfigError, one line, before anything is started."""
    return RuntimeRun(options, voice).certify()
