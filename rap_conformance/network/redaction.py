"""Keeps credentials out of everything that is recorded, at the source."""

from __future__ import annotations

import threading

from rap_conformance.engine.evidence import Headers
from rap_conformance.engine.inputs import REDACTED

_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-amz-security-token"}
)


class Redactor:
    """Replaces every secret it has been told about; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: tuple[str, ...] = ()

    def learn(self, value: str) -> None:
        """From now on hide `value`, and its last word alone ("Bearer X" hides X too)."""
        words = {value, value.rpartition(" ")[2]}
        with self._lock:
            known = {*self._secrets, *(word for word in words if len(word) >= 4)}
            self._secrets = tuple(sorted(known, key=len, reverse=True))

    def text(self, value: str) -> str:
        """`value` without secrets."""
        for secret in self._secrets:
            if secret in value:
                value = value.replace(secret, REDACTED)
        return value

    def data(self, value: bytes) -> bytes:
        """`value` without secrets."""
        for secret in self._secrets:
            raw = secret.encode("utf-8", "surrogatepass")
            if raw in value:
                value = value.replace(raw, REDACTED.encode())
        return value

    def headers(self, headers: Headers) -> Headers:
        """Headers without secrets; those that carry credentials by their name lose their value."""
        return tuple(
            (name, REDACTED if name.lower() in _SECRET_HEADERS and value else self.text(value))
            for name, value in headers
        )
