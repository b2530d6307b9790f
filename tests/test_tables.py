"""Tables: the values are those of evaluate(), on every engine; and each thing on which engines do not agree."""

from __future__ import annotations

import math

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.corpora import CORPORA
from compat.tables import TABLES, duckdb_relations
from permed_measures import HostError, InputError, ParamError, evaluate, evaluate_tables, inspect_tables, table_means
from permed_measures.measures import DEFINED
from permed_measures.ranking import ORDERS
from permed_measures.tables import known_measures
from tests.conftest import examples
from tests.table_cases import measures, together

QRELS, RUN = ("query_id", "doc_id", "relevance"), ("query_id", "doc_id", "score")
IN_ORDER = ("polars", "pandas")
"""Engines whose tables have an order of rows."""
engines = pytest.mark.parametrize("engine", TABLES)


def tables(engine, qrels, run):
    return TABLES[engine](QRELS, qrels, RUN, run)


def rows(native):
    return nw.from_native(native).lazy().collect().rows(named=True)


def by_query(native):
    return {row.pop("query_id"): row for row in rows(native)}


def test_measures_of_ours_have_expressions_but_where_tables_lack_what_they_need():
    # geometric means and sums, which table_means() does not take; the length of a list; ranks that depend on R
    lacking = {"GMAP", "GMBpref", "NumNonRelJudgedRet", "RBPResidual", "Unjudged", "Utility"}
    lacking |= {"G", "RnDCG", "RprecMult", "nDCGRel"}
    assert set(DEFINED) - set(known_measures()) >= lacking
    with pytest.raises(ParamError, match="GMAP has no expression for tables; "):
        evaluate_tables(*tables("polars", {"q": {"a": 1}}, {"q": {"a": 1.0}}), "gm_map")
    assert {"P", "R", "AP", "RR", "nDCG", "Success"} <= set(known_measures())


@pytest.mark.parametrize(
    "engine", ["polars", *(pytest.param(name, marks=pytest.mark.full) for name in TABLES if name != "polars")]
)
@pytest.mark.filterwarnings(
    "ignore:DataFrame is highly fragmented"
)  # pandas; nobody else asks for 278 measures at once
def test_every_measure_and_parameter_agrees_with_its_kernel(engine):
    qrels, run = together()
    asked = measures()
    expected = evaluate(qrels, run, asked)
    found = by_query(evaluate_tables(*tables(engine, qrels, run), asked))
    assert found.keys() == qrels.keys()
    for measure in asked:
        for query_id, value in expected.columns[measure].items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@examples(25)
@given(data=st.data())
def test_generated_tables_agree(engine, data):
    ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3)
    grades = st.one_of(st.integers(-2, 3), st.floats(-1, 12), st.sampled_from([1e-9, 1e-300, 700.0, 1500.5, 1e6]))
    scores = st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, math.inf, -math.inf, 3.5e38]), st.floats(allow_nan=False)
    )
    qrels = data.draw(
        st.dictionaries(ids, st.dictionaries(ids, grades, min_size=1, max_size=8), min_size=1, max_size=4)
    )
    known = st.one_of(st.sampled_from([doc for judged in qrels.values() for doc in judged]), ids)
    queries = st.one_of(st.sampled_from(list(qrels)), ids)
    run = data.draw(st.dictionaries(queries, st.dictionaries(known, scores, max_size=10), max_size=4))
    asked = (
        "nDCG nDCG(dcg='exp-log2')@3 ListNDCG(dcg='exp-log2') ListNDCG@2 AP AP(rel=2.5)@2 RR P@3 R@2 Success@1 ListAP"
    )
    order = data.draw(st.sampled_from(ORDERS))
    expected = evaluate(qrels, {query_id: {} for query_id in qrels} | run, asked, order=order)
    found = by_query(evaluate_tables(*tables(engine, qrels, run), asked, order=order))
    for measure, column in expected.columns.items():
        for query_id, value in column.items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


@engines
@pytest.mark.parametrize("nan_scores", ["error", "last"])
def test_scores_are_compared_as_asked(engine, nan_scores):
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.00000003, "b": 1.0, "c": -math.inf}}
    found = [
        by_query(evaluate_tables(*tables(engine, qrels, run), "RR", order=order, nan_scores=nan_scores))["q"]["RR"]
        for order in ORDERS
    ]
    assert found == [1 / 2, 1]  # 1.00000003 is 1 in 32 bits, and b is the greater id


