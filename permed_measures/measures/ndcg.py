"""nDCG over all judged documents, with linear or exponential gain: ir_measures' ``nDCG``, computed here."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import expm1, inf, log, log2
from typing import Any

import ir_measures

from permed_measures.errors import ParamError
from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, JUDGED_ONLY, Call, HostName, Param, Reading
from permed_measures.ranking import Ranking

DCG = Param("choice", default="log2", choices=("log2", "exp-log2"), desc="gain = grade, or gain = 2^grade - 1")

SMALLEST = 0.01
"""Below this grade 2^grade - 1 loses digits, down to all of them."""

LARGEST = 1000
"""Above this grade 2^grade leaves the range of a float; there all gains are scaled by the best one."""


def ndcg(
    ranking: Ranking, *, cutoff: int | None, dcg: str, gains: Mapping[float, float] | None, judged_only: bool
) -> float:
    """DCG of the list divided by the DCG of all judged documents in the best order."""
    if gains is not None:
        ranking = ranking.mapped(gains)
    if judged_only:
        ranking = ranking.judged_only()
    return dcg_ratio(ranking.hits(cutoff), ranking.grades[:cutoff], dcg)


def dcg_ratio(hits: list[tuple[int, float]], ideal: list[float], dcg: str) -> float:
    """DCG of ranked grades over the DCG of ``ideal``, the same or better grades in descending order."""
    if not hits or not ideal or ideal[0] <= 0:
        return 0.0
    best = ideal[0]
    if dcg == "exp-log2" and not SMALLEST <= best <= LARGEST:
        dcg = "log2"
        hits = [(rank, _scaled_gain(grade, best)) for rank, grade in hits]
        ideal = [_scaled_gain(grade, best) for grade in ideal]
    return _dcg(hits, dcg) / _ideal_dcg(tuple(ideal), dcg)


def _scaled_gain(grade: float, best: float) -> float:
    if grade <= 0:
        return 0.0
    return expm1(grade * log(2)) if best < SMALLEST else float(2.0 ** (grade - best) - 2.0**-best)


def _dcg(hits: list[tuple[int, float]], dcg: str) -> float:
    if dcg == "exp-log2":
        gains: list[float] = [(2.0**grade - 1.0) / log2(rank + 1) for rank, grade in hits if grade > 0]
        return sum(gains)
    return sum([grade / log2(rank + 1) for rank, grade in hits if grade > 0])


@lru_cache(maxsize=4096)
def _ideal_dcg(grades: tuple[float, ...], dcg: str) -> float:
    return _dcg(list(enumerate(grades, 1)), dcg)


def ndcg_expression(
    table: RankingTable, *, cutoff: int | None, dcg: str, gains: Mapping[float, float] | None, judged_only: bool
) -> Expr:
    """Write the same over a table."""
    grade = table.grade if gains is None else table.mapped(table.grade, gains, otherwise=table.grade)
    gain, place, rank = table.gain(grade, dcg), table.place(grade), table.ranks(judged_only=judged_only, grade=grade)
    return table.ratio(
        table.sum_hits(gain / table.discount(rank), (grade > 0) & table.within(cutoff, rank)),
        table.sum_judged(gain / table.discount(place), (grade > 0) & table.within(cutoff, place)),
    )


def ndcg_call(*, cutoff: int | None, dcg: str, **_: object) -> Call | None:
    """Ask pytrec_eval for the linear gain, which it has."""
    if dcg != "log2":
        return None
    return Call("ndcg" if cutoff is None else f"ndcg_cut_{cutoff}", depth=cutoff, graded=True)


_NAMED_GAINS = {"log2": "linear", "exp-log2": "exponential"}


def gain_written(axes: Mapping[str, Any], grades: Sequence[float]) -> dict[str, Any] | None:
    """Return the parameters that give this gain to documents of these grades; a list's own ideal has no ``gains``."""
    if axes["gain"] != "binary":
        return {"dcg": None if axes["gain"] == "linear" else "exp-log2"}
    if axes["ideal"] != "judged":
        return None
    gains = {grade: int(grade >= axes["threshold"]) for grade in sorted(set(grades)) if grade > 0}
    # a grade that is its own gain need not be said, and does not print
    return {"gains": {grade: gain for grade, gain in gains.items() if grade != gain} or None}


