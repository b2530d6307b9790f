"""Parameters, names and worked examples of the measures."""

from __future__ import annotations

import importlib
import re
import sys
from fractions import Fraction
from math import log2

import ir_measures
import numpy as np
import pytest
import pytrec_eval
import pytrec_eval_ext
from ir_measures import AP, P, nDCG

from permed_measures import (
    GWAP,
    Coverage,
    InputError,
    ListAP,
    ListNDCG,
    ParamError,
    RelevanceEvaluator,
    compare,
    evaluate,
    parse,
)
from permed_measures.measures import DEFINED, host_names, known_names, parse_all, parse_trec_name
from permed_measures.measures.base import CUTOFF, HostName, Param, RankingMeasure, define
from permed_measures.measures.definitions import definition
from permed_measures.ranking import Ranking

QRELS = {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}
RUN = {"q": ["b", "x", "a", "c", "d"]}


def value(measure, qrels=QRELS, run=RUN):
    return evaluate(qrels, run, [measure]).means[measure]


# hits of the worked example: b at 1 (1/1 · 0.5), a at 3 (2/3 · 1.0), d at 5 (3/5 · 0.5); R = 4
AT = {1: 0.5, 3: 0.5 + 2 / 3, 5: 0.5 + 2 / 3 + 3 / 5 * 0.5, 10: 0.5 + 2 / 3 + 3 / 5 * 0.5}


@pytest.mark.parametrize("k", AT)
def test_the_worked_example(k):
    found = {1: 1, 3: 2, 5: 3, 10: 3}[k]
    best = {1: 1, 3: 1 + 1 + 0.5, 5: 1 + 1 + 0.5 + 0.5, 10: 1 + 1 + 0.5 + 0.5}[k]
    assert value(GWAP @ k) == pytest.approx(AT[k] / 4, abs=1e-15)
    assert value(GWAP(norm="retrieved") @ k) == pytest.approx(AT[k] / found, abs=1e-15)
    assert value(GWAP(norm="cutoff") @ k) == pytest.approx(AT[k] / min(4, k), abs=1e-15)
    assert value(GWAP(norm="ideal") @ k) == pytest.approx(AT[k] / best, abs=1e-15)


def test_the_worked_example_of_ndcg():
    dcg = 1 / log2(2) + 3 / log2(4) + 1 / log2(6)
    ideal = 3 / log2(2) + 3 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert (
        value(nDCG(dcg="exp-log2") @ 10)
        == pytest.approx(dcg / ideal, abs=1e-15)
        == pytest.approx(0.4957276125706667, abs=1e-15)
    )
    assert value(P @ 1) == 1.0


def test_weights():
    hits = 0.3 + 2 / 3 * 0.9 + 3 / 5 * 0.3
    assert value(GWAP(weights={1: 0.3, 2: 0.9}) @ 10) == pytest.approx(hits / 4)
    assert value(GWAP(weights={1: 0.3, 2: 0.9}, norm="ideal") @ 10) == pytest.approx(hits / (0.9 + 0.9 + 0.3 + 0.3))
    # rel=2: only a (rank 3) and e are relevant, and grade 1 needs no weight
    assert value(GWAP(weights={2: 0.9}, rel=2) @ 10) == pytest.approx(1 / 3 * 0.9 / 2)


def test_the_ideal_takes_the_heaviest_documents_when_weights_do_not_follow_grades():
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}
    assert value(GWAP(weights={1: 1.0, 2: 0.1}, norm="ideal") @ 1, qrels, run) == 1.0


