"""junit.xml for CI systems; the shape that Jenkins' junit-10.xsd describes.

One test case a requirement. A run whose exit status no test case explains (a
dead server, a stale baseline entry, `--strict`) gets one more that does, so
that no CI system takes it for a success.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import xml_text
from rap_conformance.reporting.terminal import failure_block, last_line, summary_lines
from rap_conformance.reporting.view import headline, in_short

_SKIPPED = frozenset({Verdict.UNTESTED, Verdict.NOT_APPLICABLE, Verdict.KNOWN})
_BLOCK_LIMIT = 20_000


def _child(parent: ET.Element, tag: str, body: str = "", **attributes: str) -> None:
    child = ET.SubElement(parent, tag, {name: xml_text(value, 500) for name, value in attributes.items()})
    child.text = xml_text(body, _BLOCK_LIMIT, lines=True) or None


def _case(suite: ET.Element, result: Result) -> None:
    requirement, verdict = result.requirement, result.verdict
    case = ET.SubElement(
        suite,
        "testcase",
        name=xml_text(f"{requirement.code} {requirement.name}"),
        classname=requirement.area.name,
        time=f"{result.duration:.3f}",
    )
    said = f"{requirement.code} {in_short(result)}"
    if verdict is Verdict.FAIL:
        _child(
            case,
            "failure",
            failure_block(result),
            type=requirement.level,
            message=said,
        )
    elif verdict is Verdict.ERROR:
        _child(
            case,
            "error",
            failure_block(result),
            type="error",
            message=said,
        )
    elif verdict in _SKIPPED:
        _child(case, "skipped", type=verdict, message=f"{verdict}: {result.reason}")
    if verdict in {Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN}:
        _child(case, "system-out", failure_block(result))


def _count(parent: ET.Element, tag: str) -> int:
    return len(parent.findall(f"testcase/{tag}"))


def _unexplained(suite: ET.Element, run: Run) -> None:
    if run.exit == 0 or _count(suite, "failure") or _count(suite, "error"):
        return
    case = ET.SubElement(suite, "testcase", name="the run as a whole", classname="run", time="0.000")
    tag = "failure" if run.exit == 1 else "error"
    _child(case, tag, "\n".join(summary_lines(run)), type=run.verdict, message=headline(run))


def junit(run: Run) -> str:
    """The text of junit.xml."""
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite")
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("target", run.target.url),
        ("embedded", str(run.target.embedded).lower()),
        ("authentication", run.target.authentication),
        ("revision", run.revision),
        ("catalogue", run.catalogue),
        ("suite", run.suite_version),
        ("profile", run.profile),
        ("seed", str(run.seed)),
        ("verdict", run.verdict),
    ):
        _child(properties, "property", name=name, value=value)
    for result in run.results:
        _case(suite, result)
    _unexplained(suite, run)
    _child(suite, "system-out", "\n".join([*summary_lines(run), last_line(run)]))
    shared = {
        "name": "rap-conformance",
        "tests": str(len(suite.findall("testcase"))),
        "failures": str(_count(suite, "failure")),
        "errors": str(_count(suite, "error")),
        "time": f"{run.duration:.3f}",
    }
    root.attrib.update(shared)
    suite.attrib.update(shared, skipped=str(_count(suite, "skipped")), timestamp=xml_text(run.started))
    ET.indent(root)
    # ASCII with character references: right in whatever encoding the file is written.
    document: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"
