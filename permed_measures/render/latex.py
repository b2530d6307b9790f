"""LaTeX: tables with booktabs' rules."""

from __future__ import annotations

from permed_measures.render.document import Cell, Document, Table
from permed_measures.render.markdown import one_line
from permed_measures.render.words import NONE

_PREAMBLE = "% \\usepackage{booktabs}\n"
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # after a line's end LaTeX reads [ and * as options of it
    "*": "{*}",
    NONE: "--",
    **{char: "\\" + char for char in "&%$#_{}"},
}


def latex_text(line: str) -> str:
    r"""Return a line that LaTeX prints as it is.

    >>> print(latex_text("no_long: 5% [k]"))
    no\_long: 5\% {[}k]
    """
    return "".join(_ESCAPED.get(char, char) for char in one_line(line))


def table_latex(table: Table) -> str:
    """Return a tabular, within a table where it has a title; the best values are bold."""
    columns = "".join("r" if right else "l" for right in table.right())
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(map(latex_text, table.heads)) + r" \\"]
    lines += [r"\midrule", *(" & ".join(map(_cell, row)) + r" \\" for row in table.cells())]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if not table.title:
        return "\n".join([*lines, *(f"% {one_line(line)}" for line in table.below)]) + "\n"
    if table.below:
        notes = r" \\".join(f"\n{latex_text(line)}" for line in table.below)
        lines.append(rf"\par\smallskip\footnotesize\raggedright{notes}")
    head = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.title)}}}"]
    return "\n".join([*head, *lines, r"\end{table}"]) + "\n"


def _cell(cell: Cell) -> str:
    shown = latex_text(cell.shown)
    return (rf"\textbf{{{shown}}}" if cell.best else shown) + ("$^{*}$" if cell.marked else "")


def latex(document: Document) -> str:
    """Return the tables of the document."""
    return _PREAMBLE + "\n".join(map(table_latex, document.tables))
