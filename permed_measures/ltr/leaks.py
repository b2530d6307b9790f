"""Features that know the label, each one looked at alone; and groups that were trained on under another id.

A feature computed from the answer, such as a bonus for the candidate called ground_truth, makes training and values
look perfect and is worth nothing in use. It shows: alone, it ranks (nearly) every group perfectly, or a threshold on
it parts right from wrong candidates, or right candidates have one value that wrong ones never have; and chance does
not explain it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from permed_measures.errors import ParamError
from permed_measures.ltr.groups import Bools, Floats, Ints, Samples, in_order
from permed_measures.ltr.records import as_samples
from permed_measures.render.words import counted

_SIGNS = 3
"""What is tested of each feature: groups ranked perfectly, the AUC, the commonest value."""
_MOST = 0.5
"""The share of right candidates for which a value is remarkable that no wrong one has."""


@dataclass(frozen=True)
class FeatureLook:
    """What one feature alone can do."""

    feature: str
    groups: int = 0
    """Groups that have right and wrong candidates: only these say something."""
    perfect: float = 0.0
    """The share of groups in which every right candidate is above every wrong one, by the better direction."""
    direction: str = "high"
    """'high' or 'low': which values the right candidates have."""
    auc: float = 0.5
    """The share of (right, wrong) pairs of one group that are in the right order, a tie counted half; by 'high'."""
    separates: bool = False
    """Whether one threshold parts the right from the wrong candidates of all groups."""
    value: float = 0.0
    """The commonest value of right candidates."""
    value_right: float = 0.0
    """The share of right candidates that have it."""
    value_wrong: float = 0.0
    """The share of wrong candidates that have it."""
    by_chance: float = 0.0
    """The share of groups that a feature without meaning would rank perfectly."""
    chance: float = 1.0
    """At most the probability that any of the features, all of them without meaning, does as much as this one."""
    reasons: tuple[str, ...] = ()
    """Why this looks like a leak; empty when it does not."""
    unproven: tuple[str, ...] = ()
    """What would look like a leak if chance did not explain it: more groups are needed to tell."""

    @property
    def leaks(self) -> bool:
        """Whether the feature looks as if it knew the label."""
        return bool(self.reasons)

    def __str__(self) -> str:
        if self.leaks:
            return f"{self.feature} may know the label: {'; '.join(self.reasons)}"
        if self.unproven:
            words = f"{counted(self.groups, 'group')} cannot tell whether it knows the label (chance explains up to"
            return f"{self.feature}: {words} {self.chance:.0%}): {'; '.join(self.unproven)}"
        return f"{self.feature}: no sign of a leak (perfect in {self.perfect:.1%} of groups, AUC {self.auc:.3f})"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them."""
        lists = {"reasons": list(self.reasons), "unproven": list(self.unproven)}
        return {**asdict(self), **lists, "leaks": self.leaks}


