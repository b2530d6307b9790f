"""Text for people in the formats they paste, and the shell of every HTML page we write."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files

import permed_measures
from permed_measures.errors import visible

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # after a line's end LaTeX reads [ and * as options of it
    "*": "{*}",
    "–": "--",  # noqa: RUF001  (an en dash)
    **{char: "\\" + char for char in "&%$#_{}"},
}


def latex_text(line: str) -> str:
    r"""Return a line that LaTeX prints as it is.

    >>> print(latex_text("no_long: 5% [k]"))
    no\_long: 5\% {[}k]
    """
    return "".join(_LATEX.get(char, char) for char in _one_line(line))


def markdown_text(line: str) -> str:
    r"""Return a line that markdown shows as it is, within a table too.

    >>> print(markdown_text("a|b <i> list_map"))
    a\|b \<i> list\_map
    """
    return re.sub(r"([\\`*_|<\[\]])", r"\\\1", _one_line(line))


def _one_line(text: str) -> str:
    return visible(" ".join(re.split(r"[ \t\n]+", text)).strip(" "))


def markdown_row(cells: Iterable[str]) -> str:
    """Return a line of a GitHub table; the cells are markdown."""
    return f"| {' | '.join(cells)} |"


def terminal_width(line: str) -> int:
    """Return how many columns a text takes: East Asian wide characters take two, combining ones none.

    >>> terminal_width("P@1"), terminal_width("检索")
    (3, 4)
    """
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


def html_section(name: str, title: str, inside: str) -> str:
    """Return a part of a page under its heading."""
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{inside}\n</section>'


def html_lines(lines: Iterable[str]) -> str:
    """Return a list of lines."""
    return '<ul class="lines">' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _hash(inline: str) -> str:
    """Return how a content security policy names a script or a style that is part of the page."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def html_page(  # noqa: PLR0913  (the parts of a page)
    title: str,
    summary: str,
    sections: Iterable[str],
    *,
    style: str = "",
    scripts: Iterable[str] = (),
    data: Mapping[str, str] | None = None,
) -> str:
    """Return a page that needs nothing else, no network above all; ``summary`` and sections are HTML.

    ``data`` are texts for the scripts by their id. Only these scripts and this style run, whatever an id may hold.
    """
    css = "\n" + (files("permed_measures.render") / "page.css").read_text(encoding="utf-8") + style
    scripts = list(scripts)
    script_policy = f"script-src {' '.join(map(_hash, scripts))}; " if scripts else ""
    policy = f"default-src 'none'; style-src {_hash(css)}; {script_policy}img-src data:"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{css}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escape(title)}</h1><p>{summary}</p></header>",
            "<main>",
            *sections,
            "</main>",
            f"<footer>permed-measures {permed_measures.__version__}</footer>",
            *[f'<script type="application/json" id="{name}">{text}</script>' for name, text in (data or {}).items()],
            *[f"<script>{script}</script>" for script in scripts],
            "</body>",
            "</html>",
            "",
        ]
    )
