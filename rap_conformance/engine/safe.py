"""The one place that makes text from the server under test harmless.

What comes from a server may hold terminal escapes, characters that reverse
the reading direction, lone surrogates, or markup. Every report passes it
through here; what is dangerous or invisible is shown as a visible escape
(`\\x1b`, `\\u202e`), never dropped, because it is evidence. A backslash that
was there before is left as it is: the outcome is for reading, not for parsing.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

LIMIT = 4096
"""Characters shown of one piece of text unless the caller says otherwise."""

_OTHER_THAN_ASCII = re.compile(r"[^ -~]")
# Controls, format characters (all bidirectional ones among them), surrogates, private use,
# and every separator but the plain space: they hide, reorder or look like something else.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"})
# Lines that GitHub Actions, Azure Pipelines and TeamCity take as commands to the build.
_BUILD_COMMAND = re.compile(r"(?<!\S)::|##(?=\[|vso\[|teamcity\[)")
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()#+\-.!|~$=^]|:(?=/)")


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    noncharacter = ord(char) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF
    if noncharacter or unicodedata.category(char) in _HIDDEN:
        return char.encode("unicode_escape").decode("ascii")
    return char


def _escape_but_lines(match: re.Match[str]) -> str:
    return match[0] if match[0] in "\n\t" else _escape(match)


def text(value: str | bytes, limit: int | None = LIMIT, *, lines: bool = False) -> str:
    """Harmless, valid Unicode text that shows what was there.

    Bytes that are not UTF-8 appear as `\\xff`. `limit` counts characters
    before escaping; what is cut is said. `lines` keeps line feeds and tabs.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    cut = ""
    if limit is not None and len(value) > limit:
        cut = f"… [cut: {limit:,} of {len(value):,} characters]"
        value = value[:limit]
    if value.isascii() and value.isprintable():
        return value + cut
    return _OTHER_THAN_ASCII.sub(_escape_but_lines if lines else _escape, value) + cut


def valid(value: str) -> str:
    """The same text with lone surrogates as visible escapes: what every JSON parser accepts."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def html_text(value: str | bytes, limit: int | None = LIMIT, *, lines: bool = False) -> Markup:
    """Harmless text for HTML content and for quoted attributes."""
    return escape(text(value, limit, lines=lines))


def xml_text(value: str | bytes, limit: int | None = LIMIT, *, lines: bool = False) -> str:
    """Harmless text of characters that XML 1.0 allows; ElementTree adds the markup escapes."""
    return text(value, limit, lines=lines)


def terminal_text(value: str | bytes, limit: int | None = LIMIT, *, lines: bool = False) -> str:
    """Harmless text for terminals and build logs: no escapes, no commands to the build."""
    shown = text(value, limit, lines=lines)
    return _BUILD_COMMAND.sub(lambda match: f"{match[0][0]}\\x{ord(match[0][1]):02x}", shown)


def markdown_text(value: str | bytes, limit: int | None = LIMIT) -> str:
    """Harmless text on one line for Markdown, in tables too: no markup, links, mentions or images."""
    shown = _MARKDOWN.sub(lambda match: "\\" + match[0], text(value, limit))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A zero-width space keeps GitHub from mentioning people and issues after rendering.
    return re.sub(r"@|#(?=\d)", lambda match: match[0] + "&#8203;", shown)
