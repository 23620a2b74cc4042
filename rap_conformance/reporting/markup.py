"""How pages are written: by templates in which whatever is no markup is made harmless.

Markup is a type: what a template says, and what was put together from markup. Every other value shows its
hidden characters and has its `<` escaped, so that there is nothing to remember and nothing to forget.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rap_conformance.engine.safe import LIMIT, html_text, text
from rap_conformance.reporting.marks import Spans
from rap_conformance.reporting.view import SIGNS, plural

_HERE = Path(__file__).parent
_CODE = Markup("<code>"), Markup("</code>")
_MARKED = Markup("<mark>{}</mark>")


def asset(name: str) -> Markup:
    """A style sheet or script of ours, to stand in a page."""
    return Markup((_HERE / name).read_text("utf-8"))  # noqa: S704 - ours, and what a browser reads raw


def render(template: str, **values: object) -> Markup:
    """What one of our templates makes of these values."""
    return Markup(_environment().get_template(f"{template}.jinja").render(values))  # noqa: S704 - harmless


def harmless(value: object, limit: int | None = LIMIT, *, lines: bool = False) -> Markup:
    """Markup as it is, everything else as text; `lines` keeps line feeds and tabs."""
    if isinstance(value, Markup):
        return value
    return html_text(value if isinstance(value, bytes) else str(value), limit, lines=lines)


def marked(value: object, *, mark: bool = True, limit: int | None = LIMIT, lines: bool = False) -> Markup:
    """The same, set off if `mark` says so."""
    shown = harmless(value, limit, lines=lines)
    return _MARKED.format(shown) if mark else shown


def prose(value: str, limit: int | None = LIMIT, spans: Spans = ()) -> Markup:
    """A sentence; what stands in backticks is set as code, `spans` (of characters) are marked."""
    out, at, code = [], 0, False
    value, cut = (value, "") if limit is None or len(value) <= limit else (value[:limit], text(value, limit))
    inside = [any(start <= n < end for start, end in spans) for n in range(len(value))] if spans else []
    while at < len(value):
        if value[at] == "`" and (code or "`" in value[at + 1 :]):
            out.append(_CODE[code])
            code, at = not code, at + 1
            continue
        end = at + 1
        while end < len(value) and value[end] != "`" and (not spans or inside[end] == inside[at]):
            end += 1
        out.append(marked(value[at:end], mark=bool(spans) and inside[at], limit=None, lines=True))
        at = end
    if code:
        out.append(_CODE[True])
    if cut:
        out.append(html_text(cut[cut.rindex("… [cut") :]))
    return Markup().join(out)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        cut=harmless,
        prose=prose,
        count="{:,}".format,
        px="{:.1f}".format,
    )
    made.globals.update(SIGNS=SIGNS, plural=plural)
    return made
