"""Latency: percentiles of the time of calls, with an interval for P95, by size of the input."""

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from permed_measures.errors import ParamError
from permed_measures.inference.independent import percentile_interval
from permed_measures.render.words import milliseconds
from permed_measures.serving.calls import TIMEOUT_S, Caller, Clock, Failed, Failures
from permed_measures.serving.workers import Call, Phase

T = TypeVar("T")
Floats = npt.NDArray[np.float64]

SIZE_BOUNDS = (20, 50, 100, 200)
_PERCENTS = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "mean_ms": 100, "min_ms": 0, "max_ms": 100}
"""Up to which percentile a statistic looks at the samples."""
AT_LEAST = "_at_least"  # what ends the name of a number that is only known to be at least so large


def _percentile(percent: float) -> cached_property[float]:
    return cached_property(lambda latency: latency.percentile(percent))


@dataclass(frozen=True, eq=False)
class Latency:
    """The latencies of the calls that were answered, in milliseconds, and the calls that failed.

    Percentiles are numpy's, ``method="linear"``: between two neighbouring samples the value is interpolated. ``std``
    divides by n. Every statistic is NaN when no call was answered. A call whose end was never seen is *censored*: it
    counts with the time it was waited for, and a statistic that touches it is a lower bound (:attr:`bounds`).

    >>> latency = Latency.of([10, 20, 30, 40])
    >>> latency.p50_ms, latency.mean_ms, latency.max_ms    # between 20 and 30
    (25.0, 25.0, 40.0)
    """

    samples_ms: Floats
    sizes: tuple[int | None, ...] = ()  # the size of the input of each sample, or nothing at all
    failures: Failures = field(default_factory=Failures)
    warmup_failures: Failures = field(default_factory=Failures)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sizes and len(self.sizes) != len(self.samples_ms):
            raise ParamError(f"{len(self.samples_ms)} samples, but {len(self.sizes)} sizes")
        if not np.all(np.isfinite(self.samples_ms)) or np.any(self.samples_ms < 0):
            raise ParamError("a latency is a finite number >= 0")

    @classmethod
    def of(cls, samples_ms: Iterable[float], sizes: Iterable[int | None] = (), **others: Any) -> "Latency":  # noqa: ANN401  (fields)
        """Make one from samples; the other fields by name."""
        known = tuple(sizes)
        samples = np.fromiter(samples_ms, dtype=np.float64)
        return cls(samples, () if all(size is None for size in known) else known, **others)

    @classmethod
    def of_calls(
        cls, calls: Sequence[Call], sizes: Sequence[int | None], *, warming: Sequence[Call] = (), seed: int = 0
    ) -> "Latency":
        """Make one from calls; ``sizes`` has that of the input at each place."""
        good = [call for call in calls if call.failure is None]
        failed, in_warmup = (
            tuple(
                Failed(*call.failure, sizes[call.place], call.latency_ms if call.censored else None)
                for call in made
                if call.failure is not None
            )
            for made in (calls, warming)
        )
        others = {"failures": Failures(failed), "warmup_failures": Failures(in_warmup), "seed": seed}
        return cls.of((call.latency_ms for call in good), [sizes[call.place] for call in good], **others)

    @property
    def answered(self) -> int:
        """How many calls were answered."""
        return len(self.samples_ms)

    @property
    def calls(self) -> int:
        """How many calls were made, warm-up left out."""
        return self.answered + self.failures.total

    @cached_property
    def waits_ms(self) -> Floats:
        """How long the censored calls were waited for."""
        return np.array([each.wait_ms for each in self.failures.each if each.wait_ms is not None], dtype=np.float64)

    @cached_property
    def ordered_ms(self) -> Floats:
        """All times in order, those of censored calls included."""
        return np.sort(np.concatenate([self.samples_ms, self.waits_ms]))

    @cached_property
    def surely(self) -> int:
        """How many of the first of :attr:`ordered_ms` are known, whatever the censored calls took in the end."""
        return int(np.sum(self.samples_ms <= self.waits_ms.min(initial=math.inf)))

    def percentile(self, percent: float) -> float:
        """Return a percentile, interpolated linearly; a lower bound where it touches censored calls."""
        return float(np.percentile(self.ordered_ms, percent)) if len(self.ordered_ms) else math.nan

    p50_ms, p95_ms, p99_ms = _percentile(50), _percentile(95), _percentile(99)
    min_ms, max_ms = _percentile(0), _percentile(100)

    @cached_property
    def mean_ms(self) -> float:
        """The mean."""
        return float(np.mean([*self.samples_ms, *self.waits_ms])) if len(self.ordered_ms) else math.nan

    @cached_property
    def std_ms(self) -> float:
        """The standard deviation of the samples (divided by n); not known where calls are censored."""
        return float(np.std(self.samples_ms)) if self.answered and not len(self.waits_ms) else math.nan

    @cached_property
    def bounds(self) -> frozenset[str]:
        """The names of the statistics that are lower bounds, because they touch censored calls."""
        last = len(self.ordered_ms) - 1
        touched = {name: math.ceil(last * percent / 100) for name, percent in _PERCENTS.items()}
        return frozenset(name for name, place in touched.items() if last >= 0 and place >= self.surely)

    def shown(self, name: str) -> str:
        """Write a statistic for people; one that touches censored calls is at least (≥) so large."""
        return "≥ " * (name in self.bounds) + milliseconds(getattr(self, name))

    @cached_property
    def p95_interval_ms(self) -> tuple[float, float] | None:
        """The bootstrap interval (95%, percentile method) of P95; none for fewer than two samples, or censored ones."""
        found = percentile_interval(self.ordered_ms, 95, seed=self.seed)
        return None if found is None or (len(self.waits_ms) and found[1] > self.waits_ms.min()) else found

    def by_size(self, bounds: Sequence[int] = SIZE_BOUNDS) -> "dict[str, Latency]":
        """Return the latency by size of the input, up to each bound, and above the last; without empty groups."""
        limits = sorted(set(bounds))
        groups: dict[int, tuple[list[float], list[Failed]]] = {}
        for size, ms in zip(self.sizes, self.samples_ms.tolist(), strict=False):
            if size is not None:
                groups.setdefault(bisect_left(limits, size), ([], []))[0].append(ms)
        for each in self.failures.each:
            if each.size is not None:
                groups.setdefault(bisect_left(limits, each.size), ([], []))[1].append(each)
        named = {}
        for place, (samples, failed) in sorted(groups.items()):
            low = limits[place - 1] if place else 0
            name = f"{low + 1} to {limits[place]}" if place < len(limits) else f"over {low}" if limits else "all"
            named[name] = Latency.of(samples, failures=Failures(tuple(failed)), seed=self.seed)
        return named

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on."""
        notes = []
        for percent, needed in ((99, 100), (95, 20)):
            if 0 < self.answered < needed:
                said = f"P{percent} rests on {self.answered} answered calls"
                notes.append(f"{said}: below {needed} it is little more than the slowest one")
                break
        if self.failures.total:
            notes.append(f"{self.failures.total} of {self.calls} calls failed and have no latency: {self.failures}")
        if len(self.waits_ms):
            said = (
                f"the end of {len(self.waits_ms)} calls was never seen: they count with the time they were waited for"
            )
            notes.append(f"{said}, and what touches them is at least (≥) so large")
        if self.warmup_failures.total:
            notes.append(f"warm-up calls failed: {self.warmup_failures}")
        return notes

    def to_dict(self) -> dict[str, float]:
        """Return the numbers; those that do not exist are left out, lower bounds end in ``_at_least``."""
        numbers: dict[str, float] = {"calls": self.calls, "failures": self.failures.total}
        if self.calls:
            numbers["failure_share"] = self.failures.total / self.calls
        if len(self.waits_ms):
            numbers["censored"] = len(self.waits_ms)
        for name in ("p50_ms", "p95_ms", "p99_ms", "mean_ms", "std_ms", "min_ms", "max_ms"):
            value = getattr(self, name)
            if not math.isnan(value):
                numbers[name + AT_LEAST * (name in self.bounds)] = value
        if self.p95_interval_ms is not None:
            numbers["p95_low_ms"], numbers["p95_high_ms"] = self.p95_interval_ms
        return numbers


def measure_latency(  # noqa: PLR0913  (the options of one job, all with defaults)
    call: Callable[..., Any],
    inputs: Iterable[T],
    *,
    warmup: int = 1,
    repeats: int = 1,
    timeout_s: float | None = TIMEOUT_S,
    retries: int = 0,
    size: Callable[[T], int] | None = None,
    prepare: Callable[[T], tuple[Any, ...]] | None = None,
    seed: int = 0,
    progress: bool = False,
    clock: Clock = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> Latency:
    """Call with every input, ``repeats`` times, one call after the other, and measure the latency.

    ``call`` may be async, or a factory (see :class:`~permed_measures.serving.calls.Caller`). The first ``warmup`` calls
    are extra and not counted; ``size`` gives the number of candidates of an input, ``prepare`` the arguments of its
    call, before the clock runs. A call that raises is counted by type and has no latency; it is made again up to
    ``retries`` times, each time as a call of its own. One without an end after ``timeout_s`` seconds is given up, after
    five in a row all. Calls run in a thread of their own; with ``timeout_s=None`` in this one, without a limit.
    """
    values = list(inputs)
    sizes = [None if size is None else size(value) for value in values]
    with Caller(call, clock, prepare, timeout_s) as caller:
        phase = Phase(caller, values, clock, sleep, progress)
        warming, calls, _ = phase.rounds(warmup=warmup, repeats=repeats, retries=retries)
    return Latency.of_calls(calls, sizes, warming=warming, seed=seed)
