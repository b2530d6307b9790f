"""Time SoftmaxRanker on a million samples: python benchmarks/softmax_ranker.py [samples] [group size]."""

from __future__ import annotations

import sys
import time

import numpy as np

from permed_measures.ltr.leaks import leak_check
from permed_measures.ltr.samples import Group, Samples, evaluate_samples
from permed_measures.ltr.softmax_ranker import SoftmaxRanker


def made(num_samples: int, size: int, num_features: int = 4) -> Samples:
    rng = np.random.default_rng(7)
    num_groups = num_samples // size
    features = rng.random((num_groups * size, num_features))
    truth = features @ np.array([2.0, 1.0, 0.5, 0.0])[:num_features]
    noisy = (truth + rng.gumbel(scale=0.3, size=len(truth))).reshape(num_groups, size)
    labels = np.zeros((num_groups, size))
    labels[np.arange(num_groups), noisy.argmax(axis=1)] = 1
    return Samples(
        groups=[Group(f"t/{number}", "t", number, None) for number in range(num_groups)],
        codes=np.repeat(np.arange(num_groups), size),
        candidates=[f"c{row % size}" for row in range(num_groups * size)],
        labels=labels.ravel(),
        features=features,
        feature_names=tuple(f"f{place}" for place in range(num_features)),
        scores=None,
    )


def timed(what, job):
    start = time.perf_counter()
    answer = job()
    print(f"{what:<42} {time.perf_counter() - start:7.2f} s")
    return answer


def main() -> None:
    num_samples, size = (int(argument) for argument in [*sys.argv[1:], *("1000000", "20")[len(sys.argv) - 1 :]])
    samples = made(num_samples, size)
    print(f"{len(samples):,} samples, {len(samples.groups):,} groups of {size}, {samples.features.shape[1]} features")
    ranker = SoftmaxRanker(learning_rate=0.05, l2=0.0001, epochs=1)
    timed("fit, sgd, 1 epoch", lambda: ranker.fit(samples))
    timed("fit, sgd, 1 epoch, groups shuffled", lambda: SoftmaxRanker(epochs=1, seed=1).fit(samples))
    optimum = timed("fit, lbfgs", lambda: SoftmaxRanker(solver="lbfgs", l2=0.0001).fit(samples))
    print(f"  {optimum.n_iter_} iterations; weights {np.round(optimum.coef_, 3).tolist()}")
    found = timed("evaluate_samples", lambda: evaluate_samples(samples, model=optimum))
    print("  " + ", ".join(f"{name} {value:.4f}" for name, value in found.metrics.items()))
    timed("detail records", lambda: found.details)
    timed("leak_check", lambda: leak_check(samples))


if __name__ == "__main__":
    main()
