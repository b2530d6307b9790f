"""Files of every format: what is read, what is refused and in which words, and that writers and readers agree."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
import threading

import pytest

from permed_measures import evaluate
from permed_measures.errors import InputError, ParamError
from permed_measures.files import format_of, formats, formatted, read_qrels, read_run
from permed_measures.files.large import LARGE, rankings
from permed_measures.files.source import BLOCK, Source

QRELS = {"q1": {"a": 2, "b": 7.5}, "q2": {"c": 0, "d": -1}}
RUN = {"q1": {"b": 3.0, "x": 2.5, "a": 1e-3}, "q2": {"c": float("inf"), "d": -2.0}}

QRELS_FILES = {
    "trec": b"q1 0 a 2\nq1 0 b 7.5\nq2 0 c 0\nq2 0 d -1\n",
    "jsonl": (
        b'{"query_id": "q1", "relevant_texts": [{"text_id": "a", "grade": 2}, {"text_id": "b", "relevance": 7.5}]}\n'
        b'{"query_id": "q2", "relevant_texts": {"c": 0, "d": -1}}\n'
    ),
    "json": b'{"q1": {"a": 2, "b": 7.5}, "q2": {"c": 0, "d": -1}}',
    "jsonl-rows": (
        b'{"query_id": "q1", "doc_id": "a", "relevance": 2}\n{"qid": "q1", "docno": "b", "label": 7.5}\n'
        b'{"query_id": "q2", "doc_id": "c", "relevance": 0}\n{"query_id": "q2", "doc_id": "d", "rel": -1}\n'
    ),
    "beir": b"query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t7.5\nq2\tc\t0\nq2\td\t-1\n",
    "tsv": b"qid\tdocno\tlabel\nq1\ta\t2\nq1\tb\t7.5\nq2\tc\t0\nq2\td\t-1\n",
    "csv": b'query_id,doc_id,note,relevance\nq1,a,"x, ""y""",2\nq1,b,,7.5\nq2,c,,0\nq2,d,,-1\n',
}
RUN_FILES = {
    "trec": b"q1 Q0 b 1 3.0 t\nq1 Q0 x 2 2.5 t\nq1 Q0 a 3 1e-3 t\nq2 Q0 c 1 inf t\nq2 Q0 d 2 -2 t\n",
    "json": b'{"q1": {"b": 3.0, "x": 2.5, "a": 0.001}, "q2": {"c": Infinity, "d": -2}}',
    "jsonl-rows": (
        b'{"query_id": "q1", "doc_id": "b", "score": 3.0}\n{"query_id": "q1", "doc_id": "x", "score": 2.5}\n'
        b'{"query_id": "q1", "doc_id": "a", "score": 1e-3}\n{"query_id": "q2", "doc_id": "c", "score": Infinity}\n'
        b'{"query_id": "q2", "doc_id": "d", "score": -2}\n'
    ),
    "beir": b"query-id\tcorpus-id\tscore\nq1\tb\t3.0\nq1\tx\t2.5\nq1\ta\t0.001\nq2\tc\tinf\nq2\td\t-2\n",
    "tsv": b"query_id\tdoc_id\tscore\nq1\tb\t3.0\nq1\tx\t2.5\nq1\ta\t0.001\nq2\tc\tinf\nq2\td\t-2\n",
    "csv": b"score;qid;docno\n3.0;q1;b\n2.5;q1;x\n0.001;q1;a\ninf;q2;c\n-2;q2;d\n",
}


