"""What a tool says about itself beside the annotations that everybody knows.

Specification: "Toolsets", section "Annotations".
"""

from __future__ import annotations

import re

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.server.manifest import ANNOTATIONS, need_tools
from rap_conformance.server.peer import Peer

NAMESPACED = re.compile(r"(x-.+)|(.+[./:].+)", re.IGNORECASE)


@scenario("DSC011", control=Positive("an annotation of one's own has to be there"))
def test_custom_annotations_namespaced(peer: Peer) -> None:
    """Annotation keys of one's own carry some namespace."""
    custom = [
        (title, key, exchange)
        for title, tool, exchange in need_tools(peer)
        if isinstance(tool.get("annotations"), dict)
        for key in tool["annotations"]
        if key not in ANNOTATIONS
    ]
    if not custom:
        raise NotApplicable("no tool has an annotation of one's own")
    for title, key, exchange in custom:
        peer.expect(
            NAMESPACED.fullmatch(key),
            "a namespace, such as `x-company-…`",
            f"{title}: {key!a:.60}",
            exchange,
            case="an annotation key",
        )