def test_float_grades_are_exact():
    qrels, run = {"q": {"a": 7.5, "b": 2.5, "c": 0.4}}, {"q": ["c", "a", "b"]}
    assert value(GWAP(max_rel=10), qrels, run) == pytest.approx((1 / 2 * 0.75 + 2 / 3 * 0.25) / 2)
    gain = {"a": 2**7.5 - 1, "b": 2**2.5 - 1, "c": 2**0.4 - 1}
    dcg = gain["c"] + gain["a"] / log2(3) + gain["b"] / 2
    ideal = gain["a"] + gain["b"] / log2(3) + gain["c"] / 2
    assert value(nDCG(dcg="exp-log2") @ 10, qrels, run) == pytest.approx(dcg / ideal)
    assert value(nDCG @ 10, qrels, run) == pytest.approx(
        (0.4 + 7.5 / log2(3) + 2.5 / 2) / (7.5 + 2.5 / log2(3) + 0.4 / 2)
    )
    assert value(Coverage(rel=7.5) @ 1, qrels, run) == 0.0
    assert value(Coverage(rel=7.5) @ 2, qrels, run) == 1.0


@pytest.mark.parametrize("top", [60, 900, 1000, 1001, 1023, 1024, 5000])
def test_exponential_gain_of_any_grade(top):
    qrels, run = {"q": {"a": top, "b": top - 1}}, {"q": ["b", "a"]}
    high, low = Fraction(2**top - 1), Fraction(2 ** (top - 1) - 1)
    discount = Fraction(log2(3))
    expected = float((low + high / discount) / (high + low / discount))
    assert value(nDCG(dcg="exp-log2") @ 10, qrels, run) == pytest.approx(expected, abs=1e-14)


def test_negative_grades_are_judged_and_gain_nothing():
    qrels, run = {"q": {"a": -2, "b": 1}}, {"q": ["a", "b"]}
    assert value(nDCG(dcg="exp-log2"), qrels, run) == pytest.approx(1 / log2(3))
    assert value(ListNDCG, qrels, run) == pytest.approx(1 / log2(3))
    assert value(GWAP, qrels, run) == pytest.approx(1 / 2 * 0.5 / 1)


def test_list_ndcg_looks_past_its_cutoff():
    qrels, run = {"q": {"a": 1, "b": 3}}, {"q": ["a", "x", "b"]}
    assert value(ListNDCG @ 1, qrels, run) == pytest.approx(1 / 3)
    assert value(ListNDCG(dcg="exp-log2") @ 1, qrels, run) == pytest.approx(1 / 7)


def test_identities():
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 1}}
    run = {"q": ["b", "a", "x", "c"]}
    assert value(GWAP(max_rel=1), qrels, run) == value(AP, qrels, run) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert value(GWAP(max_rel=1) @ 3, qrels, run) == value(AP @ 3, qrels, run) == pytest.approx(1 / 2 / 3)
    assert value(GWAP(max_rel=1, norm="retrieved"), qrels, run) == value(ListAP, qrels, run)
    assert value(nDCG(dcg="exp-log2"), qrels, run) == pytest.approx(value(nDCG, qrels, run))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GWAP @ 0, r"GWAP: cutoff=0 is not allowed; give an int >= 1"),
        (lambda: GWAP @ -1, "give an int >= 1"),
        (lambda: GWAP @ 1.5, "give an int >= 1"),
        (lambda: GWAP @ True, "give an int >= 1"),
        (lambda: GWAP @ "10", "give an int >= 1"),
        (lambda: GWAP(rel=0), r"rel=0 is not allowed; give a number > 0"),
        (lambda: GWAP(rel=float("nan")), "give a number > 0"),
        (lambda: GWAP(rel="1"), "give a number > 0"),
        (lambda: GWAP(max_rel=-2), "give a number > 0"),
        (lambda: GWAP(max_rel=float("inf")), "give a number > 0"),
        (lambda: GWAP(norm="R"), "give one of 'relevant', 'cutoff', 'retrieved', 'ideal'"),
        (lambda: GWAP(norm=["ideal"]), "give one of 'relevant'"),
        (lambda: GWAP(weights={}), "give a dict of grade > 0 to weight"),
        (lambda: GWAP(weights={1: 1.5}), "give a dict of grade > 0 to weight"),
        (lambda: GWAP(weights={0: 0.5}), "give a dict of grade > 0 to weight"),
        (lambda: GWAP(weights={"1": 0.5}), "give a dict of grade > 0 to weight"),
        (lambda: GWAP(weights=[0.5]), "give a dict of grade > 0 to weight"),
        (lambda: ListNDCG(dcg="exp"), "give one of 'log2', 'exp-log2'"),
        (lambda: Coverage(norm="ideal"), "Coverage has no parameter 'norm'"),
        (lambda: GWAP(max_relevance=3), r"GWAP has no parameter 'max_relevance'. Did you mean max_rel\?"),
        (lambda: parse("P@0"), "P: cutoff=0 is not allowed; give an int >= 1"),
        (lambda: parse("P"), "P needs cutoff; write P@10"),
        (lambda: parse("P(rel=0)@5"), "P: rel=0 is not allowed; give a number > 0: an unjudged document"),
        (lambda: parse("nDCG(dcg='exp')@5"), r"nDCG: dcg='exp' is not allowed; give one of 'log2', 'exp-log2'"),
        (lambda: parse("nDCG(gain='exp')@5"), r"nDCG has no parameter 'gain'. Did you mean gains\?"),
    ],
)
def test_parameters_are_checked_when_a_measure_is_made(make, message):
    with pytest.raises(ParamError, match=message):
        make()


