"""Throughput: simulated servers with known service times; nothing here depends on how fast the machine is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from permed_measures.errors import ParamError
from permed_measures.serving import Failed, Failures, Latency, ServingSummary, measure_throughput
from permed_measures.serving.summary import is_figure
from permed_measures.serving.throughput import LoadPlan


class Simulation:
    """A clock, a sleep and a server whose service takes the time it is told; for one worker."""

    def __init__(self, service_s):
        self.now = 0.0
        self.service_s = service_s
        self.served = 0
        self.slept = 0.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept += seconds
        self.now += seconds

    def serve(self, _):
        service = self.service_s(self.served) if callable(self.service_s) else self.service_s
        self.served += 1
        self.now += service

    def measure(self, **options):
        return measure_throughput(self.serve, ["x"], clock=self.clock, sleep=self.sleep, **options)[1]


def test_a_closed_loop_tells_the_capacity():
    load = Simulation(0.125).measure(duration_s=10)
    assert load.latency.answered == 80  # 10 s / 0.125 s
    assert load.qps == 8.0
    assert load.latency.p99_ms == 125.0
    assert load.elapsed_s == 10.0


def test_the_last_call_is_waited_for():
    load = Simulation(0.75).measure(duration_s=1)  # begins at 0 and 0.75, ends at 1.5
    assert (load.latency.answered, load.elapsed_s, load.qps) == (2, 1.5, 2 / 1.5)


def test_an_open_loop_below_capacity_has_the_service_time():
    simulation = Simulation(0.0625)
    load = simulation.measure(duration_s=4, arrival_rate=8)
    assert load.latency.samples_ms.tolist() == [62.5] * 32  # 4 s · 8 a second
    assert simulation.slept == 31 * (0.125 - 0.0625)


def test_an_open_loop_above_capacity_shows_the_queue():
    # an arrival every 0.125 s, 0.1875 s of service: the n-th call waits n · 0.0625 s
    load = Simulation(0.1875).measure(duration_s=2, arrival_rate=8)
    assert load.latency.samples_ms.tolist() == [187.5 + n * 62.5 for n in range(16)]
    assert load.elapsed_s == 16 * 0.1875
    assert load.qps == 1 / 0.1875


def test_a_stall_counts_for_every_call_that_waited_through_it():
    def stall_once(number):
        return 2.0 if number == 8 else 0.0625

    # the closed loop sees one slow call among many, the open one all that were due meanwhile
    closed = Simulation(stall_once).measure(duration_s=10)
    assert sum(closed.latency.samples_ms > 100) == 1
    opened = Simulation(stall_once).measure(duration_s=10, arrival_rate=8)
    # call 8 is due at 1 and ends at 3; each later call gains 0.0625 s on its schedule: 2000 ms, 1937.5 ms, …
    waits = [2000 - 62.5 * n for n in range(31)]
    assert opened.latency.samples_ms.tolist()[8 : 8 + 31] == waits
    assert opened.latency.p95_ms > 1400
    assert closed.latency.p95_ms == 62.5


def test_calls_that_are_never_started_are_failures():
    # 1 s of service, 8 arrivals a second for 2 s, and 2 s more to drain: 4 of 16 begin
    load = Simulation(1.0).measure(duration_s=2, arrival_rate=8)
    assert load.latency.answered == 4
    failure = load.latency.failures.by_kind["NotStarted"]
    assert failure.count == 12
    assert "in the queue after 4 s" in failure.first_message
    assert Simulation(1.0).measure(duration_s=2, arrival_rate=8, drain_s=0).latency.answered == 2


@pytest.mark.parametrize("options", [{}, {"arrival_rate": 1000.0}])
def test_the_number_of_calls_is_bounded(options):
    load = Simulation(0.001).measure(duration_s=100, max_calls=7, **options)
    assert load.latency.calls == 7


def test_n_threads_call_at_the_same_time():
    together = threading.Barrier(4)
    loads = measure_throughput(lambda _: together.wait(30), [0], threads=4, max_calls=8)
    assert loads[4].latency.answered == 8
    assert loads[4].latency.failures.total == 0


def test_async_calls_run_at_the_same_time_on_one_loop():
    waiting = []

    async def together(_):
        mine = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        if len(waiting) == 3:
            for future in waiting:
                future.set_result(None)
            waiting.clear()
        await mine

    load = measure_throughput(together, [0], threads=3, max_calls=6)[3]
    assert load.latency.answered == 6


def test_every_number_of_threads_is_measured_and_inputs_go_round():
    seen = []
    loads = measure_throughput(seen.append, ["a", "b"], threads=(1, 4), max_calls=5, size=len)
    assert list(loads) == [1, 4]
    assert seen[:5] == ["a", "b", "a", "b", "a"]
    assert loads[1].latency.sizes == (1, 1, 1, 1, 1)
    assert loads[4].to_dict()["threads"] == 4


def test_failures_are_counted():
    def fails(value):
        if value == "bad":
            msg = "no"
            raise OSError(msg)

    load = measure_throughput(fails, ["good", "bad"], max_calls=10)[1]
    assert load.latency.answered == 5
    assert load.latency.failures.by_kind["OSError"].count == 5


def test_nothing_answered_gives_no_rate_of_answers():
    def fails(_):
        raise OSError

    assert measure_throughput(fails, [1], max_calls=3)[1].qps == 0


def test_a_call_that_hangs_is_given_up():
    release = threading.Event()
    load = measure_throughput(lambda _: release.wait(60), [0], max_calls=1, duration_s=0.1, timeout_s=0.9)[1]
    release.set()
    assert load.latency.answered == 0
    assert load.latency.failures.by_kind["NotFinished"].count == 1
    assert load.latency.p50_ms == pytest.approx(900, abs=500)
    assert "p50_ms" in load.latency.bounds  # given up after 0.9 s: it took at least as long
    assert load.qps == 0


def test_an_async_call_that_hangs_is_given_up():
    async def hangs(_):
        await asyncio.Event().wait()

    load = measure_throughput(hangs, [0], max_calls=1, duration_s=0.1, timeout_s=0.9)[1]
    assert load.latency.failures.by_kind["NotFinished"].count == 1
    assert load.to_dict()["qps"] == 0
    assert "p95_ms" not in load.to_dict()
    assert load.to_dict()["p95_ms_at_least"] == pytest.approx(900, abs=500)


def test_a_call_that_hangs_does_not_keep_the_program_alive():
    code = (
        "import threading\n"
        "from permed_measures.serving import measure_throughput\n"
        "load = measure_throughput(lambda _: threading.Event().wait(), [0], max_calls=1, duration_s=.1, timeout_s=.1)\n"
        "print(load[1].latency.failures)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "NotFinished" in ended.stdout
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads=0 is not allowed; give an int >= 1"),
        ({"threads": ()}, "threads=0 is not allowed"),
        ({"threads": (1, 2.5)}, "threads=2.5"),
        ({"duration_s": 0}, "duration_s=0 is not allowed; give a number > 0"),
        ({"duration_s": float("nan")}, "duration_s=nan"),
        ({"arrival_rate": -1}, "arrival_rate=-1"),
        ({"drain_s": -1}, "drain_s=-1 is not allowed; give a number >= 0"),
        ({"max_calls": 0}, "max_calls=0"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ParamError, match=message):
        measure_throughput(len, ["a"], **options)


def test_no_inputs():
    with pytest.raises(ParamError, match="no inputs"):
        measure_throughput(len, [])


def test_what_is_censored_makes_percentiles_lower_bounds():
    # 1 s of service, 8 arrivals a second for 2 s, 2 s more to drain: calls 0 to 3 end at 1, 2, 3, 4, due at n / 8
    load = Simulation(1.0).measure(duration_s=2, arrival_rate=8)
    assert load.latency.samples_ms.tolist() == [1000.0, 1875.0, 2750.0, 3625.0]
    # the others waited from n / 8 to 4
    assert sorted(load.latency.waits_ms) == sorted((4 - n / 8) * 1000 for n in range(4, 16))
    assert load.latency.bounds == {"p50_ms", "p95_ms", "p99_ms", "mean_ms", "max_ms"}
    figures = load.to_dict()
    assert figures["p95_ms_at_least"] == load.latency.p95_ms > 3000
    assert (figures["offered_qps"], figures["qps"]) == (8, 1)
    assert (figures["failures"], figures["failure_share"], figures["censored"]) == (12, 0.75, 12)
    assert load.latency.p95_interval_ms is None


def test_a_percentile_below_what_is_censored_is_exact():
    # 19 calls of 62.5 ms and one stall of 10 s at the end, given up on: P50 is known, P99 is not
    late = [Failed("NotFinished", "no answer", wait_ms=900.0)]
    latency = Latency.of([62.5] * 99, failures=Failures(tuple(late)))
    assert latency.bounds == {"mean_ms", "max_ms", "p99_ms"}
    assert {"p50_ms", "p95_ms", "p99_ms_at_least", "max_ms_at_least"} <= latency.to_dict().keys()
    assert "std_ms" not in latency.to_dict()


def test_rates_give_latency_against_load():
    simulation = Simulation(0.125)
    loads = measure_throughput(
        simulation.serve, ["x"], clock=simulation.clock, sleep=simulation.sleep, duration_s=4, arrival_rate=[4, 8, 16]
    )
    assert list(loads) == [(1, 4), (1, 8), (1, 16)]
    assert [load.offered_qps for load in loads.values()] == [4, 8, 16]
    assert [round(load.qps) for load in loads.values()] == [4, 8, 8]
    assert [load.latency.p50_ms for load in loads.values()][:2] == [125, 125]
    assert loads[1, 16].latency.p50_ms > 1000


def test_poisson_arrivals():
    simulation = Simulation(0.0)
    loads = measure_throughput(
        simulation.serve,
        ["x"],
        clock=simulation.clock,
        sleep=simulation.sleep,
        duration_s=1000,
        arrival_rate=5,
        arrivals="poisson",
    )
    count = loads[1].latency.calls
    assert count == pytest.approx(5000, abs=4 * 5000**0.5)  # a Poisson count, within four standard deviations
    assert loads[1].offered_qps == count / 1000
    gaps = [late - early for early, late in pairwise(LoadPlan(1, 1000, 5, "poisson").due_s(seed=0))]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert spread / mean == pytest.approx(1, abs=0.1)  # that of the exponential distribution
    assert LoadPlan(1, 9, 5, "poisson").due_s(seed=1) == LoadPlan(1, 9, 5, "poisson").due_s(seed=1)
    with pytest.raises(ParamError, match="arrivals='random' is not allowed"):
        LoadPlan(1, 1, 5, "random")


def test_answers_by_a_rich_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    measure_throughput(len, ["a"], duration_s=1.5, progress=True)
    shown = capsys.readouterr().err
    assert "/s, P95" in shown
    assert "left" in shown


def test_the_flat_figures_of_a_load_name_its_lower_bounds_last():
    load = Simulation(1.0).measure(duration_s=2, arrival_rate=8)
    figures = ServingSummary(Latency.of([1.0]), loads={1: load, (2, 12.5): load}).to_dict()
    assert figures["p95_ms_1_threads_at_least"] == figures["p95_ms_2_threads_at_12.5_per_s_at_least"] > 3000
    assert "p95_ms_1_threads" not in figures
    assert (figures["offered_qps_1_threads"], figures["qps_1_threads"], figures["failures_1_threads"]) == (8, 1, 12)
    assert figures["failure_share"] == figures["failure_share_2_threads_at_12.5_per_s"] == 0.75
    assert all(map(is_figure, figures))
