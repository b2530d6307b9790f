"""gate(): three verdicts, bounds of a drop, what fails closed, serving figures, segments, clusters, JUnit."""

from __future__ import annotations

import json
import math
import random
from xml.etree import ElementTree as ET

import pytest

from permed_measures import inference
from permed_measures.errors import InputError, ParamError
from permed_measures.gating import Check, Condition, Gate, gate, parse_condition, read_serving
from permed_measures.gating.checks import Rules, queries_needed
from permed_measures.gating.ci import junit, junit_error
from permed_measures.measures import parse
from permed_measures.profiles import Entry, Profile, Target, load_profile

QRELS = {f"q{place}": {"a": 1} for place in range(40)}
GOOD = dict.fromkeys(QRELS, ("a", "b"))
BAD = dict.fromkeys(QRELS, ("b", "a"))
TARGETS = Profile(
    "targets",
    "",
    tuple(Entry(parse(measure), name) for measure, name in (("nDCG@10", "NDCG@10"), ("RR", "MRR"), ("P@5", "P@5"))),
    targets=(
        *(Target(name, 0.8, 0.9) for name in ("NDCG@10", "MRR", "P@5")),
        Target("p95_ms", 500, 300, lower_is_better=True),
        Target("usd_per_million_tokens", 0.05, 0.03, lower_is_better=True),
    ),
)
CHANCE = {query_id: ["b", "a"] if place == 0 else ["a", "b"] for place, query_id in enumerate(QRELS)}


def verdicts(result):
    return [check.verdict for check in result.checks]


def held(result):
    return [{"holds": True, "fails": False}.get(check.verdict) for check in result.checks]


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
    assert "MAP@10 = AP@10" in gate(QRELS, GOOD, ["MAP@10==1"], baseline=BAD, max_drop=0.1).notes
    assert not any("=" in note for note in gate(QRELS, GOOD, ["P@1==1"]).notes)


def test_the_targets_of_a_profile():
    # one relevant document per query: P@5 = 1/5 misses its 0.8; latency and cost are not known, which is no pass
    with pytest.raises(ParamError, match=r"'p95_ms' is a serving figure, and none are given: .*--allow-skipped"):
        gate(QRELS, GOOD, profile=TARGETS)
    result = gate(QRELS, GOOD, profile=TARGETS, allow_skipped=True)
    assert verdicts(result) == ["holds", "holds", "fails", "skipped", "skipped"]
    measured = gate(QRELS, GOOD, profile=TARGETS, serving={"p95_ms": 499, "usd_per_million_tokens": 0.05})
    assert held(measured) == [True, True, False, True, False]
    # figures without any latency are those of calls that all failed: that is not a pass, and never skipped
    with pytest.raises(InputError, match="lack 'p95_ms'; did any call succeed"):
        gate(QRELS, GOOD, profile=TARGETS, serving={"failure_share": 1.0}, allow_skipped=True)
    with pytest.raises(InputError, match="lack 'usd_per_million_tokens'"):
        gate(QRELS, GOOD, profile=TARGETS, serving={"p95_ms": 10})
    partly = gate(QRELS, GOOD, profile=TARGETS, serving={"p95_ms": 10}, allow_skipped=True)
    assert verdicts(partly)[3:] == ["holds", "skipped"]


@pytest.mark.parametrize("name", ["NDGC@10", "failure_rate"])
def test_a_target_that_nothing_is_called_is_an_error(name):
    profile = Profile("p", "", (Entry(parse("P@5"), "P@5"),), targets=(Target("P@5", 0.1, 0.2), Target(name, 0.1, 0.2)))
    for serving in (None, {"p95_ms": 3}):
        with pytest.raises(ParamError, match=name):
            gate(QRELS, GOOD, profile=profile, serving=serving, allow_skipped=True)


def test_a_serving_figure_does_not_replace_a_measure():
    for name, profile in (("nDCG@10", None), ("MAP@10", "permed")):
        with pytest.raises(ParamError, match=f"{name}' is a measure, and a serving figure too"):
            gate(QRELS, BAD, [f"{name}>=0.9"], serving={name: 0.99}, profile=profile)