@engines
def test_float_grades_agree_too(engine):
    corpus = CORPORA["float_grades"]
    graded = "GWAP(max_rel=10)@5 GWAP(max_rel=10,norm='ideal') nDCG nDCG(dcg='exp-log2')@10 ListNDCG(dcg='exp-log2')"
    binary = "AP(rel=6.5) R(rel=2.25)@5 RR(rel=4.75) P(rel=7.3)@3 ListAP(rel=1.5)@10"
    expected = evaluate(corpus.qrels, corpus.run, [graded, binary])
    found = by_query(evaluate_tables(*tables(engine, corpus.qrels, corpus.run), list(expected.means)))
    for measure, column in expected.columns.items():
        for query_id, value in column.items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


@engines
@pytest.mark.parametrize("queries", ["qrels", "run", "both"])
def test_means_run_over_the_queries_asked_for(engine, queries):
    qrels = {"p": {"a": 1}, "q": {"a": 1, "b": 2}, "r": {"c": 1}}
    run = {"q": {"b": 2.0, "x": 1.0}, "r": {"c": 1.0}, "only here": {"a": 1.0}}
    # P@1: p 0 (missing), q 1, r 1; the query that is only in the run 0
    expected = {"qrels": 2 / 3, "run": 2 / 3, "both": 1.0}[queries]
    found = rows(table_means(evaluate_tables(*tables(engine, qrels, run), "P@1", queries=queries)))
    assert found == [{"P@1": pytest.approx(expected)}]


@engines
def test_a_profile_has_its_names_and_its_query_sets(engine):
    qrels = {"p": {"a": 9.0}, "q": {"a": 7.5, "b": 2.0}}
    run = {"q": {"a": 2.0, "b": 1.0}, "only here": {"a": 1.0}, "and here": {"a": 1.0}}
    expected = evaluate(qrels, run, profile="llm-judged", min_relevance=5).to_dict()["metrics"]
    assert expected["coverage@5"] == pytest.approx(1 / 3)  # over the run's queries
    assert expected["precision@5"] == pytest.approx((0 + 1 / 5) / 2)  # over the judged ones
    found = rows(table_means(evaluate_tables(*tables(engine, qrels, run), profile="llm-judged", min_relevance=5)))
    assert found == [{name: pytest.approx(value) for name, value in expected.items()}]


def test_a_table_of_the_same_kind_comes_back():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    lazy = tables("polars", qrels, run)
    assert isinstance(evaluate_tables(*lazy, "P@1"), pl.LazyFrame)
    assert isinstance(evaluate_tables(*[frame.collect() for frame in lazy], "P@1"), pl.DataFrame)
    assert type(evaluate_tables(*[frame.collect().to_arrow() for frame in lazy], "P@1")).__name__ == "Table"
    assert isinstance(evaluate_tables(*tables("pandas", qrels, run), "P@1"), pd.DataFrame)
    assert isinstance(evaluate_tables(*tables("duckdb", qrels, run), "P@1"), duckdb.DuckDBPyRelation)
    ibis = pytest.importorskip("ibis")
    assert isinstance(evaluate_tables(*tables("ibis", qrels, run), "P@1"), ibis.Table)


def test_a_lazy_table_stays_lazy():
    """A scan of a file that is not there yet fails only when the values are asked for."""
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64, "score": pl.Float64}
    absent = pl.scan_parquet("absent.parquet", schema=schema)
    values = evaluate_tables(absent, absent, "P@1 nDCG", check_input=False)
    with pytest.raises(FileNotFoundError):
        values.collect()


@engines
def test_scores_that_differ_beyond_32_bits_are_ties(engine):
    # b is 1e-9 above a: the same as a 32-bit float, so the greater id is first
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "Z": 1.0 + 1e-9, "b": 0.5}}
    assert rows(evaluate_tables(*tables(engine, qrels, run), "P@1")) == [{"query_id": "q", "P@1": 1.0}]


@engines
def test_a_score_beyond_32_bits_is_infinite(engine):
    # 1e300 and 1e301 are both infinite: the greater id is first; -1e300 is last
    qrels, run = {"q": {"b": 1}}, {"q": {"a": 1e301, "b": 1e300, "c": -1e300, "d": -1.0}}
    assert rows(evaluate_tables(*tables(engine, qrels, run), "P@1")) == [{"query_id": "q", "P@1": 1.0}]
    assert rows(evaluate_tables(*tables(engine, {"q": {"c": 1}}, run), "RR")) == [{"query_id": "q", "RR": 1 / 4}]


