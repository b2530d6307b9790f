"""Interpolated precision with trec_eval 10.0's rounding of recall levels."""

from itertools import accumulate

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import REL, HostName, Param, Reading
from permed_measures.ranking import Ranking

ROUNDINGS = ("up", "nearest")
ELEVEN = tuple(tenths / 10 for tenths in range(11))


def level(recall: float, num_rel: int, rounding: str) -> int:
    """Return how many relevant documents make this recall, as trec_eval 9.0.8 ('up') or 10.0 ('nearest') rounds it."""
    exact = recall * num_rel
    if rounding == "up":
        return int(exact + 0.9)
    return int(exact) + (exact - int(exact) >= 0.5)  # noqa: PLR2004  (halves away from 0, as lround does)


def interpolated(ranking: Ranking, rel: float) -> list[float]:
    """Return, for each relevant document of the list, the highest precision at its rank or below."""
    ranks = [rank for rank, grade in ranking.hits(None) if grade >= rel]
    precisions = [found / rank for found, rank in enumerate(ranks, 1)]
    return list(accumulate(reversed(precisions), max))[::-1]


def at_level(precisions: list[float], wanted: int) -> float:
    """Return the interpolated precision where so many relevant documents are found; 0 where they never are."""
    return precisions[max(wanted, 1) - 1] if precisions and wanted <= len(precisions) else 0.0


def at_recall(table: RankingTable, rank: Expr, *, recall: float, rel: float, rounding: str) -> Expr:
    """Write interpolated precision at a recall over a table."""
    relevant = table.grade >= rel
    found, exact = table.found(relevant), table.count_judged(relevant) * recall
    enough = found > exact - 0.5 if rounding == "nearest" else found + 1.0 > exact + 0.9
    return table.max_hits(found / rank, relevant & enough)


def iprec_nearest(ranking: Ranking, *, recall: float, rel: float) -> float:
    """Return the highest precision at any rank where the recall is reached."""
    return at_level(interpolated(ranking, rel), level(recall, ranking.num_rel(rel), "nearest"))


def iprec_nearest_expression(table: RankingTable, *, recall: float, rel: float) -> Expr:
    """Write the same over a table."""
    return at_recall(table, table.rank, recall=recall, rel=rel, rounding="nearest")


class _IPrecNearest(RankingMeasure):
    r"""The highest precision at any rank where recall · R relevant documents, rounded to the nearest, are found.

    .. math:: \max \{P@i : |\{j \le i : g_j \ge rel\}| \ge \lfloor recall \cdot R + 1/2 \rfloor \}

    In [0, 1]; 0 where the recall is never reached. This is ``iprec_at_recall`` of trec_eval 10.0. ir_measures'
    ``IPrec`` is that of trec_eval 9.0.8 and pytrec_eval, which adds 0.9 and cuts, so nearly always rounds up; the name
    ``iprec_at_recall_0.60`` stands for it, here as there.

    >>> qrels, run = {"q": dict.fromkeys("abcd", 1)}, {"q": ["a", "x", "b", "c"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "IPrecNearest@0.3 IPrec@0.3").means     # 1.2 documents: the first, or the second
    {IPrecNearest@0.3: 1.0, IPrec@0.3: 0.75}

    Not for comparing with trec_eval 9.0.8 and pytrec_eval, which round recall up: IPrec.
    Source: trec_eval 10.0 (2026), m_iprec_at_recall.c.
    """

    NAME = "IPrecNearest"
    PRETTY_NAME = "Interpolated Precision, Recall Rounded to the Nearest"
    AT_PARAM = "recall"
    HOST_NAMES = (HostName("iprec_nearest", "IPrec-nearest", cut="", at="recall", numbers=ELEVEN, in_ranx=False),)
    SUPPORTED_PARAMS = {
        "recall": Param("number", low=0, high=1, required=True, desc="the recall that must be reached"),
        "rel": REL,
    }
    kernel = staticmethod(iprec_nearest)
    expression = staticmethod(iprec_nearest_expression)
    READS = Reading("iprec", {"levels": "nearest"})
    EXAMPLES = ({"recall": 0}, {"recall": 0.3}, {"recall": 1, "rel": 2})


IPrecNearest = define(_IPrecNearest)
