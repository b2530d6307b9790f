"""judged_only is trec_eval -J: neither unjudged documents nor those of a negative grade are in the list."""

from __future__ import annotations

import math
import random
from copy import deepcopy

import ir_measures
import polars as pl
import pytest
import pytrec_eval

from permed_measures import RelevanceEvaluator, define, evaluate, evaluate_tables, parse
from permed_measures.errors import ParamError
from permed_measures.evaluate.providers import of_subtopics
from permed_measures.explanation import explain
from permed_measures.measures import DEFINED, own
from permed_measures.ranking import order
from permed_measures.tables import known_measures
from permed_measures.verification import verify
from permed_measures.verification.references import REFERENCES

TREC_NAMES = {
    "P@1": "P_1",
    "P@3": "P_3",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "AP": "map",
    "AP@2": "map_cut_2",
    "nDCG": "ndcg",
    "nDCG@3": "ndcg_cut_3",
    "R@2": "recall_2",
    "SetAP": "set_map",
    "SetF": "set_F",
    "SetP": "set_P",
    "SetP(relative=True)": "set_relative_P",
    "Success@1": "success_1",
    "IPrec@0.0": "iprec_at_recall_0.00",
    "IPrec@0.5": "iprec_at_recall_0.50",
}
EXP = "nDCG(dcg='exp-log2',judged_only=True)@3"
GAINS = {1: 3, 2: -1, -1: 2}
PEERS = {"D0": -1, "D1": 1, "D3": 2, "D4": 1}, ["D0", "D2", "D3", "D1", "D4"]


def judged_only(name, **more):
    measure = parse(name)
    rel = {"rel": more["rel"]} if "rel" in measure.SUPPORTED_PARAMS and "rel" in more else {}
    return measure(judged_only=True, **rel)


def some_data(seed):
    rng = random.Random(seed)
    qrels, run = {}, {}
    for number in range(60):
        docs = [f"d{n}" for n in range(rng.randint(1, 12))]
        grades = {doc: rng.choice([-2, -1, -1, 0, 0, 1, 2, 3]) for doc in docs if rng.random() < 0.7}
        qrels[f"q{number}"] = {**grades, "never returned": 0}  # pytrec_eval ends the process on negative grades alone
        run[f"q{number}"] = {doc: float(rng.randint(0, 4)) for doc in docs if rng.random() < 0.8} or {"x": 1.0}
    return qrels, run


NOT_CONDENSED = {"Judged", "Unjudged", "RBPResidual", "NumQ", "NumRel"}
NEEDED = {"cutoff": 3, "recall": 0.5, "multiple": 1.5, "max_rel": 3}


def test_every_measure_of_the_flag_is_here():
    theirs = {type(measure) for measure in ir_measures.measures.registry.values() if measure.NAME not in DEFINED}
    native = {cls.NAME for cls in theirs if "judged_only" in cls.SUPPORTED_PARAMS} - of_subtopics()
    assert {parse(name).NAME for name in TREC_NAMES} == native | {"nDCG"}


def outcome(qrels, run, measure):
    """Return the values of all queries, or what is wrong: some programs of ir_measures are not installed, or fail."""
    try:
        return {q: f"{value:.12f}" for q, value in next(iter(evaluate(qrels, run, measure).columns.values())).items()}
    except ParamError as error:
        return str(error)


@pytest.mark.parametrize("name", sorted({measure.NAME for measure in ir_measures.measures.registry.values()}))
def test_every_measure_there_is_sees_the_list_without_the_others(name):
    measure = ir_measures.measures.registry[name]
    bare = measure(**{param: value for param, value in NEEDED.items() if param in measure.SUPPORTED_PARAMS})
    if name in NOT_CONDENSED:
        with pytest.raises(ParamError, match=f"{name} has no parameter 'judged_only'. (Without|It counts)"):
            evaluate(*some_data(1), bare(judged_only=True))
        return
    qrels, run = some_data(1)
    lists = {
        query_id: sorted(sorted(scores, reverse=True), key=lambda doc_id: -scores[doc_id])
        for query_id, scores in run.items()
    }
    left = {q: [doc for doc in docs if doc in qrels[q] and qrels[q][doc] >= 0] for q, docs in lists.items()}
    if name in of_subtopics():  # the iteration is the subtopic; pyndeval has no negative grades
        judged = [(q, d, str(n % 2), max(g, 0)) for q in qrels for n, (d, g) in enumerate(qrels[q].items())]
        left = {query_id: [doc for doc in docs if doc in qrels[query_id]] for query_id, docs in lists.items()}
        qrels = [ir_measures.Qrel(q, d, grade, subtopic) for q, d, subtopic, grade in judged]
    asked = parse(bare(judged_only=True))
    assert parse(str(asked)) == asked == deepcopy(asked)
    assert outcome(qrels, run, asked) == outcome(qrels, left, bare)
    if name not in {"Bpref", "GMBpref", "NumNonRelJudgedRet", "SetR", "Accuracy"} | of_cwl():
        assert outcome(qrels, run, asked) != outcome(qrels, run, bare)


def of_cwl():
    known = ir_measures.providers.registry["cwl_eval"]
    return (
        set() if known.is_available() else {measure.NAME for measure in known.SUPPORTED_MEASURES} - {"P", "RR", "RBP"}
    )


