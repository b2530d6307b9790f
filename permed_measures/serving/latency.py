"""Latency: percentiles of the time of calls, with an interval for P95, by size of the input."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from permed_measures.errors import ParamError
from permed_measures.render.progress import progress as bar
from permed_measures.serving.calls import Caller, Clock, Failures, Recorder, Timed

T = TypeVar("T")

SIZE_BOUNDS = (20, 50, 100, 200)
LEVEL = 0.95
RESAMPLES = 10_000
_P95, _P99 = 95, 99


@dataclass(frozen=True, eq=False)
class Latency:
    """The latencies of the calls that were answered, in milliseconds, and the calls that failed.

    Percentiles are numpy's, ``method="linear"``: between two neighbouring samples the value is interpolated. ``std``
    divides by n. Every statistic is NaN when no call was answered.

    >>> latency = Latency.of([10, 20, 30, 40])
    >>> latency.p50_ms, latency.mean_ms, latency.max_ms    # between 20 and 30
    (25.0, 25.0, 40.0)
    """

    samples_ms: npt.NDArray[np.float64]
    sizes: tuple[int | None, ...] = ()
    """The size of the input of each sample, or nothing at all."""
    failures: Failures = field(default_factory=Failures)
    warmup_failures: Failures = field(default_factory=Failures)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sizes and len(self.sizes) != len(self.samples_ms):
            msg = f"{len(self.samples_ms)} samples, but {len(self.sizes)} sizes"
            raise ParamError(msg)
        if not np.all(np.isfinite(self.samples_ms)) or np.any(self.samples_ms < 0):
            msg = "a latency is a finite number >= 0"
            raise ParamError(msg)

    @classmethod
    def of(
        cls,
        samples_ms: Iterable[float],
        sizes: Iterable[int | None] = (),
        *,
        failures: Failures | None = None,
        warmup_failures: Failures | None = None,
        seed: int = 0,
    ) -> Latency:
        """Make one from samples."""
        samples = np.fromiter(samples_ms, dtype=np.float64)
        known = tuple(sizes)
        known = () if all(size is None for size in known) else known
        return cls(samples, known, failures or Failures(), warmup_failures or Failures(), seed)

    @property
    def answered(self) -> int:
        """How many calls were answered."""
        return len(self.samples_ms)

    @property
    def calls(self) -> int:
        """How many calls were made, warm-up left out."""
        return self.answered + self.failures.total

    def percentile(self, percent: float) -> float:
        """Return a percentile, interpolated linearly."""
        return float(np.percentile(self.samples_ms, percent)) if self.answered else math.nan

    @cached_property
    def p50_ms(self) -> float:
        """The median."""
        return self.percentile(50)

    @cached_property
    def p95_ms(self) -> float:
        """19 of 20 calls are faster."""
        return self.percentile(_P95)

    @cached_property
    def p99_ms(self) -> float:
        """99 of 100 calls are faster."""
        return self.percentile(_P99)

    @cached_property
    def mean_ms(self) -> float:
        """The mean."""
        return float(np.mean(self.samples_ms)) if self.answered else math.nan

    @cached_property
    def std_ms(self) -> float:
        """The standard deviation of the samples (divided by n)."""
        return float(np.std(self.samples_ms)) if self.answered else math.nan

    @cached_property
    def min_ms(self) -> float:
        """The fastest call."""
        return float(np.min(self.samples_ms)) if self.answered else math.nan

    @cached_property
    def max_ms(self) -> float:
        """The slowest call."""
        return float(np.max(self.samples_ms)) if self.answered else math.nan

    @cached_property
    def p95_interval_ms(self) -> tuple[float, float] | None:
        """The bootstrap interval (95%, percentile method) of P95; none for fewer than two samples."""
        return percentile_interval(self.samples_ms, _P95, seed=self.seed)

    def by_size(self, bounds: Sequence[int] = SIZE_BOUNDS) -> dict[str, Latency]:
        """Return the latency by size of the input, up to each bound, and above the last; groups without calls left out.

        >>> by_size = Latency.of([1, 2, 3], sizes=[20, 21, 500]).by_size((20, 50))
        >>> {size: latency.p50_ms for size, latency in by_size.items()}
        {'1 to 20': 1.0, '21 to 50': 2.0, 'over 50': 3.0}
        """
        limits = sorted(set(bounds))
        sizes = np.array([-1 if size is None else size for size in self.sizes], dtype=np.int64)
        groups = {}
        low = 0
        for high in (*limits, None):
            inside = (sizes >= low) if high is None else (sizes >= low) & (sizes <= high)
            name = f"over {limits[-1]}" if high is None and limits else f"{max(low, 1)} to {high}"
            if high is None and not limits:
                name = "all"
            if self.sizes and inside.any():
                groups[name] = Latency(self.samples_ms[inside], seed=self.seed)
            low = 0 if high is None else high + 1
        return groups

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on."""
        notes = []
        for percent, needed in ((_P99, 100), (_P95, 20)):
            if 0 < self.answered < needed:
                notes.append(
                    f"P{percent} rests on {self.answered} answered calls: below {needed} it is little more than the "
                    "slowest one"
                )
                break
        if self.failures.total:
            notes.append(f"{self.failures.total} of {self.calls} calls failed and have no latency: {self.failures}")
        if self.warmup_failures.total:
            notes.append(f"warm-up calls failed: {self.warmup_failures}")
        return notes

    def to_dict(self) -> dict[str, float]:
        """Return the numbers; those that do not exist are left out."""
        numbers: dict[str, float] = {"calls": self.calls, "failures": self.failures.total}
        if self.calls:
            numbers["failure_share"] = self.failures.total / self.calls
        if self.answered:
            numbers |= {
                "p50_ms": self.p50_ms,
                "p95_ms": self.p95_ms,
                "p99_ms": self.p99_ms,
                "mean_ms": self.mean_ms,
                "std_ms": self.std_ms,
                "min_ms": self.min_ms,
                "max_ms": self.max_ms,
            }
        if self.p95_interval_ms is not None:
            numbers["p95_low_ms"], numbers["p95_high_ms"] = self.p95_interval_ms
        return numbers


