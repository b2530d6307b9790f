"""Conventions as measures and measures as conventions: what ``evaluate()`` computes, and how it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ir_measures import Measure

from permed_measures.errors import ParamError
from permed_measures.explanation.conventions import Convention, base_of, thresholds_of
from permed_measures.measures import DEFINED, parse
from permed_measures.measures.base import NOT_GIVEN
from permed_measures.measures.ndcg import LARGEST

_NORMS = {"relevant": "relevant", "min": "cutoff", "retrieved": "retrieved", "ideal": "ideal"}
ORDERED_BY = 32
"""The bits in which evaluate() compares scores unless it is told otherwise."""
_GAINS = {"linear": "log2", "exponential": "exp-log2"}


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
    named = _NAMED[convention.family](convention, grades)
    if named is None:
        return None
    name, params = named
    given = {key: value for key, value in params.items() if value is not None}
    if convention.threshold != 1 and convention.family != "ndcg":
        given["rel"] = convention.threshold
    if convention.unjudged == "removed":
        if name not in _JUDGED_ONLY:
            return None
        given["judged_only"] = True
    inside = ",".join(f"{key}={value!r}" for key, value in given.items())
    at = "" if convention.at is None else f"@{convention.at}"
    return str(parse(f"{name}({inside}){at}" if inside else f"{name}{at}"))


def options_of(convention: Convention) -> dict[str, Any]:
    """Return what ``evaluate()`` needs beside the measure, where that is not its default."""
    queries = {} if convention.queries == "qrels" else {"queries": convention.queries}
    return {**queries, **({} if convention.precision == ORDERED_BY else {"order": f"float{convention.precision}"})}


_JUDGED_ONLY = ("AP", "P", "R", "RR", "nDCG", "Success", "IPrec", "IPrecNearest")

_Named = tuple[str, dict[str, Any]] | None


def _map(convention: Convention, grades: Sequence[float]) -> _Named:
    if convention.denominator not in _NORMS:
        return None
    norm = _NORMS[convention.denominator]
    if convention.weights is None:
        if norm == "relevant":
            return "AP", {}
        if norm == "retrieved":
            return "ListAP", {}
        relevant = sorted({grade for grade in grades if grade >= convention.threshold})
        return ("GWAP", {"weights": dict.fromkeys(relevant, 1.0), "norm": norm}) if relevant else None
    if max(grades, default=0) > convention.weights:
        return None
    return "GWAP", {
        "max_rel": None if convention.weights == DEFINED["GWAP"]["max_rel"] else convention.weights,
        "norm": None if norm == "relevant" else norm,
    }


def _ndcg(convention: Convention, grades: Sequence[float]) -> _Named:
    params: dict[str, Any] = {}
    if convention.gain == "binary":
        if convention.ideal != "judged":
            return None
        gains = {grade: int(grade >= convention.threshold) for grade in sorted(set(grades)) if grade > 0}
        # a grade that is its own gain need not be said, and does not print
        params["gains"] = {grade: gain for grade, gain in gains.items() if grade != gain} or None
    elif convention.gain == "exponential":
        params["dcg"] = _GAINS[convention.gain]
    if convention.ideal == "judged":
        return "nDCG", params
    return ("ListNDCG", params) if convention.ideal == "returned" else None


def _recall(convention: Convention, _: Sequence[float]) -> _Named:
    if convention.denominator != "relevant":
        return None
    return ("SetR" if convention.cutoff is None else "R"), {}


def _precision(convention: Convention, _: Sequence[float]) -> _Named:
    return ("P", {}) if convention.denominator == "k" else None


def _mrr(_: Convention, __: Sequence[float]) -> _Named:
    return "RR", {}


def _hit(convention: Convention, _: Sequence[float]) -> _Named:
    return ("Coverage" if convention.cutoff is None else "Success"), {}


def _iprec(convention: Convention, _: Sequence[float]) -> _Named:
    return ("IPrec" if convention.levels == "up" else "IPrecNearest"), {}


_NAMED = {
    "map": _map,
    "ndcg": _ndcg,
    "recall": _recall,
    "precision": _precision,
    "mrr": _mrr,
    "hit": _hit,
    "iprec": _iprec,
}

_FAMILIES = {
    "AP": "map",
    "GWAP": "map",
    "ListAP": "map",
    "nDCG": "ndcg",
    "ListNDCG": "ndcg",
    "R": "recall",
    "SetR": "recall",
    "P": "precision",
    "RR": "mrr",
    "Success": "hit",
    "Coverage": "hit",
    "IPrec": "iprec",
    "IPrecNearest": "iprec",
}


def convention_of(name: str | Measure, grades: Sequence[float]) -> Convention:
    """Return the convention of a measure on qrels with these grades, or raise ParamError where it is none.

    A grade that ``gains`` does not name gains itself, so what a measure means depends on the grades there are.

    >>> convention_of("ListAP(rel=2)@10", [0, 1, 2]).denominator, convention_of("ndcg_exp_cut_5", [0, 1]).gain
    ('retrieved', 'exponential')
    >>> convention_of("nDCG(gains={2: 1})@10", [0, 1, 2]).threshold         # grade 1 gains 1, as grade 2 does
    1
    """
    measure = parse(name)
    if measure.NAME not in _FAMILIES:
        raise ParamError(f"{measure} cannot be explained; these can: {', '.join(_FAMILIES)}")
    family = _FAMILIES[measure.NAME]
    at = _given(measure, "recall" if family == "iprec" else "cutoff")
    rel = _given(measure, "rel")
    found = base_of(family, at)._replace(threshold=1 if rel is None else rel)
    found = found._replace(unjudged="removed") if _given(measure, "judged_only") else found
    return found._replace(**_SETTINGS[measure.NAME](measure, grades)) if measure.NAME in _SETTINGS else found


def _given(measure: Measure, name: str) -> Any:  # noqa: ANN401  (a parameter of any type)
    value = measure[name] if name in measure.SUPPORTED_PARAMS else None
    return None if value is NOT_GIVEN else value


def _of_gwap(measure: Measure, grades: Sequence[float]) -> dict[str, Any]:
    weights = measure["weights"]
    norms = {norm: denominator for denominator, norm in _NORMS.items()}
    counted = set() if weights is None else {weights[grade] for grade in grades if grade in weights}
    if counted - {1.0}:
        raise ParamError(f"{measure}: weights other than 1.0 are not an axis of explain; give max_rel")
    return {"weights": None if weights is not None else measure["max_rel"], "denominator": norms[measure["norm"]]}


def _of_ndcg(measure: Measure, grades: Sequence[float]) -> dict[str, Any]:
    """Find the gain that each grade of the data has in effect among the choices of the axis."""
    written = "exponential" if measure["dcg"] == "exp-log2" else "linear"
    ideal = {"ideal": "returned"} if measure.NAME == "ListNDCG" else {}
    gains = {grade: (_given(measure, "gains") or {}).get(grade, grade) for grade in grades}
    if max(gains.values(), default=0) > LARGEST and written == "exponential":
        raise ParamError(f"{measure}: a gain of 2^{max(gains.values()):g} - 1 is too high for explain")
    if _given(measure, "judged_only") and any((grade < 0) != (gain < 0) for grade, gain in gains.items()):
        raise ParamError(f"{measure}: gains that make grades below 0 judged are not an axis of explain")
    effective = {grade: _effective(gain, written) for grade, gain in gains.items()}
    reachable = ("linear", "exponential") if max(grades, default=0) <= LARGEST else ("linear",)
    for gain in sorted(reachable, key=lambda gain: gain != written):
        if all(_effective(grade, gain) == effective[grade] for grade in grades):
            return {"gain": gain, **ideal}
    threshold = _threshold(effective)
    if threshold is None:
        raise ParamError(
            f"{measure}: the gains {_shown(effective)} are not an axis of explain; give gain = grade, "
            "gain = 2^grade - 1, or 0 below a grade above 0 and 1 from it on"
        )
    return {"gain": "binary", "threshold": threshold, **ideal}


def _effective(grade: float, gain: str) -> float:
    """Return what a document gains; that of a grade below 0 is 0."""
    if grade <= 0:
        return 0.0
    return 2.0**grade - 1.0 if gain == "exponential" else grade


def _threshold(gains: dict[float, float]) -> float | None:
    """Return the plainest threshold above 0 from which on gains are 1, below it 0; None where there is none."""
    above = [grade for grade, gain in gains.items() if gain == 1]
    below = [grade for grade, gain in gains.items() if gain == 0]
    if len(above) + len(below) < len(gains) or min([math.inf, *above]) <= max([0, *below]):
        return None
    known = [*thresholds_of(list(gains)), *above]
    return next((t for t in known if all(grade >= t for grade in above) and all(grade < t for grade in below)), None)


def _shown(gains: dict[float, float]) -> str:
    return "{" + ", ".join(f"{grade:g}: {gain:g}" for grade, gain in sorted(gains.items())) + "}"


_SETTINGS: dict[str, Callable[[Measure, Sequence[float]], dict[str, Any]]] = {
    "GWAP": _of_gwap,
    "ListAP": lambda _, __: {"denominator": "retrieved"},
    "nDCG": _of_ndcg,
    "ListNDCG": _of_ndcg,
    "IPrecNearest": lambda _, __: {"levels": "nearest"},
}
