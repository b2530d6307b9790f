"""Conventions as measures and measures as conventions: what ``evaluate()`` computes, and how it is asked for."""

from collections.abc import Iterator, Sequence
from typing import Any

from ir_measures import Measure

from permed_measures.errors import ParamError
from permed_measures.evaluate.conventions import FAMILIES, Convention, base_of, thresholds_of
from permed_measures.measures import DEFINED, STANDARD, declared, parse
from permed_measures.measures.base import RankingMeasure, Reading

ORDERED_BY = 32
"""The bits in which evaluate() compares scores unless it is told otherwise."""


def readable() -> Iterator[tuple[RankingMeasure, Reading]]:
    """Yield the measures that can be explained: where two compute the same, the standard one first."""
    for measure in (*STANDARD.values(), *DEFINED.values()):
        if measure.READS is not None:
            yield measure, measure.READS


def measure_of(convention: Convention, grades: Sequence[float]) -> str | None:
    """Return the measure that computes exactly this, on qrels with these grades; None where none does.

    ``evaluate(…, **options_of(convention))`` then gives the number.

    >>> measure_of(Convention("map", 10, denominator="min"), [0, 1, 2])
    "GWAP(weights={1: 1.0, 2: 1.0},norm='cutoff')@10"
    >>> measure_of(Convention("ndcg", 5, gain="exponential", unjudged="removed"), [0, 1])
    "nDCG(dcg='exp-log2',judged_only=True)@5"
    """
    plain = ("trec_eval", "first", "zero", None)
    asked = (convention.ties, convention.duplicates, convention.empty, convention.rounding)
    if asked != plain or convention.unjudged == "after":
        return None
    for measure, reading in readable():
        params = _params(measure, reading, convention, grades) if reading.family == convention.family else None
        if params is not None:
            return str(parse(str(type(measure)(**params))))
    return None


def _params(
    measure: RankingMeasure, reading: Reading, convention: Convention, grades: Sequence[float]
) -> dict[str, Any] | None:
    """Return the parameters with which a measure of the family computes a convention; None where it does not."""
    declares, axes = measure.SUPPORTED_PARAMS, convention._asdict()
    params = reading.write(axes, grades) if reading.write is not None else {}
    if params is None or any(axes[axis] != choice for axis, choice in reading.axes.items()):
        return None
    at, removed = declares.get(measure.AT_PARAM), convention.unjudged == "removed"
    if (at is None and convention.at is not None) or (at is not None and at.required and convention.at is None):
        return None
    if removed and "judged_only" not in declares:
        return None
    shared = {measure.AT_PARAM: convention.at, "rel": convention.threshold, "judged_only": removed}
    return {**params, **{name: value for name, value in shared.items() if name in declares}}


def options_of(convention: Convention) -> dict[str, Any]:
    """Return what ``evaluate()`` needs beside the measure, where that is not its default."""
    queries = {} if convention.queries == "qrels" else {"queries": convention.queries}
    return {**queries, **({} if convention.precision == ORDERED_BY else {"order": f"float{convention.precision}"})}


def convention_of(name: str | Measure, grades: Sequence[float]) -> Convention:
    """Return the convention of a measure on qrels with these grades, or raise ParamError where it is none.

    A grade that ``gains`` does not name gains itself, so what a measure means depends on the grades there are.

    >>> convention_of("ListAP(rel=2)@10", [0, 1, 2]).denominator, convention_of("ndcg_exp_cut_5", [0, 1]).gain
    ('retrieved', 'exponential')
    >>> convention_of("nDCG(gains={2: 1})@10", [0, 1, 2]).threshold         # grade 1 gains 1, as grade 2 does
    1
    """
    asked = parse(name)
    measure = declared(asked)
    reading = None if measure is None else measure.READS
    if measure is None or reading is None:
        known = ", ".join(sorted(measure.NAME for measure, _ in readable()))
        raise ParamError(f"{asked} cannot be explained; these can: {known}")
    given = measure.arguments
    at = given.get("recall" if FAMILIES[reading.family].by_recall else "cutoff")
    found = base_of(reading.family, at)._replace(threshold=given.get("rel", 1), **reading.axes)
    found = found._replace(unjudged="removed") if given.get("judged_only") else found
    return found if reading.read is None else found._replace(**reading.read(measure, grades, thresholds_of([*grades])))
