"""Documents returned."""

from permed_measures.measures.base import COUNT, Call, Param, StandardMeasure, define


class _NumRet(StandardMeasure):
    r"""How many documents were returned; with rel, how many relevant ones.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "NumRet NumRet(rel=1)").means   # c, a, x; a
    {NumRet: 3.0, NumRet(rel=1): 1.0}

    Not for quality: it is a count that grows with the depth of the lists.
    Source: trec_eval 9.0.8, m_num_ret.c and m_num_rel_ret.c, through pytrec_eval.
    """

    NAME = "NumRet"
    SUPPORTED_PARAMS = {
        "rel": Param("number", above=0, desc="the lowest grade that counts; every document counts when not given")
    }
    RANGE = COUNT

    @staticmethod
    def call(*, rel: float | None, **_: object) -> Call:
        return Call("num_ret" if rel is None else "num_rel_ret", counts_returned=True, zero_without_hits=False)


NumRet = define(_NumRet)
