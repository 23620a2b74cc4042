"""What identifies the suite to a server, and where that may go."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Headers

Signer = Callable[[str, str, bytes], Headers]
"""Makes credentials for one request from its method, URL and body."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What identifies us: fixed headers, a signer that makes them for each request, a client certificate.

    `certificate` is a TLS context that presents one, `files` are those it is in, by curl's names for them.
    `signing` says how curl signs: "aws:amz:REGION:SERVICE".
    """

    headers: Headers = ()
    signer: Signer | None = None
    certificate: ssl.SSLContext | None = None
    signing: str = ""
    files: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.headers or self.signer or self.certificate)

    def made(self, method: str, url: str, body: bytes) -> Headers:
        """The headers for one request."""
        return (*self.headers, *(self.signer(method, url, body) if self.signer else ()))


NOBODY = Credentials()


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL, as browsers compare them."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port
