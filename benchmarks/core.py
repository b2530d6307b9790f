"""evaluate() beside pytrec_eval, ranx and ir_measures on the same dicts: ratios from one interleaved run.

    python benchmarks/core.py [--rounds 5] [--quick]

Dicts are made the way a reader makes them, line by line; the seed is fixed. Every round times every contender once, one
after the other, so that a busy moment of the machine hits all of them; the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time

import ir_measures
import pytrec_eval
from ir_measures import P, nDCG

from permed_measures import GWAP, Coverage, evaluate

OURS = [GWAP @ 10, nDCG(dcg="exp-log2") @ 10, P @ 1, Coverage @ 10]
THEIRS = {"map_cut_10", "ndcg_cut_10", "P_1", "success_10"}
RANX = ["map@10", "ndcg@10", "precision@1", "hit_rate@10"]


def make(num_queries: int, depth: int, judged: int, *, shuffled: bool) -> tuple[dict, dict]:
    """Make qrels and a run; about half of the judged documents are returned (all, where only one is judged)."""
    rng = random.Random(20261116)
    qrels, run = {}, {}
    for number in range(num_queries):
        score, lines = 30.0, []
        for doc in rng.sample(range(1_000_000), depth):
            score -= rng.random() * 0.02
            lines.append(f"d{doc} {score:.6f}")
        returned = [line.split()[0] for line in rng.sample(lines, (judged + 1) // 2)]
        if shuffled:
            rng.shuffle(lines)
        qrels[f"q{number}"] = {
            doc_id: rng.randrange(3) for doc_id in [*returned, *[f"x{i}" for i in range(judged - len(returned))]]
        }
        scores = run.setdefault(f"q{number}", {})
        for line in lines:
            doc_id, text = line.split()
            scores[doc_id] = float(text)
    return qrels, run


def fastest(contenders: dict, rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(measured) for name, measured in times.items()}


def report(title: str, times: dict[str, float], wanted: dict[str, float]) -> None:
    ours = times["evaluate()"]
    print(f"\n{title}")
    for name, seconds in times.items():
        want = f"   (wanted: at least {wanted[name]:g}x)" if name in wanted else ""
        print(f"  {name:<44} {seconds * 1000:>9.1f} ms   {seconds / ours:>7.2f} x evaluate(){want}")


def small(qrels: dict, run: dict, title: str, rounds: int, *, ranx: bool) -> None:
    kernels_only = [measure for measure in OURS if measure != P @ 1]
    contenders = {
        "evaluate()": lambda: evaluate(qrels, run, OURS),
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run),
    }
    if ranx:
        contenders["ranx, with building Qrels and Run"] = with_ranx(qrels, run)
    wanted = {"pytrec_eval": 5, "ranx, with building Qrels and Run": 15}
    report(title, fastest(contenders, rounds), wanted)
    contenders = {
        "evaluate()": lambda: evaluate(qrels, run, kernels_only),
        "ir_measures.calc, our three measures": lambda: ir_measures.calc(kernels_only, qrels, run),
    }
    report("the same, our measures alone, through ir_measures (wanted: at most 2x)", fastest(contenders, rounds), {})


def with_ranx(qrels: dict, run: dict):
    import ranx

    def call() -> None:
        ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), RANX)

    call()  # compiled once, outside the clock
    return call


def gwap_by_define():
    """GWAP@10 the way an ir_measures user writes a measure of their own."""

    def by_query(qrels, run) -> float:
        grades = dict(zip(qrels["doc_id"], qrels["relevance"], strict=True))
        found, total = 0, 0.0
        for place, doc_id in enumerate(run.sort_values("score", ascending=False)["doc_id"].head(10), 1):
            grade = grades.get(doc_id, 0)
            if grade > 0:
                found += 1
                total += found / place * grade / 2
        relevant = sum(grade > 0 for grade in grades.values())
        return total / relevant if relevant else 0.0

    return ir_measures.define_byquery(by_query, name="DefinedGWAP")


def import_times(rounds: int) -> None:
    def load(statement: str):
        # an installed package is compiled, whatever this shell's settings
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        return lambda: subprocess.run([sys.executable, "-c", statement], check=True, env=environment)

    times = fastest(
        {
            "python": load("pass"),
            "import ir_measures, pytrec_eval": load("import ir_measures, pytrec_eval"),
            "import permed_measures": load("import permed_measures"),
        },
        rounds * 2,
    )
    start = times.pop("python")
    ours, theirs = (times[name] - start for name in ("import permed_measures", "import ir_measures, pytrec_eval"))
    print(f"\nimport: permed_measures {ours * 1000:.0f} ms, ir_measures and pytrec_eval {theirs * 1000:.0f} ms", end="")
    print(f": {ours / theirs:.2f} x   (wanted: at most 1.5x)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without ranx, define_byquery and the large run")
    options = parser.parse_args()

    for shuffled in (False, True):
        order = "dicts in random order" if shuffled else "dicts in ranked order"
        title = f"1,000 queries x 1,000 documents, 50 judged, four measures, {order}"
        qrels, run = make(1000, 1000, 50, shuffled=shuffled)
        small(qrels, run, title, options.rounds, ranx=not options.quick and not shuffled)

    if not options.quick:
        qrels, run = make(200, 1000, 50, shuffled=False)
        defined = gwap_by_define()
        contenders = {
            "evaluate()": lambda: evaluate(qrels, run, [GWAP @ 10]),
            "ir_measures.define_byquery": lambda: ir_measures.calc([defined], qrels, run),
        }
        report(
            "GWAP@10 alone, 200 queries x 1,000 (define_byquery is quadratic in the queries)",
            fastest(contenders, min(options.rounds, 3)),
            {"ir_measures.define_byquery": 100},
        )
        qrels, run = make(6980, 1000, 1, shuffled=False)
        contenders = {
            "evaluate()": lambda: evaluate(qrels, run, OURS),
            "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run),
        }
        report(
            "6,980 queries x 1,000 documents, 1 judged, four measures",
            fastest(contenders, options.rounds),
            {"pytrec_eval": 10},
        )
    import_times(options.rounds)


if __name__ == "__main__":
    main()
