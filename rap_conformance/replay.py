"""`replay`: one requirement of a report judged again, as it was judged then. Does it still fail?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rap_conformance.engine.events import Event, Judged
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.run import Result
from rap_conformance.engine.safe import terminal_text
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_CRASHED, EXIT_NOBODY
from rap_conformance.options import OPTIONS
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.reporting import matrix
from rap_conformance.server.config_file import load_file

STILL, GONE, UNKNOWN = 1, 0, 7
"""Exit codes: it still fails, it does not, it could not be judged."""
_MASK = "<redacted"
_SAID_ALREADY = frozenset({EXIT_BAD_INPUT, EXIT_NOBODY, EXIT_CRASHED})
_DEPARTS = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN})


@dataclass(frozen=True, slots=True)
class Replay:
    """What is to be judged again, and how: `role` is whose requirement it is, `cases` what was found then."""

    code: str
    name: str
    role: str
    verdict: str
    cases: frozenset[str]
    arguments: tuple[str, ...]


@dataclass(slots=True)
class Listener:
    """The plugin that hears what comes out."""

    results: dict[str, Result] = field(default_factory=dict)

    def pytest_rap_event(self, event: Event) -> None:
        """Keep a result."""
        if isinstance(event, Judged):
            self.results[event.result.requirement.code] = event.result


def read(path: Path, code: str) -> Replay:
    """What a report says of a requirement and its run. Raises ConfigError, one line."""
    path = path / "report.json" if path.is_dir() else path
    try:
        report = matrix.load(path)
    except matrix.ReportError as error:
        raise ConfigError(str(error)) from None
    code = code.upper()
    entries = {entry["code"]: entry for entry in report["requirements"]}
    entry, requirement = entries.get(code), catalogue().get(code)
    if entry is None or requirement is None:
        known = f"the report judged {len(entries)}, such as {next(iter(entries))}"
        raise ConfigError(f"CODE: got {code[:40]!a}; allowed is the code of a requirement: {known}")
    options = report.get("options")
    if options is None:
        raise ConfigError(f"{path}: does not say with which options it was made; run `check` instead")
    _check_revision(options, str(report["suite"]["revision"]))
    level = "must" if entry["level"] == "MUST" else "should"
    again = {**options, "level": level, "seed": str(report["seed"]), "profile": report["profile"]}
    arguments = [f"--rap-role={entry['role']}", f"--rap-requirement={code}", "--rap-no-report"]
    return Replay(
        code=code,
        name=requirement.name,
        role=str(entry["role"]),
        verdict=str(entry["verdict"]),
        cases=frozenset(each["case"] for each in entry["evidence"]),
        arguments=(*arguments, *_typed(again)),
    )


def _check_revision(options: Mapping[str, Any], revision: str) -> None:
    """The configuration has to be there, and to be about the same specification."""
    now = load_file(Path(options["config"])).server.revision if "config" in options else DEFAULT_REVISION
    if now != revision:
        raise ConfigError(f"server.revision: got {now}; allowed is that of the report, {revision}")


def _typed(options: Mapping[str, Any]) -> list[str]:
    """Options as pytest takes them. Raises ConfigError for one that nobody knows, or that was hidden."""
    known = {option.name: option for option in OPTIONS}
    typed: list[str] = []
    for name, value in options.items():
        option = known.get(f"not-{name}" if value is False else name)
        if option is None:
            raise ConfigError(f"options: got {name[:40]!a}, which this version does not know")
        for each in value if isinstance(value, list) else [value]:
            if _MASK in str(each):
                raise ConfigError(f"--{name}: the report does not hold it, for the secret in it; run `check`")
            typed.append(option.flag if isinstance(each, bool) else f"{option.flag}={each}")
    return typed


def outcome(replay: Replay, result: Result | None, exit: int) -> tuple[str, int]:
    """What to say in the end, and the exit code."""
    what = f"{replay.code} {replay.name}"
    if exit in _SAID_ALREADY:
        return "", exit
    if result is None or (result.verdict not in _DEPARTS and result.verdict is not Verdict.PASS):
        why = terminal_text(result.reason, 300) if result is not None else "the run ended before"
        return f"{what} could not be judged: {why}", UNKNOWN
    if result.verdict is Verdict.PASS:
        return f"{what} passes, {'as before' if replay.verdict == 'pass' else 'and did not before'}", GONE
    now = {finding.fingerprint for finding in result.findings}
    both, new = len(now & replay.cases), len(now - replay.cases)
    cases = f"{both} of {len(replay.cases)} cases again" + (f", {new} new" if new else "")
    return f"{what} {'still fails' if replay.cases else 'fails now'} ({result.verdict}): {cases}", STILL