def test_serving_figures():
    result = gate(
        QRELS, GOOD, ["RR>0.9", "p95_ms<=500", "usd_per_query<0.001"], serving={"p95_ms": 501, "usd_per_query": 0}
    )
    assert held(result) == [True, False, True]
    with pytest.raises(ParamError, match=r"'p95_msec' is neither a measure.* Did you mean p95_ms"):
        gate(QRELS, GOOD, ["p95_msec<=500"], serving={"p95_ms": 501})
    with pytest.raises(InputError, match="lack 'p99_ms'"):
        gate(QRELS, GOOD, ["p99_ms<=500"], serving={"p95_ms": 501}, allow_skipped=True)
    for wrong in ("fast", None, True, float("nan")):
        with pytest.raises(InputError, match="a number is needed"):
            gate(QRELS, GOOD, ["p95_ms<=500"], serving={"p95_ms": wrong})


def test_a_figure_of_calls_that_never_ended_fails():
    (check,) = gate(QRELS, GOOD, ["p95_ms<=500"], serving={"p95_ms_at_least": 400.0}).checks
    assert (check.verdict, check.why) == (
        "fails",
        "only known to be at least 400.0: calls never started or never ended",
    )


def test_serving_alone_needs_no_measure():
    assert held(gate(QRELS, GOOD, ["p95_ms<=500"], serving={"p95_ms": 10})) == [True]


def test_a_drop_fails_above_its_margin_and_holds_below_it():
    # RR falls by exactly 1/2 on each of 40 queries
    assert verdicts(gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD, max_drop=0.3)) == ["holds", "fails"]
    assert verdicts(gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD, max_drop=0.9)) == ["holds", "holds"]
    # at the margin nothing can be said, and a drop is shown
    even = gate(QRELS, BAD, ["RR>0.1"], baseline=GOOD, max_drop=0.5)
    assert (verdicts(even), even.exit_code, even.verdict, even.held) == (["holds", "undecided"], 3, "undecided", False)


def test_the_numbers_of_a_drop():
    # Success@1 falls from 1 to 0 on 4 of 100 queries
    qrels = {str(place): {"a": 1} for place in range(100)}
    before = {key: ["a"] for key in qrels}
    after = {query_id: ["b"] if int(query_id) < 4 else ["a"] for query_id in qrels}
    check = gate(qrels, after, baseline=before, max_drop={"Success@1": 0.2}).checks[0]
    assert (check.value, check.baseline, check.n, check.units) == (0.96, 1.0, 100, 100)
    assert check.drop == pytest.approx(0.04)
    # k = 2 adds 1, 1, -1, -1: mean 4/104, sum of squares 4 + 4
    mean, num = 4 / 104, 104
    error = math.sqrt((8 - num * mean**2) / (num * (num - 1)))
    assert check.bound == pytest.approx(mean + 1.6598 * error, abs=1e-4)  # t.95 with 103 degrees of freedom
    assert check.smallest_margin == pytest.approx((1.6598 + 0.8453) * error, abs=1e-4)
    # the shown interval has k = 1: 102 values, mean 4/102, sum of squares 4 + 2
    mean, num = 4 / 102, 102
    error = math.sqrt((6 - num * mean**2) / (num * (num - 1)))
    assert check.interval == pytest.approx((mean - 1.9837 * error, mean + 1.9837 * error), abs=1e-4)
    assert check.verdict == "holds"
    # by the t of the 100 differences alone, whether there is a drop at all: 0.04 / sqrt((4 - 0.16) / 9900) = 2.031
    assert check.p_no_drop == pytest.approx(0.02246, abs=1e-4)


def test_ten_queries_cannot_hide_a_drop_of_thirty_points():
    qrels = {str(place): {"a": 1} for place in range(10)}
    after = {query_id: ["b"] if int(query_id) < 3 else ["a"] for query_id in qrels}
    for margin in (0, 0.01, 0.05, 0.1):
        result = gate(qrels, after, ["Success@5>=0.6"], baseline={key: ["a"] for key in qrels}, max_drop=margin)
        assert (result.checks[1].verdict, result.exit_code) == ("undecided", 3), margin
        assert "holds" not in result.checks[1].why
    hard = gate(qrels, after, baseline={key: ["a"] for key in qrels}, max_drop={"Success@5": 0.1}, hard_drop=0.25)
    assert (hard.checks[0].verdict, hard.exit_code, hard.checks[0].why) == (
        "fails",
        1,
        "the drop itself is above hard_drop 0.25",
    )


