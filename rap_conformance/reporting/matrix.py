"""`compare`: many report.json files on one self-contained page, requirements by servers.

Runs of one server stand beside each other in the order of time, and what changed between them is marked.
`load` reads and checks one file; the rest are pure functions of parsed reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.safe import text
from rap_conformance.places import place
from rap_conformance.reporting.markup import asset, render
from rap_conformance.reporting.view import WORST_FIRST, plural

MAJOR = "1"
"""The schema version that can be read, before the dot."""
_LARGEST_FILE = 512 * 2**20  # bytes
_BETTER = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
_ARROWS = {"better": "▲", "worse": "▼", "other": "◆"}
"""What may become of a verdict from one run to the next, and the sign of it."""
_JUDGED = frozenset({"pass", "fail", "warn", "advice", "known"})


class ReportError(ValueError):
    """A file that is no whole report; the message is one line and begins with the file's name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One report: how it is called on the page, and what it says."""

    label: str
    report: Mapping[str, Any]

    @property
    def server(self) -> str:
        """What two runs of one server share: its name and address, on loopback without the port."""
        target = self.report["target"]
        parts = urlsplit(str(target["url"]))
        host = parts.hostname or ""
        local = host in {"127.0.0.1", "localhost", "::1"}
        return f"{target['name']}\0{parts.scheme}://{host if local else parts.netloc}{parts.path}"

    @property
    def musts(self) -> tuple[int, int]:
        """MUSTs passed, and MUSTs that apply or may apply."""
        mine = [r["verdict"] for r in self.report["requirements"] if r["level"] == "MUST"]
        applicable = [verdict for verdict in mine if verdict != "not-applicable"]
        return sum(verdict == "pass" for verdict in applicable), len(applicable)

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdict by code."""
        return {str(r["code"]): str(r["verdict"]) for r in self.report["requirements"]}


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one requirement from one run to another; a verdict is empty where it was not planned."""

    code: str
    before: str
    after: str

    @property
    def regression(self) -> bool:
        """Whether something that passed does not pass any more."""
        return self.before == "pass" and self.after != "pass"

    def __str__(self) -> str:
        """One line: the code, what it was and what it is."""
        mark = "worse" if self.regression else "better" if self.after == "pass" else "other"
        return f"{mark:<6}  {self.code}  {self.before or 'not there'} -> {self.after or 'not there'}"


def changes(before: Entry, after: Entry) -> Iterator[Change]:
    """Every requirement on which two runs do not agree, in order of their codes."""
    old, new = before.verdicts, after.verdicts
    for code in sorted({*old, *new}):
        if old.get(code, "") != new.get(code, ""):
            yield Change(code, old.get(code, ""), new.get(code, ""))


