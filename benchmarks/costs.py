"""What a row costs, and what one very long list does: bytes read, shuffled and spilled, processor seconds, memory.

    python benchmarks/costs.py [--rows 1M 10M 100M] [--engines duckdb polars spark] [--skew] [--folder FOLDER]

The rows are those of benchmarks/tables.py. With ``--skew`` one query more has ten million documents, beside 100,000
queries of 100. Every line is a process of its own, from its start to printed means, the check of the input included:
processor seconds and memory are those of the process and of all that it started. DuckDB has a memory limit of 350 MB
(--unlimited: none); Spark runs as local[2] with 2 GB and 16 partitions of a shuffle, and its event log says what tasks
shuffled and needed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import tables
from tables import DEPTH, ENGINES, MEASURES, Cost, files, number_of_rows, run_once

SKEWED_ROWS = 10_000_000
LONG = 10_000_000
LONG_JUDGED = 10_000


def make_long(folder: Path) -> None:
    """Write the list of one query with ten million documents, and its judgements."""
    import duckdb

    for name, docs, value in (
        ("run", f"range({LONG})", "(hash(i, 'score') % 1000003) / 10.0 AS score"),
        ("qrels", f"range(0, {LONG}, {LONG // LONG_JUDGED})", "(hash(i, 'grade') % 4)::INTEGER AS relevance"),
    ):
        path = folder / f"long-{name}.parquet"
        if not path.exists():
            sql = f"SELECT 'long' AS query_id, 'd' || i AS doc_id, {value} FROM {docs} docs(i)"  # noqa: S608  (ours)
            duckdb.sql(sql).write_parquet(str(path.with_suffix(".part")))
            path.with_suffix(".part").rename(path)


def measured(engine: str, folder: Path, rows: int, *, skew: bool, unlimited: bool) -> tuple[Cost, dict[str, float]]:
    """Run one engine; return what the process took, and what Spark's event log says."""
    given = {name: files(folder, name, rows) for name in ("qrels", "run")}
    if skew:
        given = {name: [*paths, str(folder / f"long-{name}.parquet")] for name, paths in given.items()}
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        spill, events = place / "spill", place / "events"
        for new in (spill, events):
            new.mkdir()
        more = {"values": str(place / "values")} if engine != "polars" else {}
        if engine == "spark" or (engine == "duckdb" and not unlimited):
            more["spill"] = str(spill)
        log = f"--conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file://{events}"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{log} --conf spark.eventLog.compress=false pyspark-shell"
        cost = run_once(engine, folder, rows, **given, **more)
        return cost, shuffled(events) if engine == "spark" else {}


def shuffled(folder: Path) -> dict[str, float]:
    """Add up what tasks shuffled, and find the longest task and the most memory that one held."""
    found = dict.fromkeys(("shuffled_mb", "records", "spilled_mb", "task_mb", "task_s", "median_s", "cpu_s"), 0.0)
    stages: dict[int, list[float]] = {}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        for line in path.read_text(errors="replace").splitlines():
            event = json.loads(line) if line.startswith("{") and "SparkListenerTaskEnd" in line[:60] else {}
            task = event.get("Task Metrics")
            if not task:
                continue
            written = task["Shuffle Write Metrics"]
            found["shuffled_mb"] += written["Shuffle Bytes Written"] / 1e6
            found["cpu_s"] += task["Executor CPU Time"] / 1e9
            found["records"] += written["Shuffle Records Written"]
            found["spilled_mb"] += task["Disk Bytes Spilled"] / 1e6
            found["task_mb"] = max(found["task_mb"], task["Peak Execution Memory"] / 1e6)
            stages.setdefault(event["Stage ID"], []).append(task["Executor Run Time"] / 1e3)
    longest = max(stages.values(), key=max, default=[0.0])
    return found | {"task_s": max(longest), "median_s": sorted(longest)[len(longest) // 2]}


def say(  # noqa: PLR0913  (what was run, and what it took)
    engine: str, rows: int, folder: Path, cost: Cost, spark: dict[str, float], *, skew: bool
) -> None:
    names = [path for name in ("qrels", "run") for path in files(folder, name, rows)]
    names += [str(folder / f"long-{name}.parquet") for name in ("qrels", "run")] if skew else []
    read = sum(Path(path).stat().st_size for path in names)
    rows += LONG if skew else 0
    line = (
        f"  {engine:<7} {rows:>11,} rows {read / 1e6:>7,.0f} MB of files {cost.seconds:>7.1f} s {cost.cpu:>7.1f} s cpu"
    )
    line += f" {cost.cpu * 1e6 / rows:>6.2f} µs/row {cost.peak_mb:>7,.0f} MB"
    if cost.spilled_mb:
        line += f" {cost.spilled_mb:>7,.0f} MB in files at a time"
    if spark:
        line += (
            f"; shuffled {spark['shuffled_mb']:,.0f} MB ({spark['shuffled_mb'] * 1e6 / rows:.1f} B/row, "
            f"{spark['records'] / 1e6:,.1f} M records), spilled {spark['spilled_mb']:,.0f} MB; a task took up to "
            f"{spark['task_mb']:,.0f} MB, the longest {spark['task_s']:.1f} s, the median {spark['median_s']:.1f} s"
        )
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=number_of_rows, nargs="+", default=[10**6, 10**7, 10**8], metavar="10M")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--skew", action="store_true", help="100,000 queries of 100 documents and one of ten million")
    parser.add_argument("--unlimited", action="store_true", help="DuckDB without its limit of memory")
    parser.add_argument("--folder", type=Path, help="where files are made, and kept; else in a temporary one")
    options = parser.parse_args()
    sizes = [SKEWED_ROWS] if options.skew else sorted(options.rows)
    with tempfile.TemporaryDirectory() as name:
        folder = (options.folder or Path(name)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        tables.make(folder, max(sizes))
        if options.skew:
            make_long(folder)
        print(f"{MEASURES}, lists of {DEPTH} documents{' and one of ten million' if options.skew else ''}")
        expected: dict[int, dict[str, float]] = {}
        for engine in options.engines:
            for rows in sizes:
                how = {"skew": options.skew, "unlimited": options.unlimited}
                cost, spark = measured(engine, folder, rows, **how)
                say(engine, rows, folder, cost, spark, skew=options.skew)
                tables.check_means(engine, cost.printed, expected.setdefault(rows, cost.printed))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