@pytest.fixture
def file(tmp_path):
    def make(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


@pytest.mark.parametrize("name", QRELS_FILES)
def test_qrels_are_read_and_the_format_is_told_by_content(file, name):
    path = file(QRELS_FILES[name])
    assert name == format_of(Source(path)).NAME
    assert read_qrels(path) == read_qrels(path, name) == QRELS


@pytest.mark.parametrize("name", RUN_FILES)
def test_runs_are_read_and_the_format_is_told_by_content(file, name):
    path = file(RUN_FILES[name])
    assert name == format_of(Source(path)).NAME
    assert read_run(path) == read_run(path, name) == RUN


def test_whole_grades_are_ints_and_others_exact_floats(file):
    grades = read_qrels(file(b"q 0 a 2\nq 0 b 2.0\nq 0 c 7.1\nq 0 d 1e1\n"))["q"]
    assert grades == {"a": 2, "b": 2, "c": 7.1, "d": 10}
    assert [type(grade) for grade in grades.values()] == [int, int, float, int]


@pytest.mark.parametrize("name", sorted({*QRELS_FILES} - {"json"}))
def test_gzip_bom_and_crlf_change_nothing(file, name):
    content = QRELS_FILES[name]
    assert read_qrels(file(gzip.compress(content), "a.gz")) == QRELS
    assert read_qrels(file(gzip.compress(content), "no-suffix")) == QRELS
    assert read_qrels(file(b"\xef\xbb\xbf" + content)) == QRELS
    assert read_qrels(file(content.replace(b"\n", b"\r\n"))) == QRELS
    assert read_qrels(file(content.removesuffix(b"\n"))) == QRELS
    assert read_qrels(file(content.replace(b"\n", b"\n\n"))) == QRELS


def test_trec_fields_are_separated_by_any_white_space_and_comments_are_left_out(file):
    content = b"# made by hand\nq1\t0\ta\t2\n  q1 0   b  7.5 \n\n \t \n#q9 0 z 1\nq2 0 c 0\r\nq2\x0b0\x0cd -1"
    assert read_qrels(file(content)) == QRELS


def test_ids_keep_characters_that_are_white_space_only_elsewhere(file):
    ids = ["a\u00a0b", "\u3000", "x\u2028y", "é", "c\x1cd", "医学"]
    content = "".join(f"q 0 {doc_id} 1\n" for doc_id in ids).encode()
    assert list(read_qrels(file(content))["q"]) == ids
    assert list(read_qrels(file(b"q 0 c\x1cd 1\n"))["q"]) == ["c\x1cd"]


def test_permed_lists_are_rankings(file):
    content = (
        b'{"query_id": "12_3", "ranked_results": [{"text_id": "b", "score": 0.1}, {"text_id": 7}, "x"]}\n'
        b'{"query_id": 4, "results": []}\n{"query_id": "5", "results": ["y"], "ranked_results": ["z"]}\n'
    )
    assert read_run(file(content)) == {"12_3": ["b", "7", "x"], "4": [], "5": ["z"]}
    assert read_qrels(file(b'{"query_id": "1", "relevant_texts": ["a", 5]}\n')) == {"1": {"a": 1, "5": 1}}
    assert read_qrels(file(b'{"query_id": "1", "relevant_texts": []}\n')) == {"1": {}}


def test_of_two_lists_in_one_line_the_reranked_one_counts(file):
    path = file(b'{"query_id": "q", "results": ["a", "b"], "ranked_results": ["b", "a"]}\n')
    assert read_run(path) == {"q": ["b", "a"]}


def test_json_lists_are_rankings_or_relevant_documents(file):
    path = file(b'{"q": ["b", "a"], "r": []}')
    assert read_run(path) == {"q": ["b", "a"], "r": []}
    assert read_qrels(path) == {"q": {"b": 1, "a": 1}, "r": {}}


def test_parquet_is_read_with_string_and_whole_number_ids(file, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "x[1].parquet"  # DuckDB would take the brackets for a pattern
    rows = "SELECT 1 AS qid, 'a' AS docno, 0.5::FLOAT AS score, 2 AS label UNION ALL SELECT 1, 'b', 0.25, 0"
    duckdb.sql(rows).write_parquet(str(tmp_path / "plain.parquet"))
    (tmp_path / "plain.parquet").rename(path)
    assert read_run(path) == {"1": {"a": 0.5, "b": 0.25}}
    assert read_qrels(path) == {"1": {"a": 2, "b": 0}}
    with pytest.raises(InputError, match=r"x\.parquet: not readable as parquet"):
        read_run(file(b"PAR1 and no more", "x.parquet"))
    duckdb.sql("SELECT 'q' AS qid, 'a' AS docno, 'nan'::DOUBLE AS score").write_parquet(
        str(path.parent / "nan.parquet")
    )
    with pytest.raises(InputError, match=r"row 1: query 'q', document 'a': the score is nan"):
        read_run(path.parent / "nan.parquet")
    duckdb.sql("SELECT 'q' AS qid, true AS docno, 1 AS score").write_parquet(str(path.parent / "bool.parquet"))
    with pytest.raises(InputError, match=r"the column 'docno' is BOOLEAN; ids are strings or whole numbers"):
        read_run(path.parent / "bool.parquet")


GOOD_RUN = b"q1 Q0 d%d %d %d.5 t\n"

FAULTS = {
    "five fields": ("run", b"q1 Q0 d3 1 0.5\n", "5 fields, a run line has 6: 'q1 Q0 d3 1 0.5'"),
    "qrels for a run": ("run", b"q1 0 d3 1\n", "4 fields, a run line has 6"),
    "one field": ("qrels", b"q1\n", "1 field, a qrels line has 4: 'q1'"),
    "NaN": ("run", b"q1 Q0 dx 1 nan t\n", "the score is NaN; a ranking needs a number for every document"),
    "no score": ("run", b"q1 Q0 dx 1 high t\n", "the score 'high' is not a number"),
    "other digits": ("run", "q1 Q0 dx 1 \u0661 t\n".encode(), "the score '\u0661' is not a number"),
    "1_0 as a score": ("run", b"q1 Q0 dx 1 1_0 t\n", "the score '1_0' is not a number"),
    "no grade": ("qrels", b"q1 0 dx good\n", "the grade 'good' is not a finite number"),
    "1_0 as a grade": ("qrels", b"q1 0 dx 1_0\n", "the grade '1_0' is not a finite number"),
    "infinite grade": ("qrels", b"q1 0 dx inf\n", "the grade 'inf' is not a finite number"),
    "repeated": ("run", b"q1 Q0 d7 1 0.5 t\n", "query 'q1', document 'd7' occurs in line 7 already"),
    "not UTF-8": ("run", b"q1 Q0 d\xff 1 0.5 t\n", "not UTF-8: byte 0xff"),
    "not UTF-8 after the tag": ("run", b"q1 Q0 d 1 0.5 t \xff\n", "not UTF-8: byte 0xff"),
    "NUL": ("run", b"q1 Q0 d\0 1 0.5 t\n", "a NUL character"),
}


def test_lines_longer_than_a_block_are_read_whole(file):
    lines = [b"short", b"l" * (3 * BLOCK + 7), b"", b"m" * BLOCK, b"last"]
    blocks = list(Source(file(b"\n".join(lines))).blocks())
    assert b"\n".join(block for _, block in blocks) == b"\n".join(lines)
    starts = [1 + sum(block.count(b"\n") + 1 for _, block in blocks[:place]) for place in range(len(blocks))]
    assert [first for first, _ in blocks] == starts


@pytest.mark.parametrize(("fault", "zipped"), [*((fault, False) for fault in FAULTS), ("five fields", True)])
def test_a_broken_trec_line_within_a_large_file_is_named(file, fault, zipped):
    what, broken, message = FAULTS[fault]
    good = [GOOD_RUN % (n, n, n) if what == "run" else b"q1 0 d%d 1\n" % n for n in range(1, 60_001)]
    content = b"".join([*good[:56_000], broken, *good[56_000:]])  # beyond the first block that is read
    path = file(gzip.compress(content, 1) if zipped else content)
    with pytest.raises(InputError) as error:
        read_run(path) if what == "run" else read_qrels(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:56001: ")
    assert (error.value.path, error.value.line) == (path, 56001)
    if what == "run":  # the readers of large files say the same, with a cut-off and without
        with pytest.raises(InputError, match=":56001: "):
            evaluate({"q1": {"d5": 1}}, path, "P@5")
        for depth in (5, None):
            with pytest.raises(InputError) as again:
                rankings(path, {"q1": {"d5": 1}}, depth, large=0)
            assert str(again.value) == str(error.value)


OTHER_FAULTS = {
    "jsonl: not JSON": ("run", b'{"query_id": "a", "results": []}\n{"query_id": \n', 2, "not JSON (Expecting value"),
    "jsonl: no key": ("run", b'{"query_id": "a", "relevant_texts": []}\n', 1, "no key 'ranked_results' nor 'results'"),
    "jsonl: no query": ("qrels", b'{"query_id": "", "relevant_texts": []}', 1, "an empty query_id"),
    "jsonl: twice": ("run", b'{"query_id": "a", "results": ["x", "x"]}\n', 1, "text 'x' occurs twice in 'results'"),
    "jsonl: query twice": ("run", b'{"query_id": 1, "results": []}\n{"query_id": "1", "results": []}', 2, "query '1' "),
    "jsonl: bad id": ("run", b'{"query_id": 1, "results": [null]}', 1, "the text_id None is a JSON null"),
    "jsonl: no grade": ("qrels", b'{"query_id": 1, "relevant_texts": [{"text_id": "a"}]}', 1, "has none of the keys"),
    "jsonl: NaN score": (
        "run",
        b'{"query_id": "1", "results": [{"text_id": "a", "score": NaN}]}',
        1,
        "the score is NaN",
    ),
    "jsonl: text score": ("run", b'{"query_id": "1", "results": [{"text_id": "a", "score": "x"}]}', 1, "not a number"),
    "jsonl: NaN": ("qrels", b'{"query_id": 1, "relevant_texts": {"a": NaN}}', 1, "the grade nan is not a finite"),
    "jsonl: a list": ("qrels", b'{"query_id": 1, "relevant_texts": []}\n[]', 2, "a JSON list, a line is an object"),
    "jsonl: half a character": ("run", b'{"query_id": 1, "results": ["\\ud800"]}', 1, "half a character"),
    "rows: twice": (
        "run",
        b'{"qid": "a", "docno": "x", "score": 1}\n{"qid": "a", "docno": "x", "score": 2}\n',
        2,
        "query 'a', document 'x' occurs in the file before",
    ),
    "rows: text": ("run", b'{"qid": "a", "docno": "x", "score": "1"}\n', 1, "the score '1' is not a number"),
    "rows: no score": ("run", b'{"qid": "a", "docno": "x", "relevance": 1}\n', 1, "no 'score', which a run file has"),
    "json: syntax": ("run", b'{"a": {"x": 1},\n "b": {"x": }\n}', 2, "not JSON (Expecting value"),
    "json: key twice": (
        "run",
        b'{"x": {"x": 1},\n"a": {"y": {}, "x": 1,\n"x": 2},\n"x": {}}',
        3,
        "the key 'x' occurs twice in one JSON object",
    ),
    "json: query twice": ("run", b'{"a": {"x": 1}, "b": {"a": 1},\n "a" : {}}', 2, "the key 'a' occurs twice"),
    "json: key twice, deep": ("run", b'{"a": {"x": {"y": 1, "y": 2}}}', None, "the key 'y' occurs twice"),
    "json: number": ("run", b'{"a": {"x": 1},\n\n"b": 5}', 3, "query 'b': a JSON number, expected an object"),
    "json: NaN": ("run", b'{"a":\n{"x": NaN}}', 2, "query 'a': document 'x': the score is NaN"),
    "json: score": ("run", b'{"a": {"x": 1, "y": [{}]},\n"b": {}}', 1, "document 'y': the score [{}] is not a number"),
    "json: grade": (
        "qrels",
        b'{"a": {"x": 1},\n"b": {"x": 1 ,\n\t"\\u0079": null}}',
        3,
        "document 'y': the grade None",
    ),
    "json: list": ("run", b'{"a": {"x": 1},\n"b": ["x",\n"x"]}', 2, "document 'x' occurs twice in the list"),
    "json: no UTF-8": ("run", b'{"a":\n{"\xff": 1}}', 2, "not UTF-8: byte 0xff"),
    "beir: fields": ("qrels", b"query-id\tcorpus-id\tscore\na\tb\n", 2, "2 fields, a line has 3, separated by tabs"),
    "beir: empty": ("qrels", b"query-id\tcorpus-id\tscore\n\tb\t1\n", 2, "an empty id"),
    "csv: fields": ("qrels", b"qid,docno,rel\na,b,1\na,c\n", 3, "2 fields, the header has 3"),
    "csv: many lines": ("qrels", b'qid,docno,rel\n"a\nb",c,1\na,c,x\n', 4, "the grade 'x' is not a finite number"),
    "trec: 1_0": ("run", b"q_1 Q0 d_1 1 2.5 t_1\nq_1 Q0 d_2 1 1_0 t_1\n", 2, "the score '1_0' is not a number"),
    "trec: 1_0 beyond ASCII": ("run", "q_1 Q0 é_1 1 1_0.5 t_1\n".encode(), 1, "the score '1_0.5' is not a number"),
    "beir: 1_0": ("qrels", b"query-id\tcorpus-id\tscore\na\tb\t1_0\n", 2, "the grade '1_0' is not a finite number"),
    "csv: 1_0": ("run", b"qid,docno,score\na,b,1\na,c,1_0\n", 3, "the score '1_0' is not a number"),
    "tsv: 1_0": ("qrels", b"qid\tdocno\trel\na\tb\t1.5_0\n", 2, "the grade '1.5_0' is not a finite number"),
    "csv: quotes": ("qrels", b'qid,docno,rel\na,"b"c,1\n', 2, "not CSV: ',' expected after '\"'"),
    "csv: open quote": (
        "qrels",
        b'qid,docno,rel\na,b,1\n"a\n",c,"1"\n"a\n""x","c""\n,1\na,d,2\n',
        6,
        "a quote opens in this line, and nothing closes it",
    ),
    "csv: no number": ("run", b"qid,docno,rel\na,b,1\n", 1, "no 'score', which a run file has; there is 'qid'"),
}


@pytest.mark.parametrize("fault", OTHER_FAULTS)
def test_what_is_wrong_is_said_with_file_and_line(file, fault):
    what, content, line, message = OTHER_FAULTS[fault]
    path = file(content)
    with pytest.raises(InputError) as error:
        read_run(path) if what == "run" else read_qrels(path)
    assert message in str(error.value)
    assert error.value.line == line
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_a_file_of_no_format_lists_the_formats(file):
    with pytest.raises(InputError, match="the format cannot be told from name and content") as error:
        read_run(file(b"hello\nworld\n"))
    assert all(f"\n  {name}: " in str(error.value) for name in formats())
    with pytest.raises(InputError, match="the file is empty"):
        read_run(file(b" \n"))
    assert read_run(file(b"", "empty.run")) == {}
    with pytest.raises(ParamError, match=r"unknown format 'trek'\. Did you mean trec"):
        read_run(file(b""), "trek")


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (
            b"q1 0 a\nq1 0 b 1\n",
            ":1: the format cannot be told from name and content; this line has 3 fields: 'q1 0 a'\n",
        ),
        (
            b"# said\n\nq1\nq1 0 b 1\n",
            ":3: the format cannot be told from name and content; this line has 1 field: 'q1'",
        ),
        (b"# said\n", ": the format cannot be told from name and content: there are only comments at its start\n"),
    ],
)
def test_a_first_line_that_fits_no_format_is_shown(file, content, start):
    path = file(content)
    with pytest.raises(InputError) as error:
        read_qrels(path)
    assert str(error.value).startswith(f"{path}{start}")


def test_a_field_of_a_csv_file_may_be_long(file):
    limit = csv.field_size_limit()
    text = "b" * 200_000
    assert read_qrels(file(f"qid,docno,rel\na,{text},1\n".encode())) == {"a": {text: 1}}
    with pytest.raises(InputError, match=":2: 2 fields, the header has 3"):
        read_qrels(file(f"qid,docno,rel\na,{text}\n".encode()))
    assert csv.field_size_limit() == limit


def test_unreadable_files_are_input_errors(tmp_path, file):
    for path, reason in ((tmp_path / "absent", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=reason):
            read_run(path)
    whole = gzip.compress(QRELS_FILES["trec"] * 1000)
    for broken in (whole[:-20], whole[:40] + b"xxxx" + whole[44:]):
        with pytest.raises(InputError, match="a broken gzip file"):
            read_qrels(file(broken))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(RUN_FILES["trec"],))
    writer.start()
    assert read_run(path) == RUN
    writer.join()


@pytest.mark.parametrize("name", formats())
def test_what_is_written_is_read_again(file, name):
    if name == "parquet":
        pytest.importorskip("duckdb")
    content, notes = formatted(QRELS, "qrels", name)
    assert (read_qrels(file(content), name), notes) == (QRELS, [])
    content, notes = formatted(RUN, "run", name)
    found = read_run(file(content), name)
    if name == "jsonl":
        assert found == {query_id: list(group) for query_id, group in RUN.items()}
        assert "scores are written, but not read back" in notes[0]
    else:
        assert (found, notes) == (RUN, [])


def test_a_list_becomes_falling_scores_and_it_is_said():
    content, notes = formatted({"q": ["b", "a"], "r": []}, "run", "trec")
    assert content == b"q Q0 b 1 2 permed\nq Q0 a 2 1 permed\n"
    assert notes == [
        "the order is the ranking: the first of n documents is written with score n, the last with 1",
        "left out, as this format has no line for a query without documents: 'r'",
    ]
    assert formatted({"q": ["b", "a"], "r": []}, "run", "json") == (b'{\n"q": ["b", "a"],\n"r": []\n}\n', [])


def test_ids_that_a_format_cannot_hold_are_refused():
    for name, wrong in (("trec", "a b"), ("beir", "a\tb"), ("csv", "a\rb")):
        with pytest.raises(InputError, match=r"cannot hold"):
            formatted({"q": {wrong: 1}}, "qrels", name)
    with pytest.raises(InputError, match="its lines would be comments"):
        formatted({"#q": {"a": 1}}, "qrels", "trec")


MEASURES = ("AP@10 nDCG@10 P@1 GWAP@10 Success@5", "AP nDCG Rprec RR Bpref GWAP ListNDCG@3 NumRet SetP P@150")


@pytest.mark.parametrize("measures", MEASURES)
@pytest.mark.parametrize("name", ["trec", "csv", "tsv", "beir", "jsonl-rows", "parquet"])
def test_the_engine_and_the_plain_reader_find_the_same(file, name, measures, monkeypatch):
    pytest.importorskip("duckdb")
    import random

    rng = random.Random(5)
    scores = [1, 2.5, -0.0, 0.0, float("inf"), 1e-50, 0.1, 0.1 + 1e-9, -3]  # many ties, some only in 32 bits
    docs = [f"d{n}" for n in range(150)] + ["é", "Z", "z", "\U0001f600", "\uffee"]
    grades = [0, 1, 2, -1]
    qrels = {f"q{n}": {doc: rng.choice(grades) for doc in rng.sample(docs, 20)} for n in range(40)}
    run = {f"q{n}": {doc: rng.choice(scores) for doc in rng.sample(docs, rng.randrange(1, 150))} for n in range(3, 43)}
    path = file(formatted(run, "run", name)[0], f"run.{name}")
    plain = evaluate(qrels, read_run(path), measures)
    monkeypatch.setitem(rankings.__kwdefaults__, "large", 0)
    assert rankings(path, qrels, 10) is not None
    by_engine = evaluate(qrels, path, measures)
    assert by_engine.columns.keys() == plain.columns.keys()
    for measure, column in plain.columns.items():  # over columns a sum has another order than within one query
        assert by_engine.columns[measure] == pytest.approx(column, abs=1e-12, rel=0)
    assert by_engine.notes == plain.notes


UNTIDY = {
    "two spaces": lambda data: data.replace(b" ", b"  "),
    "tabs": lambda data: data.replace(b" ", b"\t"),
    "mixed": lambda data: data.replace(b" Q0 ", b"\tQ0 "),
    "comments": lambda data: b"# first\n" + data.replace(b"\nq1 ", b"\n# then\nq1 ", 1),
    "numbered comments": lambda data: b"# 1 2 3 4.5 x\n" + data,
    "blank lines": lambda data: data.replace(b"\n", b"\n\n"),
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress,
    "bom": lambda data: b"\xef\xbb\xbf" + data,
    "edges": lambda data: data.replace(b"\n", b" \n  "),
    "tag with quotes": lambda data: data.replace(b" t\n", b' "t\n'),
}


@pytest.mark.parametrize("way", UNTIDY)
@pytest.mark.parametrize("depth", [2, None])
def test_the_engine_reads_untidy_files(file, way, depth):
    pytest.importorskip("duckdb")
    tidy = b"".join(b"q%d Q0 d%d %d %f t\n" % (q, d, d, (q * d) % 7) for q in range(4) for d in range(9))
    qrels = {f"q{n}": {"d3": 1, "d5": 2, "z": 1} for n in range(5)}
    found = rankings(file(UNTIDY[way](tidy)), qrels, depth, large=0)
    expected = rankings(file(tidy), qrels, depth, large=0)
    assert found is not None
    assert expected is not None
    assert {q: (r.ranked, r.num_ret) for q, r in found.items()} == {
        q: (r.ranked, r.num_ret) for q, r in expected.items()
    }
    # q1 has the scores d % 7: 0 1 2 3 4 5 6 0 1, so d5 stands at rank 2 and d3 at rank 4
    assert found["q1"].ranked == ([(2, 2)] if depth else [(2, 2), (4, 1)])
    assert found["q1"].num_ret == 9


def test_small_files_and_lists_are_left_to_the_plain_reader(file):
    assert rankings(file(RUN_FILES["trec"]), QRELS, 10) is None
    lists = json.dumps({"query_id": "q1", "results": ["a"]}).encode()
    assert rankings(file(lists), QRELS, 10, large=0) is None


MORE_FIELDS = b"q1 Q0 a 1 2.5 tag more junk at\nq1\tQ0\tb\t2\t1.5\ttag\nq1 Q0 c 3 0.5 tag end\n"


@pytest.mark.parametrize("large", [LARGE, 0])
def test_fields_after_the_tag_of_a_run_are_ignored_and_counted(file, monkeypatch, large):
    path = file(MORE_FIELDS, "results.trunc")
    monkeypatch.setitem(rankings.__kwdefaults__, "large", large)
    assert read_run(path) == {"q1": {"a": 2.5, "b": 1.5, "c": 0.5}}
    for measures in ("RR@10", "AP"):
        found = evaluate({"q1": {"b": 1}}, path, measures)
        assert list(found.means.values()) == [1 / 2]
        assert "2 lines have fields after the tag of the run, which are ignored, as trec_eval does" in found.notes
    assert not any(
        "after the tag" in note for note in evaluate({"q1": {"a": 1}}, file(GOOD_RUN % (1, 1, 1)), "P@1").notes
    )


def test_a_document_named_in_two_words_is_not_taken_for_more_fields(file):
    path = file(b"q1 Q0 my doc.txt 1 0.5 tag\n", "a.run")
    with pytest.raises(InputError, match=r":1: 7 fields, a run line has 6, and more only where the fourth is a rank"):
        read_run(path)


@pytest.mark.parametrize("line", [b"1 2 3 4 5 6 7 8", b"2 qid:1 1:3 2:3 3:0 4:1 5:1", b"a text of 7 words or more"])
def test_a_line_of_many_words_is_no_run(file, line):
    with pytest.raises(InputError, match="the format cannot be told"):
        read_run(file(line + b"\n", "unknown"))


@pytest.mark.parametrize(
    ("start", "end"),
    [(b'{"q1": ', b'{"a": 1}}'), (b"query_id,doc_id,score\n", b"q1,a,1\n"), (b"q1 Q0 a 1 ", b"2.5 t\n")],
)
def test_a_gzip_file_that_would_fill_the_memory_is_refused(file, monkeypatch, start, end):
    monkeypatch.setattr("permed_measures.files.source._HELD", 1 << 20)
    path = file(gzip.compress(start + b" " * (4 << 20) + end), "run.json.gz")
    assert path.stat().st_size * 100 < 1 << 20
    with pytest.raises(InputError, match=r"MB in [\d,]+ bytes of gzip; if that is meant, unpack it first"):
        read_run(path)
    lines = b"".join(b"q1 Q0 d%d 1 2.5 t\n" % n for n in range(100_000))  # as large, but line by line
    assert len(read_run(file(gzip.compress(lines), "run.gz"))["q1"]) == 100_000


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux'")
def test_a_gzip_file_of_white_space_takes_little_memory(file):
    path = file(b"", "run.json.gz")
    with gzip.open(path, "wb", 9) as bomb:
        for piece in (b'{"q1": ', *[b" " * (1 << 20)] * 400, b'{"a": 1}}'):
            bomb.write(piece)
    code = (
        "import sys; from permed_measures import InputError, read_run\n"
        "try: read_run(sys.argv[1])\n"
        "except InputError: print(open('/proc/self/status').read())"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    (highest,) = re.findall(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(highest) < 250_000


def test_the_wrong_line_of_a_large_run_is_found_without_keeping_the_run(file, monkeypatch):
    lines = [b"q%d Q0 d%d 1 %d.5 t\n" % (n // 100, n, 500 - n % 100) for n in range(50_000)]
    path = file(b"".join([*lines, b"q500 Q0 d 1 oops t\n"]))
    monkeypatch.setattr("permed_measures.files.trec.read", lambda *_: pytest.fail("the whole file was read"))
    for depth in (10, None):
        with pytest.raises(InputError, match=r":50001: the score 'oops' is not a number"):
            rankings(path, {"q1": {"d1": 1}}, depth, large=0)
    twice = file(b"".join([*lines, b"q500 Q0 d 1 1.5 t\nq500 Q0 d 1 0.5 t\n"]))
    for depth in (10, None):
        with pytest.raises(InputError, match=r":50002: query 'q500', document 'd' occurs in line 50001 already"):
            rankings(twice, {"q1": {"d1": 1}}, depth, large=0)
    apart = file(b"".join([*lines, b"q0 Q0 d1 1 1.5 t\n"]))  # its query is in another block
    monkeypatch.setattr("permed_measures.files.blocks._BLOCK", 1 << 12)
    for depth in (10, None):
        with pytest.raises(InputError, match=r":50001: query 'q0', document 'd1' occurs in line 2 already"):
            rankings(apart, {"q1": {"d1": 1}}, depth, large=0)


LAST_LINES = {
    "no number": ("q9", "d5", "abc"),
    "NaN": ("q9", "d5", "nan"),
    "twice": ("q9", "d3", "0.25"),
    "no document": ("q9", "", "0.25"),
    "no query": ("", "d5", "0.25"),
    "a field too many": ("q9", "d5", "0.25", "7"),
    "a field too few": ("q9", "d5"),
    "not UTF-8": ("q9", "d\udcff", "0.25"),
    "cut off": ("q9", '"', "0.25"),
}


def _written(name, rows):
    if name == "jsonl-rows":
        keys = ("query_id", "doc_id", "score", "score")
        pairs = (", ".join(f'"{key}": {_json(key, field)}' for key, field in zip(keys, row)) for row in rows)  # noqa: B905  (some rows are short)
        text = "".join(f"{{{line}}}\n" for line in pairs)
    elif name == "trec":
        text = "".join(" ".join((row[0], "Q0", row[1], "1", *row[2:3], "t", *row[3:])) + "\n" for row in rows)
    else:
        text = "".join(",".join(row) + "\n" for row in (("qid", "docno", "score"), *rows))
    return text.encode(errors="surrogateescape")


def _json(key, field):
    return f'"{field}"' if key != "score" or field == "abc" else field.replace("nan", "NaN")


@pytest.mark.parametrize("fault", LAST_LINES)
@pytest.mark.parametrize("name", ["trec", "csv", "jsonl-rows"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("depth", [2, None])
def test_what_is_wrong_with_a_large_file_is_found_without_keeping_it(file, fault, name, suffix, depth):
    pytest.importorskip("duckdb")
    if (name, fault) in {("trec", "a field too many"), ("trec", "cut off")}:
        return  # none of them is: what follows the tag is ignored, and a quote is a character
    if (name, fault) == ("csv", "cut off"):
        return  # engines differ on quotes: the plain reader takes such a file
    rows = [(f"q{query}", f"d{doc}", f"{9 - doc}.5") for query in range(10) for doc in range(4)]
    content = _written(name, [*rows, LAST_LINES[fault]])
    path = file(gzip.compress(content) if suffix else content, f"run{suffix}")
    with pytest.raises(InputError) as plain:
        read_run(path)
    with pytest.raises(InputError) as found:
        rankings(path, {"q9": {"d1": 1}}, depth, large=0)
    assert str(found.value) == str(plain.value)