def test_undecided_without_a_drop_warns_and_never_holds():
    some = {query_id: ["x", "a"] if place % 2 else ["a", "x"] for place, query_id in enumerate(QRELS)}
    other = {query_id: ["a", "x"] if place % 2 else ["x", "a"] for place, query_id in enumerate(QRELS)}
    result = gate(QRELS, some, baseline=other, max_drop={"RR": 0.02})
    (check,) = result.checks
    assert (check.drop, check.verdict, result.exit_code, result.held) == (0.0, "undecided", 0, False)
    assert result.warnings[0].startswith("RR drop <= 0.02 is undecided: no drop is shown")
    assert "hold" not in str(result).replace("threshold", "")
    for policy, code in (("fail", 3), ("warn", 0)):
        assert gate(QRELS, some, baseline=other, max_drop={"RR": 0.02}, undecided=policy).exit_code == code
        shown = gate(QRELS, BAD, baseline=GOOD, max_drop={"RR": 0.5}, undecided=policy)
        assert (shown.verdict, shown.exit_code) == ("undecided", code)


def test_identical_rankings_hold_and_equal_values_do_not():
    few = {query_id: QRELS[query_id] for query_id in list(QRELS)[:5]}
    good = {key: ["a", "b", "c"] for key in few}
    margins = {"P@2": 0.01}
    deeper = {key: ["a", "b", "x"] for key in few}  # the same down to rank 2
    other = {key: ["b", "a", "c"] for key in few}  # of the same value
    assert (
        gate(few, deeper, baseline=good, max_drop=margins).checks[0].why == "the rankings are identical down to rank 2"
    )
    assert verdicts(gate(few, other, baseline=good, max_drop=margins)) == ["undecided"]
    assert verdicts(gate(few, deeper, baseline=good, max_drop={"AP": 0.01})) == ["undecided"]  # which reads on
    # of a group, its own rankings count
    partly = {**good, "q0": ["b", "a", "c"]}
    result = gate(few, partly, baseline=good, max_drop=margins, segments="q(.)")
    assert verdicts(result) == ["undecided"] * 2 + ["holds"] * 4
    scores = {query_id: {"b": 2.0, "c": 1.0, "a": 3.0} for query_id in few}
    assert gate(few, scores, baseline=good, max_drop={"AP": 0.01}).checks[0].why == "the rankings are identical"


def test_several_runs_of_a_system_are_averaged_and_their_spread_is_in_every_bound():
    stats = pytest.importorskip("scipy.stats")
    qrels = {str(place): {"a": 1} for place in range(100)}
    good = {key: ["a"] for key in qrels}
    runs = [{key: ["b"] if int(key) < lost else ["a"] for key in qrels} for lost in (2, 6)]  # 0.98 and 0.94
    result = gate(qrels, runs, ["Success@1>=0.955"], baseline=good, max_drop={"Success@1": 0.2}, confident=True)
    value, drop = result.checks
    assert (value.value, drop.value, drop.baseline) == pytest.approx((0.96, 0.96, 1.0))
    assert drop.repeats["run"] == pytest.approx((2, 0.04 / math.sqrt(2), 0.94, 0.98))
    assert drop.to_dict()["repeats"]["run"]["runs"] == 2
    # k = 2 adds 1, 1, -1, -1 to two differences of 1 and four of 1/2; the two runs add 0.04**2 / 2 / 2, of one degree
    mean, extra = 4 / 104, 0.04**2 / 4
    of_queries = (2 + 1 + 4 - 104 * mean**2) / (104 * 103)
    variance = of_queries + extra
    freedom = variance**2 / (of_queries**2 / 103 + extra**2 / 1)
    assert drop.bound == pytest.approx(mean + stats.t.ppf(0.95, freedom) * math.sqrt(variance))
    alone = gate(qrels, runs[0], baseline=good, max_drop={"Success@1": 0.2}).checks[0]
    assert drop.bound > alone.bound
    assert drop.p_no_drop == pytest.approx(
        stats.t.sf(0.04 / math.sqrt(extra + (3 - 0.16) / 9900), _freedom((3 - 0.16) / 9900, 99, extra))
    )
    assert value.verdict == "undecided"  # its interval allows for the spread, too
    assert "run: the mean of 2 runs, Success@1 from 0.9400 to 0.9800 (standard deviation 0.0283)" in str(result)
    # with a margin that the spread of two runs alone is above, more queries are no help
    asked = gate(qrels, runs, baseline=good, max_drop={"Success@1": 0.05}).checks[0]
    assert (asked.verdict, asked.queries_needed) == ("undecided", None)
    assert asked.why.endswith("the runs of a system are so far apart that only more of them decide it")


