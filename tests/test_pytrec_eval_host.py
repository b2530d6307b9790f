"""Our RelevanceEvaluator: pytrec_eval's results to the last bit, our measures beside them, and no crash."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import types
from math import log, log2

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_measures import AP, ERR, Bpref, IPrec, NumRet, P, Rprec, SetF, Success, infAP

import permed_measures
from permed_measures import (
    GWAP,
    HostError,
    InputError,
    ParamError,
    RelevanceEvaluator,
    evaluate,
    install_pytrec_eval,
    uninstall_pytrec_eval,
)
from permed_measures.hosts import pytrec_eval as drop_in
from permed_measures.measures import host_names
from permed_measures.verification import AGREES, verify
from permed_measures.verification.references import REFERENCES
from tests.conftest import queries

QRELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}, "q2": {"a": 1}, "unasked": {"a": 1}}
RUN = {"q2": {"x": 0.9, "a": 0.8}, "q1": {"b": 5.0, "x": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}, "unjudged": {"a": 1.0}}
THEIRS = sorted(set(pytrec_eval.supported_measures) - {"runid"})  # runid: pytrec_eval returns uninitialised memory


def corpus(seed):
    """Make queries with ties, near-ties, unjudged and negative documents."""
    rng = random.Random(seed)
    pool = [f"d{number}" for number in range(40)]
    qrels = {f"q{i}": {d: rng.randint(-2, 2) for d in rng.sample(pool, 15)} for i in range(25)}
    tied = [0.5, 0.5 + 1e-9, 0.25, 1, -3.0, float("inf"), float("-inf")]
    run = {
        query_id: {d: rng.choice([rng.choice(tied), rng.random()]) for d in rng.sample(pool, rng.randint(1, 30))}
        for query_id in qrels
    }
    return qrels, {**run, "other": {"d1": 1.0}}


@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_pytrec_evals_own_names_are_identical_to_the_last_bit(seed, level, judged_only):
    qrels, run = corpus(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(THEIRS), level, judged_only).evaluate(run)
    ours = RelevanceEvaluator(qrels, set(THEIRS), level, judged_only).evaluate(run)
    assert repr(ours) == repr(theirs)  # as text: 11pt_avg is NaN where -J leaves nothing of a list
    beside = RelevanceEvaluator(qrels, [*THEIRS, "gwmap_cut_5"], level, judged_only).evaluate(run)
    assert [values.pop("gwmap_cut_5") >= 0 for values in beside.values()] == [True] * len(ours)
    assert repr(beside) == repr(theirs)


@given(query=queries(judged=st.integers(-2, 3)))
def test_ties_near_ties_and_infinities_are_identical(query):
    judged, returned = query
    assume(returned and max(judged.values(), default=-1) >= 0)  # else pytrec_eval may end the process
    names = {"map", "ndcg", "recip_rank", "P_1", "bpref"}
    theirs = pytrec_eval.RelevanceEvaluator({"q": judged}, names).evaluate({"q": returned})
    assert RelevanceEvaluator({"q": judged}, names).evaluate({"q": returned}) == theirs


def test_a_query_that_returns_nothing_and_one_with_negative_grades_only():
    """Either ends the process, or never ends, in pytrec_eval when it is asked for map and bpref together."""
    qrels, run = {"none": {"a": 1, "b": 0}, "below": {"a": -1, "b": -2}}, {"none": {}, "below": {"b": 2.0, "x": 1.0}}
    lowest = {"gm_map": log(1e-5), "gm_bpref": log(1e-5)}  # trec_eval's least value within a geometric mean
    others = {
        "none": {"num_q": 1.0, "num_rel": 1.0, **lowest},
        "below": {"num_q": 1.0, "num_ret": 2.0, "utility": -2.0, **lowest},
    }
    for _ in range(20):
        result = RelevanceEvaluator(qrels, THEIRS).evaluate(run)
        assert list(result) == ["none", "below"]
        for query_id, values in result.items():
            assert len(values) > len(THEIRS)
            assert values == pytest.approx({**dict.fromkeys(values, 0.0), **others[query_id]})


def test_real_runs_are_identical(covid):
    qrels, runs = covid
    names = {"official", "ndcg_cut.5,10,100", "gm_bpref", "set_F.0.5"}
    for run in runs.values():
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        ours = RelevanceEvaluator(qrels, names).evaluate(run)
        for values in (*theirs.values(), *ours.values()):
            values.pop("runid")
        assert ours == theirs
        assert len(ours) == 30


@pytest.mark.parametrize(
    "names",
    [
        ["map", "ndcg_cut.10,100", "P_5", "P_10"],
        ["P", "P_3"],  # pytrec_eval then leaves the default cut-offs out
        ["iprec_at_recall_0.5", "iprec_at_recall.0,1", "11pt_avg.0.5,0.9"],
        ["Rprec_mult.0.5,2", "set_F_3", "relative_P.7", "success_2", "recall.1,3", "map_cut_2"],
        ["set"],
        ("map",),
        {"map": None},
        [],
    ],
)
def test_every_way_to_write_pytrec_evals_names(names):
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, names).evaluate(RUN)
    ours = RelevanceEvaluator(QRELS, names).evaluate(RUN)
    for values in (*theirs.values(), *ours.values()):
        values.pop("runid", None)
    assert ours == theirs


def test_the_result_holds_the_queries_of_run_and_qrels_in_the_order_of_the_run():
    result = RelevanceEvaluator(QRELS, {"gwmap_cut_10", "map"}).evaluate(RUN)
    assert list(result) == ["q2", "q1"]
    assert all(set(values) == {"map", "gwmap_cut_10"} for values in result.values())
    assert all(type(value) is float for values in result.values() for value in values.values())
    assert RelevanceEvaluator(QRELS, ["gwmap"]).evaluate({}) == {}
    assert RelevanceEvaluator(QRELS, ["gwmap", "map"]).evaluate({"q9": {"a": 1.0}}) == {}
    assert RelevanceEvaluator({"q": {}}, ["gwmap"]).evaluate({"q": {"a": 1.0}}) == {}
    assert RelevanceEvaluator(QRELS, ["gwmap", "map"]).evaluate({"q1": {}}) == {"q1": {"map": 0.0, "gwmap": 0.0}}


def test_our_names_have_the_values_of_the_definitions():
    names = ["gwmap_cut.1,3", "gwmap", "coverage_1", "ndcg_exp_cut_10", "list_map_cut_3", "gwmap_ideal_cut_3", "P_1"]
    values = RelevanceEvaluator(QRELS, names).evaluate(RUN)["q1"]
    hits = 1 / 1 * 0.5 + 2 / 3 * 1.0  # b at rank 1, a at rank 3; d at rank 5 adds 3/5 · 0.5
    ideal = 3 + 3 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert values == pytest.approx(
        {
            "gwmap_cut_1": 0.5 / 4,
            "gwmap_cut_3": hits / 4,
            "gwmap": (hits + 3 / 5 * 0.5) / 4,
            "coverage_1": 1.0,
            "ndcg_exp_cut_10": (1 + 3 / log2(4) + 1 / log2(6)) / ideal,
            "list_map_cut_3": (1 / 1 + 2 / 3) / 2,
            "gwmap_ideal_cut_3": hits / (1.0 + 1.0 + 0.5),
            "P_1": 1.0,
        }
    )


@pytest.mark.parametrize("stem", sorted(host_names().keys() - set(THEIRS)))
def test_every_name_of_ours_equals_evaluate(stem):
    qrels, run = corpus(7)
    measure, host = host_names()[stem]
    number = 4 if host.at == "cutoff" else 0.25
    asked = {host.trec(number): type(measure)(**{**host.params, host.at: number})}
    if not host.numbers:
        asked[stem] = type(measure)(**host.params)
    expected = evaluate(qrels, run, list(asked.values()))
    result = RelevanceEvaluator(qrels, list(asked)).evaluate(run)
    for name, column in zip(asked, expected.columns.values(), strict=True):
        assert {query_id: values[name] for query_id, values in result.items()} == column
    if host.numbers:
        assert set(RelevanceEvaluator(qrels, [stem]).evaluate(run)["q0"]) == {host.trec(n) for n in host.numbers}


def test_the_relevance_level_is_the_rel_of_our_measures():
    values = RelevanceEvaluator(QRELS, ["gwmap", "coverage_1", "ndcg_exp", GWAP(rel=1)], relevance_level=2).evaluate(
        RUN
    )
    one = evaluate(QRELS, RUN, [GWAP(rel=2), GWAP, "ndcg_exp"])
    assert values["q1"]["gwmap"] == one.columns[GWAP(rel=2)]["q1"] == 1 / 3 * 1.0 / 2  # a at rank 3, of a and e
    assert values["q1"]["coverage_1"] == 0.0
    assert values["q1"]["ndcg_exp"] == RelevanceEvaluator(QRELS, ["ndcg_exp"]).evaluate(RUN)["q1"]["ndcg_exp"]
    assert RelevanceEvaluator(QRELS, ["coverage"], 1.5).evaluate(RUN)["q2"] == {"coverage": 0.0}
    assert RelevanceEvaluator(QRELS, ["success_5"], 1.5).evaluate(RUN)["q2"] == {"success_5": 0.0}


@pytest.mark.parametrize("level", [0, -1, float("nan"), "2", None])
def test_a_relevance_level_is_a_positive_number(level):
    with pytest.raises(ParamError, match=r"relevance_level=.* give a number > 0"):
        RelevanceEvaluator(QRELS, ["map"], level)


def test_judged_documents_only_takes_the_unjudged_ones_out():
    values = RelevanceEvaluator(QRELS, ["gwmap_cut_2", "P_2"], judged_docs_only_flag=True).evaluate(RUN)["q1"]
    assert values == {"P_2": 1.0, "gwmap_cut_2": (1 / 1 * 0.5 + 2 / 2 * 1.0) / 4}  # b, a


def test_measures_with_parameters_are_given_as_measures_or_as_they_print():
    values = RelevanceEvaluator(QRELS, [GWAP(max_rel=4) @ 1, "GWAP(max_rel=8)@1", "P@2", AP @ 1]).evaluate(RUN)["q1"]
    assert values == {"GWAP(max_rel=4)@1": 0.25 / 4, "GWAP(max_rel=8)@1": 0.125 / 4, "P@2": 0.5, "AP@1": 0.25}
    assert RelevanceEvaluator(QRELS, P @ 2).evaluate(RUN)["q1"] == {"P@2": 0.5}
    assert RelevanceEvaluator(QRELS, "P_2").evaluate(RUN)["q1"] == {"P_2": 0.5}
    with pytest.raises(ParamError, match=r"ERR.* permed_measures.evaluate\(\) knows it"):
        RelevanceEvaluator(QRELS, [ERR @ 10])
    with pytest.raises(ParamError, match="not as int"):
        RelevanceEvaluator(QRELS, [5])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg.1=1,2=3", "Did you mean ndcg"),
        ("ndcg_10", "ndcg takes no parameter; write ndcg_cut_10"),
        ("ndcg.5,10", "write ndcg_cut_5,10"),
        ("map.10", "write map_cut_10"),
        ("utility.1,2", "utility takes no parameter"),
        ("P.0", "whole numbers >= 1"),
        ("P_5,", "whole numbers >= 1"),
        ("P.0.5", "whole numbers >= 1"),
        ("P_5abc", "is not a measure"),
        ("iprec_at_recall.1.5", "from 0 to 1"),
        ("set_F.1..2", "a number >= 0"),
        ("official.1", "is not a measure"),
        ("mapp", "Did you mean map"),
        ("gwmap_cut10", "Did you mean gwmap_cut"),
        ("gmap_cut_10", "Did you mean .*gwmap_cut"),
        ("gwmap_cut_0", "cutoff=0 is not allowed"),
        ("GWAP@ten", "is not a value"),
        ("prefs", "pytrec_eval cannot compute 'prefs'"),
        ("P_\u0665", "is not a measure"),
        ("", "is not a measure"),
    ],
)
def test_a_name_that_is_wrong_is_a_param_error(name, message):
    with pytest.raises(ParamError, match=message):
        RelevanceEvaluator(QRELS, {"map", name})


@pytest.mark.parametrize("names", [["ndcg.1=1,2=3"], ["P_0"], ["ndcg_rel_3"]])
def test_names_that_end_the_process_in_pytrec_eval_do_not_here(names):
    program = (
        "import sys; from {} import RelevanceEvaluator\n"
        "try: RelevanceEvaluator({{'q': {{'a': 1}}}}, sys.argv[1:]).evaluate({{'q': {{'a': 1.0}}}})\n"
        "except ValueError as error: sys.exit(type(error).__name__)"
    )
    theirs = subprocess.run(
        [sys.executable, "-c", program.format("pytrec_eval"), *names], capture_output=True, check=False
    )
    assert theirs.returncode < 0  # ended by a signal
    ours = subprocess.run(
        [sys.executable, "-c", program.format("permed_measures"), *names],
        capture_output=True,
        check=False,
        cwd=permed_measures.__path__[0] + "/..",
    )
    assert (ours.returncode, ours.stderr.strip()) == (1, b"ParamError")


def test_one_parameter_written_twice_is_one():
    values = RelevanceEvaluator(QRELS, ["P_5", "P_05", "iprec_at_recall.0.5,0.50", "iprec_at_recall_1.0"]).evaluate(RUN)
    assert set(values["q1"]) == {"P_5", "iprec_at_recall_0.50", "iprec_at_recall_1.00"}


def test_two_betas_need_two_evaluators():
    with pytest.raises(ParamError, match=r"set_F\.0\.5, set_F\.2: pytrec_eval computes one set_F at a time"):
        RelevanceEvaluator(QRELS, ["set_F_0.5", "set_F.2"])


def test_supported_measures_can_all_be_asked_for_at_once():
    names = permed_measures.supported_measures
    assert names > set(pytrec_eval.supported_measures)
    assert permed_measures.supported_nicknames == pytrec_eval.supported_nicknames
    values = RelevanceEvaluator(QRELS, names).evaluate(RUN)["q1"]
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    assert {name for name in values if name.startswith("map_cut")} == {f"map_cut_{k}" for k in cutoffs}
    assert {name for name in values if name.startswith("gwmap_cut")} == {f"gwmap_cut_{k}" for k in cutoffs}
    assert {"gwmap", "gwmap_ideal", "coverage", "ndcg_exp", "list_map", "list_ndcg", "list_ndcg_exp"} < set(values)


def test_float_grades_and_numpy_numbers():
    qrels = {"q": {"A": 8.0, "B": 7.5, "C": np.float32(6.5), "D": np.int64(5)}}
    run = {"q": dict(zip("CEAFBGHIJD", np.arange(10, 0, -1, dtype=np.float32), strict=True))}
    names = {"map", "P_5", "success_1", "ndcg", "ndcg_cut_1", "ndcg_exp_cut_1", "num_rel"}
    values = RelevanceEvaluator(qrels, names, relevance_level=7).evaluate(run)["q"]
    ideal = 8 + 7.5 / log2(3) + 6.5 / log2(4) + 5 / log2(5)
    assert values == pytest.approx(
        {
            "map": (1 / 3 + 2 / 5) / 2,  # A at rank 3, B at rank 5
            "P_5": 2 / 5,
            "success_1": 0.0,
            "num_rel": 2.0,
            "ndcg": (6.5 + 8 / log2(4) + 7.5 / log2(6) + 5 / log2(11)) / ideal,
            "ndcg_cut_1": 6.5 / 8,
            "ndcg_exp_cut_1": (2**6.5 - 1) / (2**8 - 1),
        }
    )
    whole = {"q": {"A": np.int64(8), "B": 7.0}}
    assert RelevanceEvaluator(whole, {"G"}).evaluate(run) == pytrec_eval.RelevanceEvaluator(
        {"q": {"A": 8, "B": 7}}, {"G"}
    ).evaluate({"q": {doc_id: float(score) for doc_id, score in run["q"].items()}})
    assert set(RelevanceEvaluator(qrels, {"ndcg_cut"}).evaluate(run)["q"]) == {
        f"ndcg_cut_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    }


def test_graded_measures_are_exact_where_pytrec_eval_refuses():
    run = {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    values = RelevanceEvaluator({"q": {"a": 2.5, "b": 1}}, {"ndcg_rel", "G", "Rndcg", "map"}).evaluate(run)["q"]
    # b at rank 1, a at rank 3; ideal: a, b; DCG 1 and 1 + 2.5/2; IDCG 2.5 and 2.5 + 1/log2(3); cost 2.5, 3.5, 4.5
    ideal, dcg = 2.5 + 1 / log2(3), 1 + 2.5 / 2
    expected = {
        "ndcg_rel": (1 / 2.5 + dcg / ideal) / 2,
        "Rndcg": (1 / 2.5 + 1 / ideal) / 2,
        "G": (1 / log2(2 + 2.5 - 1) + 2.5 / log2(2 + 4.5 - 3.5)) / 3.5,
        "map": (1 / 1 + 2 / 3) / 2,
    }
    assert values == pytest.approx(expected)


def test_grades_that_pytrec_eval_would_take_forever_for():
    values = RelevanceEvaluator({"q": {"a": 10**9, "b": 10**8}}, {"map", "ndcg"}).evaluate({"q": {"b": 1.0, "x": 0.5}})
    assert values["q"] == pytest.approx({"map": 0.5, "ndcg": 0.1 / (1 + 0.1 / log2(3))})


def test_runs_in_every_shape():
    pandas = pytest.importorskip("pandas", reason="frames are optional")
    names = {"map", "gwmap_cut_10"}
    expected = RelevanceEvaluator(QRELS, names).evaluate({"q1": RUN["q1"]})
    frame = pandas.DataFrame([("q1", d, s) for d, s in RUN["q1"].items()], columns=["query_id", "doc_id", "score"])
    proxy = types.MappingProxyType({"q1": types.MappingProxyType(RUN["q1"])})
    whole = {"q1": {doc_id: int(score) for doc_id, score in RUN["q1"].items()}}
    for run in ({"q1": list(RUN["q1"])}, frame, proxy, whole, {"q1": {**RUN["q1"], "b": 10**400}}):
        assert RelevanceEvaluator(QRELS, names).evaluate(run) == expected


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"q1": {"a": float("nan")}}, "document 'a': the score is NaN"),
        ({"q1": {"a": "0.5"}}, "a score is a number"),
        ({"q1": {1: 0.5}}, "ids are strings"),
        ({"q1": ["a", "a"]}, "occurs twice"),
        ({"q1": {"\ud800": 0.5}}, "not text that pytrec_eval can take"),
        ({"q1": {"a\0b": 0.5}}, "not text that pytrec_eval can take"),
        ({"q1": 5}, "neither a dict of scores nor a list"),
        (5, "not a shape we know"),
    ],
)
def test_runs_that_are_wrong(run, message):
    for names in ({"infAP"}, {"map"}, {"map", "infAP"}):
        if "pytrec_eval" in message and names == {"map"}:  # over columns any text is an id
            assert RelevanceEvaluator(QRELS, names).evaluate(run) == {"q1": {"map": 0.0}}
            continue
        with pytest.raises(InputError, match=message):
            RelevanceEvaluator(QRELS, names).evaluate(run)


def test_qrels_that_are_wrong():
    with pytest.raises(InputError, match=r"the document id '.ud800' is not text"):
        RelevanceEvaluator({"q": {"\ud800": 1}}, {"map"})
    with pytest.raises(InputError, match=r"the query id 'a.x00' is not text"):
        RelevanceEvaluator({"a\0": {"a": 1}}, {"map"})
    with pytest.raises(InputError, match="document 'a': grade 3 is above max_rel=2"):
        RelevanceEvaluator({"q": {"a": 3}}, {"gwmap_cut_10"})


def test_the_module_is_a_drop_in():
    lines = ["q1 0 a 2", "q1 0 b 1"]
    assert drop_in.parse_qrel(lines) == {"q1": {"a": 2, "b": 1}}
    run = drop_in.parse_run(["q1 Q0 b 1 0.9 me", "q1 Q0 a 2 0.8 me"])
    values = drop_in.RelevanceEvaluator(drop_in.parse_qrel(lines), {"gwmap_cut_10"}).evaluate(run)
    assert drop_in.compute_aggregated_measure("gwmap_cut_10", [v["gwmap_cut_10"] for v in values.values()]) == 0.75
    assert drop_in.supported_measures == permed_measures.supported_measures


@pytest.mark.usefixtures("first_grade")
def test_a_new_measure_needs_no_second_edit():
    values = RelevanceEvaluator(QRELS, ["first_grade", "first_grade_cut_3"]).evaluate(RUN)["q1"]
    assert values == {"first_grade": 1.0, "first_grade_cut_3": 1.0}


@pytest.fixture
def installed():
    """Put ours into pytrec_eval, and pytrec_eval's own back."""
    install_pytrec_eval()
    yield
    uninstall_pytrec_eval()


