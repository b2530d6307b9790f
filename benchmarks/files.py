"""From files on disk to printed means: the shell tool beside the ir_measures command and NIST's trec_eval.

    python benchmarks/files.py [--rounds 3] [--trec-eval PATH] [--only large,small,...] [--no-plain]

TREC files are made in a temporary folder with a fixed seed: 6,980 queries with 1,000 documents (7 million lines), in
order of score and in random order, and 3,440 with 10. Every round runs every command once, as a process of its own,
one after the other, so that a busy moment of the machine hits all of them; the fastest round of each counts, and its
greatest peak of memory. The seconds of all processors together stand beside: they depend less on what else the machine
does. Python has compiled every package before the clock starts. Our commands run with the compiled part, and once more
without it (PERMED_MEASURES_PLAIN=1). trec_eval is not part of this project: build it with -O3 from
https://github.com/usnistgov/trec_eval and give its path, or have it in PATH.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEASURES = "AP@10 nDCG@10 P@1 Success@10"
TREC_NAMES = ("map_cut.10", "ndcg_cut.10", "P.1", "success.10")
ROOT = Path(__file__).resolve().parents[1]
TOOL = [sys.executable, "-c", "from permed_measures.cli import main; main()"]
THEIRS = [sys.executable, "-c", "from ir_measures.__main__ import main_cli; main_cli()"]
PLAIN = " (plain)"
_SHOWN = 100_000


def make(  # noqa: PLR0913  (what a file may be like)
    folder: Path, num_queries: int, depth: int, name: str, *, shuffled: bool = False, tie: float = 0.0
) -> str:
    """Write qrels and a run; four documents are judged for each query, three of them returned."""
    rng = random.Random(20261116 + num_queries)
    noise = random.Random(name)
    with (folder / f"{num_queries}.qrels").open("w") as judgements, (folder / name).open("w") as lines:
        for query in range(1_000_000, 1_000_000 + num_queries):
            docs = rng.sample(range(8_800_000), depth)
            steps = [rng.random() * 0.02 for _ in docs]
            score, written = 30.0, []
            for rank, (doc, step) in enumerate(zip(docs, steps, strict=True), 1):
                score -= step
                written.append(f"{query} Q0 {doc} {rank} {score - tie * noise.random():.6f} bm25\n")
            if shuffled:
                noise.shuffle(written)
            lines.write("".join(written))
            for doc in (*rng.sample(docs, 3), 9_000_000):
                judgements.write(f"{query} 0 {doc} {rng.choice((0, 1, 1, 2))}\n")
    return str(folder / name)


class Command(NamedTuple):
    """What is run, what it reads from standard input, and the exit code that is meant."""

    words: list[str]
    stdin: str | None = None
    code: int = 0
    plain: bool = False


class Best(NamedTuple):
    """The fastest of all rounds, and the greatest peak of memory."""

    seconds: float
    busy: float
    memory: float
    printed: str


def run_once(command: Command, environment: dict[str, str]) -> Best:
    environment = {**environment, "PERMED_MEASURES_PLAIN": "1" if command.plain else ""}
    with tempfile.TemporaryFile("w+") as out, open(command.stdin or os.devnull, "rb") as given:  # noqa: PTH123  (devnull)
        start = time.perf_counter()
        process = subprocess.Popen(command.words, stdin=given, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != command.code:
            sys.exit(f"{' '.join(command.words)} ended with {process.returncode}")
        out.seek(0)
        # an output of many bytes would make this process, and so the peak of every later one, as large
        return Best(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read(_SHOWN))


def measure(title: str, commands: dict[str, Command], rounds: int) -> dict[str, Best]:
    """Run everything in turn, and print the best of each."""
    with tempfile.TemporaryDirectory() as cache:
        # installed packages are compiled, whatever this shell's settings: one round outside the clock does it
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": cache,
            "PYTHONDONTWRITEBYTECODE": "",
        }
        for command in {command.plain: command for command in commands.values()}.values():
            run_once(command, environment)
        results: dict[str, list[Best]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                results[name].append(run_once(command, environment))
    best = {
        name: Best(min(r.seconds for r in of), min(r.busy for r in of), max(r.memory for r in of), of[-1].printed)
        for name, of in results.items()
    }
    print(f"\n{title}\n  {'':<44} {'time':>9}   {'processors':>10}   {'memory':>7}")
    for name, (seconds, busy, memory, _) in best.items():
        print(f"  {name:<44} {seconds:>7.2f} s   {busy:>8.2f} s   {memory:>4.0f} MB")
    return best


def wanted(what: str, found: float, limit: float, unit: str = "x", *, at_least: bool = True) -> None:
    """Print one figure beside what it must be."""
    held = found >= limit if at_least else found <= limit
    sign = ">=" if at_least else "<="
    print(f"    {what}: {found:.2f}{unit} (must be {sign} {limit:g}{unit}){'' if held else '   NOT MET'}")


def both(words: list[str], name: str, plain: str, **more: str | int) -> dict[str, Command]:
    commands = {name: Command(words, **more)}  # type: ignore[arg-type]  # benchmarks are not typed
    return {**commands, name + PLAIN: commands[name]._replace(plain=True)} if plain else commands


def small(folder: Path, rounds: int, plain: str, _: str | None) -> None:
    run, qrels = make(folder, 3440, 10, "small.run"), str(folder / "3440.qrels")
    commands = {
        **both([*TOOL, "eval", qrels, run, "-m", MEASURES], "eval", plain),
        **both([*TOOL, qrels, run, MEASURES], "ir_measures' form", plain),
        "ir_measures": Command([*THEIRS, qrels, run, MEASURES]),
    }
    best = measure("3,440 x 10 documents, process start included", commands, 3 * rounds)
    if best["ir_measures' form"].printed != best["ir_measures"].printed:
        sys.exit("the form of the ir_measures command prints something else")
    theirs = best.pop("ir_measures")
    for name, ours in best.items():
        wanted(f"ir_measures takes, by {name}, by the clock", theirs.seconds / ours.seconds, 1.5)
        wanted(f"ir_measures takes, by {name}, by processor time", theirs.busy / ours.busy, 1.5)


def large(folder: Path, rounds: int, plain: str, trec_eval: str | None) -> None:
    run, other = make(folder, 6980, 1000, "large.run"), make(folder, 6980, 1000, "other.run", tie=0.02)
    mixed = make(folder, 6980, 1000, "random.run", shuffled=True)
    qrels = str(folder / "6980.qrels")
    commands = {
        **both([*TOOL, "eval", qrels, run, "-m", MEASURES], "eval", plain),
        **both([*TOOL, "eval", qrels, mixed, "-m", MEASURES], "eval, lines in random order", plain),
        **both([*TOOL, "eval", qrels, "-", "-m", MEASURES], "eval, standard input", plain, stdin=run),
        **both([*TOOL, "eval", qrels, run, "-m", "nDCG AP GWAP"], "eval, no cut-off", plain),
        **both([*TOOL, "compare", qrels, run, other, "-m", MEASURES], "compare", plain),
        **both(
            [*TOOL, "gate", qrels, run, "AP@10>=0", "--baseline", other, "--max-drop", "1"], "gate --baseline", plain
        ),
        **both([*TOOL, "explain", qrels, run, "--about", "map@10", "--value", "0.1"], "explain", plain),
    }
    if trec_eval is not None:
        asked = [word for name in TREC_NAMES for word in ("-m", name)]
        commands["trec_eval"] = Command([trec_eval, "-c", *asked, qrels, run])
    best = measure(f"6,980 x 1,000 documents ({Path(run).stat().st_size / 1e6:.0f} MB): {MEASURES}", commands, rounds)
    for extra, ratio, memory in (("", 12, 100), (PLAIN, 3, 150)) if plain else (("", 12, 100),):
        ours = best["eval" + extra]
        if trec_eval is not None:
            wanted(f"trec_eval takes, by eval{extra}", best["trec_eval"].seconds / ours.seconds, ratio)
        wanted(f"eval{extra}", ours.memory, memory, " MB", at_least=False)
        wanted(
            f"standard input{extra}",
            best["eval, standard input" + extra].memory,
            250 if extra else 150,
            " MB",
            at_least=False,
        )
        for name in ("compare", "gate --baseline", "explain"):
            found = best[name + extra]
            wanted(
                f"{name}{extra} beyond two evals",
                found.seconds - 2 * ours.seconds,
                2 if extra else 1.5,
                " s",
                at_least=False,
            )
            wanted(f"{name}{extra}", found.memory, 250 if extra else 200, " MB", at_least=False)
    wanted("no cut-off", best["eval, no cut-off"].memory, 200, " MB", at_least=False)


def packed(folder: Path, rounds: int, plain: str, _: str | None) -> None:
    run, qrels = make(folder, 6980, 1000, "packed.run"), str(folder / "6980.qrels")
    with gzip.open(run + ".gz", "wb", compresslevel=6) as out, Path(run).open("rb") as lines:
        shutil.copyfileobj(lines, out, 1 << 20)
    commands = both([*TOOL, "eval", qrels, run, "-m", MEASURES], "eval", plain)
    commands |= both([*TOOL, "eval", qrels, run + ".gz", "-m", MEASURES], "eval, .gz", plain)
    commands["gzip -dc"] = Command(["gzip", "-dc", run + ".gz"])
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", run], check=True)
        commands |= both([*TOOL, "eval", qrels, run + ".zst", "-m", MEASURES], "eval, .zst", plain)
        commands["zstd -dc"] = Command(["zstd", "-dcq", run + ".zst"])
    best = measure("7 million lines, packed", commands, rounds)
    for name, found in best.items():
        unpacker = "gzip -dc" if ".gz" in name else "zstd -dc" if ".zst" in name else None
        if unpacker:
            own = best["eval" + (PLAIN if name.endswith(PLAIN) else "")]
            wanted(
                f"{name}, by {unpacker} and eval",
                found.seconds / (best[unpacker].seconds + own.seconds),
                1,
                at_least=False,
            )


def many(folder: Path, rounds: int, plain: str, _: str | None) -> None:
    runs = [make(folder, 500, 1000, f"{number}.run", tie=0.02) for number in range(20)]
    qrels = str(folder / "500.qrels")
    commands = both([*TOOL, "eval", qrels, *runs, "-m", MEASURES], "20 runs at once", plain)
    commands |= both([*TOOL, "eval", qrels, runs[0], "-m", MEASURES], "one run", plain)
    best = measure("20 runs of 500,000 lines", commands, rounds)
    for extra in ("", PLAIN) if plain else ("",):
        wanted(
            f"by 20 calls{extra}",
            best["20 runs at once" + extra].seconds / (20 * best["one run" + extra].seconds),
            0.6,
            at_least=False,
        )


def linear(folder: Path, rounds: int, plain: str, _: str | None) -> None:
    commands: dict[str, Command] = {}
    for queries, name in ((1_000, "1 million lines"), (7_000, "7 million lines"), (70_000, "70 million lines")):
        run, qrels = make(folder, queries, 1000, f"{queries}.run"), str(folder / f"{queries}.qrels")
        commands |= both([*TOOL, "eval", qrels, run, "-m", MEASURES], name, plain)
    measure("cost by length", commands, min(rounds, 2))


def faulty(folder: Path, rounds: int, plain: str, _: str | None) -> None:
    run, qrels = make(folder, 10_000, 1000, "sound.run"), str(folder / "10000.qrels")
    broken = shutil.copy(run, folder / "broken.run")
    with Path(broken).open("a") as lines:
        lines.write("1009999 Q0 9999999 1001 oops bm25\n")
    for path in (run, broken):
        with gzip.open(f"{path}.gz", "wb", compresslevel=1) as out, Path(path).open("rb") as lines:
            shutil.copyfileobj(lines, out, 1 << 20)
    commands: dict[str, Command] = {}
    for suffix in ("", ".gz"):
        commands |= both([*TOOL, "eval", qrels, run + suffix, "-m", MEASURES], f"sound{suffix}", plain)
        commands |= both(
            [*TOOL, "eval", qrels, f"{broken}{suffix}", "-m", MEASURES], f"a bad last line{suffix}", plain, code=2
        )
    best = measure("10 million lines, the last one wrong", commands, rounds)
    for name, found in best.items():
        if name.startswith("a bad"):
            sound = best[name.replace("a bad last line", "sound")]
            wanted(f"{name}: time", found.seconds / sound.seconds, 2, at_least=False)
            wanted(f"{name}: memory", found.memory / sound.memory, 2, at_least=False)


PARTS = {part.__name__: part for part in (small, large, packed, many, faulty, linear)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trec-eval", default=shutil.which("trec_eval"), metavar="PATH")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS", help=", ".join(PARTS))
    parser.add_argument("--no-plain", action="store_true", help="only with the compiled part")
    options = parser.parse_args()
    if options.trec_eval is None:
        print("trec_eval is not in PATH, and --trec-eval was not given: it is left out")
    for part in options.only.split(","):
        with tempfile.TemporaryDirectory() as name:
            PARTS[part](Path(name), options.rounds, "" if options.no_plain else PLAIN, options.trec_eval)


if __name__ == "__main__":
    main()
