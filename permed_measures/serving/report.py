"""What people read of serving figures and rerankers. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from permed_measures.render.document import Document, Figure, Lines, Section, Table, Value
from permed_measures.render.html import figures
from permed_measures.render.result import Result
from permed_measures.render.words import NONE, number, percent, queries
from permed_measures.serving import plots
from permed_measures.serving.latency import Latency
from permed_measures.serving.summary import ServingSummary
from permed_measures.serving.targets import NOT_MEASURED, Targets, Verdict
from permed_measures.serving.throughput import Load, LoadKey
from permed_measures.serving.words import STYLE, least, milliseconds

if TYPE_CHECKING:
    from permed_measures.serving.rerank import RerankReport

_PERCENTILES = "percentiles are interpolated linearly between samples (numpy's default)"
_INTERVAL = "P95 interval: 95%, bootstrap over calls (percentile method)"
_OPEN_LOOP = (
    "open loop: calls are due whatever the server does, evenly spaced or at random (Poisson); latency runs from the "
    "time a call was due, so that a stall counts for every call that waited through it (no coordinated omission)"
)
_CLOSED_LOOP = (
    "closed loop: a thread calls again when it has its answer; this tells the capacity, not how long users wait for a "
    "server that stalls"
)
_LOOPS = {False: ("Throughput, closed loop", _CLOSED_LOOP), True: ("Throughput, open loop", _OPEN_LOOP)}
"""By whether the loop is open."""


@dataclass(frozen=True, eq=False, repr=False)
class ServingReport(Result):
    """The serving figures of one system, judged by targets."""

    name: str
    summary: ServingSummary
    targets: Targets

    @property
    def verdicts(self) -> list[Verdict]:
        """The targets there are figures for."""
        return [v for v in self.targets.check(self.summary.to_dict()) if v.status != NOT_MEASURED]

    def to_dict(self) -> dict[str, Any]:
        """Return flat figures first, as ``gate --serving`` reads them, then what has a structure."""
        latency = self.summary.latency
        return {
            **self.summary.to_dict(),
            "name": self.name,
            "by_size": {size: part.to_dict() for size, part in latency.by_size().items()},
            "loads": [load.to_dict() for load in self.summary.loads.values()],
            "failures_by_type": latency.failures.to_list(),
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "notes": [*self.summary.notes, *latency.notes],
        }

    def as_table(self) -> Table:
        """Return the figures."""
        return self.summary.as_table()

    def document(self) -> Document:
        """Return the figures by table, the plots, and what they mean."""
        return _serving_document(self)


def _document(
    title: str, summary: str, tables: Sequence[Table], latencies: Mapping[str, Latency], lines: Sequence[str]
) -> Document:
    sections = [Section("", [table], f"table-{place}") for place, table in enumerate(tables, 1)]
    drawn = _figures(latencies)
    if drawn:
        sections.insert(1, Section("Latency", [figures(drawn)], "latency", on="page"))
    sections.append(Section("Definitions and notes", [Lines(lines)], "notes"))
    return Document(title, summary, sections, style=STYLE)


def _serving_document(report: ServingReport) -> Document:
    summary, latency = report.summary, report.summary.latency
    tables = [_latency_table({report.name: latency}, "Latency in ms", "log")]
    by_size = latency.by_size()
    if by_size:
        tables.append(_latency_table(by_size, "Latency in ms by number of candidates", "candidates"))
    rest = {n: v for n, v in summary.to_dict().items() if n.startswith(("qps", "usd", "tokens", "queries"))}
    if rest:
        rows = [[n, f"{v:,.6g}"] for n, v in rest.items()]
        tables.append(Table(["figure", "value"], rows, "Throughput and cost", left=1))
    tables += _load_tables({report.name: summary.loads})
    if report.verdicts:
        tables.append(_target_table({report.name: report.verdicts}))
    tables += _failure_tables({report.name: summary})
    lines = [
        _PERCENTILES,
        _INTERVAL,
        *_loops([summary.loads]),
        *[f"note: {note}" for note in [*summary.notes, *latency.notes]],
    ]
    return _document(f"Serving: {report.name}", _calls(latency), tables, {report.name: latency}, lines)


def rerank_document(report: RerankReport) -> Document:
    """Return quality, speed and cost side by side, the plots, and what is worth it."""
    latencies = {reranked.name: reranked.serving.latency for reranked in report.rerankers}
    tables = [_quality_table(report), _latency_table(latencies, "Latency in ms", "reranker")]
    for reranked in report.rerankers:
        title = f"Latency in ms by number of candidates: {reranked.name}"
        if reranked.by_size:
            cut = {str(size): latency for size, latency in reranked.by_size.items()}
            tables.append(_latency_table(cut, f"{title}, lists cut to so many", "candidates"))
        elif len(reranked.serving.latency.by_size()) > 1:
            tables.append(_latency_table(reranked.serving.latency.by_size(), title, "candidates"))
    tables += _load_tables({reranked.name: reranked.serving.loads for reranked in report.rerankers})
    verdicts = {reranked.name: report.verdicts(reranked) for reranked in report.rerankers}
    if any(verdicts.values()):
        tables.append(_target_table(verdicts))
    tables += _cost_tables(report)
    tables += _failure_tables({reranked.name: reranked.serving for reranked in report.rerankers})
    labels = report.baseline.labels
    lines = [f"{reranked.name}: {report.worth(reranked)}" for reranked in report.rerankers]
    lines += [f"{label} = {measure}" for measure, label in labels.items() if label != str(measure)]
    lines.append(
        f"Pareto: neither another one nor doing without is at least as good by {report.main}, as fast by P95 and as "
        "cheap, and better in one of them"
    )
    lines += [_PERCENTILES, _INTERVAL, *_loops(reranked.serving.loads for reranked in report.rerankers)]
    for reranked in report.rerankers:
        found = [*reranked.notes, *reranked.evaluation.notes, *reranked.serving.notes, *reranked.serving.latency.notes]
        lines += [f"note: {reranked.name}: {note}" for note in found]
    count = len(next(iter(report.baseline.columns.values())))
    summary = f"{queries(count)}, profile {report.profile.name}"
    return _document(f"Rerankers: {', '.join(latencies)}", summary, tables, latencies, lines)


def _quality_table(report: RerankReport) -> Table:
    labels = list(report.baseline.labels.values())
    heads = ["reranker", *labels, f"change of {report.main}", "P95 ms", "$/query", "failed", "Pareto"]
    rows = [[report.NO_RERANKING, *[number(report.baseline[label]) for label in labels], *[NONE] * 5]]
    pareto = report.pareto
    for reranked in report.rerankers:
        numbers = reranked.numbers
        worth = report.worth(reranked)
        rows.append(
            [
                reranked.name,
                *[number(reranked.quality[label]) for label in labels],
                "from 0" if worth.to_dict()["improvement"] is None else percent(worth.improvement),
                least(reranked.serving.latency, "p95_ms"),
                _plain(numbers.get("usd_per_query")),
                str(reranked.serving.latency.failures.total),
                "yes" if pareto[reranked.name] else "no",
            ]
        )
    return Table(heads, rows, "Quality, speed and cost", left=1)


def _latency_table(latencies: Mapping[str, Latency], title: str, what: str) -> Table:
    rows = []
    for name, latency in latencies.items():
        between = NONE if latency.p95_interval_ms is None else " to ".join(map(milliseconds, latency.p95_interval_ms))
        shown = {key: least(latency, f"{key}_ms") for key in ("p50", "p95", "p99", "mean", "std", "min", "max")}
        counts = [f"{latency.answered:,}", f"{latency.failures.total:,}"]
        rows.append([name, *counts, shown.pop("p50"), shown.pop("p95"), between, *shown.values()])
    heads = [what, "answered", "failed", "P50", "P95", "P95 interval", "P99", "mean", "std", "min", "max"]
    return Table(heads, rows, title, left=1)


def _load_tables(loads: Mapping[str, Mapping[LoadKey, Load]]) -> list[Table]:
    tables = []
    for is_open, (title, _) in _LOOPS.items():
        rows = [
            [
                name,
                str(load.threads),
                *([f"{load.arrival_rate:g} {load.arrivals}"] if load.arrival_rate is not None else []),
                *[NONE if math.isnan(rate) else f"{rate:,.1f}" for rate in (load.offered_qps, load.qps)],
                *[least(load.latency, key) for key in ("p50_ms", "p95_ms", "p99_ms")],
                f"{load.latency.failures.total:,}",
                f"{load.latency.failures.total / (load.latency.calls or 1):.1%}",
            ]
            for name, by_key in loads.items()
            for load in by_key.values()
            if (load.arrival_rate is not None) == is_open
        ]
        arrivals = ["arrivals/s"] if is_open else []
        heads = [
            "system",
            "threads",
            *arrivals,
            "offered/s",
            "answers/s",
            "P50 ms",
            "P95 ms",
            "P99 ms",
            "failed",
            "share",
        ]
        if rows:
            tables.append(Table(heads, rows, title, left=1))
    return tables


def _loops(loads: Iterable[Mapping[LoadKey, Load]]) -> list[str]:
    kinds = {load.arrival_rate is not None for by_threads in loads for load in by_threads.values()}
    return [said for is_open, (_, said) in _LOOPS.items() if is_open in kinds]


def _target_table(verdicts: Mapping[str, list[Verdict]]) -> Table:
    rows = [
        [
            name,
            v.target.name,
            str(v),
            NONE if v.value is None else f"{v.value:.4g}",
            f"{v.sign} {v.target.target:g}",
            f"{v.sign} {v.target.excellent:g}",
        ]
        for name, judged in verdicts.items()
        for v in judged
    ]
    return Table(["system", "figure", "verdict", "value", "target", "excellent"], rows, "Targets", left=3)


def _cost_tables(report: RerankReport) -> list[Table]:
    rows = []
    for reranked in report.rerankers:
        cost, per_day = reranked.serving.cost, reranked.serving.queries_per_day
        if cost is None:
            continue
        gain = report.roi(reranked)
        rows.append(
            [
                reranked.name,
                _plain(cost.usd_per_million_tokens),
                _plain(cost.tokens),
                _plain(cost.usd_per_query),
                f"{cost.usd_per_million_queries:,.2f}",
                NONE if per_day is None else f"{cost.usd_per_day(per_day):,.2f}",
                NONE if gain is None else f"{gain.revenue_increase_usd_per_day:+,.2f}",
                NONE if gain is None or gain.roi is None else percent(gain.roi),
                NONE if gain is None or gain.roi_interval is None else " to ".join(map(percent, gain.roi_interval)),
            ]
        )
    heads = ["reranker", "$/M tokens", "tokens/query", "$/query", "$/M queries", "$/day", "revenue $/day", "ROI"]
    heads.append("ROI interval")
    return [Table(heads, rows, "Cost", left=1)] if rows else []


def _failure_tables(summaries: Mapping[str, ServingSummary]) -> list[Table]:
    measured = {name: summary.latency for name, summary in summaries.items()}
    for name, summary in summaries.items():
        for load in summary.loads.values():
            rate = "" if load.arrival_rate is None else f", {load.arrival_rate:g}/s"
            measured[f"{name}, {load.threads} threads{rate}"] = load.latency
    rows = [
        [name, failure.kind, failure.first_message, str(failure.count)]
        for name, latency in measured.items()
        for failure in latency.failures.by_kind.values()
    ]
    heads = ["system", "type", "first message", "calls"]
    return [Table(heads, rows, "Failed calls", left=3)] if rows else []


def _figures(latencies: Mapping[str, Latency]) -> list[Figure]:
    answered = {name: latency for name, latency in latencies.items() if latency.answered}
    if not answered:
        return []
    title = "Share of calls answered within a time"
    drawn = [Figure(plots.distribution(answered), title, legend=plots.legend(answered))]
    for colour, (name, latency) in enumerate(answered.items(), 1):
        drawn.append(Figure(plots.histogram(name, latency, colour), f"{name}: number of calls by latency"))
    return drawn


def rerank_table(report: RerankReport) -> Table:
    """Return one row per reranker, and one without; every number whole."""
    found = {report.NO_RERANKING: report.baseline.to_dict()["metrics"]}
    found |= {reranked.name: reranked.numbers for reranked in report.rerankers}
    heads = list(dict.fromkeys(name for numbers in found.values() for name in numbers))
    rows: list[list[Value]] = [[name, *map(numbers.get, heads)] for name, numbers in found.items()]
    return Table(["reranker", *heads], rows)


def rerank_record(report: RerankReport) -> dict[str, Any]:
    """Return all of it for JSON."""
    rerankers = []
    for reranked in report.rerankers:
        latency, gain = reranked.serving.latency, report.roi(reranked)
        rerankers.append(
            {
                "name": reranked.name,
                "quality": reranked.quality,
                "serving": reranked.serving.to_dict(),
                "by_size": {str(size): part.to_dict() for size, part in reranked.by_size.items()}
                or {size: part.to_dict() for size, part in latency.by_size().items()},
                "loads": [load.to_dict() for load in reranked.serving.loads.values()],
                "failures_by_type": latency.failures.to_list(),
                "targets": [verdict.to_dict() for verdict in report.verdicts(reranked)],
                "worth_it": report.worth(reranked).to_dict(),
                "roi": None if gain is None else gain.to_dict(),
                "pareto": report.pareto[reranked.name],
                "notes": [*reranked.notes, *reranked.evaluation.notes, *reranked.serving.notes, *latency.notes],
            }
        )
    return {
        "profile": report.profile.name,
        "main_measure": report.main,
        "measures": {label: str(measure) for measure, label in report.baseline.labels.items()},
        "no_reranking": report.baseline.to_dict()["metrics"],
        "rerankers": rerankers,
    }


def _calls(latency: Latency) -> str:
    return f"{latency.calls:,} calls, {latency.answered:,} answered, {latency.failures.total:,} failed"


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:,.10f}".rstrip("0").rstrip(".")
