"""Text from the server under test is made harmless, and still shows what was there."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from rap_conformance.engine import safe
from rap_conformance.places import PACKAGE
from rap_conformance.reporting import markup
from tests.runs import HARMFUL, HOSTILE


@pytest.mark.parametrize("char", HARMFUL, ids=ascii)
def test_a_harmful_character_is_shown_as_an_escape(char: str) -> None:
    for shown in (
        safe.text(char),
        safe.html_text(char),
        safe.xml_text(char),
        safe.terminal_text(char),
        safe.markdown_text(char),
        safe.text(char, lines=True),
    ):
        assert char not in shown
        assert "\\" in shown


def test_lines_and_tabs_are_kept_only_where_asked() -> None:
    assert safe.text("a\n\tb\r\n") == "a\\n\\tb\\r\\n"
    assert safe.text("a\n\tb\r\n", lines=True) == "a\n\tb\\r\n"


def test_ordinary_text_of_any_script_stays() -> None:
    assert safe.text("naïve 日本 🎉 ~\\") == "naïve 日本 🎉 ~\\"


def test_bytes_that_are_not_utf8_are_shown() -> None:
    assert safe.text(b"caf\xc3\xa9 \xff\x00") == "café \\xff\\x00"


def test_what_is_cut_is_said() -> None:
    assert safe.text("a" * 5000, 10) == "aaaaaaaaaa… [cut: 10 of 5,000 characters]"
    assert safe.text("a" * 10, 10) == "a" * 10


def test_markup_is_text_in_html_and_markdown() -> None:
    assert safe.html_text("<a b='\"'>&") == "&lt;a b=&#39;&#34;&#39;&gt;&amp;"
    assert safe.markdown_text("[x](http://e) <b> `|` @all #1") == (
        "\\[x\\]\\(http\\://e\\) &lt;b&gt; \\`\\|\\` @&#8203;all \\#&#8203;1"
    )


@pytest.mark.parametrize(
    "command", ["::error::x", " ::add-mask::x", "##[error]x", "##vso[x]", "##teamcity[x]"]
)
def test_a_build_log_meets_no_command(command: str) -> None:
    shown = safe.terminal_text(command)
    assert not shown.strip().startswith("::")
    assert not any(mark in shown for mark in ("##[", "##vso[", "##teamcity["))
    assert safe.terminal_text("http://[::1]:3001") == "http://[::1]:3001"


def test_nothing_is_markup_but_by_its_type() -> None:
    for shown in (markup.harmless(HOSTILE), markup.marked(HOSTILE), markup.prose(HOSTILE)):
        assert not {*re.findall(r"</?\w+", shown)} - {"<mark", "</mark", "<code", "</code"}
        assert not [char for char in HARMFUL if char in shown]
    assert markup.harmless(Markup("<b>")) == "<b>"
    assert safe.html_text("<b>") + "<i>" == "&lt;b&gt;&lt;i&gt;"


def test_no_template_says_that_a_value_is_safe() -> None:
    templates = list((PACKAGE / "reporting" / "templates").iterdir())
    assert len(templates) > 5
    for template in templates:
        assert not re.search(r"\|\s*safe\b|autoescape", template.read_text("utf-8")), template.name
