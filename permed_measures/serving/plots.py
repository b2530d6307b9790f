"""Latencies as inline SVG: a histogram, the share answered within a time, and percentiles over time."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from permed_measures.render.svg import COLOURS, Scale, axis, picture
from permed_measures.serving.latency import Floats, Latency

_WIDTH, _HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _FLOOR = 46, 504, 44, 210
_BINS, _POINTS = 32, 400
_WIDE = 20  # when the slowest call takes this many times as long as the fastest, the axis is logarithmic


def _across(samples: Floats) -> tuple[Scale, list[str]]:
    """Return where milliseconds are on paper, and their axis."""
    low, high = float(samples.min()), float(samples.max())
    is_log = low > 0 and high / low > _WIDE
    scale = Scale(low / 1.1 if is_log else 0.0, high * (1.1 if is_log else 1.05) or 1.0, _LEFT, _RIGHT, is_log=is_log)
    said = f"latency in ms{', logarithmic' * is_log}"
    zero = f'<line class="zero" x1="{_LEFT}" y1="{_FLOOR}" x2="{_RIGHT}" y2="{_FLOOR}"/>'
    name = f'<text class="tick" x="{(_WIDTH + _LEFT) / 2:.1f}" y="{_HEIGHT - 6}">{said}</text>'
    return scale, [zero, *axis(scale, _TOP, _FLOOR, grid=False), name]


def histogram(name: str, latency: Latency, colour: int = 1) -> str:
    """Draw how many calls took how long, with P50, P95 and P99."""
    scale, parts = _across(latency.samples_ms)
    spaced = np.geomspace if scale.is_log else np.linspace  # bars are equally wide on paper
    counts, edges = np.histogram(latency.samples_ms, bins=spaced(scale.low, scale.high, _BINS + 1))
    highest = int(counts.max())
    parts += [_at_side(_TOP + 4, str(highest)), _at_side(_FLOOR, "0")]
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            left, wide, tall = scale(low), scale(high) - scale(low), (_FLOOR - _TOP) * count / highest
            parts.append(
                f'<rect class="bar {_colour(colour)}" x="{left + 0.5:.1f}" y="{_FLOOR - tall:.1f}" '
                f'width="{wide - 1:.1f}" height="{tall:.1f}">'
                f"<title>{low:.4g} to {high:.4g} ms: {count} calls</title></rect>"
            )
    for row, (level, value) in enumerate((("P50", latency.p50_ms), ("P95", latency.p95_ms), ("P99", latency.p99_ms))):
        x, y = min(scale(value), _RIGHT), 10 + 12 * row
        end, beside = (" end", x - 4) if x > _WIDTH * 0.75 else ("", x + 4)
        parts.append(f'<line class="level" x1="{x:.1f}" y1="{y - 8}" x2="{x:.1f}" y2="{_FLOOR}"/>')
        parts.append(f'<text class="level-name{end}" x="{beside:.1f}" y="{y}">{level} {value:.4g}</text>')
    return picture(_WIDTH, _HEIGHT, parts, f"histogram of the latency of {name}")


def distribution(latencies: Mapping[str, Latency]) -> str:
    """Draw which share of the calls was answered within a time: one curve for each name, all with answers."""
    scale, parts = _across(np.concatenate([latency.samples_ms for latency in latencies.values()]))
    up = Scale(0, 1, _FLOOR, _TOP)
    parts += [part for share in (0, 0.25, 0.5, 0.75, 1) for part in _level(up(share), f"{share:.0%}")]
    for place, (name, latency) in enumerate(latencies.items(), 1):
        ordered = np.sort(latency.samples_ms)
        taken = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _POINTS)).astype(np.int64)).tolist()
        steps = [(scale(float(ordered[rank])), up((rank + 1) / len(ordered))) for rank in taken]
        path = f"M{steps[0][0]:.1f} {_FLOOR}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in steps) + f"H{_RIGHT}"
        said = f"{name}: P50 {latency.p50_ms:.4g} ms, P95 {latency.p95_ms:.4g} ms, P99 {latency.p99_ms:.4g} ms"
        parts.append(f'<path class="curve {_colour(place)}" d="{path}"><title>{escape(said)}</title></path>')
    return picture(_WIDTH, _HEIGHT, parts, "share of the calls answered within a time")


def over_time(periods: Sequence[tuple[str, Latency]], percents: Sequence[int]) -> tuple[str, str] | None:
    """Draw percentiles by period, and name the curves; None for fewer than two periods with answers."""
    known = [(place, name, latency) for place, (name, latency) in enumerate(periods) if len(latency.ordered_ms)]
    if len(known) < 2:  # noqa: PLR2004  (a line has two ends)
        return None
    found = {f"P{percent}": [latency.percentile(percent) for _, _, latency in known] for percent in percents}
    across = Scale(0, len(periods) - 1, _LEFT, _RIGHT)
    up = Scale(0.0, max(map(max, found.values())) * 1.05 or 1.0, _FLOOR, _TOP)
    parts = [part for tick in up.ticks() for part in _level(up(tick), f"{tick:g}")]
    for kind, (place, name, _) in (("level-name", known[0]), ("tick end", known[-1])):
        parts.append(f'<text class="{kind}" x="{across(place):.1f}" y="{_HEIGHT - 22}">{escape(name)}</text>')
    for number, (line, values) in enumerate(found.items(), 1):
        points = " ".join(f"{across(at):.1f},{up(value):.1f}" for (at, _, _), value in zip(known, values, strict=True))
        said = f"<title>{line} in ms</title>"
        parts.append(f'<polyline class="curve {_colour(number)}" points="{points}">{said}</polyline>')
    return picture(_WIDTH, _HEIGHT, parts, "percentiles of latency in ms, by period"), legend(found)


def legend(names: Iterable[str]) -> str:
    """Name the curves."""
    square = '<span><span class="{}">&#9632;</span> {}</span>'.format
    return "".join(square(_colour(place), escape(name)) for place, name in enumerate(names, 1))


def _at_side(y: float, name: str) -> str:
    return f'<text class="tick end" x="{_LEFT - 6}" y="{y:.1f}">{name}</text>'


def _level(y: float, name: str) -> list[str]:
    return [f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>', _at_side(y + 4, name)]


def _colour(place: int) -> str:
    """Return the class of the nth curve; the colour of the baseline is left out."""
    return f"run{(place - 1) % (COLOURS - 1) + 1}"
