"""nDCG at R levels: averaged where the ideal list goes from one grade to the next."""

from itertools import accumulate
from math import log2

from permed_measures.measures.base import HostName, Param, RankingMeasure, define
from permed_measures.ranking import Ranking


def cumulated(ranking: Ranking) -> tuple[list[tuple[int, float]], list[float]]:
    """Return (rank, DCG down to it) of every returned document that gains, and the DCG of the ideal list by rank."""
    gaining = [(rank, grade) for rank, grade in ranking.hits(None) if grade > 0]
    dcg = accumulate(grade / log2(rank + 1) for rank, grade in gaining)
    ideal = [grade / log2(rank + 1) for rank, grade in enumerate(ranking.grades, 1) if grade > 0]
    return [(rank, value) for (rank, _), value in zip(gaining, dcg, strict=True)], list(accumulate(ideal))


def r_ndcg(ranking: Ranking, *, rel: float) -> float:
    """Average nDCG over the ranks where a grade of the ideal list ends, and over the end of a longer list."""
    found, ideal = cumulated(ranking)
    if not found or not ranking.num_rel(rel):
        return 0.0
    depth, grades = len(ideal), ranking.grades
    ends = [rank for rank in range(1, depth + 1) if rank == depth or grades[rank - 1] != grades[rank]]
    if ranking.num_ret > depth + 1:  # trec_eval does not look at the end of a list that is longer by one
        ends.append(ranking.num_ret)
    total = 0.0
    for end in ends:
        dcg = max([value for rank, value in found if rank <= end], default=0.0)
        total += dcg / ideal[min(end, depth) - 1]
    return total / len(ends)


class _RnDCG(RankingMeasure):
    r"""nDCG, averaged over the ranks where the ideal list goes from one grade to the next, and over the whole list.

    .. math:: \frac{1}{|E|} \sum_{e \in E} nDCG@e

    With 5 documents of grade 2 and 8 of grade 1, E is {5, 13} and, where more than 14 are returned, the length of the
    list. The gain is the grade, whatever ``rel`` is. In [0, 1]; 0 when nothing relevant is returned. An experimental
    measure of trec_eval.

    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["a", "x", "b"]}
    >>> from permed_measures import evaluate
    >>> round(evaluate(qrels, run, "RnDCG")["RnDCG"], 12)       # (2/2 + 2 / (2 + 1/log2(3))) / 2
    0.880093766716

    Not for new work: it is for reading trec_eval's output; nDCG is what papers report.
    Source: trec_eval, m_Rndcg.c.
    """

    NAME = "RnDCG"
    PRETTY_NAME = "nDCG at R Levels"
    HOST_NAMES = (HostName("Rndcg", "R-nDCG", in_ranx=False),)
    SUPPORTED_PARAMS = {
        "rel": Param("number", default=1, above=0, desc="a query without a document of this grade counts 0")
    }
    COUNTS_RETURNED = True
    kernel = staticmethod(r_ndcg)
    EXAMPLES = ({}, {"rel": 2})


RnDCG = define(_RnDCG)
