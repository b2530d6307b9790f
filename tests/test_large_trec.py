"""The top of large TREC runs, read in blocks: the same as the plain reader finds, or a doubt."""

from __future__ import annotations

import gzip
import random
import sys

import numpy as np
import pytest

from permed_measures import compare, gate, verify
from permed_measures.errors import InputError
from permed_measures.files import blocks as large_trec
from permed_measures.files import formatted, read_run
from permed_measures.files.blocks import Doubt, Irregular, tops
from permed_measures.files.large import cut_run, rankings
from permed_measures.ranking import ORDERS, compiled, order, rank


@pytest.fixture
def file(tmp_path):
    def make(lines, end="\n"):
        path = tmp_path / "file.run"
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return path

    return make


@pytest.fixture(params=[1500, 4000, 1 << 21])
def block(request, monkeypatch):
    monkeypatch.setattr(large_trec, "_BLOCK", request.param)


@pytest.fixture
def patient(monkeypatch):
    """Read scores that need more time too."""
    monkeypatch.setattr(large_trec, "_MOST_ODD", 1)
    monkeypatch.setattr(large_trec, "_MOST_TIED", 1000)


@pytest.mark.usefixtures("patient")
def test_the_top_by_score_as_32_bit_float_and_then_by_id(file):
    # 0.1 + 1e-9 is 0.1 as a 32-bit float, 9.9999999 is 10, and 1e39 is infinite: ids decide there
    scores = ["0.1", "0.100000001", "-3", "10", "9.9999999", "1e39", "inf", "-0.0", "0"]
    path = file(f"q Q0 {doc} 1 {score} t" for doc, score in zip("abcdefghi", scores, strict=True))
    (found,) = tops(path, 9)
    assert (found.query_id, found.num_ret) == ("q", 9)
    assert found.documents == ["g", "f", "e", "d", "b", "a", "i", "h", "c"]
    assert found.scores[:4] == [float("inf"), 1e39, 10, 9.9999999]
    (found,) = tops(path, 3)
    assert found.documents == ["g", "f", "e"]
    (found,) = tops(path, 9, "float64")
    assert found.documents == ["g", "f", "d", "e", "b", "a", "i", "h", "c"]


WAYS_TO_WRITE = {
    "%.6f": lambda rng: f"{rng.uniform(0, 30):.6f}",
    "negative": lambda rng: f"{rng.uniform(-30, 3):.4f}",
    "repr": lambda rng: repr(rng.uniform(-1, 1)),
    "32-bit": lambda rng: repr(float(np.float32(rng.uniform(95, 105)))),
    "whole": lambda rng: str(rng.randrange(-9, 1000)),
    "nearly tied": lambda rng: rng.choice(["9.99999995", "10", "10.0000001", "9.9999999", "9.99999", "0010.0"]),
    "about zero": lambda rng: rng.choice(["0", "-0", "0.0", "-.0", "0.", ".5", f"0.{'0' * 45}1", "0.00000001"]),
    "large": lambda rng: rng.choice(["1234567.5", "12345678.5", "123456789", "1234567", "12345678", f"9{'0' * 40}"]),
    "some powers": lambda rng: rng.choice(["1e-7", *[f"{rng.random():.5f}"] * 15]),
}


@pytest.mark.usefixtures("block", "patient")
@pytest.mark.parametrize("way", WAYS_TO_WRITE)
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("precision", ORDERS)
def test_blocks_find_what_the_plain_reader_finds(file, way, in_order, precision):
    rng = random.Random(way)  # another one for each: in all of them the same place would hold the same rank
    lines = []
    for query in range(90, 120):
        ids = [*range(60), "x" * 8, "x" * 9, "é", "é" * 20, "漢字", "x" * 250]
        scores = [WAYS_TO_WRITE[way](rng) for _ in range(rng.choice([1, 3, 30, 30]))]
        if in_order:
            scores.sort(key=float, reverse=True)
        docs = rng.sample(ids, len(scores))
        lines += [f"{query}\tQ0\t{doc}\t1\t{score}\tt" for doc, score in zip(docs, scores, strict=True)]
    path = file(lines, end=rng.choice(["", "\n"]))
    run = read_run(path)
    found = list(tops(path, 4, precision))
    assert [top.query_id for top in found] == list(run)
    for query_id, num_ret, documents, scores in found:
        assert num_ret == len(run[query_id])
        assert documents == order(run[query_id], 4, by=precision)
        assert scores == sorted(run[query_id].values(), reverse=True)[:4]


