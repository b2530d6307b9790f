"""Evaluate a run: our measures by their kernels, the standard ones by pytrec_eval, all on one order."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from ir_measures import Measure

from permed_measures.delegate import MAX_GRADE, deepest, delegate
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate.basis import notes_of
from permed_measures.evaluate.choice import choose, distinct, with_rel
from permed_measures.evaluate.columns import Column, Ids
from permed_measures.evaluate.evaluation import Evaluation, aggregate, save_all
from permed_measures.evaluate.providers import by_providers, of_subtopics
from permed_measures.evaluate.spans import is_mean
from permed_measures.evaluate.tied import check_ties, with_ties
from permed_measures.evaluate.unjudged import unjudged_shares
from permed_measures.files.rows import Duplicates, kept_of
from permed_measures.inputs import (
    Qrels,
    QrelsLike,
    Returned,
    Run,
    RunLike,
    as_qrels,
    as_run,
    distinct_grades,
    joined,
    rankings_of,
)
from permed_measures.measures import declared
from permed_measures.measures.arrays import has_grades_up_to, tables, values
from permed_measures.measures.base import RankingMeasure
from permed_measures.notes import Queries
from permed_measures.profiles import PROFILES, Profile, QuerySet
from permed_measures.ranking import ORDERS, Bounds, Order, Ranking, Rankings, Ties, numpy_is_worth_it
from permed_measures.signature import Conditions, Digest, digests, ordered

if TYPE_CHECKING:
    from pathlib import Path

    from permed_measures.files.texts import TextsLike
    from permed_measures.render.queries import Behind

__all__ = [
    "Evaluation",
    "Plan",
    "aggregate",
    "choose",
    "distinct",
    "evaluate",
    "is_mean",
    "read_for",
    "save_all",
    "with_advice",
]


_KEPT = 10


class Plan:
    """Who computes which measure, decided once per set of measures: a kernel, pytrec_eval, or ir_measures."""

    def __init__(
        self,
        measures: Sequence[Measure],
        min_relevance: float | None = None,
        order: Order = "float32",
        ties: Ties = "trec",
    ) -> None:
        if order not in ORDERS:
            raise ParamError(f"order={order!r} is not allowed; give one of {', '.join(map(repr, ORDERS))}")
        self.order, self.ties = order, ties
        self.measures = list(measures)
        bound = [with_rel(measure, min_relevance) for measure in measures]
        self.by_kernel: dict[int, RankingMeasure] = {}
        self.by_delegate: dict[int, RankingMeasure] = {}
        self.by_ir_measures: dict[int, Measure] = {}
        for index, measure in enumerate(bound):
            known = declared(measure)
            if known is None:
                self.by_ir_measures[index] = measure
            elif not isinstance(measure, RankingMeasure) and known.asked is not None:
                self.by_delegate[index] = known
            else:
                self.by_kernel[index] = known
        self.depth = self._depth()

    def _depth(self) -> int | None:
        """Return the rank below which no measure looks; None when one looks at the whole list."""
        depths = [_deepest(measure) for measure in self.by_kernel.values()]
        depths += [deepest(measure) for measure in self.by_delegate.values()]
        return None if None in depths else max((depth for depth in depths if depth is not None), default=None)

    @property
    def of_subtopics(self) -> bool:
        """Whether all measures ask for which subtopics a document is relevant."""
        theirs = self.by_ir_measures.values()
        return len(theirs) == len(self.measures) and all(measure.NAME in of_subtopics() for measure in theirs)

    @property
    def computed(self) -> list[Measure]:
        """The measures as they are computed: with the ``rel`` that ``min_relevance`` gives."""
        bound = {**self.by_kernel, **self.by_delegate, **self.by_ir_measures}
        return [bound[index] for index in range(len(self.measures))]

    @property
    def deepest_cutoff(self) -> int | None:
        """The deepest cut-off that a measure has; None when none has one."""
        cutoffs = [measure.arguments.get("cutoff") for measure in self.by_kernel.values()]
        cutoffs += [deepest(measure) for measure in self.by_delegate.values()]
        return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)

    @property
    def looked_at(self) -> int:
        """How many ranks notes and shares are of: as many as the deepest cut-off above 1 has, else ten."""
        cutoff = max(self.deepest_cutoff or 1, 1)
        usual = cutoff if cutoff > 1 else _KEPT
        return usual if self.depth is None else min(usual, self.depth)

    def check_grades(self, qrels: Qrels) -> None:
        """Raise InputError when a measure is not defined for a grade of the qrels."""
        for measure in self.by_kernel.values():
            if not measure.takes_all_grades and any(map(measure.refuses, distinct_grades(qrels))):
                for query_id, grades in qrels.items():
                    measure.check_grades(query_id, grades)

    @property
    def bounds(self) -> Bounds:
        """How far down the measures look, and how far notes do."""
        return self.depth, self.deepest_cutoff

    def rankings(self, qrels: Qrels, run: Returned, query_ids: list[str]) -> Rankings:
        """Rank the documents of all queries."""
        depth, cutoff = self.bounds
        return rankings_of(qrels, run, query_ids, depth=depth, cutoff=cutoff, order=self.order)

    def columns(
        self, qrels: Qrels, run: Returned, query_ids: list[str], rankings: Rankings | None = None
    ) -> list[Sequence[float]]:
        """Return one sequence of values per measure, in the order of the query ids.

        A query that is missing from the run, or returns nothing, has the value 0.
        """
        known = self.rankings(qrels, run, query_ids) if rankings is None else rankings
        columns: dict[int, Sequence[float]] = {**self.over_columns(known)}
        columns.update((n, self._by_kernel(m, known)) for n, m in self.by_kernel.items() if n not in columns)
        asked = {index: measure for index, measure in self.by_delegate.items() if index not in columns}
        columns.update(zip(asked, delegate(list(asked.values()), known), strict=True))
        for index, measure in asked.items():
            measure.checked(columns[index])
        for index, measure in self.by_ir_measures.items():
            columns[index] = by_providers(measure, qrels, cast("Run", run), query_ids, self.order)
        return [columns[index] for index in range(len(self.measures))]

    def conditions(
        self,
        query_sets: Mapping[Measure, QuerySet],
        counts: Sequence[int],
        judged: Callable[[], Mapping[str, Digest]],
        total: Callable[[], Digest] | None = None,
    ) -> Conditions:
        """Say under which conditions the values of the measures were computed, each over so many queries."""

        def measures() -> dict[Measure, tuple[Measure, str, int]]:
            rows = zip(self.measures, self.computed, counts, strict=True)
            return {measure: (computed, query_sets[measure], n) for measure, computed, n in rows}

        return Conditions(measures, ordered(self.order, self.ties), judged, total)

    def over_columns(self, rankings: Rankings) -> dict[int, array[float]]:
        """Return the values of the measures that have an expression for it; none where numpy is not worth it.

        Of standard measures, where every bit is as pytrec_eval has it: that one takes long to read dicts.
        """
        if not numpy_is_worth_it(rankings.num_judged):
            return {}
        ours = {index: measure for index, measure in self.by_kernel.items() if type(measure).expression is not None}
        exact = {n: m for n, m in self.by_delegate.items() if type(m).exact and not m.arguments.get("gains")}
        wanted = {**ours, **exact} if exact and has_grades_up_to(MAX_GRADE, rankings) else ours
        found = {index: array("d") for index in wanted}
        for table in tables(rankings) if wanted else ():
            for index, measure in wanted.items():
                found[index].extend(values(measure, table, exact=index in exact))
        return found

    def _by_kernel(self, measure: RankingMeasure, rankings: Rankings) -> Sequence[float]:
        """Return the values of a measure of ours by its kernel, one by one."""
        kernel, arguments = type(measure).kernel, measure.arguments
        zero = measure.ZERO_WITHOUT != "returned"  # so it is 0 where nothing judged was returned: a law in tests/
        views = rankings.views
        return measure.checked([kernel(v, **arguments) if v.ranked or (v.num_ret and not zero) else 0.0 for v in views])


def _deepest(measure: RankingMeasure) -> int | None:
    if measure.LOOKS_PAST_CUTOFF or measure.arguments.get("judged_only"):
        return None
    cutoff: int | None = measure.arguments.get("cutoff")
    return cutoff


def evaluate(  # noqa: PLR0913  (the options of the main job, all but two with defaults)
    qrels: QrelsLike,
    run: RunLike,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    ties: Ties = "trec",
    duplicates: Duplicates = "error",
    qrels_columns: Sequence[str] | None = None,
    run_columns: Sequence[str] | None = None,
    texts: TextsLike | None = None,
    documents: TextsLike | None = None,
) -> Evaluation:
    """Evaluate one run against the qrels.

    ``qrels`` and ``run`` are dicts of dicts, pandas or polars frames, iterables of named tuples, or paths; a run may
    also be ``{query_id: [doc_id, …]}``, already in order. Give either ``measures`` or a ``profile``.

    ``min_relevance`` is the ``rel`` of every measure that has one and was not given one. ``queries`` says over which
    queries means run: those of the ``'qrels'`` (the default; a query missing from the run counts 0), those of the
    ``'run'``, or those in ``'both'``; a profile may have its own choice for a measure. ``order`` says how precisely
    scores are compared: ``'float32'``, as trec_eval 9.0.8 and pytrec_eval do, or ``'float64'``, as trec_eval 10.0 does.
    ``ties`` says what becomes of scores that are equal then: ``'trec'`` orders documents by id, descending, ``'input'``
    as they came, ``'expected'``, ``'best'`` and ``'worst'`` are exact values over all orders, ``'error'`` refuses them.

    ``duplicates`` says what a second row of one query and document means, as after a fusion: an ``'error'``, keep the
    ``'first'`` (in a list the higher place), or keep the ``'max'``. ``qrels_columns`` and ``run_columns`` name query,
    document and number of frames and files whose columns do not have the usual names; a minus before the last, as in
    ``('qid', 'docno', '-distance')``, says that smaller is better. ``texts`` of queries and ``documents``, {id: text}
    or files, are behind the queries of the page: see :func:`~permed_measures.files.texts.texts_of`.
    Returns an Evaluation. Raises InputError for qrels or a run that cannot be evaluated, ParamError for a measure or
    option that is not known.

    >>> result = evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 0.9, "a": 0.8}}, "GWAP@10 P@1")
    >>> result.means                                # GWAP: (1/1 · 0.5 + 2/2 · 1.0) / 2
    {GWAP@10: 0.75, P@1: 1.0}
    >>> result["P@1"]
    1.0
    """
    chosen, query_sets, known_profile, rel = choose(measures, profile, queries, min_relevance)
    plan = Plan(list(chosen), rel, order, ties)
    sets = set(query_sets.values())
    kept_of(duplicates)  # for its check
    as_they_are = qrels_columns is None and run_columns is None and sets == {"qrels"}
    found = joined(qrels, run, plan.bounds, order) if as_they_are else None
    judged = (
        as_qrels(qrels, subtopics=plan.of_subtopics, columns=qrels_columns, duplicates=duplicates)
        if found is None
        else found[0]
    )
    _check_grades(plan, judged, known_profile)
    check_ties(ties, plan.computed, judged)
    keep = 0 if texts is None and documents is None else _KEPT
    returned = (
        _returned(run, judged, plan, keep, columns=run_columns, duplicates=duplicates)
        if found is None
        else cast("Run", run)
    )
    query_ids = _query_ids(judged, returned, sets)
    rankings = plan.rankings(judged, returned, query_ids) if found is None else found[1]
    columns = plan.columns(judged, returned, query_ids, rankings)
    if ties != "trec":
        columns = with_ties(plan, judged, returned, query_ids, columns)
    ids = Ids(query_ids)
    by_measure = {measure: Column(ids, values) for measure, values in zip(chosen, columns, strict=True)}
    if len(sets) > 1:
        for measure, column in by_measure.items():
            wanted = Ids(_query_ids(judged, returned, {query_sets[measure]}))
            by_measure[measure] = Column(wanted, map(column.__getitem__, wanted))
    return Evaluation(
        means={measure: aggregate(measure, column.numbers) for measure, column in by_measure.items()},
        labels=chosen,
        notes=[
            *notes_of(
                judged,
                returned,
                rankings,
                query_sets,
                rel=rel,
                depth=plan.deepest_cutoff,
                order=order,
                ties=ties,
                top_grade=None if known_profile is None else known_profile.top_grade,
            ),
            *getattr(returned, "notes", ()),
        ],
        columns=by_measure,
        profile=known_profile,
        min_relevance=rel,
        order=order,
        ties=ties,
        conditions=plan.conditions(query_sets, [*map(len, by_measure.values())], lambda: digests(judged)),
        unjudged=unjudged_shares(rankings, plan.looked_at),
        behind=_behind(judged, returned, plan, texts, documents) if keep else None,
    )


def _behind(qrels: Qrels, run: Returned, plan: Plan, *texts: TextsLike | None) -> Behind:
    from permed_measures.evaluate.behind import behind, tops  # noqa: PLC0415  (for those who read pages)

    return behind(qrels, {"run": tops(run, qrels, _KEPT, plan.order)}, *texts, ties=plan.ties)


def _check_grades(plan: Plan, qrels: Qrels, profile: Profile | None) -> None:
    """Check grades; who asked for one of our profiles is told how to ask for another measure than the profile's."""
    try:
        plan.check_grades(qrels)
    except InputError as error:
        highest = max(grade for grades in qrels.values() for grade in grades.values())
        raise with_advice(error, plan, profile, highest) from error


