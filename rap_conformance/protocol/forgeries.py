"""Requests that are not authentic, each one step away from one that is. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rap_conformance.engine.evidence import Headers

_CASELESS = re.compile(r"[0-9a-fA-F]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""Hex and UUIDs: the same value in another case may well be the same secret."""

Forgery = tuple[str, Headers]
"""What is wrong, and the headers that are sent instead of the right ones."""


def split(value: str) -> tuple[str, str]:
    """Scheme and token of a header's value: "Bearer X" gives ("Bearer ", "X"), a bare key ("", key)."""
    scheme, space, token = value.partition(" ")
    return (scheme + space, token) if space else ("", value)


def forgeries(headers: Headers) -> Iterator[Forgery]:
    """Wrong credentials, for each configured header in turn; the others stay right."""
    yield "no credentials", ()
    for index, (name, value) in enumerate(headers):
        scheme, token = split(value)
        middle = len(token) // 2
        other = "A" if token[middle : middle + 1] != "A" else "B"
        wrong = [
            ("an empty credential", ""),
            ("the scheme without a token", scheme.strip()),
            ("a wrong credential", f"{scheme}rapc-wrong-credential"),
            ("a truncated credential", f"{scheme}{token[:-1]}"),
            ("half of the credential", f"{scheme}{token[:middle]}"),
            ("a lengthened credential", f"{scheme}{token}0"),
            ("a credential lengthened at its start", f"{scheme}x{token}"),
            ("a credential altered in its middle", f"{scheme}{token[:middle]}{other}{token[middle + 1 :]}"),
            ("a credential altered at its start", f"{scheme}{'A' if token[:1] != 'A' else 'B'}{token[1:]}"),
        ]
        if not _CASELESS.fullmatch(token) and token.swapcase() != token:
            wrong.append(("the credential in another letter case", f"{scheme}{token.swapcase()}"))
        for title, forged in wrong:
            if forged != value and forged != scheme + token:
                yield title, (*headers[:index], (name, forged), *headers[index + 1 :])


def spellings(path: str) -> list[tuple[str, str]]:
    """Other spellings of the status endpoint's path that some servers take for it, as request targets."""
    folder, _, last = path.rpartition("/")
    return [
        ("with a slash at its end", f"{path}/"),
        ("with a doubled slash", f"{folder}//{last}"),
        ("in upper case", f"{folder}/{last.upper()}"),
        ("with an encoded letter", f"{folder}/%74{last[1:]}"),
        ("with an encoded slash", f"{folder}%2f{last}"),
        ("with a dot segment", f"{folder}/./{last}"),
        ("with a parent segment", f"{folder}/x/../{last}"),
        ("with a semicolon", f"{path};x=1"),
        ("with a query", f"{path}?x=1"),
        ("with an encoded NUL", f"{path}%00"),
        ("with an extension", f"{path}.json"),
        ("with a backslash", f"{folder}/\\{last}"),
        ("with a space at its end", f"{path}%20"),
    ]


def loose(headers: Headers) -> Iterator[tuple[str, Headers, str]]:
    """The right secret where it does not belong: title, headers, query string."""
    for name, value in headers:
        scheme, token = split(value)
        if name.lower() == "authorization":
            wrong = f"{scheme}rapc-wrong-credential"
            yield "a wrong Authorization header before the right one", ((name, wrong), (name, value)), ""
            yield "a wrong Authorization header after the right one", ((name, value), (name, wrong)), ""
            if scheme:
                for foreign in ("Basic", "Token", "Negotiate", "X-Rapc"):
                    if foreign.lower() != scheme.strip().lower():
                        yield (
                            f"the right token under the scheme {foreign}",
                            ((name, f"{foreign} {token}"),),
                            "",
                        )
                yield "the right token without a scheme", ((name, token),), ""
        yield "the right token in the query string", (), f"access_token={token}&token={token}"
