"""What the values of runs, query by query, allow one to say: means, changes, intervals, tests, verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, get_args

from ir_measures import Measure

from permed_measures import inference
from permed_measures.comparison import significance
from permed_measures.comparison.p_imp import PairImprovement
from permed_measures.comparison.repeats import Spread, spread
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.evaluate import columns
from permed_measures.evaluate.clusters import Clusters
from permed_measures.evaluate.spans import span_of
from permed_measures.inference import Estimate, Extra, Interval, Span, Units

PairedTest = Literal["auto", "t", "wilcoxon", "randomization"]
TESTS: tuple[PairedTest, ...] = get_args(PairedTest)
Decided = Literal["sign flips", "t", "wilcoxon", "randomization"]
Correction = Literal["holm", "bh", "none"]
CORRECTIONS: dict[Correction, Callable[[Sequence[float | None]], list[float | None]]] = {
    "holm": significance.holm,
    "bh": significance.benjamini_hochberg,
    "none": list,
}
Verdict = Literal["higher", "lower", "mixed", "equivalent", "not shown", "identical", "undefined"]
Key = tuple[str, Measure]


@dataclass(frozen=True)
class Settings:
    """How a comparison decides."""

    test: PairedTest = "auto"
    correction: Correction = "holm"
    alpha: float = 0.05
    seed: int = 0
    margin: float | None = None  # a difference that does not matter
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        """Raise ParamError for what is not allowed."""
        for name, known in (("test", TESTS), ("correction", CORRECTIONS)):
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise ParamError(f"{name}={given!r} is not allowed.{did_you_mean(str(given), known)}")
        if not 0 < self.alpha < 1:
            raise ParamError(f"alpha={self.alpha!r} is not allowed; give a number between 0 and 1, such as 0.05")
        if self.margin is not None and not 0 < self.margin < float("inf"):
            raise ParamError(f"margin={self.margin!r} is not allowed; give a number > 0, such as 0.02")

    @property
    def by_id(self) -> bool:
        """Whether the ids of queries matter to a test."""
        return self.clusters is not None or self.test == "randomization"


@dataclass(frozen=True)
class Mean:
    """The mean of one run over the queries of one table; None where it has none of them."""

    value: float | None
    interval: Interval | None
    queries: int
    estimate: Estimate | None = None  # what the interval is made of


@dataclass(frozen=True)
class Change:
    """One run against the baseline, by one measure, over the queries that both have."""

    queries: int
    units: int  # how many independent units these queries are
    difference: float | None
    relative: float | None
    """The personalization gain: the difference as a share of the baseline's mean; None where that is 0."""
    interval: Interval | None  # of the difference; not corrected
    p_values: Mapping[str, float | None]
    """By test, not corrected; the randomization test where it is exact or was chosen."""
    wins: int
    ties: int
    losses: int
    effect_size: float | None
    decided_by: Decided  # the test that decides here
    direction: int  # the sign of what that test looks at
    smallest_p: float | None
    """What that test could at best have found with as many units that differ; None where there is no such bound."""
    estimate: Estimate | None
    equivalent: bool | None  # whether the 90% interval (k = 2) lies within the margin; None without one
    shown: Estimate | None  # what the interval is made of; the estimate before is not widened
    rare: bool  # whether a few units carry most of the change, all of one sign: no interval is safe then
    p: float | None = None  # of the test that decides
    p_adjusted: float | None = None
    detectable: float | None = None
    """The smallest difference that as many units show four times out of five, at the level that decides."""
    tested: bool = True  # whether the correction counts it; not where the test could not have shown anything (Tarone)
    verdict: Verdict = "undefined"

    @property
    def significant(self) -> bool:
        """Whether the test that decides, corrected, supports a difference of the mean: the star."""
        return self.verdict in ("higher", "lower")

    @property
    def interval_disagrees(self) -> bool:
        """Whether the interval leaves zero out and the test does not, or the other way round."""
        low, high = self.interval or (0.0, 0.0)
        return self.interval is not None and self.verdict != "undefined" and self.significant == (low <= 0 <= high)


@dataclass(frozen=True)
class Table:
    """All queries, or those of one group."""

    group: str | None
    queries: int
    units: int
    means: Mapping[Key, Mean]
    changes: Mapping[Key, Change]
    p_imp: Mapping[str, PairImprovement]
    spreads: Mapping[Key, Spread] = field(default_factory=dict)
    """How far the runs of a system are apart, where it has several; in every interval and p-value already."""

    @property
    def tested(self) -> int:
        """How many comparisons the correction counts here."""
        return sum(change.tested and change.p is not None for change in self.changes.values())


