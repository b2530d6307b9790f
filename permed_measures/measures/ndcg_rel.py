"""nDCG averaged over the relevant documents."""

from permed_measures.measures.base import HostName, RankingMeasure, define
from permed_measures.measures.r_ndcg import cumulated
from permed_measures.ranking import Ranking


def ndcg_rel(ranking: Ranking) -> float:
    """Average nDCG over the ranks of the documents that gain; one that was not returned has that of the whole list."""
    found, ideal = cumulated(ranking)
    if not found:
        return 0.0
    depth = len(ideal)
    total = sum([dcg / ideal[min(rank, depth) - 1] for rank, dcg in found])
    return (total + (depth - len(found)) * found[-1][1] / ideal[-1]) / depth


class _NDCGRel(RankingMeasure):
    r"""nDCG at the rank of each document with a grade above 0, averaged; a missing one has the nDCG of the whole list.

    .. math:: \frac{1}{n} \left( \sum_{i : g_i > 0} nDCG@i + (n - |\{i : g_i > 0\}|) \cdot nDCG \right)

    n is the number of judged documents with a grade above 0, the gain is the grade. In [0, 1]; 0 when nothing relevant
    is returned. An experimental measure of trec_eval.

    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["x", "a"]}
    >>> from permed_measures import evaluate
    >>> round(evaluate(qrels, run, "nDCGRel")["nDCGRel"], 12)   # a at 2, again for b: 1/log2(3) / (1 + 1/log2(3))
    0.386852807235

    Not for new work: it is for reading trec_eval's output; nDCG at a cut-off is what papers report.
    Source: trec_eval, m_ndcg_rel.c.
    """

    NAME = "nDCGRel"
    PRETTY_NAME = "nDCG averaged over Relevant Documents"
    HOST_NAMES = (HostName("ndcg_rel", "nDCG-rel", in_ranx=False),)
    SUPPORTED_PARAMS = {}
    kernel = staticmethod(ndcg_rel)
    raising_helps = False  # at its new rank there is less before it, against a higher ideal


NDCGRel = define(_NDCGRel)
