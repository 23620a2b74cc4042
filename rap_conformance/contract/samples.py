"""Small strings and numbers within given limits: what instances are made of."""

from __future__ import annotations

import math
import re
from typing import Any

from rap_conformance.contract.patterns import shortest

_USUAL = ("a", "1", "A", "abc-1", "a@b.co", "http://127.0.0.1/", "2026-01-01", "a/b", "#000000")


class Impossible(Exception):
    """No instance was found within the bounds."""


def text_for(pattern: str, least: int, most: int, variant: int, seed: int) -> str:
    """A text that probably matches a pattern and has `least` to `most` characters.

    Unbounded for a pattern that backtracks without end. Raises Impossible.
    """
    try:
        text = shortest(pattern, variant)
        if len(text) < least and (stretched := _stretched(pattern, text, least)):
            text = stretched
        if least <= len(text) <= most and re.search(pattern, text):
            return text
    except (re.error, OverflowError, RecursionError, ValueError):
        pass
    for usual in _USUAL:
        padded = usual.ljust(least, usual[-1:])[:most]
        try:
            if re.search(pattern, padded):
                return padded
        except (re.error, OverflowError, RecursionError):
            raise Impossible from None
    return _generated(pattern, least, most, f"{seed}/{variant}")


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
