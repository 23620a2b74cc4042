"""report.html, as pytest-html makes it: what stands above its table, and the rows of the table."""

from __future__ import annotations

from typing import Any

import pytest

from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Result, Run
from rap_conformance.reporting import html


class Page:
    """A plugin of pytest-html, for one run; `run` is set once it is over."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._page: Any = None
        self.run: Run | None = None

    @staticmethod
    def evidence(result: Result) -> dict[str, Any]:
        """What hangs on a requirement's row."""
        return {
            "name": None,
            "format_type": "html",
            "content": html.evidence_html(result),
            "mime_type": None,
            "extension": None,
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title is known at the end only; fold what needs no attention."""
        self._page = report
        report.title = f"{self._catalogue.specification.name} conformance"
        report._data["renderCollapsed"] = ["passed", "skipped", "xfailed"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[Any]) -> None:
        """What stands above the table."""
        if self.run is not None:
            self._page.title = html.title(self.run)
            prefix.extend(html.prefix(self.run))

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[Any]) -> None:
        """The table's columns; pytest-html's own first one stays, its filters read it."""
        cells[1:] = [*html.header_cells(), cells[2]]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[Any]) -> None:
        """One requirement's row."""
        properties = dict(getattr(report, "user_properties", ()))
        requirement = self._catalogue.get(str(properties.get("code", "")))
        verdict = Verdict(properties["verdict"]) if "verdict" in properties else None
        label = "" if requirement is not None else str(report.nodeid)
        cells[1:] = [*html.row_cells(requirement, verdict, label), cells[2]]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """The evidence says it all: no log beside it."""
        if "code" in dict(getattr(report, "user_properties", ())):
            data.clear()