def leak_check(  # noqa: PLR0913  (one argument per threshold)
    samples: Any,  # noqa: ANN401  (Samples, or what as_samples takes)
    *,
    perfect: float = 0.95,
    auc: float = 0.99,
    value: float = 0.95,
    level: float = 0.01,
    min_relevance: float = 1,
) -> list[FeatureLook]:
    """Look at every feature alone; those with ``leaks`` deserve a look at how they are computed.

    A feature is looked at more closely when it ranks at least the share ``perfect`` of the groups perfectly, when its
    AUC is at least ``auc`` (or at most 1 - ``auc``), when one threshold separates the labels exactly, when at least the
    share ``value`` of the right candidates have one value that at most 1 - ``value`` of the wrong ones have, or at
    least half of them one that no wrong one has. It is reported when chance does not explain that: of data in which no
    feature has to do with the labels, at most the share ``level`` has a feature reported, however many there are
    (bounds of Chernoff and Hoeffding on the groups, Bonferroni's correction over features, signs and directions). Else
    it is ``unproven``: with few groups a leak and luck look the same. A perfect feature need not leak.

    >>> rows = [{"trace_id": t, "node_id": 0, "tool": c, "label": int(c == "a"), "f0": 0.9 if c == "a" else x, "f1": x}
    ...         for t, xs in enumerate([(0.1, 0.4), (0.5, 0.2), (0.3, 0.6)] * 5) for c, x in zip("ab", xs)]
    >>> for look in leak_check(rows):
    ...     print(look)
    f0 may know the label: alone it ranks 100.0% of 15 groups perfectly (by chance: 50.0%); AUC 1.000; one threshold \
separates right from wrong in all groups; 100.0% of the right candidates have the value 0.9, 0.0% of the wrong ones
    f1: no sign of a leak (perfect in 66.7% of groups, AUC 0.333)
    >>> look = leak_check(rows[:6])[0]                     # 3 signs of 2 features, each with 1/2^3: no evidence
    >>> print(str(look).partition(": alone")[0])
    f0: 3 groups cannot tell whether it knows the label (chance explains up to 75%)
    """
    shares = {"perfect": perfect, "auc": auc, "value": value}
    for name, share in shares.items():
        if not 0.5 < share <= 1:  # noqa: PLR2004  (half is chance)
            raise ParamError(f"leak_check: {name}={share!r} is not allowed; give a share > 0.5 and <= 1")
    if not 0 < level < 1:
        raise ParamError(f"leak_check: level={level!r} is not allowed; give a probability > 0 and < 1")
    taken = as_samples(samples)
    features = taken.needed_features("a check for leaks")
    groups = _MixedGroups(taken, min_relevance)
    levels = shares | {"level": level, "features": len(taken.feature_names)}
    return [
        _checked(FeatureLook(name), features[groups.rows, place], groups, levels) if len(groups) else FeatureLook(name)
        for place, name in enumerate(taken.feature_names)
    ]


