"""Lists without files: :func:`score` one that was retrieved, :func:`evaluate_lists` of grades without documents."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from ir_measures import Measure

from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.files.in_memory import ids_of
from permed_measures.files.rows import Duplicates

if TYPE_CHECKING:
    from pathlib import Path

    from permed_measures.profiles import Profile

Id = str | int
_QUERY = "the query"
_MISSED = (
    "a list tells nothing of documents that were not returned; the values take it for all there is, and are others "
    "where it misses relevant ones (P, RR, Success, ListAP, ListNDCG do not ask for them)"
)
_UNJUDGED = "a list does not tell an unjudged document from one that is not relevant; the values take all for judged"


def score(
    retrieved: Sequence[Id] | Mapping[Id, float],
    relevant: Collection[Id] | Mapping[Id, float],
    measures: str | Measure | Iterable[str | Measure],
    *,
    min_relevance: float | None = None,
    duplicates: Duplicates = "error",
) -> dict[str, float]:
    """Return the value of each measure for one list: the numbers that :func:`evaluate` gives for such a query.

    ``retrieved`` are ids in order, or ids with scores; ``relevant`` are ids, or ids with grades. ``duplicates`` says
    what an id means that was retrieved twice, as by chunks of one document: an ``'error'``, or that the ``'first'``,
    or the ``'max'``, counts. Where nothing is relevant, or nothing was retrieved, values are 0, as everywhere here.
    ``measures`` and ``min_relevance`` are those of :func:`evaluate`. Raises InputError for a grade that is no number.

    >>> score(["c", "a", "x"], {"a": 2, "b": 1}, "nDCG@10 P@3 RR")    # 2/log2(3) / (2 + 1/log2(3))
    {'nDCG@10': 0.4796249331362629, 'P@3': 0.3333333333333333, 'RR': 0.5}
    >>> score([7, 7, 9], [9], "RR", duplicates="first")
    {'RR': 0.5}
    """
    for what, ids in (("retrieved", retrieved), ("relevant", relevant)):
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Collection):
            raise InputError(f"{what}: a {type(ids).__name__}; give a list of ids, or a dict of ids with numbers")
    if isinstance(retrieved, AbstractSet):
        raise InputError("retrieved: a set has no order; give a list of ids, best first, or a dict of ids with scores")
    returned, judged = _named(retrieved, "retrieved"), _named(relevant, "relevant")
    found = evaluate({_QUERY: judged}, {_QUERY: returned}, measures, min_relevance=min_relevance, duplicates=duplicates)
    return {found.labels[measure]: mean for measure, mean in found.means.items()}


def _named(ids: Any, what: str) -> Any:  # noqa: ANN401  (a list of ids, or a dict)
    if isinstance(ids, Mapping):
        names = ids_of(list(ids), "id", what)
        again = next((name for name, number in Counter(names).items() if number > 1), None)
        if again is not None:
            raise InputError(f"{what}: {again!r} is there as a number and as text; write every id in one way")
        return dict(zip(names, ids.values(), strict=True))
    return ids_of(list(ids), "id", what)


def evaluate_lists(
    lists: Any,  # noqa: ANN401  (as below)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: "str | Path | Profile | None" = None,
    min_relevance: float | None = None,
) -> Evaluation:
    """Evaluate relevance lists: grades by rank, of which nobody knows the documents.

    ``lists`` is ``{query_id: [1, 0, 1]}``, a list of such lists or a 2-dimensional array (queries 1, 2, …), or the path
    of a file that holds them. What was not retrieved is unknown: a note names the measures whose values would be others
    if a list misses relevant documents, such as recall, AP and nDCG; those within the list, such as ListAP, do not ask.
    Another one names those that ask which documents are judged. Both are found by asking again with such documents.
    ``profile`` and ``min_relevance`` are those of :func:`evaluate`. Raises InputError for a grade that is no number.

    >>> found = evaluate_lists({"q1": [1, 0, 1], "q2": [1, 1, 0], "q3": [0, 1, 1]}, "ListAP@3 R@3")
    >>> found["ListAP@3"]                                                          # (5/6 + 1 + 7/12) / 3
    0.8055555555555555
    >>> print(found.notes[0][:73])
    R@3: a list tells nothing of documents that were not returned; the values
    """
    from permed_measures.files.relevance_lists import checked, read  # noqa: PLC0415  (for those who have such lists)
    from permed_measures.files.source import Source  # noqa: PLC0415  (as above)

    grades = read(Source.of(lists)) if isinstance(lists, (str, PathLike)) else checked(lists)
    run = {query_id: [str(rank) for rank in range(1, len(listed) + 1)] for query_id, listed in grades.items()}
    qrels = {query_id: dict(zip(run[query_id], listed, strict=True)) for query_id, listed in grades.items()}
    options: dict[str, Any] = {"profile": profile, "min_relevance": min_relevance}
    found = evaluate(qrels, run, measures, **options)
    top = max(max(map(max, filter(None, grades.values())), default=1), found.min_relevance or 1)
    missed = {query: judged | {f"missed {n}": top for n in range(len(judged) + 1)} for query, judged in qrels.items()}
    unjudged = {q: {place: grade for place, grade in judged.items() if grade > 0} for q, judged in qrels.items()}
    notes = []
    for other, unknown in ((missed, _MISSED), (unjudged, _UNJUDGED)):
        columns = evaluate(other, run, measures, **options).columns
        names = [found.labels[measure] for measure, column in found.columns.items() if column != columns[measure]]
        notes += [f"{', '.join(names)}: {unknown}"] if names else []
    return replace(found, notes=[*notes, *found.notes])