def _freedom(variance, freedom, extra):
    return (variance + extra) ** 2 / (variance**2 / freedom + extra**2)


def test_several_runs_of_the_baseline_and_identical_ones():
    runs = [GOOD, BAD]
    result = gate(QRELS, [BAD, GOOD], baseline=runs, max_drop={"RR": 0.01})
    assert [(check.verdict, check.why) for check in result.checks] == [("holds", "the rankings are identical")]
    assert set(result.checks[0].repeats) == {"run", "baseline"}
    assert verdicts(gate(QRELS, [GOOD, GOOD], baseline=GOOD, max_drop={"RR": 0.01})) == ["holds"]
    other = gate(QRELS, [BAD, GOOD, GOOD], baseline=runs, max_drop={"RR": 0.01}).checks[0]
    assert (other.verdict, other.value) == ("undecided", pytest.approx(5 / 6))
    assert gate(QRELS, [GOOD], ["RR>=1"]).checks[0].repeats is None
    with pytest.raises(ParamError, match="several are given"):
        gate(QRELS, runs, ["RR>=0.1"], human={"q1": {"a": 1}})


def test_it_is_said_beforehand_what_cannot_hold():
    said = []
    gate(QRELS, CHANCE, baseline=GOOD, max_drop={"RR": 0.05}, tell=said.append)
    assert said[0].startswith("40 queries cannot show that a drop is below 0.05")
    assert "64 are needed" in said[0]
    said.clear()
    gate(QRELS, CHANCE, baseline=GOOD, max_drop={"RR": 0.1}, tell=said.append)  # 31 are enough
    assert said == []
    gate(QRELS, CHANCE, baseline=GOOD, max_drop={"RR": 0.1}, cluster="q(.)", tell=said.append)
    assert said[0].startswith("10 clusters cannot show")


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.2])
def test_so_many_queries_as_are_said_decide_a_margin(margin):
    spread = [0.2, -0.2] * 100
    num = queries_needed(inference.units(spread), margin, inference.DIFFERENCE, 0.05)
    assert num >= ((1.6449 + 0.8416) * 0.2 / margin) ** 2

    def smallest(size):
        return inference.drop(inference.units((spread * 10)[:size]), margin).smallest_margin

    assert smallest(num + 2) <= margin < smallest(num - 8)


def test_a_margin_per_measure_and_holm_over_all():
    result = gate(QRELS, BAD, ["P@1>=0"], baseline=GOOD, max_drop={"RR": 0.3, "P@1": 0.9, "P@2": 0.1})
    assert [check.what for check in result.checks[1:]] == ["P@1 drop <= 0.9", "RR drop <= 0.3", "P@2 drop <= 0.1"]
    p_values = sorted((check.p, check.p_adjusted) for check in result.checks[1:])
    assert p_values[0][1] == pytest.approx(3 * p_values[0][0])
    assert p_values[1][1] == pytest.approx(max(2 * p_values[1][0], p_values[0][1]))
    plain = gate(QRELS, BAD, baseline=GOOD, max_drop={"RR": 0.3, "P@2": 0.1}, correction="none").checks
    assert all(check.p == check.p_adjusted for check in plain)


