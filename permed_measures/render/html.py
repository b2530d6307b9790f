"""One HTML page that needs nothing else: no network, no library, one file to send."""

import sys
from collections.abc import Iterable
from html import escape

from permed_measures.render.document import Block, Cell, Document, Figure, Html, Lines, Section, Table

_NOTEBOOK = 80_000  # bytes of what a notebook keeps of a result, its style not counted
_ROOMS = (
    *((rows, _NOTEBOOK, True) for rows in (200, 40, 10)),
    *((rows, plot, False) for rows, plot in ((10, _NOTEBOOK), (10, _NOTEBOOK // 2), (5, _NOTEBOOK // 8))),
)
"""Rows of a table, characters of a plot, and whether folded tables are there: the first of these that has room."""
_SHORT, _LONG = 12, 60
_MARK = '<span class="mark">*</span>'


def _table(table: Table) -> str:
    cells = table.cells()
    longest = [max((len(row[place].shown) for row in cells), default=0) for place in range(len(table.heads))]
    left = ["" if right else _left(wide) for right, wide in zip(table.right(), longest, strict=True)]
    heads = "".join(f'<th scope="col"{at}>{escape(head)}</th>' for at, head in zip(left, table.heads, strict=True))
    body = "\n".join(
        f"<tr>{''.join(f'<td{at}>{_cell(cell)}</td>' for at, cell in zip(left, row, strict=True))}</tr>"
        for row in cells
    )
    name = f' id="{escape(table.name)}"' if table.name else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title or "table")}"><table{name}>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>{_lines(table.below)}"
    )


def _left(longest: int) -> str:
    """Return the class of a column of texts, which has room for them also where the window is narrow."""
    return f' class="left{" long" if longest > _LONG else " middling" if longest > _SHORT else ""}"'


def _cell(cell: Cell) -> str:
    shown = escape(cell.shown).replace(" ", "&nbsp;" if cell.ends else " ")
    shown = f"<strong>{shown}</strong>" if cell.best else f"<u>{shown}</u>" if cell.second else shown
    if cell.letters:
        return f'{shown}<sup class="letters">{"*" if cell.marked else ""}{escape(cell.letters)}</sup>'
    return shown + (_MARK if cell.marked else "")


def _lines(lines: Iterable[str], mark: str = "") -> str:
    inside = "".join(f"<li>{escape(mark + line)}</li>" for line in lines)
    return f'<ul class="lines">{inside}</ul>' if inside else ""


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    below = f'<div class="below">{escape(figure.below)}</div>' if figure.below else ""
    legend = f'<div class="below legend">{figure.legend}</div>' if figure.legend else ""
    return f"<figure>{caption}{figure.svg}{below}{legend}</figure>"


def figures(drawn: Iterable[Figure], kind: str = "wide-figures") -> Html:
    """Return plots beside each other, as many as fit."""
    return Html(f'<div class="{kind}">{"".join(map(_figure, drawn))}</div>\n')


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Lines):
        return _lines(block.lines, block.mark.removeprefix("- "))
    return _figure(block) if isinstance(block, Figure) else block.inside


def _section(section: Section) -> str:
    name = f' id="{escape(section.name)}"' if section.name else ""
    title = section.title or next((block.title for block in section.blocks if isinstance(block, Table)), "")
    inside = ""
    for block in section.blocks:  # each under its title, where that is not above it already
        own = block.title if isinstance(block, Table) and block.title.casefold() != title.casefold() else ""
        inside += (f"<h3>{escape(own)}</h3>\n" if own else "") + _block(block)
    if section.folded:
        return f"<section{name}><details><summary>{escape(title)}</summary>\n{inside}\n</details></section>"
    heading = f"<h2>{escape(title)}</h2>\n" if title else ""
    return f"<section{name}>\n{heading}{inside}\n</section>"


def fragment(document: Document) -> str:
    """Return what a notebook shows: no script, and a style that touches nothing else and suits dark and light.

    Long tables are cut, and after them large plots left out, until it is small enough to be kept with the notebook.
    """
    style = f".permed-measures {{\n{css('notebook')}{css('content')}{document.style}}}"
    head = f"<p><strong>{escape(document.title)}</strong></p>" if document.title else ""
    said = f"<p>{escape(document.summary)}</p>" if document.summary else ""
    for rows, plot, folded in _ROOMS:
        kept = [section for section in document.shown("page") if folded or not section.folded]
        cut = [section._replace(blocks=[_cut(block, rows, plot) for block in section.blocks]) for section in kept]
        inside = "".join(map(_section, cut)) + ("" if folded else _lines(["to_html() has more tables"]))
        if len(inside.encode(errors="replace")) <= _NOTEBOOK:
            break
    return f'<div class="permed-measures"><style>{style}</style>{head}{said}{inside}</div>'


def _cut(block: Block, rows: int, plot: int) -> Block:
    """Return a block with so many rows, lines and characters of a plot at most; what is not shown is said."""
    more = "{:,} more: to_html() has them".format
    if isinstance(block, Table) and len(block.rows) > rows:
        return block._replace(rows=block.rows[:rows], below=[more(len(block.rows) - rows), *block.below[:rows]])
    if isinstance(block, Lines) and len(block.lines) > rows:
        return block._replace(lines=[*block.lines[:rows], more(len(block.lines) - rows)])
    drawn = block.svg if isinstance(block, Figure) else block.inside if isinstance(block, Html) else ""
    return Lines(["a plot too large for a notebook: to_html() has it"]) if len(drawn) > plot else block


def resource(name: str) -> str:
    """Return a file of this room."""
    from importlib.resources import files  # noqa: PLC0415  (for pages alone, as below)

    return (files("permed_measures.render") / name).read_text(encoding="utf-8")


def css(name: str) -> str:
    """Return a style sheet of this room: page, content (of pages and notebooks), notebook."""
    return resource(f"{name}.css")


def _hash(inline: str) -> str:
    """Return how a content security policy names a script or a style that is part of the page."""
    from base64 import b64encode  # noqa: PLC0415  (as above)
    from hashlib import sha256  # noqa: PLC0415  (as above)

    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def html(document: Document) -> str:
    """Return the whole page; only the document's scripts and this style run, whatever an id may hold."""
    style = f"\n{css('page')}{css('content')}{document.style}"
    script_policy = f"script-src {' '.join(map(_hash, document.scripts))}; " if document.scripts else ""
    policy = f"default-src 'none'; style-src {_hash(style)}; {script_policy}img-src data:"
    title = escape(document.title or "permed-measures")
    version = getattr(sys.modules.get("permed_measures"), "__version__", "")
    texts = [f'<script type="application/json" id="{name}">{text}</script>' for name, text in document.texts.items()]
    scripts = [*texts, *(f"<script>{script}</script>" for script in document.scripts)]
    return resource("page.html").format(
        policy=policy,
        title=title,
        style=style,
        summary=escape(document.summary),
        sections="".join(f"{_section(section)}\n" for section in document.shown("page")),
        version=version,
        scripts="".join(f"{script}\n" for script in scripts),
    )
