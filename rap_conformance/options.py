"""Every option of a run, in one table: `check`, `runtime`, `replay` and pytest read it.

What an option decides goes on to `engine/plan.py` (whatever the role) or to the role's own `options.py`, by
`request.py`. Standard library only: every pytest run of everyone who installs the package imports this.
"""

from __future__ import annotations

from typing import NamedTuple


class Option(NamedTuple):
    """One option of a run. pytest puts `--rap-` before the name, but for those that are `bare`.

    `kind` is "text", "many" (repeatable) or "flag"; a flag may set `dest` to `const`. `roles`: whose.
    """

    name: str
    help: str
    metavar: str = ""
    kind: str = "text"
    default: str | None = None
    roles: tuple[str, ...] = ("server", "runtime")
    bare: bool = False
    dest: str = ""
    const: bool = True

    @property
    def flag(self) -> str:
        """How it is typed under pytest."""
        return f"--{self.name}" if self.bare else f"--rap-{self.name}"

    @property
    def key(self) -> str:
        """Where pytest keeps it."""
        return self.dest or f"rap_{self.name.replace('-', '_')}"


_SERVER, _RUNTIME = ("server",), ("runtime",)
OPTIONS = (
    Option("server-url", "base URL of the tool server under test", "URL", roles=_SERVER, bare=True),
    Option(
        "server-cmd",
        "command that starts it; {port} is replaced; the suite may kill and restart it",
        "CMD",
        roles=_SERVER,
        bare=True,
    ),
    Option(
        "adapter-cmd", "command that starts a runtime's adapter; {port} is replaced", "CMD", roles=_RUNTIME
    ),
    Option(
        "mutant",
        "judge a broken runtime of ours, to see what a failure looks like",
        "NAME",
        roles=_RUNTIME,
    ),
    Option("config", "configuration (TOML)", "FILE"),
    Option(
        "auth-header",
        "credentials to send; the value env:NAME reads the environment; repeatable",
        "'NAME: VALUE'",
        "many",
        roles=_SERVER,
    ),
    Option(
        "no-auth",
        "declare a trusted network without authentication; every report says so",
        kind="flag",
        roles=_SERVER,
    ),
    Option("callback-bind", "where the receiver listens", "HOST:PORT", roles=_SERVER),
    Option("callback-url", "how the server reaches the receiver", "URL", roles=_SERVER),
    Option(
        "invoke",
        "which tools may be called (default: the configured ones, else those annotated readOnly)",
        "none|read-only|configured|any",
        roles=_SERVER,
    ),
    Option("requirement", "judge only this requirement; globs (TCS*); repeatable", "CODE", "many"),
    Option("level", "what fails the gate", "must|should", default="must"),
    Option("strict", "an applicable MUST that was not exercised fails the gate (exit 7)", kind="flag"),
    Option(
        "profile",
        "20, 100 or 1000 generated examples for each generated requirement",
        "quick|standard|thorough",
        default="standard",
    ),
    Option("seed", "repeat a run's generated examples", "N"),
    Option("baseline", "known failures; the list may only shrink", "FILE"),
    Option("catalogue", "pin: requirements added later do not fail this gate", "X.Y"),
    Option(
        "failed",
        "judge again what failed in the last run; its reports go into the folder `failed` there",
        kind="flag",
    ),
    Option("subject", "what the attestation is about; else the report alone", "NAME@sha256:HEX"),
    Option(
        "gentle",
        "no floods, no inputs that may kill a server (the default unless the target is on loopback)",
        kind="flag",
    ),
    Option("not-gentle", "the owner consents to both", kind="flag", dest="rap_gentle", const=False),
    Option(
        "dry-run",
        "ask discovery only: say what would be called with what, what would stay untested, and why",
        kind="flag",
        roles=_SERVER,
    ),
    Option("max-time", "end the run then, as incomplete", "SECONDS"),
    Option("report-dir", "where reports go", "DIR", default="reports"),
    Option("no-report", "write no reports", kind="flag"),
)
"""Every option of a run, for `check`, `runtime` and pytest alike."""
