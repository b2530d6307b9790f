"""One HTML page that needs nothing else: no network, no library, one file to send."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from permed_measures.render.document import Block, Document, Figure, Html, Lines, Section, Table


def table_html(table: Table) -> str:
    """Return the table, scrolling where it is wide; the best values are bold."""
    left = ["" if right else ' class="left"' for right in table.right()]
    heads = "".join(f'<th scope="col"{at}>{escape(head)}</th>' for at, head in zip(left, table.heads, strict=True))
    rows = []
    for row in table.cells():
        cells = []
        for at, cell in zip(left, row, strict=True):
            shown = escape(str(cell.value))
            shown = f"<strong>{shown}</strong>" if cell.best else shown
            cells.append(f"<td{at}>{shown}{'<span class="mark">*</span>' if cell.marked else ''}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    name = f' id="{escape(table.name)}"' if table.name else ""
    body = "\n".join(rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table{name}>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>{_lines(table.below)}"
    )


def _lines(lines: Iterable[str]) -> str:
    inside = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="lines">{inside}</ul>' if inside else ""


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_html(block)
    if isinstance(block, Lines):
        return _lines(block.lines)
    return figure_html(block) if isinstance(block, Figure) else block.inside


def figure_html(figure: Figure) -> str:
    """Return a plot with its caption."""
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    legend = f'<div class="below legend">{figure.legend}</div>' if figure.legend else ""
    return f"<figure>{caption}{figure.svg}{legend}</figure>"


def figures_html(figures: Iterable[Figure], kind: str = "wide-figures") -> Html:
    """Return plots beside each other, as many as fit."""
    return Html(f'<div class="{kind}">{"".join(map(figure_html, figures))}</div>')


def _section(section: Section) -> str:
    name = f' id="{escape(section.name)}"' if section.name else ""
    heading = f"<h2>{escape(section.title)}</h2>\n" if section.title else ""
    return f"<section{name}>\n{heading}{''.join(map(_block, section.blocks))}\n</section>"


def fragment(document: Document) -> str:
    """Return the document without scripts, to be shown within another page, as notebooks do."""
    return f"<style>\n{_css()}{document.style}</style>" + "".join(map(_section, document.sections))


def _css() -> str:
    return (files("permed_measures.render") / "page.css").read_text(encoding="utf-8")
