"""Histogram and distribution of latencies as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from permed_measures.serving.latency import Latency

_WIDTH, _HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 16, 44, 40
_BINS = 32
_POINTS = 400
_WIDE = 20
"""When the slowest call takes this many times as long as the fastest, the axis is logarithmic."""
COLOURS = 8


@dataclass(frozen=True)
class _Axis:
    """Milliseconds to pixels."""

    low: float
    high: float
    is_log: bool

    @classmethod
    def of(cls, samples: npt.NDArray[np.float64]) -> _Axis:
        low, high = float(samples.min()), float(samples.max())
        if low > 0 and high / low > _WIDE:
            return cls(low / 1.1, high * 1.1, is_log=True)
        return cls(0.0, high * 1.05 or 1.0, is_log=False)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def edges(self) -> npt.NDArray[np.float64]:
        """Borders of the bars, equally far apart on paper."""
        if self.is_log:
            return np.geomspace(self.low, self.high, _BINS + 1)
        return np.linspace(self.low, self.high, _BINS + 1)

    def ticks(self) -> list[float]:
        """Round numbers within the range."""
        if self.is_log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if math.log10(self.high / self.low) < 3 else (1,)  # noqa: PLR2004  (as many as fit)
            marks = [step * 10.0**power for power in powers for step in steps]
            return [mark for mark in marks if self.low <= mark <= self.high]
        rough = self.high / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        return [place * step for place in range(math.floor(self.high / step + 1e-9) + 1)]


def histogram(name: str, latency: Latency, colour: int = 1) -> str:
    """Draw how many calls took how long, with P50, P95 and P99."""
    if not latency.answered:
        return ""
    axis = _Axis.of(latency.samples_ms)
    counts, edges = np.histogram(latency.samples_ms, bins=axis.edges())
    highest = int(counts.max())
    floor = _HEIGHT - _BOTTOM
    parts = _x_axis(axis)
    parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{_TOP + 4}">{highest}</text>')
    parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{floor}">0</text>')
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            left, right = axis(low), axis(high)
            tall = (floor - _TOP) * count / highest
            parts.append(
                f'<rect class="bar" x="{left + 0.5:.1f}" y="{floor - tall:.1f}" width="{right - left - 1:.1f}" '
                f'height="{tall:.1f}"><title>{low:.4g} to {high:.4g} ms: {count} calls</title></rect>'
            )
    for row, (level, value) in enumerate((("P50", latency.p50_ms), ("P95", latency.p95_ms), ("P99", latency.p99_ms))):
        parts += _level(axis, f"{level} {value:.4g}", value, 10 + 12 * row)
    return _svg(parts, f"histogram of the latency of {name}", colour)


def _level(axis: _Axis, name: str, value: float, y: float) -> list[str]:
    x = axis(value)
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
    axis = _Axis.of(np.concatenate([latency.samples_ms for latency in answered.values()]))
    floor = _HEIGHT - _BOTTOM
    parts = _x_axis(axis)
    for share in (0, 25, 50, 75, 100):
        y = floor - (floor - _TOP) * share / 100
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{y + 4:.1f}">{share}%</text>')
    for place, (name, latency) in enumerate(latencies.items(), 1):
        if not latency.answered:
            continue
        ordered = np.sort(latency.samples_ms)
        taken = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _POINTS)).astype(np.int64))
        path = [f"M{axis(float(ordered[0])):.1f} {floor}"]
        for rank in taken.tolist():  # steps: along to the sample, then up to its share
            path.append(f"H{axis(float(ordered[rank])):.1f}")
            path.append(f"V{floor - (floor - _TOP) * (rank + 1) / len(ordered):.1f}")
        path.append(f"H{_WIDTH - _RIGHT}")
        said = f"{name}: P50 {latency.p50_ms:.4g} ms, P95 {latency.p95_ms:.4g} ms, P99 {latency.p99_ms:.4g} ms"
        parts.append(
            f'<path class="curve run{(place - 1) % (COLOURS - 1) + 1}" d="{"".join(path)}">'
            f"<title>{escape(said)}</title></path>"
        )
    return _svg(parts, "share of the calls answered within a time", 1)


def legend(names: Mapping[str, Latency]) -> str:
    """Name the curves."""
    return "".join(
        f'<span class="run{(place - 1) % (COLOURS - 1) + 1}">&#9632; {escape(name)}</span>'
        for place, name in enumerate(names, 1)
    )


def _x_axis(axis: _Axis) -> list[str]:
    floor = _HEIGHT - _BOTTOM
    parts = [f'<line class="zero" x1="{_LEFT}" y1="{floor}" x2="{_WIDTH - _RIGHT}" y2="{floor}"/>']
    parts += [f'<text class="tick" x="{axis(tick):.1f}" y="{floor + 15}">{tick:g}</text>' for tick in axis.ticks()]
    scale = ", logarithmic" if axis.is_log else ""
    parts.append(f'<text class="tick" x="{(_WIDTH + _LEFT) / 2:.1f}" y="{_HEIGHT - 6}">latency in ms{scale}</text>')
    return parts


def _svg(parts: list[str], label: str, colour: int) -> str:
    return (
        f'<svg class="run{(colour - 1) % (COLOURS - 1) + 1}" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
