"""Whatever a file holds, a reader returns a result or raises InputError; and what a writer wrote is read as it was."""

from __future__ import annotations

import gzip
import math
from importlib.util import find_spec

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from permed_measures import evaluate
from permed_measures.errors import HostError, InputError
from permed_measures.files import formats, formatted, read_qrels, read_run
from permed_measures.files.large import rankings
from permed_measures.inputs import ranking_of
from permed_measures.ranking import ORDERS, order
from tests.conftest import examples

READERS = {"qrels": read_qrels, "run": read_run}
TEXT_FORMATS = [name for name in formats() if name != "parquet"]
# without DuckDB a parquet file cannot be read, which is said in another error
REFUSED = InputError if find_spec("duckdb") else (InputError, HostError)

words = st.sampled_from(
    [
        "q1",
        "q2",
        "Q0",
        "a",
        "b",
        "0",
        "1",
        "2.5",
        "-1",
        "nan",
        "inf",
        "1e400",
        "é",
        "\u3000",
        '"',
        '""',
        "#",
        "#x",
        "\0",
    ]
)
separators = st.sampled_from([" ", "  ", "\t", ",", ";", "\n", "\r\n", "\r", "\x0b", "\x1c", ""])
json_words = st.sampled_from(
    [
        *[
            '"query_id"',
            '"doc_id"',
            '"text_id"',
            '"score"',
            '"relevance"',
            '"relevant_texts"',
            '"results"',
            '"a"',
            '""',
        ],
        *[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\n",
            "1",
            "2.5",
            "-0",
            "NaN",
            "Infinity",
            "null",
            "true",
            '"\\ud800"',
            "1e999",
        ],
    ]
)
headers = st.sampled_from(
    [
        "",
        "query-id\tcorpus-id\tscore\n",
        "qid,docno,score\n",
        "query_id\tdoc_id\trelevance\n",
        "score;qid;docno\n",
        "qid|docno|rel\r\n",
    ]
)
tables = st.builds(
    lambda head, parts: (head + "".join(map("".join, parts))).encode(),
    headers,
    st.lists(st.tuples(words, separators), max_size=40),
)
run_lines = st.builds(
    lambda rows: "".join(f"{q}{s}Q0{s}{d}{s}1{s}{v}{s}t{end}" for q, d, v, s, end in rows).encode(),
    st.lists(
        st.tuples(words, words, words, separators, st.sampled_from(["\n", "\r\n", " \n", "\n\n", ""])), max_size=12
    ),
)
json_texts = st.builds(lambda parts: "".join(parts).encode(), st.lists(json_words, max_size=30))
json_rows = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["query_id", "doc_id", "text_id", "score", "grade", "relevant_texts", "results", "x"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


def json_lines(values):
    import json

    return "\n".join(map(json.dumps, values)).encode()


contents = st.one_of(
    st.binary(max_size=200),
    tables,
    run_lines,
    json_texts,
    st.lists(json_rows, max_size=4).map(json_lines),
    st.one_of(tables, run_lines, json_texts).map(gzip.compress),
    st.builds(lambda data, cut: gzip.compress(data)[:cut], tables, st.integers(0, 60)),
)


def is_sound(groups, what):
    for query_id, group in groups.items():
        assert isinstance(query_id, str)
        assert query_id
        assert all(isinstance(doc_id, str) and doc_id for doc_id in group)
        if isinstance(group, list):
            assert what == "run"
            assert len(set(group)) == len(group)
        else:
            for value in group.values():
                assert type(value) in (int, float)
                assert math.isfinite(value) if what == "qrels" else not math.isnan(value)


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("name", [None, *formats()])
@examples(60)
@given(content=contents)
@example(b"#\0")
@example(b"\xef\xbb\xbf")
@example(b"\x1f\x8b")
@example(b"PAR1")
@example(b"a b c d 1\n\0 b c d 1 t x\n")  # 5 and 7 fields are not 6 and 6
@example(b"[" * 100_000)
@example(b'{"a": {"b": ' + b"9" * 5000 + b"}}")
@example(b'qid,docno,score\n"' + b"x" * 200_000)
def test_a_reader_returns_a_result_or_raises_an_input_error(tmp_path_factory, what, name, content):
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(content)
    try:
        groups = READERS[what](path, name)
    except REFUSED as error:
        assert str(error).startswith((str(path), "duckdb"))  # noqa: PT017  (both outcomes are right)
    else:
        is_sound(groups, what)


@given(
    content=st.one_of(tables, run_lines, st.lists(json_rows, max_size=4).map(json_lines)),
    depth=st.sampled_from([1, 2, None]),
    precision=st.sampled_from(ORDERS),
)
@example(content=b"q1 Q0 a 1 1 t\n q2 Q0 a 1 1\n", depth=1, precision="float32")
@example(content=b"q1 Q0 a 1 1 t\nq1\tQ0 a 1 1 t\n", depth=1, precision="float32")
@example(content=b"q1 Q0 a 1 1e300 t\nq1 Q0 b 1 1e301 t\n", depth=1, precision="float32")
@example(content=b'qid,docno,score\n"q1" ,a,1\n', depth=1, precision="float32")
@example(content=b'qid,docno,score\nq1,a"b,1\nq1,"a""b",2\n', depth=1, precision="float32")
@example(content=b"qid,docno,score\nq1,a,1\n\nq1,,2\n", depth=None, precision="float32")
def test_the_engine_finds_what_the_plain_reader_finds_or_nothing(tmp_path_factory, content, depth, precision):
    pytest.importorskip("duckdb")
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(content)
    qrels = {"q1": {"a": 1, "b": 2, '"': 1}, "q2": {"a": 1, "é": 2}, "1": {"1": 1}}
    try:
        found = rankings(path, qrels, depth, large=0, order=precision)
    except InputError:
        with pytest.raises(InputError):
            read_run(path)
        return
    if found is None:
        return
    run = read_run(path)
    assert found.keys() == run.keys()
    for query_id, ranking in found.items():
        assert ranking.num_ret == len(run[query_id])
        in_order = order(run[query_id], by=precision)[:depth]
        grades = qrels.get(query_id, {})
        plain = ranking_of(query_id, run[query_id], grades, depth)
        assert [ranking.tied(depth, p) for p in ORDERS] == [plain.tied(depth, p) for p in ORDERS]
        assert ranking.ranked == [(place, grades[doc]) for place, doc in enumerate(in_order, 1) if doc in grades]


ids = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable())
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
qrels_groups = st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), max_size=4)
run_groups = st.dictionaries(
    ids,
    st.dictionaries(ids, st.one_of(numbers, st.sampled_from([math.inf, -math.inf])), min_size=1, max_size=5),
    max_size=4,
)


