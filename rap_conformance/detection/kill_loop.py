"""Kills and restarts of runtime and tool server: `python -m rap_conformance.detection.kill_loop 200`.

The reference runtime and the reference server, wired together, each with its state on disk. Conversations
call tools all the time while one side or the other is killed at random and started again. At the end nothing
may hang, no call may have been given up that its server called alive, and no result may have arrived twice.
The last line has the figures; exit 1 if one of them is wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.supervisor import Supervisor
from rap_conformance.protocol.messages import JSON, MANIFEST_PATH, RESULT, encode, query, result
from rap_conformance.runtime import embedded

GIVEN_UP = "Error: the tool server "
THREADS = [f"rapc-thread-{number}" for number in range(5)]
REST = 60.0
"""Seconds in which everything has to come to rest once nobody is killed any more."""
ANSWER = 20.0
"""Seconds in which a message is answered, three attempts to reach a dead server included."""


class Loop:
    """Both sides, and what was seen of them."""

    def __init__(self, seed: int, folder: Path, mutant: str | None) -> None:
        self.chance = random.Random(seed)
        self.patience = Patience()
        self.probe = Probe(self.patience, Redactor(), timeout=ANSWER)
        words = [sys.executable, "-m", "rap_conformance", "serve", "--host", "127.0.0.1", "--port", "{port}"]
        self.server = self._side(
            shlex.join([*words, "--state", str(folder / "server.db")]).replace("'{port}'", "{port}")
        )
        self.server_url = f"http://127.0.0.1:{self.server.port}"
        command, environment = embedded.command(mutant)
        state = shlex.join(["--state", str(folder / "runtime.db"), "--boot", "--server", self.server_url])
        wishes = "--ask-again 0.5 --status-timeout 2"
        self.runtime = self._side(f"{command} {state} {wishes}", dict(environment))
        self.runtime_url = f"http://127.0.0.1:{self.runtime.port}"
        self.calls: set[str] = set()
        self.given_up: set[tuple[str, str]] = set()
        self.wrong: Counter[str] = Counter()

    def _side(self, command: str, environment: dict[str, str] | None = None) -> Supervisor:
        return Supervisor(self.patience, Redactor(), command, environment=environment)

    # --- both sides

    def start(self, side: Supervisor) -> None:
        """Start one side and wait until it answers."""
        path = MANIFEST_PATH if side is self.server else "/state"
        url = f"http://127.0.0.1:{side.port}{path}"
        side.start(lambda: self.probe.send("GET", url, patient=False).status == 200)

    def close(self) -> None:
        """Stop both."""
        self.server.close()
        self.runtime.close()
        self.probe.close()

    def ask(self, url: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON that an endpoint answers; None if it gives no whole answer with 200."""
        method, content = ("GET", b"") if body is None else ("POST", encode(body))
        exchange = self.probe.send(method, url, content, headers=JSON if body else (), patient=False)
        if exchange.status != 200 or exchange.failure is not None:
            return None
        return json.loads(exchange.response_body)

    # --- conversations

    def talk(self) -> None:
        """One message, which makes the runtime call a tool."""
        tool, arguments = self.chance.choice(
            [
                ("echo", {"text": "hello"}),
                ("wait", {"seconds": round(self.chance.uniform(0.05, 1.0), 2)}),
                ("watch", {"interval": 0.1, "count": self.chance.randint(1, 4)}),
            ]
        )
        text = f"call {tool} {json.dumps(arguments)}"
        said = self.ask(
            f"{self.runtime_url}/message", {"thread_id": self.chance.choice(THREADS), "text": text}
        )
        if said is None:
            self.wrong["hung"] += 1
        elif said["text"].startswith("call-"):
            self.calls.add(said["text"])

    def observe(self) -> dict[str, Any]:
        """Look at every conversation: nothing twice, and nothing given up that is alive."""
        state: dict[str, Any] = self.ask(f"{self.runtime_url}/state") or {"threads": [], "checking": True}
        twice: Counter[tuple[str, str, str]] = Counter()
        for thread in state["threads"]:
            for one in thread["injected"]:
                if one["kind"] == RESULT or one["final"]:
                    twice[thread["thread_id"], one["tool_call_id"], one["kind"]] += 1
                if one["text"].startswith(GIVEN_UP):
                    self._judge(thread["thread_id"], one["tool_call_id"])
        self.wrong["twice"] = sum(number - 1 for number in twice.values())
        return state

    def repeat(self, state: dict[str, Any]) -> None:
        """Deliver something again that has arrived, as a server does whose acknowledgement was lost."""
        results = [
            result(one["tool_call_id"], t["thread_id"], one["text"])
            for t in state["threads"]
            for one in t["injected"]
            if one["kind"] == RESULT
        ]
        url = (self.ask(f"{self.runtime_url}/callback_url") or {}).get("callback_url")
        if results and url:
            self.probe.send("POST", url, encode(self.chance.choice(results)), headers=JSON, patient=False)

    def _judge(self, thread: str, call: str) -> None:
        """Something was given up: its server must not call it alive."""
        if (thread, call) not in self.given_up:
            self.given_up.add((thread, call))
            answer = self.ask(f"{self.server_url}/tool_call_status", query(call, thread))
            self.wrong["live"] += bool(answer and answer["alive"])

    def kill(self) -> None:
        """Kill one side or both, in the middle of things, and start what was killed again."""
        victims = self.chance.choice([[self.server], [self.runtime], [self.server, self.runtime]])
        for _ in range(self.chance.randint(1, 4)):
            self.talk()
        self.patience.pace(self.chance.uniform(0.0, 0.4))
        for side in victims:
            side.kill()
        self.chance.shuffle(victims)
        for side in victims:
            self.patience.pace(self.chance.uniform(0.0, 0.2))
            self.start(side)
        if self.runtime in victims:
            checked = f"{self.runtime_url}/state"
            self.patience.until(lambda: not (self.ask(checked) or {"checking": True})["checking"], 10.0)
        self.repeat(self.observe())

    def rest(self) -> None:
        """One last boot of the runtime, and then everything has to end."""
        self.runtime.kill()
        self.start(self.runtime)

        def waiting() -> list[str]:
            threads = self.observe()["threads"]
            return [call for thread in threads for call in thread["pending"] + thread["subscriptions"]]

        self.patience.until(lambda: not waiting(), REST, every=0.2)
        self.wrong["hung"] += len(waiting())


