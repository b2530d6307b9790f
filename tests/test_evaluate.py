"""evaluate(): means, values, notes, query sets, thresholds, conversions."""

from __future__ import annotations

import json

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from ir_measures import AP, RR, Metric, NumRel, NumRet, P, R, nDCG

from permed_measures import GWAP, Coverage, HostError, InputError, ListAP, ParamError, evaluate
from tests.conftest import queries

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1, "d": 0}, "q3": {"e": 0}, "q4": {"f": 1}}
RUN = {"q1": {"b": 9.0, "a": 8.0}, "q2": {"x": 5.0, "c": 5.0}, "q3": {"e": 1.0}, "q9": {"z": 1.0}}


def test_means_and_values():
    result = evaluate(QRELS, RUN, [GWAP @ 10, P @ 1])
    # q1 (1 · 0.5 + 1 · 1.0) / 2; q2: x before c (the greater id), 1/2 · 0.5; q3 nothing relevant; q4 not in the run
    assert result.means == {GWAP @ 10: pytest.approx((0.75 + 0.25 + 0 + 0) / 4), P @ 1: pytest.approx(1 / 4)}
    assert result.values[:4] == [
        Metric("q1", GWAP @ 10, 0.75),
        Metric("q1", P @ 1, 1.0),
        Metric("q2", GWAP @ 10, 0.25),
        Metric("q2", P @ 1, 0.0),
    ]
    assert len(result.values) == 8
    assert result["P@1"] == result[P @ 1] == 0.25
    with pytest.raises(KeyError, match="P@2 was not evaluated; these were: GWAP@10, P@1"):
        result["P@2"]


@pytest.mark.parametrize(("queries", "count"), [("qrels", 4), ("run", 4), ("both", 3)])
def test_query_sets(queries, count):
    result = evaluate(QRELS, RUN, [Coverage @ 10], queries=queries)
    assert result.means == {Coverage @ 10: 2 / count}
    expected = {"qrels": ["q1", "q2", "q3", "q4"], "run": ["q1", "q2", "q3", "q9"], "both": ["q1", "q2", "q3"]}
    assert [metric.query_id for metric in result.values] == expected[queries]


def test_notes_say_what_the_numbers_rest_on():
    assert evaluate(QRELS, RUN, "P@2").notes == [
        "1 query only in the run, ignored ('q9')",
        "1 query missing from the run, counted as 0 ('q4')",
        "1 query without a document of grade >= 1, counted as 0 ('q3')",
        "40.0% of the documents in the top 2 tie with another one's score (32-bit); ties go by document id, descending",
        "20.0% of the documents in the top 2 are unjudged and count as not relevant",
    ]
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "P@2").notes == []


def test_notes_name_at_most_five():
    qrels = {f"q{i}": {"a": 1} for i in range(7)}
    (note,) = evaluate(qrels, {"q0": {"a": 1.0}}, "P@1").notes
    assert note == "6 queries missing from the run, counted as 0 ('q1', 'q2', 'q3', 'q4', 'q5', …)"


def test_the_depth_of_the_notes_is_the_deepest_cutoff():
    (note,) = evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "P@1 R@2").notes
    assert note == "50.0% of the documents in the top 2 are unjudged and count as not relevant"
    (note,) = evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "AP").notes
    assert note == "66.7% of the returned documents are unjudged and count as not relevant"


def test_min_relevance_is_the_default_rel():
    qrels = {"q": {"a": 7.5, "b": 6.0, "c": 2.0}}
    run = {"q": ["c", "b", "a"]}
    asked = [P @ 2, AP, Coverage @ 1, ListAP, P(rel=2) @ 2, nDCG(dcg="exp-log2") @ 3]
    result = evaluate(qrels, run, asked, min_relevance=6.5)
    assert result.means == {
        P @ 2: 0.0,
        AP: pytest.approx(1 / 3),
        Coverage @ 1: 0.0,
        ListAP: pytest.approx(1 / 3),
        P(rel=2) @ 2: 1.0,
        nDCG(dcg="exp-log2") @ 3: evaluate(qrels, run, asked).means[nDCG(dcg="exp-log2") @ 3],
    }
    assert result.min_relevance == 6.5
    assert result.notes[0].startswith("relevant means grade >= 6.5 (min_relevance)")


