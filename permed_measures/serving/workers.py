"""Threads that make the calls they are handed, and a watch over calls that never end: the job ends in time."""

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from permed_measures.errors import ParamError, check_whole
from permed_measures.render.progress import progress as bar
from permed_measures.serving.calls import NOT_CALLED, NOT_FINISHED, Caller, Clock, Timed, kind_of

GIVE_UP = 5  # so many calls in a row without an end, and no more are made
_GRACE_S = 1.0
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_SHOWN_S = 0.5


class Call(NamedTuple):
    """One call with the input of a place, as it is kept: all figures are made of these.

    It began ``at_s`` after the start of its phase, ``waited_ms`` after it was due; ``failure`` is type and message. The
    end of a *censored* one was never seen: it took longer than this.
    """

    place: int
    at_s: float
    duration_ms: float
    waited_ms: float = 0.0
    answer: Any = None
    failure: tuple[str, str] | None = None
    censored: bool = False

    @property
    def latency_ms(self) -> float:
        """From the time it was due, else from its start."""
        return self.waited_ms + self.duration_ms


class Turn(NamedTuple):
    """A call to make; it is due so many seconds after the start of its phase."""

    place: int
    due_s: float | None = None
    attempt: int = 0


class Turns(ABC):
    """Hands out the calls; its methods are called by one thread at a time, with the seconds since the start."""

    @abstractmethod
    def next(self, at_s: float) -> Turn | None:
        """Return the next call; None when there is none."""

    @abstractmethod
    def share(self, at_s: float) -> float:
        """Return which share is done."""

    def ended(self, turn: Turn, call: Call) -> None:  # noqa: B027  (most take nothing)
        """Take what came of a call."""


class _Rounds(Turns):
    """Every input ``repeats`` times, in rounds, so that a drift of the machine meets all of them; failed ones again."""

    def __init__(self, count: int, *, repeats: int = 1, retries: int = 0, warmup: int | None = None) -> None:
        check_whole("repeats", repeats)
        self._retries = check_whole("retries", retries, 0)
        self._places: Iterator[int] = (place for _ in range(repeats) for place in range(count))
        self._total, self._done, self._silent = repeats * count, 0, 0
        self._again: list[Turn] = []
        if warmup is not None:
            self._places = islice(cycle(range(count)), check_whole("warmup", warmup, 0))

    @property
    def given_up(self) -> bool:
        return self._silent >= GIVE_UP

    def next(self, at_s: float) -> Turn | None:  # noqa: ARG002  (time does not matter here)
        if self.given_up:
            return None
        if self._again:
            return self._again.pop()
        return next(map(Turn, self._places), None)

    def ended(self, turn: Turn, call: Call) -> None:
        self._silent = self._silent + 1 if call.censored else 0
        if call.failure is not None and turn.attempt < self._retries:
            self._again.append(Turn(turn.place, None, turn.attempt + 1))
        else:
            self._done += 1

    def share(self, at_s: float) -> float:  # noqa: ARG002  (as above)
        return self._done / self._total

    def never_made(self) -> list[Call]:
        why = NOT_CALLED, f"{GIVE_UP} calls in a row had no end; no more were made"
        return [Call(place, 0.0, 0.0, failure=why) for place in self._places]