def test_one_value_has_one_form():
    assert GWAP(rel=2.0, max_rel=np.float64(3)) @ np.int64(10) == GWAP(rel=2, max_rel=3) @ 10
    assert str(GWAP(norm="ideal", rel=1, max_rel=2.0)) == "GWAP(norm='ideal')"
    assert str(GWAP(norm="ideal", max_rel=3) @ 5) == str(GWAP(max_rel=3)(norm="ideal") @ 5)
    assert GWAP(weights={2: 1, 1.0: 0.5}) == GWAP(weights={1: 0.5, 2: 1.0})
    assert (GWAP @ 10)(cutoff=None) == GWAP


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("GWAP@10", [GWAP @ 10]),
        ("GWMAP@10", [GWAP @ 10]),
        ("ListMAP(rel=2)@3", [ListAP(rel=2) @ 3]),
        ("GWAP( weights={1: 0.3, 2: 1.0}, norm='ideal' )@10", [GWAP(weights={1: 0.3, 2: 1.0}, norm="ideal") @ 10]),
        ("nDCG(dcg='exp-log2')@10 P@1", [nDCG(dcg="exp-log2") @ 10, P @ 1]),
        ("gwmap@10", [GWAP @ 10]),
        ("map@10 ndcg@10 mrr@10 recall@10", [AP @ 10, nDCG @ 10, ir_measures.RR @ 10, ir_measures.R @ 10]),
        ("gwmap_ideal@10", [GWAP(norm="ideal") @ 10]),
        ("ndcg_exp@5", [nDCG(dcg="exp-log2") @ 5]),
        ("list_ndcg_exp@5", [ListNDCG(dcg="exp-log2") @ 5]),
        ("gwmap", [GWAP]),
        ("gwmap_cut_10", [GWAP @ 10]),
        ("gwmap_cut.10,20", [GWAP @ 10, GWAP @ 20]),
        ("gwmap_ideal_cut_10", [GWAP(norm="ideal") @ 10]),
        ("coverage_10", [Coverage @ 10]),
        ("list_map_cut_3", [ListAP @ 3]),
        ("list_ndcg_cut_3", [ListNDCG @ 3]),
        ("ndcg_exp_cut_10", [nDCG(dcg="exp-log2") @ 10]),
        ("ndcg_cut_10", [nDCG @ 10]),
        ("map", [AP]),
        ("MAP", [AP]),
        ("map_cut.10,100", [AP @ 10, AP @ 100]),
        ("P_5", [P @ 5]),
        ("recip_rank", [ir_measures.RR]),
        ("success_1", [ir_measures.Success @ 1]),
        ("gm_map gm_bpref 11pt_avg", parse_all("GMAP GMBpref ElevenPointAP")),
        ("G binG Rndcg ndcg_rel utility", parse_all("G BinG RnDCG nDCGRel Utility")),
        ("num_nonrel_judged_ret", parse_all("NumNonRelJudgedRet")),
        ("relative_P.5,10", parse_all("RelativeP@5 RelativeP@10")),
        ("Rprec_mult_0.20 Rprec_mult.0.2,1.4", parse_all("RprecMult@0.2 RprecMult@0.2 RprecMult@1.4")),
        ("unj_10 unj", parse_all("Unjudged@10 Unjudged@5 Unjudged@10 Unjudged@20")),
        ("rbp rbp_0.80", [DEFINED["RBP"](p=0.9), DEFINED["RBP"](p=0.8)]),
        ("rbp.p=0.5 rbp_resid_p=0.5", parse_all("RBP(p=0.5) RBPResidual(p=0.5)")),
        ("iprec_nearest_0.60 iprec_at_recall_0.60", parse_all("IPrecNearest@0.6 IPrec@0.6")),
    ],
)
def test_names_in_every_way_of_writing(name, measures):
    assert parse_all(name) == measures


