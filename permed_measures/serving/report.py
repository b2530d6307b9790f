"""What people read of serving figures and of rerankers: tables, plots, and what they mean."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge
from typing import Any, ClassVar

from permed_measures.evaluate import Evaluation
from permed_measures.inference import difference_estimate, units
from permed_measures.profiles import Profile
from permed_measures.render.document import Document, Figure, Lines, Section, Table, Value
from permed_measures.render.html import figures
from permed_measures.render.result import Result
from permed_measures.render.words import NONE, milliseconds, number, percent, queries
from permed_measures.serving import plots
from permed_measures.serving.answers import Answers, Recorded
from permed_measures.serving.latency import Latency
from permed_measures.serving.summary import Cost, Roi, ServingSummary, roi
from permed_measures.serving.targets import NOT_MEASURED, Targets, Verdict, Worth
from permed_measures.serving.throughput import Load, LoadKey

_BASIS = (
    "percentiles are interpolated linearly between samples (numpy's default)",
    "P95 interval: 95%, bootstrap over calls (percentile method)",
)
_LOOPS = {
    False: "closed loop: a thread calls again when it has its answer; this tells the capacity, not how long users wait "
    "for a server that stalls",
    True: "open loop: calls are due whatever the server does, evenly spaced or at random (Poisson); latency runs from "
    "the time a call was due, so that a stall counts for every call that waited through it (no coordinated omission)",
}


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

    def record(self) -> dict[str, Any]:
        """Return flat figures first, as ``gate --serving`` reads them, then what has a structure."""
        notes = [*self.summary.notes, *self.summary.latency.notes]
        record = {**self.summary.to_dict(), "name": self.name, **_parts(self.summary)}
        return record | {"targets": [verdict.to_dict() for verdict in self.verdicts], "notes": notes}

    def as_table(self) -> Table:
        """Return the figures."""
        return self.summary.as_table()

    def document(self) -> Document:
        """Return the figures by table, the plots, and what they mean."""
        summary, latency = self.summary, self.summary.latency
        tables = [_latency_table({self.name: latency}, "Latency in ms", "log")]
        if by_size := latency.by_size():
            tables.append(_latency_table(by_size, "Latency in ms by number of candidates", "candidates"))
        rest = {n: v for n, v in summary.to_dict().items() if n.startswith(("qps", "usd", "tokens", "queries"))}
        rows = [[n, f"{v:,.6g}"] for n, v in rest.items()]
        tables.append(Table(["figure", "value"], rows, "Throughput and cost", left=1))
        tables += [*_load_tables({self.name: summary.loads}), _target_table({self.name: self.verdicts})]
        tables.append(_failure_table({self.name: summary}))
        lines = [*_BASIS, *_loops([summary.loads]), *[f"note: {n}" for n in [*summary.notes, *latency.notes]]]
        said = f"{latency.calls:,} calls, {latency.answered:,} answered, {latency.failures.total:,} failed"
        return _document(f"Serving: {self.name}", said, tables, {self.name: latency}, lines)


@dataclass(frozen=True, eq=False)
class Reranked:
    """One reranker: its quality, how it serves, and the run it made."""

    name: str
    evaluation: Evaluation
    serving: ServingSummary
    run: Answers
    notes: tuple[str, ...] = ()
    recorded: Recorded = field(default_factory=Recorded)

    @property
    def quality(self) -> dict[str, float]:
        """The means by the profile's names."""
        return {self.evaluation.labels[measure]: mean for measure, mean in self.evaluation.means.items()}

    @property
    def numbers(self) -> dict[str, float]:
        """Quality and serving figures under one set of names, as targets and gates ask for them."""
        return self.quality | self.serving.to_dict()

    @property
    def by_size(self) -> Mapping[int, Latency]:
        """Latency with the candidates cut to so many, where that was measured."""
        return self.serving.by_size

    @property
    def all_notes(self) -> list[str]:
        """What its numbers rest on."""
        return [*self.notes, *self.evaluation.notes, *self.serving.notes, *self.serving.latency.notes]

    def __str__(self) -> str:
        return f"{self.name}\n{self.evaluation}\n{self.serving}"


