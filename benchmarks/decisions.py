"""What verdicts are worth, by simulation: error rates, coverage and power of every rule, each beside what it must be.

Run by hand: python benchmarks/decisions.py [--simulations 4000] [--no-speed]; seeded, some minutes on one core. Rates
have a standard error of about 0.35 points with 4,000 simulations.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass

import numpy as np

from permed_measures import compare, inference
from permed_measures.comparison.all_pairs import max_t
from permed_measures.inference import VALUE, Units, units


@dataclass(frozen=True)
class Row:
    situation: str
    must: str
    found: list[float]
    low: float = -np.inf
    high: float = np.inf

    def holds(self, room=0.0):
        return all(self.low - room <= value <= self.high + room for value in self.found)


def shares(events):
    return float(np.mean(list(events)))


def clustered(rng, sizes, correlation):
    """Differences of no mean in clusters, normal with sd 0.2, cut to -1 and 1."""
    sizes = np.asarray(sizes)
    own = rng.normal(0, 0.2 * np.sqrt(1 - correlation), sizes.sum())
    common = np.repeat(rng.normal(0, 0.2 * np.sqrt(correlation), len(sizes)), sizes)
    values = np.clip(own + common, -1, 1)
    return Units(np.add.reduceat(values, np.r_[0, np.cumsum(sizes)[:-1]]).tolist(), sizes.tolist())


def decided(sample):
    """Return the p-value of the test that decides by default."""
    return inference.sign_flip_p(sample) if len(sample) <= inference.EXACT_UNITS else inference.mean_p(sample)


SIZES = {
    "30 x 5": [5] * 30,
    "unequal": [1 + 3 * (place % 8) for place in range(30)],
    "one has 30%": [5] * 29 + [62],
    "12 x 5": [5] * 12,
}


def cluster_rows(rng, times):
    rates = [shares(decided(clustered(rng, sizes, 0.3)) < 0.05 for _ in range(times)) for sizes in SIZES.values()]
    names = ", ".join(SIZES)
    yield Row(f"no difference, clusters with correlation .3 ({names}): significant", "<= 7%", rates, high=0.07)


def exact_rows(rng, times):
    yield Row("two queries, both 0 to 1: p", ".5", [decided(units([1.0, 1.0]))], 0.5, 0.5)
    stars = shares(_any_star(rng) for _ in range(max(10, times // 40)))
    yield Row("20 groups of 2 queries, no difference, Holm: a star somewhere", "0", [stars], high=0)
    qrels = {f"q{place}": {"a": 1} for place in range(30)}
    ranks = [(5, 4)] * 27 + [(1, 2)] * 3
    before, after = (
        {q: [f"x{n}" for n in range(pair[side] - 1)] + ["a"] for q, pair in zip(qrels, ranks, strict=True)}
        for side in (0, 1)
    )
    (change,) = compare(qrels, before, {"r": after}, "RR", test="wilcoxon").whole.changes.values()
    yield Row("27 small wins, 3 large losses, Wilcoxon: mixed, no star", "1", [float(change.verdict == "mixed")], 1, 1)


def _any_star(rng):
    qrels = {f"{group}_{turn}": {"a": 1} for group in range(20) for turn in range(2)}
    before, after = ({q: ["a"] if rng.random() < 0.5 else ["x", "a"] for q in qrels} for _ in range(2))
    result = compare(qrels, before, {"r": after}, "P@1", groups="conversation", p_imp=False)
    return any(change.significant for table in result.groups for change in table.changes.values())


def losses_and_wins(rng, num, drop):
    """0/1 differences: losses less wins come to the drop."""
    drawn = rng.random(num)
    return np.where(drawn < drop + 0.05, -1.0, np.where(drawn < drop + 0.10, 1.0, 0.0))


def skewed(rng, num, drop):
    """30% of the queries lose, few of them much; the others gain a little, so that the mean is the drop."""
    loses = rng.random(num) < 0.3
    lost, gained = rng.beta(1, 3, num), rng.beta(1, 9, num)
    shift = (0.3 * 0.25 - drop) / (0.7 * 0.1)
    return np.where(loses, -lost, shift * gained)


def gate_rows(rng, times):
    for name, draw in (("0/1", losses_and_wins), ("skewed", skewed)):
        fails, holds = [], []
        for num in (5, 10, 30, 100, 300, 1000, 5000):
            found = _gates(lambda num=num, draw=draw: units(draw(rng, num, 0.05)), times)
            fails.append(found.count("fails") / len(found))
            holds.append(found.count("holds") / len(found))
        yield Row(f"true drop = allowed .05, {name}, n = 5 to 5,000: gate fails", "<= 7%", fails, high=0.07)
        yield Row(f"true drop = allowed .05, {name}, n = 5 to 5,000: gate holds", "<= 7%", holds, high=0.07)
    for name, sizes in list(SIZES.items())[:3]:
        drawn = lambda sizes=sizes: _shifted(clustered(rng, sizes, 0.3), -0.05)  # noqa: E731  (one line of a table)
        found = _gates(drawn, times)
        rates = [found.count(verdict) / len(found) for verdict in ("fails", "holds")]
        yield Row(f"the same in clusters with correlation .3, {name}: fails, holds", "<= 8%", rates, high=0.08)
    few = inference.drop(units([-1.0] * 3 + [0.0] * 7), 0.3)
    yield Row(
        "10 queries, Success 1.00 to 0.70, allowed .3: holds",
        "never",
        [float(inference.drop_verdict(few.upper, 0.3, few.p) == "holds")],
        high=0,
    )


def _gates(draw, times):
    found = []
    for _ in range(times):
        bound = inference.drop(draw(), 0.05)
        found.append(inference.drop_verdict(bound.upper, 0.05, bound.p))
    return found


def _shifted(sample, shift):
    return Units([s + n * shift for s, n in zip(sample.sums, sample.sizes, strict=True)], sample.sizes)


def pairs_of(kind, rng, num):
    """Values of two systems on the same queries, the second a little better."""
    if kind == "nDCG":
        base = np.where(rng.random(num) < 0.15, 0.0, rng.beta(2, 1.5, num))
        return base, np.clip(base + np.where(rng.random(num) < 0.5, rng.normal(0.04, 0.15, num), 0), 0, 1)
    if kind == "RR":
        first = rng.geometric(0.5, num)
        return 1 / first, 1 / np.maximum(1, first + rng.choice([-1, 0, 0, 0, 1], num, p=[0.2, 0.3, 0.2, 0.2, 0.1]))
    chance = rng.beta(1.5, 1.5, num)  # P@5
    return rng.binomial(5, chance, num) / 5, rng.binomial(5, np.clip(chance + 0.05, 0, 1), num) / 5


def coverage(sample_of, truth, times, make):
    hits = 0
    for _ in range(times):
        low, high = make(units(sample_of())).interval()
        hits += low - 1e-12 <= truth <= high + 1e-12
    return hits / times


def interval_rows(rng, times):
    mean = [
        coverage(lambda n=n: (rng.random(n) < 0.98).astype(float), 0.98, times, inference.mean_estimate)
        for n in (10, 25, 50)
    ]
    yield Row("95% interval of a mean P@1 of .98 covers it, n = 10, 25, 50", ">= .93", mean, low=0.93)
    changed = [
        coverage(
            lambda n=n: rng.choice([1.0, -1.0, 0.0], n, p=[0.06, 0.01, 0.93]),
            0.05,
            times,
            inference.difference_estimate,
        )
        for n in (10, 25, 50)
    ]
    yield Row("95% interval of a P@1 difference (.06, .01), n = 10, 25, 50", ">= .93", changed, low=0.93)
    for kind in ("nDCG", "RR", "P@5"):
        before, after = pairs_of(kind, rng, 2_000_000)
        truth = float((after - before).mean())

        def drawn(n, kind=kind):
            before, after = pairs_of(kind, rng, n)
            return after - before

        found = [
            coverage(lambda n=n, drawn=drawn: drawn(n), truth, times, inference.difference_estimate)
            for n in (10, 20, 30, 50, 100)
        ]
        yield Row(f"95% interval of a difference of {kind}-like values, n = 10 to 100", ">= .93", found, low=0.93)
    low, high = inference.mean_estimate(units([1.0] * 10), VALUE).interval()
    yield Row("ten values of 1: the interval", ".73 to 1", [low, high], 0.73, 1.0)


def power_rows(rng, times):
    for comparisons, sizes in ((1, (15, 30, 130)), (6, (15, 30, 130)), (30, (20, 30, 130))):
        rates = []
        for num in sizes:
            found = 0
            for _ in range(times):
                seen = inference.estimate(units(rng.normal(0, 0.2, num)))
                stated = inference.detectable(seen.error, num, 0.05, comparisons)
                found += inference.mean_p(units(rng.normal(stated, 0.2, num))) < 0.05 / comparisons
            rates.append(found / times)
        name = f"power at the stated detectable difference, {comparisons} comparisons, n = {', '.join(map(str, sizes))}"
        yield Row(name, ">= .78", rates, low=0.78)


def pairs_rows(rng, times):
    """All pairs of five systems without a difference, one of them noisy, two of them clones."""
    false = 0
    times = max(20, times // 10)
    for _ in range(times):
        query = rng.normal(0, 0.2, 60)
        systems = [query + rng.normal(0, 0.1, 60) for _ in range(3)] + [query + rng.normal(0, 0.5, 60)]
        systems.append(systems[0])
        columns = [units(a - b) for place, a in enumerate(systems) for b in systems[place + 1 :]]
        false += min(max_t(columns, int(rng.integers(2**31)))) < 0.05
    yield Row(
        "all pairs of five systems, one noisy, two clones, no difference: any found",
        "<= 7%",
        [false / times],
        high=0.07,
    )


def speed_rows():
    rng = np.random.default_rng(0)
    qrels = {f"q{n}": {f"d{d}": int(rng.integers(0, 3)) for d in range(10)} for n in range(100_000)}
    documents = [f"d{d}" for d in range(20)]
    runs = [{q: dict(zip(documents, rng.random(20).tolist(), strict=True)) for q in qrels} for _ in range(3)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    compare(qrels, runs[0], {"a": runs[1], "b": runs[2]}, "nDCG@10 AP RR P@1 P@5 R@10")
    seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    yield Row("100,000 queries, 3 runs x 6 measures: CPU seconds", "<= 10", [seconds], high=10)
    yield Row("100,000 queries, 3 runs x 6 measures: MB above the input", "<= 150", [grown], high=150)


def rows(times, seed=0):
    rng = np.random.default_rng(seed)
    for make in (cluster_rows, exact_rows, gate_rows, interval_rows, power_rows, pairs_rows):
        yield from make(rng, times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=4000)
    parser.add_argument("--no-speed", action="store_true")
    options = parser.parse_args()
    found = [] if options.no_speed else speed_rows()
    for source in (found, rows(options.simulations)):
        for row in source:
            shown = " ".join(f"{value:.3g}" for value in row.found)
            print(f"{'ok  ' if row.holds() else 'MISS'}  {row.situation:<95}  must {row.must:<9}  {shown}", flush=True)


if __name__ == "__main__":
    main()
