"""A log by hour or day, and one log against another: what changed, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Literal, get_args

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.render.document import Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.html import figures
from permed_measures.render.result import Result
from permed_measures.serving.intervals import Estimated, of_mean, of_percentile, of_rate, of_share
from permed_measures.serving.latency import Latency
from permed_measures.serving.log import RequestLog
from permed_measures.serving.plots import over_time
from permed_measures.serving.words import STYLE, least, milliseconds

Length = Literal["hour", "day"]
LENGTHS: tuple[Length, ...] = get_args(Length)
_SECONDS = {"hour": 3600, "day": 86400}
_TIME = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d"}
_PERCENTS = (50, 95, 99)
_INDEPENDENT = (
    "intervals: 95% each, not corrected for their number; requests count as independent, which those of one burst or "
    "one outage are not: then the intervals are too narrow"
)


@dataclass(frozen=True)
class Period:
    """Some of a log's requests: those that started within one hour or day."""

    name: str
    log: RequestLog
    seconds: float
    """How much of it the log covers."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures; ``qps`` are answers a second, ``offered_qps`` requests."""
        latency = self.log.latency
        rates = {"qps": latency.answered / self.seconds, "offered_qps": latency.calls / self.seconds}
        return {"period": self.name, **latency.to_dict(), **(rates if self.seconds else {})}


