"""From parquet to means: evaluate_tables on DuckDB, Polars and Spark, beside pytrec_eval on dicts.

    python benchmarks/tables.py [--rows 1M 10M 100M] [--engines duckdb polars spark] [--rounds 3] [--folder FOLDER]
    python benchmarks/tables.py --unordered [--rows 10M] …

Runs of 100 documents for each query, 10 of them judged (8 returned), are made by DuckDB with a fixed seed, a million
rows to a file, so that a smaller size is the beginning of a larger one; a folder that is given keeps them. They are
sorted by query; with --unordered the same rows are in no order, and only the comparisons by hand are made. Every
contender is a process of its own, from its start to printed means, the check of the input included; they take turns, so
that a busy moment of the machine hits all of them, and the fastest round of each counts. Processor seconds and memory
are those of the process and of all that it started (Spark's Java), as Linux tells them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MEASURES = "AP@10 nDCG@10 P@1 Success@10"
TREC_NAMES = ("map_cut_10", "ndcg_cut_10", "P_1", "success_10")
ENGINES = ("duckdb", "polars", "spark")
PIECE, DEPTH = 1_000_000, 100
COMPARED = 10_000_000
LIMIT, MOST_MB = "350MB", 500
TOLERANCE = 1e-12  # sums are taken in another order
ROOT = Path(__file__).resolve().parents[1]


class Cost(NamedTuple):
    """What one process took, and what it printed last."""

    seconds: float
    cpu: float
    peak_mb: float
    spilled_mb: float
    printed: dict


def make(folder: Path, rows: int, *, unordered: bool = False) -> None:
    """Write what is not there yet. The step between documents is odd, so no two of a query are the same."""
    import duckdb

    doc = "'d' || ((hash(q + 20261116) % 8388608 + i * 2654435761) % 8388608)"
    columns = {
        "run": ("range(100)", "(hash(q, i, 'score') % 1000) / 10.0 AS score"),  # of 1,000 scores: every query has ties
        "qrels": ("range(0, 140, 14)", "(hash(q, i, 'grade') % 4)::INTEGER AS relevance"),
    }
    for piece in range(rows // PIECE):
        first, last = (0, rows // DEPTH) if unordered else (number * PIECE // DEPTH for number in (piece, piece + 1))
        picked = f"hash(q, i, 'file') % {rows // PIECE} = {piece}" if unordered else "true"
        order = "hash(q, i, 'place')" if unordered else "q, i"
        for name, (docs, value) in columns.items():
            path = folder / f"{name}-{piece:04}.parquet"
            if path.exists():
                continue
            unfinished = path.with_suffix(".part")
            rows_of = f"range({first}, {last}) queries(q), {docs} docs(i)"
            duckdb.sql(
                f"SELECT 'q' || q AS query_id, {doc} AS doc_id, {value} FROM {rows_of} WHERE {picked} ORDER BY {order}"  # noqa: S608  (ours)
            ).write_parquet(str(unfinished))
            unfinished.rename(path)


def files(folder: Path, name: str, rows: int) -> list[str]:
    return [str(folder / f"{name}-{piece:04}.parquet") for piece in range(rows // PIECE)]


def with_pytrec_eval(qrels: list[str], run: list[str], **_) -> dict[str, float]:
    import pyarrow.parquet
    import pytrec_eval

    def read(paths: list[str], value: str) -> dict:
        table = pyarrow.parquet.read_table(paths)
        grouped: dict[str, dict] = {}
        columns = (table[name].to_pylist() for name in ("query_id", "doc_id", value))
        for query_id, doc_id, number in zip(*columns, strict=True):
            grouped.setdefault(query_id, {})[doc_id] = number
        return grouped

    judged, returned = read(qrels, "relevance"), read(run, "score")
    values = pytrec_eval.RelevanceEvaluator(judged, {"map_cut.10", "ndcg_cut.10", "P.1", "success.10"}).evaluate(
        returned
    )
    return {
        name: math.fsum(value[theirs] for value in values.values()) / len(values)
        for name, theirs in zip(MEASURES.split(), TREC_NAMES, strict=True)
    }


def with_duckdb(qrels: list[str], run: list[str], *, spill: str = "", values: str = "", **_) -> dict[str, float]:
    import duckdb

    from permed_measures.tables import evaluate_tables, table_means

    connection = duckdb.connect()
    if spill:
        for setting in (f"memory_limit = '{LIMIT}'", f"temp_directory = '{spill}'", "threads = 2"):
            connection.execute(f"SET {setting}")
        connection.execute("SET preserve_insertion_order = false")
    table = evaluate_tables(connection.read_parquet(qrels), connection.read_parquet(run), MEASURES)
    if values:
        table.write_parquet(values)
        table = connection.read_parquet(values)
    means = table_means(table)
    return dict(zip(means.columns, means.fetchall()[0], strict=True))


def with_polars(qrels: list[str], run: list[str], **_) -> dict[str, float]:
    import polars as pl

    from permed_measures.tables import evaluate_tables, table_means

    table = evaluate_tables(pl.scan_parquet(qrels), pl.scan_parquet(run), MEASURES)
    return table_means(table).collect().to_dicts()[0]


def spark_session(spill: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.local.dir", spill).config("spark.driver.memory", "2g")
    spark = builder.config("spark.sql.shuffle.partitions", "16").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def with_spark(qrels: list[str], run: list[str], *, spill: str, values: str, **_) -> dict[str, float]:
    from permed_measures.tables import evaluate_tables, table_means

    spark = spark_session(spill)
    table = evaluate_tables(spark.read.parquet(*qrels), spark.read.parquet(*run), MEASURES)
    table.write.parquet(values)
    means = table_means(spark.read.parquet(values)).first().asDict()
    spark.stop()
    return means


HAND_MEASURES = "nDCG@10 GWAP(max_rel=3)@10"
HAND_DUCKDB = """
WITH best AS (SELECT query_id, list_min(max(score, 10)) AS least FROM run GROUP BY query_id),
top AS (SELECT query_id, doc_id,
  row_number() OVER (PARTITION BY query_id ORDER BY score::FLOAT DESC, doc_id DESC) AS rank
  FROM run JOIN best USING (query_id) WHERE score::FLOAT >= least::FLOAT QUALIFY rank <= 10),