def run(rounds: int, seed: int, mutant: str | None = None) -> int:
    """The loop; gives the exit code."""
    survived = 0
    with tempfile.TemporaryDirectory(prefix="rapc-loop-") as folder:
        loop = Loop(seed, Path(folder), mutant)
        try:
            for side in (loop.server, loop.runtime):
                loop.start(side)
            for number in range(1, rounds + 1):
                before = sum(loop.wrong.values())
                loop.kill()
                survived += sum(loop.wrong.values()) == before
                if number % 20 == 0:
                    print(
                        f"{number} rounds, {len(loop.calls)} calls, {len(loop.given_up)} given up", flush=True
                    )
            loop.rest()
        finally:
            loop.close()
    wrong = loop.wrong
    print(
        f"{survived} of {rounds} kills survived, seed {seed}: {len(loop.calls)} calls, "
        f"{len(loop.given_up)} given up, "
        f"{wrong['hung']} hung, {wrong['live']} live ones given up, {wrong['twice']} injected twice, "
        f"{loop.patience.now():.0f} s"
    )
    return 1 if any(wrong.values()) or survived != rounds else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Kill and restart runtime and tool server at random.")
    parser.add_argument("rounds", type=int, metavar="N", help="how often something is killed")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--mutant", metavar="NAME", help="a broken runtime instead, to see the loop fail")
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1, 2**31) if given.seed is None else given.seed
    return run(given.rounds, seed, given.mutant)


if __name__ == "__main__":
    raise SystemExit(main())
