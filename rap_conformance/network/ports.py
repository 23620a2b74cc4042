"""Ports for servers that we start: one that is ours is nobody else's, in whatever process of this machine.

A port that was free a moment ago is a neighbour's before the server has come up, or while it is being killed
and started again: two runs beside each other then judge one server. So a port is leased for as long as it
is needed, by holding a UDP socket on a number that belongs to it; the system takes it back when we end.
"""

from __future__ import annotations

import contextlib
import random
import socket

from rap_conformance.network.receiver import free_socket

FIRST, BEYOND = 20_000, 32_000
"""Where ports are looked for: below those that systems give to outgoing connections.

A client that keeps trying a port of that range until somebody listens may be connected to itself.
"""
_APART = 12_000
"""How far below a port is the number that leases it."""
_TRIES = 400


class Lease:
    """A port of loopback that no other run on this machine is given until this is closed.

    Raises OSError if there is none.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        for port in random.SystemRandom().sample(range(FIRST, BEYOND), _TRIES):
            held = _held(port)
            if held is None:
                continue
            if _free(host, port):
                self.port = port
                """The number."""
                self._held = held
                return
            held.close()
        raise OSError(f"no free port between {FIRST} and {BEYOND}")

    def close(self) -> None:
        """Let others have it; safe to call twice."""
        self._held.close()


def _held(port: int) -> socket.socket | None:
    """What leases a port; None if somebody else has leased it."""
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with contextlib.suppress(OSError):
        if exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):
            held.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        held.bind(("127.0.0.1", port - _APART))
        return held
    held.close()
    return None


def _free(host: str, port: int) -> bool:
    """Whether nobody listens there, or is about to."""
    try:
        free_socket(host, port).close()
    except OSError:
        return False
    return True
