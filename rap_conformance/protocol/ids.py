"""Ids that no call has: shaped like real ones, near misses of live ones, and texts that do harm in a look-up.

Specification: "Tool Call Status Check", section "Query Semantics": whatever was never invoked is unknown.
What is not ours by its prefix carries at least 96 random bits, so that nobody else's call can be meant.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterator
from uuid import uuid4

Variant = tuple[str, str]
"""In words how an id differs from a live one, or what it looks like; and the id."""

_LETTERS = string.ascii_letters + string.digits
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
WIDTHS = (32, 36, 64, 128, 254)
"""Characters after which keys are cut in practice: hexadecimal and written UUIDs, common columns."""
SEPARATORS = ":.-_"
"""What two ids are joined by in practice and an ordinary id may hold."""


def token(length: int, alphabet: str = _LETTERS) -> str:
    """Random characters."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def shaped() -> list[Variant]:
    """Ordinary ids nobody used, exactly as models and runtimes make them."""
    return [
        ("shaped like a UUID", str(uuid4())),
        ("shaped like a UUID without dashes", uuid4().hex),
        ("shaped like an OpenAI call id", f"call_{token(24)}"),
        ("shaped like an OpenAI item id", f"fc_{token(48, '0123456789abcdef')}"),
        ("shaped like an Anthropic call id", f"toolu_01{token(22)}"),
        ("shaped like a Bedrock call id", f"tooluse_{token(22)}"),
        ("shaped like a ULID", f"01{token(24, _CROCKFORD)}"),
        ("shaped like a nanoid", token(21, _LETTERS + "_-")),
        ("shaped like a number", f"{secrets.choice('123456789')}{token(29, string.digits)}"),
        ("of 64 characters", token(64)),
        ("with dots and colons", f"rapc-{token(6)}.{token(3)}:0"),
    ]


def longer() -> list[Variant]:
    """Ids nobody used that are longer than ordinary ones, where a refusal is right too."""
    return [("of 65 characters", token(65)), ("of 255 characters", token(255))]


def near_misses(call_id: str) -> list[Variant]:
    """Ids that resemble a live one, which has dashes and begins with a small letter, and are not it."""
    middle = len(call_id) // 2
    swapped = call_id[:-1] + (call_id[-1].swapcase() if call_id[-1].isalpha() else "Z")
    other = "0" if call_id[middle] != "0" else "1"
    variants = [
        ("in upper case", call_id.upper()),
        ("with its first letter in upper case", call_id[0].upper() + call_id[1:]),
        ("with its last character changed", swapped),
        ("with a character in the middle changed", call_id[:middle] + other + call_id[middle + 1 :]),
        ("without its last character", call_id[:-1]),
        ("without its first character", call_id[1:]),
        ("cut to its first half", call_id[:middle]),
        ("cut to its prefix", call_id[: call_id.rindex("-") + 1]),
        ("cut to its last part", call_id[call_id.rindex("-") + 1 :]),
        ("with a character more at its end", call_id + "0"),
        ("with a character more at its start", "0" + call_id),
        ("twice in a row", call_id + call_id),
        ("with two characters the other way round", _swapped(call_id)),
        ("behind a model's prefix", f"call_{call_id}"),
        ("with a dot for a character", call_id[:-1] + "."),
        ("with an underscore for a character", call_id[:-1] + "_"),
        ("with a dash for a character", call_id[:middle] + "-" + call_id[middle + 1 :]),
        ("followed by a colon and a number", call_id + ":1"),
        ("without its dashes", call_id.replace("-", "")),
        ("with underscores for its dashes", call_id.replace("-", "_")),
        ("with its first letter percent-encoded", f"%{ord(call_id[0]):02X}{call_id[1:]}"),
        ("behind a dot and a slash", "./" + call_id),
        ("with a slash at its end", call_id + "/"),
        ("with a percent sign for its end", call_id[:middle] + "%"),
        ("with an asterisk for its end", call_id[:middle] + "*"),
        ("with a question mark for a character", call_id[:-1] + "?"),
        ("as a single percent sign", "%"),
        ("as a single asterisk", "*"),
        ("as a regular expression", ".*"),
    ]
    return [(title, variant) for title, variant in variants if variant != call_id]