def test_a_share_of_few_is_not_said_to_be_none_and_of_most_not_all():
    ties = [*[0.5] * 2, *range(2, 5001)]  # 2 of 5,001
    notes = evaluate({"q": {"d0": 1, "d1": 1}}, {"q": {f"d{n}": s for n, s in enumerate(ties)}}, "AP").notes
    assert notes[0].startswith("less than 0.1% of the returned documents tie with another one's score")
    assert notes[1] == "more than 99.9% of the returned documents are unjudged and count as not relevant"
    notes = evaluate({"q": {"x": 1}}, {"q": ["a", "b"]}, "AP").notes
    assert notes == ["100.0% of the returned documents are unjudged and count as not relevant"]


def test_min_relevance_leaves_numret_alone():
    assert evaluate({"q": {"a": 3}}, {"q": ["a", "b"]}, [NumRet, NumRel], min_relevance=5).means == {
        NumRet: 2,
        NumRel: 0,
    }


@pytest.mark.parametrize("wrong", [0, -1, "5", float("nan"), True])
def test_min_relevance_is_above_0(wrong):
    with pytest.raises(ParamError, match="give a number > 0: an unjudged document has grade 0"):
        evaluate(QRELS, RUN, "P@1", min_relevance=wrong)


@pytest.mark.parametrize("grade", [8, 8.0, np.int64(8), np.float64(8.0), np.float32(8)])
def test_standard_measures_take_any_number_as_grade(grade):
    result = evaluate({"q": {"a": grade, "b": 7.5}}, {"q": ["a", "x", "b"]}, [P @ 2, R @ 2, AP, RR], min_relevance=7)
    assert result.means == {P @ 2: 1 / 2, R @ 2: 1 / 2, AP: pytest.approx((1 + 2 / 3) / 2), RR: 1.0}


def test_conversions():
    result = evaluate(QRELS, RUN, profile="permed")
    assert list(result.to_dict()) == ["metrics", "signatures"]
    assert list(result.to_dict()["metrics"]) == ["NDCG@10", "MAP@10", "P@1"]
    full = json.loads(result.to_json(by_query=True, notes=True))
    assert full["queries"]["q1"]["MAP@10"] == 0.75
    assert full["notes"] == result.notes
    text = str(result)
    assert "MAP@10 = GWAP@10" in text
    assert "note: 1 query" in text


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_to_dataframe(kind):
    pytest.importorskip(kind, reason=f"{kind} is an extra")
    frame = evaluate(QRELS, RUN, "GWAP@10 P@1").to_dataframe(kind)
    assert list(frame.columns) == ["query_id", "measure", "value"]
    assert frame["value"].to_list()[:2] == [0.75, 1.0]
    assert frame["measure"].to_list()[:2] == ["GWAP@10", "P@1"]


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(HostError, match=r"pip install 'permed-measures\[frames\]'"):
        evaluate(QRELS, RUN, "P@1").to_dataframe()
    with pytest.raises(ParamError, match="give 'pandas' or 'polars'"):
        evaluate(QRELS, RUN, "P@1").to_dataframe("arrow")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either measures, such as 'GWAP@10 P@1', or a profile: permed, "),
        ({"measures": "P@1", "profile": "permed"}, "give either measures"),
        ({"measures": []}, "no measures given"),
        ({"measures": "P@1", "queries": "all"}, "queries='all' is not allowed; give one of 'qrels', 'run', 'both'"),
        ({"profile": "permd"}, r"unknown profile 'permd'.* Did you mean permed"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ParamError, match=message):
        evaluate(QRELS, RUN, **options)


def test_no_common_query_is_an_error_that_shows_both():
    with pytest.raises(InputError, match=r"qrels hold 1 queries \('1'\), the run 1 \('q1'\).*written alike"):
        evaluate({"1": {"a": 1}}, {"q1": {"a": 1.0}}, "P@1", queries="both")
    with pytest.raises(InputError, match="no query to evaluate"):
        evaluate({}, {"q1": {"a": 1.0}}, "P@1")


