"""Queries."""

from permed_measures.measures.base import COUNT, Call, StandardMeasure, define


class _NumQ(StandardMeasure):
    r"""How many queries there are.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "NumQ").means   # q
    {NumQ: 1.0}

    Not for quality: it is a count.
    Source: trec_eval 9.0.8, m_num_q.c, through pytrec_eval.
    """

    NAME = "NumQ"
    NOT_CONDENSED = "It counts queries, whatever is in the lists"
    RANGE = COUNT
    call = staticmethod(lambda: Call("num_q", zero_without_hits=False))


NumQ = define(_NumQ)