def test_the_names_of_the_table_are_those_of_the_classes():
    hosts = {host.name: host for measure in DEFINED.values() for host in measure.HOST_NAMES}
    assert {"gwmap", "coverage", "11pt_avg", "utility"} < hosts.keys() == host_names().keys()
    for host in hosts.values():
        for cutoff in (None, 7) if host.in_ranx else ():
            assert parse_trec_name(host.trec(cutoff)) == parse_all(host.ranx(cutoff))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GWPA@10", r"unknown measure 'GWPA@10'. Did you mean GWAP"),
        ("gwmap_cut_", "unknown measure 'gwmap_cut_'"),
        ("coverage_x", r"Did you mean coverage"),
        ("", "an empty measure name"),
        ("   ", "an empty measure name"),
        ("GWAP@", "is not a measure; write Name"),
        ("GWAP@ten", "'ten' is not a value"),
        ("GWAP@10,P@1", "measures are separated by spaces"),
        ("GWAP(2)@10", "parameters are named"),
        ("GWAP(**{})@10", "parameters are named"),
        ("GWAP(rel=)@10", "cannot be read"),
        ("GWAP(rel=open('x'))", "is not a value"),
        ("ndcg.1=1,2=3", "is not a measure"),
        ("10", "is not a measure"),
        ("1 + 1", "is not a measure"),
        (
            "utility.1,-1,0,0",
            r"these parameters are not read here; write Utility\(rel=…, rel_ret=…, nonrel_ret=…, rel_mi",
        ),
        ("11pt_avg.0.2,0.5", r"these parameters are not read here; write ElevenPointAP\(rel=…, rounding=…\)"),
        ("G.1=3,2=9", "'G.1=3,2=9': G takes no parameters"),
        ("unj_2.5", "these parameters are not read here"),
        ("rbp_1.5", "RBP: p=1.5 is not allowed; give a number >= 0 and <= 1"),
        ("utility@5", "Utility has no parameter 'cutoff'"),
        ("Unjudged", "Unjudged needs cutoff; write Unjudged@10"),
        ("IPrecNearest", "IPrecNearest needs recall; write IPrecNearest@0.1"),
        ("IPrecNearest@1.5", "give a number >= 0 and <= 1"),
        ("relstring_5", "trec_eval has 'relstring_5', but it is text, not a value"),
    ],
)
def test_a_wrong_name_says_what_is_right(name, message):
    with pytest.raises(ParamError, match=message):
        parse_all(name)


def test_every_name_of_trec_eval_is_a_measure_but_those_of_texts():
    refused = {name for name in pytrec_eval.supported_measures if not parse_trec_name(name)}
    assert refused == {"runid", "relstring"}
    assert refused.isdisjoint(known_names())


def test_what_is_left_out_of_a_nickname_is_said_by_name_and_not_among_values(capsys):
    assert {AP, parse("GMAP")} <= set(parse_all("official"))
    assert parse("rbp") in parse_all("all_trec")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "official: left out, as text and not a value: runid",
        "all_trec: left out, as text and not a value: relstring, runid",
    ]


