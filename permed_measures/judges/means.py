"""Means from a judge's grades, corrected by a random sample of queries that people judged too (prediction-powered)."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate, is_mean
from permed_measures.evaluate.clusters import clusters
from permed_measures.evaluate.groups import Groups
from permed_measures.evaluate.spans import is_share, span_of
from permed_measures.inference import DIFFERENCE, Estimate, Span, Units, difference_estimate, mean_estimate, units
from permed_measures.inference.student import t_quantile, t_tail
from permed_measures.inputs import Qrels, QrelsLike, RunLike, as_qrels
from permed_measures.judges.pairs import Agreement, agreement
from permed_measures.judges.scales import Scale, to_scale_of
from permed_measures.profiles import Profile, QuerySet
from permed_measures.ranking import Order
from permed_measures.render import plots
from permed_measures.render.document import Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.plots import Dot
from permed_measures.render.result import Result
from permed_measures.render.words import in_words, number
from permed_measures.render.words import queries as counted

FEWEST = 15
"""Below so many queries (clusters) judged by people, nothing is corrected."""
_FEWEST_WHOLE = 100
"""Below so many a 0/1 measure gains little."""

Source = Literal["corrected", "people"]


@dataclass(frozen=True)
class Bounds:
    """A mean, or a difference of means, with its interval; None with fewer than two units."""

    value: float
    low: float | None
    high: float | None

    @property
    def width(self) -> float:
        """How wide the interval is."""
        return math.inf if self.low is None or self.high is None else self.high - self.low

    def __str__(self) -> str:
        return self.said()

    def said(self, *, share: bool = False) -> str:
        """Write the mean and its interval; a ``share`` can be in percent."""
        value, low, high = (in_words(x, share=share) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True)
class CorrectedMean:
    """What the judge says of a measure, what people say of their sample, and both together."""

    judge: Bounds
    people: Bounds
    corrected: Bounds
    """That of people alone where it is the one to quote."""
    quote: Source
    why: str
    """Why people's is quoted; empty where the corrected one is."""
    correlation: float | None
    """Of the judge's and people's values, query by query; None where one of them is constant."""
    num_judge: int
    num_people: int
    is_whole: bool
    """Whether every value is a whole number, as those of a 0/1 measure are."""

    @property
    def gain(self) -> float | None:
        """How much narrower the quoted interval is than that of people alone, as a share."""
        return (
            None if self.people.low is None or not self.people.width else 1 - self.corrected.width / self.people.width
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {**asdict(self), "gain": self.gain}


@dataclass(frozen=True, repr=False)
class Corrected(Result):
    """What :func:`corrected` returns: three estimates of each measure, how far the judges agree, and notes."""

    means: dict[Measure, CorrectedMean]
    labels: dict[Measure, str]
    notes: list[str]
    agreement: Agreement
    level: float
    cluster: str
    is_difference: bool

    def __getitem__(self, measure: str | Measure) -> CorrectedMean:
        """Return the estimates by measure, by its print, or by the profile's name for it."""
        for known, mean in self.means.items():
            if measure in (known, str(known), self.labels[known]):
                return mean
        raise KeyError(f"{measure} was not evaluated; these were: {', '.join(map(str, self.means))}")

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "schema": 1,
            "level": self.level,
            "difference": self.is_difference,
            "cluster": self.cluster or None,
            "measures": {self.labels[m]: mean.to_dict() for m, mean in self.means.items()},
            "agreement": self.agreement.to_dict(),
            "notes": list(self.notes),
        }

    def as_table(self) -> Table:
        """Return one row per measure, its numbers unrounded."""
        heads = ["measure"]
        heads += [f"{who}{end}" for who in ("judge", "people", "corrected") for end in ("", "_low", "_high")]
        rows: list[list[Value]] = []
        for measure, mean in self.means.items():
            three = (mean.judge, mean.people, mean.corrected)
            numbers = [number for bounds in three for number in (bounds.value, bounds.low, bounds.high)]
            rows.append([self.labels[measure], *numbers, mean.correlation, mean.quote, mean.num_judge, mean.num_people])
        return Table([*heads, "correlation", "quote", "judge_queries", "people_queries"], rows)

    def document(self) -> Document:
        """Return the three estimates side by side, how far the judges agree, and the notes."""
        what = "difference" if self.is_difference else "measure"
        rows: list[list[Value]] = []
        for measure, mean in self.means.items():
            three = ((mean.judge, False), (mean.people, bool(mean.why)), (mean.corrected, not mean.why))
            share = is_share(measure)
            cells = [Cell(bounds.value, bounds.said(share=share), best=best, share=share) for bounds, best in three]
            cells.append(Cell(mean.correlation, number(mean.correlation, 2)))
            quoted = f"people: {mean.why}" if mean.why else f"corrected: {mean.gain:.0%} narrower than people alone"
            rows.append([self.labels[measure], *cells, quoted])
        heads = [what, "judge alone", "people alone", "corrected", "correlation", "quote"]
        brackets = f"In brackets: {1 - self.level:.0%} intervals."
        below = [f"{brackets} Correlation: of the judge's values with people's, query by query."]
        means = Section("", [Table(heads, rows, left=1, below=below)])
        notes = Section("", [Lines(self.notes, "note: ")])
        return Document("Corrected for the judge's errors", "", [means, notes, *self.agreement.document().sections])

    def page(self) -> Document:
        """Return the document with a plot of the intervals before the agreement."""
        document = self.document()
        dots = [
            Dot(f"{self.labels[m]}, {who}", e.value, None if e.low is None or e.high is None else (e.low, e.high))
            for m, mean in self.means.items()
            for who, e in (("judge alone", mean.judge), ("people alone", mean.people), ("corrected", mean.corrected))
        ]
        drawn = plots.dots(dots, "the three estimates of each mean with their intervals", cycle=3)
        plot = Section("", [Figure(drawn)], on="page")
        first, *rest = document.sections
        page = self.agreement.page()
        return Document(document.title, "", [first, plot, rest[0], *page.sections], style=page.style)


