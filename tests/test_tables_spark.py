"""Tables on a real Spark, in local mode and through Spark Connect: the values of evaluate(), and Spark's own traps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from permed_measures import InputError, evaluate

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed (extra: spark)"),
    pytest.mark.skipif(
        not (os.environ.get("JAVA_HOME") or shutil.which("java")), reason="Spark needs Java 17 or newer; none was found"
    ),
    # it says so whenever it looks for pandas; nothing here goes through pandas
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas >= 3:FutureWarning"),
]

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # plans are made of thousands of calls, and each would note the line it came from: half of the time
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Java's second compiler takes longer than it gains in so short a life
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in CONF.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def tables(spark, qrels, run):
    frames = []
    for grid, number in ((qrels, "relevance"), (run, "score")):
        rows = [(query_id, doc_id, float(n)) for query_id, docs in grid.items() for doc_id, n in docs.items()]
        frames.append(spark.createDataFrame(rows, f"query_id string, doc_id string, {number} double"))
    return frames


def values_of(spark, columns, rows):
    """Make a table as SQL writes it: numbers with a point are decimals there."""
    return spark.sql(f"SELECT * FROM VALUES {rows} AS t({columns})")  # noqa: S608  (our own words)


def by_query(native):
    return {
        row["query_id"]: {name: row[name] for name in row.asDict() if name != "query_id"} for row in native.collect()
    }


def one_cutoff_each(measures):
    """Keep every parameter choice without a cut-off and with one: planning all 278 takes Spark a minute."""
    cutoffs = {}
    for measure in measures:
        choice, _, cutoff = str(measure).partition("@")
        cutoffs.setdefault((choice, bool(cutoff)), []).append(measure)
    return [those[len(those) // 2] for those in cutoffs.values()]


def assert_agree(native, qrels, run, asked):
    expected = evaluate(qrels, run, asked)
    found = by_query(native)
    assert found.keys() == qrels.keys()
    for measure in asked:
        for query_id, value in expected.columns[measure].items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def test_every_measure_and_parameter_agrees_with_its_kernel(spark):
    from permed_measures.tables import evaluate_tables, known_measures
    from tests.table_cases import measures, together

    qrels, run = together()
    asked = one_cutoff_each(measures())
    assert {measure.NAME for measure in asked} == set(known_measures())
    assert {str(measure).partition("@")[0] for measure in asked} == {str(m).partition("@")[0] for m in measures()}
    assert_agree(evaluate_tables(*tables(spark, qrels, run), asked, check_input=False), qrels, run, asked)


def test_float_grades_and_the_top_of_each_list_agree(spark):
    """Where all measures have a cut-off, only the top of each list is ranked."""
    from compat.agreement import cases_on
    from compat.corpora import CORPORA
    from permed_measures.evaluate import Plan
    from permed_measures.tables import evaluate_tables, known_measures

    corpora = [CORPORA["float_grades"], CORPORA["ten_grades"]]
    qrels = {f"{corpus.name} {query}": judged for corpus in corpora for query, judged in corpus.qrels.items()}
    run = {f"{corpus.name} {query}": scores for corpus in corpora for query, scores in corpus.run.items()}
    # beyond the powers of two that a float holds, below its last digit, nothing at all, and 7 tied for 3 places
    grades = [2000.5, 1500, 1e-9, 0, -1e300, 700, 1]
    qrels["grades"] = dict(zip("abcdefg", grades, strict=True))
    run["grades"] = dict.fromkeys("gfedcba", 1.0)
    known = set(known_measures()) - {"GWAP", "GradedRBP"}  # not defined for such grades
    cases = [case.measure for case in cases_on("float_grades") if case.measure.NAME in known]
    asked = one_cutoff_each(measure for measure in cases if (Plan([measure]).depth or 1000) <= 10)
    depth = Plan(asked).depth
    assert depth is not None
    assert max(map(len, run.values())) > depth
    assert_agree(evaluate_tables(*tables(spark, qrels, run), asked, check_input=False), qrels, run, asked)


@pytest.mark.parametrize("order", ["float32", "float64"])
def test_what_engines_read_differently(spark, order):
    from permed_measures.tables import evaluate_tables
    from tests.table_cases import HAZARD_MEASURES, hazards

    qrels, run = hazards()
    expected = evaluate(qrels, run, HAZARD_MEASURES, order=order).columns
    found = by_query(evaluate_tables(*tables(spark, qrels, run), HAZARD_MEASURES, order=order))
    for measure, column in expected.items():
        for query_id, value in column.items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def plan_of(frame, capsys):
    frame.explain()
    return capsys.readouterr().out


def test_lists_are_cut_before_rows_are_exchanged(spark, tmp_path, capsys):
    """Read the plan: what is below the depth is dropped where it was read, once more after the exchange."""
    from permed_measures.tables import evaluate_tables

    qrels, run = {"q": {"a": 1}}, {"q": {f"d{place}": float(place) for place in range(30)}}
    for name, frame in zip(("qrels", "run"), tables(spark, qrels, run), strict=True):
        frame.write.parquet(str(tmp_path / name))
    frames = [spark.read.parquet(str(tmp_path / name)) for name in ("qrels", "run")]
    lines = plan_of(evaluate_tables(*frames, "nDCG@10 P@3"), capsys).splitlines()
    (first,) = [place for place, line in enumerate(lines) if "WindowGroupLimit" in line and "10, Partial" in line]
    (last,) = [place for place, line in enumerate(lines) if "WindowGroupLimit" in line and "10, Final" in line]
    between = [line for line in lines[last:first] if "Exchange" in line]  # a plan is printed from its end
    assert len(between) == 1
    scan = next(place for place, line in enumerate(lines) if place > first and "FileScan parquet" in line)
    assert not any("Exchange" in line or "Window " in line for line in lines[first + 1 : scan])
    assert "score" in lines[scan]
    assert "WindowGroupLimit" not in plan_of(evaluate_tables(*frames, "AP"), capsys)  # all of each list is needed


def test_little_is_sent_with_a_row(spark, tmp_path, capsys):
    """The grade goes once, though rows are ordered by it; of the run the document is first, which packs better."""
    from permed_measures.tables import evaluate_tables

    for name, frame in zip(("qrels", "run"), tables(spark, {"q": {"a": 1}}, {"q": {"a": 1.0}}), strict=True):
        frame.write.parquet(str(tmp_path / name))
    frames = [spark.read.parquet(str(tmp_path / name)) for name in ("qrels", "run")]
    plan = plan_of(evaluate_tables(*frames, "nDCG@10"), capsys)
    read = [re.findall(r" AS (\w+)#", line) for line in plan.splitlines() if " AS query#" in line]
    assert read == [["query", "grade"], ["doc", "query", "score"], ["query", "doc", "grade"]]
    assert not re.search(r"grade#\d+ AS ", plan)


def test_ties_are_counted_among_the_cut_lists(spark, tmp_path, capsys):
    from permed_measures.tables.engines import highest_scores
    from permed_measures.tables.files import evaluations
    from permed_measures.tables.inputs import as_table

    # of the first four, c and d tie with each other, and b with a, which is fifth
    run = {"q": {"d": 3.0, "c": 3.0, "e": 2.5, "b": 2.0, "a": 2.0, "f": 1.0}}
    for name, frame in zip(("qrels", "run"), tables(spark, {"q": {"a": 1}}, run), strict=True):
        frame.write.parquet(str(tmp_path / name))
    qrels, returned = (spark.read.parquet(str(tmp_path / name)) for name in ("qrels", "run"))
    plan = plan_of(highest_scores(as_table(returned, "run").rows, 5).to_native(), capsys)
    cut, scan = plan.index("5, Partial"), plan.index("FileScan parquet")
    assert "Exchange" in plan[:cut]
    assert "Exchange" not in plan[cut:scan]
    found = evaluations(qrels, returned, "P@4", by_query=False).systems[None]
    assert found.notes == evaluate({"q": {"a": 1}}, run, "P@4").notes
    assert any(note.startswith("75.0% of the documents in the top 4 tie") for note in found.notes)


def test_files_of_whole_numbers_and_of_floats_are_one_table(spark, tmp_path):
    from permed_measures.tables import evaluate_tables
    from permed_measures.tables.sessions import _Spark

    files = {"score int": [("q", "b", 2)], "score double": [("q", "a", 2.5), ("q", "c", 1.0)]}
    for part, (score, rows) in enumerate(files.items()):
        frame = spark.createDataFrame(rows, f"query_id string, doc_id string, {score}")
        frame.coalesce(1).write.parquet(str(tmp_path / "run" / f"part={part}"))
    qrels = values_of(spark, "query_id, doc_id, relevance", "('q', 'a', 1)")
    run = _Spark(spark, ()).read(str(tmp_path / "run"))
    assert dict(run.dtypes)["score"] == "double"
    assert by_query(evaluate_tables(qrels, run, "RR")) == {
        "q": {"RR": 1.0}
    }  # as a whole number a's 2.5 would tie with b


def test_duplicates_are_found_by_short_hashes_and_none_where_only_hashes_are_equal(spark, capsys):
    """Of 2,000 documents, 2000 * 1999 / 2 / 65536 = 30 pairs are expected to share 16 bits of their hash."""
    import narwhals as nw

    from permed_measures.tables import inspect_tables
    from permed_measures.tables.hashed_lists import doubtful_rows, packed_lists
    from permed_measures.tables.inputs import as_table

    qrels = {"q": {"d1": 1}, "short": {"a": 1}}
    run = {"q": {f"d{place}": float(place) for place in range(2000)}, "short": {"a": 1.0, "b": 2.0}}
    judged, returned = tables(spark, qrels, run)
    none = nw.lit(None).cast(nw.Int32).alias("faults")
    rows = as_table(returned, "run").rows.with_columns(none)
    plan = plan_of(packed_lists(as_table(judged, "qrels").rows.with_columns(none), rows).to_native(), capsys)
    (exchanged,) = [line for line in plan.splitlines() if "Exchange" in line]
    assert "hashpartitioning(list" in exchanged  # both tables by the list, once; documents are not among what is sent
    assert "doc" not in plan[: plan.index("partial_collect_list")].rpartition("Exchange")[2]
    assert "Join" not in plan
    packed = packed_lists(as_table(judged, "qrels").rows.with_columns(none), rows)
    returned.createOrReplaceTempView("returned")
    wanted = "SELECT count(*) - count(DISTINCT pmod(xxhash64(doc_id), 65536)) FROM returned WHERE query_id = 'q'"
    (too_many,) = spark.sql(wanted).first()
    assert too_many > 0
    lists = {row["returned"]: row for row in packed.to_native().collect()}
    assert {length: row["returned_doubtful"] for length, row in lists.items()} == {2000: too_many, 2: 0}
    assert {length: row["judged"] for length, row in lists.items()} == {2000: 1, 2: 1}
    assert (len(lists[2000]["returned_hash"]), lists[2]["returned_hash"], lists[2000]["judged_hash"]) == (
        2000,
        None,
        None,
    )
    assert too_many < doubtful_rows(rows, packed, "returned", too_many).to_native().count() <= 2 * too_many
    facts = inspect_tables(judged, returned)
    assert (facts.run_rows, facts.duplicates, facts.faults) == (2002, 0, ())
    again = values_of(spark, "query_id, doc_id, score", "('q', 'd7', 0.5D), ('q', 'd7', 0.25D), ('short', 'b', 1D)")
    facts = inspect_tables(judged, returned.unionByName(again))
    assert facts.duplicates == 3
    assert "run: 3 duplicates (query 'q', document 'd7'; query 'short', document 'b')" in f"run: {facts.faults[0].text}"


def test_faults_are_counted_in_judged_lists_and_where_a_list_has_no_name(spark):
    """Rows of other queries are not looked at, as without Spark."""
    import polars as pl

    from permed_measures.tables import inspect_tables

    qrels = {"query_id": ["q", "q", "p", "m"], "doc_id": ["a", "a", "b", "c"], "relevance": [1.0, 2.0, 1.0, 1.0]}
    run = {
        "query_id": ["q", "q", "q", "p", "p", "x", "x", "x", "", None],
        "doc_id": ["a", "a", "", "b", None, "a", "a", "", "c", "c"],
        "score": [1.0, float("nan"), 2.0, None, 3.0, float("nan"), 1.0, 1.0, 1.0, 1.0],
    }
    expected = inspect_tables(pl.DataFrame(qrels), pl.DataFrame(run))
    kinds = {"query_id": "string", "doc_id": "string", "relevance": "double", "score": "double"}
    found = inspect_tables(
        *[
            spark.createDataFrame(
                list(zip(*grid.values(), strict=True)), ", ".join(f"{name} {kinds[name]}" for name in grid)
            )
            for grid in (qrels, run)
        ]
    )
    assert found == expected
    # of q: a twice, one of them NaN, and one without a document; of p: one without, and one without a score
    assert (found.run_rows, found.duplicates, found.nan_scores, found.missing, found.only_run) == (5, 1, 1, 1, 3)
    assert {fault[:3] for fault in found.faults} == {
        ("qrels", "duplicates", 1),
        ("run", "empty ids", 2),
        ("run", "missing numbers", 1),
        ("run", "NaN scores", 1),
        ("run", "duplicates", 1),
    }


def test_rows_without_a_system_or_a_query_are_two_lists(spark):
    """Spark leaves null out of a hash: of ('z', null) and (null, 'z') it is the same."""
    from permed_measures.tables import evaluate_tables

    qrels = values_of(spark, "query_id, doc_id, relevance", "('q', 'a', 1)")
    rows = "('x', 'q', 'a', 1D), ('z', NULL, 'b', 1D), (NULL, 'z', 'c', 1D)"
    run = values_of(spark, "system, query_id, doc_id, score", rows)
    with pytest.raises(InputError, match="run: 2 empty ids"):
        evaluate_tables(qrels, run, "AP", system="system")


def test_a_spark_table_comes_back_and_nothing_is_computed_before_it_is_asked_for(spark):
    from pyspark.sql import DataFrame

    from permed_measures.tables import evaluate_tables, table_means

    run = values_of(spark, "query_id, doc_id, score", "('q', 'a', 0.5)")
    unreadable = spark.sql("SELECT 'q' AS query_id, 'a' AS doc_id, double(raise_error('read')) AS relevance")
    values = evaluate_tables(unreadable, run, "nDCG P@1", check_input=False)
    means = table_means(values)
    assert isinstance(values, DataFrame)
    assert isinstance(means, DataFrame)
    assert values.columns == ["query_id", "nDCG", "P@1"]
    with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):  # Py4J's or Spark's: it depends on the stage
        means.collect()


def test_ids_in_collated_columns_are_compared_byte_by_byte(spark):
    from permed_measures.tables import evaluate_tables

    collated = ["query_id COLLATE UTF8_LCASE AS query_id", "doc_id COLLATE UTF8_LCASE AS doc_id"]
    qrels = values_of(spark, "query_id, doc_id, relevance", "('q', 'a', 1), ('q', 'A', 0), ('Q', 'a', 1)")
    run = values_of(spark, "query_id, doc_id, score", "('q', 'A', 1), ('q', 'a', 1), ('Q', 'A', 2), ('Q', 'b', 1)")
    qrels, run = qrels.selectExpr(*collated, "relevance"), run.selectExpr(*collated, "score")
    assert qrels.select("query_id", "doc_id").distinct().count() == 1  # as Spark sees it
    # q: "a" > "A" byte by byte, so the relevant one is first; Q: its relevant "a" is not returned
    found = by_query(evaluate_tables(qrels, run, "RR SetR"))
    assert found == {"q": {"RR": 1.0, "SetR": 1.0}, "Q": {"RR": 0.0, "SetR": 0.0}}


def test_whole_number_ids_are_ordered_as_text(spark):
    from permed_measures.tables import evaluate_tables

    qrels = values_of(spark, "query_id, doc_id, relevance", "(1L, 9, 1), (2L, 10, 1)")
    run = values_of(spark, "query_id, doc_id, score", "(1L, 9, 1), (1L, 10, 1), (2L, 9, 1), (2L, 10, 1)")
    # as text "9" > "10", so 9 stands first among equals; as numbers it would be second
    assert by_query(evaluate_tables(qrels, run, "RR")) == {"1": {"RR": 1.0}, "2": {"RR": 0.5}}


def test_duplicates_are_an_error_or_one_of_them_is_kept(spark):
    from permed_measures.tables import evaluate_tables

    qrels = values_of(spark, "query_id, doc_id, relevance, at", "('q', 'a', 1, 1)")
    rows = "('q', 'a', 1.0, 1), ('q', 'b', 2.0, 2), ('q', 'a', 3.0, 3), ('q', 'c', 0.5, 4)"
    run = values_of(spark, "query_id, doc_id, score, at", rows)
    with pytest.raises(InputError, match=r"run: 1 duplicates \(query 'q', document 'a'\)"):
        evaluate_tables(qrels, run, "AP")
    assert by_query(evaluate_tables(qrels, run, "RR AP", duplicates="max")) == {"q": {"RR": 1.0, "AP": 1.0}}
    first = evaluate_tables(qrels, run, "RR AP", duplicates="first", row_order="at")
    assert by_query(first) == {"q": {"RR": 0.5, "AP": 0.5}}  # its first row scores 1.0, below b's 2.0


def test_nan_scores_are_an_error_or_stand_where_one_says(spark):
    """Spark holds NaN for the greatest number."""
    from permed_measures.tables import evaluate_tables

    qrels = values_of(spark, "query_id, doc_id, relevance", "('q', 'a', 1), ('q', 'c', 1)")
    run = values_of(spark, "query_id, doc_id, score", "('q', 'a', 1D), ('q', 'b', 0.5D), ('q', 'c', double('NaN'))")
    with pytest.raises(InputError, match=r"run: 1 NaN scores \(query 'q', document 'c'\)"):
        evaluate_tables(qrels, run, "AP")
    # a is first, c is last or not there
    assert by_query(evaluate_tables(qrels, run, "AP", nan_scores="drop")) == {"q": {"AP": 1 / 2}}
    last = by_query(evaluate_tables(qrels, run, "AP", nan_scores="last"))
    assert last == {"q": {"AP": pytest.approx((1 + 2 / 3) / 2)}}


def test_columns_may_have_names_with_dots(spark):
    from permed_measures import evaluate_tables

    qrels, run = tables(spark, {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}})
    qrels, run = qrels.toDF("query.id", "doc.id", "the `grade`"), run.toDF("query.id", "doc.id", "bm25.score")
    names = {
        "qrels_columns": ("query.id", "doc.id", "the `grade`"),
        "run_columns": ("query.id", "doc.id", "bm25.score"),
    }
    assert [tuple(row) for row in evaluate_tables(qrels, run, "P@2", **names).collect()] == [("q", 1 / 2)]


def test_spark_runs_the_sql(spark):
    """The text of another path: Ibis writes it in Databricks' dialect, and no frame is involved."""
    from compat.corpora import CORPORA
    from permed_measures import to_sql

    corpus = CORPORA["ties"]
    qrels, run = tables(spark, corpus.qrels, corpus.run)
    qrels.createOrReplaceTempView("judged")
    run.createOrReplaceTempView("answers")
    qrels = qrels.withColumn("relevance", qrels.relevance.cast("int"))  # what is divided must not be a decimal
    qrels.createOrReplaceTempView("judged")
    asked = "GWAP@10 GWAP(max_rel=3) nDCG(dcg='exp-log2')@5 AP P@1 P@3 R@7 RR ListNDCG@3"
    (row,) = spark.sql(to_sql(asked, dialect="spark", part="means", qrels="judged", run="answers")).collect()
    expected = evaluate(corpus.qrels, corpus.run, asked)
    assert row.asDict() == {str(measure): pytest.approx(mean, abs=1e-12) for measure, mean in expected.means.items()}


