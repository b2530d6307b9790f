"""rank(): the one order, against pytrec_eval's and against sorting it all."""

from __future__ import annotations

import struct
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given

import permed_measures.ranking as ranking_module
from permed_measures import InputError, rank, rank_list
from permed_measures.ranking import Ranking, order
from tests.conftest import queries


def float32(score):
    try:
        return struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return float("inf") if score > 0 else float("-inf")


def float64(score):
    try:
        return float(score)
    except OverflowError:
        return float("inf") if score > 0 else float("-inf")


PRECISIONS = {"float32": float32, "float64": float64}
in_both_orders = pytest.mark.parametrize("precision", PRECISIONS)


def sorted_slowly(scores, precision="float32"):
    as_float = PRECISIONS[precision]
    return sorted(scores, key=lambda doc_id: (as_float(scores[doc_id]), doc_id.encode()), reverse=True)


def ranks_slowly(scores, grades, precision="float32"):
    places = {doc_id: place for place, doc_id in enumerate(sorted_slowly(scores, precision), 1)}
    return sorted((places[doc_id], grade) for doc_id, grade in grades.items() if doc_id in places)


# generated lists are short; with 0 their top is looked for the way that of long ones is
both_ways = pytest.mark.parametrize("long", [0, ranking_module._LONG])  # noqa: SLF001  (the bound between two ways)


@both_ways
@in_both_orders
@given(query=queries())
def test_rank_is_the_place_in_the_sorted_list(long, precision, query):
    grades, scores = query
    with patch.object(ranking_module, "_LONG", long):
        assert rank(scores, grades, order=precision).ranked == ranks_slowly(scores, grades, precision)


@both_ways
@in_both_orders
@given(query=queries(max_docs=40), depth=st.integers(1, 12))
def test_a_depth_changes_nothing_above_it(long, precision, query, depth):
    grades, scores = query
    expected = [hit for hit in ranks_slowly(scores, grades, precision) if hit[0] <= depth]
    with patch.object(ranking_module, "_LONG", long):
        assert rank(scores, grades, depth=depth, order=precision).hits(depth) == expected


@both_ways
@in_both_orders
@given(query=queries())
def test_ties_are_counted_alike(long, precision, query):
    _, scores = query
    with patch.object(ranking_module, "_LONG", long):
        ranking = rank(scores, {}, order=precision)
    for name, as_float in PRECISIONS.items():
        compared = [as_float(score) for score in scores.values()]
        assert ranking.tied(None, name) == sum(compared.count(score) > 1 for score in compared)


@in_both_orders
@given(queries(max_docs=30), st.integers(1, 12))
def test_order_lists_every_document(precision, query, depth):
    _, scores = query
    assert order(scores, by=precision) == sorted_slowly(scores, precision)
    assert order(scores, depth, by=precision) == sorted_slowly(scores, precision)[:depth]


@both_ways
def test_scores_that_are_equal_only_in_32_bits_are_ordered_as_asked(long):
    scores = {"a": 1.00000003, "b": 1.0, "c": 0.5}  # trec_eval 10.0: recip_rank of a is 1; trec_eval 9.0.8: 1/2
    with patch.object(ranking_module, "_LONG", long):
        single, double = (rank(scores, {"a": 1}, order=precision) for precision in PRECISIONS)
    assert (single.ranked, double.ranked) == ([(2, 1)], [(1, 1)])
    assert [ranking.tied(2, precision) for ranking in (single, double) for precision in PRECISIONS] == [2, 0, 2, 0]


@given(queries(judged=st.just(1)))
def test_the_order_is_pytrec_evals(query):
    _, scores = query
    if not scores:
        return
    for place, doc_id in enumerate(order(scores), 1):
        answer = pytrec_eval.RelevanceEvaluator({"q": {doc_id: 1}}, {"recip_rank"}).evaluate({"q": scores})
        assert answer["q"]["recip_rank"] == 1 / place


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("depth", [None, 1, 10, 999, 1000, 2000])
def test_long_lists(shuffled, depth):
    rng = np.random.default_rng(7)
    values = np.sort(rng.random(1000))[::-1]
    values[20:30] = values[20]  # a tie
    if shuffled:
        rng.shuffle(values)
    scores = {f"d{i}": float(value) for i, value in enumerate(values)}
    grades = {f"d{i}": int(rng.integers(0, 3)) for i in rng.choice(1000, 60, replace=False)}
    expected = [hit for hit in ranks_slowly(scores, grades) if depth is None or hit[0] <= depth]
    assert rank(scores, grades, depth=depth).hits(depth) == expected


