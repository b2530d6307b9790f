"""What a comparison keeps of each run, in memory or in an engine: its values, notes, and the pairs of P-imp."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ir_measures import Measure

from permed_measures.comparison.changes import Key, Settings
from permed_measures.comparison.p_imp import Counts, PairImprovement, pair_counts, pair_improvement
from permed_measures.comparison.repeats import averaged
from permed_measures.comparison.systems import System, is_known, is_repeated
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, is_mean
from permed_measures.evaluate.columns import Column, Shelf
from permed_measures.evaluate.groups import Groups
from permed_measures.evaluate.tops import Tops, tops
from permed_measures.evaluate.unjudged import Shares
from permed_measures.inputs import Qrels, Returned
from permed_measures.notes import NEVER_MEET, Queries
from permed_measures.profiles import Profile
from permed_measures.ranking import Order
from permed_measures.signature import Conditions

_USUAL_CUTOFF = 10
KEPT = ("labels", "values", "profile", "min_relevance", "repeats", "conditions", "unjudged")
"""What a Comparison takes over as it is."""


class Arms:
    """The runs, the baseline first; of each only what the comparison needs is kept."""

    labels: Mapping[Measure, str]
    profile: Profile | None
    min_relevance: float | None
    conditions: Conditions | None

    def __init__(self, qrels: Qrels | None, order: Order, cutoff: int | None, *, p_imp: bool, keep: int = 0) -> None:
        """``keep`` is how many of the first documents of every run are kept."""
        self._kept = keep
        self._before: Tops = {}
        self._qrels, self._order, self._cutoff, self._asked = qrels or {}, order, cutoff, p_imp
        self._shelf = Shelf()
        self._ran: set[str] = set()
        self._counts: dict[str, dict[str, Counts]] = {}
        self._said: dict[str, dict[str, None]] = {}
        self._columns: dict[Key, list[Column]] = {}
        self.names: dict[str, bool] = {}  # whether P-imp was counted, by name
        self.unjudged: dict[str, Shares] = {}
        self.tops: dict[str, Tops] = {}  # the first documents of every run, the first where a system has several

    def add(
        self,
        name: str,
        run: Returned | None,
        evaluation: Evaluation,
        pairs: Mapping[str, Counts] | None = None,
        *,
        repeated: bool = False,
    ) -> None:
        """Keep one run, or one of several of a system, or only what it reached, where it is not there itself.

        ``pairs`` are those that P-imp counts, where an engine has counted them.
        """
        if not self.names:
            _check_means(evaluation.labels)
            self.labels, self.profile, self.conditions = evaluation.labels, evaluation.profile, evaluation.conditions
            self.min_relevance = evaluation.min_relevance
        self._check_ran(run, evaluation)
        self.names[name] = self._asked and (run is not None or pairs is not None) and not repeated
        if pairs is not None:
            self._cutoff = self._cutoff or deepest_cutoff(evaluation.labels)
            self._counts |= {} if len(self.names) == 1 else {name: dict(pairs)}
        first = name not in self.unjudged
        if first and (run is not None or evaluation.unjudged):
            self.unjudged[name] = evaluation.unjudged
        if run is not None and first:
            self._cutoff = cutoff = self._cutoff or deepest_cutoff(evaluation.labels)
            kept = tops(run, self._qrels, max(cutoff, self._kept), self._order)
            if self._kept:
                self.tops[name] = kept
            top = {query_id: doc_ids[:cutoff] for query_id, doc_ids in kept.items()} if self._kept > cutoff else kept
            if len(self.names) == 1:
                self._before = top
            elif self.names[name] and next(iter(self.names.values())):  # the baseline has its order too
                rel = 1 if self.min_relevance is None else self.min_relevance
                self._counts[name] = pair_counts(self._qrels, self._before, top, cutoff=cutoff, rel=rel)
        for note in evaluation.notes:
            self._said.setdefault(note, {})[name] = None
        for measure, column in evaluation.columns.items():
            self._columns.setdefault((name, measure), []).append(self._shelf.column(column))

    @cached_property
    def values(self) -> dict[Key, Mapping[str, float]]:
        """The value of every query, by run and measure; the mean of its runs where a system has several."""
        return {
            key: columns[0] if len(columns) == 1 else self._shelf.column(averaged(columns))
            for key, columns in self._columns.items()
        }

    @property
    def repeats(self) -> dict[Key, Sequence[Mapping[str, float]]]:
        """The values of every single run, where a system has several."""
        return {key: columns for key, columns in self._columns.items() if len(columns) > 1}

    def _check_ran(self, run: Returned | None, evaluation: Evaluation) -> None:
        """Refuse an arm that never ran, or on other queries: its values would say nothing."""
        if run is None:
            ran = {query_id for column in evaluation.columns.values() for query_id in column}
        else:
            ran = {query_id for query_id in self._qrels if run.get(query_id)}
        self._ran = self._ran or ran
        if not ran and run is not None:
            judged, returned = Queries.of(self._qrels), Queries.of(run)
            never = NEVER_MEET if self._qrels.keys().isdisjoint(run) else "no document is returned for any judged query"
            raise InputError(
                f"{never}, so there is nothing to compare: the qrels hold {judged.counted}{judged.named}, the run "
                f"{returned.counted}{returned.named}; did it run, and are the query ids written alike?"
            )
        if self._ran.isdisjoint(ran):
            here, there = Queries.of(ran), Queries.of(self._ran)
            raise InputError(
                f"it shares no query with the baseline, so there is nothing to compare: {here.counted}{here.named} "
                f"here, {there.counted}{there.named} there"
            )

    @property
    def notes(self) -> list[str]:
        """What the reader should know of the input; each note once, with the runs that it is about."""
        notes = [
            note if len(names) == len(self.names) else f"{', '.join(names)}: {note}"
            for note, names in self._said.items()
        ]
        without = [name for name, counted in self.names.items() if not counted]
        if self._asked and without:
            which = "" if next(iter(self.names)) in without else f" of {', '.join(without)}"
            notes.append(f"no P-imp{which}: it looks at single rankings, not at repeats or saved values")
        return notes

    def p_imp(self, query_ids: Sequence[str] | None, settings: Settings) -> dict[str, PairImprovement]:
        """Return P-imp of every run over some queries, or all; nothing where it was left out."""
        return {
            name: pair_improvement(counts, self._cutoff or _USUAL_CUTOFF, query_ids, settings.clusters, settings.alpha)
            for name, counts in self._counts.items()
        }


def _check_means(measures: Iterable[Measure]) -> None:
    for measure in measures:
        if not is_mean(measure):
            raise ParamError(f"{measure} is not a mean over queries, so its change cannot be tested; leave it out")


def deepest_cutoff(measures: Iterable[Measure]) -> int:
    """Return how deep P-imp looks when nobody says."""
    cutoffs = [measure.params.get("cutoff") for measure in measures]
    return max([cutoff for cutoff in cutoffs if cutoff and cutoff > 1], default=_USUAL_CUTOFF)  # one is no pair


def in_engine(
    qrels: Any,  # noqa: ANN401  (a table of an engine)
    sources: Mapping[str, System],
    measures: str | Measure | Iterable[str | Measure] | None,
    groups: Sequence[Groups | None] = (),
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> tuple[dict[str, System], Callable[[int | None], Mapping[str, Mapping[str, Counts]]], Sequence[Groups | None]]:
    """Evaluate all tables among systems, repeats included, in one pass; what was saved stays as it is.

    Return the systems; what returns, given a cut-off, the pairs of every system with one run, or nothing where the
    baseline is no such table; and the groups, those that name a column of the qrels by the value of every query.
    """
    from permed_measures.tables.rankings import evaluate_runs  # noqa: PLC0415  (Narwhals, for those who have tables)

    given: Mapping[str, Any] = sources
    several = {name: list(runs) if is_repeated(runs) else [runs] for name, runs in given.items()}
    tables = {name: [run for run in runs if not is_known(run)] for name, runs in several.items()}
    found = evaluate_runs(qrels, {name: runs for name, runs in tables.items() if runs}, measures, groups, **options)
    baseline, *_ = single = [name for name in sources if len(several[name]) == len(tables[name]) == 1] or [""]

    def pairs(cutoff: int | None) -> Mapping[str, Mapping[str, Counts]]:
        if baseline != next(iter(sources)):
            return {}
        counted = found.pairs(baseline, cutoff or deepest_cutoff(found.runs[baseline][0].evaluation.labels))
        return {name: counted.get(name, {}) for name in single}

    systems: dict[str, System] = {}
    for name, runs in several.items():
        reached = (run.evaluation for run in found.runs.get(name, ()))
        all_known = [run if is_known(run) else next(reached) for run in runs]
        systems[name] = all_known[0] if len(all_known) == 1 else all_known
    return systems, pairs, found.groups
