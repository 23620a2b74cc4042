"""What the command line decides about a tool server, beside the configuration."""

from __future__ import annotations

from dataclasses import dataclass

INVOKE = ("none", "read-only", "configured", "any")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Which tools may be called, where the receiver listens, how the server reaches it.

    `embedded`: the target is the reference server that the suite starts by itself.
    """

    invoke: str = ""
    callback_bind: tuple[str, int] = ("127.0.0.1", 0)
    callback_url: str | None = None
    embedded: bool = False