def test_a_geometric_mean_is_the_mean_of_its_measure_everywhere():
    qrels = {"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}}
    run = {"p": {"a": 1.0}, "q": {"x": 2.0, "a": 1.0}}  # AP 1 and 1/2; r is missing, which counts as 0.00001
    expected = (1 * 1 / 2 * 1e-5) ** (1 / 3)
    gmap = parse("gm_map")
    result = evaluate(qrels, run, [gmap])
    assert result.columns[gmap] == {"p": 1.0, "q": 0.5, "r": 0.0}
    assert result.means[gmap] == pytest.approx(expected)
    assert ir_measures.calc_aggregate([gmap], qrels, run)[gmap] == pytest.approx(expected)
    assert evaluate(qrels, run, "gm_bpref", queries="both").means[parse("gm_bpref")] == pytest.approx(1.0)
    with pytest.raises(ParamError, match="GMAP is not a mean over queries"):
        compare(qrels, run, {"b": run}, "GMAP")


def test_lists_without_a_judged_document():
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 2.0, "y": 1.0}}
    asked = "Unjudged@5 RBPResidual(p=0.5) Utility(rel_missed=-3) NumNonRelJudgedRet GMAP"
    expected = [2 / 5, 1.0, -2.0 - 6.0, 0.0, 0.0]
    result = evaluate(qrels, run, asked)
    assert [column["q"] for column in result.columns.values()] == expected
    measures = list(result.means)
    values = {metric.measure: metric.value for metric in ir_measures.iter_calc(measures, qrels, run)}
    assert [values[measure] for measure in measures] == expected
    assert list(RelevanceEvaluator(qrels, measures).evaluate(run)["q"].values()) == expected
    assert list(evaluate(qrels, {"other": ["x"]}, asked).columns[measures[0]].values()) == [0.0]


def test_rbp_is_left_to_cwl_eval_in_ir_measures():
    """Where cwl_eval is installed it comes first: its values differ from ours in lists beyond 1,000 documents."""
    names = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert names.index("cwl_eval") < names.index("permed")
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    rbp = ir_measures.RBP(p=0.5)
    assert value(rbp, qrels, run) == pytest.approx(0.5 * (1 / 2 + 1 / 4))
    assert ir_measures.calc_aggregate([rbp], qrels, run)[rbp] == value(rbp, qrels, run)
    assert value(ir_measures.RBP(p=0.5, rel=2) @ 2, qrels, run) == 0.0


def test_parse_wants_one_measure():
    with pytest.raises(ParamError, match=r"stands for 2 measures \(GWAP@1, GWAP@2\)"):
        parse("gwmap_cut.1,2")
    with pytest.raises(ParamError, match="not as int"):
        parse_all(5)


def test_a_grade_above_max_rel_is_never_silent():
    with pytest.raises(InputError, match=r"query 'q', document 'b': grade 3 is above max_rel=2 .* GWAP\(max_rel=3\)"):
        value(GWAP @ 1, {"q": {"a": 1, "b": 3}}, {"q": ["a"]})
    assert value(GWAP(max_rel=3) @ 1, {"q": {"a": 1, "b": 3}}, {"q": ["a"]}) == pytest.approx(1 / 3 / 2)


def test_a_relevant_grade_without_a_weight_is_named():
    with pytest.raises(InputError, match=r"query 'q', document 'b': grade 3 has no weight; .* knows the grades 1, 2"):
        value(GWAP(weights={1: 0.5, 2: 1.0}), {"q": {"a": 1, "b": 3}}, {"q": ["a"]})


@pytest.mark.parametrize("measure", ir_measures.measures.registry.values(), ids=str)
def test_every_measure_says_what_it_is(measure):
    said = definition(measure)
    assert said
    assert "\n" not in said
    # what ir_measures says of AP, "the mean of the precision scores at each relevant item returned", is ListAP
    assert measure.NAME != "AP" or "divided by the number of all relevant ones" in said