def percentile_interval(
    samples: npt.NDArray[np.float64],
    percent: float,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[float, float] | None:
    """Return the bootstrap interval of a percentile; None for fewer than two samples.

    A resample is never drawn whole. The k-th smallest of n uniform draws follows Beta(k, n - k + 1), and given it the
    next one is the smallest of the n - k draws above it; the percentile needs these two only. That is the very
    distribution of the bootstrap, at a cost that does not grow with n.
    """
    count = len(samples)
    if count < 2:  # noqa: PLR2004  (one sample tells nothing about its spread)
        return None
    generator = np.random.default_rng(seed)
    place = (count - 1) * percent / 100
    below = min(int(place), count - 2)
    lower = generator.beta(below + 1, count - below, size=resamples)
    upper = lower + (1 - lower) * generator.beta(1, count - below - 1, size=resamples)
    ordered = np.sort(samples)
    low_samples, high_samples = (ordered[np.minimum((u * count).astype(np.int64), count - 1)] for u in (lower, upper))
    values = low_samples + (place - below) * (high_samples - low_samples)
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def measure_latency(  # noqa: PLR0913  (the options of one job, all with defaults)
    call: Callable[..., Any],
    inputs: Iterable[T],
    *,
    warmup: int = 1,
    repeats: int = 1,
    size: Callable[[T], int] | None = None,
    prepare: Callable[[T], tuple[Any, ...]] | None = None,
    seed: int = 0,
    progress: bool = False,
    clock: Clock = time.perf_counter,
) -> Latency:
    """Call with every input, ``repeats`` times, one call after the other, and measure the latency.

    ``call`` may be async. The first ``warmup`` calls are extra and not counted. ``size`` gives the size of an input,
    the number of candidates for instance; ``prepare`` makes the arguments of the call from an input, before the clock
    runs. A call that raises is counted by type, with the first message, and has no latency.
    """
    values = list(inputs)
    sizes = [None if size is None else size(value) for value in values]
    recorder, warming = Recorder(), Recorder()
    with Caller(call, clock, prepare) as caller:
        for place, timed in timed_calls(
            caller, values, warmup=warmup, repeats=repeats, warming=warming, progress=progress
        ):
            if timed.error is None:
                recorder.add(timed.latency_ms, sizes[place])
            else:
                recorder.fail(timed.error)
    return Latency.of(
        recorder.samples_ms,
        recorder.sizes,
        failures=recorder.failures,
        warmup_failures=warming.failures,
        seed=seed,
    )


def timed_calls(  # noqa: PLR0913  (one place for all that calls in a row)
    caller: Caller,
    values: Sequence[Any],
    *,
    warmup: int,
    repeats: int,
    warming: Recorder,
    progress: bool,
    label: str = "calls",
) -> Iterator[tuple[int, Timed]]:
    """Call in rounds over all inputs, so that a drift of the machine meets all of them; yield (place, call)."""
    if not values:
        msg = "no inputs: nothing to call"
        raise ParamError(msg)
    for name, number, low in (("warmup", warmup, 0), ("repeats", repeats, 1)):
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            msg = f"{name}={number!r} is not allowed; give an int >= {low}"
            raise ParamError(msg)
    for value in islice(cycle(values), warmup):
        timed = caller(value)
        if timed.error is not None:
            warming.fail(timed.error)
    with bar(label, shown=progress) as step:
        for done in range(repeats):
            for place, value in enumerate(values):
                yield place, caller(value)
                step(label, (done + (place + 1) / len(values)) / repeats)
