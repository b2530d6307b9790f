"""What becomes of documents whose scores are equal, where their ids do not decide: ``ties=`` of evaluate()."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, cast

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError
from permed_measures.inputs import Qrels, Returned, distinct_grades
from permed_measures.ranking import TIES, Ranking, Ties, by_score

if TYPE_CHECKING:
    from permed_measures.evaluate import Plan
    from permed_measures.evaluate.conventions import Convention

_NAMED = 4
_BITS = {"float32": 32, "float64": 64}


def check_ties(ties: Ties, measures: Sequence[Measure], qrels: Qrels) -> dict[Measure, Convention]:
    """Return how each measure is read over all orders of tied documents, where that is asked; ParamError: it is not.

    ``measures`` are those that are computed: with the ``rel`` that ``min_relevance`` gives.
    """
    if ties not in TIES:
        raise ParamError(f"ties={ties!r} is not allowed; give one of {', '.join(map(repr, TIES))}")
    if ties not in ("expected", "best", "worst"):
        return {}
    from permed_measures.evaluate.conventions.names import convention_of, readable  # noqa: PLC0415  (seldom)

    known = [measure.NAME for measure, reads in readable() if reads.family != "iprec"]
    found = {}
    for measure in measures:
        try:
            reading = convention_of(measure, sorted(distinct_grades(qrels)))
        except ParamError as error:
            reason = str(error) if measure.NAME in known else ""
        else:
            reason = ""
            found[measure] = reading._replace(ties=ties)
        if measure not in found or found[measure].family == "iprec":
            what = "expected value" if ties == "expected" else f"{ties} value"
            raise ParamError(
                f"ties={ties!r}: {measure} has no {what} over the orders of tied documents here{reason and ': '}"
                f"{reason}; these measures have one: {', '.join(sorted(known))}; ties='trec' and 'input' are for all"
            )
    return found


def with_ties(
    plan: Plan, qrels: Qrels, run: Returned, query_ids: list[str], columns: list[Sequence[float]]
) -> list[Sequence[float]]:
    """Return columns with other values of the queries that have a tie where a measure looks."""
    ties = plan.ties
    readings = check_ties(ties, plan.computed, qrels)
    if any(isinstance(returned, Ranking) for returned in run.values()):
        msg = f"ties={ties!r} needs the scores, and this run was read for its ranks alone: give the run itself"
        raise ParamError(msg)
    grouped = {query_id: _groups(run.get(query_id, ()), plan) for query_id in query_ids}
    tied = {query_id: groups for query_id, groups in grouped.items() if groups}
    if not tied:
        return columns
    if ties == "error":
        raise InputError(_message(tied, plan))
    if ties == "input":
        lists = {query_id: list(chain.from_iterable(groups)) for query_id, groups in tied.items()}
        others = plan.columns(qrels, lists, list(tied))
    else:
        others = _over_all_orders(plan, qrels, {query_id: run[query_id] for query_id in tied}, readings)
    replaced = [dict(zip(tied, values, strict=True)) for values in others]
    return [
        [values.get(query_id, value) for query_id, value in zip(query_ids, column, strict=True)]
        for column, values in zip(columns, replaced, strict=True)
    ]


def _groups(returned: object, plan: Plan) -> list[list[str]] | None:
    """Return the documents of a list by score; None where no two tie within the depth of the measures."""
    if not isinstance(returned, Mapping):
        return None
    groups = by_score(returned, by=plan.order)
    if len(groups) == len(returned):
        return None
    starts = accumulate(map(len, groups), initial=0)
    reach = math.inf if plan.depth is None or plan.by_ir_measures else plan.depth
    is_open = any(len(group) > 1 and start < reach for group, start in zip(groups, starts, strict=False))
    return groups if is_open else None


def _over_all_orders(
    plan: Plan, qrels: Qrels, lists: Mapping[str, object], readings: Mapping[Measure, Convention]
) -> list[Sequence[float]]:
    """Return the values of tied lists over all their orders, never sampled."""
    from permed_measures.evaluate.conventions.orders import JudgedRun  # noqa: PLC0415  (numpy)
    from permed_measures.evaluate.conventions.query_values import QueryValues  # noqa: PLC0415  (numpy)

    judged = JudgedRun({query_id: qrels.get(query_id, {}) for query_id in lists}, cast("Returned", lists), None)
    at: dict[int | None, QueryValues] = {}
    columns: list[Sequence[float]] = []
    for measure, reading in readings.items():
        cutoff = reading.cutoff
        values = at.setdefault(cutoff, QueryValues(judged.at(cutoff)))
        found = values.by_query(reading._replace(precision=_BITS[plan.order])).tolist()
        lost = next((query_id for query_id, value in zip(lists, found, strict=True) if math.isnan(value)), None)
        if lost is not None:
            raise InputError(
                f"query {lost!r}: the cut-off of {measure} goes through a tie of so many documents that their "
                f"selections are too many to count; give ties='trec' or 'input', or scores that tell them apart"
            )
        columns.append(found)
    by_measure = dict(zip(readings, columns, strict=True))
    return [by_measure[measure] for measure in plan.computed]


def _message(tied: Mapping[str, Sequence[Sequence[str]]], plan: Plan) -> str:
    query_id, groups = next(iter(tied.items()))
    first = next(group for group in groups if len(group) > 1)
    shown = ", ".join(map(repr, first[:_NAMED])) + (", …" if len(first) > _NAMED else "")
    others = f", and {len(tied) - 1:,} other queries have ties" if len(tied) > 1 else ""
    return (
        f"query {query_id!r}: {len(first)} documents have the same {_BITS[plan.order]}-bit score ({shown}){others}; "
        "ties='error' allows none: give scores that tell them apart, or say what becomes of ties: "
        f"{', '.join(repr(choice) for choice in TIES if choice != 'error')}"
    )
