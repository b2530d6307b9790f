"""A log by hour or day, and one log against another: what changed, with intervals."""

import math
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.inference.independent import Estimated, of_mean, of_percentile, of_rate, of_share
from permed_measures.render.document import Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.html import figures
from permed_measures.render.result import Result
from permed_measures.render.words import milliseconds
from permed_measures.serving.log import Request, RequestLog
from permed_measures.serving.plots import over_time

Length = Literal["hour", "day"]
LENGTHS: tuple[Length, ...] = get_args(Length)
_SECONDS_AND_NAME = {"hour": (3600, "%Y-%m-%d %H:00"), "day": (86400, "%Y-%m-%d")}
_PERCENTS = (50, 95, 99)
_BASIS = (
    "intervals (order statistics, Wilson, Poisson score, t; of differences MOVER): 95% each, not corrected for their "
    "number; requests count as independent, which those of one burst or outage are not: then they are too narrow"
)


class Period(NamedTuple):
    """Some of a log's requests: those that started within one hour or day, of which the log covers ``seconds``."""

    name: str
    log: RequestLog
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures; ``qps`` are answers a second, ``offered_qps`` requests."""
        latency = self.log.latency
        rates = {"offered_qps": latency.calls, "qps": latency.answered} if self.seconds else {}
        return {"period": self.name, **latency.to_dict(), **{name: n / self.seconds for name, n in rates.items()}}


@dataclass(frozen=True, eq=False, repr=False)
class PeriodReport(Result):
    """A log, period by period."""

    name: str
    length: Length
    periods: tuple[Period, ...]

    @classmethod
    def of(cls, log: RequestLog, length: Length) -> "PeriodReport":
        """Divide a log by hour or day, in UTC; every request needs a start."""
        if length not in LENGTHS:
            raise ParamError(f"by={length!r} is not allowed.{did_you_mean(str(length), LENGTHS)}")
        if log.span_s is None:
            raise InputError(f"by {length}: not every request has a start; name its field", path=log.path)
        step, name = _SECONDS_AND_NAME[length]
        parts: dict[int, list[Request]] = {}
        for request in log.requests:
            parts.setdefault(int((request.start_s or 0.0) // step), []).append(request)
        first, last = log.span_s
        periods = []
        for number, requests in sorted(parts.items()):
            named = datetime.fromtimestamp(number * step, timezone.utc).strftime(name)
            covered = min(last, (number + 1) * step) - max(first, number * step)
            periods.append(Period(named, replace(log, requests=tuple(requests)), covered))
        return cls(log.path.name, length, tuple(periods))

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {"name": self.name, "by": self.length, "periods": [period.to_dict() for period in self.periods]}

    def as_table(self) -> Table:
        """Return one row per period."""
        rows: list[list[Value]] = []
        for period in self.periods:
            found, latency = period.to_dict(), period.log.latency
            row: list[Value] = [Cell(found.get(name), f"{found.get(name, 0):,.5g}") for name in ("calls", "failures")]
            row.append(Cell(found["failure_share"], f"{found['failure_share']:.2%}"))
            row += [
                None if name not in found else Cell(found[name], f"{found[name]:,.5g}")
                for name in ("offered_qps", "qps")
            ]
            times = {name: getattr(latency, name) for name in ("p50_ms", "p95_ms", "p99_ms")}
            row += [None if math.isnan(ms) else Cell(ms, latency.shown(name)) for name, ms in times.items()]
            rows.append([period.name, *row])
        heads = ["calls", "failed", "share failed", "requests/s", "answers/s", "P50 ms", "P95 ms", "P99 ms"]
        return Table([f"{self.length}, UTC", *heads], rows, f"By {self.length}", left=1)

    def document(self) -> Document:
        """Return the table and the plot."""
        sections = [Section("", [self.as_table()], "periods")]
        if drawn := over_time([(period.name, period.log.latency) for period in self.periods], _PERCENTS):
            plot = figures([Figure(drawn[0], f"Latency by {self.length}", legend=drawn[1])])
            sections.append(Section("Over time", [plot], "over-time", on="page"))
        failed = [f"{p.name}: {p.log.latency.failures}" for p in self.periods if p.log.latency.failures.total]
        if failed:
            sections.append(Section("Failures", [Lines(failed)], "failures"))
        return Document(f"Serving by {self.length}: {self.name}", f"{len(self.periods)} periods", sections)


@dataclass(frozen=True, eq=False, repr=False)
class PeriodChange(Result):
    """A log against an older one: offline, then an A/B test, then production."""

    old: RequestLog
    new: RequestLog
    usd_per_million_tokens: float | None = None

    @cached_property
    def changes(self) -> list[dict[str, Any]]:
        """The figures that both logs have; an end of an interval that is not known is None."""
        return [
            {"name": name, "old": old.value, "new": new.value, **_difference(new.minus(old))}
            for (name, old), new in zip(self._figures(self.old).items(), self._figures(self.new).values(), strict=True)
            if old is not None and new is not None
        ]

    def _figures(self, log: RequestLog) -> dict[str, Estimated | None]:
        latency, ordered = log.latency, log.latency.ordered_ms.tolist()
        found = {f"p{percent}_ms": of_percentile(ordered, percent, latency.surely) for percent in _PERCENTS}
        found["offered_qps"] = of_rate(latency.calls, log.elapsed_s)
        found["qps"] = of_rate(latency.answered, log.elapsed_s)
        found["failure_share"] = of_share(latency.failures.total, latency.calls)
        if self.usd_per_million_tokens is not None:
            found["usd_per_query"] = of_mean(log.tokens, self.usd_per_million_tokens / 1e6)
        return found

    @property
    def notes(self) -> list[str]:
        """What the intervals suppose, and which figures a log lacks."""
        notes = [_BASIS]
        for log, of in ((self.old, "old"), (self.new, "new")):
            notes += [f"{of}: {note}" for note in [*log.notes, *log.latency.notes]]
            if self.usd_per_million_tokens is not None and len(log.tokens) < 2:  # noqa: PLR2004  (a mean's interval needs two)
                notes.append(f"{of}: no cost: the log has no tokens")
        return notes

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {"old": self.old.path.name, "new": self.new.path.name, "changes": self.changes, "notes": self.notes}

    def as_table(self) -> Table:
        """Return one row per figure."""
        rows: list[list[Value]] = []
        for change in self.changes:
            name, *numbers, verdict = change.values()
            shown = milliseconds if name.endswith("_ms") else "{:,.4g}".format
            rows.append([name, *(None if n is None else Cell(n, shown(n)) for n in numbers), verdict])
        heads = ["figure", "old", "new", "difference", "low", "high", "verdict"]
        return Table(heads, rows, "Difference of two periods", left=1)

    def document(self) -> Document:
        """Return the table and the notes."""
        said = f"{self.old.latency.calls:,} calls before, {self.new.latency.calls:,} now"
        sections = [Section("", [self.as_table()], "changes"), Section("Notes", [Lines(self.notes, "note: ")], "notes")]
        return Document(f"Serving: {self.new.path.name} against {self.old.path.name}", said, sections)


def _difference(found: Estimated) -> dict[str, Any]:
    verdict = "higher" if found.low > 0 else "lower" if found.high < 0 else "not shown"
    low, high = (end if math.isfinite(end) else None for end in (found.low, found.high))
    return {"difference": found.value, "low": low, "high": high, "verdict": verdict}