@cache
def _validator() -> Any:
    import jsonschema

    schema = json.loads((place("schemas") / "report.schema.json").read_text("utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def _for_checking(report: dict[str, Any]) -> dict[str, Any]:
    """The report with one exchange a requirement: the page needs none, and to check thousands takes long."""
    thin = []
    for entry in report.get("requirements") or []:
        if isinstance(entry, dict) and isinstance(entry.get("evidence"), list):
            evidence = [
                {**each, "exchanges": each["exchanges"][: 1 if at == 0 else 0], "sequence": []}
                if isinstance(each, dict) and isinstance(each.get("exchanges"), list)
                else each
                for at, each in enumerate(entry["evidence"])
            ]
            entry = {**entry, "evidence": evidence}
        thin.append(entry)
    return {**report, "requirements": thin}


def load(path: Path) -> dict[str, Any]:
    """What a report.json says. Raises ReportError, one line, naming the file.

    Refused are files that cannot be read, are cut short, are no report, come from another schema version, or
    stand for a run that never ended.
    """
    name = text(str(path), 300)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ReportError(f"{name}: is larger than {_LARGEST_FILE:,} bytes")
        report = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ReportError(f"{name}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{name}: is damaged: not UTF-8 at byte {error.start:,}") from error
    except json.JSONDecodeError as error:
        how = "is empty" if not error.doc.strip() else "is truncated or damaged"
        raise ReportError(f"{name}: {how}: no JSON at character {error.pos:,}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{name}: is damaged: {text(str(error), 100)}") from error
    return check(report, name)


def check(report: Any, name: str) -> dict[str, Any]:
    """The same report if it is whole. Raises ReportError with `name` in front."""
    if not isinstance(report, dict) or not isinstance(report.get("requirements"), list | None):
        raise ReportError(f"{name}: is no report of rap-conformance")
    version = report.get("schema_version")
    if isinstance(version, str) and version.split(".")[0] != MAJOR:
        older = version.split(".")[0].isdigit() and int(version.split(".")[0]) < int(MAJOR)
        whose = "an older version" if older else "a version that this one does not know"
        raise ReportError(
            f"{name}: has schema {text(version, 20)}, {whose}; {MAJOR}.x can be read: run the suite again"
        )
    error = next(iter(_validator().iter_errors(_for_checking(report))), None)
    if error is not None:
        where = text("/".join(map(str, error.absolute_path)), 100) or "the top"
        raise ReportError(f"{name}: is damaged or no report: at {where}: {text(error.message, 160)}")
    if not report["requirements"]:
        why = text(str(report.get("cut_short") or "nothing was judged"), 160)
        raise ReportError(f"{name}: its run never ended ({why}); there is nothing to compare")
    return report


def read(paths: Sequence[Path]) -> tuple[Entry, ...]:
    """All files, called by as much of the end of their paths as tells them apart. Raises ReportError."""
    labels = [path.name for path in paths]
    for depth in range(2, 1 + max((len(path.parts) for path in paths), default=0)):
        if len(set(labels)) == len(labels):
            break
        labels = ["/".join(path.parts[-depth:]) for path in paths]
    return tuple(Entry(label, load(path)) for label, path in zip(labels, paths, strict=True))


def ordered(entries: Sequence[Entry]) -> list[tuple[Entry, Entry | None]]:
    """Columns: runs of one server together, in the order of time, each with the run before it."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.server, []).append(entry)
    out: list[tuple[Entry, Entry | None]] = []
    for group in groups.values():
        group.sort(key=lambda entry: str(entry.report["started"]))
        out += zip(group, [None, *group[:-1]], strict=True)
    return out


def change(before: str | None, now: str | None) -> str:
    """better, worse, other or nothing: what became of a verdict."""
    if before is None or now is None or before == now:
        return ""
    if {before, now} <= _JUDGED:
        return "better" if _BETTER[Verdict(now)] > _BETTER[Verdict(before)] else "worse"
    return "other"


@dataclass(frozen=True, slots=True)
class Row:
    """A requirement and its cells: the verdict now, the one before, and what became of it."""

    code: str
    name: str
    level: str
    cells: tuple[tuple[str | None, str | None, str], ...]

    @property
    def differs(self) -> bool:
        """Whether servers differ."""
        return len({now for now, _, _ in self.cells}) > 1

    @property
    def changed(self) -> bool:
        """Whether a verdict is another than in the run before."""
        return any(what for _, _, what in self.cells)


def _rows(columns: Sequence[tuple[Entry, Entry | None]]) -> Iterator[Row]:
    """All requirements, the worst first."""
    facts: dict[str, Mapping[str, Any]] = {}
    for entry, _ in columns:
        for requirement in entry.report["requirements"]:
            facts.setdefault(str(requirement["code"]), requirement)
    verdicts = [(entry.verdicts, before.verdicts if before else {}) for entry, before in columns]

    def worst(code: str) -> int:
        return min(_BETTER[Verdict(now[code])] for now, _ in verdicts if code in now)

    for code in sorted(facts, key=lambda code: (worst(code), code)):
        pairs = [(now.get(code), before.get(code)) for now, before in verdicts]
        cells = tuple((now, before, change(before, now)) for now, before in pairs)
        yield Row(code, str(facts[code]["name"]), str(facts[code]["level"]), cells)


def _changes(columns: Sequence[tuple[Entry, Entry | None]]) -> Iterator[tuple[str, str, str, str]]:
    """What changed between two runs of one server: its name, both runs, and the change in words."""
    for entry, before in columns:
        if before is None:
            continue
        old = before.verdicts
        found: dict[str, list[str]] = {}
        for code, now in entry.verdicts.items():
            if what := change(old.get(code), now):
                found.setdefault(what, []).append(f"{code} ({old[code]} → {now})")
        new = [code for code in entry.verdicts if code not in old]
        gone = [code for code in old if code not in entry.verdicts]
        parts = [
            f"{name}: {', '.join(found[name])}" for name in ("worse", "better", "other") if name in found
        ]
        parts += [
            f"{name}: {' '.join(codes)}"
            for name, codes in (("new", new), ("no longer judged", gone))
            if codes
        ]
        name = str(entry.report["target"]["name"]) or entry.label
        yield name, before.label, entry.label, "; ".join(parts) or "no verdict changed"


def compare(entries: Sequence[Entry]) -> str:
    """The page. Raises ReportError if there is nothing to show."""
    if not entries:
        raise ReportError("no report was given")
    columns = ordered(entries)
    servers = len({entry.server for entry, _ in columns})
    return render(
        "matrix",
        heading=f"{plural(len(columns), 'run')} of {plural(servers, 'server')}",
        repeated=servers < len(columns),
        changes=list(_changes(columns)),
        columns=[entry for entry, _ in columns],
        rows=_rows(columns),
        arrows=_ARROWS,
        worst_first=WORST_FIRST,
        style=asset("report.css") + asset("matrix.css"),
        script=asset("matrix.js"),
    )