def test_what_would_take_long_is_left_to_others(file, monkeypatch):
    for scores in (["1e-3"] * 10, ["0.00000001"] * 10):
        with pytest.raises(Doubt):
            list(tops(file(f"q1 Q0 d{n} 1 {score} t" for n, score in enumerate(scores)), 1))
    monkeypatch.setattr(large_trec, "_BLOCK", 200)
    with pytest.raises(Doubt):  # a list longer than two blocks
        list(tops(file(f"q1 Q0 d{n} 1 {90 - n}.5 t" for n in range(60)), 1))


GOOD = "q1 Q0 d1 1 1.5 t"
IRREGULAR = [
    "",
    " " + GOOD,
    GOOD + " ",
    "#" + GOOD,
    "q1  Q0 d 1 1 t",
    "q1\tQ0 d 1 1 t",
    GOOD + " x",
    "q Q0 d 1 1",
    "\0",
]
DOUBTED = ["nan", "x", ".", "-", "-.", "--5", "1_0", "1.2.3", "5-", "12/3", "1:5", "1e", "1.23456789x", "٣", ".-5"]


@pytest.mark.parametrize("line", [*IRREGULAR, "q1 Q0 d 1 1\nt q1 Q0 d 1 1 t", "\ufeff"])
def test_other_forms_are_irregular(file, line):
    lines = [line + GOOD] if line == "\ufeff" else [GOOD, line, "q1 Q0 d2 1 1.25 t"]
    with pytest.raises(Irregular):
        list(tops(file(lines), 2))


@pytest.mark.parametrize("score", DOUBTED)
@pytest.mark.parametrize("count", [0, 40])
def test_a_score_that_is_no_number_is_doubted_wherever_it_stands(file, score, count):
    lines = [f"q1 Q0 d{n} 1 {9.5 - n / 10:.4f} t" for n in range(count)]
    with pytest.raises(Doubt):
        list(tops(file([*lines, f"q1 Q0 d 1 {score} t"]), 2))


def test_a_document_that_stands_twice_is_doubted(file):
    for doc in ("d35", "a-much-longer-document-id-with-5"):
        lines = [f"q1 Q0 {doc[:-1]}{n} 1 {90 - n}.5 t" for n in range(40)]
        assert len(list(tops(file(lines), 2))) == 1
        with pytest.raises(Doubt):
            list(tops(file([*lines, f"q1 Q0 {doc} 1 0.5 t"]), 2))


def test_documents_whose_hashes_are_the_same_are_compared(file, monkeypatch):
    monkeypatch.setattr(large_trec, "_FACTORS", [np.uint64(0)] * 32)
    path = file([GOOD, "q1 Q0 d2 2 1.25 t", "q2 Q0 d2 1 1.5 t"])
    assert [top.num_ret for top in tops(path, 1)] == [2, 1]
    with pytest.raises(Doubt):
        list(tops(file([GOOD, "q1 Q0 d2 2 1.25 t", "q1 Q0 d1 3 1.0 t"]), 1))


def test_queries_whose_ids_start_alike_are_told_apart(file):
    ids = ["10", "1", "123456789", "12345678", "123456780"]
    found = tops(file(f"{query} Q0 d 1 1.5 t" for query in ids), 1)
    assert [top.query_id for top in found] == ids


def test_whole_numbers_of_many_digits_are_large(file):
    lines = [f"q1 Q0 d{n} 1 {score} t" for n, score in enumerate(["12345678", *[f"{n}.5" for n in range(8)]])]
    (found,) = tops(file(lines), 1)
    assert (found.documents, found.scores) == (["d0"], [12345678])


def test_bytes_that_are_not_utf_8_and_long_fields_are_doubted(tmp_path):
    path = tmp_path / "file.run"
    for doc in (b"d\xff", b"d" * 300):
        path.write_bytes(b"q1 Q0 %b 1 1.5 t\n" % doc)
        with pytest.raises(Doubt):
            list(tops(path, 1))


@pytest.fixture(params=["compiled", "plain"])
def reader(request, monkeypatch):
    """Read with the compiled part, where there is one, and without."""
    if request.param == "plain":
        monkeypatch.setattr("permed_measures.ranking.COLUMNS", None)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("depth", [10, None])
def test_large_trec_runs_need_no_engine(file, monkeypatch, depth):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    lines = ["q1 Q0 b 1 2.5 t", "q1 Q0 a 2 1.5 t", "q2 Q0 a 1 1.5 t"]
    for together in (lines, [lines[0], lines[2], lines[1]], [*lines[:2], "# a comment", "", "q2  Q0 a 1 1.5 t\r"]):
        found = rankings(file(together), {"q1": {"a": 1}}, depth, large=0, keep=1)
        assert {q: (made.ranked, made.num_ret, list(made.top[:1])) for q, made in found.items()} == {
            "q1": ([(2, 1)], 2, ["b"]),
            "q2": ([], 1, ["a"]),
        }


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("depth", [1, 10, None])
@pytest.mark.parametrize("again", ["q2 Q0 a 9 0.5 t", "q1 Q0 x 9 oops t", "q1 Q0 b 9 0.5 t"])
def test_what_is_wrong_where_queries_are_mixed(file, depth, again):
    path = file(["q1 Q0 b 1 2.5 t", "q2 Q0 a 1 1.5 t", "q1 Q0 a 2 1.5 t", again])
    with pytest.raises(InputError) as plain:
        read_run(path)
    with pytest.raises(InputError) as found:
        rankings(path, {"q1": {"a": 1}}, depth, large=0)
    assert str(found.value) == str(plain.value)
    assert ":4: " in str(found.value)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("precision", ORDERS)
