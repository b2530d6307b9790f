"""nDCG over all judged documents, with linear or exponential gain: ir_measures' ``nDCG``, computed here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import expm1, log, log2
from typing import TYPE_CHECKING, ClassVar

import ir_measures

from permed_measures.measures.base import CUTOFF, HostName, Param, RankingMeasure, define
from permed_measures.ranking import Ranking

if TYPE_CHECKING:
    import narwhals as nw

    from permed_measures.tables.ranking_table import RankingTable

GAINS = ("log2", "exp-log2")

SMALLEST = 0.01
"""Below this grade 2^grade - 1 loses digits, down to all of them."""

LARGEST = 1000
"""Above this grade 2^grade leaves the range of a float; there all gains are scaled by the best one."""


def ndcg(
    ranking: Ranking,
    *,
    cutoff: int | None,
    dcg: str,
    gains: Mapping[float, float] | None,
    judged_only: bool,
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
    table: RankingTable,
    *,
    cutoff: int | None,
    dcg: str,
    gains: Mapping[float, float] | None,
    judged_only: bool,
) -> nw.Expr:
    """Write the same over a table."""
    grade = table.grade if gains is None else table.mapped(table.grade, gains, otherwise=table.grade)
    gain, place, rank = table.gain(grade, dcg), table.place(grade), table.ranks(judged_only=judged_only, grade=grade)
    return table.ratio(
        table.sum_hits(gain / table.discount(rank), (grade > 0) & table.within(cutoff, rank)),
        table.sum_judged(gain / table.discount(place), (grade > 0) & table.within(cutoff, place)),
    )


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

    Source: Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; the exponential gain: Burges et al., ICML 2005.
    """

    NAME = "nDCG"
    PRETTY_NAME = "Normalised Discounted Cumulative Gain"
    HOST_MEASURE = ir_measures.nDCG
    HOST_NAMES = (HostName("ndcg_exp", "NDCG-exp", {"dcg": "exp-log2"}),)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "cutoff": CUTOFF,
        "dcg": Param("choice", default="log2", choices=GAINS, desc="gain = grade, or gain = 2^grade - 1"),
        "gains": Param("gains", desc="a gain for each grade, applied before anything else"),
        "judged_only": Param("flag", default=False, desc="take unjudged documents and negative grades out of the list"),
    }
    kernel = staticmethod(ndcg)
    expression = staticmethod(ndcg_expression)


NDCG = define(_NDCG)