def with_advice(error: InputError, plan: Plan, profile: Profile | None, highest: float) -> InputError:
    """Say, after what is wrong with a grade, how to ask for another measure than that of one of our profiles."""
    if profile is None or PROFILES.get(profile.name) is not profile:
        return error
    scaled = [measure for measure in plan.by_kernel.values() if "max_rel" in measure.SUPPORTED_PARAMS]
    instead = " ".join(str(measure(max_rel=highest)) for measure in scaled)
    msg = (
        f"{error}. The measure is of the profile {profile.name}: in the shell write -m '{instead}', or edit what "
        f"'permed-measures profiles {profile.name} --toml' prints, and give that file as the profile"
    )
    return InputError(msg)


def read_for(  # noqa: PLR0913  (what evaluate() is given)
    run: RunLike,
    qrels: Qrels,
    measures: str | Measure | Iterable[str | Measure] | None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    order: Order = "float32",
    ties: Ties = "trec",
    keep: int | None = None,
) -> Returned:
    """Return a run as far as these measures look at it, and the ids of its first ``keep`` documents.

    When not given, ``keep`` is as deep as the deepest measure with a cut-off, and 10 at least.
    """
    labels, _, _, rel = choose(measures, profile, None, min_relevance)
    plan = Plan(list(labels), rel, order, ties)
    return _returned(run, qrels, plan, keep or max(plan.deepest_cutoff or 0, _KEPT))


