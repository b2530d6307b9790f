"""The providers that ir_measures has itself: pytrec_eval, gdeval (a Perl script) and MS MARCO's script."""

import shutil
from collections.abc import Callable
from copy import copy
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from permed_measures.verification.references import Computation, Params, Qrels, Reference, Run, Values, whole_grades
from permed_measures.verification.references.pytrec_eval import own_evaluator

_GDEVAL_MAX_GRADE = 4
_SIXTY_FOUR = "compares scores as 64-bit floats"


def _whole_only(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
    return "" if whole_grades(qrels) else "a float grade: ir_measures takes whole grades only"


def _safe_only(qrels: Qrels, run: Run) -> str:
    if any(judged and max(judged.values()) < 0 for judged in qrels.values()):
        return "a query whose grades are all negative: pytrec_eval would crash the process"
    return _whole_only(qrels, run)


def _measure(name: str, params: Params) -> Any:  # noqa: ANN401  (a measure of ir_measures)
    theirs = getattr(import_module("ir_measures"), name, None)
    if theirs is None:
        return None
    given = {key: value for key, value in params.items() if value is not None}
    given |= {key: float(given[key]) for key in ("beta", "p", "recall") if key in given}  # it takes no int for these
    if not isinstance(given.get("rel", 1), int):
        return None  # ir_measures has whole relevance levels only
    if "judged_only" not in theirs.SUPPORTED_PARAMS and given.pop("judged_only", False):
        return None
    return theirs(**given)


def _calculation(provider: str, measure: Any) -> Callable[[Qrels, Run], Values]:  # noqa: ANN401  (as above)
    def compute(qrels: Qrels, run: Run) -> Values:
        asked = copy(import_module("ir_measures.providers").registry[provider])
        if provider == "pytrec_eval" and asked.is_available():  # its own class, whatever is in its place
            asked.pytrec_eval = SimpleNamespace(RelevanceEvaluator=own_evaluator())
        evaluator = asked.evaluator([measure], dict(qrels))
        return {metric.query_id: float(metric.value) for metric in evaluator.iter_calc(dict(run))}

    return compute


def _supported(provider: str, name: str, params: Params) -> Any:  # noqa: ANN401  (a measure, or None)
    measure = _measure(name, params)
    known = import_module("ir_measures.providers").registry[provider]
    return measure if measure is not None and known.is_available() and known.supports(measure) else None


def _pytrec_eval(name: str, params: Params) -> Computation | None:
    if name == "Coverage" and params.get("cutoff") is not None:
        name = "Success"
    measure = _supported("pytrec_eval", name, params)
    if measure is None:
        return None
    unread = _unread(name, params)
    refuses = (lambda _, __: unread) if unread else _safe_only
    return Computation(_calculation("pytrec_eval", measure), how=str(measure), refuses=refuses)


def _unread(name: str, params: Params) -> str:
    """Say which number ir_measures does not hand on as it is."""
    if name == "IPrec" and float(f"{params['recall']:.2f}") != params["recall"]:
        return "ir_measures asks pytrec_eval for a level of recall with two decimals"
    if name == "SetF" and "e" in repr(params["beta"]):
        return "ir_measures writes beta with an exponent, which pytrec_eval does not read"
    return ""


def _msmarco(name: str, params: Params) -> Computation | None:
    measure = _supported("msmarco", name, params)
    if measure is None:
        return None
    return Computation(
        _calculation("msmarco", measure),
        how=str(measure),
        refuses=_whole_only,
        ties="orders equal scores by document id, ascending",
        near_ties=_SIXTY_FOUR,
    )


def _gdeval(name: str, params: Params) -> Computation | None:
    measure = _supported("gdeval", name, params)
    if measure is None:
        return None

    def refuses(qrels: Qrels, run: Run) -> str:
        grades = {grade for judged in qrels.values() for grade in judged.values()}
        if any(not isinstance(grade, int) or grade > _GDEVAL_MAX_GRADE for grade in grades):
            return f"gdeval takes whole grades up to {_GDEVAL_MAX_GRADE}"
        doc_ids = {doc_id for table in (qrels, run) for inner in table.values() for doc_id in inner}
        return "gdeval splits document ids at white space" if any(len(d.split()) != 1 for d in doc_ids) else ""

    def compute(qrels: Qrels, run: Run) -> Values:
        number = {query_id: str(place) for place, query_id in enumerate(qrels, 1)}  # gdeval reads numbers only
        values = _calculation("gdeval", measure)(
            {number[query_id]: judged for query_id, judged in qrels.items()},
            {number[query_id]: scores for query_id, scores in run.items() if query_id in number},
        )
        return {query_id: values[number[query_id]] for query_id in qrels}

    return Computation(
        compute,
        how=str(measure),
        refuses=refuses,
        near_ties=_SIXTY_FOUR,
        tolerance=0.5e-5 + 1e-12,
        tolerance_reason="gdeval prints 5 decimals",
    )


def _reference(provider: str, find: Callable[[str, Params], Computation | None], **options: Any) -> Reference:  # noqa: ANN401  (of Reference)
    name, known, published = f"ir_measures/{provider}", ("0.4.1", "0.5"), ("ir-measures", "ir_measures")
    return Reference(name, "ir_measures", find, distributions=published, known=known, **options)


_NO_PERL = "gdeval is a Perl script, and perl is not installed"
REFERENCES = (
    _reference("pytrec_eval", _pytrec_eval, program="pytrec_eval"),
    _reference("gdeval", _gdeval, program="ir_measures", missing=lambda: "" if shutil.which("perl") else _NO_PERL),
    _reference("msmarco", _msmarco, program="ir_measures"),
)