@dataclass(frozen=True, eq=False, repr=False)
class RerankReport(Result):
    """Several rerankers beside the list without reranking."""

    NO_RERANKING: ClassVar[str] = "no reranking"

    baseline: Evaluation
    rerankers: tuple[Reranked, ...]
    profile: Profile
    targets: Targets | None = None  # the profile's, where none are given
    revenue_per_query: float | None = None

    @property
    def main(self) -> str:
        """The name of the main measure: the profile's first."""
        return self.profile.entries[0].name

    def verdicts(self, reranked: Reranked) -> list[Verdict]:
        """Judge the targets."""
        return (self.targets or Targets.of_profile(self.profile)).check(reranked.numbers)

    def worth(self, reranked: Reranked) -> Worth:
        """Judge the improvement of the main measure over the list without reranking."""
        worth_it = Targets().worth_it if self.targets is None else self.targets.worth_it
        return Worth(self.main, self.baseline[self.main], reranked.quality[self.main], worth_it)

    def roi(self, reranked: Reranked) -> Roi | None:
        """Return the return on investment, where cost, queries a day and revenue are known."""
        cost, per_day, revenue = reranked.serving.cost, reranked.serving.queries_per_day, self.revenue_per_query
        if cost is None or per_day is None or revenue is None or self.baseline[self.main] <= 0:
            return None
        old, new = (of.columns[self.profile.entries[0].measure] for of in (self.baseline, reranked.evaluation))
        found = difference_estimate(units([new[query_id] - old[query_id] for query_id in old if query_id in new]))
        return roi(
            self.baseline[self.main],
            reranked.quality[self.main],
            usd_per_query=cost.usd_per_query,
            queries_per_day=per_day,
            revenue_per_query=revenue,
            difference_interval=None if found is None else found.interval(),
        )

    @property
    def pareto(self) -> dict[str, bool]:
        """Which rerankers no other one, nor doing without, dominates: by main measure, P95 and, where known, cost."""
        priced = all(reranked.serving.cost is not None for reranked in self.rerankers)
        points = {self.NO_RERANKING: (self.baseline[self.main], 0.0, 0.0)}
        for reranked in self.rerankers:
            numbers = reranked.numbers
            if "p95_ms" in numbers:
                usd = numbers["usd_per_query"] if priced else 0.0
                points[reranked.name] = (numbers[self.main], -numbers["p95_ms"], -usd)
        beaten = {n for n, p in points.items() if any(o != p and all(map(ge, o, p)) for o in points.values())}
        return {reranked.name: reranked.name in points.keys() - beaten for reranked in self.rerankers}

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        pareto, rerankers = self.pareto, []
        for reranked in self.rerankers:
            gain = self.roi(reranked)
            record = {"name": reranked.name, "quality": reranked.quality, "serving": reranked.serving.to_dict()}
            record |= _parts(reranked.serving) | {
                "targets": [verdict.to_dict() for verdict in self.verdicts(reranked)],
                "worth_it": self.worth(reranked).to_dict(),
                "roi": None if gain is None else gain.to_dict(),
                "pareto": pareto[reranked.name],
                "notes": reranked.all_notes,
            }
            rerankers.append(record)
        return {
            "profile": self.profile.name,
            "main_measure": self.main,
            "measures": {label: str(measure) for measure, label in self.baseline.labels.items()},
            "no_reranking": self.baseline.to_dict()["metrics"],
            "rerankers": rerankers,
        }

    def as_table(self) -> Table:
        """Return one row per reranker, and one without; every number whole."""
        found = {self.NO_RERANKING: self.baseline.to_dict()["metrics"]}
        found |= {reranked.name: reranked.numbers for reranked in self.rerankers}
        heads = list(dict.fromkeys(name for numbers in found.values() for name in numbers))
        rows: list[list[Value]] = [[name, *map(numbers.get, heads)] for name, numbers in found.items()]
        return Table(["reranker", *heads], rows)

    def document(self) -> Document:
        """Return quality, speed and cost side by side, the plots, and what is worth it."""
        summaries = {reranked.name: reranked.serving for reranked in self.rerankers}
        latencies = {name: serving.latency for name, serving in summaries.items()}
        tables = [self._quality_table(), _latency_table(latencies, "Latency in ms", "reranker")]
        for reranked in self.rerankers:
            title = f"Latency in ms by number of candidates: {reranked.name}"
            sizes = reranked.serving.latency.by_size()
            if reranked.by_size:
                cut = {str(size): latency for size, latency in reranked.by_size.items()}
                tables.append(_latency_table(cut, f"{title}, lists cut to so many", "candidates"))
            elif len(sizes) > 1:
                tables.append(_latency_table(sizes, title, "candidates"))
        tables += _load_tables({name: serving.loads for name, serving in summaries.items()})
        tables.append(_target_table({reranked.name: self.verdicts(reranked) for reranked in self.rerankers}))
        costs = [(one, one.serving.cost) for one in self.rerankers if one.serving.cost is not None]
        heads = ["reranker", "$/M tokens", "tokens/query", "$/query", "$/M queries", "$/day", "revenue $/day"]
        rows = [self._cost_row(one, cost) for one, cost in costs]
        tables.append(Table([*heads, "ROI", "ROI interval"], rows, "Cost", left=1))
        tables.append(_failure_table(summaries))
        lines = [f"{reranked.name}: {self.worth(reranked)}" for reranked in self.rerankers]
        lines += [f"{label} = {measure}" for measure, label in self.baseline.labels.items() if label != str(measure)]
        lines.append(
            f"Pareto: neither another one nor doing without is at least as good by {self.main}, as fast by P95 and as "
            "cheap, and better in one of them"
        )
        lines += [*_BASIS, *_loops(serving.loads for serving in summaries.values())]
        lines += [f"note: {reranked.name}: {note}" for reranked in self.rerankers for note in reranked.all_notes]
        count = len(next(iter(self.baseline.columns.values())))
        said = f"{queries(count)}, profile {self.profile.name}"
        return _document(f"Rerankers: {', '.join(latencies)}", said, tables, latencies, lines)

    def _quality_table(self) -> Table:
        labels = list(self.baseline.labels.values())
        rows = [[self.NO_RERANKING, *[number(self.baseline[label]) for label in labels], *[NONE] * 5]]
        pareto = self.pareto
        for reranked in self.rerankers:
            change = self.worth(reranked).improvement
            shown = [number(reranked.quality[label]) for label in labels]
            shown += ["from 0" if math.isinf(change) else percent(change), reranked.serving.latency.shown("p95_ms")]
            shown.append(_plain(reranked.numbers.get("usd_per_query")))
            shown += [str(reranked.serving.latency.failures.total), "yes" if pareto[reranked.name] else "no"]
            rows.append([reranked.name, *shown])
        heads = ["reranker", *labels, f"change of {self.main}", "P95 ms", "$/query", "failed", "Pareto"]
        return Table(heads, rows, "Quality, speed and cost", left=1)

    def _cost_row(self, reranked: Reranked, cost: Cost) -> list[str]:
        gain, per_day = self.roi(reranked), reranked.serving.queries_per_day
        shown = [_plain(cost.usd_per_million_tokens), _plain(cost.tokens), _plain(cost.usd_per_query)]
        shown.append(f"{cost.usd_per_million_queries:,.2f}")
        shown.append(NONE if per_day is None else f"{cost.usd_per_day(per_day):,.2f}")
        shown.append(NONE if gain is None else f"{gain.revenue_increase_usd_per_day:+,.2f}")
        between = () if gain is None else gain.roi_interval
        shown += [percent(None if gain is None else gain.roi), " to ".join(map(percent, between)) if between else NONE]
        return [reranked.name, *shown]


