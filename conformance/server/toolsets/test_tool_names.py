"""What tools may be called.

Specification: "Toolsets", section "Tool Names".
"""

from __future__ import annotations

import re
import unicodedata

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.server.manifest import is_name, length_of, need_tools
from rap_conformance.server.peer import Peer

ALPHABET = re.compile(r"[A-Za-z0-9_-]+")


@scenario("DSC005", control=Positive("a tool has to be there"))
def test_tool_names(peer: Peer) -> None:
    """Names of 1 to 128 characters, unique, without white space or control characters."""
    seen: set[str] = set()
    for title, tool, exchange in need_tools(peer):
        name = tool.get("name")
        if not peer.expect(
            is_name(name),
            "a name of 1 to 128 characters",
            f"{title}: {length_of(name)}",
            exchange,
            case="length of a name",
        ):
            continue
        assert isinstance(name, str)
        peer.expect(
            name not in seen, "a name for one tool only", f"{title} twice", exchange, case="a name twice"
        )
        seen.add(name)
        peer.expect(
            is_plain(name),
            "no white space or control characters",
            title,
            exchange,
            case="white space in a name",
        )


def is_plain(name: str) -> bool:
    """Whether a name has neither white space nor control characters (note N22). Joiners are letters' own."""
    return not any(c.isspace() or unicodedata.category(c) == "Cc" for c in name)


@scenario("DSC006", control=Positive("a tool with a name has to be there"))
def test_tool_name_alphabet(peer: Peer) -> None:
    """Letters, digits, underscore and hyphen only."""
    named = [
        (title, "".join(name.split()), exchange)  # white space and control characters are DSC005's
        for title, tool, exchange in need_tools(peer)
        if isinstance(name := tool.get("name"), str) and name
    ]
    if not named:
        raise Untested("no tool has a name, which DSC005 is about")
    for title, name, exchange in named:
        peer.expect(
            ALPHABET.fullmatch(name),
            "ASCII letters, digits, `_` and `-`",
            title,
            exchange,
            case="alphabet of a name",
        )
