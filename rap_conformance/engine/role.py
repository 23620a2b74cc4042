"""A role is a value: who is judged, by which scenarios, and how a session with it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rap_conformance.engine.plan import Plan
from rap_conformance.engine.record import Record, Recorder
from rap_conformance.engine.session import Preview, Session
from rap_conformance.engine.toml_file import Document, Keys

Given = Mapping[str, Any]
"""What was given on the command line, by the names of the options."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a role makes of what was given: how the session is made, and what all roles need to know.

    `gentle` is this target's default, `address` how reports name it before the run.
    """

    session: Callable[[Plan], Session]
    revision: str
    address: str
    gentle: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """Who is judged: `name` as the catalogue says it, `folder` where the scenarios are, `title` in words.

    `target` are the options that name a target, `keys` the configuration's tables and keys about this role.
    `read` checks what was given, and the configuration's file if there is one. Raises ConfigError, one line.
    `begin` starts what a session needs and looks the peer over; it raises Refused if the run cannot be made.
    `preview` asks as little as can be asked and says what a run would do; None where nothing can be said.
    `peer` makes the peer as one scenario sees it, of session, record and the number of the attempt.
    """

    name: str
    folder: str
    title: str
    target: tuple[str, ...]
    keys: Keys
    read: Callable[[Given, Document | None], Settings]
    begin: Callable[[Any], None]
    peer: Callable[[Any, Record, int], Recorder]
    preview: Callable[[Any], Preview] | None = None
