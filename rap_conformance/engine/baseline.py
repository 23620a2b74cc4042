"""The baseline: failures that are known, each with a reason; the list can only shrink.

    [[known]]
    requirement = "TCS019"
    case = "9c1f"                      # optional: this failure only, by its fingerprint or its beginning
    reason = "limits are set at the gateway"
    expires = 2027-06-30               # optional: the last day on which the entry counts

An entry whose requirement was judged and passed, or whose case did not occur, is stale. Reading a file apart,
everything here is a pure function. See README.md, "Baseline of known failures".
"""

from __future__ import annotations

import contextlib
import datetime
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import tomli_w

from rap_conformance.engine import toml_file
from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.inputs import ConfigError, plain
from rap_conformance.engine.record import MOST_FINDINGS
from rap_conformance.engine.run import Known, Result
from rap_conformance.engine.safe import text
from rap_conformance.engine.toml_table import Table

_KEYS = ("requirement", "case", "reason", "expires")
_CASE = re.compile(r"[0-9a-f]{4,64}")
_JUDGED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN})
_PART_MISSING = "not exercised"
"""How a note begins that says that a part of a requirement was not exercised."""


class Applied(NamedTuple):
    """The results with what is known marked; what no longer holds, in words; entries that covered."""

    results: tuple[Result, ...]
    stale: tuple[str, ...]
    used: tuple[Known, ...]


def load(path: Path, *, known: Catalogue, today: datetime.date | None = None) -> tuple[Known, ...]:
    """The entries of a baseline file.

    Raises ConfigError, one line: for a file that cannot be read or is not TOML, an unknown key or
    requirement (`known` is the catalogue), a missing reason, an entry that is there twice, and one that
    has expired (`today` is given by tests).
    """
    data = toml_file.load(path, "--baseline")
    return parse(data, str(path), today=today, known=known)


def parse(
    data: object, origin: str, *, known: Catalogue, today: datetime.date | None = None
) -> tuple[Known, ...]:
    """The entries of a parsed TOML document; `origin` is how messages name it. Raises ConfigError."""
    root = Table(data, "", plain(origin), ("known",))
    day = today or datetime.datetime.now(datetime.UTC).date()
    entries: dict[tuple[str, str], Known] = {}
    for number, item in enumerate(root.items("known", "[[known]] tables")):
        table = Table(item, f"known[{number}]", root.origin, _KEYS)
        entry = _entry(table, day, known)
        if (entry.requirement, entry.case) in entries:
            raise ConfigError(f"{table.where('')}: {entry} is there twice; allowed: once")
        entries[entry.requirement, entry.case] = entry
    return tuple(entries.values())


def _entry(table: Table, today: datetime.date, known: Catalogue) -> Known:
    code = table.needed("requirement")
    if known.get(code) is None:
        codes = [requirement.code for requirement in known]
        near = difflib.get_close_matches(code.upper()[:20], codes, 1, 0.6)
        hint = f"did you mean {near[0]}? " if near else ""
        table.refuse("requirement", code, f"{hint}a code that `rap-conformance list` shows".strip())
    case = table.text("case", "the fingerprint that the report prints")
    if case is not None and not _CASE.fullmatch(case.lower()):
        table.refuse("case", case, "the fingerprint that the report prints, at least 4 hexadecimal digits")
    if "reason" in table.data and table.data["reason"] == "":
        table.refuse("reason", "", "why this failure is put up with; fill it in")
    expires = table.data.get("expires")
    if expires is not None:
        if not isinstance(expires, datetime.date) or isinstance(expires, datetime.datetime):
            table.refuse("expires", expires, "a date such as 2027-06-30, without quotes")
        if expires < today:
            raise ConfigError(
                f"{table.where('expires')}: {code} expired on {expires}; mend it, or give a new date"
            )
    return Known(
        requirement=code,
        reason=" ".join(table.needed("reason").split()),
        case=(case or "").lower(),
        expires="" if expires is None else expires.isoformat(),
    )


def _covers(entry: Known, finding: Finding) -> bool:
    return not entry.case or finding.fingerprint.startswith(entry.case)


def apply(results: Sequence[Result], entries: Iterable[Known]) -> Applied:
    """Mark as KNOWN what entries cover; give what is stale and what was used.

    A requirement is known only as a whole: as long as one of its findings is not covered, its verdict stays.
    Entries for requirements that are not among the results were not asked for, and are ignored; so are those
    whose requirement was not judged. To apply the same entries again changes nothing, so one result may be
    marked as soon as it is there and all of them at the end.
    """
    by_code: dict[str, list[Known]] = {}
    for entry in entries:
        by_code.setdefault(entry.requirement, []).append(entry)
    out, stale, used = [], [], []
    for result in results:
        mine = by_code.get(result.requirement.code, [])
        if not mine or result.verdict not in _JUDGED:
            out.append(result)
            continue
        covering = [entry for entry in mine if any(_covers(entry, finding) for finding in result.findings)]
        used += covering
        stale += [why for entry in mine if entry not in covering and (why := _stale(entry, result))]
        out.append(_marked(result, covering))
    return Applied(tuple(out), tuple(stale), tuple(used))


