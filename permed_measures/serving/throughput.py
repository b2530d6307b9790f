"""Throughput: how many calls a second, and the latency under that load, in a closed and in an open loop."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from permed_measures.errors import ParamError
from permed_measures.serving.calls import Caller, Clock, Recorder
from permed_measures.serving.latency import Latency

T = TypeVar("T")

NOT_STARTED = "NotStarted"
NOT_FINISHED = "NotFinished"


@dataclass(frozen=True, eq=False)
class Load:
    """What one load gave."""

    threads: int
    elapsed_s: float
    """From the start to the end of the last call."""
    latency: Latency
    """Closed loop: from the start of each call. Open loop: from its scheduled arrival, waiting included."""
    arrival_rate: float | None = None
    """Arrivals a second; None in a closed loop."""

    @property
    def qps(self) -> float:
        """Answered calls a second."""
        return self.latency.answered / self.elapsed_s if self.elapsed_s > 0 else math.nan

    def to_dict(self) -> dict[str, float]:
        """Return the numbers."""
        numbers: dict[str, float] = {"threads": self.threads, "elapsed_s": self.elapsed_s}
        if not math.isnan(self.qps):
            numbers["qps"] = self.qps
        if self.arrival_rate is not None:
            numbers["arrival_rate"] = self.arrival_rate
        return numbers | self.latency.to_dict()


def measure_throughput(  # noqa: PLR0913  (the options of one job, all with defaults)
    call: Callable[..., Any],
    inputs: Iterable[T],
    *,
    threads: int | Sequence[int] = 1,
    duration_s: float = 10.0,
    arrival_rate: float | None = None,
    max_calls: int | None = None,
    drain_s: float | None = None,
    timeout_s: float = 30.0,
    size: Callable[[T], int] | None = None,
    prepare: Callable[[T], tuple[Any, ...]] | None = None,
    seed: int = 0,
    clock: Clock = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> dict[int, Load]:
    """Call from n threads at once, over and over; return the load by number of threads.

    Without ``arrival_rate`` the loop is closed: a thread calls again as soon as it has its answer, for ``duration_s``
    seconds. This tells the capacity, but a server that stalls is then asked less, and most of the wait of its users is
    never seen (coordinated omission); with ``arrival_rate`` calls are due at fixed times, ``1 / arrival_rate`` apart,
    whatever the server does, and the latency runs from the time a call was due, its wait in the queue included.

    An open loop schedules the arrivals of ``duration_s`` seconds and starts none later than ``drain_s`` seconds (as
    long again, unless told) after them; those that were never started count as failures of the type NotStarted. Calls
    that have no answer ``timeout_s`` seconds later count as NotFinished; their threads do not keep the program alive.
    ``max_calls`` bounds the number of calls. ``call`` may be async: its calls then run at once on one event loop. A
    callable written in Python that computes by itself gains nothing from threads: Python runs one at a time.
    """
    values = list(inputs)
    counts = [threads] if isinstance(threads, int) else list(threads)
    _check(values, counts, duration_s=duration_s, arrival_rate=arrival_rate, max_calls=max_calls, drain_s=drain_s)
    sizes = [None if size is None else size(value) for value in values]
    loads = {}
    for count in counts:
        with Caller(call, clock, prepare) as caller:
            schedule = _Schedule(
                clock,
                duration_s=duration_s,
                drain_s=duration_s if drain_s is None else drain_s,
                arrival_rate=arrival_rate,
                max_calls=max_calls,
            )
            workers = _Workers(caller, values, sizes, schedule, clock=clock, sleep=sleep)
            loads[count] = workers.run(count, timeout_s=timeout_s, seed=seed)
    return loads


def _check(values: Sequence[Any], counts: Sequence[int], *, max_calls: int | None, **numbers: float | None) -> None:
    if not values:
        msg = "no inputs: nothing to call"
        raise ParamError(msg)
    for name, whole in (*[("threads", count) for count in counts or [0]], ("max_calls", max_calls)):
        if whole is not None and (isinstance(whole, bool) or not isinstance(whole, int) or whole < 1):
            msg = f"{name}={whole!r} is not allowed; give an int >= 1"
            raise ParamError(msg)
    for name, number in numbers.items():
        at_least = 0.0 if name == "drain_s" else math.ulp(0.0)
        if number is not None and not at_least <= number < math.inf:
            msg = f"{name}={number!r} is not allowed; give a number {'>= 0' if name == 'drain_s' else '> 0'}"
            raise ParamError(msg)


class _Schedule:
    """Hands out the calls to make: which input, and when it is due."""

    def __init__(
        self,
        clock: Clock,
        *,
        duration_s: float,
        drain_s: float,
        arrival_rate: float | None,
        max_calls: int | None,
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stopped = False
        self.arrival_rate = arrival_rate
        self.started = 0
        self.longest_s = duration_s
        self.total = max_calls
        if arrival_rate is not None:
            arrivals = max(1, math.ceil(duration_s * arrival_rate))
            self.total = arrivals if max_calls is None else min(arrivals, max_calls)
            self.longest_s += drain_s
        self.start = clock()

    def next(self) -> tuple[int, float | None] | None:
        """Return (number, due) of the next call; None when there is none."""
        with self._lock:
            number = self.started
            over = self._clock() - self.start >= self.longest_s
            if self._stopped or over or (self.total is not None and number >= self.total):
                return None
            self.started += 1
        return number, None if self.arrival_rate is None else self.start + number / self.arrival_rate

    def stop(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._stopped = True

    @property
    def never_started(self) -> int:
        """Arrivals that nobody took."""
        return 0 if self.arrival_rate is None or self.total is None else self.total - self.started


class _Workers:
    """Threads that call what the schedule hands out."""

    def __init__(  # noqa: PLR0913  (what one measurement is made of)
        self,
        caller: Caller,
        values: Sequence[Any],
        sizes: Sequence[int | None],
        schedule: _Schedule,
        *,
        clock: Clock,
        sleep: Callable[[float], object],
    ) -> None:
        self._caller = caller
        self._values = values
        self._sizes = sizes
        self._schedule = schedule
        self._clock = clock
        self._sleep = sleep
        self._recorder = Recorder()

    def run(self, count: int, *, timeout_s: float, seed: int) -> Load:
        """Start the threads and wait for them, no longer than the schedule and ``timeout_s`` say."""
        schedule, recorder = self._schedule, self._recorder
        threads = [threading.Thread(target=self._work, name=f"load {n}", daemon=True) for n in range(count)]
        give_up = time.monotonic() + schedule.longest_s + timeout_s
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(max(0.0, give_up - time.monotonic()))
        finally:
            schedule.stop()
            recorder.close()
        failures = recorder.failures
        late = schedule.started - len(recorder.samples_ms) - failures.total
        if late > 0:
            failures = failures.plus(NOT_FINISHED, f"no answer {timeout_s:g} s after the end of the measurement", late)
        if schedule.never_started > 0:
            waited = f"still in the queue after {schedule.longest_s:g} s: the answers are slower than the arrivals"
            failures = failures.plus(NOT_STARTED, waited, schedule.never_started)
        end = recorder.last_end
        return Load(
            threads=count,
            elapsed_s=0.0 if end is None else end - schedule.start,
            latency=Latency.of(recorder.samples_ms, recorder.sizes, failures=failures, seed=seed),
            arrival_rate=schedule.arrival_rate,
        )

    def _work(self) -> None:
        while (turn := self._schedule.next()) is not None:
            number, due = turn
            while due is not None and (wait := due - self._clock()) > 0:
                self._sleep(wait)
            place = number % len(self._values)
            timed = self._caller(self._values[place])
            if timed.error is None:
                begun = timed.start if due is None else due
                self._recorder.add((timed.end - begun) * 1000, self._sizes[place], timed.end)
            else:
                self._recorder.fail(timed.error, timed.end)
