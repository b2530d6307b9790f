"""Threads that make the calls they are handed, and a watch over calls that never end: the job ends in time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, NamedTuple, Protocol

from permed_measures.errors import ParamError
from permed_measures.serving.calls import Caller, Clock, NotFinishedError, Timed
from permed_measures.serving.failures import NOT_CALLED, kind_of

GIVE_UP = 5
"""So many calls in a row without an end, and no more are made."""
_GRACE_S = 1.0
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0

Read = Callable[[int, Any], Any]
"""Returns what an answer to the input of a place means; an exception says that it makes no sense."""


@dataclass(frozen=True)
class Call:
    """One call, as it is kept: all figures are made of these."""

    place: int
    """Of the input."""
    at_s: float
    """When it began, since the start of its phase."""
    duration_ms: float
    waited_ms: float = 0.0
    """From the time it was due to its start."""
    answer: Any = None
    failure: tuple[str, str] | None = None
    """Type and message."""
    censored: bool = False
    """Whether its end was never seen: it took longer than this."""

    @property
    def latency_ms(self) -> float:
        """From the time it was due, else from its start."""
        return self.waited_ms + self.duration_ms


class Turn(NamedTuple):
    """A call to make."""

    place: int
    due: float | None = None
    attempt: int = 0


class Turns(Protocol):
    """Hands out the calls; both methods are called by one thread at a time."""

    def next(self) -> Turn | None:
        """Return the next call; None when there is none."""

    def ended(self, turn: Turn, call: Call) -> None:
        """Take what came of it."""


class Rounds:
    """Every input ``repeats`` times, in rounds, so that a drift of the machine meets all of them; failed ones again."""

    def __init__(self, count: int, *, warmup: int = 0, repeats: int = 1, retries: int = 0) -> None:
        if not count:
            msg = "no inputs: nothing to call"
            raise ParamError(msg)
        self.checked("repeats", repeats, 1)
        self.checked("retries", retries, 0)
        self._places: Iterator[int] = (place for _ in range(repeats) for place in range(count))
        if warmup:
            self._places = islice(cycle(range(count)), warmup)
        self._again: list[Turn] = []
        self._retries = retries
        self._silent = 0
        self.total, self.done = warmup or repeats * count, 0

    @staticmethod
    def checked(name: str, number: int, low: int) -> int:
        """Return a number of calls, or raise ParamError."""
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            raise ParamError(f"{name}={number!r} is not allowed; give an int >= {low}")
        return number

    @property
    def given_up(self) -> bool:
        """Whether so many calls in a row had no end that no more are made."""
        return self._silent >= GIVE_UP

    def next(self) -> Turn | None:
        """Return the next call."""
        if self.given_up:
            return None
        if self._again:
            return self._again.pop()
        place = next(self._places, None)
        return None if place is None else Turn(place)

    def ended(self, turn: Turn, call: Call) -> None:
        """Call again what failed."""
        self._silent = self._silent + 1 if call.censored else 0
        if call.failure is not None and turn.attempt < self._retries:
            self._again.append(Turn(turn.place, None, turn.attempt + 1))
        else:
            self.done += 1

    def never_made(self) -> list[Call]:
        """Return the calls that are left, as failures."""
        said = f"{GIVE_UP} calls in a row had no end; no more were made"
        return [Call(place, 0.0, 0.0, failure=(NOT_CALLED, said)) for place in self._places]


class _Slot:
    """What one thread is doing."""

    turn: Turn | None = None
    start = began = 0.0
    left = False


class Workers:
    """Makes the calls of ``turns`` with some threads; one that has no end within its time is given up."""

    def __init__(  # noqa: PLR0913  (what one phase is made of)
        self,
        caller: Caller,
        values: Sequence[Any],
        turns: Turns,
        *,
        clock: Clock,
        sleep: Callable[[float], object] = time.sleep,
        read: Read | None = None,
        step: Callable[[Call], None] | None = None,
    ) -> None:
        self._caller, self._values, self._turns = caller, values, turns
        self._clock, self._sleep, self._read, self._step = clock, sleep, read, step
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._slots: list[_Slot] = []
        self._raised: BaseException | None = None
        self._stopped = False
        self.start = clock()
        self.calls: list[Call] = []

    def run(self, count: int) -> list[Call]:
        """Start the threads, and wait until each call has ended or was given up."""
        if self._caller.timeout_s is None and count == 1:
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
        return self.calls

    def _add_thread(self) -> None:
        slot = _Slot()
        self._slots.append(slot)
        threading.Thread(target=self._work, args=(slot,), name="calls", daemon=True).start()

    @property
    def _limit_s(self) -> float:
        """How long a call is watched: an async one is cancelled on its loop, unless that is blocked."""
        timeout_s = self._caller.timeout_s
        return math.inf if timeout_s is None else timeout_s + _GRACE_S * self._caller.is_async

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
            late = [slot for slot in self._slots if slot.turn and now - slot.began >= self._limit_s]
            for slot in late:
                slot.left = True
                error = NotFinishedError(self._caller.timeout_s)
                self._take(slot.turn, Timed(slot.start, self._clock(), error=error))
                self._slots.remove(slot)
            for _ in late:
                self._add_thread()

    def _work(self, slot: _Slot) -> None:
        try:
            while (turn := self._next()) is not None:
                while turn.due is not None and (wait := turn.due - self._clock()) > 0:
                    self._sleep(wait)
                if turn.attempt:
                    self._sleep(min(_PAUSE_S * 2 ** (turn.attempt - 1), _LONGEST_PAUSE_S))
                with self._lock:
                    slot.start, slot.began, slot.turn = self._clock(), time.monotonic(), turn
                timed = self._understood(turn, self._caller(self._values[turn.place]))
                with self._lock:
                    if slot.left:
                        return
                    slot.turn = None
                    self._take(turn, timed)
        except BaseException as error:  # noqa: BLE001  (Ctrl-C within a call, or a fault of ours, is raised by who waits)
            self._raised = self._raised or error
        finally:
            self._end(slot)

    def _end(self, slot: _Slot) -> None:
        with self._lock:
            if slot in self._slots:
                self._slots.remove(slot)
            if not self._slots:
                self._over.set()

    def _next(self) -> Turn | None:
        with self._lock:
            return None if self._stopped or self._raised else self._turns.next()

    def _understood(self, turn: Turn, timed: Timed) -> Timed:
        if self._read is None or timed.error is not None:
            return timed
        try:
            return replace(timed, answer=self._read(turn.place, timed.answer))
        except Exception as error:  # noqa: BLE001  (whatever the answer is, the others count on)
            return replace(timed, answer=None, error=error)

    def _take(self, turn: Turn | None, timed: Timed) -> None:
        if turn is None or self._stopped:
            return
        error = timed.error
        call = Call(
            turn.place,
            timed.start - self.start,
            (timed.end - timed.start) * 1000,
            0.0 if turn.due is None else (timed.start - turn.due) * 1000,
            timed.answer,
            None if error is None else (kind_of(error), str(error) or repr(error)),
            isinstance(error, NotFinishedError),
        )
        self.calls.append(call)
        self._turns.ended(turn, call)
        if self._step is not None:
            self._step(call)
