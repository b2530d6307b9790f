"""Throughput: how many calls a second, and the latency under that load, in a closed and in an open loop."""

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

from permed_measures.errors import ParamError, check_whole, did_you_mean
from permed_measures.serving.calls import NOT_STARTED, TIMEOUT_S, Caller, Clock
from permed_measures.serving.latency import Latency
from permed_measures.serving.workers import Call, Phase, Turn, Turns

T = TypeVar("T")

Arrivals = Literal["even", "poisson"]
ARRIVALS: tuple[Arrivals, ...] = get_args(Arrivals)
LoadKey = int | tuple[int, float]  # threads; or threads and arrivals a second, where several rates are measured


@dataclass(frozen=True)
class LoadPlan:
    """What a load is to be."""

    threads: int
    duration_s: float
    arrival_rate: float | None = None
    arrivals: Arrivals = "even"
    drain_s: float | None = None
    max_calls: int | None = None

    def __post_init__(self) -> None:
        check_whole("threads", self.threads)
        check_whole("max_calls", 1 if self.max_calls is None else self.max_calls)
        for name, low in (("duration_s", "> 0"), ("arrival_rate", "> 0"), ("drain_s", ">= 0")):
            number = getattr(self, name)
            if number is not None and not (0 < number < math.inf or (number == 0 and low == ">= 0")):
                raise ParamError(f"{name}={number!r} is not allowed; give a number {low}")
        if self.arrivals not in ARRIVALS:
            raise ParamError(f"arrivals={self.arrivals!r} is not allowed.{did_you_mean(str(self.arrivals), ARRIVALS)}")

    def due_s(self, seed: int) -> list[float] | None:
        """Return when each call arrives, since the start; None in a closed loop."""
        if self.arrival_rate is None:
            return None
        if self.arrivals == "even":
            count = max(1, math.ceil(self.duration_s * self.arrival_rate))
            return [number / self.arrival_rate for number in range(count)][: self.max_calls]
        draw, now, times = random.Random(seed), 0.0, []  # noqa: S311  (arrivals, no secrets)
        while (now := now + draw.expovariate(self.arrival_rate)) < self.duration_s:
            times.append(now)
        return times[: self.max_calls] or [0.0]


@dataclass(frozen=True, eq=False)
class Load:
    """What one load gave: ``elapsed_s`` is the time to the end of the last call, or until it was given up.

    Latency runs from the start of each call in a closed loop, where there is no arrival rate; in an open one, where
    calls arrive for ``duration_s``, from its arrival, waiting included.
    """

    threads: int
    elapsed_s: float
    latency: Latency
    arrival_rate: float | None = None
    arrivals: Arrivals = "even"
    duration_s: float | None = None

    @property
    def qps(self) -> float:
        """Answered calls a second."""
        return self.latency.answered / self.elapsed_s if self.elapsed_s > 0 else math.nan

    @property
    def offered_qps(self) -> float:
        """Calls a second that were asked for, answered or not."""
        span = self.elapsed_s if self.arrival_rate is None or self.duration_s is None else self.duration_s
        return self.latency.calls / span if span > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        rates = {"qps": self.qps, "offered_qps": self.offered_qps}
        numbers: dict[str, Any] = {"threads": self.threads, "elapsed_s": self.elapsed_s}
        numbers |= {name: rate for name, rate in rates.items() if not math.isnan(rate)}
        if self.arrival_rate is not None:
            numbers |= {"arrival_rate": self.arrival_rate, "arrivals": self.arrivals}
        return numbers | self.latency.to_dict()

    @classmethod
    def of_calls(cls, plan: LoadPlan, calls: Sequence[Call], sizes: Sequence[int | None], seed: int = 0) -> "Load":
        """Make one from its calls."""
        ends = [call.at_s + call.duration_ms / 1000 for call in calls if call.failure is None or call.duration_ms]
        latency = Latency.of_calls(calls, sizes, seed=seed)
        return cls(plan.threads, max(ends, default=0.0), latency, plan.arrival_rate, plan.arrivals, plan.duration_s)