CLIENT = '''
import pytrec_eval

def evaluate(qrels, results, k_values):
    """Do what BEIR and MTEB do: one string per family, looked up in the module at the time of the call."""
    ks = ",".join(map(str, k_values))
    names = {f"{stem}.{ks}" for stem in ("map_cut", "ndcg_cut", "recall", "P")} | {"recip_rank"}
    return pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(results)
'''


def client():
    """Import the code of somebody who knows nothing of us."""
    module = types.ModuleType("client")
    exec(CLIENT, vars(module))  # noqa: S102  (the text above)
    return module


@pytest.mark.usefixtures("installed")
def test_code_that_one_does_not_own_has_the_same_values():
    qrels, run = corpus(11)
    ours = client().evaluate(qrels, run, [1, 3, 10])
    uninstall_pytrec_eval()
    theirs = client().evaluate(qrels, run, [1, 3, 10])
    assert ours == theirs
    assert list(ours) == list(theirs)
    assert set(ours["q0"]) == {f"{s}_{k}" for s in ("map_cut", "ndcg_cut", "recall", "P") for k in (1, 3, 10)} | {
        "recip_rank"
    }


@pytest.mark.usefixtures("installed")
def test_code_that_one_does_not_own_gets_what_is_ours():
    assert client().evaluate({"q": {"a": 1.0}}, {"q": {"b": np.float32(2), "a": 1}}, [1])["q"]["recip_rank"] == 1 / 2
    assert pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"gwmap_cut_10"}).evaluate({"q": {"a": 1.0}}) == {
        "q": {"gwmap_cut_10": 0.5}
    }

    class Own(pytrec_eval.RelevanceEvaluator):
        def __init__(self, query_relevance):
            super().__init__(query_relevance=query_relevance, measures={"map"}, relevance_level=1)

        def evaluate(self, scores):
            return {q: values["map"] for q, values in super().evaluate(scores).items()}

    assert Own({"q": {"a": 1}}).evaluate({"q": {"b": 2.0, "a": 1.0}}) == {"q": 0.5}
    again = pickle.loads(pickle.dumps(pytrec_eval.RelevanceEvaluator))  # noqa: S301  (made here)
    assert again is RelevanceEvaluator