def _parts(summary: ServingSummary) -> dict[str, Any]:
    """Return what has a structure, for JSON."""
    sizes: Mapping[Any, Latency] = summary.by_size or summary.latency.by_size()
    return {
        "by_size": {str(size): part.to_dict() for size, part in sizes.items()},
        "loads": [load.to_dict() for load in summary.loads.values()],
        "failures_by_type": summary.latency.failures.to_list(),
    }


def _document(
    title: str, summary: str, tables: Sequence[Table], latencies: Mapping[str, Latency], lines: Sequence[str]
) -> Document:
    filled = [table for table in tables if table.rows]
    sections = [Section("", [table], f"table-{place}") for place, table in enumerate(filled, 1)]
    answered = {name: latency for name, latency in latencies.items() if latency.answered}
    if answered:
        shares = "Share of calls answered within a time"
        drawn = [Figure(plots.distribution(answered), shares, legend=plots.legend(answered))]
        for colour, (name, latency) in enumerate(answered.items(), 1):
            drawn.append(Figure(plots.histogram(name, latency, colour), f"{name}: number of calls by latency"))
        sections.insert(1, Section("Latency", [figures(drawn)], "latency", on="page"))
    sections.append(Section("Definitions and notes", [Lines(lines)], "notes"))
    return Document(title, summary, sections)


