"""Inferred average precision."""

from permed_measures.measures.base import Call, StandardMeasure, define


class _InfAP(StandardMeasure):
    r"""Average precision, estimated where only a sample of the pool is judged (grade -1: in the pool, unjudged).

    .. math:: \frac{1}{R} \sum_{i : g_i \ge rel}
        \frac{1}{i} \left( 1 + n_i \frac{r_i + \epsilon}{j_i + 2 \epsilon} \right)

    Of the documents above rank i, n are in the pool, j judged, r relevant; epsilon is 0.00001.

    >>> from permed_measures import evaluate
    >>> qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}
    >>> evaluate(qrels, run, "infAP").means   # a: (1 + 0.00001 / 1.00002) / 2 / 2
    {infAP: 0.250002499950001}

    Not for complete judgements, where it is AP, nor for judgements that are no random sample of a pool.
    Source: Yilmaz and Aslam, CIKM 2006; trec_eval 9.0.8, m_infap.c, through pytrec_eval.
    """

    NAME = "infAP"
    call = staticmethod(lambda **_: Call("infAP"))


InfAP = define(_InfAP)
