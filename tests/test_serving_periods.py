"""A log by hour and day, one against another, and the intervals that differences have."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from pytest import approx  # noqa: PT013  (reads well in sums)

from permed_measures.errors import InputError, ParamError
from permed_measures.inference.independent import Estimated, of_mean, of_percentile, of_rate, of_share
from permed_measures.serving import Request, RequestLog
from permed_measures.serving.periods import PeriodChange, PeriodReport

HOUR = 1_767_600_000  # 2026-01-05 08:00 UTC


def log(*requests, name="log.jsonl"):
    return RequestLog(Path(name), tuple(requests))


def test_hours():
    first = [Request(100.0 + n, HOUR + 1800 + n * 60) for n in range(11)]
    second = [Request(200.0, HOUR + 3600 + n * 600) for n in range(5)]
    failed = Request(None, HOUR + 3600 + 3000, failure=("HTTP 503", "busy"))
    report = PeriodReport.of(log(*second, failed, *first), "hour")
    eight, nine = report.periods
    assert (eight.name, nine.name) == ("2026-01-05 08:00", "2026-01-05 09:00")
    assert eight.seconds == 1800  # the log starts in the middle of it
    assert eight.to_dict()["qps"] == 11 / 1800
    assert eight.to_dict()["p50_ms"] == 105
    assert nine.to_dict()["failure_share"] == 1 / 6
    assert nine.to_dict()["offered_qps"] == 6 / 3000
    assert "HTTP 503" in str(report)
    assert report.render("html").count("<polyline") == 3
    assert [period.name for period in PeriodReport.of(log(*first, *second), "day").periods] == ["2026-01-05"]
    assert "<polyline" not in PeriodReport.of(log(*first), "day").render("html")
    assert len(json.loads(report.to_json())["periods"]) == 2


def test_periods_need_starts():
    with pytest.raises(InputError, match=r"log.jsonl: by hour: not every request has a start"):
        PeriodReport.of(log(Request(1.0)), "hour")
    with pytest.raises(ParamError, match="by='week' is not allowed"):
        PeriodReport.of(log(Request(1.0, 5.0)), "week")


def test_two_periods():
    draw = np.random.default_rng(1)
    old = [Request(float(ms), HOUR + n, tokens=100.0) for n, ms in enumerate(draw.exponential(100, 2000))]
    slower = [Request(float(ms), HOUR + n / 2, tokens=120.0) for n, ms in enumerate(draw.exponential(150, 2000))]
    broken = [Request(None, HOUR + 1000 + n / 10, failure=("OSError", "gone")) for n in range(100)]
    report = PeriodChange(log(*old), log(*slower, *broken), usd_per_million_tokens=2.0)
    verdicts = {change["name"]: change["verdict"] for change in report.changes}
    assert verdicts == dict.fromkeys(
        ("p50_ms", "p95_ms", "p99_ms", "offered_qps", "qps", "failure_share", "usd_per_query"), "higher"
    )
    cost = report.changes[-1]
    assert cost["difference"] == approx(20 * 2 / 1e6)
    same = PeriodChange(log(*old[::2]), log(*old[1::2]))
    assert {change["verdict"] for change in same.changes if change["name"].endswith("_ms")} == {"not shown"}
    assert "requests count as independent" in str(same)
    back = PeriodChange(report.new, report.old)
    assert {change["verdict"] for change in back.changes} == {"lower"}


def test_what_is_too_few_is_not_known():
    few = log(*[Request(float(n), HOUR + n) for n in range(30)])
    report = PeriodChange(few, few)
    p99 = next(change for change in report.changes if change["name"] == "p99_ms")
    assert (p99["high"], p99["low"], p99["verdict"]) == (None, None, "not shown")
    assert json.loads(report.to_json())["changes"][2]["high"] is None
    assert report.to_dict()["changes"][0]["difference"] == 0


def binomial(count, share):
    return [math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)]


@pytest.mark.parametrize(("count", "percent"), [(7, 50), (40, 50), (200, 95), (500, 99), (60, 5)])
def test_ranks_of_a_percentile_are_those_of_the_binomial_distribution(count, percent):
    found = of_percentile(range(1, count + 1), percent)  # the value is the rank
    chances = binomial(count, percent / 100)
    low = max((k for k in range(count + 1) if sum(chances[:k]) <= 0.025), default=0)
    high = min(k for k in range(1, count + 2) if sum(chances[:k]) >= 0.975)
    assert found.low == low
    assert found.high == (high if high <= count else math.inf)


def test_intervals_of_shares_rates_and_means():
    # Wilson's, for 8 of 10 with z = 1.96: 0.4902 to 0.9433 (Agresti and Coull 1998 print .490 and .943)
    _, low, high = of_share(8, 10)
    assert (low, high) == (approx(0.490, abs=5e-4), approx(0.943, abs=5e-4))
    value, low, high = of_rate(16, 4.0)
    assert value == 4
    # the ends are the rates whose z of 16 is 1.96: (16 - 4λ)² = z² · 4λ
    assert [(16 - 4 * end) ** 2 / (4 * end) for end in (low, high)] == approx([1.959964**2] * 2, rel=1e-5)
    assert of_mean([1.0, 2.0, 3.0], 10.0).value == 20
    assert of_mean([1.0]) is None
    assert of_rate(5, None) is None
    assert of_share(0, 0) is None
    assert of_percentile([], 50) is None
    assert of_percentile([1.0, 2.0, 2.0] * 20, 50, known=30).high == math.inf
    assert of_percentile(np.sort([3.0, 1.0, 2.5, 8.0]), 40).value == np.percentile([3.0, 1.0, 2.5, 8.0], 40)
    assert Estimated(1.0, 0.0, math.inf).minus(Estimated(0.0, 0.0, 0.0)).high == math.inf
