"""Conventions as measures and measures as conventions: what ``evaluate()`` computes, and how it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir_measures import Measure

from permed_measures.errors import ParamError
from permed_measures.explanation.conventions import Convention, base_of
from permed_measures.measures import DEFINED, parse
from permed_measures.measures.base import NOT_GIVEN

_NORMS = {"relevant": "relevant", "min": "cutoff", "retrieved": "retrieved", "ideal": "ideal"}
_GAINS = {"linear": "log2", "exponential": "exp-log2"}


def measure_of(convention: Convention, grades: Sequence[float]) -> str | None:
    """Return the measure that computes exactly this, on qrels with these grades; None where none does.

    ``evaluate(…, queries=convention.queries)`` then gives the number.

    >>> measure_of(Convention("map", 10, denominator="min"), [0, 1, 2])
    "GWAP(weights={1: 1.0, 2: 1.0},norm='cutoff')@10"
    >>> measure_of(Convention("ndcg", 5, gain="exponential", unjudged="removed"), [0, 1])
    "nDCG(dcg='exp-log2',judged_only=True)@5"
    """
    plain = ("trec_eval", 32, "first", "zero", None)
    asked = (convention.ties, convention.precision, convention.duplicates, convention.empty, convention.rounding)
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
    at = "" if convention.cutoff is None else f"@{convention.cutoff}"
    return str(parse(f"{name}({inside}){at}" if inside else f"{name}{at}"))


_JUDGED_ONLY = ("AP", "P", "R", "RR", "nDCG", "Success")

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
        # a negative grade stays one: judged_only takes it out of the list
        known = sorted({grade for grade in grades if grade >= 0})
        params["gains"] = {grade: int(grade >= convention.threshold) for grade in known}
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


_NAMED = {"map": _map, "ndcg": _ndcg, "recall": _recall, "precision": _precision, "mrr": _mrr, "hit": _hit}

_FAMILIES = {
    "AP": "map",
    "GWAP": "map",
    "ListAP": "map",
    "nDCG": "ndcg",
    "ListNDCG": "ndcg",
    "R": "recall",
    "P": "precision",
    "RR": "mrr",
    "Success": "hit",
    "Coverage": "hit",
}


def convention_of(name: str) -> Convention:
    """Return the convention of a measure.

    >>> convention_of("ListAP(rel=2)@10").denominator, convention_of("ndcg_exp_cut_5").gain
    ('retrieved', 'exponential')
    """
    measure = parse(name)
    if measure.NAME not in _FAMILIES:
        known = ", ".join(_FAMILIES)
        raise ParamError(f"{measure} cannot be explained; these can: {known}")
    cutoff = None if measure["cutoff"] is NOT_GIVEN else measure["cutoff"]
    found = base_of(_FAMILIES[measure.NAME], cutoff)._replace(**_settings(measure))
    if _given(measure, "judged_only"):
        found = found._replace(unjudged="removed")
    rel = _given(measure, "rel")
    return found if rel is None else found._replace(threshold=rel)


def _given(measure: Measure, name: str) -> Any:  # noqa: ANN401  (a parameter of any type)
    value = measure[name] if name in measure.SUPPORTED_PARAMS else None
    return None if value is NOT_GIVEN else value


def _settings(measure: Measure) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if measure.NAME == "GWAP":
        weights = measure["weights"]
        if weights is not None and set(weights.values()) != {1.0}:
            raise ParamError(f"{measure}: weights other than 1.0 are not an axis of explain; give max_rel")
        norms = {norm: denominator for denominator, norm in _NORMS.items()}
        settings = {
            "weights": None if weights is not None else measure["max_rel"],
            "denominator": norms[measure["norm"]],
        }
    elif measure.NAME == "ListAP":
        settings = {"denominator": "retrieved"}
    elif measure.NAME in ("nDCG", "ListNDCG"):
        gains = _given(measure, "gains")
        settings = {"gain": "exponential" if measure["dcg"] == "exp-log2" else "linear"}
        if gains:
            if set(gains.values()) - {0, 1}:
                raise ParamError(f"{measure}: gains other than 0 and 1 are not an axis of explain")
            settings = {"gain": "binary", "threshold": min(grade for grade, gain in gains.items() if gain)}
        if measure.NAME == "ListNDCG":
            settings["ideal"] = "returned"
    return settings
