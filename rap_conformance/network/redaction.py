"""Keeps credentials out of everything that is recorded, at the source, and sees who gives them back."""

from __future__ import annotations

import base64
import html
import json
import threading
from collections.abc import Iterator
from urllib.parse import quote

from rap_conformance.engine.evidence import Headers
from rap_conformance.engine.inputs import REDACTED

SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-amz-security-token"}
)
"""Headers that carry credentials by their name."""
SHORTEST = 4
"""Characters of the shortest text that is hidden."""


class Redactor:
    """Replaces every secret it has been told about; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: tuple[str, ...] = ()
        self._own: dict[bytes, str] = {}

    def learn(self, value: str) -> None:
        """From now on hide `value`, and its last word alone ("Bearer X" hides X too)."""
        words = {value, value.rpartition(" ")[2]}
        self._hide(word for word in words if len(word) >= SHORTEST)

    def own(self, value: str, name: str) -> None:
        """A secret of ours that no answer may hold; hide it, however it is written. `name` is what it is."""
        forms = set(_forms(value))
        self._hide(iter(forms))
        with self._lock:
            self._own |= {form.encode("utf-8", "surrogatepass"): name for form in forms}

    def _hide(self, words: Iterator[str]) -> None:
        with self._lock:
            self._secrets = tuple(sorted({*self._secrets, *words}, key=len, reverse=True))

    def betrayed(self, headers: Headers, body: bytes) -> str:
        """Which of our own secrets an answer holds; empty for none.

        A cookie that is set anew is the ordinary way of sessions, and tells nobody else.
        """
        if not self._own:
            return ""
        said = "\n".join(value for name, value in headers if name.lower() != "set-cookie")
        answer = said.encode("utf-8", "surrogateescape") + b"\n" + body
        return next((name for secret, name in self._own.items() if secret in answer), "")

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
            (name, REDACTED if name.lower() in SECRET_HEADERS and value else self.text(value))
            for name, value in headers
        )


def _forms(value: str) -> Iterator[str]:
    """A text as servers write it: as it is, and in URLs, pages, JSON and base64."""
    yield value
    yield quote(value, safe="")
    yield html.escape(value)
    yield json.dumps(value)[1:-1]
    yield base64.b64encode(value.encode()).decode()
