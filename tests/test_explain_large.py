"""explain of large TREC runs, of which only a part is held: the same as of the whole run, for every convention."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from permed_measures import InputError, explain
from permed_measures.evaluate.conventions import AXES, FAMILIES
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.values import Values
from permed_measures.files import blocks, read_run
from permed_measures.files.large import judged_lists
from tests.test_large_trec import WAYS_TO_WRITE, packed


@pytest.fixture(params=["compiled", "blocks", "lists"], autouse=True)
def reader(request, monkeypatch):
    """Read every file as a large one: with the compiled part, with numpy, and list by list."""
    monkeypatch.setitem(judged_lists.__kwdefaults__, "large", 0)
    if request.param != "compiled":
        monkeypatch.setattr("permed_measures.ranking.COLUMNS", None)
        monkeypatch.setattr(blocks, "_BLOCK", 2000)
    if request.param == "lists":
        monkeypatch.setattr(blocks, "_LONGEST", 0)  # every field is a doubt
    return request.param


SCORES = {
    "few": lambda rng: f"{rng.uniform(0, 2):.1f}",
    "equal": lambda _: "1.5",
    "distinct": lambda rng: repr(rng.uniform(0, 9)),
    "infinite": lambda rng: rng.choice(["inf", "-inf", "1e300", "1e299", "1e-300", "0", "-0.0", "2"]),
    **WAYS_TO_WRITE,
}


def written(path, seed, *, way, mixed=False, in_order=False):
    """Write a random run, and return qrels: queries of either alone, grades below 0, ids of any alphabet."""
    rng = random.Random(seed)
    documents = [*(f"d{number}" for number in range(40)), "é", "漢字", "x" * 9, "x" * 200]
    qrels, lines = {}, []
    for query in range(12):
        if query != 3:
            judged = rng.sample([*documents, "gone"], rng.choice([0, 1, 5, 20, 40]))
            qrels[f"q{query}"] = {document: rng.choice([-1, 0, 0, 1, 1, 2]) for document in judged}
        if query != 5:
            rows = [(SCORES[way](rng), document) for document in rng.sample(documents, rng.choice([1, 4, 30, 44]))]
            rows = sorted(rows, key=lambda row: -float(row[0])) if in_order else rows
            lines += [f"q{query} Q0 {document} 1 {score} t" for score, document in rows]
    if mixed:
        rng.shuffle(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return dict(rng.sample(list(qrels.items()), len(qrels)))


def both(path, qrels):
    run = {query_id: dict(scores) for query_id, scores in read_run(path).items()}
    large, whole = JudgedRun(qrels, path, None), JudgedRun(qrels, run, None)
    assert large.all_rows.rest is not None
    assert whole.all_rows.rest is None
    return large, whole


KINDS = [("together", way) for way in SCORES] + [
    (kind, way) for kind in ("mixed", "in order") for way in ("few", "nearly tied")
]


@pytest.mark.parametrize(("kind", "way"), KINDS)
def test_every_convention_has_the_value_of_the_whole_run(tmp_path, kind, way):
    path = tmp_path / "run.txt"
    qrels = written(path, f"{way} {kind}", way=way, mixed=kind == "mixed", in_order=kind == "in order")
    large, whole = both(path, qrels)
    for part in ("query_ids", "near_ties", "is_listed_in_order", "unjudged", "longest"):
        assert getattr(large, part) == getattr(whole, part)
    assert large.lengths.tolist() == whole.lengths.tolist()
    assert (large.in_run == whole.in_run).all()
    for precision in (32, 64):
        for depth in (1, 3, 10, 1000, None):
            assert large.tied(precision, depth) == whole.tied(precision, depth)
    for cutoff in (1, 7, None):
        ours, theirs = (Values(lists.at(cutoff)) for lists in (large, whole))
        assert ours.closed_axes() == theirs.closed_axes()
        for convention in conventions(cutoff, theirs):
            expected, empty = theirs.by_query(convention), theirs.is_empty(convention)
            assert ours.by_query(convention).tobytes() == expected.tobytes(), convention
            assert (ours.is_empty(convention) == empty).all()


def conventions(cutoff, values):
    """Yield whatever can be asked of one query: what is computed, and by which order."""
    orders = itertools.product(*(AXES[axis].choices for axis in ("precision", "ties", "unjudged")))
    for family, (precision, ties, unjudged) in itertools.product(FAMILIES.values(), orders):
        if family.takes(cutoff) and not (family.by_recall and cutoff):
            for definition in values.definitions(family.name, 0.4 if family.by_recall else None):
                yield definition._replace(precision=precision, ties=ties, unjudged=unjudged)


@pytest.mark.parametrize(
    "asked",
    [
        {"about": "map@3", "value": 0.3},
        {"about": "ndcg@5 mrr"},
        {"a": "trec_eval:map_cut_10", "b": "sklearn:ndcg@10"},
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_explanation_is_that_of_the_whole_run(tmp_path, asked, suffix):
    path, whole = tmp_path / f"run.txt{suffix}", tmp_path / "whole.txt"
    qrels = written(whole, 9, way="few")
    path.write_bytes(packed(whole.read_bytes(), suffix))
    run = {query_id: dict(scores) for query_id, scores in read_run(whole).items()}
    assert explain(qrels, path, **asked).to_json() == explain(qrels, run, **asked).to_json()


@pytest.mark.parametrize("way", SCORES)
def test_scores_are_read_as_float_reads_them(tmp_path, way):
    path = tmp_path / "run.txt"
    written(path, way, way=way)
    run = read_run(path)
    lists = JudgedRun({query_id: dict.fromkeys(scores, 1) for query_id, scores in run.items()}, path, None)
    expected = np.array([score for scores in run.values() for score in scores.values()])
    assert lists.all_rows.score.tobytes() == expected.tobytes()


def test_what_is_held_does_not_grow_with_the_run(tmp_path):
    path = tmp_path / "run.txt"
    lines = [f"q{number // 1000} Q0 d{number} 1 {-number} t\n" for number in range(20_000)]
    path.write_text("".join(lines).replace("-19999 t", "-19998 t"))
    qrels = {f"q{query}": {f"d{query * 1000 + 999}": 1, f"d{query * 1000}": 2} for query in range(20)}
    lists = JudgedRun(qrels, path, None)
    assert len(lists.all_rows.doc_ids) == 41  # the last one has the score of another one
    assert lists.order(ties="input", precision=32, unjudged="kept", duplicates="first").rank.tolist() == [1, 1000] * 20
    assert lists.tied(32, None) == (2, 20_000, 1)
    assert lists.unjudged == 19_960


def test_a_document_that_is_returned_twice_needs_the_whole_run(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 a 3 1 t\n")
    found = explain({"q": {"a": 1, "b": 2}}, path, about="map@10")
    assert "documents returned twice: 1" in found.notes
    assert "duplicates" not in found.closed


def test_a_line_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 3 t\nq Q0 b 2 two t\n")
    with pytest.raises(InputError, match=r"run\.txt:2: .*'two' is not a number"):
        explain({"q": {"a": 1}}, path, about="map@10")
