"""The laws every measure obeys, over every measure, every parameter choice and generated rankings."""

from __future__ import annotations

import pickle

import hypothesis.strategies as st
import ir_measures
import pytest
from hypothesis import given
from ir_measures import nDCG

from permed_measures import GWAP, Coverage, ListAP, ListNDCG, evaluate, parse
from permed_measures.measures import DEFINED, own
from permed_measures.measures.base import RankingMeasure
from permed_measures.ranking import Ranking
from tests.conftest import examples

CUTOFFS = (None, 1, 3, 10)
NEED_A_CUTOFF = {
    name for name, m in DEFINED.items() if "cutoff" in m.SUPPORTED_PARAMS and m.SUPPORTED_PARAMS["cutoff"].required
}


def cut(measure, cutoff):
    """Return a measure with a cut-off, where it has one; with 5 where it needs one and is given none."""
    if "cutoff" not in measure.SUPPORTED_PARAMS:
        return measure
    return measure(cutoff=5 if cutoff is None and measure.NAME in NEED_A_CUTOFF else cutoff)


def variants(cutoffs):
    for measure in DEFINED.values():
        for params in measure.EXAMPLES:
            yield from dict.fromkeys(cut(type(measure)(**params), cutoff) for cutoff in cutoffs)


every = pytest.mark.parametrize("uncut", list(variants([None])), ids=str)
cutoffs = st.sampled_from(CUTOFFS)


@st.composite
def rankings(draw, lowest=-1):
    grades = draw(st.lists(st.integers(lowest, 4), max_size=8))
    returned = draw(st.integers(0, len(grades)))
    num_ret = draw(st.integers(returned, 14))
    places = sorted(draw(st.permutations(range(1, num_ret + 1)))[:returned])
    return Ranking(list(zip(places, grades, strict=False)), judged=grades, num_ret=num_ret)


def test_every_parameter_is_among_the_variants():
    for name, measure in DEFINED.items():
        varied = {param for params in measure.EXAMPLES for param in params}
        left_out = measure.SUPPORTED_PARAMS.keys() - {"cutoff"} - varied
        assert not left_out, f"{name}: give EXAMPLES of its class, with other values than the defaults of {left_out}"


@every
@examples(40)
@given(ranking=rankings(), cutoff=cutoffs)
def test_a_value_is_a_float_within_the_range(uncut, ranking, cutoff):
    measure = cut(uncut, cutoff)
    value = measure.value(ranking)
    assert type(value) is float
    low, high = measure.RANGE
    assert low <= value <= high


@every
@examples(40)
@given(ranking=rankings(), cutoff=cutoffs)
def test_nothing_judged_in_the_list_scores_0(uncut, ranking, cutoff):
    measure = cut(uncut, cutoff)
    num_ret = 0 if measure.ZERO_WITHOUT == "returned" else ranking.num_ret
    assert measure.value(Ranking([], judged=ranking.judged, num_ret=num_ret)) == 0.0


@every
@examples(40)
@given(ranking=rankings(), cutoff=cutoffs)
def test_nothing_relevant_scores_0(uncut, ranking, cutoff):
    measure = cut(uncut, cutoff)
    if measure.ZERO_WITHOUT != "relevant":
        return
    barren = [(rank, min(grade, 0)) for rank, grade in ranking.ranked]
    assert measure.value(Ranking(barren, judged=[min(g, 0) for g in ranking.judged], num_ret=ranking.num_ret)) == 0.0


@every
@examples(40)
@given(ranking=rankings(), cutoff=cutoffs)
def test_a_cutoff_past_the_end_changes_nothing(uncut, ranking, cutoff):
    if "cutoff" not in uncut.SUPPORTED_PARAMS or uncut.NAME in NEED_A_CUTOFF:
        return
    past = ranking.num_ret + len(ranking.judged) + (cutoff or 1)
    assert uncut(cutoff=past).value(ranking) == uncut.value(ranking)


@every
@examples(40)
@given(ranking=rankings(), cutoff=cutoffs)
def test_unjudged_documents_after_the_last_hit_change_nothing(uncut, ranking, cutoff):
    measure = cut(uncut, cutoff)
    longer = Ranking(ranking.ranked, judged=ranking.judged, num_ret=ranking.num_ret + 5)
    assert measure.COUNTS_RETURNED or measure.value(longer) == measure.value(ranking)


@every
@examples(40)
@given(ranking=rankings(lowest=0), cutoff=cutoffs, data=st.data())
def test_raising_a_relevant_document_over_a_non_relevant_one_never_hurts(uncut, ranking, cutoff, data):
    """Declared by the measure itself; those that do not declare it are shown to break it below."""
    measure = cut(uncut, cutoff)
    if not measure.raising_helps or measure.arguments.get("judged_only") or not ranking.ranked:
        return
    rank, grade = data.draw(st.sampled_from(ranking.ranked))
    taken = dict(ranking.ranked)
    above = [p for p in range(1, rank) if taken.get(p, 0) == 0]
    if grade < (measure.arguments.get("rel") or 1) or not above:
        return
    other = data.draw(st.sampled_from(above))
    swapped = {**taken, other: grade}
    del swapped[rank]
    if other in taken:
        swapped[rank] = taken[other]
    after = Ranking(sorted(swapped.items()), judged=ranking.judged, num_ret=ranking.num_ret)
    advice = "mend the kernel, or let the class say that raising_helps is False, and why"
    assert measure.value(after) >= measure.value(ranking) - 1e-15, advice


