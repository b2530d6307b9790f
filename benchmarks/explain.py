"""The whole family of conventions on one run: how long it takes, and how it compares with asking evaluate() one by one.

    python benchmarks/explain.py [--queries 3440] [--depth 10]

Three runs: without ties, with few distinct scores (every list is full of ties), and with everything that opens an axis
(ties, near ties, missing queries, queries with nothing relevant, unjudged documents).
"""

from __future__ import annotations

import argparse
import random
import time

from permed_measures import evaluate, explain
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.values import Values


def make(num_queries: int, depth: int, kind: str) -> tuple[dict, dict]:
    rng = random.Random(20261116)
    qrels, run = {}, {}
    for number in range(num_queries):
        docs = [f"d{doc}" for doc in rng.sample(range(100_000), depth)]
        scores = [30.0 - rng.random() for _ in docs]
        if kind != "plain":
            scores = [rng.choice((1.0, 2.0, 3.0)) for _ in docs]
        if kind == "messy":
            scores = [score + rng.choice((0.0, 1e-12)) for score in scores]
        run[f"q{number}"] = dict(zip(docs, scores, strict=True))
        judged = docs if kind != "messy" else docs[::2]
        grades = (0, 0, 1, 2) if kind != "messy" or number % 10 else (0,)
        qrels[f"q{number}"] = {doc: rng.choice(grades) for doc in [*judged, "missed1", "missed2"]}
    if kind == "messy":
        for number in range(0, num_queries, 20):
            del run[f"q{number}"]
        run["extra"] = {"d1": 1.0}
    return qrels, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=3440)
    parser.add_argument("--depth", type=int, default=10)
    options = parser.parse_args()
    for kind in ("plain", "ties", "messy"):
        qrels, run = make(options.queries, options.depth, kind)
        start = time.perf_counter()
        evaluate(qrels, run, "AP@10")
        once = time.perf_counter() - start
        for about in ("map@10", "ndcg@10"):
            start = time.perf_counter()
            found = explain(qrels, run, about=about)
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            count = sum(1 for _ in Values(JudgedRun(qrels, run, 10)).family(about.partition("@")[0]))
            family = time.perf_counter() - start
            print(
                f"{kind:<6} {options.queries:,} x {options.depth}  {about:<8} {count:>7,} conventions, "
                f"{len(found.combinations):>6,} values: the family {family:5.2f} s, explain() {seconds:5.2f} s, "
                f"one evaluate() {once:.2f} s"
            )


if __name__ == "__main__":
    main()
