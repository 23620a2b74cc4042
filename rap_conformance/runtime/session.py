"""One run's shared state against a runtime: adapter, scripted servers, probe, and how they are put away."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, cast

from rap_conformance.engine.plan import Plan
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Target
from rap_conformance.engine.scenario import PeerDied
from rap_conformance.engine.session import Account, Lack
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.scripted import ScriptedServers
from rap_conformance.network.supervisor import CommandFailed, Supervisor
from rap_conformance.runtime.adapter import Adapter, AdapterWrong
from rap_conformance.runtime.habits import Habits
from rap_conformance.runtime.options import RuntimeOptions

T = TypeVar("T")


class RuntimeSession:
    """Everything the scenarios of one run share."""

    def __init__(self, options: RuntimeOptions, common: Plan) -> None:
        self.options, self.common, self.timing = options, common, options.timing
        self.patience = Patience(common.max_time)
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
        self.habits = Habits()
        self.notes: list[str] = []
        self.causes: list[str] = []
        self._made: dict[str, object] = {}
        self._making = threading.RLock()
        self._lock = threading.Lock()
        self._closed = False

    # --- what the engine asks ------------------------------------------------

    def slow(self, stage: Stage = Stage.HARMLESS) -> bool:  # noqa: ARG002
        """A runtime answers at its own pace, and is judged one requirement after the other."""
        return False

    def over(self) -> str:
        """Why nothing more can be judged; empty as long as something can."""
        return "the run ended before this was judged" if self.patience.halted else ""

    def time_is_up(self) -> bool:
        """Whether the time allowed for the run has passed."""
        return self.patience.time_is_up

    def now(self) -> float:
        """Seconds since the run began."""
        return self.patience.now()

    def lack(self, _: str) -> Lack | None:
        """Nothing lacks: an adapter boots the runtime with whatever is needed."""
        return None

    def revive(self, _: PeerDied) -> None:
        """Kill what is left of the adapter and start it again. Raises Refused."""
        self.supervisor.kill()
        self.start_adapter()

    def recover(self) -> None:
        """Each scenario boots the runtime anew."""

    def broken(self, _: str) -> None:
        """A requirement was found broken; nothing else depends on it."""

    def beside(self, work: Callable[[], T]) -> Future[T]:
        """Do something beside all else."""
        return self.pool.submit(work)

    def left(self) -> float:
        """Nothing runs beside what is judged: there is one runtime."""
        return 0.0

    def halt(self) -> None:
        """End every wait, now and from now on."""
        self.patience.halt()

    def shown(self) -> str:
        """Where the adapter is."""
        return self.adapter.url

    def account(self) -> Account:
        """What to say of this session at its end."""
        command = "" if self.options.embedded else self.redactor.text(self.options.command)
        return Account(
            target=Target(
                url=self.adapter.url,
                name="the reference runtime" if self.options.embedded else "the runtime behind an adapter",
                embedded=self.options.embedded,
                command=command,
                role="runtime",
            ),
            requests=self.requests,
            duration=self.patience.now(),
            causes=tuple(self.causes),
            notes=(*self.habits.told(), *self.notes),
            configuration=(("adapter", command),) if command else (),
        )

    # --- the adapter ---------------------------------------------------------

    def start_adapter(self) -> None:
        """Start the adapter, or start it again. Raises Refused."""
        try:
            self.supervisor.start(self.adapter.ready)
        except CommandFailed as failed:
            raise AdapterWrong(f"--adapter-cmd: the command {failed}") from None
        except OSError as error:
            raise AdapterWrong(f"--adapter-cmd: {error.strerror or error}") from None

    @property
    def requests(self) -> int:
        """How many requests were made, by either side."""
        made = self.probe.requests + self._plain.requests
        return made + sum(len(server.queries) for server in self.servers.all)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make()`, computed once a run; an exception counts as not computed."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
            return cast(T, self._made[key])

    def say(self, note: str) -> None:
        """Something the report should say once."""
        if note not in self.notes:
            self.notes.append(note)

    def leaving(self) -> str:
        """What `close` will do, in words."""
        return "stopping the runtime"

    def hurry(self) -> None:
        """End every wait; what is stopped is stopped all the same."""
        self.patience.halt()

    def close(self) -> None:
        """Stop everything we started; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.patience.halt()
        with contextlib.suppress(Exception):
            self.supervisor.close()
        self.habits.close()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.servers.stop()
        self.probe.close()
        self._plain.close()
        self._folder.cleanup()
