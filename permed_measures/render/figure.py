"""Plots as files of their own: with their style, in the widths of a paper's columns, as SVG, PDF or PNG."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

from permed_measures.errors import ParamError, did_you_mean, require, visible
from permed_measures.render.html import css
from permed_measures.render.svg import row_name

_WIDTHS = {1: 320, 2: 660}  # in CSS pixels: 240 and 495 points, 3.3 and 6.9 inches
_GAP, _TITLE, _LETTER = 14, 20, 7
_FONT = 'Helvetica, Arial, "Liberation Sans", "Noto Sans CJK SC", sans-serif'
_PPI = 300
_CLASS = "permed-measures-figure"
_TITLED = "svg text.title { text-anchor: start; font-weight: 600; }"
_FORMS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class Panel:
    """One plot of a figure; ``draw`` takes ``width`` in pixels and returns SVG of that width."""

    title: str
    draw: Callable[..., str]
    measure: str = ""
    run: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure that needs no page."""

    svg: str

    def content(self, path: str | PathLike[str]) -> bytes:
        """Return what a file of this suffix holds: .svg, .pdf (with its fonts) or .png (300 dots an inch)."""
        form = checked_suffix(path)
        if form == "svg":
            return self.svg.encode()
        converter = require("vl_convert", extra="figures")
        in_points = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', self.svg, count=2)  # its pixels are points
        return bytes(converter.svg_to_pdf(in_points) if form == "pdf" else converter.svg_to_png(in_points, ppi=_PPI))

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as the suffix says, .svg, .pdf or .png, whole or not at all."""
        content, target = self.content(path), Path(path)
        part = target.with_name(f".{target.name}.part")
        try:
            part.write_bytes(content)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def _repr_svg_(self) -> str:
        return self.svg


def checked_suffix(path: str | PathLike[str]) -> str:
    """Return the format that a file's suffix names; a ParamError where it names none."""
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in _FORMS:
        raise ParamError(f"{path}: a figure is written as .{', .'.join(_FORMS)}; give the file one of these suffixes")
    return form


def chosen(panels: Sequence[Panel], measure: str | None, run: str | None) -> list[Panel]:
    """Return the panels of a measure and of a run, where these are given."""
    kept = list(panels)
    for what, wanted in (("measure", measure), ("run", run)):
        known = [getattr(panel, what) for panel in kept]
        if wanted is not None and wanted not in known:
            raise ParamError(f"no panel of this plot is of the {what} {wanted!r}.{did_you_mean(wanted, known)}")
        kept = [panel for panel, name in zip(kept, known, strict=True) if wanted in (None, name)]
    return kept


def standalone(panels: Sequence[Panel], columns: int = 1) -> Picture:
    """Return one figure of all panels: below one another, or two in a row where both columns are used."""
    if columns not in _WIDTHS:
        raise ParamError(f"columns={columns!r} is not allowed; a figure is as wide as 1 or 2 columns of a paper")
    if not panels:
        raise ParamError("this plot has nothing to draw: no measure of it has the numbers")
    width = _WIDTHS[columns]
    beside = 2 if columns == len(_WIDTHS) and len(panels) > 1 else 1
    room = (width - _GAP * (beside - 1)) // beside
    parts, top = [], 0.0
    for start in range(0, len(panels), beside):
        tall = 0.0
        for place, panel in enumerate(panels[start : start + beside]):
            drawn, left = panel.draw(width=room), place * (room + _GAP)
            title = row_name(panel.title, left, top + 9, room // _LETTER).replace('class="name"', 'class="title"')
            down = _TITLE if panel.title else 0
            parts.append(title + drawn.replace("<svg ", f'<svg x="{left}" y="{top + down:g}" ', 1))
            tall = max(tall, down + _height(drawn))
        top += tall + _GAP
    height = max(top - _GAP, 1.0)
    said = escape("; ".join(panel.title for panel in panels))
    size = f'width="{width * 0.75:g}pt" height="{height * 0.75:g}pt" viewBox="0 0 {width} {height:g}"'
    head = f'<svg class="{_CLASS}" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{said}">'
    paper = f'<rect width="{width}" height="{height:g}" fill="#ffffff"/>'
    whole = f"{head}<style>{_plain_style()}</style>{paper}{''.join(parts)}</svg>\n"
    return Picture("\n".join(map(visible, whole.split("\n"))))


def _height(svg: str) -> float:
    found = re.search(r'viewBox="0 0 \S+ (\S+)"', svg)
    return float(found[1]) if found else 0.0


def _plain_style() -> str:
    """Return the page's rules for plots with the colours of paper in place of their names: converters know no more."""
    light = dict(re.findall(r"--([\w-]+):\s*([^;]+);", css("page").partition("@media")[0]))
    rules = re.findall(r"^(?:svg [.\w]|\.run\d)[^\n]*$", f"{css('content')}\n{_TITLED}", flags=re.MULTILINE)
    plain = re.sub(r"var\(--([\w-]+)\)", lambda name: light[name[1]], "\n".join(rules))
    plain = re.sub(r"\bsvg (?=[.\w])|(?=\.run\d)", f".{_CLASS} ", plain)  # nothing else is touched where it is embedded
    return plain.replace("font-family: inherit", f"font-family: {_FONT}")
