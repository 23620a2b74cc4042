"""Small strings and numbers within given limits: what instances are made of."""

from __future__ import annotations

import math
import re
from re import _constants as op
from re import _parser as parser
from typing import Any

_LONGEST = 10_000
_USUAL = ("a", "1", "A", "abc-1", "a@b.co", "http://127.0.0.1/", "2026-01-01", "a/b", "#000000")
_CATEGORIES = {op.CATEGORY_DIGIT: "0", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a"}


class Impossible(Exception):
    """No instance was found within the bounds."""


def text_for(pattern: str, least: int, most: int, variant: int, seed: int) -> str:
    """A text that probably matches a pattern and has `least` to `most` characters.

    Unbounded for a pattern that backtracks without end. Raises Impossible.
    """
    try:
        text = "".join(_shortest(parser.parse(pattern), variant))
        if len(text) < least and (stretched := _stretched(pattern, text, least)):
            text = stretched
        if least <= len(text) <= most:
            return text
    except (Impossible, re.error, OverflowError, RecursionError, ValueError):
        pass
    for usual in _USUAL:
        padded = usual.ljust(least, usual[-1:])[:most]
        try:
            if re.search(pattern, padded):
                return padded
        except (re.error, OverflowError, RecursionError):
            raise Impossible from None
    return _generated(pattern, least, most, f"{seed}/{variant}")


def _shortest(parsed: Any, variant: int) -> list[str]:
    """The shortest text for a parsed pattern, in pieces; conditions that look around are ignored."""
    pieces: list[str] = []
    for code, value in parsed:
        if code is op.LITERAL:
            pieces.append(chr(value))
        elif code is op.NOT_LITERAL:
            pieces.append("a" if chr(value) != "a" else "b")
        elif code is op.ANY:
            pieces.append("a")
        elif code is op.IN:
            pieces.append(_member(value))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            times, _, part = value
            if times:
                piece = "".join(_shortest(part, variant))
                if times * len(piece) > _LONGEST:
                    raise Impossible
                pieces.append(piece * times)
        elif code is op.SUBPATTERN:
            pieces.extend(_shortest(value[-1], variant))
        elif code is op.ATOMIC_GROUP:
            pieces.extend(_shortest(value, variant))
        elif code is op.BRANCH:
            pieces.extend(_shortest(value[1][variant % len(value[1])], variant))
        elif code not in (op.AT, op.ASSERT, op.ASSERT_NOT):
            raise Impossible
    return pieces


def _member(choices: Any) -> str:
    """A character of a class such as [a-z]."""
    if choices[0][0] is op.NEGATE:
        excluded = re.compile("[" + "".join(map(_class_text, choices[1:])) + "]")
        for candidate in "a0A _-.b1B\u00e9":
            if not excluded.match(candidate):
                return candidate
        raise Impossible
    code, value = choices[0]
    if code is op.LITERAL:
        return chr(value)
    if code is op.RANGE:
        return chr(value[0])
    if code is op.CATEGORY and value in _CATEGORIES:
        return _CATEGORIES[value]
    raise Impossible


def _class_text(choice: Any) -> str:
    code, value = choice
    if code is op.LITERAL:
        return re.escape(chr(value))
    if code is op.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if code is op.CATEGORY and value in _CATEGORIES:
        return {"0": r"\d", " ": r"\s", "a": r"\w"}[_CATEGORIES[value]]
    raise Impossible


def _stretched(pattern: str, text: str, least: int) -> str | None:
    """A text made longer by one of its characters repeated, if that still matches."""
    for place in reversed(range(len(text))):
        longer = text[:place] + text[place] * (least - len(text) + 1) + text[place + 1 :]
        if re.search(pattern, longer):
            return longer
    return text.ljust(least, "a") if re.search(pattern, text.ljust(least, "a")) else None


def _generated(pattern: str, least: int, most: int, seed: str) -> str:
    from hypothesis import strategies as st

    from rap_conformance.contract import generation as engine

    with engine.calm():
        strategy = st.from_regex(pattern).filter(lambda text: least <= len(text) <= most)
        found = engine.collect(strategy, 1, seed, lambda text: text)
    if not found:
        raise Impossible
    return found[0]


def number_for(schema: dict[str, Any], *, whole: bool) -> int | float:
    """A number within the bounds of a schema, 1 or 0 if they will do. Raises Impossible."""
    low, high = _limit(schema, "minimum"), _limit(schema, "maximum")
    step = _limit(schema, "multipleOf")
    guesses: list[float] = [1, 0]
    for bound in (low, high):
        if bound is not None:
            guesses += [bound, bound + 1, bound - 1, bound + 0.5, bound - 0.5]
    if low is not None and high is not None:
        guesses.append((low + high) / 2)
    if step:
        guesses += [math.floor(guess / step + turn) * step for guess in guesses for turn in (0, 1)]
    if whole:
        guesses = [turn(guess) for guess in guesses for turn in (math.floor, math.ceil)]
    for guess in guesses:
        if _within(schema, guess, low, high) and (not step or not whole or guess % step == 0):
            return int(guess) if guess == int(guess) else guess
    raise Impossible


def _limit(schema: dict[str, Any], name: str) -> float | None:
    """The tighter of the plain and the exclusive bound, exclusive or not."""
    found = [
        value
        for value in (schema.get(name), schema.get(f"exclusive{name.capitalize()}"))
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
    ]
    return max(found) if found and name == "minimum" else min(found, default=None)


def _within(schema: dict[str, Any], value: float, low: float | None, high: float | None) -> bool:
    for name, bound, ahead in (("Minimum", low, 1), ("Maximum", high, -1)):
        if bound is None:
            continue
        exclusive = schema.get(f"exclusive{name}")
        if (value - bound) * ahead < 0 or (value == bound and (exclusive is True or exclusive == bound)):
            return False
    return True