def test_a_measure_that_is_to_be_low_may_drop():
    fewer = dict.fromkeys(QRELS, ("a",))  # nothing unjudged any more
    result = gate(QRELS, fewer, ["Unjudged@2<=0.2", "RR>=0.9"], baseline=GOOD, max_drop=0.1)
    assert [check.what for check in result.checks] == ["Unjudged@2 <= 0.2", "RR >= 0.9", "RR drop <= 0.1"]
    assert "Unjudged@2: to be low, so no drop is asked of it" in result.notes
    with pytest.raises(ParamError, match="no measure is compared with the baseline"):
        gate(QRELS, fewer, ["Unjudged@2<=0.2"], baseline=GOOD, max_drop=0.1)
    named = gate(QRELS, fewer, ["Unjudged@2<=0.2"], baseline=GOOD, max_drop={"Unjudged@2": 0.1})
    assert verdicts(named) == ["holds", "fails"]  # from 1/2 to 0, as asked


def test_clusters_are_the_units():
    qrels = {f"{talk}_{turn}": {"a": 1} for talk in range(30) for turn in range(5)}
    rng = random.Random(3)
    fallen = {talk for talk in range(30) if rng.random() < 0.5}
    after = {q: ["b", "a"] if int(q.partition("_")[0]) in fallen else ["a", "b"] for q in qrels}
    options = {"baseline": {key: ["a", "b"] for key in qrels}, "max_drop": {"RR": 0.02}}
    alone, together = gate(qrels, after, **options), gate(qrels, after, cluster="conversation", **options)
    assert (alone.checks[0].units, together.checks[0].units, together.checks[0].n) == (150, 30, 150)
    # whole conversations fall together: five times as many queries say no more, so the error is sqrt(5) of the other
    width = [check.interval[1] - check.interval[0] for check in (alone.checks[0], together.checks[0])]
    assert width[1] / width[0] == pytest.approx(math.sqrt(5), rel=0.1)
    assert any("--cluster conversation" in note for note in alone.notes)
    assert (alone.exit_code, together.checks[0].p > alone.checks[0].p) == (1, True)


def test_the_same_verdict_whatever_the_order():
    rng = random.Random(5)
    before = {q: rng.sample(["a", "b", "c"], 3) for q in QRELS}
    after = {q: rng.sample(["a", "b", "c"], 3) for q in QRELS}
    options = {"max_drop": {"RR": 0.1, "AP": 0.2}, "segments": "q(.)", "cluster": "q.(.?)"}
    first = gate(QRELS, after, baseline=before, **options).to_dict()
    mixed = [dict(rng.sample(list(one.items()), len(one))) for one in (QRELS, after, before)]
    assert gate(mixed[0], mixed[1], baseline=mixed[2], **options).to_dict() == first


def test_segments_ask_everything_of_each_group_and_name_the_worst():
    qrels = {f"{kind}{place}": {"a": 1} for kind in ("short-", "long-") for place in range(50)}
    after = {query_id: ["b", "a"] if query_id.startswith("long") else ["a", "b"] for query_id in qrels}
    result = gate(
        qrels, after, ["RR>=0.7"], baseline={key: ["a", "b"] for key in qrels}, max_drop=0.3, segments="^[a-z]+"
    )
    assert [(check.what, check.verdict) for check in result.checks] == [
        ("RR >= 0.7", "holds"),  # (1 + 1/2) / 2
        ("RR >= 0.7 [long]", "fails"),
        ("RR >= 0.7 [short]", "holds"),
        ("RR drop <= 0.3", "holds"),  # 1/4 on average
        ("RR drop <= 0.3 [long]", "fails"),
        ("RR drop <= 0.3 [short]", "holds"),
    ]
    assert "worst segment of RR >= 0.7: long, 0.5000 (50 queries; fails)" in result.notes
    assert "worst segment of RR drop: long, a drop of 0.5000 (50 queries; fails)" in result.notes


