"""Features that know the label: each one looked at alone.

A feature computed from the answer, such as a bonus for the candidate called ground_truth, makes training and values
look perfect and is worth nothing in use. It shows: alone, it ranks (nearly) every group perfectly, or a threshold on
it parts right from wrong candidates, or right candidates have one value that wrong ones never have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import InputError, ParamError
from permed_measures.samples import Samples, as_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class FeatureLook:
    """What one feature alone can do."""

    feature: str
    groups: int
    """Groups that have right and wrong candidates: only these say something."""
    perfect: float
    """The share of groups in which every right candidate stands above every wrong one, by the better direction."""
    direction: str
    """'high' or 'low': which values the right candidates have."""
    auc: float
    """The share of (right, wrong) pairs of one group that stand in the right order, a tie counted half; by 'high'."""
    separates: bool
    """Whether one threshold parts the right from the wrong candidates of all groups."""
    value: float
    """The commonest value of right candidates."""
    value_right: float
    """The share of right candidates that have it."""
    value_wrong: float
    """The share of wrong candidates that have it."""
    by_chance: float
    """The share of groups that a feature without meaning would rank perfectly."""
    reasons: tuple[str, ...]
    """Why this looks like a leak; empty when it does not."""

    @property
    def leaks(self) -> bool:
        """Whether the feature looks as if it knew the label."""
        return bool(self.reasons)

    def __str__(self) -> str:
        if not self.leaks:
            return f"{self.feature}: no sign of a leak (perfect in {self.perfect:.1%} of groups, AUC {self.auc:.3f})"
        return f"{self.feature} may know the label: {'; '.join(self.reasons)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them."""
        return {**asdict(self), "reasons": list(self.reasons), "leaks": self.leaks}


def leak_check(
    samples: Any,  # noqa: ANN401  (Samples, or what as_samples takes)
    *,
    perfect: float = 0.95,
    auc: float = 0.99,
    value: float = 0.95,
    min_relevance: float = 1,
) -> list[FeatureLook]:
    """Look at every feature alone; those with ``leaks`` deserve a look at how they are computed.

    A feature is reported when it ranks at least the share ``perfect`` of the groups perfectly, when its AUC is at
    least ``auc`` (or at most 1 - ``auc``), when one threshold separates the labels exactly, or when at least the share
    ``value`` of the right candidates have one value that at most 1 - ``value`` of the wrong ones have. A perfect
    feature need not leak, and with few groups chance can do it: ``by_chance`` tells.

    >>> rows = [{"trace_id": t, "node_id": 0, "tool": c, "label": int(c == "a"), "f0": 0.9 if c == "a" else x, "f1": x}
    ...         for t, xs in enumerate([(0.1, 0.4), (0.5, 0.2), (0.3, 0.6)]) for c, x in zip("ab", xs)]
    >>> for look in leak_check(rows):
    ...     print(look)
    f0 may know the label: alone it ranks 100.0% of 3 groups perfectly (by chance: 50.0%); AUC 1.000; one threshold \
separates right from wrong in all groups; 100.0% of the right candidates have the value 0.9, 0.0% of the wrong ones
    f1: no sign of a leak (perfect in 66.7% of groups, AUC 0.333)
    """
    for name, share in (("perfect", perfect), ("auc", auc), ("value", value)):
        if not 0.5 < share <= 1:  # noqa: PLR2004  (half is chance)
            msg = f"leak_check: {name}={share!r} is not allowed; give a share > 0.5 and <= 1"
            raise ParamError(msg)
    taken = as_samples(samples)
    if taken.features is None:
        msg = "the samples have no features to look at"
        raise InputError(msg)
    groups = _Groups(taken, min_relevance)
    levels = {"perfect": perfect, "auc": auc, "value": value}
    return [
        _look(name, taken.features[groups.rows, place], groups, levels)
        for place, name in enumerate(taken.feature_names)
    ]


