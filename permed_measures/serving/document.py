"""A report before it has a format: tables, lines and figures, written as text, markdown or one HTML page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from permed_measures.errors import visible
from permed_measures.render.markup import html_lines, html_page, html_section, markdown_text, terminal_width

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
    blocks = [f"{visible(document.title)}\n{visible(document.summary)}", *map(_text_table, document.tables)]
    if document.lines:
        blocks.append("\n".join(map(visible, document.lines)))
    return "\n\n".join(blocks) + "\n"


def _text_table(table: Table) -> str:
    heads, *rows = [[*map(visible, row)] for row in (table.heads, *table.rows)]
    widths = [max(map(terminal_width, column)) for column in zip(heads, *rows, strict=True)]
    lines = [visible(table.title), ""]
    for row in (heads, ["-" * width for width in widths], *rows):
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            spaces = " " * (width - terminal_width(cell))
            cells.append(cell + spaces if place < table.left else spaces + cell)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(document: Document) -> str:
    """Return GitHub's markdown."""
    blocks = [f"## {markdown_text(document.title)}", markdown_text(document.summary)]
    for table in document.tables:
        rule = [":---" if place < table.left else "---:" for place in range(len(table.heads))]
        rows = [[markdown_text(cell) for cell in row] for row in (table.heads, *table.rows)]
        lines = ["| " + " | ".join(cells) + " |" for cells in (rows[0], rule, *rows[1:])]
        blocks += [f"**{markdown_text(table.title)}**", "\n".join(lines)]
    if document.lines:
        blocks.append("\n".join(f"- {markdown_text(line)}" for line in document.lines))
    return "\n\n".join(blocks) + "\n"


def html(document: Document) -> str:
    """Return one page that needs nothing else: no network, no script."""
    figures = "".join(
        f"<figure><figcaption>{escape(figure.caption)}</figcaption>{figure.svg}"
        f'<div class="below legend">{figure.legend}</div></figure>'
        for figure in document.figures
    )
    sections = [
        html_section(f"table-{place}", table.title, _html_table(table))
        for place, table in enumerate(document.tables, 1)
    ]
    if figures:
        sections.insert(1, html_section("latency", "Latency", f'<div class="wide-figures">{figures}</div>'))
    if document.lines:
        sections.append(html_section("notes", "Definitions and notes", html_lines(document.lines)))
    return html_page(document.title, escape(document.summary), sections, style=_STYLE)


def _html_table(table: Table) -> str:
    def row(cells: list[str], tag: str) -> str:
        left = [' class="left"' if place < table.left else "" for place in range(len(cells))]
        return "".join(f"<{tag}{at}>{escape(cell)}</{tag}>" for at, cell in zip(left, cells, strict=True))

    body = "\n".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>'
        f"<thead><tr>{row(table.heads, 'th')}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