def test_means_of_columns_with_dots_over_the_queries_of_the_profile(spark):
    from permed_measures.tables import evaluate_tables, table_means

    qrels = {"p": {"a": 9.0}, "q": {"a": 7.5, "b": 2.0}}
    run = {"q": {"a": 2.0, "b": 1.0}, "only here": {"a": 1.0}, "and here": {"a": 1.0}}
    frames = tables(spark, qrels, run)
    named = table_means(evaluate_tables(*frames, "P(rel=7.5)@10 P(rel=2.5)@2", check_input=False))
    # p is missing from the run; q has one such document
    assert [row.asDict() for row in named.collect()] == [{"P(rel=7.5)@10": 1 / 10 / 2, "P(rel=2.5)@2": 1 / 2 / 2}]
    expected = evaluate(qrels, run, profile="llm-judged", min_relevance=5).to_dict()["metrics"]
    assert expected["coverage@5"] == pytest.approx(1 / 3)  # over the run's queries
    assert expected["precision@5"] == pytest.approx((0 + 1 / 5) / 2)  # over the judged ones
    means = table_means(evaluate_tables(*frames, profile="llm-judged", min_relevance=5, check_input=False))
    assert [row.asDict() for row in means.collect()] == [pytest.approx(expected, abs=1e-12, rel=0)]


