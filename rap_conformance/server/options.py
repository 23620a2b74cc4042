"""What the command line decides about a tool server, beside the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from rap_conformance.engine.inputs import ConfigError
from rap_conformance.network.patience import Patience
from rap_conformance.network.receiver import Receiver
from rap_conformance.network.redaction import Redactor

INVOKE = ("none", "read-only", "configured", "any")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Which tools may be called, where the receiver listens, how the server reaches it.

    `embedded`: the target is the reference server that the suite starts by itself. `literal` is the name of
    a header whose credential stands on the command line.
    """

    invoke: str = ""
    callback_bind: tuple[str, int] = ("127.0.0.1", 0)
    callback_url: str | None = None
    embedded: bool = False
    literal: str = ""

    def receiver(self, patience: Patience, redactor: Redactor) -> Receiver:
        """What takes callbacks there. Raises ConfigError if the address cannot be listened on."""
        host, port = self.callback_bind
        try:
            return Receiver(patience, redactor, host, port, self.callback_url)
        except OSError as error:
            raise ConfigError(
                f"--callback-bind: cannot listen on {host}:{port} ({error.strerror or error}); "
                "give a free port of this machine, or 0 to have one chosen"
            ) from None
