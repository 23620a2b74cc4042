"""Texts for patterns: short, and matched by what they were made for."""

from __future__ import annotations

import re

import pytest

from rap_conformance.contract.patterns import NotUnderstood, shortest


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("abc", "abc"),
        ("^[A-Z]{2}-[0-9]{4}$", "AA-0000"),
        ("^(get|put)/[^/]+$", "get/a"),
        (r"^\d{4}-\d\d-\d\d$", "0000-00-00"),
        (r"^https?://\S+$", "http://a"),
        (r"^[\w.+-]+@\w+\.\w{2,}$", "a@a.aa"),
        (r"^(?:a|b)*?c++$", "c"),
        (r"^(?P<x>a)(?<y>b)$", "ab"),
        (r"^(?=a)(?!b)a(?<!c)\b$", "a"),
        (r"^(?i:x)$", "x"),
        (r"^[]]a{,3}[^]a]$", "]0"),
        (r"^[\u4e00-\u9fff]\u4e00\x41$", "\u4e00\u4e00A"),
        (r"^a{2,}b{x}$", "aab{x}"),
        (r"^\/\.\-$", "/.-"),
        ("(a|)", "a"),
    ],
)
def test_the_shortest_text(pattern: str, text: str) -> None:
    assert shortest(pattern) == text
    if "(?<y>" not in pattern:  # as ECMA-262 writes it
        assert re.search(pattern, text)


def test_variants_take_other_alternatives() -> None:
    assert [shortest("^(a|b|c)$", variant) for variant in range(4)] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?P=x)", "(a", "a)", "[a", "*", "\\", "(?(1)a|b)", "a{99999}", "[^\\s\\S]"]
)
def test_what_is_not_read(pattern: str) -> None:
    with pytest.raises((NotUnderstood, re.error)):
        shortest(pattern)
