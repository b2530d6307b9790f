"""Measures that are neither ours nor pytrec_eval's: ir_measures' other providers compute them, on our order."""

import math
from collections.abc import Iterable, Mapping, Sequence
from subprocess import SubprocessError

import ir_measures
from ir_measures import Measure, Qrel
from ir_measures.providers import registry

from permed_measures.errors import InputError, ParamError
from permed_measures.files.rows import Subtopics
from permed_measures.inputs import Qrels, Run, subtopics_of
from permed_measures.ranking import Order
from permed_measures.ranking import order as in_order


def by_providers(measure: Measure, qrels: Qrels, run: Run, query_ids: Sequence[str], order: Order) -> list[float]:
    """Let ir_measures compute a measure that is neither ours nor pytrec_eval's, on our order."""
    if measure.NAME == "Judged":  # it asks whether a document is judged, not how
        qrels = {query_id: dict.fromkeys(grades, 0) for query_id, grades in qrels.items()}
    given = dict(measure.params)
    if given.pop("judged_only", False):  # by us for all: most of its programs have no such flag, pyndeval's fails
        run = {q: [d for d in _list_of(ids, order) if qrels.get(q, {}).get(d, -1) >= 0] for q, ids in run.items()}
    measure = getattr(measure, "CONDENSES", type(measure))(**given)
    judgements = _judgements_for(measure, qrels)
    asked = {str(n): query_id for n, query_id in enumerate(query_ids, 1) if query_id in qrels and run.get(query_id)}
    judged: list[Qrel] = []
    ordered = {}
    # queries and documents by number: gdeval, which computes ERR, takes no other queries
    for number, query_id in asked.items():
        returned = list(_list_of(run[query_id], order))
        names = {doc_id: f"d{n}" for n, doc_id in enumerate({**dict.fromkeys(returned), **qrels[query_id]}, 1)}
        judged += [
            Qrel(number, names[doc], grade, iteration) for (doc, iteration), grade in judgements[query_id].items()
        ]
        # above 0, as Compat takes a document that was not returned for one of score 0
        ordered[number] = {names[doc_id]: float(len(returned) - place) for place, doc_id in enumerate(returned)}
    try:
        found = {asked[m.query_id]: float(m.value) for m in ir_measures.iter_calc([measure], judged, ordered)}
    except (ValueError, AssertionError, ArithmeticError, SubprocessError) as error:
        raise ParamError(refusal(measure, error)) from error
    return [found.get(query_id, 0.0) for query_id in query_ids]


def _judgements_for(measure: Measure, qrels: Qrels) -> Subtopics:
    """Return {query_id: {(doc_id, subtopic): grade}}, checked."""
    judgements: Subtopics | None
    if measure.NAME in of_subtopics():
        judgements = subtopics_of(qrels)
    else:
        judgements = {q: {(doc_id, "0"): grade for doc_id, grade in grades.items()} for q, grades in qrels.items()}
    if judgements is None:
        raise InputError(
            f"{measure} asks for which subtopics a document is relevant, and these qrels tell none apart: all their "
            "iterations are equal (the second field of TREC lines; a field or column 'iteration' or 'subtopic')"
        )
    highest = _HIGHEST_GRADES.get(measure.NAME, math.inf)
    for query_id, judged in judgements.items():
        for (doc_id, _), grade in judged.items():
            if type(grade) is not int or grade > highest:
                takes = "whole grades only" if type(grade) is not int else f"grades up to {highest} only"
                raise InputError(
                    f"query {query_id!r}, document {doc_id!r}: grade {grade!r}: {measure} is computed by ir_measures, "
                    f"which takes {takes}"
                )
    return judgements


_HIGHEST_GRADES = {"ERR": 4}
"""Where the program that computes a measure of ir_measures stops: gdeval.pl, $MAX_JUDGMENT."""


def of_subtopics() -> set[str]:
    """Name the measures that look at subtopics: those of ir_measures' provider for them."""
    return {measure.NAME for measure in registry["pyndeval"].SUPPORTED_MEASURES}


def _list_of(returned: Mapping[str, float] | Sequence[str], order: Order) -> Iterable[str]:
    return in_order(returned, by=order) if isinstance(returned, Mapping) else returned


def refusal(measure: Measure, error: Exception) -> str:
    """Say why ir_measures does not compute a measure, and what to write or to install for it.

    >>> refusal(ir_measures.INST(T=2.0), ValueError("…")).partition(":")[0]
    'ir_measures cannot compute INST(T=2.0)'
    """
    advice = []
    for provider in ir_measures.DefaultPipeline.providers:
        known = [supported for supported in provider.SUPPORTED_MEASURES if supported.NAME == measure.NAME]
        if not known:
            continue
        refused = min(([n for n, spec in m.params.items() if not spec.validate(measure[n])] for m in known), key=len)
        if provider.is_available() and not refused:  # it was asked, and failed
            return f"ir_measures cannot compute {measure}: {error}"
        written = [f"{measure.NAME}({name}=…)" for name in refused if name not in measure.params]
        written += [f"{measure.NAME} without {name}" for name in refused if name in measure.params]
        install = "" if provider.is_available() else provider.install_instructions()
        steps = [f"write {' and '.join(written)}"] if written else []
        advice.append(f"{provider.NAME} would: {', '.join([*steps, *([install] if install else [])])}")
    why = f"none of its providers here does; {'; '.join(advice)}" if advice else str(error)
    return f"ir_measures cannot compute {measure}: {why}"
