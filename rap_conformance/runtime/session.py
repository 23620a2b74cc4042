"""One run's shared state against a runtime: adapter, scripted servers, probe, and how they are put away."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from rap_conformance.peers.patience import Patience
from rap_conformance.peers.probe import Probe
from rap_conformance.peers.redaction import Redactor
from rap_conformance.peers.scripted import ScriptedServers
from rap_conformance.peers.supervisor import CommandFailed, Supervisor
from rap_conformance.runtime.adapter import Adapter, AdapterTrouble, AdapterWrong
from rap_conformance.runtime.options import RuntimeOptions

T = TypeVar("T")


class RuntimeSession:
    """Everything the scenarios of one run share."""

    def __init__(self, options: RuntimeOptions) -> None:
        self.options, self.timing = options, options.timing
        self.patience = Patience(options.max_time)
        self.redactor = Redactor()
        self.servers = ScriptedServers(self.patience)
        self._folder = tempfile.TemporaryDirectory(prefix="rapc-runtime-", ignore_cleanup_errors=True)
        environment = dict(options.environment)
        if options.embedded:
            # What a runtime of ours leaves behind when it is killed goes with the run.
            environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name)
        self.supervisor = Supervisor(self.patience, self.redactor, options.command, environment=environment)
        self.probe = Probe(self.patience, self.redactor, timeout=options.timing.answer)
        # Callback URLs are read as they are, and shown in reports without what may be secret in them.
        self._plain = Probe(self.patience, Redactor(), timeout=options.timing.answer)
        self.adapter = Adapter(self._plain, self.supervisor, options.timing.answer)
        self.pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="adapter")
        self.notes: list[str] = []
        self.causes: list[str] = []
        self.trouble: AdapterTrouble | None = None
        self._made: dict[str, object] = {}
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Start the servers and the adapter. Raises AdapterTrouble if the adapter does not come up."""
        self.servers.start()
        self.start_adapter()

    def start_adapter(self) -> None:
        """Start the adapter, or start it again. Raises AdapterTrouble."""
        try:
            self.supervisor.start(self.adapter.ready)
        except CommandFailed as failed:
            raise AdapterWrong(f"--adapter-cmd: the command {failed}") from None
        except OSError as error:
            raise AdapterWrong(f"--adapter-cmd: {error.strerror or error}") from None

    def restart_adapter(self) -> None:
        """Kill what is left of the adapter and start it again. Raises AdapterTrouble."""
        self.supervisor.kill()
        self.start_adapter()

    @property
    def requests(self) -> int:
        """How many requests were made, by either side."""
        made = self.probe.requests + self._plain.requests
        return made + sum(len(server.queries) for server in self.servers.all)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make()`, computed once a run; an exception counts as not computed."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])

    def say(self, note: str) -> None:
        """Something the report should say once."""
        if note not in self.notes:
            self.notes.append(note)

    def close(self) -> None:
        """Stop everything we started; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.patience.halt()
        with contextlib.suppress(Exception):
            self.supervisor.close()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.servers.stop()
        self.probe.close()
        self._plain.close()
        self._folder.cleanup()