found AS (SELECT query_id, relevance, rank, row_number() OVER (PARTITION BY query_id ORDER BY rank) AS number
  FROM top JOIN qrels USING (query_id, doc_id) WHERE relevance > 0),
hits AS (SELECT query_id, sum(relevance / log2(rank + 1)) AS dcg, sum(number / rank * relevance / 3) AS weighted
  FROM found GROUP BY query_id),
places AS (SELECT query_id, relevance,
  row_number() OVER (PARTITION BY query_id ORDER BY relevance DESC) AS place FROM qrels WHERE relevance > 0),
ideal AS (SELECT query_id, sum(CASE WHEN place <= 10 THEN relevance / log2(place + 1) END) AS idcg, count(*) AS relevant
  FROM places GROUP BY query_id)
SELECT sum(dcg / idcg) / (SELECT count(DISTINCT query_id) FROM qrels),
  sum(weighted / relevant) / (SELECT count(DISTINCT query_id) FROM qrels) FROM ideal JOIN hits USING (query_id)
"""


def by_hand_in_duckdb(qrels: list[str], run: list[str], **_) -> dict[str, float]:
    import duckdb

    connection = duckdb.connect()
    for name, paths in (("qrels", qrels), ("run", run)):
        connection.read_parquet(paths).create_view(name)
    return dict(zip(HAND_MEASURES.split(), connection.execute(HAND_DUCKDB).fetchall()[0], strict=True))


def by_hand_in_polars(qrels: list[str], run: list[str], **_) -> dict[str, float]:
    import polars as pl

    judged, returned = pl.scan_parquet(qrels), pl.scan_parquet(run).with_columns(pl.col("score").cast(pl.Float32))
    best = returned.filter(pl.col("score") >= pl.col("score").top_k(10).min().over("query_id"))
    order = pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
    top = best.with_columns(rank=order).filter(pl.col("rank") <= 10)
    grade, rank = pl.col("relevance"), pl.col("rank")
    gain = grade / (rank + 1).log(2)
    found = top.join(judged.filter(grade > 0), on=["query_id", "doc_id"])
    number = rank.rank("ordinal").over("query_id")
    hits = found.with_columns(precision=number / rank).group_by("query_id")
    hits = hits.agg(dcg=gain.sum(), weighted=(pl.col("precision") * grade / 3).sum())
    places = judged.with_columns(rank=grade.rank("ordinal", descending=True).over("query_id"))
    ideal = places.group_by("query_id").agg(idcg=gain.filter(rank <= 10).sum(), relevant=(grade > 0).sum())
    beside = ideal.join(hits, on="query_id", how="left").with_columns(pl.col("dcg", "weighted").fill_null(0.0))
    pairs = (("dcg", "idcg"), ("weighted", "relevant"))
    means = [
        pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole)).otherwise(0.0).mean() for part, whole in pairs
    ]
    found = beside.select(*(mean.alias(name) for mean, name in zip(means, HAND_MEASURES.split(), strict=True)))
    return found.collect().to_dicts()[0]


HAND_SPARK = """
WITH ranks AS (SELECT query_id, doc_id,
  row_number() OVER (PARTITION BY query_id ORDER BY CAST(score AS FLOAT) DESC, doc_id DESC) AS rank FROM run),
