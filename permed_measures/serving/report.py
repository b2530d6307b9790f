"""Serving figures and rerankers as text, markdown, JSON or one HTML page. Nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.serving import plots
from permed_measures.serving.document import Document, Figure, Table, html, markdown, text
from permed_measures.serving.latency import Latency
from permed_measures.serving.rerank import BASELINE, RerankReport
from permed_measures.serving.summary import ServingSummary
from permed_measures.serving.targets import NOT_MEASURED, Targets, Verdict
from permed_measures.serving.throughput import Load

NONE = "–"  # noqa: RUF001  (an en dash: nothing to show)
_WRITERS: dict[str, Callable[[Document], str]] = {"text": text, "markdown": markdown, "html": html}
FORMATS = (*_WRITERS, "json")

_PERCENTILES = "percentiles are interpolated linearly between samples (numpy's default)"
_INTERVAL = "P95 interval: 95%, bootstrap over calls (percentile method)"
_OPEN_LOOP = (
    "open loop: calls are due at fixed times and latency runs from the time a call was due, so that a stall counts for "
    "every call that waited through it (no coordinated omission)"
)
_CLOSED_LOOP = (
    "closed loop: a thread calls again when it has its answer; this tells the capacity, not how long users wait for a "
    "server that stalls"
)
_LOOPS = {False: ("Throughput, closed loop", _CLOSED_LOOP), True: ("Throughput, open loop", _OPEN_LOOP)}
"""By whether the loop is open."""


@dataclass(frozen=True, eq=False)
class ServingReport:
    """The serving figures of one system, judged by targets."""

    name: str
    summary: ServingSummary
    targets: Targets

    @property
    def verdicts(self) -> list[Verdict]:
        """The targets there are figures for."""
        return [v for v in self.targets.check(self.summary.to_dict()) if v.status != NOT_MEASURED]


def render(report: ServingReport | RerankReport, form: str = "text") -> str:
    """Return the report in one of FORMATS."""
    if form not in FORMATS:
        raise ParamError(f"unknown report format {form!r}.{did_you_mean(form, FORMATS)}")
    if form == "json":
        record = _serving_record(report) if isinstance(report, ServingReport) else _rerank_record(report)
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    made = _serving_document(report) if isinstance(report, ServingReport) else _rerank_document(report)
    return _WRITERS[form](made)


def _serving_document(report: ServingReport) -> Document:
    summary, latency = report.summary, report.summary.latency
    tables = [_latency_table({report.name: latency}, "Latency in ms", "log")]
    by_size = latency.by_size()
    if by_size:
        tables.append(_latency_table(by_size, "Latency in ms by number of candidates", "candidates"))
    rest = {n: v for n, v in summary.to_dict().items() if n.startswith(("qps", "usd", "tokens", "queries"))}
    if rest:
        tables.append(Table("Throughput and cost", ["figure", "value"], [[n, f"{v:,.6g}"] for n, v in rest.items()]))
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
    return Document(f"Serving: {report.name}", _calls(latency), tables, lines, _figures({report.name: latency}))


def _rerank_document(report: RerankReport) -> Document:
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
    summary = f"{'1 query' if count == 1 else f'{count:,} queries'}, profile {report.profile.name}"
    return Document(f"Rerankers: {', '.join(latencies)}", summary, tables, lines, _figures(latencies))


def _quality_table(report: RerankReport) -> Table:
    labels = list(report.baseline.labels.values())
    heads = ["reranker", *labels, f"change of {report.main}", "P95 ms", "$/query", "failed", "Pareto"]
    rows = [[BASELINE, *[f"{report.baseline[label]:.4f}" for label in labels], *[NONE] * 5]]
    pareto = report.pareto
    for reranked in report.rerankers:
        numbers = reranked.numbers
        worth = report.worth(reranked)
        rows.append(
            [
                reranked.name,
                *[f"{reranked.quality[label]:.4f}" for label in labels],
                "from 0" if worth.to_dict()["improvement"] is None else f"{worth.improvement:+.1%}",
                _ms(numbers.get("p95_ms")),
                _plain(numbers.get("usd_per_query")),
                str(reranked.serving.latency.failures.total),
                "yes" if pareto[reranked.name] else "no",
            ]
        )
    return Table("Quality, speed and cost", heads, rows)


def _latency_table(latencies: Mapping[str, Latency], title: str, what: str) -> Table:
    rows = []
    for name, latency in latencies.items():
        numbers = latency.to_dict()
        interval = latency.p95_interval_ms
        between = NONE if interval is None else f"{_ms(interval[0])} to {_ms(interval[1])}"
        keys = ("mean_ms", "std_ms", "min_ms", "max_ms")
        rows.append(
            [
                name,
                f"{latency.answered:,}",
                f"{latency.failures.total:,}",
                *[_ms(numbers.get(key)) for key in ("p50_ms", "p95_ms")],
                between,
                _ms(numbers.get("p99_ms")),
                *[_ms(numbers.get(key)) for key in keys],
            ]
        )
    heads = [what, "answered", "failed", "P50", "P95", "P95 interval", "P99", "mean", "std", "min", "max"]
    return Table(title, heads, rows)


def _load_tables(loads: Mapping[str, Mapping[int, Load]]) -> list[Table]:
    tables = []
    for is_open, (title, _) in _LOOPS.items():
        rows = [
            [
                name,
                str(load.threads),
                *([f"{load.arrival_rate:g}"] if load.arrival_rate is not None else []),
                f"{load.qps:,.1f}",
                *[_ms(load.latency.to_dict().get(key)) for key in ("p50_ms", "p95_ms", "p99_ms")],
                str(load.latency.failures.total),
            ]
            for name, by_threads in loads.items()
            for load in by_threads.values()
            if (load.arrival_rate is not None) == is_open
        ]
        arrivals = ["arrivals/s"] if is_open else []
        heads = ["system", "threads", *arrivals, "answers/s", "P50 ms", "P95 ms", "P99 ms", "failed"]
        if rows:
            tables.append(Table(title, heads, rows))
    return tables


def _loops(loads: Iterable[Mapping[int, Load]]) -> list[str]:
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
    return Table("Targets", ["system", "figure", "verdict", "value", "target", "excellent"], rows, left=3)


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
                NONE if gain is None or gain.roi is None else f"{gain.roi:+.1%}",
            ]
        )
    heads = ["reranker", "$/M tokens", "tokens/query", "$/query", "$/M queries", "$/day", "revenue $/day", "ROI"]
    return [Table("Cost", heads, rows)] if rows else []


def _failure_tables(summaries: Mapping[str, ServingSummary]) -> list[Table]:
    measured = {name: summary.latency for name, summary in summaries.items()}
    for name, summary in summaries.items():
        measured |= {f"{name}, {n} threads": load.latency for n, load in summary.loads.items()}
    rows = [
        [name, failure.kind, failure.first_message, str(failure.count)]
        for name, latency in measured.items()
        for failure in latency.failures.by_kind.values()
    ]
    heads = ["system", "type", "first message", "calls"]
    return [Table("Failed calls", heads, rows, left=3)] if rows else []


def _figures(latencies: Mapping[str, Latency]) -> list[Figure]:
    answered = {name: latency for name, latency in latencies.items() if latency.answered}
    if not answered:
        return []
    figures = [Figure("Share of calls answered within a time", plots.distribution(answered), plots.legend(answered))]
    for colour, (name, latency) in enumerate(answered.items(), 1):
        figures.append(Figure(f"{name}: number of calls by latency", plots.histogram(name, latency, colour)))
    return figures


def _serving_record(report: ServingReport) -> dict[str, Any]:
    """Flat figures first, as ``gate --serving`` reads them, then what has a structure."""
    latency = report.summary.latency
    return {
        **report.summary.to_dict(),
        "name": report.name,
        "by_size": {size: part.to_dict() for size, part in latency.by_size().items()},
        "loads": [load.to_dict() for load in report.summary.loads.values()],
        "failures_by_type": latency.failures.to_list(),
        "targets": [verdict.to_dict() for verdict in report.verdicts],
        "notes": [*report.summary.notes, *latency.notes],
    }


def _rerank_record(report: RerankReport) -> dict[str, Any]:
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


def _ms(value: float | None) -> str:
    if value is None:
        return NONE
    decimals = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 4  # noqa: PLR2004  (about four digits)
    return f"{value:,.{decimals}f}"


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:,.10f}".rstrip("0").rstrip(".")
