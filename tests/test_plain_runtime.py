"""The second reference runtime, in Node: the suite accuses it of nothing, and it reads all vectors right."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.places import place
from tests.support import QUICK, environment, run

FOLDER = place("fixtures") / "runtimes" / "plain"
VECTORS = place("fixtures") / "payloads" / "liveness.json"
FILES = sorted(FOLDER.glob("*.mjs"))

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")


def node(script: str, *arguments: object) -> Any:
    """What a script prints as JSON; its imports are relative to the runtime's folder."""
    command = ["node", "--input-type=module", "--eval", script, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=FOLDER, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_small_and_needs_nothing_but_node() -> None:
    assert len(FILES) > 5
    for path in FILES:
        source = path.read_text("utf-8")
        assert len(source.splitlines()) <= 120, path
        for wanted in re.findall(r"(?:from|import\() ?'([^']+)'", source):
            ours = wanted.startswith("./") and (FOLDER / wanted).exists()
            assert ours or wanted.startswith("node:"), path


@needs_node
@pytest.mark.long
def test_nothing_is_found_wrong_with_it(tmp_path: Path) -> None:
    adapter = f"node {shlex.quote(str(FOLDER / 'adapter.mjs'))} {{port}}"
    outcome = run(tmp_path, "runtime", "--adapter-cmd", adapter, *QUICK, within=240.0)
    assert outcome.exit == 0, outcome.out + outcome.err
    assert outcome.report["verdict"] == "conformant"
    assert {code: verdict for code, verdict in outcome.verdicts().items() if verdict != "pass"} == {}


@needs_node
def test_every_vector_is_read_in_one_of_the_ways_that_are_right() -> None:
    wrong = node(
        """
        import { readFileSync } from 'node:fs';
        import { reading } from './liveness.mjs';
        const text = ({ parts, body_base64: body = '' }) => parts === undefined
          ? Buffer.from(body, 'base64')
          : Buffer.from(parts.map((part) => part.text.repeat(part.times ?? 1)).join(''));
        const vectors = JSON.parse(readFileSync(process.argv[1]));
        const wrong = vectors.filter((one) => {
          const answer = one.failure === undefined ? { status: one.status, body: text(one) } : undefined;
          return !one.allowed.includes(reading(answer));
        });
        console.log(JSON.stringify(wrong.map((one) => one.name)));
        """,
        VECTORS,
    )
    assert wrong == []


@needs_node
def test_a_line_that_a_kill_left_unfinished_is_dropped(tmp_path: Path) -> None:
    whole = {"what": "said", "thread": "\ud800 t", "text": "hello", "reply": "hello"}
    (tmp_path / "journal.jsonl").write_text(json.dumps(whole) + '\n{"what": "result", "thr', "ascii")
    found = node(
        """
        import { Journal } from './journal.mjs';
        const journal = new Journal(process.argv[1]);
        journal.entries();
        journal.write({ what: 'next' });
        console.log(JSON.stringify(journal.entries()));
        """,
        tmp_path,
    )
    assert found == [whole, {"what": "next"}]