def corrected(  # noqa: PLR0913  (two judges, a run, and what counts; the rest by name)
    llm: QrelsLike,
    human: QrelsLike,
    run: RunLike,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    baseline: RunLike | None = None,
    profile: str | Path | Profile | None = None,
    mapping: str | Scale | None = None,
    cluster: Groups | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    alpha: float = 0.05,
    judge_name: str = "the judge",
) -> Corrected:
    """Estimate means from a judge's grades, from people's, and from both.

    ``human`` holds people's grades of a *random sample* of the queries of ``llm``, judged to the same depth: that it is
    random is the user's promise. The corrected mean is the judge's, moved by what people found on the sample. With a
    ``baseline`` all of it is about the difference run - baseline. ``mapping`` says how the judge's grades become
    people's where the scales differ: '4:1,8:2'. ``cluster`` names the independent unit, as in :func:`compare`.
    ``measures``, ``profile``, ``min_relevance``, ``queries`` and ``order`` are those of :func:`evaluate`; intervals are
    at 1 - ``alpha``, and ``judge_name`` is shown. Returns a Corrected; raises InputError where no query was judged by
    both.

    >>> qrels = {str(i): {"a": i % 2, "b": 1} for i in range(40)}
    >>> sample = {query: qrels[query] for query in list(qrels)[:20]}
    >>> result = corrected(qrels, sample, {query: ["a", "b"] for query in qrels}, "P@1")
    >>> result["P@1"].judge.value, result["P@1"].people.value, round(result["P@1"].corrected.value, 4)
    (0.5, 0.5, 0.5)
    """
    by_people = as_qrels(human)
    judged = to_scale_of(by_people, as_qrels(llm), mapping, judge_name)
    asked: dict[str, Any] = {"profile": profile, "min_relevance": min_relevance, "queries": queries, "order": order}
    shared = {query: grades for query, grades in by_people.items() if query in judged}
    if not shared:
        raise InputError("no query was judged by both: are the query ids of people and judge written alike?")
    values = [
        (evaluate(judged, which, measures, **asked), evaluate(shared, which, measures, **asked))
        for which in (run, baseline)
        if which is not None
    ]
    first = values[0][0]
    if summed := [str(measure) for measure in first.means if not is_mean(measure)]:
        raise ParamError(f"{', '.join(summed)}: only means can be corrected, and this is no mean over queries")
    means = {}
    for measure in first.means:
        from_judge, from_people = (
            _column(evaluations, measure, judgements)
            for evaluations, judgements in zip(zip(*values, strict=True), (judged, shared), strict=True)
        )
        span = DIFFERENCE if baseline is not None else span_of(measure, [from_judge])
        means[measure] = estimates(from_judge, from_people, span, cluster, alpha)
    found = agreement(by_people, judged, names=[judge_name], mapping=[], cluster=cluster)
    notes = [*_promises(judged, by_people, shared, found, judge_name), *_kinds(means, first.labels), *first.notes]
    said = "" if cluster is None else str(cluster)
    return Corrected(means, first.labels, notes, found, alpha, said, baseline is not None)


