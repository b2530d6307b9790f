"""Files and shapes as they come: columns of any name, rows that occur twice, packed files, arrays, chunks."""

import bz2
import csv
import gzip
import io
import json
import lzma
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permed_measures import InputError, ParamError, evaluate, files, read_qrels, read_run
from permed_measures.cli import main as run_tool
from permed_measures.files import large

_ids = st.sampled_from(["a", "b", "c", "d", "é", "x y", "-1"])
_rows = st.lists(st.tuples(st.sampled_from(["p", "q"]), _ids, st.integers(-3, 3)), min_size=1, max_size=12)


class Judgement(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


def main(arguments):
    with pytest.raises(SystemExit) as ended:
        run_tool(arguments)
    return ended.value.code


def _kept(rows, duplicates):
    """Keep one row of each query and document, by the definition."""
    found = {}
    for query, doc, number in rows:
        group = found.setdefault(query, {})
        if doc not in group or (duplicates == "max" and number > group[doc]):
            group[doc] = number
    return found


def _csv(rows, names, delimiter=","):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])
    return text.getvalue().encode()


def _jsonl(rows, names):
    return b"".join(json.dumps(dict(zip(names, row, strict=True))).encode() + b"\n" for row in rows)


def _trec(rows, what):
    middle = "0 {d} {n}" if what == "qrels" else "Q0 {d} 1 {n} tag"
    return "".join(f"{q} {middle.format(d=d.replace(' ', '_'), n=n)}\n" for q, d, n in rows).encode()


WRITERS = {
    "csv": lambda rows, names, _: _csv(rows, names),
    "tsv": lambda rows, names, _: _csv(rows, names, "\t"),
    "jsonl": lambda rows, names, _: _jsonl(rows, names),
    "trec": lambda rows, _, what: _trec(rows, what),
}
NAMES = {"qrels": ("query_id", "doc_id", "relevance"), "run": ("query_id", "doc_id", "score")}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("duplicates", ["first", "max"])
@given(rows=_rows)
@settings(max_examples=25)
def test_one_row_of_a_document_is_kept_in_every_format_and_in_memory(rows, duplicates, what, form, tmp_path_factory):
    if form == "trec":
        rows = [(query, doc.replace(" ", "_"), number) for query, doc, number in rows]
    path = tmp_path_factory.mktemp("rows") / "file"
    path.write_bytes(WRITERS[form](rows, NAMES[what], what))
    read = read_qrels if what == "qrels" else read_run
    expected = _kept(rows, duplicates)
    assert read(path, duplicates=duplicates) == expected
    in_memory = [dict(zip(NAMES[what], row, strict=True)) for row in rows]
    assert read(in_memory, duplicates=duplicates) == expected
    if len({row[:2] for row in rows}) < len(rows):
        for source in (path, in_memory):
            with pytest.raises(InputError, match=r"occurs .*before|occurs in line .* already"):
                read(source)
    else:
        assert read(path) == expected


@given(rows=_rows, duplicates=st.sampled_from(["first", "max"]), order=st.sampled_from(["float32", "float64"]))
@settings(max_examples=30)
def test_tables_and_memory_mean_the_same_by_duplicates(rows, duplicates, order):
    polars = pytest.importorskip("polars", reason="polars is an extra")
    from permed_measures import evaluate_tables

    judged = [(query, doc, abs(number) % 3) for query, doc, number in reversed(rows)]
    frames = [
        polars.DataFrame(table, schema=list(NAMES[what]), orient="row")
        for what, table in (("qrels", judged), ("run", rows))
    ]
    options = {"duplicates": duplicates, "order": order}
    found = evaluate(*frames, "nDCG@3 RR P@2", **options)
    by_table = evaluate_tables(*frames, "nDCG@3 RR P@2", **options).sort("query_id").rows()
    expected = [[column.get(row[0]) for column in found.columns.values()] for row in by_table]
    assert [pytest.approx(values) for values in expected] == [list(row[1:]) for row in by_table]
    assert (
        found.means == evaluate(_kept(judged, duplicates), _kept(rows, duplicates), "nDCG@3 RR P@2", order=order).means
    )


