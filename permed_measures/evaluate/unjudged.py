"""Which share of the documents at each rank nobody judged."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress

from permed_measures.ranking import Columns, Rankings, numpy_is_worth_it

Shares = Sequence[float]
"""The share of unjudged documents at each rank that a list reaches, from the first on."""


def unjudged_shares(rankings: Rankings, cutoff: int) -> Shares:
    """Return the share at each rank, over the lists of judged queries that reach it.

    A negative grade says that a document was not judged, as for the measure Unjudged.

    >>> from permed_measures.ranking import Ranking
    >>> views = [Ranking([(2, 1)], judged=[1], num_ret=2), Ranking([(1, 0), (2, -1)], judged=[0, -1], num_ret=2)]
    >>> unjudged_shares(Rankings.of(views, None), 3)
    [0.5, 0.5]
    """
    if rankings.columns is not None:
        returned, _, known, ranks, grades, _ = rankings.columns
        if numpy_is_worth_it(len(grades)):
            return _by_numpy(rankings.columns, cutoff)
        judged = Counter(
            ranks if min(grades, default=0) >= 0 else [r for r, g in zip(ranks, grades, strict=True) if g >= 0]
        )
        ends = Counter(compress(returned, known))
    else:
        judged = Counter(rank for view in rankings.views for rank, grade in view.hits(cutoff) if grade >= 0)
        ends = Counter(view.num_ret for view in rankings.views if view.judged)
    reached = sum(ends.values())
    shares: list[float] = []
    for rank in range(1, min(cutoff, max(ends, default=0)) + 1):
        reached -= ends[rank - 1]
        shares.append((reached - judged[rank]) / reached)
    return shares


def _by_numpy(columns: Columns, cutoff: int) -> Shares:
    import numpy as np  # noqa: PLC0415  (small runs do without)

    returned, _, known, ranks, grades, _ = map(np.asarray, columns)
    lengths = np.minimum(returned[known > 0], cutoff).astype(np.int64)
    ends = np.bincount(lengths)
    judged = np.bincount(ranks[(ranks <= cutoff) & (grades >= 0)].astype(np.int64), minlength=len(ends))
    reached = len(lengths) - np.cumsum(ends)[:-1]
    shares: list[float] = ((reached - judged[1:]) / reached).tolist()
    return shares