def test_a_label_is_for_tables():
    assert (GWAP @ 10).label == "GW-MAP@10"
    assert GWAP(norm="ideal").label == "GW-MAP-ideal"
    assert (GWAP(max_rel=3) @ 10).label == "GWAP(max_rel=3)@10"


def test_define_refuses_a_kernel_that_does_not_fit():
    class Wrong(RankingMeasure):
        """>>> 1."""

        NAME = "Wrong"
        HOST_NAMES = (HostName("wrong", "Wrong"),)
        SUPPORTED_PARAMS = {"cutoff": CUTOFF}  # noqa: RUF012  (a test's class)
        kernel = staticmethod(lambda ranking, *, cutoff, rel: 0.0)  # noqa: ARG005  (its signature is the test)

    with pytest.raises(TypeError, match=r"the kernel takes \['cutoff', 'rel'\] without defaults"):
        define(Wrong)
    assert "Wrong" not in DEFINED


def test_a_new_measure_is_one_class():
    """Adding a measure needs no second edit: ir_measures, names and evaluate() know it from its class."""
    from permed_measures import register
    from permed_measures.hosts.ir_measures import measure_registry

    class _FirstGrade(RankingMeasure):
        """The grade of the first document, a quarter of it. >>> 1."""

        NAME = "FirstGrade"
        HOST_NAMES = (HostName("first_grade", "First Grade"),)
        SUPPORTED_PARAMS = {"cutoff": CUTOFF}  # noqa: RUF012  (a test's class)

        @staticmethod
        def kernel(ranking, *, cutoff):  # noqa: ARG004  (its signature is declared)
            return sum(grade / 4 for rank, grade in ranking.ranked if rank == 1)

    first_grade = define(_FirstGrade)
    try:
        register()
        assert first_grade.value(Ranking([(1, 3)], judged=[3], num_ret=1)) == 3 / 4
        assert ir_measures.calc_aggregate([ir_measures.parse_measure("FirstGrade@2")], QRELS, {"q": {"a": 1.0}}) == {
            first_grade @ 2: 2 / 4
        }
        assert parse("first_grade_cut_2") == parse("first_grade@2") == first_grade @ 2
    finally:
        del DEFINED["FirstGrade"], measure_registry["FirstGrade"]


def new_measure(module="mine", *, hosts=("new_one",), **fields):
    class _New(RankingMeasure):
        """>>> 1."""

        NAME = "New"
        HOST_NAMES = tuple(HostName(name, "New") for name in hosts)
        SUPPORTED_PARAMS = {"cutoff": CUTOFF}  # noqa: RUF012  (a test's class)
        kernel = staticmethod(lambda ranking, *, cutoff: 42.0)  # noqa: ARG005  (its signature is declared)

    _New.__module__ = module
    for name, value in fields.items():
        setattr(_New, name, value)
    return _New


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"NAME": "GWAP"}, "'GWAP' cannot be used: it stands for GWAP of permed_measures.measures.gwap"),
        ({"NAME": "GWMAP"}, "'GWMAP' cannot be used: it stands for GWAP"),
        ({"ALIASES": ("ListMAP",)}, "'ListMAP' cannot be used: it stands for ListAP"),
        ({"NAME": "AP"}, "'AP' cannot be used: it stands for ir_measures' AP"),
        ({"ALIASES": ("MRR",)}, "'MRR' cannot be used: it stands for ir_measures' RR"),
        ({"NAME": "nDCG", "HOST_MEASURE": ir_measures.nDCG}, "it stands for nDCG of permed_measures.measures.ndcg"),
        ({"hosts": ("gwmap",)}, "'gwmap' cannot be used: it stands for GWAP"),
        ({"hosts": ("list_map_cut",)}, "'list_map_cut' cannot be used: it stands for ListAP"),
        ({"hosts": ("rr",)}, "'rr' cannot be used: it stands for ir_measures' RR"),
        ({"hosts": ("recip_rank",)}, "it stands for trec_eval's recip_rank"),
        ({"hosts": ("official",)}, "it stands for trec_eval's official"),
        ({"hosts": ("my_rbp",)}, "ranx reads every name with 'rbp' in it as rank-biased precision"),
        ({"hosts": ("new-list",)}, "ranx reads '-l' within a name as a relevance level"),
        ({"hosts": ("new-one",)}, "trec_eval-style names are of letters"),
        ({"hosts": ("new_10",)}, "end in a cut-off only"),
        ({"hosts": ("9new",)}, "begins with a letter"),
        ({"hosts": ("new_one", "new_one")}, "the class has it twice"),
    ],
    ids=str,
)
def test_define_refuses_a_name_that_is_taken_or_that_a_host_cannot_read(fields, reason):
    before = dict(DEFINED)
    with pytest.raises(ParamError, match=re.escape(reason)):
        define(new_measure(**fields))
    assert before == DEFINED
    assert parse("gwmap@10") == GWAP @ 10
    assert evaluate(QRELS, {"q": ["a"]}, "GWAP@10")["GWAP@10"] <= 1