def test_lists_keep_the_first_place():
    run = {"q": ["b", "a", "b", "a"]}
    for duplicates in ("first", "max"):
        assert (
            evaluate({"q": ["a", "a"]}, run, "RR P@2", duplicates=duplicates).means
            == evaluate({"q": {"a": 1}}, {"q": ["b", "a"]}, "RR P@2").means
        )
    with pytest.raises(InputError, match="occurs twice in the list"):
        evaluate({"q": {"a": 1}}, run, "RR")
    with pytest.raises(ParamError, match="duplicates='last' is not allowed; give one of 'error', 'first', 'max'"):
        evaluate({"q": {"a": 1}}, run, "RR", duplicates="last")


@pytest.mark.parametrize("duplicates", ["first", "max"])
def test_no_score_that_is_nan_vanishes_among_duplicates(duplicates):
    rows = [{"qid": "q", "docno": "a", "score": 1.0}, {"qid": "q", "docno": "a", "score": float("nan")}]
    with pytest.raises(InputError, match="query 'q', document 'a': the score is NaN"):
        evaluate({"q": {"a": 1}}, rows, "RR", duplicates=duplicates)


def test_subtopics_are_duplicates_to_other_measures():
    qrels = [Judgement("q", "a", 1, "1"), Judgement("q", "a", 2, "2"), Judgement("q", "b", 1, "1")]
    run = {"q": ["a", "b"]}
    with pytest.raises(InputError, match="judged for several subtopics"):
        evaluate(qrels, run, "GWAP")
    assert evaluate(qrels, run, "GWAP", duplicates="max")["GWAP"] == (1 * 1.0 + 1 * 0.5) / 2
    assert evaluate(qrels, run, "GWAP", duplicates="first")["GWAP"] == (1 * 0.5 + 1 * 0.5) / 2


def _large_run(folder, form):
    """Write a run of 300 queries in which the better score of one document comes second."""
    rows = [(f"q{q:03}", f"d{d}", 1000 - d) for q in range(300) for d in range(20)]
    rows[25:25] = [("q001", "d7", 1)]
    path = folder / f"large.{form}"
    path.write_bytes(WRITERS[form](rows, NAMES["run"], "run"))
    return path, rows


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("depth", [5, None])
@pytest.mark.parametrize("compiled", [True, False])
def test_large_files_keep_the_same_or_leave_it_to_the_plain_reader(form, depth, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_SMALL", 0)
    if not compiled:
        monkeypatch.setattr(large, "_reader", lambda: None)
    path, rows = _large_run(tmp_path, form)
    qrels = {f"q{q:03}": {"d7": 1} for q in range(300)}
    source = files.source.Source(path, duplicates="max")
    assert large.rankings(source, qrels, depth, large=0) is None
    assert files.read_run(source) == _kept(rows, "max")
    with pytest.raises(InputError, match=r"query 'q001', document 'd7' occurs"):
        large.rankings(path, qrels, depth, large=0)
    path.write_bytes(WRITERS[form](rows[:25] + rows[26:], NAMES["run"], "run"))
    fast = large.rankings(files.source.Source(path, duplicates="max"), qrels, depth, large=0)
    if fast is not None:  # without the compiled part, TREC files with such an option are left to the plain reader
        assert {query: view.ranked for query, view in fast.items()} == {
            query: [] if depth else [(8, 1)] for query in qrels
        }
    assert (fast is not None) == (compiled or form != "trec")


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@given(rows=_rows)
@settings(max_examples=25)
def test_columns_may_have_any_name(rows, form, tmp_path_factory):
    rows = list({row[:2]: row for row in rows}.values())
    names = ("topic", "page", "bm25")
    path = tmp_path_factory.mktemp("rows") / "file"
    path.write_bytes(WRITERS[form](rows, names, "run"))
    assert read_run(path, columns=names) == read_qrels(path, columns=names) == _kept(rows, "first")
    nearer = {query: {doc: -number for doc, number in group.items()} for query, group in _kept(rows, "max").items()}
    assert read_run(path, columns=("topic", "page", "-bm25")) == nearer
    assert read_run([dict(zip(names, row, strict=True)) for row in rows], columns=("topic", "page", "-bm25")) == nearer
    with pytest.raises(InputError, match=r"no 'bm26', which the columns of the run were said to have"):
        read_run(path, columns=("topic", "page", "bm26"))


def test_large_files_have_columns_of_any_name_too(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_SMALL", 0)
    rows = [(f"q{q}", f"d{d}", d) for q in range(50) for d in range(30)]
    for form in ("csv", "tsv", "jsonl"):
        path = tmp_path / form
        path.write_bytes(WRITERS[form](rows, ("topic", "page", "far"), "run"))
        qrels = {f"q{q}": {"d7": 1} for q in range(50)}
        said = {sign: files.source.Source(path, columns=("topic", "page", f"{sign}far")) for sign in ("", "-")}
        found = large.rankings(said[""], qrels, None, large=0)
        assert found is not None
        assert {view.ranked[0] for view in found.values()} == {(23, 1)}
        assert large.rankings(said["-"], qrels, None, large=0) is None
        assert evaluate(qrels, said["-"], "RR")["RR"] == 1 / 8


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (("a", "b"), "give three names: query, document, relevance"),
        ("abc", "give three names"),
        (("a", "b", ""), "give three names"),
        (("a", "b", "-c"), "a minus says that smaller is better, which no grade is"),
    ],
)
def test_columns_are_three_names(columns, match):
    with pytest.raises(ParamError, match=match):
        read_qrels([{"a": "q", "b": "d", "c": 1}], columns=columns)


