"""Ids that nobody invoked: near misses are never the id that they resemble."""

from __future__ import annotations

import pytest

from rap_conformance.protocol import ids


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
