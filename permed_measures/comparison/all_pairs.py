"""Every run against every other: max-|t| over all pairs by sign flips, and letters for those that cannot be told apart.

Each unit's centred row of differences flips its sign as a whole, so that correlated runs cost nothing, clones share a
letter, and one noisy run does not spoil the others. The randomised Tukey HSD tests that all runs are exchangeable; with
one noisy run they are not, and its family error is .18 instead of .05.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ir_measures import Measure

from permed_measures import inference
from permed_measures.comparison.changes import Values
from permed_measures.inference import SAME, Extra, Floats, Units
from permed_measures.inference.student import t_quantile, t_tail

_DRAWS = 9_999
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Pairs:
    """All pairs by one measure, over the queries that every run has."""

    means: Mapping[str, float]  # by run, the highest first
    p_values: Mapping[tuple[str, str], float]  # of each pair, in either order, corrected for their number
    letters: Mapping[str, str]  # runs that share a letter are not separable
    first: tuple[str, ...]  # the run with the highest mean, and those that are not separable from it
    queries: int
    units: int


def pairs_of(values: Values, measure: Measure) -> Pairs:
    """Compare all runs with each other by one measure."""
    columns = {name: values.by_key[name, measure] for name in values.names}
    shared = sorted(set.intersection(*(set(column) for column in columns.values())))
    settings = values.settings
    samples = {
        name: inference.units({query_id: column[query_id] for query_id in shared}, settings.clusters)
        for name, column in columns.items()
    }
    means = {name: math.fsum(sample.sums) / max(1, len(shared)) for name, sample in samples.items()}
    means = dict(sorted(means.items(), key=lambda item: -item[1]))
    differences = {
        (a, b): Units(
            [0.0 if abs(x - y) < SAME else x - y for x, y in zip(samples[a].sums, samples[b].sums, strict=True)],
            samples[a].sizes,
        )
        for a, b in combinations(means, 2)
    }
    extra = {name: spread.extra for (name, known), spread in values.spreads(shared).items() if known == measure}
    repeated = [_with_repeats(sample, (*extra.get(a, ()), *extra.get(b, ()))) for (a, b), sample in differences.items()]
    found = max_t(list(differences.values()), settings.seed, repeated)
    p_values = dict(zip(differences, found, strict=True))
    apart = {pair for pair, p in p_values.items() if p < settings.alpha}
    best = next(iter(means))
    first = tuple(name for name in means if name == best or (best, name) not in apart)
    both = p_values | {(b, a): p for (a, b), p in p_values.items()}
    return Pairs(means, both, letters(list(means), apart), first, len(shared), len(samples[best]))


def _with_repeats(sample: Units, extra: Extra) -> float | None:
    """Return the |t| that is as rare without repeats as the one found is with their spread; None without any."""
    narrow, wide = inference.estimate(sample), inference.estimate(sample, extra=extra)
    if not extra or narrow is None or wide is None:
        return None
    size = abs(wide.mean) / wide.error
    tail = t_tail(size, wide.freedom)
    return min(size, t_quantile(1 - tail, narrow.freedom)) if tail > SAME else size


def max_t(differences: Sequence[Units], seed: int, known: Sequence[float | None] = ()) -> list[float]:
    """Return the p-value of each column of differences, corrected by the largest |t| of all under drawn signs.

    None is below 2^(1 - G), the smallest that as many units which differ allow. ``known`` are the |t| of those
    pairs for which more than the units counts.
    """
    import numpy as np  # noqa: PLC0415  (only for all pairs)

    num = len(differences[0])
    if num < 2:  # noqa: PLR2004  (one unit has no spread)
        return [1.0] * len(differences)
    sizes = np.ones(num) if differences[0].sizes is None else np.array(differences[0].sizes, dtype=float)
    total = float(sizes.sum())
    sums = np.column_stack([np.asarray(sample.sums, dtype=float) for sample in differences])
    mean = sums.sum(axis=0) / total
    centred = sums - np.outer(sizes, mean)
    weights = 1 / (total - sizes) ** 2
    squares = weights @ centred**2
    scale = (num - 1) / num
    seen = _t(mean, scale * squares)
    for place, size in enumerate(known):
        seen[place] = seen[place] if size is None else size
    far = np.zeros(len(differences), dtype=int)
    both = np.hstack([centred, centred * (weights * sizes)[:, None]])
    own = float(weights @ sizes**2)
    for kept in inference.sign_draws(num, _DRAWS, seed):
        flipped = 2 * (kept @ both) - both.sum(axis=0)
        means, cross = flipped[:, : len(differences)] / total, flipped[:, len(differences) :]
        # Σ w (s·e - n·D)² with the drawn signs s, written out: Σ w e² - 2 D Σ w n s e + D² Σ w n²
        largest = _t(means, scale * (squares - 2 * means * cross + means**2 * own)).max(axis=1)
        far += np.count_nonzero(largest[:, None] >= seen - SAME, axis=0)
    least = [inference.smallest_sign_flip_p(sample) for sample in differences]
    return [max(bound, (1 + int(count)) / (1 + _DRAWS)) for bound, count in zip(least, far, strict=True)]


def _t(means: Floats, variances: Floats) -> Floats:
    """Return |t|; 0 where there is no difference, infinite where there is no spread."""
    import numpy as np  # noqa: PLC0415  (as above)

    errors = np.sqrt(np.maximum(variances, 0))
    large = np.where(np.abs(means) > SAME, np.inf, 0.0)
    constant = errors <= SAME * np.maximum(np.abs(means), SAME)
    return np.where(constant, large, np.abs(means) / np.where(constant, 1.0, errors))


def letters(names: Sequence[str], apart: set[tuple[str, str]]) -> dict[str, str]:
    """Give each name its letters: two share one exactly when they are not apart (Piepho 2004: insert and absorb).

    >>> letters(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    sets = [frozenset(names)]
    for a, b in sorted(apart):
        split = [part for known in sets for part in ([known - {a}, known - {b}] if {a, b} <= known else [known])]
        sets = [part for part in dict.fromkeys(split) if not any(part < other for other in split)]
    sets.sort(key=lambda part: [name not in part for name in names])
    marks = [_LETTERS[n % 26] + (str(n // 26) if n >= 26 else "") for n in range(len(sets))]  # noqa: PLR2004  (letters)
    return {name: "".join(mark for mark, part in zip(marks, sets, strict=True) if name in part) for name in names}