def test_columns_are_no_columns_of_a_format_without_names(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"q": {"d": 1}}')
    with pytest.raises(ParamError, match="the format json has none with names; leave them out"):
        read_run(path, "json", columns=("a", "b", "c"))


def test_hugging_face_qrels_are_known(tmp_path):
    rows = [("1", "d1", 2), ("1", "d2", 0)]
    for names in (("query-id", "corpus-id", "score"), ("query_id", "corpus_id", "score")):
        (tmp_path / "qrels.csv").write_bytes(_csv(rows, names))
        (tmp_path / "qrels.jsonl").write_bytes(_jsonl(rows, names))
        for source in (
            tmp_path / "qrels.csv",
            tmp_path / "qrels.jsonl",
            [dict(zip(names, r, strict=True)) for r in rows],
        ):
            assert read_qrels(source) == {"1": {"d1": 2, "d2": 0}}
            assert read_run(source) == {"1": {"d1": 2.0, "d2": 0.0}}
    with pytest.raises(InputError, match="no 'relevance' nor 'label'"):  # a run in place of qrels is none
        read_qrels([{"query_id": "1", "doc_id": "d1", "score": 2}])


def test_frames_of_others_are_known():
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is an extra")
    trectools = {"query": ["7", "7"], "q0": ["Q0", "Q0"], "docid": ["a", "b"]}
    qrels = pandas.DataFrame({**trectools, "rel": [0, 1]})
    run = pandas.DataFrame({**trectools, "rank": [1, 2], "score": [0.1, 0.2], "system": ["s", "s"]})
    assert evaluate(qrels, run, "RR")["RR"] == 1.0
    terrier = pandas.DataFrame({"qid": ["7"], "query": ["a text"], "docno": ["b"], "docid": [3], "score": [1.0]})
    assert read_run(terrier) == {"7": {"b": 1.0}}
    beir = {"query-id": ["7"], "corpus-id": ["b"], "score": [1]}
    assert read_qrels(arrow.table(beir)) == read_qrels(pandas.DataFrame(beir)) == {"7": {"b": 1}}
    with pytest.raises(InputError, match="no 'query_id'"):  # a text beside doc_id is no id
        read_run(pandas.DataFrame({"query": ["a text"], "doc_id": ["b"], "score": [1.0]}))