def test_ids_that_never_meet_are_the_first_note():
    result = evaluate({"1": {"a": 1}}, {"q1": {"a": 1.0}}, "P@1")
    assert result.means == {P @ 1: 0.0}
    assert result.notes[0].startswith("no query is in both the qrels and the run")


def test_a_measure_asked_twice_is_given_once():
    assert evaluate(QRELS, RUN, ["P@1", P @ 1, "P_1"]).means == {P @ 1: 0.25}


@given(queries(judged=__import__("hypothesis").strategies.integers(-1, 3)))
def test_delegated_values_are_pytrec_evals_on_the_raw_run(query):
    grades, scores = query
    if not scores or max(grades.values(), default=-1) < 0:  # pytrec_eval reads beyond its arrays when all are negative
        return
    names = {
        "map": AP,
        "map_cut_3": AP @ 3,
        "P_3": P @ 3,
        "recall_3": R @ 3,
        "recip_rank": RR,
        "ndcg": nDCG,
        "ndcg_cut_3": nDCG @ 3,
        "bpref": ir_measures.Bpref,
        "Rprec": ir_measures.Rprec,
        "success_1": ir_measures.Success @ 1,
        "set_P": ir_measures.SetP,
        "set_recall": ir_measures.SetR,
        "set_F": ir_measures.SetF,
        "set_map": ir_measures.SetAP,
        "infAP": ir_measures.infAP,
        "num_ret": NumRet,
        "num_rel": NumRel,
        "num_rel_ret": NumRet(rel=1),
        "iprec_at_recall_0.50": ir_measures.IPrec @ 0.5,
    }
    expected = pytrec_eval.RelevanceEvaluator({"q": grades}, set(names)).evaluate({"q": scores})["q"]
    ours = evaluate({"q": grades}, {"q": scores}, list(names.values())).means
    assert {name: ours[measure] for name, measure in names.items()} == pytest.approx(
        {n: expected[n] for n in names}, abs=1e-12
    )


@pytest.mark.parametrize("level", [1, 2])
def test_relevance_levels_and_judged_only(covid, level):
    qrels, runs = covid
    run = runs["irc_entrez"]
    for flag in (False, True):
        names = {
            "map": AP,
            "P_10": P @ 10,
            "recall_100": R @ 100,
            "recip_rank": RR,
            "success_5": ir_measures.Success @ 5,
        }
        asked = {name: measure(rel=level, judged_only=flag) for name, measure in names.items()}
        theirs = pytrec_eval.RelevanceEvaluator(
            qrels, set(names), relevance_level=level, judged_docs_only_flag=flag
        ).evaluate(run)
        ours = evaluate(qrels, run, list(asked.values()))
        for name, measure in asked.items():
            assert ours.columns[measure] == pytest.approx({q: theirs[q][name] for q in qrels}, abs=1e-12)


def test_rr_with_a_cutoff_uses_our_order():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}  # a is last of three: the smallest id
    assert evaluate(qrels, run, "RR@2 RR@3 RR").means == {
        RR @ 2: 0.0,
        RR @ 3: pytest.approx(1 / 3),
        RR: pytest.approx(1 / 3),
    }


def test_thresholding_keeps_negative_judgements_apart():
    whole = {"q": {"a": 3, "b": -1, "c": 1, "d": -1}}
    scaled = {"q": {"a": 3.5, "b": -0.5, "c": 1.5, "d": -0.5}}
    run = {"q": ["b", "c", "d", "a"]}
    measures = [ir_measures.Bpref(rel=2), ir_measures.infAP(rel=2), AP(rel=2)]
    assert evaluate(scaled, run, measures).means == evaluate(whole, run, measures).means


def test_huge_grades_do_not_reach_trec_evals_arrays():
    qrels, run = {"q": {"a": 10**9, "b": 1}}, {"q": ["b", "a"]}
    result = evaluate(qrels, run, [AP, nDCG @ 2])
    discount = np.log2(3)
    assert result.means == {AP: 1.0, nDCG @ 2: pytest.approx((1 + 1e9 / discount) / (1e9 + 1 / discount), abs=1e-12)}


