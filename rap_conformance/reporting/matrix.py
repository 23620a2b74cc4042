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
from rap_conformance.engine.safe import html_text, text
from rap_conformance.places import place
from rap_conformance.reporting.html import CSS, CSS_FILE
from rap_conformance.reporting.view import SIGNS, WORST_FIRST, plural

MAJOR = "1"
"""The schema version that can be read, before the dot."""
_LARGEST_FILE = 512 * 2**20  # bytes
_BETTER = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
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
    def verdicts(self) -> dict[str, str]:
        """Verdict by code."""
        return {str(r["code"]): str(r["verdict"]) for r in self.report["requirements"]}


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
                {**each, "exchanges": each["exchanges"][: 1 if at == 0 else 0]}
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


def _cell(now: str | None, before: str | None, several: bool) -> str:
    if now is None:
        return '<td class="rap-none"><span class="rap-hide">not judged</span></td>'
    verdict, what = Verdict(now), change(before, now) if several else ""
    arrow = {"better": "▲", "worse": "▼", "other": "◆"}.get(what, "")
    mark = (
        f' <small class="rap-{what}">{arrow}<span class="rap-hide">{what},</span> was {before}</small>'
        if what
        else ""
    )
    return f'<td class="rap-v-{now}"><b>{SIGNS[verdict]}</b> {now}{mark}</td>'


def _musts(entry: Entry) -> tuple[int, int]:
    mine = [r["verdict"] for r in entry.report["requirements"] if r["level"] == "MUST"]
    applicable = [verdict for verdict in mine if verdict != "not-applicable"]
    return sum(verdict == "pass" for verdict in applicable), len(applicable)


def _column(entry: Entry) -> str:
    report = entry.report
    target, suite = report["target"], report["suite"]
    passed, applicable = _musts(entry)
    url = html_text(str(target["url"]), 120)
    return (
        f'<th scope="col" class="rap-is-{html_text(str(report["verdict"]))}">'
        f"<b>{html_text(str(target['name']) or str(target['url']), 80)}</b>"
        f"<small>{html_text(entry.label, 80)}<br>{url}<br>{html_text(str(report['started']), 40)}<br>"
        f"revision {html_text(str(suite['revision']), 40)}<br>"
        f"suite {html_text(str(suite['version']), 30)}</small>"
        f'<span class="rap-result">{html_text(str(report["verdict"]))}</span>'
        f"<small>{passed} of {plural(applicable, 'MUST')} passed</small></th>"
    )


def _rows(columns: Sequence[tuple[Entry, Entry | None]]) -> Iterator[str]:
    facts: dict[str, Mapping[str, Any]] = {}
    for entry, _ in columns:
        for requirement in entry.report["requirements"]:
            facts.setdefault(str(requirement["code"]), requirement)
    verdicts = {id(entry): entry.verdicts for entry, _ in columns}
    codes = sorted(facts, key=lambda code: (_worst(code, verdicts), code))
    for code in codes:
        requirement = facts[code]
        cells, seen, changed = [], set(), False
        for entry, before in columns:
            now = verdicts[id(entry)].get(code)
            old = verdicts[id(before)].get(code) if before is not None else None
            changed = changed or bool(before is not None and change(old, now))
            seen.add(now)
            cells.append(_cell(now, old, before is not None))
        flags = (" data-differs" if len(seen) > 1 else "") + (" data-changed" if changed else "")
        yield (
            f'<tr{flags}><th scope="row"><b>{html_text(code, 20)}</b> '
            f"{html_text(str(requirement['name']), 80)} "
            f'<span class="rap-level">{html_text(str(requirement["level"]), 10)}</span></th>'
            f"{''.join(cells)}</tr>"
        )


def _worst(code: str, verdicts: Mapping[int, Mapping[str, str]]) -> int:
    found = [_BETTER[Verdict(each[code])] for each in verdicts.values() if code in each]
    return min(found)


def _changes(columns: Sequence[tuple[Entry, Entry | None]]) -> str:
    """What changed between two runs of one server, in words."""
    items = []
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
        said = html_text("; ".join(parts) or "no verdict changed", 3000)
        name = html_text(str(entry.report["target"]["name"]) or entry.label, 80)
        span = f"{html_text(before.label, 80)} → {html_text(entry.label, 80)}"
        items.append(f"<li><b>{name}</b>, {span}: {said}</li>")
    return f"<h2>Between two runs of one server</h2><ul>{''.join(items)}</ul>" if items else ""


def compare(entries: Sequence[Entry]) -> str:
    """The page. Raises ReportError if there is nothing to show."""
    if not entries:
        raise ReportError("no report was given")
    columns = ordered(entries)
    servers = len({entry.server for entry, _ in columns})
    rows, heads = "".join(_rows(columns)), "".join(_column(entry) for entry, _ in columns)
    heading = f"{plural(len(columns), 'run')} of {plural(servers, 'server')}"
    legend = " · ".join(f"{SIGNS[verdict]} {verdict}" for verdict in WORST_FIRST)
    changed = (
        '<label><input type="checkbox" name="changed"> only what changed</label> '
        if servers < len(columns)
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>RAP conformance: {heading}</title><style>{CSS}{_style()}</style></head><body>"
        f'<main><h1>RAP conformance</h1><p class="rap-verdict">{heading}, compared</p>{_changes(columns)}'
        f"<h2>Requirements by server</h2>"
        '<form id="rap-matrix-filter" class="rap-filter" role="search" aria-label="Filter" hidden>'
        '<label class="rap-text">Text <input type="search" name="text" autocomplete="off"></label>'
        f'<p><label><input type="checkbox" name="differs"> only where they differ</label> {changed}'
        "<output></output></p></form>"
        '<div class="rap-matrix" tabindex="0" role="region" aria-label="Requirements by server"><table>'
        f'<thead><tr><th scope="col">Requirement</th>{heads}</tr></thead>'
        f'<tbody>{rows}</tbody></table></div><p class="rap-soft">{legend} · ▲ better, ▼ worse, ◆ otherwise'
        f" changed since the run before</p></main><script>\n{_script()}</script></body></html>\n"
    )


@cache
def _script() -> str:
    return CSS_FILE.with_name("matrix.js").read_text("utf-8")


@cache
def _style() -> str:
    return CSS_FILE.with_name("matrix.css").read_text("utf-8")
