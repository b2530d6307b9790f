"""The providers that ir_measures has itself: pytrec_eval, gdeval (a Perl script) and MS MARCO's script."""

import shutil
from collections.abc import Callable
from copy import copy
from dataclasses import replace
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
        number = {q: str(place) if provider == "gdeval" else q for place, q in enumerate(qrels, 1)}  # it reads numbers
        evaluator = asked.evaluator([measure], {number[query_id]: judged for query_id, judged in qrels.items()})
        returned = {number[query_id]: scores for query_id, scores in run.items() if query_id in number}
        found = {metric.query_id: float(metric.value) for metric in evaluator.iter_calc(returned)}
        return {query_id: found[asked_as] for query_id, asked_as in number.items() if asked_as in found}

    return compute


def _unread(name: str, params: Params) -> str:
    """Say which number ir_measures does not hand on to pytrec_eval as it is."""
    if name == "IPrec" and float(f"{params['recall']:.2f}") != params["recall"]:
        return "ir_measures asks pytrec_eval for a level of recall with two decimals"
    if name == "SetF" and "e" in repr(params["beta"]):
        return "ir_measures writes beta with an exponent, which pytrec_eval does not read"
    return ""


def _refused_by_gdeval(qrels: Qrels, run: Run) -> str:
    grades = {grade for judged in qrels.values() for grade in judged.values()}
    if any(not isinstance(grade, int) or grade > _GDEVAL_MAX_GRADE for grade in grades):
        return f"gdeval takes whole grades up to {_GDEVAL_MAX_GRADE}"
    doc_ids = {doc_id for table in (qrels, run) for inner in table.values() for doc_id in inner}
    return "gdeval splits document ids at white space" if any(len(d.split()) != 1 for d in doc_ids) else ""


def _reference(provider: str, missing: Callable[[], str] = str, **told: Any) -> Reference:  # noqa: ANN401  (of Computation)
    is_pytrec_eval = provider == "pytrec_eval"

    def find(name: str, params: Params) -> Computation | None:
        if is_pytrec_eval and name == "Coverage" and params.get("cutoff") is not None:
            name = "Success"
        measure = _measure(name, params)
        known = import_module("ir_measures.providers").registry[provider]
        if measure is None or not known.is_available() or not known.supports(measure):
            return None
        found = Computation(_calculation(provider, measure), str(measure), **told)
        unread = _unread(name, params) if is_pytrec_eval else ""
        return replace(found, refuses=lambda _, __: unread) if unread else found

    program, published = provider if is_pytrec_eval else "ir_measures", ("ir-measures", "ir_measures")
    return Reference(f"ir_measures/{provider}", "ir_measures", find, missing, program, published, ("0.4.1", "0.5"))


_NO_PERL = "gdeval is a Perl script, and perl is not installed"
REFERENCES = (
    _reference("pytrec_eval", refuses=_safe_only),
    _reference(
        "gdeval",
        lambda: "" if shutil.which("perl") else _NO_PERL,
        refuses=_refused_by_gdeval,
        near_ties=_SIXTY_FOUR,
        tolerance=0.5e-5 + 1e-12,
        tolerance_reason="gdeval prints 5 decimals",
    ),
    _reference(
        "msmarco",
        refuses=_whole_only,
        ties="orders equal scores by document id, ascending",
        near_ties=_SIXTY_FOUR,
    ),
)