def test_our_own_linear_ndcg_is_the_hosts():
    from permed_measures.measures import DEFINED

    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}
    for ours, theirs in ((DEFINED["nDCG"], nDCG), (DEFINED["nDCG"] @ 1, nDCG @ 1)):
        assert list(evaluate(qrels, run, [ours]).means.values()) == list(evaluate(qrels, run, [theirs]).means.values())


def test_custom_gains():
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}
    for high in (5, 5.5):
        (value,) = evaluate(qrels, run, [nDCG(gains={2: high})]).means.values()
        assert value == pytest.approx((1 + high / np.log2(3)) / (high + 1 / np.log2(3)))


def test_other_measures_of_ir_measures_are_computed_there_on_our_order():
    qrels = {"1": {"a": 1, "b": 0, "c": 2}}
    run = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}  # our order: c b a
    ordered = {"1": {"c": 3.0, "b": 2.0, "a": 1.0}}
    measures = [ir_measures.Judged @ 2, ir_measures.Compat(p=0.8)]
    assert evaluate(qrels, run, measures).means == pytest.approx(ir_measures.calc_aggregate(measures, qrels, ordered))
    with pytest.raises(InputError, match="computed by ir_measures, which takes whole grades only"):
        evaluate({"1": {"a": 1.5}}, run, measures)


def test_runtime_measures_of_ir_measures():
    pytest.importorskip("pandas", reason="ir_measures computes these with pandas")
    first = ir_measures.define_byquery(lambda _, run: float(len(run)), name="Length")
    assert evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, [first, GWAP(max_rel=1)]).means == {
        first: 2.0,
        GWAP(max_rel=1): 1.0,
    }


@pytest.mark.parametrize("name", ["Compat", "Compat(p=0.8)", "Compat(p=0.8,normalize=False)", "Judged@2"])
def test_what_ir_measures_computes_is_what_it_says_where_relevant_documents_are_missing(name):
    measure = ir_measures.parse_measure(name)
    qrels = {"q": {"a": 1, "b": 1, "c": 2, "d": 0, "e": 2}, "r": {"a": 1, "b": 1}}
    run = {"q": {"x": 9.0, "b": 8.0, "d": 7.0, "c": 6.0, "y": 5.0}, "r": {"b": 2.0}}
    theirs = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}
    assert evaluate(qrels, run, [measure]).columns[measure] == pytest.approx(theirs, abs=1e-12)


def test_an_error_within_ir_measures_is_named():
    with pytest.raises(ParamError, match=r"ir_measures cannot compute Accuracy: (float )?division by zero"):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, "Accuracy")  # nothing that is not relevant


def test_err_is_computed_for_any_query_and_document_id():
    qrels = {"1": {"1": 1, "2": 2, "3": 0}, "2": {"1": 4}}
    run = {"1": {"2": 3.0, "4": 2.0, "1": 1.0}, "2": {"1": 1.0}}
    theirs = {metric.query_id: metric.value for metric in ir_measures.iter_calc([ir_measures.ERR @ 5], qrels, run)}
    named = {"1": "a-b", "2": "q"}
    ours = evaluate(
        {named[q]: {f"d {d}": grade for d, grade in grades.items()} for q, grades in qrels.items()},
        {named[q]: {f"d {d}": score for d, score in scores.items()} for q, scores in run.items()},
        "ERR@5",
    )
    assert ours.columns[ir_measures.ERR @ 5] == {named[query_id]: value for query_id, value in theirs.items()}
    with pytest.raises(InputError, match=r"document 'a': grade 7: ERR@5 is computed by ir_measures, .*up to 4 only"):
        evaluate({"q": {"a": 7}}, {"q": ["a"]}, "ERR@5")


@pytest.mark.parametrize("queries", ["run", "both", "qrels"])
def test_queries_with_nothing_relevant_are_named_whatever_means_run_over(queries):
    """As many queries are ranked as are judged, but others: p is judged only, r returned only."""
    qrels, run = {"p": {"a": 1}, "q": {"a": 0}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
    notes = [note for note in evaluate(qrels, run, "P@1", queries=queries).notes if "without a document" in note]
    assert notes == ["1 query without a document of grade >= 1, counted as 0 ('q')"]
