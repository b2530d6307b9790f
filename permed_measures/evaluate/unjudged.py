"""Which share of the documents at each rank nobody judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from permed_measures.ranking import Rankings
from permed_measures.render.document import Cell, Table, Value
from permed_measures.render.words import NONE

_RANKS = 10
"""As many columns for single ranks; where more are looked at, ranks are put together."""
_USUAL = (1, 5, 10, 20, 50, 100, 200, 500, 1000)

Shares = Sequence[float | None]
"""The share of unjudged documents at each rank, from the first on; None where no list reaches it."""


def unjudged_shares(rankings: Rankings, cutoff: int) -> Shares:
    """Return the share at each rank, over the lists of judged queries that reach it.

    A negative grade says that a document was not judged, as for the measure Unjudged.

    >>> from permed_measures.ranking import Ranking
    >>> views = [Ranking([(2, 1)], judged=[1], num_ret=2), Ranking([(1, 0), (2, -1)], judged=[0, -1], num_ret=2)]
    >>> unjudged_shares(Rankings.of(views, None), 3)
    [0.5, 0.5, None]
    """
    columns = rankings.columns
    if columns is not None:
        import numpy as np  # noqa: PLC0415  (loaded, where there are columns)

        ends = np.bincount(np.minimum(columns.num_ret, cutoff)[columns.num_judged > 0], minlength=cutoff + 1).tolist()
        seen = columns.ranks[(columns.ranks <= cutoff) & (columns.grades >= 0)]
        judged = np.bincount(seen.astype(np.int64), minlength=cutoff + 1).tolist()
    else:
        ends, judged = [0] * (cutoff + 1), [0] * (cutoff + 1)
        for view in rankings.views:
            if view.judged:
                ends[min(view.num_ret, cutoff)] += 1
                for rank, grade in view.hits(cutoff):
                    judged[rank] += grade >= 0
    reach = [*accumulate(ends[:0:-1])][::-1]
    return [1 - known / lists if lists else None for known, lists in zip(judged[1:], reach, strict=True)]


def unjudged_table(runs: Mapping[str, Shares]) -> list[Table]:
    """Lay out the shares by rank and run; nothing where all are judged."""
    known = {name: shares for name, shares in runs.items() if any(shares)}
    if not known:
        return []
    depth = max(map(len, known.values()))
    usual = range(1, depth) if depth <= _RANKS else _USUAL
    ends = [*(end for end in usual if end < depth), depth]
    bands = [(low + 1, high) for low, high in pairwise([0, *ends])]
    rows: list[list[Value]] = []
    for name, shares in runs.items():
        parts = [[share for share in shares[low - 1 : high] if share is not None] for low, high in bands]
        means = [sum(part) / len(part) if part else None for part in parts]
        rows.append([name, *(Cell(mean, NONE if mean is None else f"{mean:.1%}") for mean in means)])
    heads = [str(high) if low == high else f"{low} to {high}" for low, high in bands]
    below = ["of the lists that reach a rank; what is unjudged counts as not relevant, unless a measure says otherwise"]
    return [Table(["run", *heads], rows, "unjudged documents by rank", left=1, below=below, name="unjudged-table")]