@dataclass(frozen=True)
class Values:
    """The value of every query, by run and measure; the first run is the baseline."""

    names: Sequence[str]
    by_key: Mapping[Key, Mapping[str, float]]
    settings: Settings
    repeats: Mapping[Key, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    """The values of every single run, where a system has several."""

    def spreads(self, query_ids: Sequence[str] | None = None) -> dict[Key, Spread]:
        """Return how far the runs of systems are apart over some queries, or all."""
        found = {key: spread(columns, query_ids) for key, columns in self.repeats.items()}
        return {key: known for key, known in found.items() if known is not None}

    @property
    def measures(self) -> list[Measure]:
        """The measures, in the order they were asked for."""
        return list(dict.fromkeys(measure for _, measure in self.by_key))

    @cached_property
    def _spans(self) -> dict[Measure, Span]:
        return {m: span_of(m, [self.by_key[name, m] for name in self.names]) for m in self.measures}

    def table(self, group: str | None, query_ids: Sequence[str] | None, p_imp: Mapping[str, PairImprovement]) -> Table:
        """Make the table of all queries, or of a group; its verdicts come with the correction."""
        parts = self.by_key
        if query_ids is not None:
            parts = {key: {q: column[q] for q in query_ids if q in column} for key, column in parts.items()}
        means, changes = {}, {}
        drawn: dict[Key, Units] = {}
        spreads = self.spreads(query_ids)
        extra = {key: spreads[key].extra if key in spreads else () for key in parts}
        for measure, span in self._spans.items():
            for name in self.names:
                key = name, measure
                means[key] = self._mean(parts[key], span, extra[key])
                if name != self.names[0]:
                    first = self.names[0], measure
                    added = (*extra[key], *extra[first])
                    changes[key], drawn[key] = self._change(parts[first], parts[key], span, added)
        if self.settings.test == "randomization":
            _draw(changes, drawn, self.settings.seed)
        present = columns.all_ids(parts.values())
        units = len(present) if self.settings.clusters is None else len(set(map(self.settings.clusters, present)))
        return Table(group, len(present), units, means, changes, p_imp, spreads)

    def _mean(self, column: Mapping[str, float], span: Span, extra: Extra) -> Mean:
        found = inference.mean_estimate(inference.units(column, self.settings.clusters), span, extra=extra)
        interval = None if found is None else found.interval(self.settings.alpha)
        return Mean(fmean(column.values()) if column else None, interval, len(column), found)

    def _change(
        self, before: Mapping[str, float], after: Mapping[str, float], span: Span, extra: Extra
    ) -> tuple[Change, Units]:
        settings = self.settings
        query_ids, old, differences = columns.differences(before, after)
        by_query = dict(zip(query_ids, differences, strict=True)) if settings.by_id else differences
        if isinstance(by_query, dict):  # what is drawn does not depend on the order of the file
            by_query = dict(sorted(by_query.items()))
        sample = inference.units(by_query, settings.clusters)
        wide = span.of_differences
        found = inference.estimate(sample, extra=extra)
        k = inference.widening(sample)
        shown = inference.estimate(sample, k, wide, extra=extra) if k else found
        decided_by = _deciding(sample, settings, extra)
        ranks = significance.wilcoxon(sample.means)
        difference, base = (fmean(differences), fmean(old)) if len(old) else (None, None)
        sign = 0 if difference is None else (difference > 0) - (difference < 0)
        p_values = {
            "t": inference.mean_p(sample, found),
            "wilcoxon": None if ranks is None else ranks[0],
            "randomization": inference.sign_flip_p(sample) if len(sample) > 1 else None,
        }
        margin = settings.margin
        change = Change(
            queries=len(differences),
            units=len(sample),
            difference=difference,
            relative=difference / base if difference is not None and base else None,
            interval=None if shown is None else shown.interval(settings.alpha),
            p_values=p_values,
            wins=sum(map((0.0).__lt__, differences)),
            ties=differences.count(0.0),
            losses=sum(map((0.0).__gt__, differences)),
            effect_size=significance.effect_size(differences),
            decided_by=decided_by,
            direction=ranks[1] if ranks and decided_by == "wilcoxon" else sign,
            smallest_p=_smallest(sample, decided_by),
            estimate=found,
            equivalent=None if margin is None else inference.equivalent(sample, margin, wide, extra=extra),
            shown=shown,
            rare=inference.one_sided_few(sample),
            p=p_values["randomization" if decided_by == "sign flips" else decided_by],
        )
        return change, sample


def _deciding(sample: Units, settings: Settings, extra: Extra) -> Decided:
    few_clusters = settings.clusters is not None and len(sample) < inference.FEWEST_CLUSTERS
    if settings.test in ("wilcoxon", "randomization"):
        return settings.test
    if few_clusters or (settings.test == "auto" and len(sample) <= inference.EXACT_UNITS and not extra):
        return "sign flips"
    return "t"


def _smallest(sample: Units, decided_by: Decided) -> float | None:
    if decided_by == "t" or len(sample) < 2:  # noqa: PLR2004  (one unit has no test)
        return None
    smallest = inference.smallest_sign_flip_p(sample)
    drawn = decided_by == "randomization" and len(sample.nonzero) > inference.EXACT_UNITS
    return max(smallest, 1 / (inference.draws(len(sample)) + 1)) if drawn else smallest


def _draw(changes: dict[Key, Change], samples: Mapping[Key, Units], seed: int) -> None:
    """Draw signs for the changes that have no exact p-value; those with as many units share the draws."""
    import numpy as np  # noqa: PLC0415  (only for drawing)

    wanted = [key for key, change in changes.items() if change.p is None and change.units > 1]
    for num in {changes[key].units for key in wanted}:
        keys = [key for key in wanted if changes[key].units == num]
        columns = np.column_stack([np.asarray(samples[key].sums) for key in keys])
        for key, p_value in zip(keys, inference.drawn_sign_flip_p(columns, seed), strict=True):
            p_values = {**changes[key].p_values, "randomization": p_value}
            changes[key] = replace(changes[key], p=p_value, p_values=p_values)


def judge(tables: Sequence[Table], settings: Settings) -> list[Table]:
    """Correct the p-values of all these tables together, and say what each change comes to."""
    changes = [change for table in tables for change in table.changes.values()]
    bounds = [1.0 if change.p is None else change.smallest_p for change in changes]
    counts = significance.within_reach(bounds, settings.alpha)
    if settings.correction != "holm":  # only what cannot reach the level at all leaves the count
        counts = [bound is None or bound < settings.alpha for bound in bounds]
    correct = CORRECTIONS[settings.correction]
    adjusted = correct([change.p if count else None for change, count in zip(changes, counts, strict=True)])
    comparisons = 1 if settings.correction == "none" else max(1, sum(p is not None for p in adjusted))
    judged = iter(
        [
            _judged(change, p_adjusted if count else change.p and 1.0, count, comparisons, settings)
            for change, p_adjusted, count in zip(changes, adjusted, counts, strict=True)
        ]
    )
    return [replace(table, changes={key: next(judged) for key in table.changes}) for table in tables]


def _judged(change: Change, p_adjusted: float | None, tested: bool, comparisons: int, settings: Settings) -> Change:  # noqa: FBT001  (private)
    found = change.estimate
    detectable = None
    if found is not None:
        detectable = inference.detectable(found.error, found.freedom + 1, settings.alpha, comparisons)
    verdict = _verdict(change, p_adjusted, settings.alpha)
    return replace(change, p_adjusted=p_adjusted, detectable=detectable, tested=tested, verdict=verdict)


def _verdict(change: Change, p_adjusted: float | None, alpha: float) -> Verdict:
    if p_adjusted is None or change.difference is None:
        return "undefined"
    if change.ties == change.queries:
        return "identical"
    if p_adjusted < alpha and change.direction:
        low, high = change.interval or (0.0, 0.0)
        if change.decided_by == "wilcoxon" and not (low > 0 if change.direction > 0 else high < 0):
            return "mixed"
        return "higher" if change.direction > 0 else "lower"
    return "equivalent" if change.equivalent else "not shown"


def change_notes(whole: Table, labels: Mapping[Measure, str]) -> list[str]:
    """Say which changes run over fewer queries than the means, or rest on a few queries."""
    notes = []
    for (name, measure), change in whole.changes.items():
        if change.queries < max(mean.queries for (_, known), mean in whole.means.items() if known == measure):
            notes.append(
                f"{labels[measure]} of {name}: the mean runs over its own queries, the change over the "
                f"{change.queries:,} that the baseline has too"
            )
        if change.rare:
            notes.append(
                f"{labels[measure]} of {name}: a few queries carry most of the change, all of one sign; below some 200 "
                "queries intervals and tests are not safe then: look at these queries"
            )
    return notes
