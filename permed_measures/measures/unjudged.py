"""The share of unjudged documents in the top k: how far values can be trusted."""

from permed_measures.measures.base import NEEDED_CUTOFF, HostName, RankingMeasure, define
from permed_measures.ranking import Ranking


def unjudged(ranking: Ranking, *, cutoff: int) -> float:
    """Divide the unjudged documents of the top k by k."""
    judged = sum([grade >= 0 for _, grade in ranking.hits(cutoff)])
    return (min(cutoff, ranking.num_ret) - judged) / cutoff


class _Unjudged(RankingMeasure):
    r"""Unjudged documents in the top k, divided by k, also where fewer were returned.

    .. math:: \frac{|\{i \le k : i \text{ unjudged}\}|}{k}

    In [0, 1]; 0 when nothing is returned: documents that are not there are not unjudged. A negative grade counts as
    unjudged, as in trec_eval. ir_measures' ``Judged`` is the share of judged documents among those returned.

    >>> qrels, run = {"q": {"a": 1, "b": 0}}, {"q": ["a", "x", "b", "y"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "Unjudged@2 Unjudged@5").means      # x of 2; x and y of 5
    {Unjudged@2: 0.5, Unjudged@5: 0.4}

    Not for quality: it says how much of a list nobody has looked at.
    Source: trec_eval 10.0, m_unjudged.c (``unj``).
    """

    NAME = "Unjudged"
    PRETTY_NAME = "Unjudged at k"
    HOST_NAMES = (HostName("unj", "Unjudged", cut="", numbers=(5, 10, 20), in_ranx=False),)
    SUPPORTED_PARAMS = {"cutoff": NEEDED_CUTOFF}
    NOT_CONDENSED = "Without unjudged documents it is 0 for every list"
    ZERO_WITHOUT = "returned"
    COUNTS_RETURNED = True
    kernel = staticmethod(unjudged)
    raising_helps = False  # a judged document in the place of an unjudged one lowers it
    ideal_is_top = False  # it tells of judgements, not of quality


Unjudged = define(_Unjudged)
