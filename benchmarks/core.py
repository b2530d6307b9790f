"""evaluate(), the drop-in and ir_measures beside pytrec_eval on the same dicts: ratios from one interleaved run.

    python benchmarks/core.py [--rounds 5] [--quick]

Every row is computed with the compiled part and without it. Dicts are made the way a reader makes them, line by line,
in ranked and in random order; the seed is fixed. Every round calls each contender of a row once, one after the other,
so that a busy moment of the machine hits all of them; the fastest round of each counts, in processor time. A ratio is
theirs / ours: above 1 we are faster.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ir_measures
import pytrec_eval
from ir_measures import AP, RR, Bpref, P, R, Rprec, Success, nDCG

import permed_measures.ranking as ranking_module
from permed_measures import GWAP, Coverage, RelevanceEvaluator, evaluate

THREE = [GWAP @ 10, nDCG(dcg="exp-log2") @ 10, Coverage @ 10]
FOUR = [*THREE, P @ 1]
FOUR_NAMES = {"map_cut_10", "ndcg_cut_10", "P_1", "success_10"}
STANDARD = [AP, nDCG, R @ 1000, RR, Bpref, Rprec]
STANDARD_NAMES = {"map", "ndcg", "recall_1000", "recip_rank", "bpref", "Rprec"}
CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
FAMILIES = [measure @ cutoff for measure in (nDCG, AP, R, P, Success) for cutoff in CUTOFFS]
FAMILY_NAMES = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")}
PART = ranking_module.COLUMNS
WAYS = {"compiled": PART, "plain": None} if PART is not None else {"plain": None}


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


def fastest(contenders: dict, rounds: int, clock=time.process_time) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return {name: min(measured) for name, measured in times.items()}


def row(title: str, theirs, ours, rounds: int, must: dict[str, float]) -> None:
    """Time one row: ``theirs`` once per round, ``ours`` once in each way."""

    def in_way(part):
        def call() -> None:
            ranking_module.COLUMNS = part
            ours()

        return call

    times = fastest({"theirs": theirs, **{way: in_way(part) for way, part in WAYS.items()}}, rounds)
    found = {way: times["theirs"] / times[way] for way in WAYS}
    shown = "   ".join(f"{way} {ratio:6.2f}x (must {must[way]:g})" for way, ratio in found.items())
    print(f"{title:<74} {times['theirs'] * 1000:>8.1f} ms   {shown}", flush=True)


def by_evaluate(qrels: dict, run: dict, measures: list):
    return lambda: evaluate(qrels, run, measures)


def by_pytrec_eval(qrels: dict, run: dict, names: set):
    return lambda: pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)


def by_drop_in(qrels: dict, run: dict, names: set):
    return lambda: RelevanceEvaluator(qrels, names).evaluate(run)


def size(shape: tuple[int, int, int], must: tuple, rounds: int, *, three: tuple | None = None) -> None:
    """Print the rows of one size of data; ``must`` is compiled in order, compiled in random order, and plain."""
    num_queries, depth, judged = shape
    for shuffled in (False, True):
        qrels, run = make(num_queries, depth, judged, shuffled=shuffled)
        title = f"{num_queries:,} x {depth:,}, {judged} judged, {'random' if shuffled else 'ranked'} order"
        theirs = by_pytrec_eval(qrels, run, FOUR_NAMES)
        wanted = {"compiled": must[shuffled], "plain": must[2]}
        if three is not None:
            alone = {"compiled": three[0], "plain": three[1]}
            row(f"{title}: our three measures alone", theirs, by_evaluate(qrels, run, THREE), rounds, alone)
        row(f"{title}: with P@1", theirs, by_evaluate(qrels, run, FOUR), rounds, wanted)
        if judged == 1:
            continue
        limit = {"compiled": 0.95, "plain": 0.95}
        for name, measures, names in (
            ("six without a cut-off", STANDARD, STANDARD_NAMES),
            ("5 families x 7 cut-offs", FAMILIES, FAMILY_NAMES),
        ):
            theirs = by_pytrec_eval(qrels, run, names)
            row(f"{title}: {name}, evaluate()", theirs, by_evaluate(qrels, run, measures), rounds, limit)
            row(f"{title}: {name}, drop-in", theirs, by_drop_in(qrels, run, names), rounds, limit)
        if num_queries > depth:
            theirs = by_pytrec_eval(qrels, run, FOUR_NAMES)
            row(f"{title}: four names, drop-in", theirs, by_drop_in(qrels, run, FOUR_NAMES), rounds, limit)


def through_ir_measures(rounds: int) -> None:
    qrels, run = make(1000, 1000, 50, shuffled=False)
    standard = [AP, nDCG @ 10, P @ 1, RR]
    row(
        "ir_measures.calc_aggregate, 1,000 x 1,000: ours and standard / standard alone",
        lambda: ir_measures.calc_aggregate(standard, qrels, run),
        lambda: ir_measures.calc_aggregate([*standard, *THREE], qrels, run),
        rounds,
        {"compiled": 0.9, "plain": 0.9},
    )


def processor_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(arguments: list[str], *, plain: bool = False):
    # an installed package is compiled to bytecode, whatever this shell's settings
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PERMED_MEASURES_PLAIN": "1" if plain else ""}
    return lambda: subprocess.run(arguments, check=True, env=environment, capture_output=True)


def imports(rounds: int) -> None:
    times = fastest(
        {
            "python": command([sys.executable, "-c", "pass"]),
            "theirs": command([sys.executable, "-c", "import ir_measures, pytrec_eval"]),
            "ours": command([sys.executable, "-c", "import permed_measures"]),
        },
        rounds,
        processor_time_of_children,
    )
    ours, theirs = times["ours"] - times["python"], times["theirs"] - times["python"]
    print(f"import permed_measures: {ours / theirs:.2f} of ir_measures + pytrec_eval (must be at most 0.7)", flush=True)


def small_files(rounds: int) -> None:
    """Time whole processes on files of 34,400 lines."""
    qrels, run = make(3440, 10, 10, shuffled=False)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("qrels", "run")]
        judged = [f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()]
        lines = [f"{q} Q0 {d} {n} {s} x\n" for q, scores in run.items() for n, (d, s) in enumerate(scores.items(), 1)]
        Path(paths[0]).write_text("".join(judged), encoding="utf-8")
        Path(paths[1]).write_text("".join(lines), encoding="utf-8")
        ours = [sys.executable, "-m", "permed_measures", "eval", *paths, "-m", "GWAP@10 nDCG(dcg='exp-log2')@10 P@1"]
        times = fastest(
            {
                "theirs": command([sys.executable, "-m", "ir_measures", *paths, "AP@10 nDCG@10 P@1"]),
                **{way: command(ours, plain=way == "plain") for way in WAYS},
            },
            rounds,
            processor_time_of_children,
        )
    shown = "   ".join(f"{way} {times['theirs'] / times[way]:6.2f}x (must 1.5)" for way in WAYS)
    print(
        f"{'3,440 x 10 from files, process included, processor time':<74} {times['theirs'] * 1000:>8.1f} ms   {shown}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without the large run")
    options = parser.parse_args()
    print("theirs / ours; what must hold is in parentheses")
    size((3440, 10, 10), (1.5, 1.5, 0.8), options.rounds, three=(2.5, 0.85))
    size((1000, 1000, 50), (8, 11, 5), options.rounds)
    size((50, 1000, 500), (5, 5, 3.1), options.rounds)
    if not options.quick:
        size((6980, 1000, 1), (8, 14, 6), options.rounds)
    through_ir_measures(options.rounds)
    small_files(options.rounds)
    imports(options.rounds * 2)


if __name__ == "__main__":
    main()
