"""What a gate's verdicts are worth, by simulation: how often it fails, holds or cannot tell, beside what must be.

Run by hand: python benchmarks/gates.py [--simulations 2000]; seeded, some minutes on one core. Values per query are
drawn for a baseline and a run, and go through the gate's own checks.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from functools import partial

import numpy as np

from permed_measures.comparison.repeats import averaged, spread
from permed_measures.gating.checks import Compared, Rules, decide_drops
from permed_measures.inference import VALUE
from permed_measures.inference.student import t_quantile

RULES = Rules()


def binary(rng, size, drop):
    """0/1 values: the baseline has 70%; 10% of the queries turn, more of them down than up."""
    before = rng.random(size) < 0.7
    down, up = (0.1 + drop) / 2 / 0.7, (0.1 - drop) / 2 / 0.3
    turned = rng.random(size) < np.where(before, down, up)
    return before.astype(float), np.where(turned, ~before, before).astype(float)


def skewed(rng, size, drop):
    """Values between 0 and 1 of which a third changes, some by much, and all fall by the drop."""
    before = rng.uniform(0.4, 0.6, size)
    change = np.where(rng.random(size) < 1 / 3, rng.exponential(0.12, size) * rng.choice((-1, 1), size), 0)
    return before, before + np.clip(change, -0.3, 0.3) - drop


def reciprocal(rng, size, drop):
    """Reciprocal ranks 1, 1/2, 1/3, …, 0; one in six is drawn anew, of the lower ones more often."""
    values = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10, 0])
    weights = np.array([0.5, 0.2, 0.1, 0.06, 0.04, 0.04, 0.06])
    before = rng.choice(values, size, p=weights)
    again = rng.random(size) < 1 / 6 + drop / (values @ weights)
    lost = again & (rng.random(size) < drop / (values @ weights) / (1 / 6 + drop / (values @ weights)))
    return before, np.where(lost, 0.0, np.where(again, rng.choice(values, size, p=weights), before))


KINDS = {"0/1": binary, "skewed": skewed, "reciprocal": reciprocal}


def clustered(kind, rng, sizes, drop, correlation):
    """Draw queries; with this chance a query repeats the first of its cluster, so that they go together."""
    before, after = kind(rng, sum(sizes), drop)
    firsts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    same = rng.random(sum(sizes)) < math.sqrt(correlation)
    return np.where(same, before[firsts], before), np.where(same, after[firsts], after)


def verdict(before, after, margin, sizes=None):
    """Return the verdict and the exit code of one check."""
    ids = [str(place) for place in range(len(before))]
    names = None if sizes is None else dict(zip(ids, np.repeat(range(len(sizes)), sizes).astype(str), strict=True))
    columns = [dict(zip(ids, column.tolist(), strict=True)) for column in (before, after)]
    compared = Compared("m", *columns, VALUE, None if names is None else names.__getitem__)
    (check,) = decide_drops([compared.check(margin, RULES)], RULES, list)
    return check.verdict, check.exit_code


def rates(draw, margin, times, sizes=None):
    """Return how often checks fail, hold, and end with 3."""
    return shares(Counter(verdict(*draw(), margin, sizes) for _ in range(times)), times)


def shares(counts, times):
    fails = sum(number for (found, _), number in counts.items() if found == "fails") / times
    holds = sum(number for (found, _), number in counts.items() if found == "holds") / times
    return fails, holds, sum(number for (_, code), number in counts.items() if code == 3) / times


def true_drop(kind, rng, drop):
    before, after = kind(rng, 400_000, drop)
    return float((before - after).mean())


def decidable(kind, rng, sizes, correlation):
    """Return a margin that such queries can decide, as gate --init writes it: (t.95 + t.80)·√V at k = 2, rounded up."""
    means = []
    for _ in range(2000):
        before, after = clustered(kind, rng, sizes, 0.0, correlation)
        means.append((after - before).mean())
    num = len(sizes)
    variance = (np.var(means) * num * num + 4) / ((num + 4) * (num + 3))
    margin = (t_quantile(0.95, num + 3.0) + t_quantile(0.8, num + 3.0)) * math.sqrt(variance)
    return math.ceil(100 * margin) / 100


def several(rng, num, drop, runs, apart):
    """Draw a system and its baseline, each run so many times: every run is off as a whole, and query by query."""
    columns = []
    for column in skewed(rng, num, drop):
        off = rng.normal(0, apart, (runs, 1)) + rng.normal(0, 0.05, (runs, num))
        columns.append(np.clip(column, 0.2, 0.8) + off)
    return columns


def verdict_of_several(columns, margin):
    """Return the verdict and the exit code of one check of two systems that ran several times."""
    before, after = ([dict(enumerate(run.tolist())) for run in runs] for runs in columns)
    repeats = {"run": spread(after), "baseline": spread(before)}
    compared = Compared("m", averaged(before), averaged(after), VALUE, repeats=repeats)
    (check,) = decide_drops([compared.check(margin, RULES)], RULES, list)
    return check.verdict, check.exit_code


REPEATED = [(runs, num, apart) for runs in (2, 3, 5) for num in (50, 500) for apart in (0.005, 0.02)]


def repeated(times, seed=3, cases=REPEATED):
    """Yield what at_the_margin yields, of systems that ran several times: (runs, queries, how far runs are apart)."""
    for runs, num, apart in cases:
        rng = np.random.default_rng(seed)
        before, after = (np.clip(column, 0.2, 0.8) for column in skewed(rng, 400_000, 0.05))
        margin = float((before - after).mean())
        drawn = (verdict_of_several(several(rng, num, 0.05, runs, apart), margin) for _ in range(times))
        yield f"drop = margin, {num} queries, {runs} runs of each, {apart} apart", *shares(Counter(drawn), times), 0.07


CLUSTERS = {
    "none": lambda num: [1] * num,
    "of 5": lambda num: [5] * num,
    "unequal": lambda num: [1 + 2 * (cluster % 5) for cluster in range(num)],
}


def at_the_margin(times, seed=1, sizes=(5, 10, 30, 100, 300, 1000, 5000)):
    """Yield (situation, fails, holds, exit 3, the most of the first two): the true drop is the allowed one."""
    for name, kind in KINDS.items():
        margin = true_drop(kind, np.random.default_rng(seed), 0.05)
        for num in sizes:
            draw = partial(kind, np.random.default_rng(seed), num, 0.05)
            found = rates(draw, margin, times)
            yield f"drop = margin, {name}, {num} queries", *found, 0.07
        for clusters, num in (("of 5", 30), ("of 5", 200), ("unequal", 30), ("unequal", 200)):
            parts = CLUSTERS[clusters](num)
            draw = partial(clustered, kind, np.random.default_rng(seed), parts, 0.05, 0.3)
            yield f"drop = margin, {name}, {num} clusters {clusters}", *rates(draw, margin, times, parts), 0.08


def the_same(times, seed=2, sizes=(50, 200, 1000)):
    """Yield (situation, fails, holds, exit 3): builds without a difference, and a margin that can be decided."""
    for name, kind in KINDS.items():
        for clusters, make in CLUSTERS.items():
            for num in sizes:
                parts, rng = make(num), np.random.default_rng(seed)
                margin = decidable(kind, rng, parts, 0.3)
                draw = partial(clustered, kind, rng, parts, 0.0, 0.3)
                found = rates(draw, margin, times, None if clusters == "none" else parts)
                yield f"no drop, {name}, {num} units, clusters {clusters}, margin {margin:g}", *found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    times = parser.parse_args().simulations
    missed = 0
    print(f"{'situation':66} fails  holds  exit 3   must be")
    for what, fails, holds, unsure, most in (*at_the_margin(times), *repeated(times)):
        wrong = max(fails, holds) > most
        missed += wrong
        must = f"fails <= {most:.0%}, holds <= {most:.0%}"
        print(f"{what:66} {fails:5.1%}  {holds:5.1%}  {unsure:6.1%}   {must}", "!" * wrong)
    for what, fails, holds, unsure in the_same(times):
        wrong = fails > 0.05 or unsure > 0.06 or holds < 0.8
        missed += wrong
        print(
            f"{what:66} {fails:5.1%}  {holds:5.1%}  {unsure:6.1%}   fails <= 5%, exit 3 <= 6%, holds >= 80%",
            "!" * wrong,
        )
    ten = verdict(np.ones(10), np.array([0.0] * 3 + [1.0] * 7), 0.05)
    missed += ten != ("undecided", 3)
    print(f"10 queries, Success 1.00 to 0.70: {ten[0]}, exit {ten[1]}; must be undecided, exit 3")
    print(f"{missed} rows are not as they must be")


if __name__ == "__main__":
    main()