class _Groups:
    """The groups with right and wrong candidates, one after the other."""

    def __init__(self, samples: Samples, rel: float) -> None:
        rows, offsets = samples.rows, samples.offsets
        sizes = np.diff(offsets)
        right = samples.labels[rows] >= rel
        rights = np.add.reduceat(right.astype(np.int64), offsets[:-1])
        kept = (rights > 0) & (rights < sizes)
        within = np.repeat(kept, sizes)
        self.rows = rows[within]
        self.right: Bools = right[within]
        self.sizes, self.rights = sizes[kept], rights[kept]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)
        self.codes = np.repeat(np.arange(len(self.sizes)), self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def by_chance(self) -> float:
        pairs, counts = np.unique(np.stack([self.sizes, self.rights]), axis=1, return_counts=True)
        shares = [count / math.comb(*pair) for pair, count in zip(pairs.T.tolist(), counts.tolist(), strict=True)]
        return math.fsum(shares) / len(self)


def _look(name: str, column: Floats, groups: _Groups, levels: dict[str, float]) -> FeatureLook:
    if not len(groups):
        return FeatureLook(
            name,
            0,
            0.0,
            "high",
            0.5,
            separates=False,
            value=0.0,
            value_right=0.0,
            value_wrong=0.0,
            by_chance=0.0,
            reasons=(),
        )
    right = groups.right
    inf = float("inf")
    low_right = np.minimum.reduceat(np.where(right, column, inf), groups.starts)
    high_right = np.maximum.reduceat(np.where(right, column, -inf), groups.starts)
    low_wrong = np.minimum.reduceat(np.where(right, inf, column), groups.starts)
    high_wrong = np.maximum.reduceat(np.where(right, -inf, column), groups.starts)
    above, below = float((low_right > high_wrong).mean()), float((high_right < low_wrong).mean())
    area = _auc(column, groups)
    separates = bool(low_right.min() > high_wrong.max() or high_right.max() < low_wrong.min())
    values, counts = np.unique(column[right], return_counts=True)
    common = float(values[counts.argmax()])
    look = FeatureLook(
        feature=name,
        groups=len(groups),
        perfect=max(above, below),
        direction="high" if above >= below else "low",
        auc=area,
        separates=separates,
        value=common,
        value_right=float(counts.max() / right.sum()),
        value_wrong=float((column[~right] == common).mean()),
        by_chance=groups.by_chance(),
        reasons=(),
    )
    return replace(look, reasons=tuple(_reasons(look, levels)))


def _reasons(look: FeatureLook, levels: dict[str, float]) -> Iterator[str]:
    if look.perfect >= levels["perfect"]:
        groups = "1 group" if look.groups == 1 else f"{look.groups:,} groups"
        upside = " (the lower, the better)" if look.direction == "low" else ""
        yield f"alone it ranks {look.perfect:.1%} of {groups} perfectly{upside} (by chance: {look.by_chance:.1%})"
    if not 1 - levels["auc"] < look.auc < levels["auc"]:
        yield f"AUC {look.auc:.3f}"
    if look.separates:
        yield "one threshold separates right from wrong in all groups"
    # the single right candidate of a single group always has a value of its own
    if look.groups > 1 and look.value_right >= levels["value"] and look.value_wrong <= 1 - levels["value"]:
        shares = f"{look.value_right:.1%} of the right candidates have the value {look.value:g}"
        yield f"{shares}, {look.value_wrong:.1%} of the wrong ones"


def _auc(column: Floats, groups: _Groups) -> float:
    """Pairs in the right order, from rank sums: a right candidate's mean rank tells how many stand below it."""
    by_value = np.lexsort((column, groups.codes))
    values, codes = column[by_value], groups.codes[by_value]
    new = np.concatenate([[True], (values[1:] != values[:-1]) | (codes[1:] != codes[:-1])])
    firsts = np.flatnonzero(new)
    lasts = np.append(firsts[1:], len(values)) - 1
    ranks = np.repeat((firsts + lasts) / 2, lasts - firsts + 1) - np.repeat(groups.starts, groups.sizes) + 1
    sums = np.add.reduceat(np.where(groups.right[by_value], ranks, 0.0), groups.starts)
    won = sums - groups.rights * (groups.rights + 1) / 2
    pairs = groups.rights * (groups.sizes - groups.rights)
    return float(won.sum() / pairs.sum())
