"""Our measures inside ``ranx.evaluate`` beside ranx's own: 1,000 queries x 1,000 documents, objects built, warm.

Run with ``python benchmarks/ranx_host.py``. The first run waits for ranx to compile. The bound that is kept:
``gwmap@10`` takes at most twice as long as ``map@10``.
"""

from __future__ import annotations

import random
import sys
import time
import warnings

from permed_measures import install_ranx, ranx_qrels, ranx_run

QUERIES, DOCUMENTS, JUDGED, REPEATS = 1000, 1000, 50, 9
PAIRS = (
    ("gwmap@10", "map@10"),
    ("gwmap", "map"),
    ("gwmap_ideal@10", "map@10"),
    ("list_map@10", "map@10"),
    ("ndcg_exp@10", "ndcg_burges@10"),
    ("list_ndcg@10", "ndcg@10"),
    ("coverage@10", "hit_rate@10"),
)
BOUND = 2.0


def main() -> int:
    warnings.simplefilter("ignore")  # numba's, about ranx's own code
    import ranx

    rng = random.Random(1)
    pool = [f"d{number:04}" for number in range(5 * DOCUMENTS)]
    judged = {f"q{n:04}": {d: rng.randint(0, 2) for d in rng.sample(pool, JUDGED)} for n in range(QUERIES)}
    qrels = ranx_qrels(judged)
    run = ranx_run({query_id: {d: rng.random() for d in rng.sample(pool, DOCUMENTS)} for query_id in judged})
    install_ranx()
    names = sorted({name for pair in PAIRS for name in pair})
    ranx.evaluate(qrels, run, names)
    best = dict.fromkeys(names, float("inf"))
    for _ in range(REPEATS):  # in turn, so that a busy moment meets them all
        for name in names:
            start = time.perf_counter()
            ranx.evaluate(qrels, run, name)
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"ranx.evaluate, {QUERIES:,} queries x {DOCUMENTS:,} documents, best of {REPEATS}")
    for ours, theirs in PAIRS:
        ratio = best[ours] / best[theirs]
        print(
            f"{ours:>15} {best[ours] * 1000:6.1f} ms   {theirs:>15} {best[theirs] * 1000:6.1f} ms   ratio {ratio:.2f}"
        )
    kept = best["gwmap@10"] <= BOUND * best["map@10"]
    print(f"gwmap@10 within {BOUND:g} x map@10: {'yes' if kept else 'NO'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
