"""The catalogue: what is in it, what is locked, and what a damaged one says.

`python tests/test_catalogue.py` adds new entries to the snapshot; it never changes or removes one, because
gates and baselines of other people name the codes.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rap_conformance.engine.catalogue import Catalogue, CatalogueError, load
from rap_conformance.engine.requirement import Level, Requirement, Stage
from rap_conformance.protocol.specification import RAP, catalogue

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOT = Path(__file__).resolve().parent / "snapshots" / "catalogue.json"
PAGES = {
    "basic": "lifecycle migration thread-closure tool-call-status tool-cancellation tool-invocation "
    "tool-result toolsets transport",
    "server": "oauth subscription-events user-choice view-updates",
}
ENTRY = """
[[requirement]]
code = "TCS001"
name = "ok-json"
level = "MUST"
basis = "stated: a sentence says so"
section = "basic/tool-call-status.md#response"
statement = "It answers."
why = "Else nobody knows."
remedy = "Answer."
needs = ["status"]
"""


def listed() -> dict[str, list[str]]:
    return {entry.code: [entry.name, str(entry.level)] for entry in catalogue()}


def written(folder: Path, text: str, name: str = "some.toml") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder


# --- what is there -----------------------------------------------------------------------------------------


def test_it_loads_in_the_order_of_codes() -> None:
    codes = [entry.code for entry in catalogue()]
    assert codes == sorted(set(codes))
    assert len(catalogue()) == len(codes)


@pytest.mark.parametrize("prefix", sorted({entry.code[:3] for entry in catalogue()}))
def test_no_code_is_left_out(prefix: str) -> None:
    codes = [entry.code for entry in catalogue() if entry.code.startswith(prefix)]
    assert codes == [f"{prefix}{number:03}" for number in range(1, len(codes) + 1)]


def test_codes_names_and_levels_are_locked() -> None:
    locked = json.loads(SNAPSHOT.read_text("utf-8"))
    found = listed()
    changed = {code: (was, found.get(code)) for code, was in locked.items() if found.get(code) != was}
    assert not changed, f"renamed, removed or of another level, though others rely on them: {changed}"
    new = sorted(found.keys() - locked.keys())
    assert not new, f"not in the snapshot yet, run python tests/test_catalogue.py: {new}"


def test_status_exists_at_the_revision_with_its_page_only() -> None:
    for entry in catalogue().select(["TCS*"]):
        assert entry.revisions == ("2026-07-pr62",), entry.code
    at_main = {entry.code for entry in catalogue().at("2026-08-main", "server")}
    assert {"DSC001", "DSC014"} <= at_main
    assert not any(code.startswith("TCS") for code in at_main)


def test_what_may_harm_comes_late() -> None:
    late = {entry.code: entry.stage for entry in catalogue().select(["TCS*", "DSC*"])}
    late = {code: stage for code, stage in late.items() if stage is not Stage.HARMLESS}
    assert (
        late.items()
        >= {
            "DSC013": Stage.RESTART,
            "TCS011": Stage.FORGED,
            "TCS012": Stage.FORGED,
            "TCS013": Stage.DEADLY,
            "TCS014": Stage.DEADLY,
            "TCS015": Stage.DEADLY,
            "TCS016": Stage.RESTART,
            "TCS019": Stage.FLOOD,
            "TCS024": Stage.FORGED,
            "TCS033": Stage.DEADLY,
            "TCS034": Stage.FORGED,
            "TCS035": Stage.FORGED,
        }.items()
    )


def every_entry() -> list[Requirement]:
    return list(catalogue())


@pytest.mark.parametrize("entry", every_entry(), ids=lambda entry: entry.code)
def test_each_entry_is_sound(entry: Requirement) -> None:
    kind, _, reason = entry.basis.partition(": ")
    assert reason, "a basis says why"
    assert (entry.level is Level.ADVICE) == (kind == "practice"), (
        "advice is what the specification does not ask"
    )
    if kind == "derived":
        assert entry.level is Level.MUST
    page, _, anchor = entry.section.partition("#")
    folder, _, name = page.partition("/")
    assert name.removesuffix(".md") in PAGES.get(folder, "").split(), entry.section
    assert name.endswith(".md")
    assert re.fullmatch(r"[a-z0-9]+(-+[a-z0-9]+)*", anchor), entry.section
    assert entry.url.endswith(f"docs/docs/rap/spec/{entry.section}")
    assert len(entry.statement) <= 480, "one to three sentences"
    for text in (entry.statement, entry.why, entry.remedy):
        assert text.endswith((".", '."', ".)")), text
        assert text.count("`") % 2 == 0, text


def test_each_note_it_names_exists() -> None:
    notes = set(
        re.findall(r"^## (N\d+) ", (ROOT / "docs" / "spec-notes.md").read_text("utf-8"), re.MULTILINE)
    )
    for entry in catalogue():
        for texts in re.findall(
            r"\bnotes? (N\d+(?:(?:, | and )N\d+)*)", entry.basis + entry.statement + entry.remedy
        ):
            assert set(re.findall(r"N\d+", texts)) <= notes, (entry.code, texts)


def test_each_code_a_note_names_is_of_the_known_form() -> None:
    text = (ROOT / "docs" / "spec-notes.md").read_text("utf-8")
    known = {entry.code for entry in catalogue()}
    filled = {code[:3] for code in known}
    unknown = {code for code in re.findall(r"\b[A-Z]{3}\d{3}\b", text) if code[:3] in filled} - known
    assert not unknown
    numbers = [int(number) for number in re.findall(r"^## N(\d+) \S", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert re.findall(r'^<a id="n(\d+)"></a>\n## N\1 ', text, re.MULTILINE) == [str(n) for n in numbers]


# --- choosing ----------------------------------------------------------------------------------------------


def test_select_takes_globs_in_any_case_and_keeps_the_order() -> None:
    assert [entry.code for entry in catalogue().select(["tcs00[32]", "DSC014"])] == [
        "DSC014",
        "TCS002",
        "TCS003",
    ]
    assert {entry.code[:3] for entry in catalogue().select(["*"])} >= {"TCS", "DSC"}


@pytest.mark.parametrize("patterns", [["TCS999"], ["TCS001", "XYZ*"], [""]])
def test_select_names_the_pattern_that_matches_nothing(patterns: list[str]) -> None:
    with pytest.raises(LookupError) as caught:
        catalogue().select(patterns)
    assert caught.value.args == (patterns[-1],)


def test_get() -> None:
    found = catalogue().get("TCS001")
    assert found is not None
    assert found.name == "ok-json"
    assert catalogue().get("TCS999") is None


# --- damage ------------------------------------------------------------------------------------------------


def test_the_sample_entry_loads(tmp_path: Path) -> None:
    (entry,) = load(written(tmp_path, ENTRY), RAP)
    assert (entry.code, entry.level, entry.stage, entry.needs) == (
        "TCS001",
        Level.MUST,
        Stage.HARMLESS,
        ("status",),
    )


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ('why = "', 'wy = "', "wy"),
        ('level = "MUST"', 'level = "MAY"', "MAY"),
        ('level = "MUST"', "", "level"),
        ('needs = ["status"]', 'needs = ["luck"]', "luck"),
        ('needs = ["status"]', 'needs = ["status"]\nstage = "late"', "late"),
        ('needs = ["status"]', 'needs = ["status"]\nrevisions = ["2020"]', "2020"),
        ('basis = "stated: ', 'basis = "felt: ', "felt"),
        ('name = "ok-json"', 'name = "OK JSON"', "name"),
        ('statement = "It answers."', 'statement = " "', "statement"),
    ],
    ids=lambda text: text.replace("\n", " "),
)
def test_damage_is_named_with_file_and_entry(tmp_path: Path, right: str, wrong: str, named: str) -> None:
    assert ENTRY.count(right) == 1
    with pytest.raises(CatalogueError) as caught:
        load(written(tmp_path, ENTRY.replace(right, wrong)), RAP)
    message = str(caught.value)
    assert "some.toml" in message
    assert "TCS001" in message
    assert named in message
    assert "\n" not in message


def test_a_doubled_code_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"^some\.toml: TCS001 is there twice"):
        load(written(tmp_path, ENTRY + ENTRY), RAP)
    written(tmp_path, ENTRY)
    with pytest.raises(CatalogueError, match=r"^third\.toml: TCS001 is there twice"):
        load(written(tmp_path, ENTRY, "third.toml"), RAP)


def test_an_entry_without_code_and_a_file_that_is_no_toml_are_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"some\.toml: an entry without code"):
        load(written(tmp_path, ENTRY.replace('code = "TCS001"', "")), RAP)
    with pytest.raises(CatalogueError, match=r"some\.toml: "):
        load(written(tmp_path, "[[requirement"), RAP)


# --- digest ------------------------------------------------------------------------------------------------


def test_the_digest_follows_every_statement(tmp_path: Path) -> None:
    first = load(written(tmp_path, ENTRY), RAP)
    assert first.digest == load(tmp_path, RAP).digest
    assert re.fullmatch(r"[0-9a-f]{64}", first.digest)
    assert first.digest != load(written(tmp_path, ENTRY.replace("It answers.", "It answers!")), RAP).digest
    whole = catalogue()
    changed = [replace(whole.requirements[-1], statement="Another."), *whole.requirements[:-1]]
    assert Catalogue(tuple(sorted(changed, key=lambda entry: entry.code)), RAP).digest != whole.digest


if __name__ == "__main__":
    locked = json.loads(SNAPSHOT.read_text("utf-8")) if SNAPSHOT.exists() else {}
    merged = dict(sorted({**listed(), **locked}.items()))
    lines = [f"  {json.dumps(code)}: {json.dumps(value)}" for code, value in merged.items()]
    SNAPSHOT.parent.mkdir(exist_ok=True)
    SNAPSHOT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
