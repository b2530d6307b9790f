"""Runs against a baseline: changes, intervals, tests, corrections, groups. Data only; report/ makes text of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import ir_measures
import numpy as np
from ir_measures import Measure

from permed_measures.comparison import significance
from permed_measures.comparison.groups import Groups, group_label, grouped
from permed_measures.comparison.p_imp import PairImprovement, Tops, pair_improvement, tops
from permed_measures.comparison.significance import SAME, Interval
from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import Evaluation, evaluate, read_for
from permed_measures.inputs import Qrels, QrelsLike, RunLike, as_qrels
from permed_measures.profiles import Profile, QuerySet
from permed_measures.ranking import Order
from permed_measures.render.progress import Step
from permed_measures.render.result import Format, Result, written

if TYPE_CHECKING:
    from permed_measures.comparison.significance import Floats
    from permed_measures.render.document import Document
    from permed_measures.render.document import Table as Rows

PairedTest = Literal["t", "wilcoxon", "randomization"]
TESTS: tuple[PairedTest, ...] = get_args(PairedTest)
Correction = Literal["holm", "bh", "none"]
CORRECTIONS: dict[Correction, Callable[[Sequence[float | None]], list[float | None]]] = {
    "holm": significance.holm,
    "bh": significance.benjamini_hochberg,
    "none": list,
}
_USUAL_CUTOFF = 10

Key = tuple[str, Measure]
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Mean:
    """The mean of one run over the queries of one table; None where it has none of them."""

    value: float | None
    interval: Interval | None
    queries: int


@dataclass(frozen=True)
class Change:
    """One run against the baseline, by one measure, over the queries that both have."""

    queries: int
    difference: float | None
    relative: float | None
    """The personalization gain: the difference as a share of the baseline's mean; None where that is 0."""
    interval: Interval | None
    """Of the difference: BCa bootstrap, queries drawn in pairs."""
    p_values: Mapping[str, float | None]
    """By test, not corrected."""
    wins: int
    ties: int
    losses: int
    effect_size: float | None
    detectable: float | None
    """The smallest difference that this many queries would show four times out of five."""
    smallest_p: float | None
    """What the chosen test could at best have found with this many queries that differ."""
    p: float | None = None
    """Of the chosen test."""
    p_adjusted: float | None = None
    verdict: str = "undefined"
    """'undefined', 'identical', 'higher', 'lower', 'not shown', or 'not shown after correction'."""

    @property
    def significant(self) -> bool:
        """Whether the chosen test, corrected, supports the difference."""
        return self.verdict in ("higher", "lower")


