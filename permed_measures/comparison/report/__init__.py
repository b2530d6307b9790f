"""A Comparison as text, markdown, LaTeX, CSV, JSON or one HTML page. Nothing is computed here but places on paper."""

from __future__ import annotations

from collections.abc import Callable

from permed_measures.comparison import Comparison
from permed_measures.comparison.report.page import page
from permed_measures.comparison.report.records import as_csv, as_json
from permed_measures.comparison.report.tables import latex, markdown, text
from permed_measures.errors import ParamError, did_you_mean

FORMATS: dict[str, Callable[[Comparison, bool], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": lambda comparison, _: as_csv(comparison),
    "json": lambda comparison, _: as_json(comparison),
    "html": lambda comparison, _: page(comparison),
}


def render(comparison: Comparison, form: str = "text", *, brief: bool = False) -> str:
    """Return the report; ``brief`` leaves text, markdown and LaTeX with the table of means and the definitions."""
    if form not in FORMATS:
        raise ParamError(f"unknown report format {form!r}.{did_you_mean(form, FORMATS)}")
    return FORMATS[form](comparison, brief)
