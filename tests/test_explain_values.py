"""The conventions of explain against loops that spell them out, and against evaluate()."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from permed_measures import InputError, ParamError, evaluate, explain
from permed_measures.evaluate.conventions import FAMILIES, Convention
from permed_measures.evaluate.conventions.names import convention_of, measure_of, options_of
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.values import Values
from tests.conftest import examples, queries


def gain_of(grade, convention):
    if grade is None or grade <= 0:
        return 0.0
    if convention.gain == "binary":
        return float(grade >= convention.threshold)
    return 2.0**grade - 1 if convention.gain == "exponential" else float(grade)


def dcg(gains, discount="log2"):
    """Divide each gain by log2(rank + 1); in 2002 by log2(rank) where that is at least 1; or by the rank."""
    by = {"log2": lambda rank: math.log2(rank + 1), "2002": lambda rank: max(1, math.log2(rank)), "rank": float}
    return sum(gain / by[discount](rank) for rank, gain in enumerate(gains, 1))


def by_hand(convention, grades, returned):  # noqa: C901, PLR0911  (every definition, spelled out)
    """Compute the value of one query; ``returned`` are the grades of the list in order, None where unjudged."""
    k = len(returned) + len(grades) + 1 if convention.cutoff is None else convention.cutoff
    whole = list(returned)
    if convention.unjudged == "removed":  # with grades below 0, as trec_eval -J does
        returned = [grade for grade in returned if grade is not None and grade >= 0]
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
        best = sorted((gain_of(grade, convention) for grade in pool), reverse=True)[:depth]
        ideal = dcg([1] * k if convention.ideal == "full" else best, convention.discount)
        return dcg([gain_of(grade, convention) for grade in top], convention.discount) / ideal if ideal else 0.0
    if convention.family == "dcg":
        return dcg([gain_of(grade, convention) for grade in top], convention.discount)
    if convention.family == "mrr":
        return next((1 / rank for rank, grade in enumerate(top, 1) if is_relevant(grade)), 0.0)
    if convention.family == "hit":
        return float(found > 0)
    if convention.family == "iprec":
        level = convention.recall * num_rel
        needed = int(level + 0.9) if convention.levels == "up" else math.floor(level + 0.5)
        found_at = [sum(map(is_relevant, top[:rank])) for rank in range(1, len(top) + 1)]
        return max((n / rank for rank, n in enumerate(found_at, 1) if n >= needed), default=0.0)
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


def definitions(values, family):
    return values.definitions(family, 0.6 if FAMILIES[family].by_recall else None)


def conventions(values, family):
    for definition in definitions(values, family):
        for unjudged in ("kept", "removed", "after"):
            yield definition._replace(unjudged=unjudged)


@pytest.mark.parametrize("family", FAMILIES)
@examples(40)
@given(query=tied_queries(), cutoff=st.sampled_from([1, 2, 3, 5, None]))
@example(query=WEIGHTS_WITHIN_THE_CUT, cutoff=3)
def test_ties_are_exact_over_all_orders(family, query, cutoff):
    scores, grades = query
    if cutoff is None and FAMILIES[family].needs_cutoff:
        cutoff = 4
    cutoff = None if FAMILIES[family].by_recall else cutoff
    values = Values(JudgedRun({"q": grades}, {"q": scores}, cutoff))
    orders = Counter(map(tuple, all_orders(scores, grades)))
    for convention in conventions(values, family):
        each = [(by_hand(convention, list(grades.values()), order), times) for order, times in orders.items()]
        mean = math.fsum(value * times for value, times in each) / orders.total()
        wanted = {"expected": mean, "best": max(each)[0], "worst": min(each)[0]}
        for ties, value in wanted.items():
            asked = convention._replace(ties=ties)
            found = values.by_query(asked)[0]
            if family == "iprec" and len(set(scores.values())) < len(scores):
                assert math.isnan(found) or found == pytest.approx(value, abs=1e-12), asked  # not given, or exact
            else:
                assert found == pytest.approx(value, abs=1e-12), asked


def test_two_rules_that_leave_the_same_documents_keep_their_own_ties():
    run = {"q": {"a": 1.0, "u": 1.0, "w": 1.0 + 1e-12}}
    values = Values(JudgedRun({"q": {"a": 1}}, run, 2))
    means = {
        bits: values.mean(Convention("map", 2, unjudged="after", ties="expected", precision=bits)) for bits in (32, 64)
    }
    # a is one of the top 2, and then the first that is judged: of 3 tied documents, and of the 2 below w
    assert means == pytest.approx({32: 2 / 3, 64: 1 / 2})


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
@examples(40)
@given(query=queries(judged=st.integers(-2, 4)), cutoff=st.sampled_from([1, 3, None]))
def test_every_order_agrees_with_a_plain_sort(ties, precision, query, cutoff):
    grades, scores = query
    values = Values(JudgedRun({"q": grades}, {"q": scores}, cutoff))
    returned = [grades.get(doc_id) for doc_id in order_by_hand(scores, ties, precision)]
    for family in ("map", "ndcg", "dcg", "mrr", "recall", "hit", *(("iprec",) if cutoff is None else ())):
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
@examples(40)
@given(data=runs(), cutoff=st.sampled_from([1, 2, 5, None]))
def test_what_a_measure_expresses_is_what_evaluate_computes(family, data, cutoff):
    qrels, run = data
    if not qrels or not run or (cutoff is None and FAMILIES[family].needs_cutoff):
        return
    lists = JudgedRun(qrels, run, None if FAMILIES[family].by_recall else cutoff)
    values = Values(lists)
    for definition in definitions(values, family):
        for unjudged, query_set, bits in itertools.product(("kept", "removed"), ("qrels", "run", "both"), (32, 64)):
            convention = definition._replace(unjudged=unjudged, queries=query_set, precision=bits)
            name = measure_of(convention, lists.distinct_grades)
            if name is None or not values.query_set(convention).any():
                continue
            mean = next(iter(evaluate(qrels, run, name, **options_of(convention)).means.values()))
            assert values.mean(convention) == pytest.approx(mean, abs=1e-12), (name, convention)


def test_measures_and_conventions_are_each_others_names():
    grades = [0, 1, 2]
    for name in (
        "AP@10", "AP", "AP(rel=2)@5", "GWAP@10", "GWAP(max_rel=3)", "GWAP(norm='ideal')@10", "ListAP@3", "nDCG@10",
        "nDCG(dcg='exp-log2')@10", "ListNDCG@3", "ListNDCG(dcg='exp-log2')", "R@5", "P@5", "RR@10", "RR", "Success@1",
        "nDCG(judged_only=True)@10", "AP(judged_only=True)@10", "nDCG(gains={0: 0,1: 0,2: 1})@10", "SetR", "Coverage",
        "IPrec@0.6", "IPrec(rel=2,judged_only=True)@0.25", "IPrecNearest@0.6", "IPrecNearest(rel=2)@0.25",
    ):  # fmt: skip
        known = measure_of(convention_of(name, grades), grades)
        assert known is not None
        assert convention_of(known, grades) == convention_of(name, grades)
        assert known.split("(")[0].split("@")[0] == name.split("(")[0].split("@")[0]


SCALES = (
    [0], [0, 1], [0, 1, 2], [0, 2], [1, 2, 3], [-2, -1, 0, 1, 2], [0, 0.5], [0, 0.5, 3], [0.25, 0.5, 1.5], [0, 0.005],
    list(range(11)), list(range(26)), [0, 3, 17, 40], [0, *(0.7 * n for n in range(1, 15))], [0, 1, 2000],
)  # fmt: skip


@pytest.mark.parametrize("grades", SCALES, ids=str)
@pytest.mark.parametrize("cutoff", [1, 10, None])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_measure_is_read_as_the_plainest_convention_that_it_names(family, cutoff, grades):
    if cutoff is None and FAMILIES[family].needs_cutoff:
        return
    named = {}
    values = Values(JudgedRun({"q": {f"d{grade}": grade for grade in grades}}, {"q": ["x"]}, cutoff))
    for definition in definitions(values, family):
        for unjudged in ("kept", "removed"):
            convention = definition._replace(unjudged=unjudged)
            named.setdefault(measure_of(convention, grades), []).append(convention)
    assert len(named) > 1 or (family, *named) == ("dcg", None)  # which is no measure of ours
    for name, group in named.items():
        if name is not None:
            plainest = min(group, key=lambda convention: (convention.cost, len(convention.deviations())))
            assert convention_of(name, grades) == plainest, name


_GRADES = st.sampled_from([-2, -1, 0, 0, 0.5, 1, 1, 2, 2.5, 3])
_CUT = st.sampled_from(["", "@1", "@2", "@5"])
_LEVEL = st.sampled_from(["", "rel=1", "rel=2", "rel=0.5"])
_JUDGED = st.sampled_from(["", "judged_only=True"])
_WEIGHTS = st.dictionaries(_GRADES.filter(lambda g: g > 0), st.sampled_from([1.0, 1.0, 0.5]), min_size=1)
_GAINS = st.dictionaries(_GRADES, st.sampled_from([0, 1, 1, 2, 3, -1, 2**0.5 - 1]), max_size=4)


def named(name, *params, cut=_CUT):
    """Write measures with any of these parameters."""

    def written(drawn):
        given, at = ",".join(filter(None, drawn[:-1])), drawn[-1]
        return f"{name}({given}){at}" if given else name + at

    return st.tuples(*params, cut).map(written)


_AT = st.sampled_from(["@1", "@2", "@5"])
_DCG = st.sampled_from(["", "dcg='exp-log2'", "dcg='log2'"])
MEASURES = st.one_of(
    named("AP", _LEVEL, _JUDGED),
    named("RR", _LEVEL, _JUDGED),
    named("P", _LEVEL, _JUDGED, cut=_AT),
    named("R", _LEVEL, _JUDGED, cut=_AT),
    named("Success", _LEVEL, _JUDGED, cut=_AT),
    named("SetR", _LEVEL, cut=st.just("")),
    named("Coverage", _LEVEL),
    named("ListAP", _LEVEL),
    named("ListNDCG", _DCG),
    named("IPrec", _LEVEL, _JUDGED, cut=st.sampled_from(["@0.0", "@0.1", "@0.35", "@0.5", "@1.0"])),
    named("nDCG", _DCG, _GAINS.map(lambda gains: f"gains={gains}" if gains else ""), _JUDGED),
    named(
        "GWAP",
        _LEVEL,
        st.one_of(st.sampled_from(["", "max_rel=3", "max_rel=1"]), _WEIGHTS.map("weights={}".format)),
        st.sampled_from(["", "norm='cutoff'", "norm='retrieved'", "norm='ideal'"]),
    ),
)
A_NAME_IN_ITS_PRINT = ({"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}, {"q": ["b", "x", "a", "c", "d"]})


@examples(400)
@given(qrels=st.dictionaries(st.sampled_from("pq"), st.dictionaries(st.sampled_from("abcdef"), _GRADES), min_size=1),
       run=st.fixed_dictionaries({query: st.permutations("abcdefx").map(lambda docs: docs[:5]) for query in "pq"}),
       name=MEASURES)  # fmt: skip
@example(*A_NAME_IN_ITS_PRINT, "nDCG(gains={2: 1})@10")
@example(*A_NAME_IN_ITS_PRINT, "nDCG(gains={0: 0,1: 1,2: 1})@10")
@example(*A_NAME_IN_ITS_PRINT, "SetR")
def test_a_measure_has_the_value_that_evaluate_gives_it_or_is_refused(qrels, run, name):
    try:
        expected = next(iter(evaluate(qrels, run, name).columns.values()))
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            explain(qrels, run, a=name, b=name)
        return
    grades = sorted({grade for judged in qrels.values() for grade in judged.values()})
    try:
        convention = convention_of(name, grades)
    except ParamError as error:
        assert re.search("gains|weights", str(error))  # noqa: PT017  (either is right, and both are looked at)
        return
    values = Values(JudgedRun(qrels, run, convention.cutoff))
    found = dict(zip(values.lists.query_ids, values.by_query(convention), strict=True))
    assert {query_id: found[query_id] for query_id in expected} == pytest.approx(expected, abs=1e-12), convention
    with pytest.MonkeyPatch.context() as patch:
        # the end of the walk is asked for, not the whole family
        patch.setattr(Values, "family", lambda *_: [(convention, 0.0)])
        ends = explain(qrels, run, a=name, b=name).waterfall.values
    assert ends[0] == pytest.approx(math.fsum(expected.values()) / len(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "grades"),
    [
        ("nDCG(gains={1: 2})", [0, 1, 2]),  # 0, 2, 2: neither the grade, nor 0 and 1
        ("nDCG(gains={0: 1})", [0, 1]),  # from grade 0 on: no threshold above 0
        ("nDCG(gains={1: 0,2: 1,3: 0})", [0, 1, 2, 3]),
        ("nDCG(gains={-1: 0},judged_only=True)", [-1, 0, 1]),  # judged now, and so in the list
        ("nDCG(dcg='exp-log2')", [0, 2000]),
        ("GWAP(weights={1: 0.5,2: 1.0})", [0, 1, 2]),
        ("Rprec", [0, 1]),
    ],
)
def test_what_is_no_convention_is_refused(name, grades):
    with pytest.raises(ParamError):
        convention_of(name, grades)


@pytest.mark.parametrize(
    ("name", "grades", "gain", "threshold"),
    [
        ("nDCG(gains={2: 1})", [0, 1, 2], "binary", 1),
        ("nDCG(gains={1: 0,2: 1})", [0, 1, 2], "binary", 2),
        ("nDCG(gains={2: 1})", [0, 2], "binary", 1),
        ("nDCG(gains={2: 3,3: 7})", [0, 1, 2, 3], "exponential", 1),
        ("nDCG(gains={2: 3})", [0, 1], "linear", 1),  # nobody has grade 2
        ("nDCG(dcg='exp-log2',gains={2: 1})", [0, 1, 2], "binary", 1),
    ],
)
def test_gains_are_read_by_what_each_grade_gains(name, grades, gain, threshold):
    found = convention_of(name, grades)
    assert (found.gain, found.threshold) == (gain, threshold)


def test_the_query_set_and_what_is_empty():
    qrels = {"a": {"x": 1}, "b": {"y": 1}, "c": {"z": 0}}
    run = {"a": {"x": 1.0}, "c": {"z": 1.0}, "d": {"x": 1.0}}
    values = Values(JudgedRun(qrels, run, 10))

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
    values = Values(JudgedRun(qrels, run, 10))
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
    values = Values(JudgedRun({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "a", "b"]}, 4))
    assert values.mean(Convention("map", 4, duplicates=duplicates)) == pytest.approx(expected)
    scored = Values(JudgedRun({"q": {"a": 1, "b": 1}}, {"q": [("a", 9.0), ("x", 8.0), ("a", 7.0), ("b", 6.0)]}, 4))
    assert scored.mean(Convention("map", 4, duplicates=duplicates)) == pytest.approx(expected)
