"""Cost, return on investment, targets: source 5's figures, and where its table is wrong."""

from __future__ import annotations

import json
import math

import pytest
from ir_measures.measures import registry
from pytest import approx  # noqa: PT013  (reads well in sums)

from permed_measures.errors import ParamError
from permed_measures.profiles import PROFILES, Target
from permed_measures.serving import Cost, Latency, Load, ServingSummary, Targets, roi
from permed_measures.serving.summary import is_figure


@pytest.mark.parametrize(
    ("usd_per_million", "tokens_per_document", "usd_per_query", "usd_per_day"),
    [
        (0.025, 800, 0.001, 100),  # the document's table says $2.5 a day; 100,000 · $0.001 is $100
        (0.50, 1000, 0.025, 2500),
        (1.00, 1000, 0.050, 5000),
        (0, 1000, 0, 0),
    ],
)
def test_the_cost_table_of_source_5(usd_per_million, tokens_per_document, usd_per_query, usd_per_day):
    cost = Cost(usd_per_million, tokens_per_document, documents_per_query=50)
    assert cost.usd_per_query == approx(usd_per_query)
    assert cost.usd_per_day(100_000) == approx(usd_per_day)
    assert cost.usd_per_million_queries == approx(usd_per_query * 1_000_000)


def test_tokens_of_the_query_are_paid_once():
    cost = Cost(2.0, tokens_per_document=100, documents_per_query=20, tokens_per_query=30)
    assert cost.tokens == 20 * 100 + 30
    assert cost.to_dict(1000)["usd_per_day"] == approx(1000 * 2030 * 2 / 1_000_000)


def test_the_return_on_investment_of_source_5():
    result = roi(0.72, 0.87, usd_per_query=0.001, queries_per_day=100_000, revenue_per_query=0.01)
    assert result.improvement == approx(0.15 / 0.72)
    assert result.improvement * 100 == approx(20.8333, abs=5e-5)
    assert result.revenue_increase_usd_per_day == approx(208.33, abs=5e-3)
    assert result.cost_usd_per_day == approx(100)
    assert result.roi == approx((1000 * 0.15 / 0.72 - 100) / 100)
    assert result.roi * 100 == approx(108.33, abs=5e-3)


def test_a_free_reranker_has_no_return_on_cost():
    assert roi(0.5, 0.6, usd_per_query=0, queries_per_day=10, revenue_per_query=1).roi is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cost(-1, 1, 1),
        lambda: Cost(math.nan, 1, 1),
        lambda: Cost(1, math.inf, 1),
        lambda: Cost(1, "1", 1),
        lambda: Cost(1, 1, 1).usd_per_day(-1),
        lambda: roi(0, 0.5, usd_per_query=1, queries_per_day=1, revenue_per_query=1),
        lambda: roi(0.5, 0.6, usd_per_query=-1, queries_per_day=1, revenue_per_query=1),
    ],
)
def test_impossible_costs_are_refused(make):
    with pytest.raises(ParamError, match="is not allowed"):
        make()


def statuses(**numbers):
    return {v.target.name: v.status for v in Targets().check(numbers) if v.value is not None}


def test_the_targets_of_source_5():
    reached = {"NDCG@10": 0.86, "MRR": 0.91, "Recall@5": 0.70, "Precision@5": 0.95}
    assert statuses(**reached, p95_ms=450, usd_per_million_tokens=0.025) == {
        "NDCG@10": "met",
        "MRR": "excellent",
        "Recall@5": "missed",
        "Precision@5": "excellent",
        "p95_ms": "met",
        "usd_per_million_tokens": "excellent",
    }
    assert [target.name for target in Targets()] == [target.name for target in PROFILES["rerank"].targets]


def test_a_level_must_be_passed():
    # source 5 writes > 0.85 and < 500 ms
    assert statuses(**{"NDCG@10": 0.85, "p95_ms": 500}) == {"NDCG@10": "missed", "p95_ms": "missed"}
    assert statuses(**{"NDCG@10": 0.90, "p95_ms": 300}) == {"NDCG@10": "met", "p95_ms": "met"}


def test_a_missed_target_says_by_how_much():
    ndcg, *_, p95, _, _ = Targets().check({"NDCG@10": 0.80, "p95_ms": 620})
    assert ndcg.missed_by == approx(0.05)
    assert str(ndcg) == "missed by 0.05 (5.9%)"  # 0.05 / 0.85
    assert p95.missed_by == approx(120)
    assert str(p95) == "missed by 120 (24.0%)"
    exactly, *_ = Targets().check({"NDCG@10": 0.85})
    assert str(exactly) == "missed: the level itself is not enough, > 0.85"
    assert exactly.to_dict()["missed_by"] == 0


