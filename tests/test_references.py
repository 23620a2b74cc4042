"""Two correct servers that share no code, and their variants: the suite accuses none of them wrongly."""

from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rap_conformance.places import place
from rap_conformance.protocol.specification import catalogue
from tests.support import QUICK, Outcome, environment, run, unused_port

TOKENS = ("token-of-one-4711-0815", "token-of-two-1147-5180")
WORDS = {
    "plain": [str(place("fixtures") / "servers" / "plain" / "server.py")],
    "reference": ["-m", "rap_conformance", "serve"],
    "varied": ["-m", "fixtures.servers.varied"],
}
SCENARIOS = {
    "plain": """
[scenario.quick]
operation = "say"
arguments = {{ phrase = "hello {{canary}}" }}
[scenario.pending]
operation = "sleep_for"
arguments = {{ secs = {seconds}, remark = "{{canary}}" }}
seconds = {seconds}
[scenario.subscription]
operation = "ticker"
arguments = {{ every = {interval}, label = "{{canary}}" }}
final_arguments = {{ every = {interval}, times = 2 }}
""",
    "reference": """
[scenario.quick]
operation = "echo"
arguments = {{ text = "hello {{canary}}" }}
[scenario.pending]
operation = "wait"
arguments = {{ seconds = {seconds}, text = "waited {{canary}}" }}
seconds = {seconds}
[scenario.subscription]
operation = "watch"
arguments = {{ interval = {interval} }}
final_arguments = {{ interval = {interval}, count = 2 }}
""",
}


@dataclass(frozen=True)
class Variant:
    """A correct server in one form. Its pending calls last `seconds`; with `url` the test starts it."""

    server: str
    options: str = ""
    prefix: str = ""
    seconds: float = 3.0
    url: bool = False
    marked: bool = True
    """Whether the configuration says where secrets of ours go."""

    def words(self, port: str, state: Path) -> list[str]:
        """The command that starts it."""
        host = ["--host", "::1"] if self.url else []
        tokens = [word for token in TOKENS for word in ("--token", token)]
        prefix = ["--prefix", self.prefix] if self.prefix else []
        words = [*WORDS[self.server], "--port", port, "--state", str(state), *host, *tokens, *prefix]
        return [sys.executable, *words, *self.options.split()]

    def configuration(self, command: str = "") -> str:
        """Everything there is to configure, in a file."""
        scenarios = self._marked(SCENARIOS["plain" if self.server == "plain" else "reference"])
        server = [f"command = {command!r}"] if command else []
        server += [f'prefix = "{self.prefix}"'] if self.prefix and command else []
        return f"""
[server]
{chr(10).join(server)}
[features]
status = true
subscription = true
[auth]
headers = {{ Authorization = "Bearer {TOKENS[0]}" }}
[auth.other]
headers = {{ Authorization = "Bearer {TOKENS[1]}" }}
[timing]
grace = 10.0
""" + scenarios.format(seconds=self.seconds, interval=self.seconds / 8)

    def _marked(self, scenarios: str) -> str:
        return scenarios if self.marked else scenarios.replace(" {{canary}}", "").replace("{{canary}}", "a")

    def certify(self, folder: Path) -> Outcome:
        """The suite's whole verdict."""
        folder.mkdir()
        config = folder / "target.toml"
        with contextlib.ExitStack() as stack:
            if self.url:
                target = stack.enter_context(self.listening(folder))
                config.write_text(self.configuration(), "utf-8")
                where = ["--server-url", target, "--callback-bind", "[::1]:0"]
            else:
                command = shlex.join(self.words("{port}", folder / "state"))
                config.write_text(self.configuration(command), "utf-8")
                where = []
            return run(folder, "check", *where, "--config", str(config), *QUICK, within=400)

    @contextlib.contextmanager
    def listening(self, folder: Path) -> Iterator[str]:
        """The server on IPv6, started by us; gives its URL."""
        port = unused_port()
        with subprocess.Popen(self.words(str(port), folder / "state"), env=environment()) as process:
            try:
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    with contextlib.suppress(OSError), socket.create_connection(("::1", port), timeout=1):
                        break
                    time.sleep(0.05)
                yield f"http://[::1]:{port}{self.prefix}"
            finally:
                process.terminate()


