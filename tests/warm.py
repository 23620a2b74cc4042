"""Runs commands of ours in forked children of one process in which everything is imported already.

A command behaves as in a process of its own, which it is, but starts at once. For tests in which starting is
not the point: `tests.support.run`. What tests signals, imports or an installed script starts a real process.

`python -m tests.warm SOCKET` serves until its standard input ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "RAPC_WARM"
"""The variable that tells the workers of one session where its warm process listens."""
SEED = 1
"""The seed whose generated inputs are made before anything is forked."""
_process: subprocess.Popen[bytes] | None = None


def start() -> str:
    """Where the session's warm process listens; it is started unless somebody has done so."""
    global _process
    if ADDRESS not in os.environ:
        address = str(Path(tempfile.mkdtemp(prefix="rapc-warm-")) / "socket")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))}
        words = [sys.executable, "-m", "tests.warm", address]
        _process = subprocess.Popen(words, cwd=ROOT, env=kept, stdin=subprocess.PIPE)
        os.environ[ADDRESS] = address
        atexit.register(stop)
    return os.environ[ADDRESS]


def stop() -> None:
    """End the warm process if it was started here; safe to call twice."""
    global _process
    if _process is not None and _process.stdin is not None:
        _process.stdin.close()
        _process.wait(30)
        _process = None
        shutil.rmtree(Path(os.environ.pop(ADDRESS)).parent, ignore_errors=True)


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], within: float
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m WORDS` from a folder; TimeoutExpired after `within` seconds, and then it is killed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _connected() as to:
        asked = {"words": list(words), "folder": str(folder), "environment": dict(environment)}
        socket.send_fds(to, [json.dumps(asked).encode() + b"\n"], [out.fileno(), err.fileno()])
        answers = to.makefile("rb")
        pid = int(answers.readline())
        to.settimeout(within)
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([*words], within, _read(out), _read(err)) from None
        return subprocess.CompletedProcess([*words], code, _read(out), _read(err))


def _connected() -> socket.socket:
    """A connection, as soon as the warm process listens."""
    address, patience = start(), time.monotonic() + 60
    while True:
        to = socket.socket(socket.AF_UNIX)
        try:
            to.connect(address)
            return to
        except OSError:
            to.close()
            if time.monotonic() > patience or (_process is not None and _process.poll() is not None):
                raise
            time.sleep(0.05)


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def serve(address: str) -> None:
    """Fork a child for each request, until standard input ends; in a child, do what was asked for and end."""
    from rap_conformance import cli
    from rap_conformance.detection.mutants import warm_up

    _ = cli
    warm_up(SEED)
    asked: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [], 0.02 if asked else None)
            if sys.stdin in ready:
                return
            if listening in ready:
                connection, _ = listening.accept()
                pid = os.fork()
                if not pid:
                    for each in (listening, *asked.values()):
                        each.close()
                    _become(connection)
                    return
                asked[pid] = connection
                _say(connection, pid)
            for pid in list(asked):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    connection = asked.pop(pid)
                    _say(connection, os.waitstatus_to_exitcode(status))
                    connection.close()


def _say(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # whoever asked may be gone
        connection.sendall(b"%d\n" % number)


def _become(connection: socket.socket) -> None:
    """Do in this child what the connection asks for: as `python -m` would. Raises SystemExit."""
    text, files, _, _ = socket.recv_fds(connection, 1 << 20, 2)
    while not text.endswith(b"\n"):
        text += connection.recv(1 << 20)
    connection.close()
    asked = json.loads(text)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    module, *rest = asked["words"]
    if module == "pytest":  # it warns of plugins that are imported before it could rewrite them
        sys.modules.pop("rap_conformance.plugin", None)
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1])
