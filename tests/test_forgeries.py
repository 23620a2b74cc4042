"""Forged credentials: each is another secret, however leniently it is decoded."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.servers.ways.tokens import issued
from rap_conformance.protocol.forgeries import WRONG, claims, forged, forgeries, loose, wrong
from rap_conformance.protocol.secrets import Piece, pieces, rewritten, same

EVERY = {
    "an empty credential",
    "the scheme without a token",
    "a wrong credential",
    "a truncated credential",
    "half of the credential",
    "the last half of the credential",
    "a lengthened credential",
    "a credential lengthened at its start",
    "a credential altered in its middle",
    "a credential altered at its start",
    "the credential in another letter case",
}
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260801/eu/lambda/aws4_request, SignedHeaders=host;x-amz-date, "
    "Signature=" + "0123456789abcdef" * 4
)


def only(*header: str) -> Piece:
    (piece,) = pieces(((header[0], header[1]),))
    return piece


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_a_bearer_token_is_forged_in_every_way() -> None:
    made = dict(forgeries(only("Authorization", "Bearer Token-4711")))
    assert set(made) == EVERY
    assert made["a lengthened credential"] == "Bearer Token-47110"
    assert made["a truncated credential"] == "Bearer Token-471"
    assert made["the credential in another letter case"] == "Bearer tOKEN-4711"
    assert made["the scheme without a token"] == "Bearer"
    assert made["an empty credential"] == ""
    assert len(set(made.values())) == len(made)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("4F1C9A77", "4f1c9a77"),
        ("123e4567-e89b-12d3-a456-426614174000", "{123E4567-E89B-12D3-A456-426614174000}"),
        ("dXNlcjpwYXM=", "dXNlcjpwYXM=x"),
        ("dXNlcjpwYXM=", "dXNlcjpwYXM"),
        ("-_-_", "+/+/"),
        ("abcd", "abcd0"),
        ("a%2Fb", "a%2fb"),
        ('"quoted"', "quoted"),
        ("eyJh.eyJi.c2ln", "eyJh.eyJi.c2ln="),
    ],
)
def test_what_decodes_to_the_same_is_the_same(one: str, other: str) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Token", "token"),
        ("abcd", "abcd0A0A"),
        ("4f1c", "4f1d"),
        ("abcd.efgh", "abcd.efgi"),
        ("", "x"),
        ("x", "xx"),
    ],
)
def test_what_does_not_is_another(one: str, other: str) -> None:
    assert not same(one, other)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60))
def test_no_forgery_is_the_right_secret(secret: str) -> None:
    for header in (("Authorization", f"Bearer {secret}"), ("X-Api-Key", secret)):
        piece = only(*header)
        for title, text in forgeries(piece):
            assert text != piece.text, title
            assert not same(text.removeprefix(piece.before), piece.secret), title


def test_hex_in_another_case_is_no_forgery() -> None:
    made = dict(forgeries(only("X-Api-Key", "4f1c9a7733a0b21d")))
    assert "the credential in another letter case" not in made
    assert made["a credential altered in its middle"].lower() != "4f1c9a7733a0b21d"


@pytest.mark.parametrize("user", ["ada:Secret-1", "ada:Secret-12", "ada:Secret-123", "key-4711:"])
def test_basic_credentials_are_forged_as_they_decode(user: str) -> None:
    piece = only("Authorization", basic(user))
    right = user.encode()
    for title, text in forgeries(piece):
        if text.startswith("Basic "):
            assert base64.b64decode(text[6:]) != right, title
            assert base64.b64encode(base64.b64decode(text[6:])).decode() == text[6:], title
    made = dict(forgeries(piece))
    if user != "key-4711:":
        name, password = base64.b64decode(made["the credential in another letter case"][6:]).split(b":")
        assert name == b"ada", "a user may be known in any letter case"
        assert password.lower() == right.split(b":")[1].lower()


def test_each_cookie_is_a_piece_of_its_own() -> None:
    headers = (("Cookie", 'theme=dark; session="4f1c9a7733e0b21d8c55aa90.node1"; lang=en'), ("X-Key", "k"))
    found = pieces(headers)
    assert [piece.place for piece in found] == ["theme", "session", "lang", ""]
    session = found[1]
    assert session.secret == "4f1c9a7733e0b21d8c55aa90", "the machine's name is cut off by servers, too"
    assert session.text == 'session="4f1c9a7733e0b21d8c55aa90.node1"'
    assert [piece.telling for piece in found] == [False, True, False, False]
    (cookie, key) = forged(headers, session, "a truncated credential")
    assert cookie == ("Cookie", 'theme=dark; session="4f1c9a7733e0b21d8c55aa9.node1"; lang=en')
    assert key == ("X-Key", "k")
    alone = rewritten(headers, lambda each: each.text if each.key == session.key else None)
    assert alone == (("Cookie", 'session="4f1c9a7733e0b21d8c55aa90.node1"'),)


@pytest.mark.parametrize(
    ("name", "value", "telling"),
    [
        ("X-Api-Version", "2026-08-01", False),
        ("X-Tenant", "acme-tools-limited-2026", False),
        ("X-Language", "en", False),
        ("X-Api-Key", "correct-horse", True),
        ("X-Account", "acct1Nv0FGQ9RKHgCVdK", True),
        ("Authorization", "Bearer let-me-in", True),
    ],
)
def test_what_looks_like_a_secret(name: str, value: str, telling: bool) -> None:
    assert only(name, value).telling is telling


def test_a_signature_is_forged_and_its_key() -> None:
    (piece, *others) = pieces((("Authorization", SIGNED), ("X-Amz-Date", "20260801T000000Z")))
    assert not others, "what belongs to the signature is no piece of its own"
    made = dict(forgeries(piece))
    assert "the credential in another letter case" not in made, "hex"
    assert made["another key's id"].startswith("AWS4-HMAC-SHA256 Credential=RAPCAKID/")
    altered = made["a credential altered in its middle"]
    assert len(altered) == len(SIGNED)
    assert altered != SIGNED
    assert wrong(piece) != SIGNED


def test_a_token_is_forged_without_its_signature() -> None:
    made = dict(forgeries(only("Authorization", f"Bearer {issued('key')}")))
    header, claims_, signature = made["a token that says it needs no signature"].split(" ")[1].split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==="))["alg"] == "none"
    assert claims_ == issued("key").split(".")[1]
    assert signature == ""


def test_the_right_secret_elsewhere() -> None:
    headers = (("Authorization", "Bearer right"), ("X-Other", "kept"))
    tried = {title: (change(headers), query) for title, change, query in loose(pieces(headers)[0])}
    before, _ = tried["a wrong Authorization header before the right one"]
    assert before == (
        ("Authorization", f"Bearer {WRONG}"),
        ("Authorization", "Bearer right"),
        ("X-Other", "kept"),
    )
    foreign, _ = tried["the right token under the scheme Basic"]
    assert foreign == (("Authorization", "Basic right"), ("X-Other", "kept"))
    falsified = next(change for title, change, _ in loose(pieces(headers)[0]) if title.endswith("Basic"))
    assert falsified((("Authorization", "Bearer wrong"),)) == (("Authorization", "Basic wrong"),)
    assert "the right token under the scheme Bearer" not in tried
    without, query = tried["the right token in the query string"]
    assert without == (("X-Other", "kept"),)
    assert query == "access_token=right&token=right"


def test_claims_of_a_proxy_name_each_header_once() -> None:
    names = [name for name, _ in claims("/.well-known/rap-toolset", "admin")]
    assert len(set(names)) == len(names)
    assert {"X-Forwarded-User", "X-Remote-User", "X-Original-URL", "X-Rewrite-URL"} <= set(names)
