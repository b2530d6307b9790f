"""Latency: the statistics against numpy's, the calls on a clock that the test moves."""

from __future__ import annotations

import asyncio
import functools
import math
import sys

import numpy as np
import pytest
from pytest import approx  # noqa: PT013  (reads well in sums)

from permed_measures.errors import ParamError
from permed_measures.serving import Failed, Failures, Latency, measure_latency, percentile_interval


class Time:
    """A clock that stands still unless it is moved."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += seconds


SAMPLES = np.random.default_rng(7).lognormal(4, 0.6, 997)


def test_statistics_are_numpys():
    latency = Latency.of(SAMPLES)
    assert latency.p50_ms == np.percentile(SAMPLES, 50)
    assert latency.p95_ms == np.percentile(SAMPLES, 95)
    assert latency.p99_ms == np.percentile(SAMPLES, 99)
    assert latency.mean_ms == np.mean(SAMPLES)
    assert latency.std_ms == np.std(SAMPLES)
    assert (latency.min_ms, latency.max_ms) == (SAMPLES.min(), SAMPLES.max())
    assert all(type(value) in (int, float) for value in latency.to_dict().values())


def test_percentiles_are_interpolated():
    # 1 to 20: P95 stands at 0.95 · 19 = 18.05 places above the first, P99 at 18.81
    latency = Latency.of(range(1, 21))
    assert latency.p95_ms == approx(19 + 0.05)
    assert latency.p99_ms == approx(19 + 0.81)
    assert latency.p50_ms == 10.5


def test_without_an_answer_there_is_no_number():
    latency = Latency.of([], failures=Failures((Failed("OSError", "gone"),) * 3))
    assert math.isnan(latency.p95_ms)
    assert math.isnan(latency.mean_ms)
    assert latency.p95_interval_ms is None
    assert latency.to_dict() == {"calls": 3, "failures": 3, "failure_share": 1.0}


@pytest.mark.parametrize("samples", [[math.nan], [-1.0], [math.inf]])
def test_impossible_latencies_are_refused(samples):
    with pytest.raises(ParamError, match="finite number >= 0"):
        Latency.of(samples)


def resampled_interval(samples, percent, seed):
    """Draw whole resamples: the bootstrap as everybody writes it."""
    generator = np.random.default_rng(seed)
    drawn = generator.choice(samples, size=(20_000, len(samples)))
    return np.percentile(np.percentile(drawn, percent, axis=1), [2.5, 97.5])


@pytest.mark.parametrize(("count", "percent"), [(2, 50), (5, 95), (40, 95), (300, 95), (300, 99), (41, 50)])
def test_the_interval_is_the_bootstraps(count, percent):
    samples = SAMPLES[:count]
    low, high = percentile_interval(samples, percent, resamples=200_000)
    plain_low, plain_high = resampled_interval(samples, percent, 3)
    # two simulations of one distribution: their ends differ by chance, far less than the interval is wide
    room = 0.05 * (plain_high - plain_low)
    assert low == approx(plain_low, abs=room)
    assert high == approx(plain_high, abs=room)


def test_the_interval_depends_on_the_seed_only():
    assert Latency.of(SAMPLES, seed=1).p95_interval_ms == Latency.of(SAMPLES, seed=1).p95_interval_ms
    assert Latency.of(SAMPLES, seed=1).p95_interval_ms != Latency.of(SAMPLES, seed=2).p95_interval_ms
    assert percentile_interval(np.array([5.0]), 95) is None
    assert percentile_interval(np.array([5.0, 5.0]), 95) == (5.0, 5.0)


def test_by_size():
    latency = Latency.of([1, 3, 10, 30, 100], sizes=[20, 1, 21, 100, 201])
    groups = {name: group.samples_ms.tolist() for name, group in latency.by_size().items()}
    assert groups == {"1 to 20": [1, 3], "21 to 50": [10], "51 to 100": [30], "over 200": [100]}
    assert Latency.of([1, 2]).by_size() == {}
    assert list(Latency.of([1, 2], sizes=[None, 7]).by_size((10,))) == ["1 to 10"]
    with pytest.raises(ParamError, match="2 samples, but 1 sizes"):
        Latency.of([1, 2], sizes=[3])


def test_calls_are_timed_on_the_given_clock():
    clock = Time()
    latency = measure_latency(lambda ms: clock.move(ms / 1000), [10, 30], repeats=3, clock=clock, size=lambda ms: ms)
    assert latency.samples_ms == approx([10, 30, 10, 30, 10, 30])
    assert latency.sizes == (10, 30, 10, 30, 10, 30)
    assert latency.mean_ms == approx(20)


def test_warmup_calls_are_extra_and_not_counted():
    clock, calls = Time(), []

    def slow_at_first(value):
        calls.append(value)
        clock.move(9.0 if len(calls) <= 3 else 0.01)

    latency = measure_latency(slow_at_first, ["a", "b"], warmup=3, clock=clock)
    assert calls == ["a", "b", "a", "a", "b"]
    assert latency.samples_ms == approx([10, 10])


def test_failures_are_counted_by_type_and_have_no_latency():
    clock = Time()

    class OddError(Exception):
        pass

    def fails_on(value):
        clock.move(value)
        if value == 2:
            msg = "two\nis not\x1b allowed"
            raise ValueError(msg)
        if value == 3:
            raise OddError
        if value == 4:
            sys.exit("over")

    latency = measure_latency(fails_on, [1, 2, 3, 4], warmup=2, repeats=2, clock=clock)
    assert latency.samples_ms == approx([1000, 1000])
    assert (latency.calls, latency.answered, latency.failures.total) == (8, 2, 6)
    failures = {f["type"].rpartition(".")[2]: (f["count"], f["first_message"]) for f in latency.failures.to_list()}
    assert failures == {
        "ValueError": (2, "two is not\N{REPLACEMENT CHARACTER} allowed"),
        "OddError": (2, "OddError()"),
        "SystemExit": (2, "over"),
    }
    assert latency.warmup_failures.total == 1
    assert any("6 of 8 calls failed" in note for note in latency.notes)
    assert any("warm-up calls failed" in note for note in latency.notes)


def test_ctrl_c_is_no_failure_of_the_call():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_latency(interrupted, [1])


class Client:
    """An async callable that is no function."""

    def __init__(self, clock):
        self.clock = clock
        self.loops = set()

    async def __call__(self, ms):
        self.loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        self.clock.move(ms / 1000)
        if ms == 7:
            msg = "seven"
            raise LookupError(msg)
        return ms


def returns(call):
    """Make a plain function that returns what is to be awaited."""
    return lambda value: call(value)  # noqa: PLW0108  (a plain function is wanted)


def test_async_callables_of_every_kind():
    clock = Time()
    client = Client(clock)
    for call in (client, client.__call__, functools.partial(client), returns(client)):
        latency = measure_latency(call, [10, 7, 30], clock=clock, warmup=0)
        assert latency.samples_ms == approx([10, 30])
        assert latency.failures.by_kind["LookupError"].first_message == "seven"


def test_async_calls_share_one_loop_and_work_beside_a_running_one():
    client = Client(Time())

    async def notebook():
        return measure_latency(client, [1, 2, 3], repeats=2)

    assert asyncio.run(notebook()).answered == 6
    assert len(client.loops) == 1


def test_an_async_call_that_is_cancelled_or_exits_is_a_failure():
    async def cancelled(value):
        if value == 1:
            raise asyncio.CancelledError
        sys.exit("over")

    for call in (cancelled, returns(cancelled)):
        assert measure_latency(call, [1, 2], warmup=0).failures.total == 2


def test_a_generator_is_run_to_its_end():
    clock = Time()

    def lazy(value):
        for _ in range(value):
            clock.move(0.1)
            yield value

    assert measure_latency(lazy, [2, 3], clock=clock).samples_ms == approx([200, 300])


def test_arguments_are_prepared_before_the_clock_runs():
    clock = Time()

    def prepare(value):
        clock.move(50)
        return value, value

    latency = measure_latency(lambda a, b: clock.move(a + b), [1, 2], prepare=prepare, clock=clock)
    assert latency.samples_ms == approx([2000, 4000])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats=0 is not allowed; give an int >= 1"),
        ({"warmup": -1}, "warmup=-1 is not allowed"),
        ({"warmup": True}, "warmup=True is not allowed"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ParamError, match=message):
        measure_latency(len, ["a"], **options)


def test_what_cannot_be_measured():
    with pytest.raises(ParamError, match="no inputs"):
        measure_latency(len, [])
    with pytest.raises(ParamError, match="'len' cannot be called"):
        measure_latency("len", ["a"])


def test_few_calls_are_noted():
    assert "below 100" in Latency.of(range(30)).notes[0]
    assert Latency.of(range(100)).notes == []


def test_the_bar_draws_on_a_terminal_only(monkeypatch, capsys):
    pytest.importorskip("rich")
    measure_latency(len, ["a"], progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    measure_latency(len, ["a", "b"], progress=True)
    assert "calls" in capsys.readouterr().err