def _swapped(call_id: str) -> str:
    """With the last two neighbours that differ the other way round."""
    at = next((n for n in range(len(call_id) - 1, 0, -1) if call_id[n] != call_id[n - 1]), 0)
    return call_id if not at else call_id[: at - 1] + call_id[at] + call_id[at - 1] + call_id[at + 1 :]


def respelled_number(number: str) -> Iterator[Variant]:
    """Texts that a look-up takes for a live id of digits alone if it reads either as a number."""
    yield "with a zero before it", f"0{number}"
    yield "with a plus sign before it", f"+{number}"
    yield "with a point and a zero after it", f"{number}.0"
    yield "with an exponent of zero", f"{number}e0"
    yield "with its last digit changed", number[:-1] + _another(number[-1])


def respelled_uuid(uuid: str) -> Iterator[Variant]:
    """Texts that a look-up takes for a live id that is a UUID if it reads either as one."""
    yield "in upper case", uuid.upper()
    yield "without its dashes", uuid.replace("-", "")
    yield "in braces", f"{{{uuid}}}"
    yield "as a URN", f"urn:uuid:{uuid}"


def _another(character: str) -> str:
    """A character that is not this one."""
    return "0" if character != "0" else "1"


def cut_misses(call_id: str) -> Iterator[Variant]:
    """Ids that a look-up takes for a long live one if it cuts either after so many characters."""
    yield "with its last character changed", call_id[:-1] + _another(call_id[-1])
    for width in WIDTHS:
        if width < len(call_id):
            end = _another(call_id[width]) + token(len(call_id) - width - 1)
            yield f"that differs only after {width} characters", call_id[:width] + end
            yield f"cut to {width} characters", call_id[:width]


def separable() -> str:
    """An id of 64 characters that can be split at everything two ids are joined by."""
    parts = [token(7) for _ in SEPARATORS]
    joined = "".join(part + separator for part, separator in zip(parts, SEPARATORS, strict=True))
    return joined + token(64 - len(joined))


def splits(thread: str, call_id: str) -> Iterator[tuple[str, str, str]]:
    """Other ids that look like these two once both are joined: in words, the thread's and the call's."""
    yield "with its first character at the thread's end", thread + call_id[0], call_id[1:]
    yield "with the thread's last character before it", thread[:-1], thread[-1] + call_id
    yield "with the whole thread before it", "", thread + call_id
    for separator in SEPARATORS:
        head, found, tail = call_id.partition(separator)
        if found:
            where = {":": "a colon", ".": "a dot", "-": "a dash", "_": "an underscore"}[separator]
            yield f"split at {where}, its head joined to the thread", thread + separator + head, tail


def injected(call_id: str, thread: str) -> Iterator[Variant]:
    """Texts that are no id and match any, or this live one, where they are built into a look-up."""
    yield "that closes a quote and adds OR", "' OR '1'='1"
    yield "that closes a quote, adds OR and a comment", "' OR '1'='1' --"
    yield "that closes a double quote and adds OR", '" OR "1"="1'
    yield "that closes a quote and a bracket and adds OR", "') OR ('1'='1"
    yield "that adds OR to a number", "0 OR 1=1"
    yield "that closes a quote and adds UNION", "' UNION SELECT 1 --"
    yield "of wildcards alone", "%%"
    yield "that is an operator for anything but nothing", '{"$ne": null}'
    yield "that is an operator for anything larger", '{"$gt": ""}'
    yield "that is an operator with a pattern", '{"$regex": ".*"}'
    yield "that ends a script's text", "' || '1'=='1"
    yield "that ends a directory's filter", "*)(|(id=*"
    yield "that is a pattern for anything", "^.+$"
    yield "that is a pattern with an empty branch", "|.*"
    yield "behind a folder and back", f"x/../{call_id}"
    yield "behind its thread and back", f"../{thread}/{call_id}"
    yield "with a dot and a slash at its end", f"{call_id}/."
    yield "with an encoded NUL and more", f"{call_id}%00x"
    yield "with a comment after a quote", f"{call_id}' --"


def injected_threads(thread: str) -> Iterator[Variant]:
    """The same in place of the thread's id."""
    yield "that closes a quote, adds OR and a comment", "' OR '1'='1' --"
    yield "that is its own, with a comment after a quote", f"{thread}' --"