def _zstd(data):
    return pytest.importorskip("zstandard", reason="zstandard is an extra").ZstdCompressor().compress(data)


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": _zstd}


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("form", WRITERS)
def test_files_may_be_packed(form, suffix, tmp_path, monkeypatch):
    rows = [(f"q{q}", f"d{d}", d) for q in range(40) for d in range(20)]
    path = tmp_path / f"run.{form}{suffix}"
    path.write_bytes(PACKED[suffix](WRITERS[form](rows, NAMES["run"], "run")))
    assert read_run(path) == _kept(rows, "first")
    monkeypatch.setattr(large, "_SMALL", 0)
    monkeypatch.setattr(large, "LARGE", 0)
    qrels = {f"q{q}": {"d7": 1} for q in range(40)}
    assert evaluate(qrels, path, "RR")["RR"] == evaluate(qrels, _kept(rows, "first"), "RR")["RR"] == 1 / 13


@pytest.mark.parametrize("suffix", PACKED)
@given(cut=st.integers(7, 60), byte=st.integers(0, 255), at=st.integers(7, 60))
@settings(max_examples=20)
def test_broken_packed_files_are_said_to_be(suffix, cut, byte, at, tmp_path_factory):
    whole = PACKED[suffix](_trec([("q", f"d{d}", d) for d in range(50)], "run"))
    path = tmp_path_factory.mktemp("packed") / f"run.trec{suffix}"
    path.write_bytes(whole[: min(cut, len(whole) - 1)])
    with pytest.raises(InputError, match=r"broken|cannot be told|empty|field"):
        read_run(path)
    changed = bytearray(whole)
    changed[at] = byte
    path.write_bytes(changed)
    try:
        read_run(path)
    except InputError:
        return
    assert changed == whole or at < 12 or suffix in (".gz", ".zst")  # a name or time in its head; no check sum


def test_files_are_packed_as_their_names_say(tmp_path):
    source = tmp_path / "run.trec"
    source.write_bytes(_trec([("q", "a", 2), ("q", "b", 1)], "run"))
    for suffix in PACKED:
        target = tmp_path / f"run.csv{suffix}"
        assert main(["convert", str(source), str(target)]) == 0
        assert target.read_bytes()[:2] == PACKED[suffix](b"x")[:2]
        assert read_run(target) == {"q": {"a": 2.0, "b": 1.0}}


def test_the_shell_says_it_in_the_same_words(tmp_path, capsys):
    rows = [("q", "b", 3), ("q", "a", 1), ("q", "a", 4)]
    run, qrels = tmp_path / "run.csv", tmp_path / "qrels.csv"
    run.write_bytes(_csv(rows, ("topic", "page", "bm25")))
    qrels.write_bytes(_csv([("q", "a", 1)], ("topic", "page", "label")))
    given = [str(qrels), str(run), "-m", "RR"]
    named = ["--qrels-columns", "topic,page,label", "--run-columns", "topic,page,bm25"]
    for duplicates, sign, value in (("max", "", "1.0000"), ("first", "", "0.5000"), ("first", "-", "1.0000")):
        options = [*named[:-1], f"topic,page,{sign}bm25", "--duplicates", duplicates]
        assert main(["eval", *given, *options]) == 0
        assert value in capsys.readouterr().out
        assert main(["gate", str(qrels), str(run), f"RR=={value}", *options]) == 0
        capsys.readouterr()
        assert (
            main(["compare", str(qrels), str(run), str(run), "-m", "RR", *options, "--name", "one", "--name", "two"])
            == 0
        )
        assert value in capsys.readouterr().out
    assert main(["eval", *given, *named]) == 2
    assert "say which counts: duplicates='first' or 'max' (in the shell --duplicates)" in capsys.readouterr().err
