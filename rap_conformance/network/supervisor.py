"""The supervisor: starts the server under test, keeps what it prints, kills and restarts it.

The command runs in a session of its own, below a warden that kills all of it
when the suite ends in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rap_conformance.engine.scenario import Halted
from rap_conformance.network.patience import Patience
from rap_conformance.network.ports import Lease
from rap_conformance.network.redaction import Redactor

_TAIL = 4000
"""Characters of the server's output that are shown."""


class CommandFailed(Exception):
    """The command could not be started, or exited before it answered; the message has its last lines."""


def split_command(command: str) -> list[str]:
    """The words of a command, as the platform's shell would see them. Raises ValueError for open quotes."""
    if os.name == "nt":
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def listens(host: str, port: int) -> bool:
    """Whether a connection to the port is accepted, by somebody other than ourselves."""
    try:
        with socket.create_connection((host, port), timeout=1.0) as made:
            return bool(made.getsockname() != made.getpeername())
    except OSError:
        return False


def run_command(command: str, within: float) -> tuple[int, str]:
    """Run a short command of the configuration; gives its exit status and the end of what it printed."""
    try:
        done = subprocess.run(
            split_command(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=within, check=False
        )
    except subprocess.TimeoutExpired:
        return 124, f"still running after {within:g} s"
    except OSError as error:
        return 127, str(error.strerror or error)
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return done.returncode, said[-200:]


class Supervisor:
    """One server process, which may be killed and started again on the same port.

    `command` holds `{port}` where the port goes. Times are seconds.
    """

    def __init__(
        self,
        patience: Patience,
        redactor: Redactor,
        command: str,
        *,
        host: str = "127.0.0.1",
        environment: dict[str, str] | None = None,
    ) -> None:
        self._patience = patience
        self._redactor = redactor
        self._host = host
        self._lease = Lease(host)
        self.port = self._lease.port
        self._words = [word.replace("{port}", str(self.port)) for word in split_command(command)]
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._output = tempfile.NamedTemporaryFile(prefix="rapc-server-", suffix=".log", delete=False)  # noqa: SIM115 -- closed by close()

    def start(self, ready: Callable[[], bool] | None, within: float = 30.0) -> None:
        """Start the command and wait until `ready` says so (None: do not wait).

        Raises CommandFailed if the command exits first or is not ready within `within` seconds, or if
        somebody else listens on its port: their answers would be taken for those of the command.
        """
        if listens(self._host, self.port):
            raise CommandFailed(f"was not started: somebody else listens on its port {self.port}")
        warden = str(Path(__file__).with_name("warden.py"))
        environment = {**os.environ, "PORT": str(self.port), **(self._environment or {})}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", warden, *self._words],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )
        self.starts += 1
        if ready is None:
            return
        up = self._patience.until(lambda: ready() or not self.running, within=within, every=0.02)
        if not up or not self.running:
            status = self._process.poll()
            what = (
                f"exited with status {status}"
                if status is not None
                else f"did not answer within {within:g} s"
            )
            self.kill()
            raise CommandFailed(f"{what}{self._said()}")

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status of a process that ended, else None."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """End the process at once, with everything it started, and see that its port is free."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._reap(10.0)
        # The kernel may take a moment to close what a killed process listened on.
        with contextlib.suppress(Halted):
            self._patience.until(lambda: not listens(self._host, self.port), within=10.0)

    def stop(self, within: float = 3.0) -> None:
        """Ask the process to end; kill it if it has not after `within` seconds."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process is not None:
                self._process.wait(within)
        self.kill()

    def close(self) -> None:
        """Stop the process, delete its output, and let others have the port."""
        self.stop()
        self._lease.close()
        self._output.close()
        Path(self._output.name).unlink(missing_ok=True)

    def output(self) -> str:
        """The last of what the process printed, without secrets."""
        with open(self._output.name, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _TAIL))
            return self._redactor.text(stream.read().decode("utf-8", "replace"))

    def _said(self) -> str:
        lines = [line for line in self.output().splitlines() if line.strip()][-5:]
        return "; it printed: " + " | ".join(lines) if lines else "; it printed nothing"

    def _signal(self, number: int) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def _reap(self, within: float) -> None:
        if self._process is None:
            return
        if hasattr(os, "killpg") and self._process.poll() is not None:
            # The warden may be gone while something it started lives on in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
