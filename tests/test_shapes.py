"""Files and shapes as they come: columns of any name, rows that occur twice, packed files, arrays, chunks."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
from math import log2
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permed_measures import (
    InputError,
    ParamError,
    collapse,
    evaluate,
    evaluate_lists,
    files,
    read_qrels,
    read_run,
    run_from_arrays,
    score,
)
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
    with pytest.raises(ParamError, match="duplicates='last' is not allowed"):  # beside dicts, which have none, too
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR", duplicates="last")


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


LISTS = {"q1": [1, 0, 1], "q2": [1, 1, 0], "q3": [0, 1, 1]}
_lists = st.dictionaries(
    st.text("abq1_é", min_size=1, max_size=3),
    st.lists(st.sampled_from([0, 1, 2, 0.5]), max_size=6),
    min_size=1,
    max_size=4,
)


def _list_files(lists, folder):
    rows = [(query, rank, grade) for query, listed in lists.items() for rank, grade in enumerate(listed, 1)]
    (folder / "a.json").write_text(json.dumps(lists))
    (folder / "b.jsonl").write_bytes(_jsonl(list(lists.items()), ("query_id", "relevance")))
    (folder / "c.jsonl").write_bytes(_jsonl(rows, ("qid", "rank", "label")))
    (folder / "d.csv").write_bytes(_csv(reversed(rows), ("query_id", "rank", "relevance")))
    (folder / "e.csv.xz").write_bytes(lzma.compress(_csv([(q, g) for q, _, g in rows], ("query_id", "grade"))))
    (folder / "f.json").write_text(
        json.dumps([{"query_id": query, "relevance": listed} for query, listed in lists.items()])
    )
    return sorted(folder.iterdir())


@given(lists=_lists)
@settings(max_examples=30)
def test_relevance_lists_are_one_thing_in_every_shape(lists, tmp_path_factory):
    asked = "ListAP@3 ListNDCG P@2 RR Success@3"
    found = evaluate_lists(lists, asked)
    run = {query: [f"d{place:02}" for place in range(len(listed))] for query, listed in lists.items()}
    qrels = {query: dict(zip(run[query], listed, strict=True)) for query, listed in lists.items()}
    assert found.columns == evaluate(qrels, run, asked).columns  # the TREC way
    assert not any("a list tells nothing" in note for note in found.notes)
    for path in _list_files(lists, tmp_path_factory.mktemp("lists")):
        full = {query: listed for query, listed in lists.items() if listed or path.name[0] in "abf"}
        if full:
            read = evaluate_lists(path, asked)
            assert {m: dict(c) for m, c in read.columns.items()} == {
                m: {q: c[q] for q in full} for m, c in found.columns.items()
            }


@given(
    text=st.text('{}[]",:q101.eE-nul \n', max_size=40) | st.binary(max_size=30).map(lambda data: data.decode("latin-1"))
)
@settings(max_examples=150)
def test_no_relevance_list_ends_in_another_error(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "lists"
    path.write_text(text, encoding="utf-8")
    try:
        found = evaluate_lists(path, "P@2")
    except InputError:
        return
    assert all(0 <= value <= 1 for value in found.means.values())


def test_relevance_lists_of_the_sources():
    assert evaluate_lists(LISTS, "ListAP@3")["ListAP@3"] == pytest.approx((5 / 6 + 1 + 7 / 12) / 3)
    assert evaluate_lists(LISTS, "ListNDCG@3")["ListNDCG@3"] == pytest.approx(0.8710490642551528)
    assert evaluate_lists([[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]], "mrr")["RR"] == pytest.approx(11 / 18)
    graded = evaluate_lists([[3, 1, 2, 0, 0]], "ListNDCG@10")
    assert graded["ListNDCG@10"] == pytest.approx((3 + 1 / log2(3) + 2 / 2) / (3 + 2 / log2(3) + 1 / 2))


def test_what_a_list_cannot_know_is_said():
    found = evaluate_lists([[1, 0, 1, 0, 1, 0, 0, 1, 0, 0]], "R@5 P@5 AP nDCG@5 Judged@5 Bpref RR ListAP")
    assert found["R@5"] == 3 / 4
    assert found["P@5"] == 3 / 5
    assert [note.partition(":")[0] for note in found.notes] == ["R@5, AP, nDCG@5, Bpref", "Judged@5, Bpref"]
    assert "a list tells nothing of documents that were not returned" in found.notes[0]
    assert "does not tell an unjudged document from one that is not relevant" in found.notes[1]
    nothing = evaluate_lists([[0, 0]], "R@5 AP")  # 0 whatever was missed
    assert not any("a list tells" in note for note in nothing.notes)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ('{"q": [1, "x"]}', r"query 'q': rank 2: the grade 'x' is not a finite number"),
        ('{"q": [1, null]}', r"rank 2: the grade None"),
        ('{"q": {"d": 1}}', r"query 'q': a .*object, a relevance list is grades by rank"),
        ('{"q": 1}', r"a relevance list is grades by rank"),
        ('{"query_id": "q", "relevance": [1]}\n{"query_id": "q", "relevance": [0]}\n', r":2: query 'q' occurs before"),
        (
            "query_id,rank,relevance\nq,1,1\nq,3,1\n",
            r"query 'q': ranks are 1, 2, 3, … without a gap; here they start 1, 3",
        ),
        ("query_id,rank,relevance\nq,1,1\nq,1,0\n", r"without a gap"),
        ("query_id,doc_id\nq,1\n", r"no 'relevance' nor 'label'"),
        ('{"q": [1,', r"not JSON"),
        ("", r"no query to evaluate|nothing|empty"),
    ],
)
def test_broken_relevance_lists_are_refused(content, match, tmp_path):
    path = tmp_path / "lists"
    path.write_text(content)
    with pytest.raises(InputError, match=match):
        evaluate_lists(path, "P@1")


def test_relevance_lists_in_the_shell(tmp_path, capsys):
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(LISTS))
    assert main(["eval", "--lists", str(path), "-m", "ListAP@3 R@2"]) == 0
    said = capsys.readouterr()
    assert "0.8056" in said.out
    assert "note: R@2: a list tells nothing of documents that were not returned" in said.err
    assert main(["eval", "--lists", str(path), str(path), "-m", "P@1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"].keys() == {"lists", f"1: {path}", f"2: {path}"} - {"lists"}
    assert main(["eval", str(path), "-m", "P@1"]) == 2
    assert "are these relevance lists, {q: [1, 0, 1]}? Then give --lists" in capsys.readouterr().err
    assert main(["eval", "--lists", str(path), "-m", "P@1", "--queries", "run"]) == 2
    assert "--lists takes measures or a profile" in capsys.readouterr().err
    assert main(["eval", str(path), str(path), "-m", "P@1"]) == 2
    assert "evaluate_lists() (in the shell eval --lists)" in capsys.readouterr().err


@given(
    retrieved=st.lists(st.sampled_from("abcdef"), max_size=8),
    relevant=st.dictionaries(st.sampled_from("abcdxy"), st.sampled_from([0, 1, 2]), max_size=5),
    duplicates=st.sampled_from(["first", "max"]),
)
def test_one_list_has_the_numbers_of_the_trec_way(retrieved, relevant, duplicates):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is the reference")
    asked = {"nDCG@3": "ndcg_cut_3", "P@2": "P_2", "RR": "recip_rank", "AP": "map", "R@3": "recall_3"}
    found = score(retrieved, relevant, list(asked), duplicates=duplicates)
    once = list(dict.fromkeys(retrieved))
    scored = {doc: float(len(once) - place) for place, doc in enumerate(once)}
    theirs = {}  # of a query without judgements pytrec_eval reads what memory happens to hold
    if relevant:
        theirs = pytrec_eval.RelevanceEvaluator({"q": relevant}, set(asked.values())).evaluate({"q": scored})
    for ours, name in asked.items():
        assert found[ours] == pytest.approx(theirs.get("q", {}).get(name, 0.0))
    if len(once) < len(retrieved):
        with pytest.raises(InputError, match="occurs twice in the list"):
            score(retrieved, relevant, "RR")


def test_one_list_has_ids_or_grades_texts_or_numbers():
    assert score([3, 1], {1, 2}, "P@2 RR") == {"P@2": 0.5, "RR": 0.5}
    assert score({"a": 0.1, "b": 0.9}, ["a"], "RR") == {"RR": 0.5}
    assert score(("a", "b"), {"b": 2}, "P@1", min_relevance=2) == {"P@1": 0.0}
    for wrong in ("abc", 7, None):
        with pytest.raises(InputError, match="give a list of ids, or a dict of ids with numbers"):
            score(wrong, ["a"], "RR")


@given(
    run=st.dictionaries(
        st.sampled_from("pq"),
        st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), st.integers(-5, 5), max_size=8),
        min_size=1,
    ),
    how=st.sampled_from(["max", "first"]),
)
def test_a_document_has_the_score_of_its_best_or_first_chunk(run, how):
    chunks = {query: {f"{doc}#{n}": number for (doc, n), number in listed.items()} for query, listed in run.items()}
    rows = [(query, doc, number) for query, listed in run.items() for (doc, _), number in listed.items()]
    expected = {query: {} for query in run} | _kept(rows, how)
    mapping = {chunk: chunk[0] for listed in chunks.values() for chunk in listed}
    for told in (mapping, r"^(.+)#", r"^[^#]+", re.compile("^(.)#")):
        assert collapse(chunks, told, how) == expected
    ordered = {query: list(listed) for query, listed in chunks.items()}
    assert collapse(ordered, mapping) == {query: list(expected[query]) for query in run}


@pytest.mark.parametrize("told", [{"c1": "a"}, r"^(.)1", r"^()"])
def test_a_chunk_of_no_document_is_an_error(told):
    with pytest.raises(InputError, match=r"query .q.: of which document .c[12]. is a chunk is not said"):
        collapse({"q": ["c1", "c2"]}, told)


def test_chunks_are_collapsed_in_the_shell(tmp_path, capsys):
    qrels, run, table = tmp_path / "qrels.trec", tmp_path / "run.trec", tmp_path / "chunks.tsv"
    qrels.write_bytes(_trec([("q", "a", 1), ("q", "b", 1)], "qrels"))
    run.write_bytes(_trec([("q", "x#0", 5), ("q", "b#1", 4), ("q", "b#7", 3), ("q", "a#0", 2)], "run"))
    table.write_text("x#0\tx\nb#1\tb\nb#7\tb\na#0\ta\n")
    for told in ("^(.+)#", str(table)):
        assert main(["eval", str(qrels), str(run), "-m", "AP", "--collapse", told]) == 0
        assert f"{(1 / 2 + 2 / 3) / 2:.4f}" in capsys.readouterr().out
    assert main(["eval", str(qrels), str(run), "-m", "AP", "--collapse", "^(b)#"]) == 2
    assert "of which document 'x#0' is a chunk is not said" in capsys.readouterr().err


def test_ids_that_hardly_meet_raise_an_alarm(tmp_path, capsys):
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(40)}
    run = {f"q{n}": [f"chunk{n}-{place}" for place in range(10)] for n in range(40)}
    stale = "labels look stale: none of the documents in the top 5 is known to the qrels"
    assert any(note.startswith(stale) for note in evaluate(qrels, run, "P@5").notes)
    run["q1"][3] = "d1"  # 1 of 40 labels, 1 of 200 documents
    assert any(note.startswith("labels look stale: 0.5% of the") for note in evaluate(qrels, run, "P@5").notes)
    for n in (2, 3):
        run[f"q{n}"][0] = f"d{n}"
    assert not any("stale" in note for note in evaluate(qrels, run, "P@5").notes)  # 3 of 40 are found: a weak system
    paths = [tmp_path / "qrels.json", tmp_path / "run.json"]
    paths[0].write_text(json.dumps(qrels))
    paths[1].write_text(json.dumps({query: [f"x{doc}" for doc in docs] for query, docs in run.items()}))
    assert main(["eval", *map(str, paths), "-m", "P@5"]) == 0
    assert f"note: {stale}" in capsys.readouterr().err


def test_tables_raise_the_same_alarm():
    polars = pytest.importorskip("polars", reason="polars is an extra")
    from permed_measures.tables import evaluate_files
    from permed_measures.tables.sessions import opened

    qrels = [(f"q{n}", f"d{n}", 1) for n in range(40)]
    run = [(f"q{n}", f"x{place}", -place) for n in range(40) for place in range(8)]
    frames = [
        polars.DataFrame(rows, schema=list(NAMES[what]), orient="row")
        for what, rows in (("qrels", qrels), ("run", run))
    ]
    with opened("duckdb") as session:
        notes = evaluate_files(session, *frames, "P@5").notes
    assert notes == evaluate(*frames, "P@5").notes
    assert notes[0].startswith("labels look stale: none of the documents in the top 5")


@given(data=st.data(), smaller=st.booleans())
def test_arrays_are_runs(data, smaller):
    np = pytest.importorskip("numpy", reason="numpy comes with pytrec_eval")
    width = data.draw(st.integers(1, 5))
    rows = st.lists(st.integers(0, 7), min_size=width, max_size=width, unique=True)
    ids = data.draw(st.lists(rows, min_size=1, max_size=3))
    numbers = [data.draw(st.lists(st.integers(0, 9), min_size=width, max_size=width)) for _ in ids]
    names = [f"q{n}" for n in range(len(ids))]
    said = {"distances" if smaller else "scores": np.array(numbers, dtype=np.float32)}
    found = run_from_arrays(names, np.array(ids), **said, doc_ids=[f"d{n}" for n in range(8)])
    sign = -1 if smaller else 1
    assert found == {
        name: {f"d{i}": sign * n for i, n in zip(row, values, strict=True)}
        for name, row, values in zip(names, ids, numbers, strict=True)
    }
    assert run_from_arrays(names, ids, **said) == {q: {d[1:]: n for d, n in docs.items()} for q, docs in found.items()}


def test_arrays_say_what_their_numbers_are():
    for said in ({}, {"scores": [[1]], "distances": [[1]]}):
        with pytest.raises(
            ParamError, match=r"scores= \(larger is better: cosine\) or distances= \(smaller is better: L2\)"
        ):
            run_from_arrays(["q"], [[1]], **said)
    assert run_from_arrays(["q", "r"], [[-1], [4]], scores=[[0], [1]]) == {"q": {}, "r": {"4": 1}}
    for names, ids, scores in (
        (["q"], [[1, 2]], [[1]]),
        (["q", "q"], [[1], [2]], [[1], [1]]),
        (["q"], [[1], [2]], [[1], [2]]),
    ):
        with pytest.raises(InputError, match="each query has one of each"):
            run_from_arrays(names, ids, scores=scores)
    for place in (-2, 3):
        with pytest.raises(InputError, match="is no place among the 3 doc_ids"):
            run_from_arrays(["q"], [[place]], scores=[[1]], doc_ids=["a", "b", "c"])
    with pytest.raises(InputError, match="the score is NaN"):
        run_from_arrays(["q"], [[1]], distances=[[float("nan")]])


def test_folders_of_beir_hold_qrels(tmp_path, capsys):
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    beir = b"query-id\tcorpus-id\tscore\n1\td1\t%d\n"
    (folder / "qrels" / "train.tsv").write_bytes(beir % 1)
    assert read_qrels(folder) == {"1": {"d1": 1}}  # the only one
    (folder / "qrels" / "test.tsv").write_bytes(beir % 2)
    assert read_qrels(folder) == read_qrels(folder / "qrels") == {"1": {"d1": 2}}
    run = tmp_path / "run.trec"
    run.write_bytes(_trec([("1", "d1", 1)], "run"))
    assert main(["eval", str(folder), str(run), "-m", "RR"]) == 0
    assert "1.0000" in capsys.readouterr().out
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    with pytest.raises(InputError, match=r"it has dev.tsv, train.tsv: name one"):
        read_qrels(folder)
    with pytest.raises(InputError, match="cannot be read"):  # judgements are no run
        read_run(folder)


def test_parquet_is_read_as_other_rows_are(tmp_path, capsys):
    polars = pytest.importorskip("polars", reason="polars is an extra")
    rows = [("q", "b", 3), ("q", "a", 1), ("q", "a", 4)]
    run, qrels = tmp_path / "run.parquet", tmp_path / "qrels.parquet"
    polars.DataFrame(rows, schema=["topic", "page", "bm25"], orient="row").write_parquet(run)
    names = ("topic", "page", "bm25")
    for duplicates in ("first", "max"):
        assert read_run(run, columns=names, duplicates=duplicates) == _kept(rows, duplicates)
    assert read_run(run, columns=("topic", "page", "-bm25"), duplicates="max") == {"q": {"b": -3.0, "a": -1.0}}
    hugging_face = polars.DataFrame([("q", "a", 1)], schema=["query-id", "corpus-id", "score"], orient="row")
    hugging_face.write_parquet(qrels)
    assert read_qrels(qrels) == {"q": {"a": 1}}
    given = ["eval", str(qrels), str(run), "-m", "RR", "--run-columns"]
    for column, duplicates, value in (
        ("bm25", "max", "1.0000"),
        ("bm25", "first", "0.5000"),
        ("-bm25", "max", "1.0000"),
    ):
        assert main([*given, f"topic,page,{column}", "--duplicates", duplicates]) == 0
        assert value in capsys.readouterr().out
    engine = ["--engine", "duckdb", "--duplicates", "max"]
    assert main([*given, "topic,page,bm25", *engine]) == 0
    assert "1.0000" in capsys.readouterr().out
    assert main([*given, "topic,page,-bm25", *engine]) == 2
    assert "'-bm25' is not for tables" in capsys.readouterr().err
    assert main([*given, "topic,page,bm25", *engine, "--collapse", "^(.)"]) == 2
    assert "--collapse is for runs in memory" in capsys.readouterr().err


def test_what_has_no_order_or_no_columns_is_refused():
    with pytest.raises(InputError, match="a set has no order"):
        score({"a", "b"}, ["a"], "RR")
    for retrieved, relevant in (({1: 0.9, "1": 0.1}, ["1"]), (["1"], {1: 1, "1": 3})):
        with pytest.raises(InputError, match="as a number and as text"):
            score(retrieved, relevant, "RR")
    with pytest.raises(ParamError, match="a dict has none"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 0.1, "b": 0.9}}, "P@1", run_columns=("q", "d", "-dist"))
    with pytest.raises(ParamError, match=r"qrels_columns=.* a dict has none"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 0.1, "b": 0.9}}, "P@1", qrels_columns=("q", "d", "grade"))
