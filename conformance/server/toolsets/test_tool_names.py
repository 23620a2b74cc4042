"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

import re
import unicodedata

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import scenario
from rap_conformance.server.manifest import need_tools, wrong
from rap_conformance.server.peer import Peer

ALPHABET = re.compile(r"[A-Za-z0-9_-]+")


@scenario("DSC005", control=Positive("the manifest has to be there"))
def test_tool_names(peer: Peer) -> None:
    """Names of 1 to 128 characters, unique, without white space or control characters."""
    seen: set[str] = set()
    for title, tool, exchange in need_tools(peer):
        name = tool.get("name")
        if not isinstance(name, str) or not 1 <= len(name) <= 128:
            got = f"{len(name)} characters" if isinstance(name, str) else f"{name!a:.60}"
            peer.report(
                wrong("a name of 1 to 128 characters", f"{title}: {got}", exchange, "length of a name")
            )
            continue
        if name in seen:
            peer.report(wrong("a name for one tool only", f"{title} twice", exchange, "a name twice"))
        seen.add(name)
        if any(c.isspace() or unicodedata.category(c).startswith("C") for c in name):
            peer.report(
                wrong("no white space or control characters", title, exchange, "white space in a name")
            )


@scenario("DSC006", control=Positive("the manifest has to be there"))
def test_tool_name_alphabet(peer: Peer) -> None:
    """Letters, digits, underscore and hyphen only."""
    for title, tool, exchange in need_tools(peer):
        name = tool.get("name")
        # White space and control characters are DSC005's.
        if isinstance(name, str) and name and not ALPHABET.fullmatch("".join(name.split())):
            peer.report(wrong("ASCII letters, digits, `_` and `-`", title, exchange, "alphabet of a name"))