def natives(engine, *frames):
    """Give polars frames to another engine."""
    if engine == "polars":
        return tuple(frame.lazy() for frame in frames)
    if engine == "pandas":
        return tuple(frame.to_pandas() for frame in frames)
    if engine == "ibis":
        ibis = pytest.importorskip("ibis")
        return tuple(ibis.memtable(frame.to_arrow()) for frame in frames)
    return tuple(duckdb_relations(*[frame.to_arrow() for frame in frames]))


def whole_number_ids(engine):
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": [9, 10], "relevance": [1, 1]})
    run = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [9, 10, 10], "score": [1, 1, 1]})
    return natives(engine, qrels, run)


@engines
def test_whole_number_ids_are_ordered_as_text(engine):
    # as text "9" > "10", so 9 stands first among equals; as numbers it would be second
    found = by_query(evaluate_tables(*whole_number_ids(engine), "RR"))
    assert found == {"1": {"RR": 1.0}, "2": {"RR": 1.0}}


@pytest.mark.parametrize("default", [True, False], ids=["of the database", "of the columns"])
def test_a_case_insensitive_collation_is_taken_off(default):
    connection = duckdb.connect()
    collated = "VARCHAR" if default else "VARCHAR COLLATE NOCASE"
    if default:
        connection.execute("SET default_collation = 'nocase'")
    connection.execute(f"CREATE TABLE qrels (query_id {collated}, doc_id {collated}, relevance DOUBLE)")
    connection.execute(f"CREATE TABLE run (query_id {collated}, doc_id {collated}, score DOUBLE)")
    connection.execute("INSERT INTO qrels VALUES ('q', 'a', 1), ('q', 'A', 0), ('Q', 'a', 1)")
    connection.execute("INSERT INTO run VALUES ('q', 'A', 1), ('q', 'a', 1), ('Q', 'A', 2), ('Q', 'b', 1)")
    assert connection.execute("SELECT count(*) FROM qrels GROUP BY doc_id").fetchall() == [(3,)]
    found = by_query(evaluate_tables(connection.table("qrels"), connection.table("run"), "RR SetR"))
    # q: "a" > "A" byte by byte, so the relevant one is first; Q: its relevant "a" is not returned
    assert found == {"q": {"RR": 1.0, "SetR": 1.0}, "Q": {"RR": 0.0, "SetR": 0.0}}


def repeated(engine, *, order=False):
    """Make a run in which the relevant document stands at ranks 1 and 3."""
    run = pl.DataFrame(
        {"query_id": ["q"] * 4, "doc_id": ["a", "b", "a", "c"], "score": [1.0, 2.0, 3.0, 0.5], "at": [1, 2, 3, 4]}
    )
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1.0], "at": [1]})
    if not order:
        run, qrels = run.drop("at"), qrels.drop("at")
    return natives(engine, qrels, run)


@engines
def test_duplicates_are_an_error_that_names_them(engine):
    with pytest.raises(InputError, match=r"run: 1 duplicates \(query 'q', document 'a'\); keep one row each, or say"):
        evaluate_tables(*repeated(engine), "AP")
    # nobody looked: the document counts twice, and AP exceeds 1
    assert rows(evaluate_tables(*repeated(engine), "AP", check_input=False))[0]["AP"] == pytest.approx(1 / 1 + 2 / 3)


@engines
def test_duplicates_keep_the_highest_or_the_first(engine):
    assert rows(evaluate_tables(*repeated(engine), "RR AP", duplicates="max")) == [
        {"query_id": "q", "RR": 1.0, "AP": 1.0}
    ]
    first = evaluate_tables(*repeated(engine, order=True), "RR AP", duplicates="first", row_order="at")
    assert rows(first) == [{"query_id": "q", "RR": 0.5, "AP": 0.5}]  # its first row scores 1.0, below b's 2.0
    with pytest.raises(ParamError, match="first': neither table has 'hour'; name the column"):
        evaluate_tables(*repeated(engine, order=True), "RR AP", duplicates="first", row_order="hour")
    if engine in IN_ORDER:
        assert rows(evaluate_tables(*repeated(engine), "RR AP", duplicates="first")) == rows(first)
    else:
        with pytest.raises(ParamError, match="rows of these tables have no order; name the column"):
            evaluate_tables(*repeated(engine), "RR", duplicates="first")


