"""docs/requirements.md, and the catalogue in figures for README.md. Pure functions of the catalogue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.requirement import Area, Level, Requirement
from rap_conformance.protocol.specification import CATALOGUE_VERSION, NEEDS

_SPECIAL = re.compile(r"[\\*_\[\]<>|&~$`#]")
_CODE_SPAN = re.compile(r"(`[^`]+`)")
_NOTES = re.compile(r"\bnotes? N\d+(?:(?:, | and )N\d+)*")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], text)


def prose(text: str) -> str:
    """One line of Markdown that shows the text as it is; code spans in backticks stay code spans."""
    parts = _CODE_SPAN.split(" ".join(text.split()))
    return "".join(part if index % 2 else _escape(part) for index, part in enumerate(parts))


def cell(text: str) -> str:
    """The same for a table's cell, where a pipe would end the cell even inside a code span."""

    def safe(span: str) -> str:
        if "|" not in span:
            return span
        return "<code>" + _escape(span.strip("`")).replace("\\|", "&#124;") + "</code>"

    parts = _CODE_SPAN.split(" ".join(text.split()))
    return "".join(safe(part) if index % 2 else _escape(part) for index, part in enumerate(parts))


def with_notes(markdown: str) -> str:
    """The text with every "note N5" made a link into docs/spec-notes.md."""
    return _NOTES.sub(lambda found: re.sub(r"N(\d+)", r"[N\1](spec-notes.md#n\1)", found[0]), markdown)


def level(requirement: Requirement) -> str:
    """The level as the documentation writes it: "MUST, derived" where no sentence has the word."""
    return f"{requirement.level}, derived" if requirement.derived else str(requirement.level)


def grouped(requirements: Iterable[Requirement]) -> dict[Area, list[Requirement]]:
    """Requirements by the message they are about, messages in the protocol's order."""
    groups: dict[Area, list[Requirement]] = {}
    for requirement in sorted(requirements, key=lambda each: (each.area, each.code)):
        groups.setdefault(requirement.area, []).append(requirement)
    return groups


def _needs(requirement: Requirement) -> str:
    each = [f"`{need}`" for need in requirement.needs] + [f"(`{part}`)" for part in requirement.parts]
    return " ".join(each) or "-"


def _row(requirement: Requirement) -> str:
    code, name = requirement.code, requirement.name
    return (
        f"| [{code}](#{code.lower()}-{name}) | {name} | {level(requirement)} "
        f"| {cell(requirement.statement)} | {_needs(requirement)} |"
    )


def section(requirement: Requirement) -> str:
    """Everything the catalogue says about one requirement, as a section."""
    facts = [
        f"**{level(requirement)}**",
        f"asserted of a {'runtime' if requirement.role == 'runtime' else 'tool server'}",
        f"revision {' and '.join(f'`{revision}`' for revision in requirement.revisions)}",
        f"stage {requirement.stage}",
        f"[specification]({requirement.url})",
    ]
    needs = "; ".join(f"`{need}`: {NEEDS[need]}" for need in requirement.needs)
    parts = "; ".join(f"`{part}`: {NEEDS[part]}" for part in requirement.parts)
    lines = [
        f"### {requirement.code} {requirement.name}",
        " · ".join(facts),
        f"- **Asserted:** {with_notes(prose(requirement.statement))}",
        f"- **Basis:** {with_notes(prose(requirement.basis))}",
        f"- **Why it matters:** {with_notes(prose(requirement.why))}",
        f"- **How to mend it:** {with_notes(prose(requirement.remedy))}",
        f"- **Needs:** {needs or ('nothing but the URL' if requirement.role == 'server' else 'an adapter')}",
    ]
    if parts:
        lines.append(f"- **Parts of it need:** {parts}")
    if requirement.unseen:
        lines.append(f"- **Not judged:** {prose(requirement.unseen)}")
    elif requirement.planned:
        lines.append("- **Not judged yet:** the entry is planned and has no scenario")
    return "\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]) + "\n"


def counts(found: Catalogue) -> str:
    """The catalogue in figures: a line and a table, by message and level."""
    total = Counter(requirement.level for requirement in found)
    planned = sum(requirement.planned for requirement in found)
    lines = [
        f"Catalogue {CATALOGUE_VERSION}: {len(found)} requirements, {total[Level.MUST]} MUST, "
        f"{total[Level.SHOULD]} SHOULD, {total[Level.ADVICE]} ADVICE"
        + (f"; {planned} of them planned and not judged yet." if planned else "."),
        "",
        "| message | codes | MUST | of these derived | SHOULD | ADVICE | all |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for area, members in grouped(found).items():
        by_level = Counter(requirement.level for requirement in members)
        derived = sum(requirement.derived and requirement.level is Level.MUST for requirement in members)
        lines.append(
            f"| {area.title} | `{members[0].code[:3]}` | {by_level[Level.MUST]} | {derived} "
            f"| {by_level[Level.SHOULD]} | {by_level[Level.ADVICE]} | {len(members)} |"
        )
    return "\n".join(lines)


def requirements_page(found: Catalogue) -> str:
    """docs/requirements.md: a table for each message, then a section for each requirement."""
    parts = [
        "# Requirements",
        "<!-- generated by python -m rap_conformance.docs: edit conformance/requirements/*.toml instead -->",
        "**MUST** and **SHOULD**: a sentence of the specification says so. **MUST, derived**: no sentence "
        "with that word, but a definition or another MUST leaves no other reading; it gates like any MUST. "
        "**ADVICE**: good practice that the specification does not ask for; it never fails a gate. "
        "Notes (N1, N2, …) are in [spec-notes.md](spec-notes.md).",
        counts(found),
        "*Needs* is what must be known or given before a requirement can be judged "
        "(`-`: nothing but the URL); what stands in brackets only parts of it need, each judged where it can "
        "be:\n\n" + "\n".join(f"- `{need}`: {text}" for need, text in NEEDS.items()),
    ]
    for area, members in grouped(found).items():
        parts.append(f"## {area.title}")
        head = "| code | name | level | asserted | needs |\n|---|---|---|---|---|\n"
        parts.append(head + "\n".join(_row(requirement) for requirement in members))
        parts.extend(section(requirement).rstrip("\n") for requirement in members)
    return "\n\n".join(parts) + "\n"