def load_plans(
    threads: int | Sequence[int],
    arrival_rate: float | Sequence[float] | None = None,
    **shared: Any,  # noqa: ANN401  (the fields of a plan)
) -> dict[LoadKey, LoadPlan]:
    """Return the loads to measure: every number of threads at every rate; ``shared`` is the rest of each plan."""
    rates = list(arrival_rate) if isinstance(arrival_rate, Sequence) else [arrival_rate]
    counts = list(threads) if isinstance(threads, Sequence) else [threads]
    return {
        count if rate is None or len(rates) == 1 else (count, rate): LoadPlan(count, arrival_rate=rate, **shared)
        for count in counts or [0]
        for rate in rates
    }


def measure_throughput(  # noqa: PLR0913  (the options of one job, all with defaults)
    call: Callable[..., Any],
    inputs: Iterable[T],
    *,
    threads: int | Sequence[int] = 1,
    duration_s: float = 10.0,
    arrival_rate: float | Sequence[float] | None = None,
    arrivals: Arrivals = "even",
    max_calls: int | None = None,
    drain_s: float | None = None,
    timeout_s: float | None = TIMEOUT_S,
    size: Callable[[T], int] | None = None,
    prepare: Callable[[T], tuple[Any, ...]] | None = None,
    seed: int = 0,
    progress: bool = False,
    clock: Clock = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> dict[LoadKey, Load]:
    """Call from n threads at once, over and over; return the load by number of threads, or by (threads, rate).

    Without ``arrival_rate`` the loop is closed: a thread calls again as soon as it has its answer, for ``duration_s``
    seconds: the capacity, but of a server that stalls most of the wait of its users is never seen (coordinated
    omission). With it calls are due whatever the server does, evenly apart or at random (``arrivals="poisson"``), and
    latency runs from that time. None is started later than ``drain_s`` seconds (as long again, unless told) after the
    last arrival: NotStarted. One without an answer after ``timeout_s`` seconds is NotFinished. Both are failures, and
    censored (:class:`~permed_measures.serving.Latency`). Calls of an async callable run at once on one event loop; one
    that computes in Python gains nothing from threads.
    """
    values = list(inputs)
    shared = {"duration_s": duration_s, "arrivals": arrivals, "drain_s": drain_s, "max_calls": max_calls}
    plans = load_plans(threads, arrival_rate, **shared)
    sizes = [None if size is None else size(value) for value in values]
    with Caller(call, clock, prepare, timeout_s) as caller:
        phase = Phase(caller, values, clock, sleep, progress)
        made = {key: calls_under_load(phase, plan, seed) for key, plan in plans.items()}
    return {key: Load.of_calls(plans[key], calls, sizes, seed) for key, calls in made.items()}


def calls_under_load(phase: Phase, plan: LoadPlan, seed: int = 0) -> list[Call]:
    """Make the calls of one load."""
    at_rate = "" if plan.arrival_rate is None else f", {plan.arrival_rate:g} arrivals/s"
    schedule = _Schedule(plan, len(phase.values), seed)
    named = replace(phase, label=f"{phase.label}, {plan.threads} threads{at_rate}")
    return [*named.run(schedule, plan.threads), *schedule.never_started()]


class _Schedule(Turns):
    """Hands out the calls to make: which input, and when it is due; one that failed is not made again."""

    def __init__(self, plan: LoadPlan, places: int, seed: int) -> None:
        self._places, self._due_s, self._started = places, plan.due_s(seed), 0
        self._total = plan.max_calls if self._due_s is None else len(self._due_s)
        drain_s = plan.duration_s if plan.drain_s is None else plan.drain_s
        self._longest_s = plan.duration_s + (0.0 if self._due_s is None else drain_s)

    def next(self, at_s: float) -> Turn | None:
        number = self._started
        if at_s >= self._longest_s or (self._total is not None and number >= self._total):
            return None
        self._started += 1
        return Turn(number % self._places, None if self._due_s is None else self._due_s[number])

    def share(self, at_s: float) -> float:
        return at_s / self._longest_s

    def never_started(self) -> list[Call]:
        """Return the arrivals that nobody took, which waited to the end."""
        end = self._longest_s
        why = NOT_STARTED, f"still in the queue after {end:g} s: the answers are slower than the arrivals"
        late = [] if self._due_s is None else list(enumerate(self._due_s))[self._started :]
        return [Call(n % self._places, end, 0.0, (end - due) * 1000, None, why, True) for n, due in late]