def test_duplicate_judgements_are_found_too():
    qrels = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [1, 2]})
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(InputError, match="qrels: 1 duplicates"):
        evaluate_tables(qrels, run, "GWAP")
    assert rows(evaluate_tables(qrels, run, "GWAP", duplicates="max")) == [{"query_id": "q", "GWAP": 1.0}]


def with_nan(engine):
    return tables(engine, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": math.nan, "c": 0.5}})


@engines
def test_nan_scores_are_rejected_and_counted(engine):
    with pytest.raises(InputError, match=r"run: 1 NaN scores \(query 'q', document 'b'\); engines disagree"):
        evaluate_tables(*with_nan(engine), "P@1")
    assert inspect_tables(*with_nan(engine)).nan_scores == 1
    for choice in ("drop", "last"):
        assert rows(evaluate_tables(*with_nan(engine), "P@1", nan_scores=choice)) == [{"query_id": "q", "P@1": 1.0}]
    last = tables(engine, {"q": {"b": 1}}, {"q": {"a": -math.inf, "b": math.nan, "c": -1e38}})
    assert rows(evaluate_tables(*last, "RR", nan_scores="last")) == [{"query_id": "q", "RR": 1 / 3}]


@pytest.mark.filterwarnings("ignore:fetch_arrow_table")  # Ibis 12 calls what DuckDB 2.0 will remove
@pytest.mark.parametrize("scores", [(1.0, math.nan, 2.0), (1.0, math.nan)], ids=str)
def test_nan_is_found_where_the_statistics_of_parquet_hide_it(tmp_path, scores):
    """DuckDB, asked by Ibis, takes isnan() of such a column for false."""
    ibis = pytest.importorskip("ibis")
    qrels, run = (str(tmp_path / name) for name in ("qrels.parquet", "run.parquet"))
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]}).write_parquet(qrels)
    docs = list("abc")[: len(scores)]
    pl.DataFrame({"query_id": ["q"] * len(scores), "doc_id": docs, "score": scores}).write_parquet(run)
    connection = ibis.duckdb.connect()
    with pytest.raises(InputError, match=r"run: 1 NaN scores \(query 'q', document 'b'\)"):
        evaluate_tables(connection.read_parquet(qrels), connection.read_parquet(run), "RR")


@engines
def test_grades_that_are_left_out_are_not_checked(engine):
    twice = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "relevance": [1.0, 9.0], "at": [1, 2]})
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0], "at": [1]})
    found = evaluate_tables(*natives(engine, twice, run), "GWAP", duplicates="first", row_order="at")
    assert rows(found) == [{"query_id": "q", "GWAP": 0.5}]
    found = evaluate_tables(*natives(engine, twice, run), "GWAP(weights={9: 1.0})", duplicates="max")
    assert rows(found)[0].popitem()[1] == 1.0


@engines
def test_parameters_may_be_longer_than_an_engines_numbers(engine):
    found = rows(
        evaluate_tables(*tables(engine, {"q": {"a": 1}}, {"q": {"a": 1.0}}), "GWAP(max_rel=1e301) P(rel=1e301)@1")
    )
    assert found[0].popitem()[1] == 0.0
    assert found[0].popitem()[1] == pytest.approx(1e-301)


def test_booleans_are_grades():
    qrels = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [True, False]})
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    assert evaluate_tables(qrels, run, "RR").rows() == [("q", 0.5)]


def test_a_table_without_repeated_rows_needs_no_order():
    qrels, run = repeated("polars", order=True)
    found = evaluate_tables(qrels.drop("at"), run, "RR", duplicates="first", row_order="at")
    assert rows(found) == [{"query_id": "q", "RR": 0.5}]
    twice = pl.concat([qrels.drop("at"), qrels.drop("at")])
    with pytest.raises(InputError, match="qrels: 1 duplicates"):
        evaluate_tables(twice, run, "RR", duplicates="first", row_order="at")
    with pytest.raises(ParamError, match="row_order='at' is for duplicates='first'"):
        evaluate_tables(qrels, run, "RR", row_order="at")


