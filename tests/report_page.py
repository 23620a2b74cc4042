"""Whole report pages for tests: pytest-html makes them around a run of ours, as the driver has it done."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

from rap_conformance.engine.run import Run
from rap_conformance.reporting import html
from tests.support import environment

ROOT = Path(__file__).resolve().parent.parent

CONFTEST = """
import pickle, pathlib, pytest
from rap_conformance.reporting import html

RUN = pickle.loads((pathlib.Path(__file__).parent / "run.pickle").read_bytes())
RESULTS = {result.requirement.code: result for result in RUN.results}
PAGES = []

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    code = item.callspec.params["code"]
    item.user_properties[:] = [("code", code)]
    report.user_properties = item.user_properties
    if report.when == "call":
        content = html.evidence_html(RESULTS[code])
        report.extras = [dict(name=None, format_type="html", content=content, mime_type=None, extension=None)]
    return report

@pytest.hookimpl(optionalhook=True)
def pytest_html_report_title(report):
    PAGES.append(report)
    report._data["renderCollapsed"] = ["passed", "skipped", "xfailed"]

@pytest.hookimpl(optionalhook=True)
def pytest_html_results_summary(prefix, summary, postfix):
    PAGES[0].title = html.title(RUN)
    prefix.extend(html.prefix(RUN))

@pytest.hookimpl(optionalhook=True)
def pytest_html_results_table_header(cells):
    cells[1:] = [*html.header_cells(), cells[2]]

@pytest.hookimpl(optionalhook=True)
def pytest_html_results_table_row(report, cells):
    result = RESULTS[dict(report.user_properties)["code"]]
    cells[1:] = [*html.row_cells(result.requirement, result.verdict), cells[2]]

@pytest.hookimpl(optionalhook=True)
def pytest_html_results_table_html(report, data):
    data.clear()
"""

TESTS = """
import pytest
from conftest import RESULTS

@pytest.mark.parametrize("code", RESULTS)
def test_requirement(code):
    if str(RESULTS[code].verdict) == "fail":
        pytest.fail("it fails", pytrace=False)
    if str(RESULTS[code].verdict) in {"untested", "not-applicable"}:
        pytest.skip("it is not judged")
"""


def page(run: Run, folder: Path) -> Path:
    """Write report.html for a run into a folder and give its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.pickle").write_bytes(pickle.dumps(run))
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    (folder / "test_page.py").write_text(TESTS, "utf-8")
    written = folder / "report.html"
    plugins = ("pytest_metadata.plugin", "pytest_html.plugin")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(folder)),
            *(
                "-p",
                "no:cacheprovider",
                f"--html={written}",
                "--self-contained-html",
                f"--css={html.CSS_FILE}",
            ),
            *(word for plugin in plugins for word in ("-p", plugin)),
            str(folder),
        ],
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert written.exists(), done.stdout + done.stderr
    return written
