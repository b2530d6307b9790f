"""Serving against queueing theory, against a server's own log, and its intervals against simulated truth.

    python benchmarks/serving.py [--runs 2000]

Each line says what was found, what theory or the server says, and whether it is within the bound that must hold. Those
in real time want a machine that is not busy with something else.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from permed_measures.inference.independent import of_percentile, of_rate, of_share
from permed_measures.serving import measure_latency, measure_throughput
from permed_measures.serving.rerank import HttpReranker
from permed_measures.serving.throughput import LoadPlan

SERVER = Path(__file__).parents[1] / "tests" / "rerank_server.py"
missed = []


def say(what: str, found: float, wanted: float, *, within: float = 0.0, share: float = 0.0) -> None:
    bound = within + share * abs(wanted)
    holds = abs(found - wanted) <= bound
    if not holds:
        missed.append(what)
    print(f"{'ok  ' if holds else 'MISS'}  {what:<62} {found:12.4f}  {wanted:12.4f}  ± {bound:.4g}", flush=True)


def lindley(due: list[float], service: list[float]) -> np.ndarray:
    """Return when each of one server's customers leaves, since it came (Lindley 1952), in ms."""
    free, sojourns = 0.0, []
    for at, needs in zip(due, service, strict=True):
        free = max(free, at) + needs
        sojourns.append((free - at) * 1000)
    return np.array(sojourns)


class Virtual:
    """A clock that only the server moves."""

    def __init__(self, service_s: float) -> None:
        self.now, self.service_s = 0.0, service_s

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def load(self, rate: float, duration_s: float, arrivals: str):
        made = measure_throughput(
            lambda _: self.wait(self.service_s),
            [0],
            arrival_rate=rate,
            duration_s=duration_s,
            drain_s=duration_s,
            arrivals=arrivals,
            clock=lambda: self.now,
            sleep=self.wait,
            timeout_s=None,
        )
        return made[1]


def queues_on_a_virtual_clock() -> None:
    for rate in (4.0, 12.0):
        found = Virtual(0.125).load(rate, 1000, "even").latency.samples_ms
        due = LoadPlan(1, 1000, rate).due_s(0)
        theory = lindley(due, [0.125] * len(due))
        say(f"D/D/1, load {rate / 8:g}: largest difference in ms", np.abs(found - theory).max(), 0, within=1e-6)
    for busy in (0.5, 0.8):
        rate, duration = busy / 0.125, 25_000
        found = Virtual(0.125).load(rate, duration, "poisson").latency.samples_ms
        due = LoadPlan(1, duration, rate, "poisson").due_s(0)
        say(
            f"M/D/1, load {busy}: against Lindley's recursion, ms",
            np.abs(found - lindley(due, [0.125] * len(due))).max(),
            0,
            within=1e-3,
        )
        theory = 125 + 125 * busy / (2 * (1 - busy))  # Pollaczek and Khinchine
        say(f"M/D/1, load {busy}: mean time in the system, ms", found.mean(), theory, share=0.03)


def with_a_server() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.json")
        server = subprocess.Popen(
            [sys.executable, str(SERVER), "20", str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            with HttpReranker(server.stdout.readline().strip()) as reranker:
                latency = measure_latency(lambda n: reranker(f"query {n}", ["text 1", "text 2"]), range(300), warmup=0)
        finally:
            server.communicate("")
        served = np.array([(end - start) * 1000 for start, end, _ in json.loads(log.read_text())])
    say("calls, against the server's log", latency.answered, len(served))
    for percent in (50, 95, 99):
        say(
            f"P{percent} in ms, against the server's own log",
            latency.percentile(percent),
            np.percentile(served, percent),
            within=2,
        )


def in_real_time() -> None:
    took = []

    def serve(_: int) -> None:
        begun = time.perf_counter()
        time.sleep(0.025)
        took.append(time.perf_counter() - begun)

    found = measure_throughput(serve, [0], arrival_rate=50, duration_s=3)[1].latency
    due, service = LoadPlan(1, 3, 50).due_s(0), float(np.mean(took))
    theory = lindley(due, [service] * len(due))
    for percent in (50, 95):
        what = f"D/D/1 in real time, load {50 * service:.2f}: P{percent} in ms"
        say(what, found.percentile(percent), np.percentile(theory, percent), share=0.1)
    calls = iter(range(10**6))
    stalled = measure_throughput(
        lambda _: time.sleep(1.0 if next(calls) == 50 else 0.005), [0], arrival_rate=50, duration_s=5
    )[1].latency
    due = LoadPlan(1, 5, 50).due_s(0)
    theory = lindley(due, [1.0 if n == 50 else 0.0055 for n in range(len(due))])
    say(
        "a stall of 1 s, 50 arrivals/s: calls above 100 ms", sum(stalled.samples_ms > 100), sum(theory > 100), share=0.1
    )
    say("a stall of 1 s: P95 in ms", stalled.p95_ms, np.percentile(theory, 95), share=0.1)


def coverage(runs: int) -> None:
    """Count how often 95% intervals cover the true difference: at .93, less three errors of the simulation."""
    draw = np.random.default_rng(7)
    room = 0.02 + 3 * math.sqrt(0.95 * 0.05 / runs)
    for percent, counts in ((50, (50, 400)), (95, (200, 2000)), (99, (1000, 1500))):
        covered = 0
        for _ in range(runs):
            old, new = (np.sort(draw.lognormal(mean, 0.6, n)) for mean, n in ((4.0, counts[0]), (4.3, counts[1])))
            change = of_percentile(new, percent).minus(of_percentile(old, percent))
            z = {50: 0.0, 95: 1.6448536, 99: 2.3263479}[percent]
            covered += change.low <= math.exp(4.3 + 0.6 * z) - math.exp(4.0 + 0.6 * z) <= change.high
        at_least(f"P{percent} difference, {counts[0]} and {counts[1]} requests", covered / runs, room)
    shares = [(of_share(draw.binomial(2000, 0.01), 2000), of_share(draw.binomial(500, 0.04), 500)) for _ in range(runs)]
    at_least(
        "failure share difference, 1% and 4%",
        np.mean([(c := b.minus(a)).low <= 0.03 <= c.high for a, b in shares]),
        room,
    )
    rates = [(of_rate(draw.poisson(400), 100.0), of_rate(draw.poisson(90), 20.0)) for _ in range(runs)]
    at_least(
        "rate difference, 4/s and 4.5/s", np.mean([(c := b.minus(a)).low <= 0.5 <= c.high for a, b in rates]), room
    )


def at_least(what: str, covered: float, room: float) -> None:
    say(f"95% interval covers it: {what}", covered, max(0.95, covered), within=room)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    print(f"      {'':<62} {'found':>12}  {'wanted':>12}")
    queues_on_a_virtual_clock()
    with_a_server()
    in_real_time()
    coverage(parser.parse_args().runs)
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