@pytest.mark.parametrize("name", formats())
@examples(40)
@given(qrels=qrels_groups, run=run_groups)
def test_what_is_written_is_read_as_it_was(tmp_path_factory, name, qrels, run):
    if name == "parquet":
        pytest.importorskip("duckdb")
    path = tmp_path_factory.getbasetemp() / "written"
    for what, groups in (("qrels", qrels), ("run", run)):
        try:
            content, _ = formatted(groups, what, name)
        except InputError as error:
            assert "cannot" in str(error) or "would be comments" in str(error)  # noqa: PT017  (some ids fit no format)
            continue
        path.write_bytes(content)
        found = READERS[what](path, name)
        if name == "jsonl" and what == "run":
            assert found == {query_id: order(group) for query_id, group in groups.items()}
        else:
            assert found == groups


@given(run=run_groups)
def test_a_run_has_the_same_values_in_every_format(tmp_path_factory, run):
    qrels = {query_id: dict.fromkeys(list(group)[::2], 1) for query_id, group in run.items()}
    if not run:
        return
    expected = evaluate(qrels, run, "AP nDCG@2").columns
    path = tmp_path_factory.getbasetemp() / "written"
    for name in TEXT_FORMATS:
        try:
            path.write_bytes(formatted(run, "run", name)[0])
        except InputError:
            continue
        assert evaluate(qrels, read_run(path, name), "AP nDCG@2").columns == expected
