"""What the values of a run rest on: counted from its rankings, for the notes."""

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import methodcaller

from ir_measures import Measure

from permed_measures.inputs import Qrels, Returned, distinct_grades
from permed_measures.measures.arrays import all_returned, without_grade
from permed_measures.notes import Basis, Queries
from permed_measures.ranking import Order, Rankings, Ties


def notes_of(  # noqa: PLR0913  (all that values rest on)
    qrels: Qrels,
    run: Returned,
    rankings: Rankings,
    query_sets: Mapping[Measure, str],
    *,
    rel: float | None,
    depth: int | None,
    order: Order,
    ties: Ties,
    top_grade: float | None,
) -> list[str]:
    """Say what a reader should know of these values."""
    lowest = 1 if rel is None else rel
    counts = rankings.counts
    single, double = counts.tied, counts.tied_exactly
    sets = set(query_sets.values())
    ranked = rankings.columns if sets == {"qrels"} and len(run) == len(qrels) else None  # the queries of the qrels
    # the queries of the qrels are ranked first, and all are: unless means run over those of the run alone
    whole = len(rankings) >= len(qrels) and (sets != {"run"} or qrels.keys() <= run.keys())
    same = (ranked is not None and all_returned(ranked)) or run.keys() == qrels.keys()
    return Basis(
        only_run=Queries.of(() if same else run.keys() - qrels.keys()),
        missing=Queries.of(() if same else qrels.keys() - run.keys()),
        nothing_relevant=Queries.of(_nothing_relevant(qrels, rankings if whole else None, lowest)),
        never_meet=qrels.keys().isdisjoint(run),
        lowest_relevant=lowest,
        min_relevance=rel,
        query_sets=sets,
        depth=depth,
        returned=counts.returned,
        judged=counts.judged,
        tied=single if order == "float32" else double,
        nearly_tied=single - double,
        order=order,
        ties=ties,
        measures=list(query_sets),
        highest=max(distinct_grades(qrels), default=None),
        top_grade=top_grade,
        judgements=rankings.num_judged if whole else sum(map(len, qrels.values())),
    ).notes()


def _nothing_relevant(qrels: Qrels, rankings: Rankings | None, lowest: float) -> Iterable[str]:
    """Return the queries without a relevant document; ``rankings``, if given, begin with those of the qrels."""
    columns = None if rankings is None else rankings.columns
    without = None if columns is None else without_grade(columns, lowest, len(qrels))
    if without is not None:
        query_ids = list(qrels) if without else []
        return map(query_ids.__getitem__, without)
    relevant = {grade for grade in distinct_grades(qrels) if grade >= lowest}
    return compress(qrels, map(relevant.isdisjoint, map(methodcaller("values"), qrels.values())))
