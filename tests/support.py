"""What several tests share: the command line as its users run it, and targets that misbehave."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rap_conformance.network.ports import Lease
from tests import warm

ROOT = Path(__file__).resolve().parent.parent
QUICK = ("--profile", "quick")


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit: int
    out: str
    err: str
    folder: Path

    @property
    def last(self) -> str:
        """The last line that was printed."""
        return self.out.strip().splitlines()[-1] if self.out.strip() else ""

    @property
    def report(self) -> dict[str, Any]:
        """What report.json says."""
        found: dict[str, Any] = json.loads((self.folder / "reports" / "report.json").read_text("utf-8"))
        return found

    def verdicts(self) -> dict[str, str]:
        """Verdict by code."""
        return {entry["code"]: entry["verdict"] for entry in self.report["requirements"]}


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what pytest or a CI system would add to a command's behaviour."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_", "GITHUB_"))}
    return {**kept, **more}


def command(*arguments: str) -> list[str]:
    """The words that run `rap-conformance`."""
    return [sys.executable, "-m", "rap_conformance", *arguments]


def run(folder: Path, *arguments: str, within: float = 90.0, **more: str) -> Outcome:
    """Run `rap-conformance …` from a folder and wait for its end, `within` seconds at the most."""
    done = warm.run(["rap_conformance", *arguments], folder, environment(**more), within)
    return Outcome(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
        folder,
    )


_leases: list[Lease] = []


def unused_port() -> int:
    """A port of loopback nobody listens on, and nobody else is given while this process lives."""
    _leases.append(Lease())
    return _leases[-1].port


@contextlib.contextmanager
def listening(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A target on loopback whose every connection is handed to `behave`; gives its URL."""
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    open_now: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            behave(connection)

    def accept() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                open_now.append(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        over.set()
        server.close()
        for connection in open_now:
            with contextlib.suppress(OSError):
                connection.close()


def read_request(connection: socket.socket) -> bytes:
    """The head of one request."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received
