"""Coverage: the share of queries that are served at all."""

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, REL, HostName, Reading
from permed_measures.ranking import Ranking


def coverage(ranking: Ranking, *, cutoff: int | None, rel: float) -> float:
    """Return 1 if a relevant document is in the top k."""
    return float(any(grade >= rel for _, grade in ranking.hits(cutoff)))


def coverage_expression(table: RankingTable, *, cutoff: int | None, rel: float) -> Expr:
    """Write the same over a table."""
    return table.any_hit((table.grade >= rel) & table.within(cutoff))


class _Coverage(RankingMeasure):
    r"""1 if at least one relevant document is in the top k, else 0; its mean is the share of queries covered.

    .. math:: [\exists i \le k : g_i \ge rel]

    In {0, 1}; 0 when nothing relevant is returned. The same number as trec_eval's ``success`` and ranx's ``hit_rate``;
    what source systems average over *the queries of the run* is asked for with ``evaluate(…, queries='run')``.
    Others mean something else by the name: FreshStack and CoverageBench call nugget recall "Coverage", which is
    ir_measures' ``StRecall``; OpenSearch calls the judged share of a list so, which is its ``Judged``.

    >>> qrels, run = {"p": {"a": 1}, "q": {"b": 2}}, {"p": ["x", "a"], "q": ["x", "y"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, [Coverage@1, Coverage@2]).means     # nobody; p of p and q
    {Coverage@1: 0.0, Coverage@2: 0.5}

    Not for telling good lists from better ones: one relevant document in the top k is all it sees.
    Source: the LLM-judged evaluation script of source system 2, "coverage@K".
    """

    NAME = "Coverage"
    PRETTY_NAME = "Coverage at k"
    HOST_NAMES = (HostName("coverage", "Coverage", cut=""),)
    SUPPORTED_PARAMS = {"cutoff": CUTOFF, "rel": REL}
    kernel = staticmethod(coverage)
    expression = staticmethod(coverage_expression)
    READS = Reading("hit")
    EXAMPLES = ({}, {"rel": 2}, {"rel": 2.5})


Coverage = define(_Coverage)