@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_ranks_are_those_of_the_plain_reader(file, way, precision):
    rng = random.Random(way)
    lines = []
    for query in range(90, 110):
        scores = [WAYS_TO_WRITE[way](rng) for _ in range(rng.choice([1, 3, 30, 200]))]
        if query % 2:
            scores.sort(key=float, reverse=True)
        docs = rng.sample([*range(260), "é", "漢字", "x" * 250], len(scores))
        lines += [f"{query} Q0 {doc} 1 {score} t" for doc, score in zip(docs, scores, strict=True)]
    path = file(lines)
    run = read_run(path)
    qrels = {str(query): dict.fromkeys(map(str, range(0, 260, 3)), query % 4) for query in range(95, 115)}
    for depth in (1, 7, None):
        found = rankings(path, qrels, depth, large=0, order=precision, keep=3)
        assert list(found) == list(run)
        for query_id, made in found.items():
            in_order = order(run[query_id], by=precision)
            grades = qrels.get(query_id, {})
            expected = [(rank, grades[doc]) for rank, doc in enumerate(in_order, 1) if doc in grades]
            assert made.hits(depth) == [hit for hit in expected if depth is None or hit[0] <= depth]
            assert list(made.top[:3]) == in_order[:3]
            plain = rank(run[query_id], grades)
            assert [made.tied(depth, p) for p in ORDERS] == [plain.tied(depth, p) for p in ORDERS]