def _returned(run: RunLike, qrels: Qrels, plan: Plan, keep: int = 0, **said: Any) -> Returned:  # noqa: ANN401  (as_run's)
    """Return the run; of a large file only the Rankings, which is all that kernels and pytrec_eval need."""
    if isinstance(run, (str, PathLike)) and not plan.by_ir_measures and plan.ties == "trec":
        from permed_measures.files.large import returned  # noqa: PLC0415  (for those who evaluate files)

        found: Returned = returned(run, qrels, plan.depth, order=plan.order, keep=keep, **said)
        return found
    if isinstance(run, Mapping) and isinstance(next(iter(run.values()), None), Ranking):
        return cast("Returned", run)
    return as_run(run, **said)


def _query_ids(qrels: Qrels, run: Returned, query_sets: set[QuerySet]) -> list[str]:
    if query_sets == {"both"}:
        query_ids = [query_id for query_id in qrels if query_id in run]
    else:
        query_ids = list(qrels) if query_sets & {"qrels", "both"} else [q for q in qrels if q in run]
        if "run" in query_sets:
            query_ids += [query_id for query_id in run if query_id not in qrels]
    if not query_ids:
        judged, returned = Queries.of(qrels), Queries.of(run)
        raise InputError(
            f"no query to evaluate: the qrels hold {len(qrels)} queries{judged.named}, the run "
            f"{len(run)}{returned.named}, none is in both; are the query ids written alike?"
        )
    return query_ids
