"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

import re

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.server.manifest import need_tools, wrong
from rap_conformance.server.peer import Peer

NAMESPACED = re.compile(r"(x-.+)|(.+[./:].+)", re.IGNORECASE)


ANNOTATIONS: dict[str, type] = {
    "requiresAuth": str,
    "readOnly": bool,
    "destructive": bool,
    "idempotent": bool,
    "longRunning": bool,
}


@scenario("DSC011", control=Positive("the manifest has to be there"))
def test_custom_annotations_namespaced(peer: Peer) -> None:
    """Annotation keys of one's own carry some namespace."""
    judged = 0
    for title, tool, exchange in need_tools(peer):
        annotations = tool.get("annotations")
        for key in annotations if isinstance(annotations, dict) else ():
            if key in ANNOTATIONS:
                continue
            judged += 1
            if not NAMESPACED.fullmatch(key):
                what = f"{title}: {key!a:.60}"
                peer.report(wrong("a namespace, such as `x-company-…`", what, exchange, "an annotation key"))
    if not judged:
        raise NotApplicable("no tool has an annotation of one's own")