top AS (SELECT * FROM ranks WHERE rank <= 10),
hits AS (SELECT query_id, sum(relevance / log2(rank + 1)) AS dcg
  FROM top JOIN qrels USING (query_id, doc_id) GROUP BY query_id),
places AS (SELECT query_id, relevance,
  row_number() OVER (PARTITION BY query_id ORDER BY relevance DESC) AS place FROM qrels),
ideal AS (SELECT query_id, sum(relevance / log2(place + 1)) AS idcg FROM places WHERE place <= 10 GROUP BY query_id)
SELECT avg(CASE WHEN idcg > 0 THEN coalesce(dcg, 0) / idcg ELSE 0 END) AS `nDCG@10`
FROM ideal LEFT JOIN hits USING (query_id)
"""


def in_spark_once(qrels: list[str], run: list[str], *, spill: str, by_hand: str, **_) -> dict[str, float]:
    """Compute nDCG@10 as the query by hand does, or with the check of the input."""
    from permed_measures.tables import evaluate_tables, table_means

    spark = spark_session(spill)
    judged, returned = spark.read.parquet(*qrels), spark.read.parquet(*run)
    if by_hand:
        judged.createTempView("qrels")
        returned.createTempView("run")
        means = spark.sql(HAND_SPARK)
    else:
        means = table_means(evaluate_tables(judged, returned, "nDCG@10"))
    found = means.first().asDict()
    spark.stop()
    return found


def with_files(qrels: list[str], run: list[str], *, engine: str, limit: str | None = None, **_) -> dict[str, float]:
    """Do what the shell tool does: the check of the input and the count of ties, for the notes, included."""
    from permed_measures.tables import evaluate_files
    from permed_measures.tables.sessions import opened

    with opened(engine, memory_limit=limit) as session, tempfile.TemporaryDirectory() as name:
        for what, paths in (("qrels", qrels), ("run", run)):
            Path(name, what).mkdir()
            for path in paths:
                Path(name, what, Path(path).name).symlink_to(path)
        means = evaluate_files(session, f"{name}/qrels", f"{name}/run", HAND_MEASURES).means
    return {str(measure): mean for measure, mean in means.items()}


WORK = {"pytrec_eval": with_pytrec_eval, "duckdb": with_duckdb, "polars": with_polars, "spark": with_spark}
WORK |= {"duckdb by hand": by_hand_in_duckdb, "polars by hand": by_hand_in_polars, "files": with_files}
WORK |= {"spark once": in_spark_once}


def run_once(name: str, folder: Path, rows: int, **more: str) -> Cost:
    """Run a contender as a process, and look at its tree of processes ten times a second."""
    work = {"name": name, "qrels": files(folder, "qrels", rows), "run": files(folder, "run", rows), **more}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        json.dump(work, given)
        given.seek(0)
        start = time.perf_counter()
        command = [sys.executable, __file__, "--work"]
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, env=environment)
        ended = threading.Event()
        seen = {"cpu": 0.0, "peak": 0.0, "spilled": 0.0}
        watcher = threading.Thread(target=watch, args=(process.pid, more.get("spill"), seen, ended))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{name} on {rows:,} rows ended with {process.returncode}\n{err.read()[-3000:]}")
        cpu = max(usage.ru_utime + usage.ru_stime, seen["cpu"])
        return Cost(seconds, cpu, seen["peak"], seen["spilled"], json.loads(out.read().splitlines()[-1]))


def watch(pid: int, spill: str | None, seen: dict[str, float], ended: threading.Event) -> None:
    while not ended.wait(0.1):
        used = list(tree(pid))
        seen["cpu"] = max(seen["cpu"], sum(cpu for cpu, _ in used))
        seen["peak"] = max(seen["peak"], sum(peak for _, peak in used))
        if spill:
            seen["spilled"] = max(seen["spilled"], folder_mb(Path(spill)))


def tree(pid: int) -> Iterator[tuple[float, float]]:
    """Yield processor seconds and peak MB of a process and of all below it.

    What wait4 says of memory will not do: Linux counts the parent's memory at the start of a process as its own.
    """
    process = Path(f"/proc/{pid}")
    try:
        stat = (process / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        children = [child for path in process.glob("task/*/children") for child in path.read_text().split()]
    except OSError:  # it has just ended
        return
    if "VmHWM" in status:  # not once it has ended and waits to be noticed
        yield (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), int(status["VmHWM"].split()[0]) / 1024
    for child in children:
        yield from tree(int(child))


def folder_mb(folder: Path) -> float:
    # walk() passes over a folder that has just been removed
    return sum(file_bytes(Path(place) / name) for place, _, names in os.walk(folder) for name in names) / 1e6


def file_bytes(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except OSError:  # it has just been removed
        return 0


def furthest(means: dict[str, float], others: dict[str, float]) -> float:
    return max(abs(means[name] - others[name]) for name in MEASURES.split())


def check_means(name: str, means: dict[str, float], others: dict[str, float]) -> None:
    if not furthest(means, others) <= TOLERANCE:
        sys.exit(f"the means of {name} differ: {means}, {others}")


def compare_values(path: str, expected: str) -> str:
    """Compare the values of every query of the second file with those of the first, which may have more queries."""
    import duckdb

    far = ", ".join(f'max(abs(a."{name}" - b."{name}"))' for name in MEASURES.split())
    queries, found, difference = duckdb.execute(
        f"SELECT count(*), count(a.query_id), greatest({far}) "  # noqa: S608  (names of measures)
        "FROM read_parquet(?) b LEFT JOIN read_parquet(?) a ON a.query_id = b.query_id",
        [expected, path],
    ).fetchall()[0]
    if found != queries or not difference <= TOLERANCE:
        sys.exit(f"the values differ by {difference}, or of {queries:,} queries only {found:,} are there")
    return f"values of {queries:,} queries differ by at most {difference:.1e}"


def say(name: str, cost: Cost, more: str = "") -> None:
    print(f"  {name:<12} {cost.seconds:>7.2f} s {cost.cpu:>7.2f} s cpu {cost.peak_mb:>6.0f} MB   {more}", flush=True)


def shown(rows: int) -> str:
    return f"{rows:,} rows ({rows // DEPTH:,} queries x {DEPTH})"


def beside_pytrec_eval(folder: Path, rows: int, engines: list[str], rounds: int) -> None:
    contenders = ["pytrec_eval", *engines]
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name in contenders:
            costs[name].append(run_once(name, folder, rows))
    print(f"\n{shown(rows)}, from parquet to the means of {MEASURES}")
    best = {name: min(measured, key=lambda cost: cost.seconds) for name, measured in costs.items()}
    theirs = best["pytrec_eval"]
    say("pytrec_eval", theirs, "via dicts, loading included")
    for name in engines:
        check_means(name, best[name].printed, theirs.printed)
        faster = f"{theirs.seconds / best[name].seconds:.2f}x faster, {theirs.cpu / best[name].cpu:.2f}x in cpu"
        wanted = "   (wanted: at least 4.5x)" if rows == COMPARED else ""
        difference = furthest(best[name].printed, theirs.printed)
        say(name, best[name], f"{faster}{wanted}; means differ by {difference:.1e}")
    print(f"  {theirs.printed}", flush=True)


def beside_queries_by_hand(folder: Path, rows: int, engines: list[str], rounds: int) -> None:
    """Print the cost of two measures beside the best query that we know.

    It has the same order (32-bit scores, then ids, descending; what is not judged is 0) and the same values, but takes
    the input as it is: no look for duplicates, NaN or empty ids, no count of ties, no notes.
    """
    print(f"\n{shown(rows)}, {HAND_MEASURES} with check and ties, beside a query by hand (wanted: 1.3x its cpu)")
    for engine in engines:
        pairs = [
            (run_once(f"{engine} by hand", folder, rows), run_once("files", folder, rows, engine=engine))
            for _ in range(rounds)
        ]
        theirs, ours = (min(costs, key=lambda cost: cost.cpu) for costs in zip(*pairs, strict=True))
        if not all(abs(theirs.printed[name] - ours.printed[name]) <= TOLERANCE for name in HAND_MEASURES.split()):
            sys.exit(f"the means of {engine} differ: {theirs.printed}, {ours.printed}")
        say(f"{engine} hand", theirs)
        say(engine, ours, f"{ours.cpu / theirs.cpu:.2f}x the cpu of the query by hand")


def in_spark(folder: Path, rows: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        expected, found, spill = (str(Path(name) / part) for part in ("duckdb.parquet", "spark", "spill"))
        run_once("duckdb", folder, rows, values=expected)
        cost = run_once("spark", folder, rows, values=found, spill=spill)
        print(f"\n{shown(rows)} in PySpark, local[2]")
        say("spark", cost, compare_values(f"{found}/*.parquet", expected))


def beside_spark_by_hand(folder: Path, rows: int, rounds: int) -> None:
    """Print what tasks took and shuffled, by Spark's event log: of the query by hand, and of ours with its check."""
    from costs import shuffled

    print(
        f"\n{shown(rows)}, nDCG@10 with check in PySpark, beside a query by hand (wanted: 1.5x its cpu, 2x its shuffle)"
    )
    found: dict[str, list[dict[str, float]]] = {"yes": [], "": []}
    for by_hand in [*found] * rounds:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            log = f"--conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file://{name}"
            os.environ["PYSPARK_SUBMIT_ARGS"] = f"{log} --conf spark.eventLog.compress=false pyspark-shell"
            with tempfile.TemporaryDirectory(dir=folder) as spill:
                cost = run_once("spark once", folder, rows, spill=spill, by_hand=by_hand)
            found[by_hand].append({**shuffled(Path(name)), "mean": cost.printed["nDCG@10"]})
    theirs, ours = (min(those, key=lambda one: one["cpu_s"]) for those in found.values())
    if not abs(theirs["mean"] - ours["mean"]) <= TOLERANCE:
        sys.exit(f"the means in Spark differ: {theirs}, {ours}")
    for name, one in (("by hand", theirs), ("spark", ours)):
        print(f"  {name:<12} {one['cpu_s']:>7.1f} s cpu of tasks {one['shuffled_mb']:>7.1f} MB shuffled")
    cpu, moved = (ours[name] / theirs[name] for name in ("cpu_s", "shuffled_mb"))
    print(f"  {cpu:.2f}x the cpu, {moved:.2f}x the shuffle of the query by hand", flush=True)