@pytest.mark.usefixtures("forgotten")
def test_the_same_class_may_be_defined_again():
    gwap = sys.modules[type(GWAP).__module__]
    known, before = DEFINED["GWAP"], dict(vars(gwap))
    try:
        importlib.reload(gwap)
        assert DEFINED["GWAP"] is not known
        assert define(new_measure()) == define(new_measure())
    finally:
        vars(gwap).update(before)


def test_no_host_name_of_ours_is_one_that_trec_eval_has():
    """define() lets this package compute measures of trec_eval's under its names, if nobody translates them already."""
    for measure in DEFINED.values():
        for host in measure.HOST_NAMES:
            for name in (host.name, host.name + host.cut, host.trec(10)):
                with pytest.raises(ValueError, match=name):
                    ir_measures.util.parse_trec_measure(name)  # the other takes our names, too


@pytest.mark.parametrize(
    ("bounds", "allowed", "good", "bad"),
    [
        ({"above": 0, "below": 1}, "a number > 0 and < 1", [0.5, 1e-9], [0, 1, -1, 1.5]),
        ({"low": 0, "high": 1}, "a number >= 0 and <= 1", [0, 1, 0.5], [-1e-9, 1.1]),
        ({"low": 0}, "a number >= 0", [0, 1e300], [-1, float("inf"), 10**400, "1"]),
        ({}, "a number", [-5, 0.5], [float("nan"), True]),
    ],
)
def test_the_bounds_of_a_number(bounds, allowed, good, bad):
    param = Param("number", desc="", **bounds)
    assert param.allowed == allowed
    assert [param.validate(value) for value in good + bad] == [True] * len(good) + [False] * len(bad)


def by_trec_eval(name, qrels, run):
    """Ask the C extension, which reads every digit; its answer has one name."""
    evaluator = pytrec_eval_ext.RelevanceEvaluator(query_relevance=qrels, measures={name}, relevance_level=1)
    (value,) = evaluator.evaluate(run)["q"].values()
    return value


LONG_QRELS = {"q": {f"d{n}": 1 for n in range(0, 40, 5)}}
LONG_RUN = {"q": {f"d{n}": 50.0 - n for n in range(1, 40)}}
"""8 relevant documents, 7 returned, at ranks 5, 10, … 35."""


@pytest.mark.parametrize("level", [0.125, 0.12, 0.138, 0.003, 0.262, 0.2625, 0.263, 0.999, 1 / 3, 1e-7, 0, 1])
def test_interpolated_precision_is_of_the_level_asked_for(level):
    """trec_eval 9.0.8 asks for (long)(x · R + 0.9) relevant documents; here the n-th one is at rank 5n: n/5n."""
    measure = parse(f"IPrec@{level!r}")
    found = evaluate(LONG_QRELS, LONG_RUN, [measure, "IPrec@0.26", "IPrec@0.27"]).means[measure]
    assert found == by_trec_eval(f"iprec_at_recall.{level:.20f}", LONG_QRELS, LONG_RUN)
    assert found == (0.2 if int(level * 8 + 0.9) <= 7 else 0.0)


