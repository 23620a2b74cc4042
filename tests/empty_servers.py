"""Servers at which nothing is there: whatever is asked about, there is one answer. For tests of controls.

All of them serve the reference's manifest, so that a run gets to the scenarios.
"""

# ruff: noqa: ARG002 - they answer without looking at what the reference looks at

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fixtures.servers.reference import Call, Options, ReferenceServer, serve
from fixtures.servers.reference.callbacks import Message

DISCOVERY = "/.well-known/rap-toolset"
STATUS = "/tool_call_status"


class RejectsAll(ReferenceServer):
    """Answers 401 to everything but discovery."""

    STATUS = 401

    async def handle(self, request: Request) -> Response:
        if request.url.path.endswith(DISCOVERY):
            return await super().handle(request)
        await self.drain(request)
        return self.refuse(self.STATUS, "no")


class RefusesAll(RejectsAll):
    """Answers 400 to everything but discovery."""

    STATUS = 400


class RejectsStatus(ReferenceServer):
    """Answers 401 to every status check; all else works."""

    async def status(self, request: Request) -> Response:
        return self.reject(request)


class RefusesStatus(ReferenceServer):
    """Answers 400 to every status check; all else works."""

    async def status(self, request: Request) -> Response:
        return self.refuse(400, "no")


class ForbidsStatus(ReferenceServer):
    """Answers 403 to every status check; all else works."""

    async def status(self, request: Request) -> Response:
        return self.refuse(403, "no")


class KnowsNothing(ReferenceServer):
    """Answers 404 to every status check; all else works."""

    async def status(self, request: Request) -> Response:
        return self.refuse(404, "no such call")


class NeverAlive(ReferenceServer):
    """Answers `{"alive": false}` to every authentic status check; all else works."""

    def is_alive(self, thread_id: str, tool_call_id: str, identity: str) -> bool:
        return False


class SaysFalse(ReferenceServer):
    """Answers `{"alive": false}` to all but discovery, whoever asks by whatever method; runs nothing."""

    async def handle(self, request: Request) -> Response:
        if request.url.path.endswith(DISCOVERY):
            return await super().handle(request)
        await self.drain(request)
        return JSONResponse({"alive": False})


class Hangs(ReferenceServer):
    """Never answers a status check; all else works."""

    async def status(self, request: Request) -> Response:
        await asyncio.sleep(60.0)
        return Response()


class CallsNobodyBack(ReferenceServer):
    """Acknowledges calls and forgets them: no callback is ever sent, and none is alive."""

    def launch(self, call: Call) -> None:
        self.finish(call)


class HoldsCallbacks(ReferenceServer):
    """Keeps every call alive and never calls back."""

    async def deliver(self, call: Call, message: Message) -> bool:
        await asyncio.sleep(3600.0)
        return False


EMPTY: dict[str, type[ReferenceServer]] = {
    "rejects-all": RejectsAll,
    "refuses-all": RefusesAll,
    "rejects-status": RejectsStatus,
    "refuses-status": RefusesStatus,
    "forbids-status": ForbidsStatus,
    "knows-nothing": KnowsNothing,
    "never-alive": NeverAlive,
    "says-false": SaysFalse,
    "hangs": Hangs,
    "calls-nobody-back": CallsNobodyBack,
    "holds-callbacks": HoldsCallbacks,
}


ONCE = "starts-once"
"""The reference, whose process ends at once when it is started a second time."""


def main(name: str, port: str, state: str, *tokens: str) -> None:
    """Serve until the process is told to end."""
    if name == ONCE and Path(state).exists():
        sys.exit("the address is in use")
    options = Options(port=int(port), prefix="/rap", state=Path(state), rate_limit=450, tokens=tokens)
    serve(EMPTY.get(name, ReferenceServer)(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
