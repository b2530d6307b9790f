"""gate(): conditions, drops that a test supports, serving figures, JUnit."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from permed_measures.errors import InputError, ParamError
from permed_measures.gating import Check, Condition, Gate, gate, junit, parse_condition, read_serving
from permed_measures.measures import parse
from permed_measures.profiles import Entry, Profile, load_profile

pytest.importorskip("scipy", reason="the paired t-test needs it")

QRELS = {f"q{place}": {"a": 1} for place in range(40)}
GOOD = dict.fromkeys(QRELS, ("a", "b"))
BAD = dict.fromkeys(QRELS, ("b", "a"))
CHANCE = {query_id: ["b", "a"] if place == 0 else ["a"] for place, query_id in enumerate(QRELS)}


def held(result):
    return [check.held for check in result.checks]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("nDCG@10>=0.85", Condition("nDCG@10", ">=", 0.85)),
        (" P@5 > .8 ", Condition("P@5", ">", 0.8)),
        ("GWAP(max_rel=3)@10==0.5", Condition("GWAP(max_rel=3)@10", "==", 0.5)),
        ("nDCG(dcg='exp-log2')@10<1e-3", Condition("nDCG(dcg='exp-log2')@10", "<", 0.001)),
        ("p95_ms<=500", Condition("p95_ms", "<=", 500.0)),
    ],
)
def test_conditions(text, condition):
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    "text", ["", "nDCG@10", ">=0.5", "P@5>=", "P@5>=x", "P@5=0.5", "P@5>=0.5x", "P@5>=0.8_5", "P@5>=0.5 0.6"]
)
def test_what_is_no_condition(text):
    with pytest.raises(ParamError, match="is not a condition"):
        parse_condition(text)


def test_every_operator():
    # RR of BAD is 1/2 for every query
    conditions = ["RR>=0.5", "RR<=0.5", "RR==0.5", "RR>0.5", "RR<0.5", "RR>=0.51", "RR==0.500001"]
    result = gate(QRELS, BAD, conditions)
    assert held(result) == [True, True, True, False, False, False, False]
    assert not result.held
    assert gate(QRELS, BAD, conditions[:3]).held


def test_names_in_any_style_share_one_measure():
    assert held(gate(QRELS, GOOD, ["P_1>0.9", "P@1>0.9", "recip_rank>0.9", "gwmap@10>0.4"])) == [True] * 4


def test_display_names_of_a_profile():
    # MAP@10 of the profile permed is GWAP@10: grade 1 of 2 counts 1/2
    assert held(gate(QRELS, GOOD, ["MAP@10==0.5"], profile="permed")) == [True]
    assert held(gate(QRELS, GOOD, ["MAP@10==1"], profile="permed-binary")) == [True]
    with pytest.raises(ParamError, match="unknown measure 'top1_accuracy'"):
        gate(QRELS, GOOD, ["top1_accuracy>=0.5"])


def test_what_a_name_stands_for_is_said():
    assert "MAP@10 = GWAP@10" in gate(QRELS, GOOD, ["MAP@10==0.5"], profile="permed").notes
    assert "MAP@10 = AP@10" in gate(QRELS, GOOD, ["MAP@10==1"], baseline=BAD).notes
    assert not any("=" in note for note in gate(QRELS, GOOD, ["P@1==1"]).notes)


def test_the_targets_of_a_profile():
    result = gate(QRELS, GOOD, profile="rerank")
    # one relevant document per query: P@5 = 1/5 misses its 0.8; latency and cost are not known
    assert held(result) == [True, True, True, False, None, None]
    measured = gate(QRELS, GOOD, profile="rerank", serving={"p95_ms": 499, "usd_per_million_tokens": 0.05})
    assert held(measured) == [True, True, True, False, True, False]
    # figures without any latency are those of calls that all failed: that is not a pass
    dead = gate(QRELS, GOOD, profile="rerank", serving={"failure_share": 1.0})
    assert held(dead) == [True, True, True, False, False, None]


def test_serving_figures():
    result = gate(
        QRELS, GOOD, ["RR>0.9", "p95_ms<=500", "usd_per_query<0.001"], serving={"p95_ms": 501, "usd_per_query": 0}
    )
    assert held(result) == [True, False, True]
    with pytest.raises(ParamError, match=r"neither a measure nor in the serving file\. Did you mean p95_ms"):
        gate(QRELS, GOOD, ["p95_msec<=500"], serving={"p95_ms": 501})
    for wrong in ("fast", None, True, float("nan")):
        with pytest.raises(InputError, match="a number is needed"):
            gate(QRELS, GOOD, ["p95_ms<=500"], serving={"p95_ms": wrong})


def test_serving_alone_needs_no_measure():
    assert held(gate(QRELS, GOOD, ["p95_ms<=500"], serving={"p95_ms": 10})) == [True]


def test_a_supported_drop_fails():
    result = gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD)
    assert held(result) == [True, False]
    assert "supports the drop" in result.checks[1].why
    # the drop is 1/2
    assert held(gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD, max_drop=0.5)) == [True, True]
    assert held(gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD, max_drop=0.49)) == [True, False]


def test_a_drop_by_chance_does_not_fail():
    result = gate(QRELS, CHANCE, ["RR>0.1"], baseline=GOOD)
    assert held(result) == [True, True]
    assert "does not support the drop" in result.checks[1].why


def test_a_gain_holds_and_one_query_supports_nothing():
    assert held(gate(QRELS, GOOD, profile="permed", baseline=BAD)) == [True] * 3
    one = gate({"q": {"a": 1}}, {"q": ["b"]}, ["RR>=0"], baseline={"q": ["a"]})
    assert held(one) == [True, True]
    assert "no paired test" in one.checks[1].why


def test_query_sets_of_a_profile_are_kept():
    entry = Entry(parse("Coverage@1"), "covered", "run")
    result = gate(QRELS, {"q0": ["a"]}, ["covered==1"], profile=Profile("p", "", (entry,)))
    assert held(result) == [True]


def test_wrong_gates():
    with pytest.raises(ParamError, match="nothing to check"):
        gate(QRELS, GOOD)
    with pytest.raises(ParamError, match="nothing to check"):
        gate(QRELS, GOOD, profile="hybrid")
    with pytest.raises(ParamError, match="a baseline needs measures"):
        gate(QRELS, GOOD, baseline=BAD)
    with pytest.raises(ParamError, match="max_drop=-1"):
        gate(QRELS, GOOD, ["RR>0"], baseline=BAD, max_drop=-1)
    assert load_profile("hybrid").targets == ()


def test_a_run_without_a_query_of_the_qrels_is_no_pass():
    strangers = {"Q0": ["a"], "Q1": ["a"]}
    for conditions, baseline in (["RR>=0"], None), (["RR<=0.5"], None), (["RR>=0"], GOOD):
        with pytest.raises(InputError, match="no query is in both the qrels and the run"):
            gate(QRELS, strangers, conditions, baseline=baseline)
    with pytest.raises(InputError, match="no query is in both the qrels and the run, which is empty: every value is 0"):
        gate(QRELS, {}, ["RR<=0.5"])
    with pytest.raises(InputError, match="run 'baseline': no query is in both"):
        gate(QRELS, GOOD, ["RR>=0"], baseline=strangers)


def test_a_drop_needs_a_baseline():
    with pytest.raises(ParamError, match=r"max_drop=0.001 is about a drop against a baseline, and none is given"):
        gate(QRELS, GOOD, ["RR>0"], max_drop=0.001)


def test_a_figure_without_figures_is_not_taken_for_a_measure():
    with pytest.raises(ParamError, match=r"'p95_ms' is a serving figure, .* --serving FILE$"):
        gate(QRELS, GOOD, ["RR>0", "p95_ms<=300"])


def test_the_advice_of_an_empty_gate_can_be_followed():
    with pytest.raises(ParamError, match=r"nothing to check: .* or a baseline and a profile"):
        gate(QRELS, GOOD)
    assert held(gate(QRELS, GOOD, baseline=BAD, profile="permed")) == [True] * 3


def test_serving_files(tmp_path):
    path = tmp_path / "serving.json"
    path.write_text(json.dumps({"p95_ms": 310}))
    assert read_serving(path) == {"p95_ms": 310}
    for content, message in (("[1]", "one JSON object"), ("{", "not JSON"), ("\xff", "not JSON|one JSON")):
        path.write_text(content, encoding="latin-1")
        with pytest.raises(InputError, match=message):
            read_serving(path)
    with pytest.raises(InputError, match="cannot read it"):
        read_serving(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([True], "1 check, it holds"),
        ([True, True], "2 checks, all hold"),
        ([False], "1 of 1 check did not hold"),
        ([True, False, None], "1 of 3 checks did not hold, 1 skipped"),
        ([True, None, None], "3 checks, 1 holds, 2 skipped"),
        ([True, True, None], "3 checks, 2 hold, 1 skipped"),
        ([None, None], "2 checks, all skipped"),
        ([None], "1 check, skipped"),
    ],
)
def test_the_summary_counts(verdicts, said):
    checks = tuple(Check(Condition("P@1", ">=", 0.5), None, verdict) for verdict in verdicts)
    assert Gate("bm25", checks).summary == f"bm25: {said}"


def test_a_gate_as_data():
    result = gate(QRELS, CHANCE, ["RR>0.1", "p95_ms<=500"], baseline=GOOD, serving={"p95_ms": 501})
    # of 40 queries one falls from 1 to 1/2
    value = (39 + 1 / 2) / 40
    found = result.to_dict()
    why = found["checks"][2].pop("why")
    assert why.startswith("the paired test does not support the drop")
    assert found == {
        "run": "run",
        "held": False,
        "checks": [
            {"name": "RR", "operator": ">", "wanted": 0.1, "found": value, "held": True, "why": ""},
            {"name": "p95_ms", "operator": "<=", "wanted": 500, "found": 501, "held": False, "why": "off by 1"},
            {"name": "RR drop", "operator": "<=", "wanted": 0, "found": pytest.approx(1 / 80), "held": True},
        ],
        "signatures": result.signatures,
        "notes": list(result.notes),
    }


def test_no_change_is_no_negative_drop():
    same = gate(QRELS, GOOD, ["RR>0.1"], baseline=GOOD).checks[1]
    assert (same.found, same.held) == ("0.0000", True)


def test_junit_counts_and_says_why():
    result = gate(QRELS, GOOD, profile="rerank")
    suites = ET.fromstring(junit(result))  # noqa: S314  (our own output)
    suite = suites.find("testsuite")
    assert suites.tag == "testsuites"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "1", "0", "2"]
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases][:2] == ["NDCG@10 > 0.85", "MRR > 0.8"]
    assert cases[3].find("failure").get("message") == "Precision@5 > 0.8: found 0.2000, off by 0.6"
    assert cases[4].find("skipped") is not None
    assert all(case.find("failure") is None for case in cases if case is not cases[3])


def test_junit_holds_any_character():
    odd = "a\x00b<c>&\"'\ud800\x1b中"
    condition = Condition(odd, "<=", 1)
    checks = Check(condition, 2, held=False, why=odd), Check(condition, None, None, odd), Check(condition, 0, held=True)
    result = Gate(odd, checks)
    shown = junit(result)
    suites = ET.fromstring(shown.encode())  # noqa: S314  (our own output)
    assert suites.find("testsuite").get("name") == "gate a\ufffdb<c>&\"'\ufffd\ufffd中"