def test_a_grade_off_the_scale_is_a_fault_for_those_who_ask():
    both = tables("polars", {"q": {"a": 9}}, {"q": {"a": 1.0}})
    assert inspect_tables(*both).faults == ()
    (fault,) = inspect_tables(*both, measures="GWAP P@1").faults
    assert fault.kind == "grades"
    assert "grade 9 is above max_rel=2" in fault.text


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "own.toml").write_text('[[measures]]\nmeasure = "RR"\nname = "query_id"\n')
    with pytest.raises(ParamError, match="two columns would be called 'query_id'"):
        evaluate_tables(*tables("polars", {"q": {"a": 1}}, {"q": {"a": 1.0}}), profile=tmp_path / "own.toml")


def test_kinds_are_compared_by_inspect_too():
    with pytest.raises(ParamError, match="tables of two kinds, polars and duckdb"):
        inspect_tables(tables("polars", {"q": {"a": 1}}, {})[0], tables("duckdb", {}, {"q": {"a": 1.0}})[1])


def test_a_deep_cutoff_is_no_trouble():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    assert rows(evaluate_tables(*tables("duckdb", qrels, run), "RR@2000000")) == [{"query_id": "q", "RR@2000000": 0.5}]


@engines
def test_facts_are_counted(engine):
    qrels = {"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}, "x": {"a": 1.0}, "y": {"a": 1.0}}
    facts = inspect_tables(*tables(engine, qrels, run))
    assert (facts.qrels_rows, facts.run_rows, facts.judged_queries, facts.only_run, facts.missing) == (3, 2, 3, 2, 2)
    assert facts.faults == ()
    assert facts.notes == ["2 queries only in the run, ignored", "2 queries missing from the run, counted as 0"]


def test_query_ids_that_never_meet_are_noted():
    facts = inspect_tables(*tables("polars", {"q1": {"a": 1}}, {"1": {"a": 1.0}}))
    assert "are the query ids written alike?" in facts.notes[0]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("query_id", None, r"run: 1 empty ids"),
        ("doc_id", "", r"run: 1 empty ids \(query 'q', document ''\)"),
        ("score", None, r"run: 1 missing numbers \(query 'q', document 'a'\)"),
    ],
)
def test_what_is_missing_is_an_error(column, value, message):
    row = {"query_id": "q", "doc_id": "a", "score": 1.0, column: value}
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    qrels = pl.DataFrame({"query_id": ["q", None], "doc_id": ["a", "b"], "relevance": [1.0, 1.0]})
    if column != "query_id":
        qrels = qrels.head(1)
    with pytest.raises(InputError, match=message if column != "query_id" else "qrels: 1 empty ids"):
        evaluate_tables(qrels, pl.DataFrame([row], schema=schema), "P@1")


@pytest.mark.parametrize("grade", [math.nan, math.inf])
def test_a_grade_is_finite(grade):
    with pytest.raises(InputError, match="qrels: 1 infinite or NaN grades"):
        evaluate_tables(*tables("polars", {"q": {"a": grade}}, {"q": {"a": 1.0}}), "P@1")


@engines
def test_a_grade_that_a_measure_is_not_defined_for_is_its_own_error(engine):
    both = tables(engine, {"q": {"a": 1, "b": 3}}, {"q": {"a": 1.0}})
    with pytest.raises(
        InputError, match=r"query 'q', document 'b': grade 3 is above max_rel=2 .* set GWAP\(max_rel=3\)"
    ):
        evaluate_tables(*both, "GWAP")
    with pytest.raises(InputError, match="grade 3 has no weight"):
        evaluate_tables(*both, "GWAP(weights={1: 0.5, 2: 1.0})")
    assert rows(evaluate_tables(*both, "GWAP(weights={3: 1.0},rel=2)"))[0]["GWAP(rel=2,weights={3: 1.0})"] == 0.0


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (
            {"query_id": ["q"], "doc_id": ["a"], "points": [1]},
            "qrels: the table has no column 'relevance' .*qrels_columns=",
        ),
        (
            {"query_id": [1.0], "doc_id": ["a"], "relevance": [1]},
            "qrels: the column 'query_id' is Float64; ids are strings",
        ),
        (
            {"query_id": ["q"], "doc_id": ["a"], "relevance": ["1"]},
            "qrels: the column 'relevance' is String; .* cast it",
        ),
    ],
)
def test_columns_are_checked(qrels, message):
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(InputError, match=message):
        evaluate_tables(pl.DataFrame(qrels), run, "P@1")