def test_install_is_undone_and_may_be_done_twice():
    before, provider = dict(vars(pytrec_eval)), ir_measures.providers.registry["pytrec_eval"]
    uninstall_pytrec_eval()
    install_pytrec_eval()
    install_pytrec_eval()
    assert pytrec_eval.RelevanceEvaluator is RelevanceEvaluator
    uninstall_pytrec_eval()
    assert dict(vars(pytrec_eval)) == before
    assert provider.pytrec_eval is pytrec_eval


@pytest.mark.parametrize("by_hand", [True, False])
def test_nobody_meets_himself_in_the_place_of_pytrec_eval(monkeypatch, by_hand):
    """References and, after an install, ir_measures ask pytrec_eval's own class."""
    measures = [AP, AP @ 3, P(rel=2) @ 2, Rprec, SetF(beta=2.0), IPrec @ 0.1, NumRet, infAP, Bpref, Success @ 1]
    qrels, run = corpus(13)
    names = ["by_hand", "pytrec_eval", "ir_measures/pytrec_eval"]
    means = ir_measures.calc_aggregate(measures, qrels, run)
    few = {name: REFERENCES[name] for name in names}
    monkeypatch.setattr(drop_in, "_Theirs", None)  # whoever asks ours for a name of pytrec_eval's fails
    if by_hand:
        monkeypatch.setattr(pytrec_eval, "RelevanceEvaluator", RelevanceEvaluator)
    else:
        install_pytrec_eval()
        assert ir_measures.calc_aggregate(measures, qrels, run) == means
    try:
        checks = verify(qrels, run, ["AP@3", "nDCG@5"], references=few).checks
    finally:
        uninstall_pytrec_eval()
    assert {(check.reference, check.verdict) for check in checks} == {(name, AGREES) for name in names}