def test_confidence_asks_the_near_end_of_the_interval():
    # Success@1 of 36 of 40 queries: 0.9, its interval by the formula with one 0 and one 1 added: 37 of 42
    run = {query_id: ["b"] if place < 4 else ["a"] for place, query_id in enumerate(QRELS)}
    error = math.sqrt(37 / 42 * 5 / 42 / 41)
    low, high = 37 / 42 - 2.0195 * error, min(1, 37 / 42 + 2.0195 * error)
    conditions = [f"Success@1>={low - 0.01}", f"Success@1>={low + 0.01}", "Success@1>=0.91", "Success@1>=0.999"]
    result = gate(QRELS, run, conditions, confident=True)
    assert result.checks[0].interval == pytest.approx((low, high), abs=1e-4)
    assert verdicts(result) == ["holds", "undecided", "undecided", "fails"]
    assert [check.exit_code for check in result.checks] == [0, 3, 3, 1]
    assert held(gate(QRELS, run, conditions)) == [True, True, False, False]


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
        gate(QRELS, GOOD, baseline=BAD, max_drop=0.1)
    with pytest.raises(ParamError, match=r"a baseline needs a margin.*max_drop=0\.02"):
        gate(QRELS, GOOD, ["RR>0"], baseline=BAD)
    for wrong in (
        {"max_drop": -1},
        {"max_drop": {"RR": -1}},
        {"max_drop": 0.1, "hard_drop": 0.05},
        {"max_drop": True},
        {"max_drop": {}},
        {"max_drop": "1"},
    ):
        with pytest.raises(ParamError, match="_drop"):
            gate(QRELS, GOOD, ["RR>0"], baseline=BAD, **wrong)
    for wrong in ({"alpha": 0.7}, {"undecided": "pass"}, {"correction": "tukey"}):
        with pytest.raises(ParamError, match="is not allowed"):
            gate(QRELS, GOOD, ["RR>0"], baseline=BAD, max_drop=0.1, **wrong)
    with pytest.raises(ParamError, match="RR and recip_rank are one measure, with two margins"):
        gate(QRELS, GOOD, baseline=BAD, max_drop={"RR": 0.1, "recip_rank": 0.2})
    with pytest.raises(InputError, match="needs a baseline that permed-measures gate --accept wrote"):
        gate(QRELS, GOOD, baseline=BAD, max_drop={"RR": 0.1}, max_drop_since_anchor=0.2)
    with pytest.raises(ParamError, match="NumRet is no mean over queries"):
        gate(QRELS, GOOD, ["NumRet>0"], baseline=BAD, max_drop=0.1)
    assert held(gate(QRELS, GOOD, ["NumRet>0"], baseline=GOOD, max_drop={"RR": 0.1})) == [True, True]
    assert load_profile("hybrid").targets == ()


@pytest.mark.parametrize(("name", "value"), [("test", "t"), ("seed", 0)])
def test_what_was_removed_says_why(name, value):
    with pytest.raises(ParamError, match=f"gate\\(\\) has no {name}= any more"):
        gate(QRELS, GOOD, ["RR>0"], **{name: value})


def test_queries_that_are_not_compared_are_counted():
    run = {query_id: GOOD[query_id] for query_id in list(GOOD)[:30]}
    result = gate(QRELS, run, baseline=GOOD, max_drop={"RR": 0.1}, queries="both")
    assert result.checks[0].n == 30
    assert "RR: 10 queries of the baseline not compared: the run does not have them" in result.notes


def test_an_empty_arm_is_no_pass():
    strangers = {"Q0": ["a"], "Q1": ["a"]}
    for conditions, baseline in (["RR>=0"], None), (["RR<=0.5"], None), (["RR>=0"], GOOD):
        margin = None if baseline is None else 0.1
        with pytest.raises(InputError, match="no query is in both the qrels and the run"):
            gate(QRELS, strangers, conditions, baseline=baseline, max_drop=margin)
    with pytest.raises(InputError, match="no query is in both the qrels and the run, which is empty: every value is 0"):
        gate(QRELS, {}, ["RR<=0.5"])
    with pytest.raises(InputError, match="baseline: no query is in both"):
        gate(QRELS, GOOD, ["RR>=0"], baseline=strangers, max_drop=0.1)
    with pytest.raises(InputError, match="RR: no query is in both the run and the baseline"):
        gate(QRELS, {"q1": ["a"]}, ["RR>=0"], baseline={"q2": ["a"]}, max_drop=0.1, queries="both")


def test_a_drop_needs_a_baseline():
    for name in ("max_drop", "hard_drop", "max_drop_since_anchor"):
        with pytest.raises(ParamError, match=f"{name}=0.001 is about a drop against a baseline, and none is given"):
            gate(QRELS, GOOD, ["RR>0"], **{name: 0.001})


