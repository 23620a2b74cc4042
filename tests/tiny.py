"""A protocol of our own that has nothing to do with RAP: a peer that is asked to shout. 150 lines at most.

It goes through the engine and every report (law 13): a catalogue, scenarios and a session are all it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import TypeVar

from rap_conformance.engine.catalogue import Catalogue, Specification, load
from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange, Verdict
from rap_conformance.engine.job import Job
from rap_conformance.engine.record import Record, Recorder
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Target
from rap_conformance.engine.scenario import Part, PeerDied, Untested, scenario, scenario_of
from rap_conformance.engine.session import Account, Lack

T = TypeVar("T")
Peer = Callable[[str], str]
CATALOGUE = """
[area]
name = "shouting"
title = "Shouting"

[[requirement]]
code = "SHO001"
name = "loud"
level = "MUST"
basis = "stated: it says so"
section = "shout.md#loud"
statement = "What is said comes back in capitals."
why = "It would not be heard."
remedy = "Use upper()"

[[requirement]]
code = "SHO002"
name = "silent-when-whispered"
level = "SHOULD"
basis = "stated: it says so"
section = "shout.md#whisper"
statement = "A whisper is not answered."
why = "It was not meant to be heard."
remedy = "Do not answer."
needs = ["ears"]
stage = "deadly"
"""
SHOUT = Specification(
    name="SHOUT",
    version="0.1",
    first="0.1",
    revisions=("1",),
    roles=("shouter",),
    needs={"ears": "somebody who hears whispers"},
    page=lambda revision, section: f"https://shout.example/{revision}/{section}",
)


class Session:
    """Speaks to one shouter."""

    def __init__(self, peer: Peer, *, ears: bool = True) -> None:
        self.peer, self.ears, self.dead, self.began = peer, ears, "", monotonic()
        self.pool = ThreadPoolExecutor(2)
        self.requests = 0

    def slow(self, stage: Stage = Stage.HARMLESS) -> bool:  # noqa: ARG002
        return False

    def over(self) -> str:
        return self.dead

    def now(self) -> float:
        return monotonic() - self.began

    def lack(self, need: str) -> Lack | None:
        return None if need != "ears" or self.ears else Lack(Verdict.NOT_APPLICABLE, "it has no ears")

    def revive(self, death: PeerDied) -> None:
        self.dead = str(death)

    def recover(self) -> None: ...

    def broken(self, code: str) -> None: ...

    def left(self) -> float:
        return 0.0

    def beside(self, work: Callable[[], T]) -> Future[T]:
        return self.pool.submit(work)

    def account(self) -> Account:
        return Account(Target("shout://here", "Stentor"), self.requests, self.now())


class Shouter(Recorder):
    """The peer as scenarios see it."""

    def __init__(self, session: Session, record: Record, attempt: int) -> None:
        self.session, self.record, self.attempt = session, record, attempt

    def say(self, text: str) -> Exchange:
        """Say something and hear what comes back."""
        self.session.requests += 1
        try:
            answer = self.session.peer(text)
        except ArithmeticError as error:
            raise PeerDied(f"it died of {text}", self.heard(text, str(error))) from error
        return self.heard(text, answer)

    def heard(self, said: str, answer: str) -> Exchange:
        now = self.session.now()
        return Exchange("SAY", "shout://here", (), said.encode(), 200, (), answer.encode(), now, now)


def _hears(peer: Shouter) -> None:
    if not peer.say("hello").response_body:
        raise Untested("it does not answer, which SHO001 is about")


def _again(peer: Shouter) -> None:
    peer.expect(peer.say("later").response_body == b"LATER", "LATER", "else", peer.say("later"), case="later")


@scenario(
    "SHO001", control=Positive("an answer has to be there"), overlap=True, parts=(Part(_again, Stage.DEADLY),)
)
def loud(peer: Shouter) -> None:
    heard = peer.say("hello")
    peer.expect(heard.response_body == b"HELLO", "HELLO", repr(heard.response_body), heard, case="hello")


@scenario("SHO002", control=Control("what is said aloud is answered", _hears))
def whispered(peer: Shouter) -> None:
    heard = peer.say("(psst)")
    peer.expect(not heard.response_body, "silence", "an answer", heard, case="a whisper")


def catalogue(folder: Path) -> Catalogue:
    """The catalogue, read from a folder as any other."""
    (folder / "shouting.toml").write_text(CATALOGUE, "utf-8")
    return load(folder, SHOUT)


def jobs(found: Catalogue) -> list[Job]:
    """Each requirement with its scenario."""
    marks = [(scenario_of(function), function) for function in (loud, whispered)]
    return [Job(found.select([mark.code])[0], mark, function) for mark, function in marks if mark is not None]