def gain_read(measure: RankingMeasure, grades: Sequence[float], thresholds: Sequence[float]) -> dict[str, Any]:
    """Find the gain that each grade of the data has in effect among the choices of ``explain``."""
    written = _NAMED_GAINS[measure["dcg"]]
    gains = {grade: (measure.arguments.get("gains") or {}).get(grade, grade) for grade in grades}
    if max(gains.values(), default=0) > LARGEST and written == "exponential":
        raise ParamError(f"{measure}: a gain of 2^{max(gains.values()):g} - 1 is too high for explain")
    if measure.arguments.get("judged_only") and any((grade < 0) != (gain < 0) for grade, gain in gains.items()):
        raise ParamError(f"{measure}: gains that make grades below 0 judged are not an axis of explain")
    effective = {grade: _effective(gain, written) for grade, gain in gains.items()}
    reachable = ("linear", "exponential") if max(grades, default=0) <= LARGEST else ("linear",)
    for gain in sorted(reachable, key=lambda gain: gain != written):
        if all(_effective(grade, gain) == effective[grade] for grade in grades):
            return {"gain": gain}
    threshold = _threshold(effective, thresholds)
    if threshold is None:
        shown = ", ".join(f"{grade:g}: {gain:g}" for grade, gain in sorted(effective.items()))
        raise ParamError(
            f"{measure}: the gains {{{shown}}} are not an axis of explain; give gain = grade, "
            "gain = 2^grade - 1, or 0 below a grade above 0 and 1 from it on"
        )
    return {"gain": "binary", "threshold": threshold}


def _effective(grade: float, gain: str) -> float:
    """Return what a document gains; that of a grade below 0 is 0."""
    if grade <= 0:
        return 0.0
    return 2.0**grade - 1.0 if gain == "exponential" else grade


def _threshold(gains: dict[float, float], thresholds: Sequence[float]) -> float | None:
    """Return the plainest threshold above 0 from which on gains are 1, below it 0; None where there is none."""
    above = [grade for grade, gain in gains.items() if gain == 1]
    below = [grade for grade, gain in gains.items() if gain == 0]
    if len(above) + len(below) < len(gains) or min([inf, *above]) <= max([0, *below]):
        return None
    known = [*thresholds, *above]
    return next((t for t in known if all(grade >= t for grade in above) and all(grade < t for grade in below)), None)


class _NDCG(RankingMeasure):
    r"""Discounted cumulative gain as a share of the best that the judged documents allow.

    .. math:: \frac{DCG}{IDCG}, \qquad DCG = \sum_{i \le k} \frac{g_i}{\log_2 (i + 1)}

    The gain is the grade itself (``dcg='log2'``, linear); with ``dcg='exp-log2'`` it is 2^g - 1 (exponential). The
    ideal is the DCG@k of all judged documents in descending order of grade; a negative grade gains nothing. In [0,
    1]; 0 when nothing is relevant. Exact for any query id, and any grade, floats included, where gdeval rounds to 5
    decimals and stops at grade 4.

    >>> from ir_measures import nDCG
    >>> from permed_measures import evaluate
    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}
    >>> evaluate(qrels, run, [nDCG(dcg='exp-log2')@10]).means   # (1 + 3/log2(3)) / (3 + 1/log2(3))
    {nDCG(dcg='exp-log2')@10: 0.7967075809905066}

    Not for one right answer per query (RR), nor across papers without naming the gain, linear or exponential.
    Source: Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; the exponential gain: Burges et al., ICML 2005.
    """

    NAME = "nDCG"
    PRETTY_NAME = "Normalised Discounted Cumulative Gain"
    HOST_MEASURE = ir_measures.nDCG
    HOST_NAMES = (HostName("ndcg_exp", "NDCG-exp", {"dcg": "exp-log2"}),)
    SUPPORTED_PARAMS = {
        "cutoff": CUTOFF,
        "dcg": DCG,
        "gains": Param("gains", desc="a gain for each grade, applied before anything else"),
        "judged_only": JUDGED_ONLY,
    }
    RANX_NAME = "ndcg"
    kernel = staticmethod(ndcg)
    call = staticmethod(ndcg_call)
    expression = exact = staticmethod(ndcg_expression)
    READS = Reading("ndcg", {"ideal": "judged", "discount": "log2"}, gain_read, gain_written)
    EXAMPLES = ({}, {"dcg": "exp-log2"}, {"judged_only": True}, {"gains": {1: 2, 2: 1.5}})


NDCG = define(_NDCG)