def test_levels_of_recall_that_print_alike_are_told_apart():
    qrels, run = {"q": dict.fromkeys("abcdefgh", 1)}, {"q": ["x", "a", "b", "y", "z", "c"]}
    found = evaluate(qrels, run, "IPrec@0.26 IPrec@0.263").means
    # 0.26 · 8 + 0.9 = 2.98: two of them, 2/3 at rank 3; 0.263 · 8 + 0.9 = 3.004: three of them, 3/6 at rank 6
    assert list(found.values()) == [pytest.approx(2 / 3), 3 / 6]


@pytest.mark.parametrize("beta", [1e-5, 0.5, 1, 2, 1e-300, 1e300, 0])
def test_set_f_is_of_the_beta_asked_for(beta):
    qrels, run = {"q": dict.fromkeys("abc", 1)}, {"q": ["a", "x"]}
    p, r = 1 / 2, 1 / 3
    wanted = (1 + beta) * p * r / (beta * p + r)
    assert evaluate(qrels, run, f"SetF(beta={beta!r})").means == {parse(f"SetF(beta={beta!r})"): pytest.approx(wanted)}


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("IPrec@1.5", "IPrec: recall=1.5 is not allowed; give a number >= 0 and <= 1"),
        ("IPrec@-0.1", "recall=-0.1 is not allowed"),
        ("iprec_at_recall_1.5", "recall=1.5 is not allowed"),
        ("SetF(beta=-1.0)", "SetF: beta=-1.0 is not allowed; give a number >= 0"),
        ("SetF(beta=1e999)", "beta=inf is not allowed"),
        ("P@9223372036854775808", "cutoff=9223372036854775808 is not allowed; give an int <= 9223372036854775807"),
        (f"P(rel={10**400})@1", "is not allowed; give a number > 0"),
        (f"GWAP(max_rel={10**400})@1", "is not allowed; give a number > 0"),
    ],
)
def test_what_pytrec_eval_cannot_be_asked_for_is_refused(name, allowed):
    with pytest.raises(ParamError, match=re.escape(allowed)):
        parse(name)


@pytest.mark.parametrize("rel", [10_001, 3_000_000_000, 9223372036854775808, 1e300])
def test_a_rel_above_all_grades_finds_nothing(rel):
    measures = [parse(name)(rel=rel) for name in ("P@5", "RR@10", "AP", "GWAP@5", "Bpref", "SetP", "NumRel")]
    assert set(evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, measures).means.values()) == {0.0}


def test_judged_looks_at_no_grade():
    assert evaluate({"q": {"a": 1.5, "b": -0.5}}, {"q": ["a", "x", "b"]}, "Judged@2 Judged@3").means == {
        ir_measures.Judged @ 2: 1 / 2,
        ir_measures.Judged @ 3: pytest.approx(2 / 3),
    }


SPELLED = {
    "hit@5": "Success@5", "HitRate@5": "Success@5", "hit_rate@5": "Success@5", "Hit-Rate@5": "Success@5",
    "hits@10": "Success@10", "hit_rate(rel=2)@5": "Success(rel=2)@5", "mrr": "RR", "Mrr@10": "RR@10",
    "reciprocal_rank": "RR", "average_precision": "AP", "ap": "AP", "r-precision": "Rprec", "f1": "SetF",
    "precision_at_5": "P@5", "ndcg_at_10": "nDCG@10", "list-map@3": "ListAP@3",
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLED)
def test_what_others_call_a_measure_is_understood(name):
    assert str(parse(name)) == SPELLED[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("f1@10", "'SetF@10': SetF is of the whole list and takes no cut-off; P@10 and R@10 do"),
        ("hitrate", "Success needs cutoff; write Success@10"),
        ("zzz@10", "unknown measure 'zzz@10'. All that are known: permed-measures measures."),
    ],
)
def test_one_suggestion_and_no_list_of_names(name, said):
    with pytest.raises(ParamError) as caught:
        parse(name)
    assert str(caught.value) == said