CONNECT = """
import json, sys
from pyspark.sql import SparkSession
from permed_measures.tables import evaluate_tables, inspect_tables, table_means

asked = json.load(sys.stdin)
builder = SparkSession.builder.remote("local[2]")
for name, value in asked["conf"].items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
qrels = spark.createDataFrame(asked["qrels"], "query_id string, doc_id string, relevance double")
run = spark.createDataFrame(asked["run"], "query_id string, doc_id string, score double")
values = evaluate_tables(qrels, run, asked["measures"], check_input=False)
said = {
    "kind": type(values).__module__,
    "values": [row.asDict() for row in values.collect()],
    "means": table_means(values).collect()[0].asDict(),
    "only_run": inspect_tables(qrels, run).only_run,
}
with open(sys.argv[1], "w") as file:
    json.dump(said, file)
spark.stop()
"""


def test_spark_connect_gives_the_same_values(tmp_path):
    """In a process of its own: a process is either a client of Spark Connect or has a Spark within."""
    from compat.corpora import CORPORA

    ties, missing = CORPORA["ties"], CORPORA["missing"]
    qrels = {**ties.qrels, **{f"m{query}": judged for query, judged in missing.qrels.items()}}
    run = {**ties.run, **{f"m{query}": scores for query, scores in missing.run.items()}}
    measures = "GWAP@10 nDCG(dcg='exp-log2')@10 ListAP@3 ListNDCG Coverage@5 AP RR@10 P(rel=1.5)@3 GWAP(norm='ideal')"
    rows = [
        [(query_id, doc_id, float(n)) for query_id, docs in grid.items() for doc_id, n in docs.items()]
        for grid in (qrels, run)
    ]
    said = tmp_path / "said.json"
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, said],
        input=json.dumps({"conf": CONF, "qrels": rows[0], "run": rows[1], "measures": measures}),
        env={**os.environ, "SPARK_TESTING": "1"},  # a free port, where it would be 15002
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(said.read_text())
    assert found["kind"].startswith("pyspark.sql.connect")
    assert found["only_run"] == len(run.keys() - qrels.keys()) == 2
    expected = evaluate(qrels, run, measures)
    values = {row["query_id"]: row for row in found["values"]}
    for measure, column in expected.columns.items():
        assert found["means"][str(measure)] == pytest.approx(expected.means[measure], abs=1e-12, rel=0)
        for query_id, value in column.items():
            assert values[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def spark_of(spark, frame):
    kinds = ", ".join(f"`{name}` {'double' if name in ('score', 'relevance') else 'string'}" for name in frame.columns)
    return spark.createDataFrame(frame.rows(), kinds)


def test_systems_segments_and_a_comparison_are_those_in_memory(spark):
    from permed_measures import compare, gate
    from permed_measures.tables import evaluate_tables
    from tests import test_tables_compare as compared
    from tests import test_tables_systems as systems

    qrels, runs = systems.made(12)
    judged = spark_of(spark, systems.qrels_frame(qrels))
    together = spark_of(spark, systems.run_frame(runs))
    values = evaluate_tables(judged, together, systems.MEASURES, system="team.system", segments=["language"])
    found = {(row.pop("team.system"), row.pop("query_id")): row for row in (row.asDict() for row in values.collect())}
    assert {row.pop("language") for row in found.values()} == {"de", "en"}
    assert found == systems.wanted(qrels, runs)
    tables_of = {name: spark_of(spark, systems.run_frame({name: run})) for name, run in runs.items()}
    options = {"measures": "nDCG@10 RR", "cluster": "conversation", "baseline_name": "a"}
    here = compare(qrels, runs["a"], {"B": runs["B"]}, **options)
    there = compare(judged, tables_of["a"], {"B": tables_of["B"]}, **options)
    assert compared.told(there) == compared.close(compared.told(here))
    gated = gate(judged, tables_of["a"], ["RR>=0"], baseline=tables_of["a"], max_drop=0.01)
    assert [check.why for check in gated.checks if check.kind == "drop"] == ["the rankings are identical"]


def test_spark_writes_a_folder_for_each_system(tmp_path):
    from permed_measures.tables.sessions import opened
    from tests import test_tables_systems as systems

    qrels, runs = systems.made(13)
    systems.qrels_frame(qrels).write_parquet(tmp_path / "qrels.parquet")
    systems.run_frame(runs).write_parquet(tmp_path / "runs.parquet")
    given = (str(tmp_path / "qrels.parquet"), str(tmp_path / "runs.parquet"), systems.MEASURES)
    # in a process of its own, as its session ends Spark's
    code = (
        "import sys\nfrom permed_measures.tables import evaluate_systems\n"
        "from permed_measures.tables.sessions import opened\n"
        "with opened('spark', master='local[2]') as session:\n"
        "    evaluate_systems(session, *sys.argv[1:4], system='team.system', write=sys.argv[4])\n"
    )
    subprocess.run([sys.executable, "-c", code, *given, str(tmp_path / "values")], check=True)
    with opened("duckdb") as session:
        rows = session.read(str(tmp_path / "values"))
        found = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
    assert {(row.pop("team.system"), row.pop("query_id")): row for row in found} == systems.wanted(qrels, runs)