@pytest.mark.parametrize("where", [0, 5, 500, 999])
@pytest.mark.parametrize("depth", [None, 3])
def test_nan_is_refused_wherever_it_stands(where, depth):
    scores = {f"d{i}": float(1000 - i) for i in range(1000)}
    scores[f"d{where}"] = float("nan")
    with pytest.raises(InputError, match=rf"query 'q', document 'd{where}': the score is NaN"):
        rank(scores, {"d1": 1}, depth=depth, query_id="q")


@pytest.mark.parametrize("wrong", ["0.5", None, b"1", [1.0], {}, 1j])
@pytest.mark.parametrize("size", [2, 1000])
def test_a_score_is_a_number(wrong, size):
    scores = {f"d{i}": float(-i) for i in range(size)} | {"x": wrong}
    with pytest.raises(InputError, match=r"query 'q', document 'x': the score .* a score is a number"):
        rank(scores, {"d1": 1}, depth=3, query_id="q")


@pytest.mark.parametrize("number", [3, np.float32(3), np.float64(3), np.int64(3), True, 10**400])
def test_any_number_is_a_score(number):
    assert rank({"a": 0.5, "b": number}, {"b": 2}).ranked == [(1, 2)]


def test_a_score_beyond_32_bits_is_infinite_and_ties_with_infinity():
    # trec_eval holds scores in 32 bits: both are infinite there, and z is the greater id
    assert rank({"a": float("inf"), "z": 1e300}, {"a": 1, "z": 2}).ranked == [(1, 2), (2, 1)]


@pytest.mark.parametrize("wrong", [5, None, ("a",), 2.0, b"d"])
@pytest.mark.parametrize("grades", [{"a": 1}, {"zz": 1}])
def test_an_id_is_a_string(wrong, grades):
    with pytest.raises(InputError, match=r"query 'q': the document id .* ids are strings, try str\(id\)"):
        rank({"a": 2.0, wrong: 1.0}, grades, query_id="q")


@pytest.mark.parametrize("place", [0, 9])
def test_in_a_long_list_every_id_that_can_matter_is_checked(place):
    scores = {(7 if i == place else f"d{i}"): float(-i) for i in range(1000)}
    with pytest.raises(InputError, match="the document id 7 is a int"):
        rank(scores, {"d3": 1}, depth=10, query_id="q")
    with pytest.raises(InputError, match="the document id 7 is a int"):
        rank(scores, {"d3": 1}, query_id="q")


@pytest.mark.parametrize("size", [1, 1000])
def test_an_empty_id_is_refused(size):
    scores = {f"d{i}": float(-i) for i in range(size)} | {"": -2e6}
    with pytest.raises(InputError, match="query 'q': an empty document id"):
        rank(scores, {"d1": 1}, depth=1, query_id="q")


def test_a_list_is_taken_in_its_order():
    assert rank_list(["b", "x", "a"], {"a": 2, "b": 1, "z": 1}).ranked == [(1, 1), (3, 2)]


def test_a_document_stands_once_in_a_list():
    with pytest.raises(InputError, match="query 'q': document 'a' stands twice"):
        rank_list(["a", "b", "a"], {}, query_id="q")


def test_ties_are_counted_within_the_depth():
    scores = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 1.0}
    ranking = rank(scores, {"a": 1})
    assert [ranking.tied(k) for k in (1, 2, 3, 4, 5, None)] == [0, 1, 2, 3, 4, 4]


def test_judged_only_closes_the_gaps():
    ranking = Ranking([(2, 1), (5, 0)], judged=[1, 0, 2], num_ret=9).judged_only()
    assert (ranking.ranked, ranking.num_ret, ranking.missed) == ([(1, 1), (2, 0)], 2, [2])
