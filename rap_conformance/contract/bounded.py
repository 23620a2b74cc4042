"""Work on schemas of servers under test, bounded in time: in a process of its own where it could run away.

Patterns of such a schema can take for ever, and Python cannot leave a regular
expression before it is done. So whatever is not plainly small and tame runs
in a child process with a deadline. `worker.py` is what that does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 2.0
_TAME_NODES = 400
_TAME_DEPTH = 32
_TAME_TEXT = 20_000
_WILD = frozenset(
    ("pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "uniqueItems")
)
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from rap_conformance.contract.worker import serve; serve()"
)


class TooMuch(Exception):
    """The work could not be done within bounds; the message says which, after "it"."""


def is_tame(schema: Any, *, patterns: bool = False) -> bool:
    """Whether a schema is small, shallow, and free of what can make validation slow.

    `patterns`: allow those words too, for work that does not apply the schema.
    """
    nodes, text = 0, 0
    heap = [(schema, 0)]
    while heap:
        node, depth = heap.pop()
        nodes += 1
        if isinstance(node, str):
            text += len(node)
        if nodes > _TAME_NODES or depth > _TAME_DEPTH or text > _TAME_TEXT:
            return False
        if isinstance(node, dict):
            if not patterns and not _WILD.isdisjoint(node):
                return False
            text += sum(map(len, node))
            heap.extend((value, depth + 1) for value in node.values())
        elif isinstance(node, list):
            heap.extend((value, depth + 1) for value in node)
    return True


def run(task: str, *given: Any, seconds: float = SECONDS) -> Any:
    """Do a task in a process of its own.

    Raises TooMuch after `seconds` seconds, when the process dies without an
    answer, and when what is given is nested too deeply to be written down.
    """
    root = str(Path(__file__).resolve().parents[2])
    path = [entry for entry in sys.path if os.path.isabs(entry)]
    try:
        work = json.dumps([task, seconds, given]).encode()
    except RecursionError:
        raise TooMuch("is nested too deeply") from None
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START, json.dumps([*path, root])],
            input=work,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            start_new_session=True,
            check=True,
        )
        return json.loads(child.stdout)
    except subprocess.TimeoutExpired:
        raise TooMuch(f"takes longer than {seconds:g} s") from None
    except (subprocess.SubprocessError, ValueError):
        raise TooMuch("ended the process that worked on it") from None
