"""From files on disk to printed means: the shell tool beside the ir_measures command and NIST's trec_eval.

    python benchmarks/files.py [--rounds 3] [--trec-eval PATH] [--small-rounds 9]

TREC files are made in a temporary folder with a fixed seed: 6,980 queries with 1,000 documents (7 million lines), and
3,440 with 10. Every round runs every contender once, as a process of its own, one after the other, so that a busy
moment of the machine hits all of them; the fastest round of each counts, and its greatest peak of memory. The seconds
of all processors together stand beside: they depend less on what else the machine does. Python has compiled every
package before the clock starts, ours and theirs alike, also where PYTHONDONTWRITEBYTECODE is set. trec_eval is not part
of this project: build it from https://github.com/usnistgov/trec_eval and give its path, or have it in PATH.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEASURES = "AP@10 nDCG@10 P@1 Success@10"
TREC_NAMES = ("map_cut.10", "ndcg_cut.10", "P.1", "success.10")
ROOT = Path(__file__).resolve().parents[1]


def make(folder: Path, num_queries: int, depth: int) -> tuple[str, str]:
    """Write qrels and a run; four documents are judged for each query, three of them returned."""
    rng = random.Random(20261116)
    qrels, run = folder / f"{num_queries}.qrels", folder / f"{num_queries}.run"
    with qrels.open("w") as judgements, run.open("w") as lines:
        for query in range(1_000_000, 1_000_000 + num_queries):
            score = 30.0
            docs = rng.sample(range(8_800_000), depth)
            for rank, doc in enumerate(docs, 1):
                score -= rng.random() * 0.02
                lines.write(f"{query} Q0 {doc} {rank} {score:.6f} bm25\n")
            for doc in (*rng.sample(docs, 3), 9_000_000):
                judgements.write(f"{query} 0 {doc} {rng.choice((0, 1, 1, 2))}\n")
    return str(qrels), str(run)


def run_once(command: list[str], environment: dict[str, str]) -> tuple[float, float, float, str]:
    """Return seconds, processor seconds, peak memory in MB, and what was printed."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read()


def contenders(qrels: str, run: str, trec_eval: str | None) -> dict[str, list[str]]:
    tool = [sys.executable, "-c", "from permed_measures.cli import main; main()"]
    theirs = [sys.executable, "-c", "from ir_measures.__main__ import main_cli; main_cli()"]
    commands = {
        "permed-measures eval": [*tool, "eval", qrels, run, "-m", MEASURES, "--format", "csv"],
        "permed-measures, ir_measures' form": [*tool, qrels, run, MEASURES],
        "permed-measures eval, profile permed": [*tool, "eval", qrels, run, "--format", "csv"],
        "ir_measures": [*theirs, qrels, run, MEASURES],
    }
    if trec_eval is not None:
        commands["trec_eval"] = [trec_eval, "-c", *(word for name in TREC_NAMES for word in ("-m", name)), qrels, run]
    return commands


def agree(printed: dict[str, str]) -> None:
    """Check that everybody printed the same four means, so that times are those of the same work."""
    form = dict(line.split() for line in printed["ir_measures"].splitlines())
    ours = {name: f"{float(mean):.4f}" for name, mean in zip(MEASURES.split(), csv_means(printed), strict=True)}
    trec = {line.split()[0]: line.split()[2] for line in printed.get("trec_eval", "").splitlines()}
    names = dict(zip(MEASURES.split(), (name.replace(".", "_") for name in TREC_NAMES), strict=True))
    if ours != form or any(trec[names[name]] != mean for name, mean in ours.items() if trec):
        sys.exit(f"the means differ: {ours}, {form}, {trec}")
    if printed["permed-measures, ir_measures' form"] != printed["ir_measures"]:
        sys.exit("the form of the ir_measures command prints something else")


def csv_means(printed: dict[str, str]) -> list[str]:
    return printed["permed-measures eval"].splitlines()[1].split(",")[1:]


def compare(
    title: str, commands: dict[str, list[str]], rounds: int, wanted: dict[str, float], limit_mb: int | None
) -> None:
    with tempfile.TemporaryDirectory() as cache:
        # installed packages are compiled, whatever this shell's settings: one round outside the clock does it
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": cache,
            "PYTHONDONTWRITEBYTECODE": "",
        }
        agree({name: run_once(command, environment)[-1] for name, command in commands.items()})
        results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                results[name].append(run_once(command, environment)[:3])
    print(f"\n{title}")
    best = {name: [min(column) for column in zip(*measured, strict=True)] for name, measured in results.items()}
    ours = best["permed-measures eval"]
    print(f"  {'':<38} {'time':>9} {'x eval':>7}   {'processors':>9} {'x eval':>7}   {'memory':>7}")
    for name, (seconds, busy, _) in best.items():
        peak = max(memory for *_, memory in results[name])
        want = f"   (wanted: at least {wanted[name]:g}x)" if name in wanted else ""
        want = f"   (wanted: below {limit_mb} MB)" if limit_mb and name.startswith("permed") else want
        times = f"{seconds:>7.2f} s {seconds / ours[0]:>7.2f}   {busy:>8.2f} s {busy / ours[1]:>7.2f}"
        print(f"  {name:<38} {times}   {peak:>4.0f} MB{want}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small-rounds", type=int, default=9)
    parser.add_argument("--trec-eval", default=shutil.which("trec_eval"), metavar="PATH")
    options = parser.parse_args()
    if options.trec_eval is None:
        print("trec_eval is not in PATH, and --trec-eval was not given: it is left out")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make(folder, 3440, 10)
        small = contenders(*files, None)
        title = f"3,440 x 10 documents, process start included: {MEASURES}"
        compare(title, small, options.small_rounds, {"ir_measures": 1.5}, None)
        files = make(folder, 6980, 1000)
        large = contenders(*files, options.trec_eval)
        title = f"6,980 x 1,000 documents ({Path(files[1]).stat().st_size / 1e6:.0f} MB): {MEASURES}"
        compare(title, large, options.rounds, {"ir_measures": 10, "trec_eval": 4}, 400)


if __name__ == "__main__":
    main()