def test_ir_measures_itself_does_not_keep_them_silently():
    measure = parse("Bpref(judged_only=True)")
    with pytest.raises(ParamError, match=r"own programs keep unjudged documents; permed_measures.evaluate"):
        ir_measures.calc_aggregate([measure], *some_data(1))
    wanted = ir_measures.calc_aggregate([ir_measures.Bpref], *some_data(1))[ir_measures.Bpref]
    assert ir_measures.providers.registry["permed"].calc_aggregate([measure], *some_data(1)) == {measure: wanted}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rel", [1, 2])
def test_it_is_the_flag_of_pytrec_eval(seed, rel):
    qrels, run = some_data(seed)
    measures = {name: judged_only(name, rel=rel) for name in TREC_NAMES}
    ours = evaluate(qrels, run, list(measures.values()))
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values()), rel, judged_docs_only_flag=True)
    values = theirs.evaluate(run)
    for name, measure in measures.items():
        wanted = {query_id: values[query_id][TREC_NAMES[name]] for query_id in run}
        wanted = {query_id: 0.0 if math.isnan(value) else value for query_id, value in wanted.items()}  # IPrec: 0/0
        assert ours.columns[measure] == pytest.approx(wanted, abs=1e-12), name


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dcg", ["log2", "exp-log2"])
@pytest.mark.parametrize("gains", [{}, GAINS])
def test_gains_come_before_it(seed, dcg, gains):
    qrels, run = some_data(seed)
    gain = (lambda grade: grade) if dcg == "log2" else (lambda grade: 2**grade - 1 if grade > 0 else grade)
    mapped = {q: {doc: gain(gains.get(grade, grade)) for doc, grade in grades.items()} for q, grades in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(mapped, {"ndcg_cut_3"}, judged_docs_only_flag=True).evaluate(run)
    measure = ir_measures.nDCG(dcg=dcg, judged_only=True, **({"gains": gains} if gains else {})) @ 3
    wanted = {query_id: values["ndcg_cut_3"] for query_id, values in theirs.items()}
    assert evaluate(qrels, run, measure).columns[measure] == pytest.approx(wanted, abs=1e-12)
    by_hand = verify(qrels, run, [measure], references={"by_hand": REFERENCES["by_hand"]})
    assert [check.verdict for check in by_hand.checks] == ["agrees"]
    assert by_table(qrels, run, measure) == pytest.approx(wanted, abs=1e-12)


def by_table(qrels, run, measure):
    tables = [
        pl.DataFrame(
            [(query_id, *pair) for query_id, of_query in grid.items() for pair in of_query.items()],
            schema=["query_id", "doc_id", value],
            orient="row",
        )
        for grid, value in ((qrels, "relevance"), (run, "score"))
    ]
    found = evaluate_tables(*tables, measure)
    return dict(zip(found["query_id"], found[str(measure)], strict=True))


@pytest.mark.parametrize("name", [*TREC_NAMES, "nDCG(dcg='exp-log2')@3"])
def test_tables_and_the_definition_agree(name):
    measure = judged_only(name)
    qrels, run = some_data(7)
    wanted = evaluate(qrels, run, measure).columns[measure]
    if (own(measure) or measure).NAME in known_measures():
        assert by_table(qrels, run, measure) == pytest.approx(wanted, abs=1e-12)
    checks = verify(qrels, run, [measure], references={"by_hand": REFERENCES["by_hand"]}).checks
    assert {check.verdict for check in checks} <= {"agrees", "no such measure"}


def test_one_list_in_arithmetic():
    qrels, run = {"q": PEERS[0]}, {"q": PEERS[1]}
    means = evaluate(qrels, run, "AP(judged_only=True) RR(judged_only=True) nDCG(judged_only=True)@4").means
    assert list(means.values()) == [1.0, 1.0, 1.0]  # D3 D1 D4 are left
    flag = RelevanceEvaluator(qrels, {"map", "gwmap"}, judged_docs_only_flag=True)
    assert flag.evaluate(run) == {"q": {"map": 1.0, "gwmap": pytest.approx((1 / 2 + 1 + 1 / 2) / 3)}}


@pytest.mark.parametrize(
    "name",
    ["GWAP(max_rel=3)@3", "ListAP@3", "ListNDCG@3", "GradedRBP(max_rel=3)", "RelativeP@2", "RBP@3", "IPrecNearest@0.5"],
)
@pytest.mark.parametrize("seed", range(3))
def test_ours_are_those_of_the_list_without_the_others(name, seed):
    qrels, run = some_data(seed)
    left = {query_id: [d for d in order(scores) if qrels[query_id].get(d, -1) >= 0] for query_id, scores in run.items()}
    measure = parse(parse(name)(judged_only=True))
    wanted = next(iter(evaluate(qrels, left, name).columns.values()))
    assert evaluate(qrels, run, measure).columns[measure] == pytest.approx(wanted, abs=1e-12)
    assert by_table(qrels, run, measure) == pytest.approx(wanted, abs=1e-12)
    assert wanted != pytest.approx(next(iter(evaluate(qrels, run, name).columns.values())))


def test_a_class_that_declares_it_alone_may_be_defined_again():
    measure = parse("ListAP@3")(judged_only=True)
    before = evaluate(*some_data(1), measure).means
    assert define(type(measure)).NAME == "ListAP"
    assert evaluate(*some_data(1), measure).means == before


def test_explain_removes_them_too():
    qrels, run = {"q": PEERS[0]}, {"q": {doc: -float(place) for place, doc in enumerate(PEERS[1])}}
    walk = explain(qrels, run, a="AP(judged_only=True)", b="AP").waterfall
    assert walk.values == (pytest.approx(1.0), pytest.approx((1 / 3 + 2 / 4 + 3 / 5) / 3))
