"""scikit-learn's ``ndcg_score`` and ``dcg_score``: 64-bit scores, the mean over all orders of tied documents."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from permed_measures.verification.references import Computation, Grades, Params, Qrels, Reference, Run, Values


def _gain(grade: float, params: Params) -> float:
    gains = params.get("gains")
    if gains is not None:
        grade = gains.get(grade, grade)
    return 2.0**grade - 1.0 if params["dcg"] == "exp-log2" else float(grade)


def _padded(gains: Sequence[float], scores: Sequence[float]) -> tuple[list[list[float]], list[list[float]]]:
    # two documents at least, or scikit-learn takes the row for something else; the last two gain nothing
    lowest = min(scores, default=0.0)
    return [[*gains, 0.0, 0.0]], [[*scores, lowest - 1.0, lowest - 2.0]]


def _refuses(qrels: Qrels, run: Run) -> str:
    if any(grade < 0 for judged in qrels.values() for grade in judged.values()):
        return "a negative grade: scikit-learn takes none"
    if any(not math.isfinite(score) for scores in run.values() for score in scores.values()):
        return "an infinite score: scikit-learn takes none"
    return ""


def _list(grades: Grades, scores: Grades, params: Params) -> tuple[list[float], list[float]]:
    doc_ids = [doc_id for doc_id in scores if not params.get("judged_only") or doc_id in grades]
    gains = [_gain(grades[doc_id], params) if doc_id in grades else 0.0 for doc_id in doc_ids]
    return gains, [scores[doc_id] for doc_id in doc_ids]


@contextmanager
def _metrics() -> Iterator[Any]:
    """scikit-learn's metrics; that scores are finite was checked before, and takes half of its time."""
    with import_module("sklearn").config_context(assume_finite=True, skip_parameter_validation=True):
        yield import_module("sklearn.metrics")


def _list_ndcg(params: Params) -> Computation:
    def compute(qrels: Qrels, run: Run) -> Values:
        cutoff = params.get("cutoff")
        with _metrics() as metrics:
            return {
                query_id: float(metrics.ndcg_score(*_padded(*_list(grades, run[query_id], params)), k=cutoff))
                for query_id, grades in qrels.items()
                if run.get(query_id)
            }

    return _computation(compute, "ndcg_score of the returned list")


def _ndcg(params: Params) -> Computation:
    def compute(qrels: Qrels, run: Run) -> Values:
        values = {}
        ideals: dict[tuple[float, ...], float] = {}
        with _metrics() as metrics:
            for query_id, grades in qrels.items():
                if run.get(query_id):
                    gains = tuple(sorted(_gain(grade, params) for grade in grades.values()))
                    if gains not in ideals:
                        ideals[gains] = float(metrics.dcg_score(*_padded(gains, gains), k=params.get("cutoff")))
                    found = metrics.dcg_score(*_padded(*_list(grades, run[query_id], params)), k=params.get("cutoff"))
                    values[query_id] = float(found / ideals[gains]) if ideals[gains] else 0.0
        return values

    return _computation(compute, "dcg_score of the list / dcg_score of all judged documents")


_computation = partial(
    Computation,
    refuses=_refuses,
    ties="averages over all orders of documents with equal scores",
    near_ties="compares scores as 64-bit floats",
)


def _find(name: str, params: Params) -> Computation | None:
    return _list_ndcg(params) if name == "ListNDCG" else _ndcg(params) if name == "nDCG" else None


REFERENCES = (Reference("scikit-learn", "sklearn", _find, distributions=("scikit-learn",), known=("1.4", "2")),)