def _stale(entry: Known, result: Result) -> str:
    """Why an entry that covered nothing no longer holds; empty if that cannot be told."""
    if entry.case:
        if len(result.findings) >= MOST_FINDINGS:
            return ""
        if any(note.startswith(_PART_MISSING) for note in result.notes):
            return ""
    passed = "the requirement passed" if not result.findings else "that failure did not occur"
    return f"{entry}: {passed}; take it out of the baseline"


def _marked(result: Result, covering: Sequence[Known]) -> Result:
    if not covering or not result.findings:
        return result
    left = [f for f in result.findings if not any(_covers(entry, f) for entry in covering)]
    if left:
        names = ", ".join(dict.fromkeys(finding.fingerprint for finding in left))
        said = f"not in the baseline: case {names}"
        if result.reason.endswith(said):
            return result
        return replace(result, reason="; ".join(filter(None, (result.reason, said))))
    reasons = dict.fromkeys(
        entry.reason + (f" (until {entry.expires})" if entry.expires else "") for entry in covering
    )
    return replace(result, verdict=Verdict.KNOWN, reason="; ".join(reasons))


# --- writing one


def dumps(source: Mapping[str, Any], level: str = "must") -> str:
    """A baseline file for what failed by what a report.json says; reasons are left to fill in.

    What the run's own baseline covered is kept with its reasons. With `level` "should" SHOULDs that were not
    met are entered too.
    """
    wanted = {"fail", "warn"} if level == "should" else {"fail"}
    kept = list((source.get("baseline") or {}).get("used", []))
    blocks = [_kept(entry) for entry in kept]
    for requirement in source.get("requirements", []):
        if requirement.get("verdict") in wanted:
            blocks += _entries(requirement, kept)
    target = source.get("target", {})
    server = " ".join(filter(None, (str(target.get("name", "")), str(target.get("url", "")))))
    head = [
        f"# Known failures of {_comment(server, 300)}, run of {_comment(str(source.get('started', '')))}.",
        "# Every entry needs a reason. The list can only shrink: one that no longer holds fails the gate.",
    ]
    return "\n".join(head) + "\n" + "".join(f"\n{block}" for block in blocks)


def _kept(entry: Mapping[str, Any]) -> str:
    written: dict[str, Any] = {"requirement": _plain(entry.get("requirement", ""))}
    if entry.get("case"):
        written["case"] = _plain(entry["case"])
    written["reason"] = _plain(entry.get("reason", ""))
    with contextlib.suppress(ValueError):  # no date: the entry has no end
        written["expires"] = datetime.date.fromisoformat(str(entry.get("expires", "")))
    return block(written)


def _entries(requirement: Mapping[str, Any], kept: Sequence[Mapping[str, Any]]) -> list[str]:
    code = str(requirement.get("code", ""))
    mine = [str(entry.get("case", "")) for entry in kept if entry.get("requirement") == code]
    out, seen = [], set[str]()
    for evidence in requirement.get("evidence", []):
        case = str(evidence.get("case", ""))
        if case in seen or any(case.startswith(known) for known in mine):
            continue
        seen.add(case)
        remarks = {
            "requirement": str(requirement.get("name", "")),
            "case": str(evidence.get("title", "")),
            "reason": f"fill in; got: {evidence.get('actual', '')}",
        }
        entry = {"requirement": _plain(code), "case": _plain(case), "reason": ""}
        out.append(block(entry, remarks) + "# expires = 2027-12-31\n")
    return out


def block(entry: Mapping[str, Any], remarks: Mapping[str, str] = MappingProxyType({})) -> str:
    """One entry as a file has it, each key with the remark on it."""
    lines = ["[[known]]"]
    for key, value in entry.items():
        line = tomli_w.dumps({key: value}).rstrip("\n")
        lines.append(f"{line}  # {_comment(remarks[key])}" if key in remarks else line)
    return "\n".join([*lines, ""])


def _comment(value: str, limit: int = 120) -> str:
    """Text that can neither end a comment nor hide in one."""
    return text(value, limit)


def _plain(value: object) -> str:
    """Text that a file can hold, whatever a report says."""
    return text(str(value), 2000)