def test_columns_may_have_other_names():
    qrels = pl.DataFrame({"topic": ["q"], "page": ["a"], "points": [1]})
    run = pl.DataFrame({"qid": ["q"], "docno": ["a"], "bm25": [1.0]})
    found = evaluate_tables(
        qrels, run, "P@1", qrels_columns=("topic", "page", "points"), run_columns=("qid", "docno", "bm25")
    )
    assert found.rows() == [("q", 1.0)]
    assert found.columns == ["topic", "P@1"]
    with pytest.raises(ParamError, match="give three names"):
        evaluate_tables(qrels, run, "P@1", qrels_columns=("topic", "page"))


def test_wrong_requests_say_what_is_allowed():
    lazy = tables("polars", {"q": {"a": 1}}, {"q": {"a": 1.0}})
    with pytest.raises(ParamError, match="Bpref has no expression for tables; AP, BinG, Coverage, "):
        evaluate_tables(*lazy, "Bpref")
    with pytest.raises(ParamError, match="duplicates='last' is not allowed; give one of 'error', 'first', 'max'"):
        evaluate_tables(*lazy, "P@1", duplicates="last")
    with pytest.raises(ParamError, match="tables of two kinds, polars and duckdb"):
        evaluate_tables(lazy[0], tables("duckdb", {"q": {"a": 1}}, {"q": {"a": 1.0}})[1], "P@1")
    with pytest.raises(InputError, match="dict is not a table that Narwhals knows"):
        evaluate_tables({"q": {"a": 1}}, lazy[1], "P@1")
    with pytest.raises(ParamError, match="give either measures"):
        evaluate_tables(*lazy)
    with pytest.raises(ParamError, match="no column 'language' to group by"):
        table_means(evaluate_tables(*lazy, "P@1"), by="language")
    with pytest.raises(ParamError, match="no column of 64-bit floats to take means of; the table has query_id, doc_id"):
        table_means(lazy[0].select("query_id", "doc_id"))
    (qrels, _), (_, run) = (tables("duckdb", {"q": {"a": 1}}, {"q": {"a": 1.0}}) for _ in range(2))
    with pytest.raises(ParamError, match="relations of two DuckDB connections"):
        evaluate_tables(qrels, run, "P@1")


def test_an_empty_frame_has_columns_of_no_type():
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    run = pd.DataFrame({"query_id": [], "doc_id": [], "score": []})
    assert rows(evaluate_tables(qrels, run, "P@1")) == [{"query_id": "q", "P@1": 0.0}]


def test_a_missing_grade_of_pandas_is_one_fault():
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [math.nan]})
    run = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    (fault,) = inspect_tables(qrels, run).faults
    assert fault.kind == "infinite or NaN grades"


@engines
def test_means_by_group(engine):
    values = {"p": {"x": 0.0}, "q": {"x": 1.0}, "r": {"x": 0.5}}
    grouped = pl.DataFrame({"query_id": list(values), "language": ["de", "en", "en"], "P(rel=7.5)@2": [0.0, 1.0, 0.5]})
    (native,) = natives(engine, grouped)
    found = sorted(rows(table_means(native, by="language")), key=lambda row: row["language"])
    assert found == [{"language": "de", "P(rel=7.5)@2": 0.0}, {"language": "en", "P(rel=7.5)@2": (1 + 0.5) / 2}]


def test_unjudged_queries_are_not_checked():
    """Logs hold what nobody looks at: a fault there changes no value."""
    run = {"q": {"a": 1.0}, "nobody judged this": {"a": math.nan}}
    assert rows(evaluate_tables(*tables("polars", {"q": {"a": 1}}, run), "P@1")) == [{"query_id": "q", "P@1": 1.0}]


def test_a_polars_that_is_too_old_is_named(monkeypatch):
    qrels, run = tables("polars", {"q": {"a": 1}}, {"q": {"a": 1.0}})
    monkeypatch.setattr(pl, "__version__", "1.9.0")
    with pytest.raises(
        HostError, match=r"polars 1\.9\.0 is too old for tables, .*: pip install 'permed-measures\[tables\]'"
    ):
        evaluate_tables(qrels, run, "AP")