@dataclass(frozen=True, eq=False, repr=False)
class PeriodReport(Result):
    """A log, period by period."""

    name: str
    length: Length
    periods: tuple[Period, ...]

    @classmethod
    def of(cls, log: RequestLog, length: Length) -> PeriodReport:
        """Divide a log by hour or day, in UTC; every request needs a start."""
        if length not in LENGTHS:
            raise ParamError(f"by={length!r} is not allowed.{did_you_mean(str(length), LENGTHS)}")
        if log.span_s is None:
            msg = f"by {length}: not every request has a start; name its field"
            raise InputError(msg, path=log.path)
        step = _SECONDS[length]
        parts: dict[int, list[Any]] = {}
        for request in log.requests:
            parts.setdefault(int((request.start_s or 0.0) // step), []).append(request)
        first, last = log.span_s
        periods = []
        for number, requests in sorted(parts.items()):
            name = datetime.fromtimestamp(number * step, timezone.utc).strftime(_TIME[length])
            covered = min(last, (number + 1) * step) - max(first, number * step)
            periods.append(Period(name, replace(log, requests=tuple(requests)), covered))
        return cls(log.path.name, length, tuple(periods))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {"name": self.name, "by": self.length, "periods": [period.to_dict() for period in self.periods]}

    def as_table(self) -> Table:
        """Return one row per period."""
        names = ["calls", "failures", "failure_share", "offered_qps", "qps", "p50_ms", "p95_ms", "p99_ms"]
        rows: list[list[Value]] = []
        for period in self.periods:
            found = period.to_dict()
            rows.append([period.name, *(_cell(name, found, period.log.latency) for name in names)])
        heads = ["calls", "failed", "share failed", "requests/s", "answers/s", "P50 ms", "P95 ms", "P99 ms"]
        return Table([f"{self.length}, UTC", *heads], rows, f"By {self.length}", left=1)

    def document(self) -> Document:
        """Return the table and the plot."""
        percents = {f"P{percent}": percent for percent in _PERCENTS}
        drawn = over_time([(period.name, period.log.latency) for period in self.periods], percents)
        sections = [Section("", [self.as_table()], "periods")]
        if drawn:
            plot = figures([Figure(drawn[0], f"Latency by {self.length}", legend=drawn[1])])
            sections.append(Section("Over time", [plot], "over-time", on="page"))
        failed = [f"{p.name}: {p.log.latency.failures}" for p in self.periods if p.log.latency.failures.total]
        sections.append(Section("Failures", [Lines(failed)], "failures"))
        return Document(f"Serving by {self.length}: {self.name}", f"{len(self.periods)} periods", sections, style=STYLE)


def _cell(name: str, found: dict[str, Any], latency: Latency) -> Value:
    if name.endswith("_ms"):
        value = getattr(latency, name)
        return None if math.isnan(value) else Cell(value, least(latency, name))
    value = found.get(name)
    return None if value is None else Cell(value, f"{value:.2%}" if name == "failure_share" else f"{value:,.5g}")


@dataclass(frozen=True)
class Change:
    """One figure in two periods."""

    name: str
    old: Estimated
    new: Estimated
    shown: Callable[[float], str]

    @property
    def difference(self) -> Estimated:
        """New minus old."""
        return self.new.minus(self.old)

    @property
    def verdict(self) -> str:
        """higher, lower, or not shown."""
        _, low, high = self.difference
        return "higher" if low > 0 else "lower" if high < 0 else "not shown"

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values; an end of an interval that is not known is None."""
        value, low, high = self.difference
        known = {"low": low, "high": high}
        ends = {name: end if math.isfinite(end) else None for name, end in known.items()}
        return (
            {"name": self.name, "old": self.old.value, "new": self.new.value, "difference": value}
            | ends
            | {"verdict": self.verdict}
        )


@dataclass(frozen=True, eq=False, repr=False)
class PeriodChange(Result):
    """A log against an older one: offline, then an A/B test, then production."""

    old: RequestLog
    new: RequestLog
    usd_per_million_tokens: float | None = None

    @cached_property
    def changes(self) -> list[Change]:
        """The figures that both logs have."""
        found = []
        price = None if self.usd_per_million_tokens is None else self.usd_per_million_tokens / 1e6
        makers: list[tuple[str, Callable[[RequestLog], Estimated | None], Callable[[float], str]]] = [
            *((f"p{p}_ms", _percentile_of(p), milliseconds) for p in _PERCENTS),
            ("offered_qps", lambda log: of_rate(log.latency.calls, log.elapsed_s), "{:,.4g}".format),
            ("qps", lambda log: of_rate(log.latency.answered, log.elapsed_s), "{:,.4g}".format),
            ("failure_share", lambda log: of_share(log.latency.failures.total, log.latency.calls), "{:.3%}".format),
        ]
        if price is not None:
            makers.append(("usd_per_query", lambda log: of_mean(log.tokens, price), "{:.6g}".format))
        for name, of, shown in makers:
            old, new = of(self.old), of(self.new)
            if old is not None and new is not None:
                found.append(Change(name, old, new, shown))
        return found

    @property
    def notes(self) -> list[str]:
        """What the intervals suppose, and which figures a log lacks."""
        notes = [_INDEPENDENT, "percentiles: exact intervals of order statistics; of differences: MOVER"]
        for log, of in ((self.old, "old"), (self.new, "new")):
            notes += [f"{of}: {note}" for note in [*log.notes, *log.latency.notes]]
            if self.usd_per_million_tokens is not None and len(log.tokens) < 2:  # noqa: PLR2004  (a mean's interval needs two)
                notes.append(f"{of}: no cost: the log has no tokens")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        changes = [change.to_dict() for change in self.changes]
        return {"old": self.old.path.name, "new": self.new.path.name, "changes": changes, "notes": self.notes}

    def as_table(self) -> Table:
        """Return one row per figure."""
        rows: list[list[Value]] = []
        for change in self.changes:
            cells = [
                None if math.isinf(found) else Cell(found, "+" * (place == 2 and found > 0) + change.shown(found))  # noqa: PLR2004  (the difference)
                for place, found in enumerate((change.old.value, change.new.value, *change.difference))
            ]
            rows.append([change.name, *cells, change.verdict])
        heads = ["figure", "old", "new", "difference", "low", "high", "verdict"]
        return Table(heads, rows, "Difference of two periods", left=1)

    def document(self) -> Document:
        """Return the table and the notes."""
        said = f"{self.old.latency.calls:,} calls before, {self.new.latency.calls:,} now"
        sections = [Section("", [self.as_table()], "changes"), Section("Notes", [Lines(self.notes, "note: ")], "notes")]
        return Document(f"Serving: {self.new.path.name} against {self.old.path.name}", said, sections, style=STYLE)


def _percentile_of(percent: float) -> Callable[[RequestLog], Estimated | None]:
    return lambda log: of_percentile(log.latency, percent)