class _MixedGroups:
    """The groups with right and wrong candidates, one after the other."""

    def __init__(self, samples: Samples, rel: float) -> None:
        sizes = np.diff(samples.offsets)
        right = samples.labels[samples.rows] >= rel
        rights = np.add.reduceat(right.astype(np.int64), samples.offsets[:-1])
        kept = (rights > 0) & (rights < sizes)
        within = np.repeat(kept, sizes)
        self.rows = samples.rows[within]
        self.right: Bools = right[within]
        self.sizes, self.rights = sizes[kept], rights[kept]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)
        self.codes = np.repeat(np.arange(len(self.sizes)), self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def counts(self, which: Bools) -> Ints:
        """Count in each group."""
        found: Ints = np.add.reduceat(which.astype(np.int64), self.starts)
        return found

    @cached_property
    def by_chance(self) -> float:
        kinds = Counter(zip(self.sizes.tolist(), self.rights.tolist(), strict=True))
        return math.fsum(count / math.comb(*kind) for kind, count in kinds.items()) / len(self)

    def nested_by_chance(self, holders: Ints) -> float:
        """Return the mean probability that right candidates and holders of a value are one within the other."""
        kinds = Counter(zip(self.sizes.tolist(), self.rights.tolist(), holders.tolist(), strict=True))
        shares = [
            count * math.comb(max(rights, held), min(rights, held)) / math.comb(size, min(rights, held))
            for (size, rights, held), count in kinds.items()
            if held
        ]
        return math.fsum(shares) / len(self)


def _checked(look: FeatureLook, column: Floats, groups: _MixedGroups, levels: dict[str, float]) -> FeatureLook:
    right, kinds = groups.right, (groups.right, ~groups.right)
    low_right, low_wrong = (np.minimum.reduceat(np.where(kind, column, math.inf), groups.starts) for kind in kinds)
    high_right, high_wrong = (np.maximum.reduceat(np.where(kind, column, -math.inf), groups.starts) for kind in kinds)
    above, below = float((low_right > high_wrong).mean()), float((high_right < low_wrong).mean())
    values, counts = np.unique(column[right], return_counts=True)
    common = float(values[counts.argmax()])
    look = replace(
        look,
        groups=len(groups),
        perfect=max(above, below),
        direction="high" if above >= below else "low",
        auc=_auc(column, groups),
        separates=bool(low_right.min() > high_wrong.max() or high_right.max() < low_wrong.min()),
        value=common,
        value_right=float(counts.max() / right.sum()),
        value_wrong=float((column[~right] == common).mean()),
        by_chance=groups.by_chance,
    )
    chance = min(1.0, levels["features"] * _chance(look, column, groups))
    signs = tuple(_reasons(look, levels))
    proven = chance <= levels["level"]
    return replace(look, chance=chance, reasons=signs if proven else (), unproven=() if proven else signs)


def _chance(look: FeatureLook, column: Floats, groups: _MixedGroups) -> float:
    """Bound the probability that the right candidates, drawn by lot within each group, give one sign as strong."""
    pairs = (groups.rights * (groups.sizes - groups.rights)).astype(np.float64)
    away = abs(look.auc - 0.5) * pairs.sum()
    has_value = column == look.value
    holders, rights_with = groups.counts(has_value), groups.counts(groups.right & has_value)
    # the right candidates are among those with the value, or the other way round: told by how many there are
    nested = (holders > 0) & (rights_with == np.minimum(holders, groups.rights))
    enough = _MOST * groups.right.sum()
    # every value that is common enough to be remarkable could have been the one
    rivals = int((np.unique(column, return_counts=True)[1] >= enough).sum())
    by_value = _at_least(float(nested.mean()), groups.nested_by_chance(holders), len(groups))
    signs = (
        2 * _at_least(look.perfect, look.by_chance, len(groups)),
        2 * math.exp(-2 * away**2 / float(pairs @ pairs)),  # Hoeffding: each group's pairs won are within 0 and all
        rivals * by_value if holders.sum() >= enough else 1.0,
    )
    return min(1.0, _SIGNS * min(signs))


def _at_least(share: float, likely: float, trials: int) -> float:
    """Bound the probability of at least such a share of independent trials, by their mean probability (Chernoff).

    >>> round(_at_least(1.0, 0.5, 3), 12), _at_least(0.25, 0.5, 3)      # all of 3: 1/2^3; fewer than expected: 1
    (0.125, 1.0)
    """
    if share <= likely:
        return 1.0
    if likely == 0:
        return 0.0
    gain = share * math.log(share / likely)
    if share < 1:
        gain += (1 - share) * math.log((1 - share) / (1 - likely))
    return math.exp(-trials * gain)


def _reasons(look: FeatureLook, levels: dict[str, float]) -> Iterator[str]:
    if look.perfect >= levels["perfect"]:
        upside = " (the lower, the better)" if look.direction == "low" else ""
        share = f"{look.perfect:.1%} of {counted(look.groups, 'group')}"
        yield f"alone it ranks {share} perfectly{upside} (by chance: {look.by_chance:.1%})"
    if not 1 - levels["auc"] < look.auc < levels["auc"]:
        yield f"AUC {look.auc:.3f}"
    if look.separates:
        yield "one threshold separates right from wrong in all groups"
    common = look.value_right >= levels["value"] and look.value_wrong <= 1 - levels["value"]
    # the single right candidate of a single group always has a value of its own
    if look.groups > 1 and (common or (look.value_right >= _MOST and look.value_wrong == 0)):
        shares = f"{look.value_right:.1%} of the right candidates have the value {look.value:g}"
        yield f"{shares}, {look.value_wrong:.1%} of the wrong ones"


def _auc(column: Floats, groups: _MixedGroups) -> float:
    """Pairs in the right order, from rank sums: a right candidate's mean rank tells how many are below it."""
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


def trained_on(samples: Samples, training: Samples) -> list[str]:
    """Return the groups that training has under another id: the same features and labels, in any order.

    >>> rows = [{"trace_id": t, "node_id": 0, "tool": c, "label": y, "f0": x}
    ...         for t in "ab" for c, y, x in (("left", 1, 0.5), ("right", 0, 0.25))]
    >>> trained_on(as_samples(rows[:2]), as_samples(rows[2:])), trained_on(as_samples(rows), as_samples(rows))
    (['a/0'], [])
    """
    features, known_features = (taken.needed_features("a comparison of groups") for taken in (samples, training))
    ids = {group.query_id for group in training.groups}
    known = set(_contents(training, known_features))
    features = in_order(features, samples.feature_names, training.feature_names, "the training data")
    found = zip(samples.groups, _contents(samples, features), strict=True)
    return [group.query_id for group, content in found if group.query_id not in ids and content in known]


def _contents(samples: Samples, features: Floats) -> Iterator[bytes]:
    """Yield the features and labels of each group, the same bytes for the same content."""
    table = np.column_stack([features, samples.labels]) + 0.0  # -0.0 becomes 0.0
    rows = table[np.lexsort((*table.T, samples.codes))]
    for start, end in samples.spans():
        yield rows[start:end].tobytes()