def _latency_table(latencies: Mapping[str, Latency], title: str, what: str) -> Table:
    rows = []
    for name, latency in latencies.items():
        between = NONE if latency.p95_interval_ms is None else " to ".join(map(milliseconds, latency.p95_interval_ms))
        shown = {key: latency.shown(f"{key}_ms") for key in ("p50", "p95", "p99", "mean", "std", "min", "max")}
        counts = [f"{latency.answered:,}", f"{latency.failures.total:,}"]
        rows.append([name, *counts, shown.pop("p50"), shown.pop("p95"), between, *shown.values()])
    heads = [what, "answered", "failed", "P50", "P95", "P95 interval", "P99", "mean", "std", "min", "max"]
    return Table(heads, rows, title, left=1)


def _load_tables(loads: Mapping[str, Mapping[LoadKey, Load]]) -> list[Table]:
    heads = ["offered/s", "answers/s", "P50 ms", "P95 ms", "P99 ms", "failed", "share"]
    rows: dict[bool, list[list[str]]] = {False: [], True: []}
    for name, load in ((name, load) for name, by_key in loads.items() for load in by_key.values()):
        failed, is_open = load.latency.failures.total, load.arrival_rate is not None
        row = [name, str(load.threads), *([f"{load.arrival_rate:g} {load.arrivals}"] if is_open else [])]
        row += [NONE if math.isnan(rate) else f"{rate:,.1f}" for rate in (load.offered_qps, load.qps)]
        row += [load.latency.shown(key) for key in ("p50_ms", "p95_ms", "p99_ms")]
        rows[is_open].append([*row, f"{failed:,}", f"{failed / (load.latency.calls or 1):.1%}"])
    closed = Table(["system", "threads", *heads], rows[False], "Throughput, closed loop", left=1)
    return [closed, Table(["system", "threads", "arrivals/s", *heads], rows[True], "Throughput, open loop", left=1)]


def _loops(loads: Iterable[Mapping[LoadKey, Load]]) -> list[str]:
    kinds = {load.arrival_rate is not None for by_threads in loads for load in by_threads.values()}
    return [said for is_open, said in _LOOPS.items() if is_open in kinds]


def _target_table(verdicts: Mapping[str, list[Verdict]]) -> Table:
    rows = []
    for name, v in ((name, verdict) for name, judged in verdicts.items() for verdict in judged):
        levels = [f"{v.sign} {level:g}" for level in (v.target.target, v.target.excellent)]
        rows.append([name, v.target.name, str(v), NONE if v.value is None else f"{v.value:.4g}", *levels])
    return Table(["system", "figure", "verdict", "value", "target", "excellent"], rows, "Targets", left=3)


def _failure_table(summaries: Mapping[str, ServingSummary]) -> Table:
    measured = {name: summary.latency for name, summary in summaries.items()}
    for name, load in ((name, load) for name, summary in summaries.items() for load in summary.loads.values()):
        rate = "" if load.arrival_rate is None else f", {load.arrival_rate:g}/s"
        measured[f"{name}, {load.threads} threads{rate}"] = load.latency
    rows = [
        [name, failure.kind, failure.first_message, str(failure.count)]
        for name, latency in measured.items()
        for failure in latency.failures.by_kind.values()
    ]
    return Table(["system", "type", "first message", "calls"], rows, "Failed calls", left=3)


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:,.10f}".rstrip("0").rstrip(".")
