"""What a comparison keeps of each run: its values, its notes, and the pairs that P-imp counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import ir_measures
from ir_measures import Measure

from permed_measures.comparison.changes import Key, Settings
from permed_measures.comparison.columns import Column, Shelf
from permed_measures.comparison.p_imp import Counts, PairImprovement, Tops, pair_counts, pair_improvement, tops
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate.evaluation import Evaluation
from permed_measures.inputs import Qrels, Run
from permed_measures.notes import NEVER_MEET, Queries
from permed_measures.profiles import Profile
from permed_measures.ranking import Order

_USUAL_CUTOFF = 10


class Arms:
    """The runs, the baseline first; of each only what the comparison needs is kept."""

    labels: Mapping[Measure, str]
    profile: Profile | None
    min_relevance: float | None

    def __init__(self, qrels: Qrels, order: Order, cutoff: int | None, *, p_imp: bool) -> None:
        self._qrels, self._order, self._cutoff, self._asked = qrels, order, cutoff, p_imp
        self._shelf = Shelf()
        self._before: Tops = {}
        self._ran: set[str] = set()
        self._counts: dict[str, dict[str, Counts]] = {}
        self._said: dict[str, list[str]] = {}
        self._num = 0
        self.values: dict[Key, Column] = {}

    def add(self, name: str, run: Run, evaluation: Evaluation) -> None:
        """Keep one run."""
        ran = {query_id for query_id in self._qrels if run.get(query_id)}
        if not self._num:
            _check_means(evaluation.labels)
            self.labels, self.profile = evaluation.labels, evaluation.profile
            self.min_relevance, self._ran = evaluation.min_relevance, ran
        self._check_ran(run, ran)
        if self._asked:
            self._cutoff = self._cutoff or _deepest(evaluation.labels)
            top = tops(run, self._qrels, self._cutoff, self._order)
            if self._num:
                rel = 1 if self.min_relevance is None else self.min_relevance
                self._counts[name] = pair_counts(self._qrels, self._before, top, cutoff=self._cutoff, rel=rel)
            else:
                self._before = top
        self._num += 1
        for note in evaluation.notes:
            self._said.setdefault(note, []).append(name)
        for measure, column in evaluation.columns.items():
            self.values[name, measure] = self._shelf.column(column)

    def _check_ran(self, run: Run, ran: set[str]) -> None:
        """Refuse an arm that never ran, or on other queries: its values would say nothing."""
        if not ran:
            judged, returned = Queries.of(self._qrels), Queries.of(run)
            never = NEVER_MEET if self._qrels.keys().isdisjoint(run) else "no document is returned for any judged query"
            msg = (
                f"{never}, so there is nothing to compare: the qrels hold {judged.counted}{judged.named}, the run "
                f"{returned.counted}{returned.named}; did it run, and are the query ids written alike?"
            )
            raise InputError(msg)
        if self._ran.isdisjoint(ran):
            here, there = Queries.of(ran), Queries.of(self._ran)
            msg = (
                f"it shares no query with the baseline, so there is nothing to compare: {here.counted}{here.named} "
                f"here, {there.counted}{there.named} there"
            )
            raise InputError(msg)

    @property
    def notes(self) -> list[str]:
        """What the reader should know of the input; each note once, with the runs that it is about."""
        return [
            note if len(names) == self._num else f"{', '.join(names)}: {note}" for note, names in self._said.items()
        ]

    def p_imp(self, query_ids: Sequence[str] | None, settings: Settings) -> dict[str, PairImprovement]:
        """Return P-imp of every run over some queries, or all; nothing where it was left out."""
        return {
            name: pair_improvement(
                counts,
                self._cutoff or _USUAL_CUTOFF,
                query_ids=query_ids,
                cluster_of=settings.clusters,
                alpha=settings.alpha,
            )
            for name, counts in self._counts.items()
        }


def _check_means(measures: Iterable[Measure]) -> None:
    for measure in measures:
        if type(measure.aggregator()) is not ir_measures.MeanAgg:
            raise ParamError(f"{measure} is not a mean over queries, so its change cannot be tested; leave it out")


def _deepest(measures: Iterable[Measure]) -> int:
    cutoffs = [measure.params.get("cutoff") for measure in measures]
    return max(
        (cutoff for cutoff in cutoffs if cutoff and cutoff > 1), default=_USUAL_CUTOFF
    )  # one document is no pair