def test_a_figure_without_figures_is_not_taken_for_a_measure():
    with pytest.raises(ParamError, match=r"'p95_ms' is a serving figure, .* --serving FILE"):
        gate(QRELS, GOOD, ["RR>0", "p95_ms<=300"], allow_skipped=True)  # it was asked for: nothing to skip


def test_serving_files(tmp_path):
    path = tmp_path / "serving.json"
    path.write_text(json.dumps({"p95_ms": 310}))
    assert read_serving(path) == {"p95_ms": 310}
    wrong = (("[1]", "one JSON object"), ("{", "not JSON"), ("\xff", "serving.json"))
    for content, message in (*wrong, ('{"p95_ms": 900, "p95_ms": 300}', "'p95_ms' .* twice")):
        path.write_text(content, encoding="latin-1")
        with pytest.raises(InputError, match=message):
            read_serving(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_serving(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("found", "said", "code"),
    [
        (["holds"], "1 check, it holds", 0),
        (["holds"] * 2, "2 checks, all hold", 0),
        (["fails"], "1 check, 1 FAILS", 1),
        (["holds", "fails", "fails", "undecided"], "4 checks, 1 holds, 2 FAIL, 1 UNDECIDED", 1),
        (["holds", "skipped", "skipped"], "3 checks, 1 holds, 2 skipped", 0),
        (["holds", "undecided"], "2 checks, 1 holds, 1 UNDECIDED", 3),
    ],
)
def test_the_summary_counts(found, said, code):
    rules = Rules(undecided="fail")
    checks = [Check("value", Condition("P@1", ">=", 0.5), v, exit_code=rules.code(v, loud=False)) for v in found]
    assert Gate("bm25", tuple(checks)).summary == f"bm25: {said} (exit code {code})"


def test_only_skipped_checks_do_not_hold():
    gate_ = Gate("bm25", (Check("figure", Condition("p95_ms", "<", 1), "skipped"),))
    assert (gate_.verdict, gate_.held) == ("undecided", False)
    assert Gate("bm25", ()).exit_code == 3


def test_junit_counts_and_says_why():
    suites = ET.fromstring(junit(gate(QRELS, GOOD, profile=TARGETS, allow_skipped=True)))  # noqa: S314  (our own output)
    suite = suites.find("testsuite")
    assert suites.tag == "testsuites"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "0", "2"]
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases][:2] == ["NDCG@10 > 0.8", "MRR > 0.8"]
    assert cases[2].find("failure").get("message") == "P@5 > 0.8: fails, off by 0.6"
    assert {p.get("name"): p.get("value") for p in cases[2].iter("property")}["value"] == repr(1 / 5)
    assert cases[3].find("skipped") is not None
    assert all(case.find("failure") is None for case in cases if case is not cases[2])


def test_junit_of_undecided_and_of_errors():
    for margin, code, counts in ((0.5, 3, ["1", "0"]), (0.02, 0, ["0", "1"])):
        run = BAD if code else dict(zip(QRELS, (("a", "x"), ("x", "a")) * 20, strict=True))
        old = GOOD if code else dict(zip(QRELS, (("x", "a"), ("a", "x")) * 20, strict=True))
        result = gate(QRELS, run, baseline=old, max_drop={"RR": margin})
        suite = ET.fromstring(junit(result)).find("testsuite")  # noqa: S314  (our own output)
        assert (result.exit_code, [suite.get(name) for name in ("failures", "skipped")]) == (code, counts)
    suite = ET.fromstring(junit_error("bm25", "no such file")).find("testsuite")  # noqa: S314  (our own output)
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    assert suite.find("testcase/error").get("message") == "no such file"


def test_junit_holds_any_character():
    odd = "a\x00b<c>&\"'\ud800\x1b中"
    condition = Condition(odd, "<=", 1)
    checks = Check("value", condition, "fails", odd, value=2, exit_code=1), Check("value", condition, "skipped", odd)
    suites = ET.fromstring(junit(Gate(odd, checks)).encode())  # noqa: S314  (our own output)
    assert suites.find("testsuite").get("name") == "gate a\ufffdb<c>&\"'\ufffd\ufffd中"
