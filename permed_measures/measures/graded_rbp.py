"""Rank-biased precision with graded gain, on a fixed scale of grades."""

from typing import Any

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, JUDGED_ONLY, HostName, Param
from permed_measures.ranking import Ranking


def graded_rbp(ranking: Ranking, *, cutoff: int | None, p: float, max_rel: float) -> float:
    """Sum what each document gains, times the chance that a reader gets to it."""
    gained = [p ** (rank - 1) * grade / max_rel for rank, grade in ranking.hits(cutoff) if grade > 0]
    return float((1 - p) * sum(gained))


def graded_rbp_expression(table: RankingTable, *, cutoff: int | None, p: float, max_rel: float) -> Expr:
    """Write the same over a table."""
    gained = float(p) ** (table.rank - 1.0) * table.grade / float(max_rel)
    return table.sum_hits(gained, (table.grade > 0) & table.within(cutoff)) * (1.0 - p)


class _GradedRBP(RankingMeasure):
    r"""What a reader gains who goes on to the next document with probability p; a grade gains grade / max_rel.

    .. math:: (1 - p) \sum_{i \le k} p^{i - 1} \, g_i / max\_rel

    In [0, 1]; 0 when nothing relevant is returned, and a negative grade gains nothing. ``RBP`` without ``rel`` divides
    by the highest grade of the query instead, so that a query is worth as much whatever its best grade is.

    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "x", "a"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "GradedRBP(p=0.5) GradedRBP(p=0.5)@2").means   # 0.5 (1/2 + 1/4 · 1); 0.5 (1/2)
    {GradedRBP(p=0.5): 0.375, GradedRBP(p=0.5)@2: 0.25}

    Not for lists shorter than a reader's patience: only an endless list reaches 1, so compare at one p and depth.
    Source: Moffat and Zobel, ACM TOIS 27(1), 2008, with gains between 0 and 1.
    """

    NAME = "GradedRBP"
    PRETTY_NAME = "Graded Rank-Biased Precision"
    HOST_NAMES = (HostName("graded_rbp", "Graded RBP", in_ranx=False),)
    SUPPORTED_PARAMS = {
        "cutoff": CUTOFF,
        "judged_only": JUDGED_ONLY,
        "p": Param("number", default=0.8, above=0, below=1, desc="the chance that a reader looks at one more document"),
        "max_rel": Param("number", default=2, above=0, desc="the grade that gains 1; grade g gains g / max_rel"),
    }
    EXAMPLES = ({"max_rel": 4}, {"max_rel": 4, "judged_only": True}, {"max_rel": 4, "p": 0.5})
    kernel = staticmethod(graded_rbp)
    expression = staticmethod(graded_rbp_expression)
    ideal_is_top = False  # only an endless list reaches 1

    def refuses(self, grade: Any) -> Any:  # noqa: ANN401  (a number, or a column)
        return grade > float(self["max_rel"])

    def advice(self, grade: float) -> str:
        return f"is above max_rel={self['max_rel']!r} and would gain more than 1; set GradedRBP(max_rel={grade!r})"


GradedRBP = define(_GradedRBP)