def growth(folder: Path, sizes: list[int], engines: list[str], rounds: int) -> None:
    print("\nGrowth with the number of rows: rows in each second, and in each processor second")
    for engine in engines:
        for rows in sizes:
            if engine == "polars" and rows > COMPARED:
                continue  # it holds the run in memory
            costs = [run_once(engine, folder, rows) for _ in range(rounds if rows <= COMPARED else 1)]
            best = min(costs, key=lambda cost: cost.seconds)
            say(engine, best, f"{rows:>11,} rows: {rows / best.seconds:>9,.0f} /s {rows / best.cpu:>9,.0f} /s cpu")


def in_little_memory(folder: Path, rows: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        expected, found, spill = (str(Path(name) / part) for part in ("part.parquet", "all.parquet", "spill"))
        Path(spill).mkdir()
        run_once("duckdb", folder, PIECE, values=expected)
        cost = run_once("duckdb", folder, rows, values=found, spill=spill)
        print(f"\n{shown(rows)} in DuckDB with memory_limit = {LIMIT}, two threads (wanted: less than {MOST_MB} MB)")
        say("duckdb", cost, f"at most {cost.spilled_mb:,.0f} MB in files at a time")
        say("files", run_once("files", folder, rows, engine="duckdb", limit=LIMIT), "nDCG@10 with ties and notes")
        part = f"the first {PIECE // DEPTH:,} queries without a limit"
        print(f"  beside {part}: {compare_values(found, expected)}")


def number_of_rows(text: str) -> int:
    rows = int(text[:-1]) * 1_000_000 if text.endswith("M") else int(text)
    if rows < PIECE or rows % PIECE:
        msg = f"{text} is not a number of millions, as in 10M"
        raise argparse.ArgumentTypeError(msg)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = [1_000_000, 10_000_000, 100_000_000]
    parser.add_argument("--rows", type=number_of_rows, nargs="+", default=sizes, metavar="10M")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where files are made, and kept; else in a temporary one")
    parser.add_argument("--unordered", action="store_true", help="rows in no order, beside queries by hand")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work = json.load(sys.stdin)
        print(json.dumps(WORK[work.pop("name")](**work)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = (options.folder or Path(name)).absolute()
        compared = max((rows for rows in options.rows if rows <= COMPARED), default=None)
        if options.unordered and compared is not None:
            folder /= f"unordered-{compared}"
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, compared or 0 if options.unordered else max(options.rows), unordered=options.unordered)
        if compared is not None:
            beside_hand(folder, compared, options.engines, options.rounds)
        if not options.unordered:
            ask(folder, sorted(options.rows), options.engines, options.rounds)


def beside_hand(folder: Path, rows: int, engines: list[str], rounds: int) -> None:
    here = [engine for engine in engines if engine != "spark"]
    if here:
        beside_pytrec_eval(folder, rows, here, rounds)
        beside_queries_by_hand(folder, rows, here, rounds)
    if "spark" in engines:
        beside_spark_by_hand(folder, rows, rounds)


def ask(folder: Path, sizes: list[int], engines: list[str], rounds: int) -> None:
    here = [engine for engine in engines if engine != "spark"]
    if "spark" in engines and sizes[0] <= COMPARED:
        in_spark(folder, max(rows for rows in sizes if rows <= COMPARED))
    if here:
        growth(folder, sizes, here, rounds)
    if "duckdb" in engines:
        in_little_memory(folder, sizes[-1])


if __name__ == "__main__":
    main()
