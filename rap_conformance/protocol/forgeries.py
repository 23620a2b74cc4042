"""Requests that are not authentic, each one step away from one that is. No I/O.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator

from rap_conformance.engine.evidence import Headers
from rap_conformance.protocol.secrets import Piece, rewritten, same

WRONG = "rapc-wrong-credential"
PLAINLY_WRONG = "a wrong credential"

Forgery = tuple[str, str]
"""What is wrong, and the piece of a header that is sent instead of the right one."""


def wrong(piece: Piece) -> str:
    """The piece with a secret that resembles ours in nothing but its form."""
    if piece.signed:
        return piece.holding("".join("fedcba9876543210"[int(digit, 16)] for digit in piece.secret))
    if piece.basic is not None:
        return piece.holding(_encoded(f"rapc-nobody:{WRONG}".encode()))
    return piece.holding(WRONG)


def forged(headers: Headers, piece: Piece, title: str) -> Headers:
    """The headers with one piece forged in the way that `title` names."""

    def change(each: Piece) -> str:
        return dict(forgeries(each)).get(title, each.text) if each.key == piece.key else each.text

    return rewritten(headers, change)


def forgeries(piece: Piece) -> Iterator[Forgery]:
    """Wrong credentials in place of one piece; none of them decodes to the right secret."""
    emptied = piece.holding("") if piece.place else ""
    yield "an empty credential", emptied
    if piece.scheme:
        yield "the scheme without a token", piece.scheme.partition(" ")[0]
    yield PLAINLY_WRONG, wrong(piece)
    for title, candidates in _altered(piece):
        for candidate in candidates:
            if candidate and not same(candidate, piece.secret):
                yield title, piece.holding(candidate)
                break
    if piece.signed:
        yield "another key's id", piece.text.replace("Credential=", "Credential=RAPC", 1)
    elif token := _unsigned(piece.secret):
        yield "a token that says it needs no signature", piece.holding(token)


def _altered(piece: Piece) -> Iterator[tuple[str, list[str]]]:
    """Texts that nearly are the secret; of each kind several, should the first decode to the same."""
    basic = piece.basic
    if basic is not None:
        yield from ((title, [_encoded(each) for each in made]) for title, made in _altered_basic(basic))
        return
    secret = piece.secret
    middle = len(secret) // 2
    digits = "0123456789abcdef" if piece.signed else "AB0"
    yield "a truncated credential", [secret[:-1], secret[:-2], secret[:-4]]
    yield "half of the credential", [secret[:middle]]
    yield "the last half of the credential", [secret[middle:]]
    yield "a lengthened credential", [secret + "0", secret + "0A0A"]
    yield "a credential lengthened at its start", ["x" + secret]
    yield (
        "a credential altered in its middle",
        [f"{secret[:middle]}{d}{secret[middle + 1 :]}" for d in digits],
    )
    yield "a credential altered at its start", [d + secret[1:] for d in digits]
    yield "the credential in another letter case", [secret.swapcase()]


def _altered_basic(basic: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The same of user and password; a user's name may well be known in any letter case."""
    user, _, password = basic.partition(b":")
    middle = len(basic) // 2 - (basic[len(basic) // 2 : len(basic) // 2 + 1] == b":")
    cut, cased = (user + b":" + password[:-1], user + b":" + password.swapcase())
    if not password:
        cut, cased = user[:-1] + b":", basic
    elsewhere = [c for c in b"AB0" if basic[middle : middle + 1].lower() != bytes([c]).lower()]
    first = [c for c in b"AB0" if basic[:1].lower() != bytes([c]).lower()]
    yield "a truncated credential", [cut]
    yield "half of the credential", [basic[:middle]]
    yield "a lengthened credential", [basic + b"0" if password else user + b"0:"]
    yield "a credential lengthened at its start", [b"x" + basic]
    yield (
        "a credential altered in its middle",
        [basic[:middle] + bytes([c]) + basic[middle + 1 :] for c in elsewhere],
    )
    yield "a credential altered at its start", [bytes([c]) + basic[1:] for c in first]
    yield "the credential in another letter case", [cased]


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unsigned(token: str) -> str:
    """A JSON Web Token with `alg` none and no signature (RFC 7519, 6); empty for what is no such token."""
    parts = token.split(".")
    try:
        header = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except ValueError:
        return ""
    if len(parts) != 3 or not isinstance(header, dict) or "alg" not in header:
        return ""
    none = json.dumps({**header, "alg": "none"}, separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(none).decode('ascii').rstrip('=')}.{parts[1]}."


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


