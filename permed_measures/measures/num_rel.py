"""Relevant documents."""

from permed_measures.measures.base import COUNT, Call, StandardMeasure, define


class _NumRel(StandardMeasure):
    r"""How many documents are relevant.

    They are those of the qrels, returned or not; of a query that is missing from the run there are 0.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "NumRel").means   # a, b
    {NumRel: 2.0}

    Not for quality: it is a count of the judgements, the same for every run.
    Source: trec_eval 9.0.8, m_num_rel.c, through pytrec_eval.
    """

    NAME = "NumRel"
    NOT_CONDENSED = "It counts the judgements, whatever is in the lists"
    RANGE = COUNT
    call = staticmethod(lambda **_: Call("num_rel", threshold=True, zero_without_hits=False))


NumRel = define(_NumRel)