def _column(evaluations: Sequence[Evaluation], measure: Measure, judged: Qrels) -> dict[str, float]:
    """Return the values of each judged query, or the differences run - baseline where there are two.

    A mean over the queries of the run has values of others, too: nobody judged them.
    """
    first = {query: value for query, value in evaluations[0].columns[measure].items() if query in judged}
    if len(evaluations) == 1:
        return first
    second = evaluations[1].columns[measure]
    return {query: value - second[query] for query, value in first.items() if query in second}


def estimates(
    from_judge: Mapping[str, float], from_people: Mapping[str, float], span: Span, cluster: Groups | None, alpha: float
) -> CorrectedMean:
    """Return the three estimates of one measure from values per query: the judge's of all, people's of some."""
    pairs = {query: (value, from_judge[query]) for query, value in from_people.items() if query in from_judge}
    cluster_of = None if cluster is None else clusters(from_judge, cluster)
    interval = difference_estimate if span is DIFFERENCE else mean_estimate
    by_judge = units(from_judge, cluster_of)
    by_people = units({query: value for query, (value, _) in pairs.items()}, cluster_of)
    judge, people = (_bounds(interval(sample, span), sample, alpha) for sample in (by_judge, by_people))
    correlation = _correlation(list(pairs.values()))
    found = people
    if len(by_people) < FEWEST:
        why = f"fewer than {FEWEST} {'queries' if cluster is None else 'clusters'} judged by people"
    elif len(pairs) == len(from_judge):
        why = "people judged every query"
    elif correlation is None or _is_noise(correlation, len(by_people)):
        why = "the judge's values follow people's no better than noise"
    else:
        found = _prediction_powered(pairs, from_judge, cluster_of, span, alpha)
        why = "the correction is no narrower" if found.width >= people.width else ""
    quote: Source = "people" if why else "corrected"
    final = people if why else found
    whole = by_people.whole and by_judge.whole
    return CorrectedMean(judge, people, final, quote, why, correlation, len(from_judge), len(pairs), whole)


def _bounds(found: Estimate | None, sample: Units, alpha: float) -> Bounds:
    value = math.fsum(sample.sums) / sample.queries
    return Bounds(value, *((None, None) if found is None else found.interval(alpha)))


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    human, judge = zip(*pairs, strict=True)
    covariance, *variances = (_moment(a, b) for a, b in ((human, judge), (human, human), (judge, judge)))
    if min(variances) <= 1e-18:  # noqa: PLR2004  (rounding alone: (1e-9)²)
        return None
    return max(-1.0, min(1.0, covariance / math.sqrt(variances[0] * variances[1])))