def claims(open_path: str, user: str) -> list[tuple[str, str]]:
    """Headers by which a trusted proxy tells who calls, and for what. From others they are worth nothing.

    `open_path` is one that needs no credentials, `user` somebody who may well exist.
    """
    return [
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-Original-URL", open_path),
        ("X-Rewrite-URL", open_path),
        ("X-Forwarded-User", user),
        ("X-Remote-User", user),
        ("Remote-User", user),
        ("X-Auth-Request-User", user),
        ("X-Consumer-Username", user),
        ("X-SSL-Client-Verify", "SUCCESS"),
        ("X-Forwarded-Client-Cert", f'Subject="CN={user}"'),
    ]


def more_claims(port: str) -> list[tuple[str, Headers]]:
    """Headers by which some servers know who calls, several at once, with nothing to show for it.

    `port` is what follows the host's name in its header, colon included.
    """
    addresses = (
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "X-Originating-IP",
        "X-Remote-IP",
        "X-Remote-Addr",
    )
    near = (
        *((name, "127.0.0.1") for name in addresses),
        ("X-Internal", "true"),
        ("X-Internal-Request", "true"),
    )
    host = (
        ("Host", f"localhost{port}"),
        ("User-Agent", "kube-probe/1.31 ELB-HealthChecker/2.0 (rap-conformance)"),
    )
    nobody = base64.b64encode(f"rapc-nobody:{WRONG}".encode()).decode("ascii")
    cookie = "; ".join(f"{name}={WRONG}" for name in ("session", "sessionid", "sid", "token", "connect.sid"))
    keys = ("X-API-Key", "X-Api-Token", "X-Auth-Token", "X-Access-Token", "Api-Key")
    return [
        ("headers of a caller nearby", (*near, *host)),
        ("any user and password", (("Authorization", f"Basic {nobody}"),)),
        ("any keys and session", (*((name, WRONG) for name in keys), ("Cookie", cookie))),
    ]


SMUGGLING = ("X-Original-URL", "X-Rewrite-URL")
"""Headers by which some servers let a request for one path be one for another."""


def loose(piece: Piece) -> Iterator[tuple[str, Callable[[Headers], Headers], str]]:
    """The right secret where it does not belong: title, what becomes of the headers, query string.

    The headers may hold a wrong secret instead, which then stands where the right one would.
    """

    def under(scheme: str | None) -> Callable[[Headers], Headers]:
        def change(each: Piece) -> str | None:
            if each.key != piece.key:
                return each.text
            return None if scheme is None else f"{scheme}{each.secret}"

        return lambda headers: rewritten(headers, change)

    if piece.header.lower() == "authorization":
        yield _conflict("before", piece.header, wrong_first=True)
        yield _conflict("after", piece.header, wrong_first=False)
        if piece.signed:
            return
        if piece.scheme:
            for foreign in ("Basic", "Token", "Negotiate", "X-Rapc", "Bearer"):
                if foreign.lower() != piece.scheme.lower():
                    yield f"the right token under the scheme {foreign}", under(f"{foreign} "), ""
            yield "the right token without a scheme", under(""), ""
    yield (
        "the right token in the query string",
        under(None),
        f"access_token={piece.secret}&token={piece.secret}",
    )


def _conflict(where: str, name: str, *, wrong_first: bool) -> tuple[str, Callable[[Headers], Headers], str]:
    """Two headers of one name, one of them right."""

    def change(headers: Headers) -> Headers:
        made: list[tuple[str, str]] = []
        for header, value in headers:
            if header.lower() != name.lower():
                made.append((header, value))
                continue
            false = (header, f"{value.partition(' ')[0]} {WRONG}" if " " in value else WRONG)
            made += [false, (header, value)] if wrong_first else [(header, value), false]
        return tuple(made)

    return f"a wrong Authorization header {where} the right one", change, ""
