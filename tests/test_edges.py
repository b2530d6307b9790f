"""Values and verdicts at their edges: what a small fault would move and nothing else would show."""

from __future__ import annotations

import math
import random
import sys
from math import log2

import pytest

from permed_measures import InputError, compare, evaluate, rank
from permed_measures.files import blocks as large_trec
from permed_measures.files import large as large_runs
from permed_measures.gating import gate
from permed_measures.ranking import order
from permed_measures.verification import as_scores
from permed_measures.verification.references import trec_order


def mean(qrels, run, measure):
    (found,) = evaluate(qrels, run, measure).means.values()
    return found


@pytest.mark.parametrize("length", [1, 2, 80])
def test_nan_is_seen_at_every_place_of_a_list_of_any_length(length):
    for place in {0, length // 2, length - 1}:
        scores = {f"d{number}": math.nan if number == place else float(-number) for number in range(length)}
        with pytest.raises(InputError, match=rf"document 'd{place}': the score is NaN"):
            rank(scores, {"d0": 1})


@pytest.mark.parametrize("others", [0, 80])
def test_whole_numbers_beyond_any_float_are_infinite_on_their_own_side(others):
    scores = {"low": -(10**400), "zero": 0, "high": 10**400, **{f"x{n}": -1.0 - n for n in range(others)}}
    assert order(scores)[:2] == ["high", "zero"]
    assert order(scores)[-1] == "low"
    assert rank(scores, {"high": 1, "zero": 2, "low": 3}).ranked == [(1, 1), (2, 2), (others + 3, 3)]
    assert as_scores({"q": scores})["q"]["low"] == -math.inf


@pytest.mark.parametrize(("max_rel", "grades"), [(3, [1, 2, 3]), (7, [1, 1, 4]), (10, [1, 1, 4])])
def test_no_sum_is_above_the_ideal_one(max_rel, grades):
    # every document is relevant and returned; added in this order, their weights are one last digit above the ideal
    if sys.version_info < (3, 12):  # from there on sum() makes up for what a float loses
        assert sum(grade / max_rel for grade in grades) > sum(sorted((g / max_rel for g in grades), reverse=True))
    qrels = {"q": {f"d{place}": grade for place, grade in enumerate(grades)}}
    assert mean(qrels, {"q": list(qrels["q"])}, f"GWAP(max_rel={max_rel},norm='ideal')") == 1.0


@pytest.mark.parametrize("name", ["nDCG(dcg='exp-log2')", "ListNDCG(dcg='exp-log2')"])
def test_the_exponential_gain_of_tiny_grades(name):
    qrels, run = {"q": {"a": 1e-17, "b": 2e-17}}, {"q": ["a", "b"]}  # 2^1e-17 is 1 as a float
    assert mean(qrels, run, name) == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)), rel=1e-12)


def test_the_exponential_gain_of_a_small_grade_beside_a_huge_one():
    # (2^1 - 1) / (2^1001 - 1): the 1 that is taken off counts at the small grade
    value = mean({"q": {"a": 1001, "b": 1}}, {"q": ["b"]}, "nDCG(dcg='exp-log2')@1")
    assert value == pytest.approx(2.0**-1001, rel=1e-12, abs=0)


@pytest.mark.parametrize(("alpha", "verdict"), [(0.0625, "not shown"), (0.0626, "higher")])
def test_p_must_be_below_alpha(alpha, verdict):
    # five gains of one size and 2^5 signs: two of 32 are as far from 0, p = 1/16
    qrels = {str(query): {"a": 1} for query in range(5)}
    worse, better = (dict.fromkeys(qrels, docs) for docs in (["x", "a"], ["a"]))
    found = compare(qrels, worse, {"b": better}, "RR", test="randomization", alpha=alpha)
    (change,) = found.whole.changes.values()
    assert (change.p, change.verdict) == (0.0625, verdict)


def test_the_last_digits_of_a_sum_are_no_difference():
    qrels = {str(query): {"a": 1, "b": 2, "c": 3} for query in range(10)}
    measure = "GWAP(weights={1: 0.1, 2: 0.2, 3: 0.3})"
    one, other = (dict.fromkeys(qrels, docs) for docs in (["a", "b"], ["c"]))  # (0.1 + 0.2) / 3 and 0.3 / 3
    assert evaluate(qrels, one, measure).columns != evaluate(qrels, other, measure).columns
    (change,) = compare(qrels, one, {"other": other}, measure).whole.changes.values()
    assert (change.ties, change.verdict) == (10, "identical")


def test_a_gate_counts_as_relevant_what_its_profile_does(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('name = "mine"\nmin_relevance = 2\n[[measures]]\nmeasure = "P@1"\n', encoding="utf-8")
    qrels, run = {"q": {"a": 1}, "r": {"b": 2}}, {"q": ["a"], "r": ["b"]}
    assert gate(qrels, run, ["P@1>=0.6"], profile=profile).checks[0].value == 0.5
    assert gate(qrels, run, ["P@1>=0.6"], profile=profile, min_relevance=1).checks[0].value == 1.0


@pytest.mark.parametrize(("name", "value"), [("P(rel=1.5)@1", 0.0), ("P(rel=1)@1", 1.0), ("R(rel=1.5)@2", 1.0)])
def test_a_level_between_two_grades_needs_the_upper_one(name, value):
    assert mean({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, name) == value


def _file(tmp_path, run):
    path = tmp_path / "run.trec"
    lines = (f"{query} Q0 {doc_id} 0 {score} t\n" for query, scores in run.items() for doc_id, score in scores.items())
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [0.0009, 0.09, 1.1, 9.5, 99, 1023, 8193, 99_999, 524_289, 8_388_609])
@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("by", ["float32", "float64"])
def test_near_ties_at_the_cut_are_all_looked_at(tmp_path, size, sign, by):
    """As 32-bit floats many are equal; what a bound leaves out must stand below all that is kept."""
    chance = random.Random(str(size))
    step = 2.0 ** (math.floor(log2(size)) - 23)
    run = {}
    for query in range(40):
        scores = [f"{sign}{size + chance.uniform(0, 4) * step:.9f}" for _ in range(30)]
        run[f"q{query}"] = {f"d{number}": score for number, score in enumerate(scores)}
    found = {top.query_id: top.documents for top in large_trec.tops(_file(tmp_path, run), 5, by)}
    for query, written in run.items():
        scores = {doc_id: float(score) for doc_id, score in written.items()}
        exact = sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)
        assert found[query] == (trec_order(scores) if by == "float32" else exact)[:5]


@pytest.mark.parametrize("depth", [2, 5, None])
@pytest.mark.parametrize("by", ["float32", "float64"])
@pytest.mark.parametrize("reader", ["compiled", "plain", "engine"])
def test_negative_zero_is_zero_in_large_files(tmp_path, monkeypatch, depth, by, reader):
    pytest.importorskip("duckdb", reason="the extra cli is not installed")
    run = {"q": {"a": -0.0, "b": 0.0, "c": -0.0, "d": 0.0, "e": 1.0}}
    qrels = {"q": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}}
    path = _file(tmp_path, run)
    if reader == "plain":
        monkeypatch.setattr("permed_measures.ranking.COLUMNS", None)
    elif reader == "engine":
        rows = [f"q,{doc_id},{score}\n" for doc_id, score in run["q"].items()]
        path.write_text("qid,docno,score\n" + "".join(rows), encoding="utf-8")
    found = large_runs.rankings(path, qrels, depth, large=0, order=by)
    assert found["q"].hits(depth) == [(1, 5), (2, 4), (3, 3), (4, 2), (5, 1)][:depth]