@dataclass(frozen=True)
class Table:
    """All queries, or those of one group."""

    group: str | None
    queries: int
    means: Mapping[Key, Mean]
    changes: Mapping[Key, Change]
    p_imp: Mapping[str, PairImprovement]

    def best(self, measure: Measure) -> set[str]:
        """Return the runs with the highest mean."""
        means = {run: mean.value for (run, known), mean in self.means.items() if known == measure}
        values = [value for value in means.values() if value is not None]
        return {run for run, value in means.items() if value is not None and value > max(values) - SAME}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What :func:`compare` returns."""

    baseline: str
    runs: tuple[str, ...]
    """The names of the runs that are compared with the baseline."""
    labels: Mapping[Measure, str]
    """What each measure is called: the profile's name for it, else the measure as it prints."""
    whole: Table
    groups: tuple[Table, ...]
    values: Mapping[Key, Mapping[str, float]]
    """The value of every query, by run and measure."""
    test: PairedTest
    correction: Correction
    alpha: float
    resamples: int
    seed: int
    notes: tuple[str, ...]
    profile: Profile | None = None
    min_relevance: float | None = None
    grouped_by: str | None = None
    groups_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The query ids of each group."""
    descriptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order they were asked for."""
        return tuple(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """All runs, the baseline first."""
        return (self.baseline, *self.runs)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The whole, then the groups."""
        return (self.whole, *self.groups)

    def difference(self, run: str, measure: Measure) -> dict[str, float]:
        """Return the difference to the baseline for every query that both have."""
        before, after = self.values[self.baseline, measure], self.values[run, measure]
        return {query_id: after[query_id] - value for query_id, value in before.items() if query_id in after}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        from permed_measures.comparison.report.records import as_dict  # noqa: PLC0415  (for those who read it)

        return as_dict(self)

    def as_table(self) -> Rows:
        """Return one row per group, measure and run, every number unrounded."""
        from permed_measures.comparison.report.records import as_table  # noqa: PLC0415  (as above)

        return as_table(self)

    def document(self, *, brief: bool = False) -> Document:
        """Return the report; a brief one has the means and the definitions."""
        from permed_measures.comparison.report.tables import document  # noqa: PLC0415  (as above)

        return document(self, brief=brief)

    def page(self) -> Document:
        """Return the page, with plots and the values of all queries."""
        from permed_measures.comparison.report.page import page  # noqa: PLC0415  (as above)

        return page(self)

    def render(self, form: Format = "text", *, brief: bool = False) -> str:
        """Return the report in one of the formats; ``brief`` is for text, markdown and LaTeX."""
        if brief and form in ("text", "markdown", "latex"):
            return written(self.document(brief=True), form)
        return super().render(form)


def compare(  # noqa: PLR0913  (the options of a comparison, all but three with defaults)
    qrels: QrelsLike,
    baseline: RunLike,
    runs: Mapping[str, RunLike] | Sequence[str | PathLike[str]],
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    test: PairedTest = "t",
    correction: Correction = "holm",
    groups: Groups | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    resamples: int = 10_000,
    p_imp_cutoff: int | None = None,
    baseline_name: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    progress: Step | None = None,
) -> Comparison:
    """Compare runs with a baseline, query by query.

    ``runs`` is {name: run}, or a list of paths. ``measures``, ``profile``, ``min_relevance``, ``queries`` and ``order``
    are those of :func:`~permed_measures.evaluate.evaluate`. ``test`` ('t', 'wilcoxon', 'randomization') is the one
    whose p-values are corrected ('holm', 'bh', 'none') over all measures and runs, and judged at ``alpha``; the groups
    are corrected together, apart from the whole. ``groups`` is what
    :func:`~permed_measures.comparison.groups.grouped` takes. P-imp looks at the top ``p_imp_cutoff``; when not given,
    as deep as the deepest measure with a cut-off above 1, else at the top 10.

    >>> qrels = {"1_1": {"a": 2, "b": 1}, "1_2": {"a": 1}, "2_1": {"b": 2}}
    >>> before = {"1_1": ["b", "a"], "1_2": ["b", "a"], "2_1": ["b", "a"]}
    >>> after = {"1_1": ["a", "b"], "1_2": ["a", "b"], "2_1": ["b", "a"]}
    >>> result = compare(qrels, before, {"after": after}, "P@1 RR")
    >>> change = result.whole.changes["after", result.measures[0]]     # P@1: from 2/3 to 3/3
    >>> round(change.difference, 4), round(change.relative, 4), (change.wins, change.ties, change.losses)
    (0.3333, 0.5, (1, 2, 0))
    >>> result.whole.p_imp["after"].value       # 1_2: a before b, which was wrong; 2_1 has one pair, right before
    0.5
    """
    _check(test=test, correction=correction, alpha=alpha, resamples=resamples, p_imp_cutoff=p_imp_cutoff)
    sources = _named(baseline, baseline_name, runs)
    names = list(sources)
    _check_descriptions(descriptions or {}, names)
    step = progress or (lambda _, __: None)
    judged = as_qrels(qrels, subtopics=True)  # evaluate() knows which measures take them
    evaluations: dict[str, Evaluation] = {}
    lists: dict[str, Tops] = {}
    cutoff = p_imp_cutoff
    for number, (name, source) in enumerate(sources.items()):
        step(f"evaluating {name}", 0.5 * number / len(sources))
        try:
            run = read_for(
                source,
                judged,
                measures,
                profile=profile,
                min_relevance=min_relevance,
                order=order,
                keep=p_imp_cutoff,
            )
            evaluations[name] = evaluate(
                judged, run, measures, profile=profile, min_relevance=min_relevance, queries=queries, order=order
            )
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(f"run {name!r}: {error}") from error
        if cutoff is None:
            cutoff = _deepest(evaluations[name].labels)
        lists[name] = tops(run, judged, cutoff, order)
    first = evaluations[names[0]]
    _check_means(first.labels)
    rel = 1 if first.min_relevance is None else first.min_relevance
    values = {(name, measure): evaluations[name].columns[measure] for measure in first.labels for name in names}
    maker = _Maker(judged, names, values, lists, cutoff or _USUAL_CUTOFF, rel, test, alpha, resamples, seed)
    step("resampling", 0.5)
    whole = maker.table(None, None)
    members = {} if groups is None else grouped(dict.fromkeys(q for column in values.values() for q in column), groups)
    parts = []
    for number, (name, query_ids) in enumerate(members.items()):
        step(f"group {name}", 0.6 + 0.4 * number / len(members))
        parts.append(maker.table(name, query_ids))
    step("done", 1.0)
    return Comparison(
        baseline=names[0],
        runs=tuple(names[1:]),
        labels=first.labels,
        whole=_judged([whole], test, correction, alpha)[0],
        groups=tuple(_judged(parts, test, correction, alpha)),
        values=values,
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        notes=tuple(_notes(evaluations, whole, first.labels)),
        profile=first.profile,
        min_relevance=first.min_relevance,
        grouped_by=None if groups is None else group_label(groups),
        groups_of=members,
        descriptions=dict(descriptions or {}),
    )


def _check(*, test: str, correction: str, alpha: float, resamples: int, p_imp_cutoff: int | None) -> None:
    if test not in TESTS:
        raise ParamError(f"test={test!r} is not allowed.{did_you_mean(str(test), TESTS)}")
    if correction not in CORRECTIONS:
        raise ParamError(f"correction={correction!r} is not allowed.{did_you_mean(str(correction), CORRECTIONS)}")
    if not 0 < alpha < 1:
        raise ParamError(f"alpha={alpha!r} is not allowed; give a number between 0 and 1, such as 0.05")
    for name, value in (("resamples", resamples), ("p_imp_cutoff", p_imp_cutoff)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ParamError(f"{name}={value!r} is not allowed; give an int >= 1")


def run_name(source: RunLike, otherwise: str) -> str:
    """Return what a run is called when nobody says: its file's name without the endings.

    >>> run_name("runs/bm25.v2.trec.gz", ""), run_name({}, "baseline")
    ('bm25.v2', 'baseline')
    """
    if not isinstance(source, (str, PathLike)):
        return otherwise
    path = Path(source)
    if path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        path = path.with_suffix("")
    return path.stem


def _named(
    baseline: RunLike, baseline_name: str | None, runs: Mapping[str, RunLike] | Sequence[str | PathLike[str]]
) -> dict[str, RunLike]:
    if isinstance(runs, (str, PathLike)):
        runs = [runs]
    named = list(runs.items()) if isinstance(runs, Mapping) else [(run_name(run, ""), run) for run in runs]
    if not named:
        msg = "no run to compare with the baseline; give at least one"
        raise ParamError(msg)
    sources = {baseline_name or run_name(baseline, "baseline"): baseline}
    for name, source in named:
        if not isinstance(name, str) or not name:
            raise ParamError(f"a run's name is a text, not {name!r}; give {{name: run}}")
        if name in sources:
            raise ParamError(f"two runs are called {name!r}; give each a name of its own")
        sources[name] = source
    return sources


def _check_descriptions(descriptions: Mapping[str, str], names: Sequence[str]) -> None:
    for name in descriptions:
        if name not in names:
            raise ParamError(f"a description for {name!r}, which is no run here.{did_you_mean(name, names)}")


def _check_means(measures: Iterable[Measure]) -> None:
    for measure in measures:
        if type(measure.aggregator()) is not ir_measures.MeanAgg:
            raise ParamError(f"{measure} is not a mean over queries, so its change cannot be tested; leave it out")


def _deepest(measures: Iterable[Measure]) -> int:
    cutoffs = [measure.params.get("cutoff") for measure in measures]
    return max(
        (cutoff for cutoff in cutoffs if cutoff and cutoff > 1), default=_USUAL_CUTOFF
    )  # one document is no pair


@dataclass(frozen=True)
class _Maker:
    """Makes the table of all queries, or of a group, from the values of all runs."""

    qrels: Qrels
    names: Sequence[str]
    values: Mapping[Key, Mapping[str, float]]
    tops: Mapping[str, Tops]
    cutoff: int
    rel: float
    test: PairedTest
    alpha: float
    resamples: int
    seed: int

    def table(self, group: str | None, query_ids: Sequence[str] | None) -> Table:
        columns = {key: _part(column, query_ids) for key, column in self.values.items()}
        baseline = self.names[0]
        pairs: dict[Key, dict[str, tuple[float, float]]] = {}
        for (name, measure), column in columns.items():
            if name != baseline:
                before = columns[baseline, measure]
                pairs[name, measure] = {q: (before[q], column[q]) for q in before if q in column}
        arrays = {key: np.array(list(column.values()), dtype=float) for key, column in columns.items()}
        differences = {key: _differences(pair.values()) for key, pair in pairs.items()}
        together = [*arrays.values(), *differences.values()]
        intervals = iter(
            _by_length(
                together,
                lambda matrix: significance.bootstrap_intervals(
                    matrix, alpha=self.alpha, resamples=self.resamples, seed=self.seed
                ),
            )
        )
        means = {key: Mean(_mean(array.tolist()), next(intervals), len(array)) for key, array in arrays.items()}
        drawn = _by_length(
            list(differences.values()), lambda matrix: significance.randomization_tests(matrix, seed=self.seed)
        )
        changes = {
            key: self._change(list(pairs[key].values()), array, next(intervals), p_value)
            for (key, array), p_value in zip(differences.items(), drawn, strict=True)
        }
        p_imp = {
            name: pair_improvement(
                self.qrels,
                self.tops[baseline],
                self.tops[name],
                cutoff=self.cutoff,
                rel=self.rel,
                query_ids=query_ids,
            )
            for name in self.names[1:]
        }
        num = len({q for column in columns.values() for q in column})
        return Table(group, num, means, changes, p_imp)

    def _change(
        self, pairs: Sequence[tuple[float, float]], array: Floats, interval: Interval | None, drawn: float | None
    ) -> Change:
        before, after = (_mean([pair[side] for pair in pairs]) for side in (0, 1))
        difference = None if before is None or after is None else after - before
        unequal = int(np.count_nonzero(array))
        return Change(
            queries=len(array),
            difference=difference,
            relative=difference / before if difference is not None and before else None,
            interval=interval,
            p_values={
                "t": significance.t_test(array),
                "wilcoxon": significance.wilcoxon(array),
                "randomization": drawn,
            },
            wins=int(np.count_nonzero(array > 0)),
            ties=len(array) - unequal,
            losses=int(np.count_nonzero(array < 0)),
            effect_size=significance.effect_size(array),
            detectable=significance.detectable_difference(array, alpha=self.alpha),
            smallest_p=None if self.test == "t" or len(array) < 2 else min(1.0, 2.0 ** (1 - unequal)),  # noqa: PLR2004
        )


def _part(column: Mapping[str, float], query_ids: Sequence[str] | None) -> Mapping[str, float]:
    return column if query_ids is None else {q: column[q] for q in query_ids if q in column}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _differences(pairs: Iterable[tuple[float, float]]) -> Floats:
    differences = np.array([after - before for before, after in pairs], dtype=float)
    differences[np.abs(differences) < SAME] = 0.0
    return differences


def _by_length(arrays: Sequence[Floats], work: Callable[[Floats], list[ResultT]]) -> list[ResultT]:
    """Do some work on all columns of one length together: they share the draws, which are dear."""
    found: dict[int, ResultT] = {}
    for length in {len(array) for array in arrays}:
        places = [place for place, array in enumerate(arrays) if len(array) == length]
        found.update(zip(places, work(np.column_stack([arrays[place] for place in places])), strict=True))
    return [found[place] for place in range(len(arrays))]


def _judged(tables: Sequence[Table], test: PairedTest, correction: Correction, alpha: float) -> list[Table]:
    """Correct the p-values of all these tables together, and say what each change comes to."""
    p_values = [change.p_values[test] for table in tables for change in table.changes.values()]
    adjusted = iter(CORRECTIONS[correction](p_values))
    judged = []
    for table in tables:
        changes = {}
        for key, change in table.changes.items():
            p_adjusted = next(adjusted)
            p = change.p_values[test]
            changes[key] = replace(change, p=p, p_adjusted=p_adjusted, verdict=_verdict(change, p, p_adjusted, alpha))
        judged.append(replace(table, changes=changes))
    return judged


def _verdict(change: Change, p: float | None, p_adjusted: float | None, alpha: float) -> str:
    if p is None or p_adjusted is None or change.difference is None:
        return "undefined"
    if change.ties == change.queries:
        return "identical"
    if p_adjusted < alpha:
        return "higher" if change.difference > 0 else "lower"
    return "not shown after correction" if p < alpha else "not shown"


def _notes(evaluations: Mapping[str, Evaluation], whole: Table, labels: Mapping[Measure, str]) -> list[str]:
    by_note: dict[str, list[str]] = {}
    for name, evaluation in evaluations.items():
        for note in evaluation.notes:
            by_note.setdefault(note, []).append(name)
    notes = [
        note if len(names) == len(evaluations) else f"{', '.join(names)}: {note}" for note, names in by_note.items()
    ]
    for (name, measure), change in whole.changes.items():
        if change.queries < max(mean.queries for (_, known), mean in whole.means.items() if known == measure):
            notes.append(
                f"{labels[measure]} of {name}: the mean runs over its own queries, the change over the "
                f"{change.queries:,} that the baseline has too"
            )
    return notes