@every
@examples(40)
@given(ranking=rankings(lowest=0), cutoff=cutoffs)
def test_the_ideal_order_reaches_the_top(uncut, ranking, cutoff):
    """Where the measure declares it, and anything is relevant at all."""
    measure = cut(uncut, cutoff)
    weights = measure.arguments.get("weights")
    if not measure.ideal_is_top or measure.arguments.get("gains"):
        return
    best = sorted(ranking.judged, key=lambda g: (weights or {}).get(g, g), reverse=True)
    if best and best[0] >= measure.arguments.get("rel", 1):
        ideal = Ranking(list(enumerate(best, 1)), judged=best, num_ret=len(best))
        advice = "mend the kernel, or let the class say that ideal_is_top is False, and why"
        assert measure.value(ideal) == pytest.approx(1.0, abs=1e-15), advice


def test_exceptions_are_declared_by_those_that_need_them():
    declared = {m.NAME for m in variants([None]) if m.ZERO_WITHOUT != "relevant" or m.COUNTS_RETURNED}
    unjudged = Ranking([], judged=[1], num_ret=3)
    barren = Ranking([(1, 0)], judged=[0, 1], num_ret=1)
    long, longer = (Ranking([(1, 1), (3, 1)], judged=[2, 1, 1], num_ret=num_ret) for num_ret in (4, 9))
    broken = {
        measure.NAME
        for measure in variants([None])
        if measure.value(unjudged) or measure.value(barren) or measure.value(long) != measure.value(longer)
    }
    assert declared == broken, "declare ZERO_WITHOUT or COUNTS_RETURNED in the class, or take them out"
    assert declared >= {"NumNonRelJudgedRet", "RBPResidual", "RnDCG", "Unjudged", "Utility"}


def test_a_document_entering_the_top_k_can_lower_the_list_measures():
    before = Ranking([(1, 1), (4, 1)], judged=[1, 1], num_ret=4)
    after = Ranking([(1, 1), (3, 1)], judged=[1, 1], num_ret=4)
    for measure in (ListAP @ 3, GWAP(max_rel=1, norm="retrieved") @ 3):
        assert not measure.raising_helps
        assert measure.value(before) == 1.0
        assert measure.value(after) == (1 + 2 / 3) / 2


def test_a_raised_document_can_lower_what_looks_at_its_rank_or_at_judgements():
    before = Ranking([(3, 4), (4, 2)], judged=[4, 2], num_ret=4)
    after = Ranking([(2, 2), (3, 4)], judged=[4, 2], num_ret=4)  # nDCG at its new rank is lower than at its old one
    for measure in (DEFINED["nDCGRel"], DEFINED["Unjudged"] @ 2, DEFINED["RBPResidual"]):
        assert not measure.raising_helps
        assert measure.value(after) < measure.value(before)


@pytest.mark.parametrize("measure", list(variants(CUTOFFS)), ids=str)
def test_a_measure_is_what_its_print_says(measure):
    parsed = own(parse(str(measure)))
    assert parsed == measure
    assert hash(parsed) == hash(measure)
    assert pickle.loads(pickle.dumps(measure)) == measure  # noqa: S301  (our own bytes)
    if measure.HOST_MEASURE is None:
        assert ir_measures.parse_measure(str(measure)) == measure


weights = st.dictionaries(st.one_of(st.integers(1, 9), st.floats(0.1, 9)), st.floats(0, 1), min_size=1, max_size=4)


@given(weights, weights)
def test_two_weights_are_equal_only_if_they_are_the_same(one, other):
    assert (GWAP(weights=one) == GWAP(weights=other)) == (one == other)
    assert ir_measures.parse_measure(str(GWAP(weights=one))) == GWAP(weights=one)


def test_a_weight_equal_to_its_grade_is_printed():
    # ir_measures leaves such entries out, and the two would be one measure
    assert str(GWAP(weights={1: 1.0, 2: 1.0})) == "GWAP(weights={1: 1.0, 2: 1.0})"
    assert GWAP(weights={1: 1.0, 2: 1.0}) != GWAP(weights={2: 1.0})


@st.composite
def tie_free(draw):
    docs = draw(st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=12, unique=True))
    grades = {doc_id: draw(st.integers(0, 2)) for doc_id in docs if draw(st.booleans())}
    returned = draw(st.permutations(docs))[: draw(st.integers(1, len(docs)))]
    return grades, {doc_id: float(-place) for place, doc_id in enumerate(returned)}


OURS = [GWAP @ 3, GWAP(norm="ideal"), Coverage @ 3, ListAP @ 3, ListNDCG @ 3, nDCG(dcg="exp-log2") @ 3]


@given(st.lists(tie_free(), min_size=1, max_size=4))
def test_the_hosts_agree(pairs):
    qrels = {f"q{i}": grades for i, (grades, _) in enumerate(pairs)}
    run = {f"q{i}": scores for i, (_, scores) in enumerate(pairs)}
    ours = evaluate(qrels, run, OURS)
    theirs = ir_measures.calc(OURS, qrels, run)
    assert theirs.aggregated == ours.means
    assert sorted(theirs.per_query, key=str) == sorted(ours.values, key=str)


def test_every_defined_measure_is_found_by_itself():
    assert all(isinstance(measure, RankingMeasure) for measure in DEFINED.values())
    assert {"GWAP", "Coverage", "ListAP", "ListNDCG", "nDCG"} <= DEFINED.keys()
    assert own(nDCG(dcg="exp-log2") @ 5) == nDCG(dcg="exp-log2") @ 5
    assert own(ir_measures.P @ 5) is None
