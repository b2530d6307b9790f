"""The conventions of explain against loops that spell them out, and against evaluate()."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from math import log2

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

from permed_measures import evaluate
from permed_measures.explanation.conventions import FAMILIES, Convention
from permed_measures.explanation.family import Values
from permed_measures.explanation.lists import Lists
from permed_measures.explanation.names import convention_of, measure_of
from tests.conftest import queries


def gain_of(grade, convention):
    if grade is None or grade <= 0:
        return 0.0
    if convention.gain == "binary":
        return float(grade >= convention.threshold)
    return 2.0**grade - 1 if convention.gain == "exponential" else float(grade)


def dcg(gains):
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def by_hand(convention, grades, returned):  # noqa: C901  (every definition, spelled out)
    """Compute the value of one query; ``returned`` are the grades of the list in order, None where unjudged."""
    k = len(returned) + len(grades) + 1 if convention.cutoff is None else convention.cutoff
    whole = list(returned)
    if convention.unjudged == "removed":
        returned = [grade for grade in returned if grade is not None and grade >= 0]  # as trec_eval -J does
    top = returned[:k]
    length = len(returned)
    if convention.unjudged == "after":
        top = [grade for grade in top if grade is not None and grade >= 0]
        length = len(top)
    rel = convention.threshold

    def is_relevant(grade):
        return grade is not None and grade >= rel

    num_rel = sum(map(is_relevant, grades))
    num_returned = sum(map(is_relevant, whole))
    found = sum(map(is_relevant, top))
    denominators = {
        "relevant": num_rel,
        "min": min(num_rel, k),
        "retrieved": found,
        "returned": num_returned,
        "returned-min": min(num_returned, k),
        "k": k,
        "length": min(length, k),
    }
    if convention.family == "map":
        scale = convention.weights
        total, seen = 0.0, 0
        for rank, grade in enumerate(top, 1):
            if is_relevant(grade):
                seen += 1
                total += seen / rank * (1 if scale is None else grade / scale)
        if convention.denominator == "ideal":
            worth = sorted((grade / scale for grade in grades if is_relevant(grade)), reverse=True)
            divisor = sum(worth[:k])
        else:
            divisor = denominators[convention.denominator]
        return total / divisor if divisor else 0.0
    if convention.family == "ndcg":
        depth = {"uncut": len(grades), "short": min(k, length)}.get(convention.ideal, k)
        pool = {"returned": whole, "top": top}.get(convention.ideal, grades)
        ideal = dcg(sorted((gain_of(grade, convention) for grade in pool), reverse=True)[:depth])
        return dcg([gain_of(grade, convention) for grade in top]) / ideal if ideal else 0.0
    if convention.family == "mrr":
        return next((1 / rank for rank, grade in enumerate(top, 1) if is_relevant(grade)), 0.0)
    if convention.family == "hit":
        return float(found > 0)
    divisor = denominators[convention.denominator]
    return found / divisor if divisor else 0.0


def all_orders(scores, grades):
    """Every order of the list that the scores allow, as grades."""
    tiers = {}
    for doc_id, score in scores.items():
        tiers.setdefault(score, []).append(grades.get(doc_id))
    orders = [itertools.permutations(tiers[score]) for score in sorted(tiers, reverse=True)]
    for chosen in itertools.product(*orders):
        yield [grade for tier in chosen for grade in tier]


@st.composite
def tied_queries(draw):
    doc_ids = [f"d{number}" for number in range(draw(st.integers(1, 6)))]
    scores = {doc_id: float(draw(st.integers(0, 2))) for doc_id in doc_ids}
    pool = [*doc_ids, "missed1", "missed2"]
    judged = draw(st.lists(st.sampled_from(pool), unique=True))
    return scores, {doc_id: draw(st.sampled_from([-1, 0, 1, 2, 3])) for doc_id in judged}


WEIGHTS_WITHIN_THE_CUT = ({"d0": 2.0, "d1": 1.0, "d2": 1.0, "d3": 1.0}, {"d0": 0, "d1": 1, "d2": 3, "d3": 0})
"""The cut goes through a group whose relevant documents weigh differently: the heavier one stands better at rank 3."""


def conventions(values, family):
    for definition in values.definitions(family):
        for unjudged in ("kept", "removed", "after"):
            yield definition._replace(unjudged=unjudged)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40)
@given(query=tied_queries(), cutoff=st.sampled_from([1, 2, 3, 5, None]))
@example(query=WEIGHTS_WITHIN_THE_CUT, cutoff=3)
def test_ties_are_exact_over_all_orders(family, query, cutoff):
    scores, grades = query
    if cutoff is None and FAMILIES[family].needs_cutoff:
        cutoff = 4
    values = Values(Lists({"q": grades}, {"q": scores}, cutoff))
    orders = Counter(map(tuple, all_orders(scores, grades)))
    for convention in conventions(values, family):
        each = [(by_hand(convention, list(grades.values()), order), times) for order, times in orders.items()]
        mean = math.fsum(value * times for value, times in each) / orders.total()
        wanted = {"expected": mean, "best": max(each)[0], "worst": min(each)[0]}
        for ties, value in wanted.items():
            asked = convention._replace(ties=ties)
            assert values.by_query(asked)[0] == pytest.approx(value, abs=1e-12), asked


def order_by_hand(scores, ties, precision):
    """Return the list in one order, by a plain sort."""
    exact = {doc_id: float(np.float32(score)) if precision == 32 else score for doc_id, score in scores.items()}
    listed = list(scores)
    if ties == "listed":
        return listed
    before = {
        "trec_eval": sorted(listed, key=lambda doc_id: doc_id.encode(), reverse=True),
        "ascending": sorted(listed, key=str.encode),
        "input": listed,
        "reverse": listed[::-1],
    }[ties]
    return sorted(before, key=lambda doc_id: -exact[doc_id])  # sorted() keeps the order of equals


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")  # 1e300 as a 32-bit float
@pytest.mark.parametrize("ties", ["trec_eval", "ascending", "input", "reverse", "listed"])
@pytest.mark.parametrize("precision", [32, 64])
@settings(max_examples=40)
@given(query=queries(judged=st.integers(-2, 4)), cutoff=st.sampled_from([1, 3, None]))
def test_every_order_agrees_with_a_plain_sort(ties, precision, query, cutoff):
    grades, scores = query
    values = Values(Lists({"q": grades}, {"q": scores}, cutoff))
    returned = [grades.get(doc_id) for doc_id in order_by_hand(scores, ties, precision)]
    for family in ("map", "ndcg", "mrr", "recall", "hit"):
        for convention in conventions(values, family):
            asked = convention._replace(ties=ties, precision=precision)
            expected = by_hand(asked, list(grades.values()), returned)
            assert values.by_query(asked)[0] == pytest.approx(expected, abs=1e-12), asked


@st.composite
def runs(draw):
    """Several queries, some of them only in the qrels, some only in the run."""
    qrels, run = {}, {}
    for number in range(draw(st.integers(1, 4))):
        grades, scores = draw(queries(judged=st.one_of(st.integers(-1, 3), st.sampled_from([0.5, 2.5]))))
        where = draw(st.sampled_from(["both", "both", "qrels", "run"]))
        if where != "run":
            qrels[f"q{number}"] = grades
        if where != "qrels":
            run[f"q{number}"] = scores
    return qrels, run


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40)
@given(data=runs(), cutoff=st.sampled_from([1, 2, 5, None]))
def test_what_a_measure_expresses_is_what_evaluate_computes(family, data, cutoff):
    qrels, run = data
    if not qrels or not run or (cutoff is None and FAMILIES[family].needs_cutoff):
        return
    lists = Lists(qrels, run, cutoff)
    values = Values(lists)
    for definition in values.definitions(family):
        for unjudged, query_set in itertools.product(("kept", "removed"), ("qrels", "run", "both")):
            convention = definition._replace(unjudged=unjudged, queries=query_set)
            name = measure_of(convention, lists.distinct_grades)
            if name is None or not values.query_set(convention).any():
                continue
            mean = next(iter(evaluate(qrels, run, name, queries=query_set).means.values()))
            assert values.mean(convention) == pytest.approx(mean, abs=1e-12), (name, convention)


def test_measures_and_conventions_are_each_others_names():
    grades = [0, 1, 2]
    for name in (
        "AP@10", "AP", "AP(rel=2)@5", "GWAP@10", "GWAP(max_rel=3)", "GWAP(norm='ideal')@10", "ListAP@3", "nDCG@10",
        "nDCG(dcg='exp-log2')@10", "ListNDCG@3", "ListNDCG(dcg='exp-log2')", "R@5", "P@5", "RR@10", "RR", "Success@1",
        "nDCG(judged_only=True)@10", "AP(judged_only=True)@10", "nDCG(gains={0: 0,1: 0,2: 1})@10",
    ):  # fmt: skip
        known = measure_of(convention_of(name), grades)
        assert known is not None
        assert convention_of(known) == convention_of(name)
        assert known.split("(")[0].split("@")[0] == name.split("(")[0].split("@")[0]


def test_the_query_set_and_what_is_empty():
    qrels = {"a": {"x": 1}, "b": {"y": 1}, "c": {"z": 0}}
    run = {"a": {"x": 1.0}, "c": {"z": 1.0}, "d": {"x": 1.0}}
    values = Values(Lists(qrels, run, 10))

    def mean(**changes):
        return values.mean(Convention("map", 10)._replace(**changes))

    assert mean() == pytest.approx(1 / 3)  # a 1, b missing 0, c nothing relevant 0
    assert mean(queries="both") == pytest.approx(1 / 2)  # a, c
    assert mean(queries="run") == pytest.approx(1 / 3)  # a, c, d
    assert mean(empty="left out") == pytest.approx(1 / 2)  # a, b
    assert mean(empty="one") == pytest.approx(2 / 3)  # a, c
    assert mean(queries="both", empty="one") == pytest.approx(1.0)


def test_rounding_is_of_each_query():
    qrels = {query: {"x": 1} for query in "abc"}
    run = {"a": ["x"], "b": ["p", "q", "x"], "c": ["p", "q", "x"]}
    values = Values(Lists(qrels, run, 10))
    assert values.mean(Convention("mrr", 10, rounding=2)) == pytest.approx((1 + 0.33 + 0.33) / 3)
    assert values.mean(Convention("mrr", 10)) == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)


@pytest.mark.parametrize(
    ("duplicates", "expected"),
    [
        ("first", (1 + 2 / 3) / 2),  # a, x, b
        ("each", (1 + 2 / 3 + 3 / 4) / 2),  # a, x, a, b: a counts twice
        ("held", (1 + 2 / 4) / 2),  # a, x, -, b
        ("last", (1 / 2 + 2 / 3) / 2),  # x, a, b
    ],
)
def test_a_document_returned_twice(duplicates, expected):
    values = Values(Lists({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "a", "b"]}, 4))
    assert values.mean(Convention("map", 4, duplicates=duplicates)) == pytest.approx(expected)
    scored = Values(Lists({"q": {"a": 1, "b": 1}}, {"q": [("a", 9.0), ("x", 8.0), ("a", 7.0), ("b", 6.0)]}, 4))
    assert scored.mean(Convention("map", 4, duplicates=duplicates)) == pytest.approx(expected)
