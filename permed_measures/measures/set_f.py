"""F-measure of the whole list."""

from permed_measures.measures.base import Call, Param, StandardMeasure, define, digits


class _SetF(StandardMeasure):
    r"""The harmonic mean of SetP and SetR, weighted: (1 + beta) P R / (beta P + R), where beta is not squared.

    .. math:: \frac{(1 + \beta) P R}{\beta P + R}

    P is SetP and R is SetR; as in trec_eval, beta is not squared, so that the F_2 of most books is SetF(beta=4.0).

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "SetF").means   # 2 PR / (P + R)
    {SetF: 0.4}

    Not for ranked lists: the order does not count, and a longer list changes the value.
    Source: trec_eval 9.0.8, m_set_F.c, through pytrec_eval.
    """

    NAME = "SetF"
    SUPPORTED_PARAMS = {"beta": Param("number", default=1.0, low=0, desc="how much more recall weighs than precision")}
    PRETTY_NAME = "Set F"
    SPELLINGS = ("f1", "f1_score")

    @staticmethod
    def call(*, beta: float, **_: object) -> Call:
        return Call("set_F" if beta == 1 else f"set_F_{digits(beta)}", answer="set_F", counts_returned=True)


SetF = define(_SetF)