def _moment(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the covariance, over n."""
    num = len(first)
    mean_1, mean_2 = math.fsum(first) / num, math.fsum(second) / num
    return math.fsum((a - mean_1) * (b - mean_2) for a, b in zip(first, second, strict=True)) / num


def _is_noise(correlation: float, num: int) -> bool:
    """Whether a positive correlation is not shown, one-sided at 5%."""
    if correlation >= 1:
        return False
    free = num - 2.0
    return t_tail(correlation * math.sqrt(free / (1 - correlation**2)), free) >= 0.05  # noqa: PLR2004  (5%)


def _prediction_powered(
    pairs: Mapping[str, tuple[float, float]],
    from_judge: Mapping[str, float],
    cluster_of: Callable[[str], str] | None,
    span: Span,
    alpha: float,
) -> Bounds:
    """Return the corrected mean; with clusters the squares are those of their sums, at their mean size."""
    human, judge = zip(*pairs.values(), strict=True)
    spread = _moment(judge, judge)
    weight = _moment(human, judge) / spread if spread else 0.0
    rest = {query: value - weight * said for query, (value, said) in pairs.items()}
    people = units(dict(zip(pairs, human, strict=True)), cluster_of)
    num, everything, num_units = len(rest), len(from_judge), len(people)
    value = weight * math.fsum(from_judge.values()) / everything + math.fsum(rest.values()) / num
    size, unit = num / num_units, (span.high - span.low) / (2 if span is DIFFERENCE else 1)
    is_whole = people.whole and all(float(said).is_integer() for said in judge)
    pseudo = (unit if is_whole else unit / 2) * size
    of_rest = _squares(units(rest, cluster_of)) + 2 * pseudo**2
    of_people = _squares(people) + (unit * size) ** 2 / 2
    variance = (1 - num / everything) * of_rest / (size**2 * num_units * (num_units + 2))
    variance += of_people / (size * (num_units + 1) * everything)
    freedom = num_units if people.sizes is None else num**2 / math.fsum(n * n for n in people.sizes)
    reach = t_quantile(1 - alpha / 2, freedom) * math.sqrt(variance)
    low, high = value - reach, value + reach
    return Bounds(value, max(low, span.low), min(high, span.high)) if span.closed else Bounds(value, low, high)


def _squares(sample: Units) -> float:
    """Return the sum of the squares of the units' sums, each without its share of the mean."""
    mean = math.fsum(sample.sums) / sample.queries
    sizes = sample.sizes or [1] * len(sample)
    return math.fsum((total - size * mean) ** 2 for total, size in zip(sample.sums, sizes, strict=True))


def _promises(judged: Qrels, by_people: Qrels, shared: Qrels, found: Agreement, name: str) -> list[str]:
    """Return what the numbers rest on beside the data."""
    promise = (
        f"people judged {counted(len(shared))} of the {len(judged):,} that {name} judged; the correction is right only "
        "if these were drawn at random (permed-measures judges --sample) and judged to the same depth"
    )
    said = [promise]
    if len(by_people) > len(shared):
        said.append(f"{counted(len(by_people) - len(shared))} of people's are not among the judge's, and do not count")
    only = found.pairs[name].only_judge
    if only:
        said.append(
            f"on these queries {only:,} documents have a grade of {name} only: where people did not judge as deep, "
            "their values are too low, and so is the correction"
        )
    return said


def _kinds(means: Mapping[Measure, CorrectedMean], labels: Mapping[Measure, str]) -> list[str]:
    few = [labels[m] for m, mean in means.items() if mean.is_whole and mean.num_people < _FEWEST_WHOLE]
    if not few:
        return []
    return [f"{', '.join(few)}: a 0/1 measure gains little from the correction below {_FEWEST_WHOLE} queries of people"]


def sample_queries(query_ids: Iterable[str], num: int, *, seed: int = 0, cluster: Groups | None = None) -> list[str]:
    """Draw queries at random, in the order they were drawn; with ``cluster`` whole clusters, ``num`` of them.

    The draw depends on the ids and the seed, not on the order in which the ids come.

    >>> sorted(sample_queries({"b", "a", "c"}, 3))
    ['a', 'b', 'c']
    """
    known = sorted(set(query_ids))
    of = {query: query for query in known} if cluster is None else clusters(known, cluster).of
    members: dict[str, list[str]] = {}
    for query in known:
        members.setdefault(of[query], []).append(query)
    what = "queries" if cluster is None else "clusters"
    if not 0 < num <= len(members):
        msg = f"a sample of {num} {what} cannot be drawn from {len(members):,}; give a number from 1 to {len(members)}"
        raise ParamError(msg)
    names = random.Random(seed).sample(list(members), num)  # noqa: S311  (a sample, no secret)
    return [query for name in names for query in members[name]]
