"""LaTeX: tables with booktabs' rules that fit into the page."""

from permed_measures.render.document import Cell, Document, Table
from permed_measures.render.markdown import one_line
from permed_measures.render.text import terminal_width
from permed_measures.render.words import NONE

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # after a line's end LaTeX reads [ and * as options of it
    "*": "{*}",
    NONE: "--",
    "\N{MIDDLE DOT}": r"\textperiodcentered{}",
    **{
        sign: f"${name}$"
        for sign, name in (("\u2265", r"\ge"), ("\u2264", r"\le"), ("\u2192", r"\to"), ("\u2248", r"\approx"))
    },
    **{char: "\\" + char for char in "&%$#_{}"},
}
_LATIN, _SIGNS = 0x17F, "\u2013\u2014\u2018\u2019\u201c\u201d\u2020\u2021\u2022\u2026\u20ac"
"""The last letter, and the signs above it, that every LaTeX prints without a package."""
_SIZES = (("", 5.0), (r"\small", 4.5), (r"\footnotesize", 4.0), (r"\scriptsize", 3.5))
"""Sizes of letters, with the width that a character has on average, in points."""
_TEXT, _COLUMN, _SURE = 345.0, 240.0, 180.0
"""The width of article's text and of a column of two; what is estimated to be narrower than the last surely fits."""
_FITTED = r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
_LONG, _SHARE = 36, 0.3  # a text of more characters is broken in a column that has this share of the width


def latex_text(line: str) -> str:
    r"""Return a line that LaTeX prints as it is.

    >>> print(latex_text("no_long: 5% [k]"))
    no\_long: 5\% {[}k]
    """
    return "".join(_ESCAPED.get(char, char) for char in one_line(line))


def table_latex(table: Table) -> str:
    r"""Return a table: the best values bold, the second underlined, stars and letters raised, notes below.

    Letters get smaller where it is wide, and a table across both columns; what is wider still is scaled to \linewidth.
    """
    cells = table.cells()
    columns = [
        [table.heads[place], *(row[place].shown + _raised(row[place]) for row in cells)]
        for place in range(len(table.heads))
    ]
    widths = [max(map(terminal_width, column)) for column in columns]
    broken = [not right and width > _LONG for right, width in zip(table.right(), widths, strict=True)]
    estimates = [
        sum(
            12 + (_SHARE * _TEXT if is_broken else per * width) for is_broken, width in zip(broken, widths, strict=True)
        )
        for _, per in _SIZES
    ]
    size = next((place for place, estimate in enumerate(estimates) if estimate <= _TEXT), len(_SIZES) - 1)
    lines = _tabular(table, cells, broken)
    if estimates[size] > _SURE:
        lines = [r"\sbox0{%", *lines[:-1], lines[-1] + "}%", _FITTED]
    name = "table*" if estimates[min(size, 1)] > _COLUMN else "table"
    head = [rf"\begin{{{name}}}", r"\centering"]
    head += [rf"\caption{{{latex_text(table.title)}}}"] if table.title else []
    head += [rf"\label{{{table.label}}}"] if table.label else []
    head += [_SIZES[size][0], r"\setlength{\tabcolsep}{4pt}"] if size else []
    if table.below:
        notes = r" \\".join(f"\n{latex_text(line)}" for line in table.below)
        lines.append(rf"\par\smallskip\footnotesize\raggedright{notes}")
    return "\n".join([*head, *lines, rf"\end{{{name}}}"]) + "\n"


def _tabular(table: Table, cells: list[list[Cell]], broken: list[bool]) -> list[str]:
    kinds = [
        rf"p{{{_SHARE}\linewidth}}" if is_broken else "r" if right else "l"
        for is_broken, right in zip(broken, table.right(), strict=True)
    ]
    longest = [max((_raised(row[place]) for row in cells), key=len, default="") for place in range(len(kinds))]
    rows = [" & ".join(map(_cell, row, longest)) + r" \\" for row in cells]
    head = [rf"\begin{{tabular}}{{{''.join(kinds)}}}", r"\toprule", " & ".join(map(latex_text, table.heads)) + r" \\"]
    return [*head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]


def _raised(cell: Cell) -> str:
    return ("*" if cell.marked else "") + cell.letters


def _cell(cell: Cell, longest: str) -> str:
    """Return a cell; an invisible mark keeps the numbers of a column below one another."""
    shown, raised = latex_text(cell.shown), _raised(cell)
    if isinstance(cell.value, float) or cell.ends:
        shown = shown.replace("-", "$-$")  # a minus is longer than a hyphen
    shown = rf"\textbf{{{shown}}}" if cell.best else rf"\underline{{{shown}}}" if cell.second else shown
    shown += rf"\textsuperscript{{{raised}}}" if raised else ""
    missing = longest[len(raised) :]
    return rf"{shown}\phantom{{\textsuperscript{{{missing}}}}}" if missing and isinstance(cell.value, float) else shown


def latex(document: Document) -> str:
    """Return the tables of the document, and above them what they need."""
    made = "\n".join(map(table_latex, document.tables))
    need = [r"% \usepackage{booktabs}"]
    need += [r"% \usepackage{graphicx}"] if r"\resizebox" in made else []
    wide = {char for char in set(made) if terminal_width(char) > 1}
    if wide:
        need.append(r"% \usepackage{ctex}  % Chinese, Japanese or Korean text; compile with xelatex or lualatex")
    others = dict.fromkeys(char for char in made if ord(char) > _LATIN and char not in wide and char not in _SIGNS)
    if others:
        said = f"or another font that has {' '.join([*others][:5])}; compile with xelatex or lualatex"
        need.append(rf"% \usepackage{{fontspec}}\setmainfont{{DejaVu Serif}}  % {said}")
    return "\n".join([*need, made])
