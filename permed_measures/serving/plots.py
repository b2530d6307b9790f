"""Histogram and distribution of latencies as inline SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from permed_measures.render.svg import COLOURS, Scale, axis, picture
from permed_measures.serving.latency import Latency

_WIDTH, _HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 16, 44, 40
_BINS = 32
_POINTS = 400
_WIDE = 20
"""When the slowest call takes this many times as long as the fastest, the axis is logarithmic."""


def _scale(samples: npt.NDArray[np.float64]) -> Scale:
    """Return where milliseconds are on paper."""
    low, high = float(samples.min()), float(samples.max())
    if low > 0 and high / low > _WIDE:
        return Scale(low / 1.1, high * 1.1, _LEFT, _WIDTH - _RIGHT, is_log=True)
    return Scale(0.0, high * 1.05 or 1.0, _LEFT, _WIDTH - _RIGHT)


def histogram(name: str, latency: Latency, colour: int = 1) -> str:
    """Draw how many calls took how long, with P50, P95 and P99."""
    if not latency.answered:
        return ""
    scale = _scale(latency.samples_ms)
    spaced = np.geomspace if scale.is_log else np.linspace  # bars are equally wide on paper
    counts, edges = np.histogram(latency.samples_ms, bins=spaced(scale.low, scale.high, _BINS + 1))
    highest = int(counts.max())
    floor = _HEIGHT - _BOTTOM
    parts = _x_axis(scale)
    parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{_TOP + 4}">{highest}</text>')
    parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{floor}">0</text>')
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            left, right = scale(low), scale(high)
            tall = (floor - _TOP) * count / highest
            parts.append(
                f'<rect class="bar" x="{left + 0.5:.1f}" y="{floor - tall:.1f}" width="{right - left - 1:.1f}" '
                f'height="{tall:.1f}"><title>{low:.4g} to {high:.4g} ms: {count} calls</title></rect>'
            )
    for row, (level, value) in enumerate((("P50", latency.p50_ms), ("P95", latency.p95_ms), ("P99", latency.p99_ms))):
        parts += _level(scale, f"{level} {value:.4g}", value, 10 + 12 * row)
    return picture(_WIDTH, _HEIGHT, parts, f"histogram of the latency of {name}", kind=_colour(colour))


def _level(scale: Scale, name: str, value: float, y: float) -> list[str]:
    x = scale(value)
    is_right = x > _WIDTH * 0.75
    place = f'class="level-name{" end" if is_right else ""}" x="{x - 4 if is_right else x + 4:.1f}"'
    return [
        f'<line class="level" x1="{x:.1f}" y1="{y - 8:.1f}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>',
        f'<text {place} y="{y:.1f}">{escape(name)}</text>',
    ]


def distribution(latencies: Mapping[str, Latency]) -> str:
    """Draw which share of the calls was answered within a time: one curve for each name."""
    answered = {name: latency for name, latency in latencies.items() if latency.answered}
    if not answered:
        return ""
    scale = _scale(np.concatenate([latency.samples_ms for latency in answered.values()]))
    floor = _HEIGHT - _BOTTOM
    parts = _x_axis(scale)
    for share in (0, 25, 50, 75, 100):
        parts += _level_line(floor - (floor - _TOP) * share / 100, f"{share}%")
    for place, (name, latency) in enumerate(latencies.items(), 1):
        if not latency.answered:
            continue
        ordered = np.sort(latency.samples_ms)
        taken = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _POINTS)).astype(np.int64))
        path = [f"M{scale(float(ordered[0])):.1f} {floor}"]
        for rank in taken.tolist():  # steps: along to the sample, then up to its share
            path.append(f"H{scale(float(ordered[rank])):.1f}")
            path.append(f"V{floor - (floor - _TOP) * (rank + 1) / len(ordered):.1f}")
        path.append(f"H{_WIDTH - _RIGHT}")
        said = f"{name}: P50 {latency.p50_ms:.4g} ms, P95 {latency.p95_ms:.4g} ms, P99 {latency.p99_ms:.4g} ms"
        parts.append(f'<path class="curve {_colour(place)}" d="{"".join(path)}"><title>{escape(said)}</title></path>')
    return picture(_WIDTH, _HEIGHT, parts, "share of the calls answered within a time", kind=_colour(1))


def over_time(periods: Sequence[tuple[str, Latency]], percents: Sequence[int]) -> tuple[str, str] | None:
    """Draw percentiles by period, and name the curves; None for fewer than two periods with answers."""
    known = [(place, name, latency) for place, (name, latency) in enumerate(periods) if len(latency.ordered_ms)]
    if len(known) < 2:  # noqa: PLR2004  (a line has two ends)
        return None
    found = {f"P{percent}": [latency.percentile(percent) for _, _, latency in known] for percent in percents}
    across = Scale(0, len(periods) - 1, _LEFT, _WIDTH - _RIGHT)
    up = Scale(0.0, max(map(max, found.values())) * 1.05 or 1.0, _HEIGHT - _BOTTOM, _TOP)
    parts = [part for tick in up.ticks() for part in _level_line(up(tick), f"{tick:g}")]
    for kind, (place, name, _) in (("level-name", known[0]), ("tick end", known[-1])):
        parts.append(f'<text class="{kind}" x="{across(place):.1f}" y="{_HEIGHT - 22}">{escape(name)}</text>')
    for number, (line, values) in enumerate(found.items(), 1):
        points = " ".join(f"{across(at):.1f},{up(value):.1f}" for (at, _, _), value in zip(known, values, strict=True))
        said = f"<title>{line} in ms</title>"
        parts.append(f'<polyline class="curve {_colour(number)}" points="{points}">{said}</polyline>')
    return picture(_WIDTH, _HEIGHT, parts, "percentiles of latency in ms, by period"), legend(found)


def _level_line(y: float, name: str) -> list[str]:
    return [
        f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>',
        f'<text class="tick end" x="{_LEFT - 6}" y="{y + 4:.1f}">{name}</text>',
    ]


def legend(names: Iterable[str]) -> str:
    """Name the curves."""
    return "".join(
        f'<span class="{_colour(place)}">&#9632; {escape(name)}</span>' for place, name in enumerate(names, 1)
    )


def _x_axis(scale: Scale) -> list[str]:
    floor = _HEIGHT - _BOTTOM
    log = ", logarithmic" if scale.is_log else ""
    return [
        f'<line class="zero" x1="{_LEFT}" y1="{floor}" x2="{_WIDTH - _RIGHT}" y2="{floor}"/>',
        *axis(scale, _TOP, floor, grid=False),
        f'<text class="tick" x="{(_WIDTH + _LEFT) / 2:.1f}" y="{_HEIGHT - 6}">latency in ms{log}</text>',
    ]


def _colour(place: int) -> str:
    """Return the class of the nth curve; the colour of the baseline is left out."""
    return f"run{(place - 1) % (COLOURS - 1) + 1}"
