"""Ids that no call has: each is another one than the live id, and nobody else's can be meant."""

from __future__ import annotations

import math
import re
import string

import pytest

from rap_conformance.protocol import ids
from rap_conformance.protocol.messages import fresh

ORDINARY = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
RANDOM_BITS = 96


def bits(make: str, number: int = 40) -> float:
    """Random bits of a shape, at least, by how many characters each place had in some samples."""
    samples = [dict(ids.shaped())[make] for _ in range(number)]
    length = min(map(len, samples))
    return sum(math.log2(len({one[place] for one in samples})) for place in range(length))


def test_shapes_are_ordinary_and_ours_or_random_enough() -> None:
    for title, one in ids.shaped():
        assert ORDINARY.fullmatch(one), title
        assert one.startswith("rapc-") or bits(title) > 0.8 * RANDOM_BITS, title


def test_shapes_are_like_real_ones() -> None:
    shaped = dict(ids.shaped())
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", shaped["shaped like a UUID"])
    assert re.fullmatch(r"call_[A-Za-z0-9]{24}", shaped["shaped like an OpenAI call id"])
    assert re.fullmatch(r"toolu_01[A-Za-z0-9]{22}", shaped["shaped like an Anthropic call id"])
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", shaped["shaped like a ULID"])
    number = shaped["shaped like a number"]
    assert number.isdigit()
    assert not number.startswith("0")
    assert math.log2(10) * (len(number) - 1) > RANDOM_BITS
    assert len(shaped["of 64 characters"]) == 64


def test_longer_ones_are_longer_than_ordinary() -> None:
    assert sorted(len(one) for _, one in ids.longer()) == [65, 255]


@pytest.mark.parametrize("length", [64, 255])
def test_no_near_miss_of_a_long_id_is_that_id(length: int) -> None:
    for _ in range(300):
        call_id = ids.token(length)
        misses = dict(ids.cut_misses(call_id))
        assert call_id not in misses.values()
        for title, miss in misses.items():
            if "differs only after" in title:
                width = int(title.split()[-2])
                assert (miss[:width], len(miss)) == (call_id[:width], length)
                assert miss[width] != call_id[width]


def test_near_misses_are_other_ids() -> None:
    call_id = fresh()
    found = ids.near_misses(call_id)
    assert call_id not in dict(found).values()
    assert len({title for title, _ in found}) == len(found)


def test_splits_are_other_pairs_that_look_alike_once_joined() -> None:
    call_id, thread = ids.separable(), fresh("thread")
    assert len(call_id) == 64
    assert all(separator in call_id for separator in ids.SEPARATORS)
    joiners = ("", *ids.SEPARATORS)
    found = list(ids.splits(thread, call_id))
    for how, other_thread, other_id in found:
        assert (other_thread, other_id) != (thread, call_id), how
        assert other_id != call_id, how
        assert any(other_thread + by + other_id == thread + by + call_id for by in joiners), how
    assert len(found) == 3 + len(ids.SEPARATORS)


def test_injected_texts_are_no_ids_of_anybody() -> None:
    call_id, thread = fresh(), fresh("thread")
    plain = set(string.ascii_letters + string.digits + "_-.:")
    for title, text in ids.injected(call_id, thread):
        assert set(text) - plain, title
    assert all(set(text) - plain for _, text in ids.injected_threads(thread))