def test_assigned_by_hand_it_works_too(monkeypatch):
    qrels, run = corpus(17)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run)
    means = ir_measures.calc_aggregate([AP, P @ 1], qrels, run)
    monkeypatch.setattr(pytrec_eval, "RelevanceEvaluator", RelevanceEvaluator)
    assert pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run) == theirs
    assert ir_measures.calc_aggregate([AP, P @ 1], qrels, run) == means
    with pytest.raises(HostError, match=r"not found: its own RelevanceEvaluator.*nothing was patched.*undo that first"):
        install_pytrec_eval()


def test_the_fallback_of_delegated_measures_is_pytrec_evals_own(monkeypatch):
    monkeypatch.setattr(pytrec_eval, "RelevanceEvaluator", None)
    monkeypatch.setattr("permed_measures.delegate._written", lambda *_: None)  # a C part of another shape
    assert evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, AP)[AP] == 1 / 2


@pytest.mark.parametrize(
    ("kept", "outcome"),
    [("kept = pytrec_eval.RelevanceEvaluator", "{'q': {'map': 1.0}}"), ("kept = None", "HostError pytrec_eval's own")],
)
def test_replaced_before_we_are_imported(kept, outcome):
    """By a function that asks ours, which is then imported: its lookup would find the function."""
    program = f"""
import gc, pytrec_eval
{kept}
def replaced(*args):
    import permed_measures
    return permed_measures.RelevanceEvaluator(*args)
pytrec_eval.RelevanceEvaluator = replaced
gc.collect()
try:
    print(pytrec_eval.RelevanceEvaluator({{'q': {{'a': 1}}}}, ['map']).evaluate({{'q': {{'a': 1.0}}}}))
except RuntimeError as error:
    print(type(error).__name__, str(error).partition(', and ')[2])
"""
    root = permed_measures.__path__[0] + "/.."
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, cwd=root)
    assert done.stdout.startswith(outcome), done.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_ARGUMENTS", ["query_relevance", "measures", "level"]),
        ("OWN", type("Other", (), {"__init__": lambda *_: None, "evaluate": lambda *_: {}})),
        ("OWN", None),
    ],
)
def test_a_pytrec_eval_of_another_shape_is_refused_and_not_touched(monkeypatch, name, value):
    before, provider = dict(vars(pytrec_eval)), ir_measures.providers.registry["pytrec_eval"]
    assert provider.is_available()
    monkeypatch.setattr(drop_in, name, value)
    with pytest.raises(HostError, match=r"pytrec_eval 0\.5.*not the shape we know.*nothing was patched.*pip install"):
        install_pytrec_eval()
    assert dict(vars(pytrec_eval)) == before
    assert provider.pytrec_eval is pytrec_eval


@pytest.mark.usefixtures("installed")
def test_the_patch_of_somebody_else_is_left_alone(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(pytrec_eval, "RelevanceEvaluator", len)
        for call in (install_pytrec_eval, uninstall_pytrec_eval):
            with pytest.raises(HostError, match="replaced after install_pytrec_eval"):
                call()
        assert pytrec_eval.RelevanceEvaluator is len