@dataclass(frozen=True)
class Phase:
    """Calls of one callable with some inputs; ``read`` returns what an answer to the input of a place means."""

    caller: Caller
    values: Sequence[Any]
    clock: Clock
    sleep: Callable[[float], object]
    progress: bool = False
    label: str = "calls"
    read: Callable[[int, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not self.values:
            raise ParamError("no inputs: nothing to call")

    def rounds(self, *, warmup: int, repeats: int, retries: int = 0) -> tuple[list[Call], list[Call], bool]:
        """Return the calls of the warm-up, those that count, and whether the rest was given up."""
        rounds = _Rounds(len(self.values), repeats=repeats, retries=retries)
        warmed = replace(self, progress=False).run(_Rounds(len(self.values), warmup=warmup))
        calls = self.run(rounds)
        return warmed, [*calls, *rounds.never_made()], rounds.given_up

    def run(self, turns: Turns, threads: int = 1) -> list[Call]:
        """Make the calls, and return them in the order in which they ended."""
        with bar(self.label, shown=self.progress) as step:
            return _Workers(self, turns, step).run(threads)


class _Slot:
    """What one thread is doing."""

    turn: Turn | None = None
    start = began = 0.0
    left = False


class _Workers:
    """Makes the calls of a phase with some threads; one that has no end within its time is given up."""

    def __init__(self, phase: Phase, turns: Turns, step: Callable[[str, float], None]) -> None:
        self._phase, self._turns, self._step = phase, turns, step
        self._lock, self._over, self._stopped = threading.Lock(), threading.Event(), False
        self._slots: list[_Slot] = []
        self._calls: list[Call] = []
        self._raised: BaseException | None = None
        timeout_s = phase.caller.timeout_s  # an async call is cancelled on its loop, unless that is blocked
        self._limit_s = math.inf if timeout_s is None else timeout_s + _GRACE_S * phase.caller.is_async
        self._begun = self._shown = time.monotonic()
        self._start = phase.clock()

    def run(self, count: int) -> list[Call]:
        """Start the threads, and wait until each call has ended or was given up."""
        if self._limit_s == math.inf and count == 1:
            self._work(_Slot())  # in this thread, for what is bound to it
        else:
            try:
                for _ in range(count):
                    self._add_thread()
                while not self._over.wait(self._patience()):
                    self._leave_late()
            finally:
                with self._lock:
                    self._stopped = True
        if self._raised is not None:
            raise self._raised
        return self._calls

    def _add_thread(self) -> None:
        self._slots.append(_Slot())
        threading.Thread(target=self._work, args=(self._slots[-1],), name="calls", daemon=True).start()

    def _patience(self) -> float | None:
        """Return how long no call can have had all of its time."""
        if self._limit_s == math.inf:
            return None
        with self._lock:
            oldest = min((slot.began for slot in self._slots if slot.turn), default=time.monotonic())
        return max(0.001, oldest + self._limit_s - time.monotonic())

    def _leave_late(self) -> None:
        with self._lock:
            now = time.monotonic()
            for slot in [slot for slot in self._slots if slot.turn and now - slot.began >= self._limit_s]:
                self._take(slot, Timed(slot.start, self._phase.clock(), error=self._phase.caller.late()))
                slot.left = True
                self._slots.remove(slot)
                self._add_thread()

    def _work(self, slot: _Slot) -> None:
        phase = self._phase
        try:
            while (turn := self._next()) is not None:
                while turn.due_s is not None and (wait := self._start + turn.due_s - phase.clock()) > 0:
                    phase.sleep(wait)
                if turn.attempt:
                    phase.sleep(min(_PAUSE_S * 2 ** (turn.attempt - 1), _LONGEST_PAUSE_S))
                with self._lock:
                    slot.start, slot.began, slot.turn = phase.clock(), time.monotonic(), turn
                timed = self._understood(turn.place, phase.caller(phase.values[turn.place]))
                with self._lock:
                    if slot.left:
                        return
                    self._take(slot, timed)
        except BaseException as error:  # noqa: BLE001  (Ctrl-C within a call, or a fault of ours, is raised by who waits)
            self._raised = self._raised or error
        finally:
            with self._lock:
                if slot in self._slots:
                    self._slots.remove(slot)
                if not self._slots:
                    self._over.set()

    def _next(self) -> Turn | None:
        with self._lock:
            done = self._stopped or self._raised
            return None if done else self._turns.next(self._phase.clock() - self._start)

    def _understood(self, place: int, timed: Timed) -> Timed:
        if self._phase.read is None or timed.error is not None:
            return timed
        try:
            return replace(timed, answer=self._phase.read(place, timed.answer))
        except Exception as error:  # noqa: BLE001  (whatever the answer is, the others count on)
            return replace(timed, answer=None, error=error)

    def _take(self, slot: _Slot, timed: Timed) -> None:
        turn, slot.turn = slot.turn, None
        if turn is None or self._stopped:
            return
        at_s, error = timed.start - self._start, timed.error
        waited_ms = 0.0 if turn.due_s is None else (at_s - turn.due_s) * 1000
        failure = None if error is None else (kind_of(error), str(error) or repr(error))
        is_late = failure is not None and failure[0] == NOT_FINISHED
        call = Call(turn.place, at_s, (timed.end - timed.start) * 1000, waited_ms, timed.answer, failure, is_late)
        self._calls.append(call)
        self._turns.ended(turn, call)
        if self._phase.progress:
            self._show(min(1.0, self._turns.share(timed.end - self._start)))

    def _show(self, share: float) -> None:
        """Say how it goes: answers a second, P95 so far, and the time that is left."""
        now = time.monotonic()
        if share < 1 and now - self._shown < _SHOWN_S:
            return
        self._shown, spent = now, max(now - self._begun, 1e-9)
        times = [call.latency_ms for call in self._calls if call.failure is None]
        p95 = f", P95 {np.percentile(times, 95):,.4g} ms" if times else ""
        left = f", {spent / share - spent:,.0f} s left" if share > 0 else ""
        self._step(f"{self._phase.label}: {len(times) / spent:,.1f}/s{p95}{left}", share)