def test_what_was_not_measured_does_not_hold():
    verdict = Targets().check({"NDCG@10": math.nan})[0]
    assert (verdict.status, verdict.holds, verdict.missed_by) == ("not measured", False, None)


def test_worth_it_above_15_percent_only():
    targets = Targets()
    assert targets.worth("NDCG@10", 0.72, 0.87).holds
    assert not targets.worth("NDCG@10", 0.5, 0.575).holds  # 15% exactly
    assert targets.worth("NDCG@10", 0.5, 0.58).holds
    assert not targets.worth("NDCG@10", 0.8, 0.6).holds
    assert not targets.worth("NDCG@10", 0.0, 0.0).holds
    from_nothing = targets.worth("NDCG@10", 0.0, 0.1)
    assert from_nothing.holds
    assert from_nothing.to_dict()["improvement"] is None


def test_targets_of_ones_own():
    assert Targets([Target("qps", 10, 20)]).check({"qps": 15})[0].status == "met"
    with pytest.raises(ParamError, match="easier"):
        Targets([Target("p95_ms", 100, 200, lower_is_better=True)])
    assert Targets.of_profile("permed").check({"MRR": 1.0}) == []


def test_a_summary_is_one_flat_object_of_numbers():
    load = Load(4, 2.0, Latency.of([100] * 50))
    summary = ServingSummary(
        Latency.of([10, 20, 30]),
        cost=Cost(0.025, 800, 50),
        loads={1: Load(1, 2.0, Latency.of([50] * 20)), 4: load},
        queries_per_day=100_000,
    )
    numbers = json.loads(summary.to_json())
    assert all(type(value) in (int, float) for value in numbers.values())
    assert numbers["p50_ms"] == 20
    assert numbers["mean_ms"] == approx(20)
    assert numbers["qps"] == 25  # 50 answers in 2 s
    assert (numbers["qps_1_threads"], numbers["qps_4_threads"]) == (10, 25)
    assert numbers["p95_ms_4_threads"] == 100
    assert numbers["usd_per_million_tokens"] == 0.025
    assert numbers["usd_per_day"] == approx(100)
    assert {"p95_ms", "p99_ms", "usd_per_query"} <= set(numbers)
    assert "p95_ms" in str(summary)
    with_interval = ServingSummary(Latency.of(list(range(1, 200)))).to_dict()
    assert [name for name in {**numbers, **with_interval} if not is_figure(name)] == []
    assert not any(map(is_figure, map(str, registry)))


def test_the_gate_reads_a_summary(tmp_path):
    from permed_measures.gating import gate, read_serving

    path = tmp_path / "serving.json"
    path.write_text(ServingSummary(Latency.of([400.0] * 30), cost=Cost(0.06, 1, 1)).to_json())
    checks = gate({"q": {"a": 1}}, {"q": ["a"]}, profile="rerank", serving=read_serving(path)).checks
    held = {check.what.split()[0]: check.verdict for check in checks}
    assert held["p95_ms"] == "holds"
    assert held["usd_per_million_tokens"] == "fails"  # 0.06 is not below 0.05


def test_the_batch_target_and_the_first_stage_of_source_5():
    batch = {target.name: target for target in PROFILES["rerank-batch"].targets}
    assert batch["p95_ms"].target == 2000
    assert [v.status for v in Targets.of_profile("rerank-batch").check({"p95_ms": 1999}) if v.value] == ["met"]
    (recall, failures) = Targets.of_profile("first-stage")
    assert (recall.name, recall.target, failures.name) == ("Recall@50", 0.85, "failure_share")
    assert str(PROFILES["first-stage"].measures[0]) == "R@50"


def test_a_lower_bound_can_miss_a_target_but_never_reach_it():
    verdicts = {v.target.name: v for v in Targets().check({"p95_ms_at_least": 400.0})}
    assert (verdicts["p95_ms"].status, verdicts["p95_ms"].holds) == ("undecided", False)
    assert (
        Targets([Target("p95_ms", 300, 300, lower_is_better=True)]).check({"p95_ms_at_least": 400.0})[0].missed_by
        == 100
    )