@pytest.mark.parametrize("depth", [1, 5])
def test_a_cut_run_holds_whatever_can_be_in_the_top(file, depth):
    if not compiled():
        pytest.skip("the compiled part is not here")
    scores = {"a": 3, "b": 9, "c": 3, "d": 3, "e": 9, "f": 1, "g": 0.5}
    path = file(f"q Q0 {doc} 1 {score} t" for doc, score in scores.items())
    found = cut_run(path, {"q": {"g": 1, "z": 1}}, depth, large=0)
    assert found.num_ret == {"q": 7}
    kept = ["b", "e", "g"] if depth == 1 else ["a", "b", "c", "d", "e", "f", "g"]
    assert list(found["q"].items()) == [(doc, score) for doc, score in scores.items() if doc in kept]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("measures", ["nDCG@10 P@5 GWAP@10", "AP nDCG R@1000 GWAP"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compare_and_gate_find_the_same_in_large_files(tmp_path, monkeypatch, measures, suffix):
    monkeypatch.setitem(rankings.__kwdefaults__, "large", 0)
    rng = random.Random(7)
    qrels = {f"q{query}": {f"d{n}": rng.choice([0, 1, 1, 2]) for n in range(0, 60, 4)} for query in range(30)}
    runs, paths = {}, {}
    for name in ("before", "after"):
        runs[name] = {q: {f"d{n}": round(rng.uniform(0, 9), 2) for n in rng.sample(range(90), 50)} for q in qrels}
        content, _ = formatted(runs[name], "run", "trec")
        paths[name] = tmp_path / f"{name}.run{suffix}"
        paths[name].write_bytes(packed(content, suffix))
    plain = compare(qrels, runs["before"], {"after": runs["after"]}, measures)
    found = compare(qrels, paths["before"], {"after": paths["after"]}, measures, baseline_name="baseline")
    for column, values in plain.values.items():
        assert found.values[column] == pytest.approx(values, abs=1e-12)  # a sum over columns has another order
    assert found.notes == plain.notes
    assert found.whole.p_imp["after"].improved == plain.whole.p_imp["after"].improved > 0
    drop = [
        gate(qrels, run, baseline=base, max_drop=0.5, conditions=[f"{measures.split()[0]}>=0"])
        for run, base in ((runs["after"], runs["before"]), (paths["after"], paths["before"]))
    ]
    assert [check.verdict for check in drop[0].checks] == [check.verdict for check in drop[1].checks]
    assert drop[0].notes == drop[1].notes


@pytest.mark.usefixtures("reader")
def test_verify_finds_the_same_in_large_files(tmp_path, monkeypatch):
    monkeypatch.setitem(cut_run.__kwdefaults__, "large", 0)
    rng = random.Random(8)
    qrels = {f"q{query}": {f"d{n}": rng.choice([0, 1, 2]) for n in range(0, 60, 4)} for query in range(9)}
    run = {q: {f"d{n}": rng.random() for n in rng.sample(range(90), 50)} for q in qrels}  # ties are ranx's to order
    path = tmp_path / "run.trec"
    path.write_bytes(formatted(run, "run", "trec")[0])
    found, plain = (verify(qrels, source, "nDCG@5 GWAP@3 P@1").checks for source in (path, run))
    assert [(c.measure, c.reference, c.verdict) for c in found] == [(c.measure, c.reference, c.verdict) for c in plain]
    assert any(check.verdict == "agrees" for check in found)


def packed(content, suffix):
    if suffix == ".zst":
        zstandard = pytest.importorskip("zstandard")
        half = len(content) // 2  # two frames: one file
        return b"".join(zstandard.compress(part) for part in (content[:half], content[half:]))
    return gzip.compress(content, 1) if suffix else content


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_file_that_ends_too_early_is_broken(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    content = packed(b"".join(b"q%d Q0 d%d 1 %d.5 t\n" % (n // 9, n, 9 - n % 9) for n in range(90_000)), suffix)
    for size in (len(content) - 3, len(content) // 3):
        path.write_bytes(content[:size])
        for depth in (10, None):
            with pytest.raises(InputError, match=r"a broken (gzip|zstd) file"):
                rankings(path, {}, depth, large=0)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("depth", [1, None])
def test_what_a_comment_holds_matters_to_nobody(tmp_path, depth):
    path = tmp_path / "run"
    path.write_bytes("q Q0 é 1 2.5 t\n".encode() + b"# \xff \0\nq Q0 b 2 1.5 t\n# \xed\xa0\x80\n")
    assert read_run(path) == {"q": {"é": 2.5, "b": 1.5}}
    assert rankings(path, {"q": {"é": 1}}, depth, large=0)["q"].ranked == [(1, 1)]
    path.write_bytes(path.read_bytes() + b"q Q0 \xff 3 0.5 t\n")
    for read in (read_run, lambda of: rankings(of, {}, depth, large=0)):
        with pytest.raises(InputError, match=":5: not UTF-8: byte 0xff"):
            read(path)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_no_more_of_a_packed_file_is_unpacked_than_is_needed(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(large_trec, "_BLOCK", 1 << 14)
    lines = [b"q%d Q0 d%d 1 %d.5 t\n" % (n // 9, n, 9 - n % 9) for n in range(200_000)]
    lines[5] = b"q0 Q0 d5 1 oops t\n"
    content = packed(b"".join(lines), suffix)
    path = tmp_path / f"run{suffix}"
    path.write_bytes(content[:-3])  # broken, but that is far behind the line
    with pytest.raises(InputError, match=":6: the score 'oops' is not a number"):
        rankings(path, {}, 10, large=0)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_rankings_of_a_packed_file_are_those_of_the_file(tmp_path, monkeypatch, suffix, mark):
    monkeypatch.setattr(large_trec, "_BLOCK", 1 << 12)  # the file has many more
    content = b"".join(b"q%d Q0 d%d 1 %d.5 t\n" % (n // 50, n * 7919 % 200_000, n % 50) for n in range(200_000))
    path = tmp_path / f"run{suffix}"
    path.write_bytes(packed(mark + content, suffix))
    found = rankings(path, {"q7": {"d2": 1, f"d{399 * 7919 % 200_000}": 2}}, 3, large=0, keep=3)
    assert {q: (made.ranked, made.num_ret, list(made.top[:3])) for q, made in found.items()} == {
        f"q{q}": ([(1, 2)] if q == 7 else [], 50, [f"d{(q * 50 + n) * 7919 % 200_000}" for n in (49, 48, 47)])
        for q in range(4000)
    }


def test_what_unpacks_may_fail_anyhow():
    if not compiled():
        pytest.skip("the compiled part is not here")
    from permed_measures import _columns

    def read(unpack):
        return _columns.read_trec(unpack, 1, {}, "float32", "top", 2)

    pieces = iter([b"q Q0 a 1 2.5 t\nq Q", b"0 b 1 1.5 t\n", b""])
    assert read(lambda _: next(pieces)) == ("sound", 0, [("q", 2, b"a", b"", [])])
    for wrong, error in ((lambda _: 1 / 0, ZeroDivisionError), (lambda _: "text", TypeError), (len, TypeError)):
        with pytest.raises(error):
            read(wrong)
    with pytest.raises(ValueError, match="more bytes than were asked for"):
        read(lambda size: b" " * (size + 1))