VARIANTS = {
    "plain with a tight limit": Variant("plain", "--rate-limit 120", "/p", 6.0),
    "reference with a tight limit": Variant("reference", "--rate-limit 120", "", 6.0),
    "plain, 100 ms late": Variant("plain", "--latency-ms 100", "/p", 6.0),
    "reference, 100 ms late": Variant("varied", "--latency-ms 100 --rate-limit 450", "", 6.0),
    "a manifest of 5 MB": Variant("varied", "--manifest-mb 5 --rate-limit 450"),
    "a port published early": Variant("varied", "--published-ms 700 --rate-limit 450"),
    "HTTP/1.0": Variant("varied", "--wire http-1.0 --rate-limit 450"),
    "trailers": Variant("varied", "--wire trailing --rate-limit 450"),
    "103 before each answer": Variant("varied", "--wire hinting --rate-limit 450"),
    "Connection: close": Variant("varied", "--wire closing --rate-limit 450"),
    "closed at once after each answer": Variant("varied", "--idle-ms 0 --rate-limit 450"),
    "closed when idle for 0.2 s": Variant("varied", "--idle-ms 200 --rate-limit 450"),
    "header names in capitals": Variant("varied", "--wire loud --rate-limit 450"),
    "other methods answered by the library": Variant("varied", "--library --rate-limit 450"),
    "headers that are different each time": Variant("varied", "--chatty --rate-limit 450"),
    "503 where there is a limit": Variant("varied", "--busy --rate-limit 450"),
    "no place for secrets configured": Variant("plain", "", "/p", marked=False),
    "arguments that its schema does not tell": Variant("varied", "--picky --rate-limit 450", marked=False),
    "plain": Variant("plain", "", "/p"),
    "plain without a prefix, with a charset": Variant("plain", "--charset"),
    "reference without a prefix": Variant("reference", "--rate-limit 450"),
    "reference under a prefix, with a charset": Variant("varied", "--charset --rate-limit 450", "/a/b"),
    "plain on IPv6": Variant("plain", url=True),
    "reference on IPv6": Variant("reference", "--rate-limit 450", "/six", url=True),
}
"""The slowest first."""


QUICKLY = ("plain", "reference on IPv6")
"""Those of which `make test` has one each; the others are deep."""
EVERY = [
    pytest.param(name, marks=pytest.mark.long if name in QUICKLY else pytest.mark.deep) for name in VARIANTS
]


def needing(need: str) -> set[str]:
    """The requirements on servers that need something."""
    return {r.code for r in catalogue() if need in r.needs and r.role == "server"}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.timeout(400)
def test_it_is_accused_of_nothing(name: str, tmp_path: Path) -> None:
    variant = VARIANTS[name]
    outcome = variant.certify(tmp_path / "run")
    shown = "\n".join(
        f"{entry['code']} {entry['verdict']}: {entry['reason']}"
        for entry in outcome.report["requirements"]
        if entry["verdict"] not in {"pass", "not-applicable"}
    )
    verdicts = outcome.verdicts()
    assert not set(verdicts.values()) & {"fail", "warn", "advice", "error", "known"}, shown
    untested = {code for code, verdict in verdicts.items() if verdict == "untested"}
    assert untested == (needing("control") if variant.url else set()), shown
    inapplicable = {code for code, verdict in verdicts.items() if verdict == "not-applicable"}
    assert inapplicable == {"DSC014"} | (set() if variant.prefix else needing("prefix"))
    assert outcome.exit == 0, outcome.out[-2000:] + outcome.err[-2000:]
    assert outcome.report["verdict"] == ("partial" if variant.url else "conformant")
