"""A report before it has a format: tables, lines and figures, written as text, markdown or one HTML page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

import permed_measures

_STYLE = """
.legend span { display: inline-block; margin-right: 14px; font-weight: 600; font-size: 13px; }
svg .curve { fill: none; stroke: currentColor; stroke-width: 2; }
svg .bar { fill: currentColor; opacity: .75; }
svg .level { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
svg text.level-name { font-size: 11px; text-anchor: start; }
svg text.end { text-anchor: end; }
"""


@dataclass(frozen=True)
class Table:
    """Rows of texts: the first ``left`` columns stand left, the others right."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    left: int = 1


@dataclass(frozen=True)
class Figure:
    """An SVG drawing; only the page has them."""

    caption: str
    svg: str
    legend: str = ""
    """HTML below the drawing."""


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    summary: str
    tables: list[Table]
    lines: list[str]
    """Definitions, notes: one sentence each."""
    figures: list[Figure] = field(default_factory=list)


def text(document: Document) -> str:
    """Return aligned plain text."""
    blocks = [f"{document.title}\n{document.summary}", *map(_text_table, document.tables)]
    if document.lines:
        blocks.append("\n".join(document.lines))
    return "\n\n".join(blocks) + "\n"


def _text_table(table: Table) -> str:
    widths = [max(map(_width, column)) for column in zip(table.heads, *table.rows, strict=True)]
    lines = [table.title, ""]
    for row in (table.heads, ["-" * width for width in widths], *table.rows):
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            spaces = " " * (width - _width(cell))
            cells.append(cell + spaces if place < table.left else spaces + cell)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _width(cell: str) -> int:
    """How many columns of a terminal a text takes: East Asian wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def markdown(document: Document) -> str:
    """Return GitHub's markdown."""
    blocks = [f"## {_plain(document.title)}", _plain(document.summary)]
    for table in document.tables:
        rule = [":---" if place < table.left else "---:" for place in range(len(table.heads))]
        rows = [[_plain(cell) for cell in row] for row in (table.heads, *table.rows)]
        lines = ["| " + " | ".join(cells) + " |" for cells in (rows[0], rule, *rows[1:])]
        blocks += [f"**{_plain(table.title)}**", "\n".join(lines)]
    if document.lines:
        blocks.append("\n".join(f"- {_plain(line)}" for line in document.lines))
    return "\n\n".join(blocks) + "\n"


def _plain(line: str) -> str:
    return " ".join(re.sub(r"([\\`*_|<\[\]])", r"\\\1", line).split())


def html(document: Document) -> str:
    """Return one page that needs nothing else: no network, no script."""
    style = (files("permed_measures.report") / "page.css").read_text(encoding="utf-8") + _STYLE
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    figures = "".join(
        f"<figure><figcaption>{escape(figure.caption)}</figcaption>{figure.svg}"
        f'<div class="below legend">{figure.legend}</div></figure>'
        for figure in document.figures
    )
    sections = [_section(table.title, _html_table(table)) for table in document.tables]
    if figures:
        sections.insert(1, _section("Latency", f'<div class="wide-figures">{figures}</div>'))
    if document.lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in document.lines)
        sections.append(_section("Definitions and notes", f'<ul class="lines">{items}</ul>'))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(document.title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escape(document.title)}</h1><p>{escape(document.summary)}</p></header>",
            "<main>",
            *sections,
            "</main>",
            f"<footer>permed-measures {permed_measures.__version__}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(title: str, inside: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{inside}\n</section>"


def _html_table(table: Table) -> str:
    def row(cells: list[str], tag: str) -> str:
        left = [' class="left"' if place < table.left else "" for place in range(len(cells))]
        return "".join(f"<{tag}{at}>{escape(cell)}</{tag}>" for at, cell in zip(left, cells, strict=True))

    body = "\n".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>'
        f"<thead><tr>{row(table.heads, 'th')}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
