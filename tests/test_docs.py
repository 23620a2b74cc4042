"""What is generated of the documents: the requirements, the counts, the rooms, a call's states."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rap_conformance.docs import pages, requirements, rooms
from rap_conformance.docs.__main__ import main
from rap_conformance.docs.states import states
from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.protocol.lifecycle import ANSWERS, CODES, REASONS, State
from rap_conformance.protocol.specification import CATALOGUE_VERSION, RAP, catalogue

ROOT = Path(__file__).resolve().parent.parent


def test_the_documentation_is_not_stale() -> None:
    files = pages.generated(ROOT, catalogue())
    assert ROOT / "docs" / "requirements.md" in files
    assert pages.stale(files) == [], "run python -m rap_conformance.docs"


def test_the_page_has_a_row_and_a_section_for_each_entry() -> None:
    page = requirements.requirements_page(catalogue())
    for entry in catalogue():
        assert page.count(f"\n### {entry.code} {entry.name}\n") == 1
        assert page.count(f"\n| [{entry.code}](#{entry.code.lower()}-{entry.name}) | ") == 1
        assert entry.url in page


def test_each_row_has_as_many_cells_as_its_head() -> None:
    for line in requirements.requirements_page(catalogue()).splitlines():
        if line.startswith("| ["):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6, line


def test_the_page_explains_derived_levels_and_unjudged_entries() -> None:
    (entry,) = catalogue().select(["TCS005"])
    assert "**MUST, derived**" in requirements.section(entry)
    assert "Not judged" not in requirements.section(entry)
    assert "no scenario" in requirements.section(replace(entry, planned=True))
    assert "nobody outside" in requirements.section(replace(entry, unseen="nobody outside can see it"))
    assert "planned" not in requirements.counts(Catalogue((entry,), RAP))
    assert "; 1 of them planned and not judged yet" in requirements.counts(
        Catalogue((replace(entry, planned=True),), RAP)
    )
    assert "| Tool call status | `XYZ` | 1 | 1 | 0 | 0 | 1 |" in requirements.counts(
        Catalogue((replace(entry, code="XYZ001"),), RAP)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b", r"a \| b"),
        ("`a | b`", "<code>a &#124; b</code>"),
        ("<b> & *x* _y_ [z](u) ~q~ $1", r"\<b\> \& \*x\* \_y\_ \[z\](u) \~q\~ \$1"),
        ("`tool_call_id` and a ` alone", r"`tool_call_id` and a \` alone"),
        ("two\n\nlines", "two lines"),
        ("back\\slash", r"back\\slash"),
        (r"`a\|b`", r"<code>a\\&#124;b</code>"),
    ],
)
def test_cells_cannot_break_the_table(text: str, expected: str) -> None:
    assert requirements.cell(text) == expected


def test_notes_become_links() -> None:
    assert requirements.with_notes("so (notes N1, N12 and N3), note N5") == (
        "so (notes [N1](spec-notes.md#n1), [N12](spec-notes.md#n12) and [N3](spec-notes.md#n3)), "
        "note [N5](spec-notes.md#n5)"
    )
    assert requirements.with_notes("N1 alone, denote N2") == "N1 alone, denote N2"


def test_what_is_generated_stands_between_its_markers_only() -> None:
    opening, closing = pages.block("counts")
    readme = f"before\n{opening}\nold\n{closing}\nafter {closing}\n"
    new = pages.with_block(readme, "counts", "new")
    assert new == f"before\n{opening}\nnew\n{closing}\nafter {closing}\n"
    assert pages.with_block(new, "counts", "new") == new
    for text in ("no markers", opening, f"{closing} {opening}"):
        assert pages.with_block(text, "counts", "new") == text


def test_the_readme_has_the_counts() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"\nCatalogue {CATALOGUE_VERSION}: {len(catalogue())} requirements" in text


def test_check_writes_nothing_and_names_each_stale_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    markers = "".join(pages.block("counts"))
    readme.write_text(markers, "utf-8")
    assert main(["--check"], tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["docs/requirements.md", "README.md"]
    assert readme.read_text("utf-8") == markers
    assert not (tmp_path / "docs").exists()

    assert main([], tmp_path) == 0
    assert (tmp_path / "docs" / "requirements.md").exists()
    capsys.readouterr()
    assert main(["--check"], tmp_path) == 0
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == ""

    assert main(["--chek"], tmp_path) == 4
    assert "--chek" in capsys.readouterr().err


# --- architecture


SOURCE = {
    "rap_conformance/__init__.py": "",
    "rap_conformance/door.py": '"""The door. It leads in."""\nfrom rap_conformance.upper import x',
    "rap_conformance/places.py": '"""Where | things are."""',
    "rap_conformance/upper/__init__.py": '"""Upper\nroom.\n\nMore."""',
    "rap_conformance/upper/a.py": "import rap_conformance.middle.b\nfrom rap_conformance.lower import c",
    "rap_conformance/middle/__init__.py": '"""Middle."""',
    "rap_conformance/middle/b.py": "def f():\n    from rap_conformance.lower.c import d\nplace('schemas')",
    "rap_conformance/lower/__init__.py": '"""Lower."""\nfrom rap_conformance import __version__\nimport os',
    "conformance/server/__init__.py": '"""Scenarios."""\nfrom rap_conformance import upper, places',
    "fixtures/servers/__init__.py": '"""Servers."""',
}


@pytest.fixture
def house(tmp_path: Path) -> list[rooms.Room]:
    for name, text in SOURCE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return rooms.read(tmp_path)


def test_rooms_are_read_from_the_imports(house: list[rooms.Room]) -> None:
    assert {room.name: set(room.imports) for room in house} == {
        "door": {"upper"},
        "places": set(),
        "lower": set(),
        "middle": {"lower"},
        "upper": {"middle", "lower"},
        "conformance/server": {"upper", "places"},
        "fixtures/servers": set(),
    }
    assert {room.name: set(room.finds) for room in house if room.finds} == {"middle": {"schemas"}}


def test_the_table_has_every_import_and_the_picture_what_does_not_follow(house: list[rooms.Room]) -> None:
    assert rooms.table(house).splitlines()[2:] == [
        "| `door.py` | The door | upper | - |",
        "| `places.py` | Where \\| things are | - | - |",
        "| `lower/` | Lower | - | - |",
        "| `middle/` | Middle | lower | schemas/ |",
        "| `upper/` | Upper room | lower, middle | - |",
        "| `conformance/server/` | Scenarios | places, upper | - |",
        "| `fixtures/servers/` | Servers | - | - |",
    ]
    arrows = [line.strip() for line in rooms.picture(house).splitlines() if ">" in line]
    assert arrows == [
        "n_door --> n_upper",
        "n_middle --> n_lower",
        "n_upper --> n_middle",
        "n_conformance_server --> n_places",
        "n_conformance_server --> n_upper",
    ]


def test_the_architecture_shows_the_rooms_and_the_states() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for name in ("rooms", "states"):
        assert all(text.count(marker) == 1 for marker in pages.block(name)), name
    assert "n_server --> n_network" in text
    assert "| interrupted | kill and restart, from pending or subscribed |" in text


def test_the_table_of_states_is_the_lifecycles() -> None:
    rows = states().splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {state}" for state in State]
    for state, row in zip(State, rows, strict=True):
        assert row.endswith(f" | {CODES[state]} |")
        assert (" or " in row.split(" | ")[2]) == (len(ANSWERS[state]) == 2) == (state in REASONS)
