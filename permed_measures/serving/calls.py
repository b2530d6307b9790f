"""One call with its time and what it raised: sync or async, from any thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from permed_measures.errors import ParamError

Clock = Callable[[], float]
"""Returns seconds that never run backwards; ``time.perf_counter`` is the default everywhere."""

Prepare = Callable[[Any], tuple[Any, ...]]
"""Makes the arguments of a call from an input, before the clock runs."""

CallerT = TypeVar("CallerT", bound="Caller")
_LOOP_END_S = 5.0
_LONGEST = 300


@dataclass(frozen=True)
class Timed:
    """What one call gave: when it began and ended, its answer, or what it raised."""

    start: float
    end: float
    answer: Any = None
    error: BaseException | None = None

    @property
    def latency_ms(self) -> float:
        """The time of the call."""
        return (self.end - self.start) * 1000


class Caller:
    """Calls a callable and times it.

    What an async callable returns is awaited on one event loop in a thread of its own, shared by all threads that
    call: a client bound to a loop works, and so does a notebook whose own loop is running. A generator is run to its
    end, because its work is part of the call.
    """

    def __init__(self, call: Callable[..., Any], clock: Clock, prepare: Prepare | None = None) -> None:
        if not callable(call):
            msg = f"{call!r} cannot be called; give a function, a method or an object with __call__"
            raise ParamError(msg)
        self._call = call
        self._prepare = prepare or _alone
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004  (whether it is async is the question, not whether it is there)
        )
        self._clock = clock
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self: CallerT) -> CallerT:  # noqa: PYI019  (typing.Self came with Python 3.11)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LOOP_END_S)

    def __call__(self, value: Any) -> Timed:  # noqa: ANN401  (whatever the callable takes)
        """Call it once."""
        if self._is_async:
            timed: Timed = self._await(self._timed(value))
            return timed
        arguments = self._prepare(value)
        start = self._clock()
        try:
            answer = self._call(*arguments)
            if inspect.isawaitable(answer):
                answer = self._await(_finished(answer))
            answer = _whole(answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (all a call can raise is counted and reported)
            return Timed(start, self._clock(), error=error)
        return Timed(start, self._clock(), answer)

    async def _timed(self, value: Any) -> Timed:  # noqa: ANN401  (as above)
        # timed on the loop: handing the call over to its thread is no part of the call
        arguments = self._prepare(value)
        start = self._clock()
        try:
            answer = _whole(await self._call(*arguments))
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  (as above)
            return Timed(start, self._clock(), error=error)
        return Timed(start, self._clock(), answer)

    def _await(self, coroutine: Any) -> Any:  # noqa: ANN401  (a coroutine of ours and what it returns)
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="timed calls", daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


def _alone(value: Any) -> tuple[Any, ...]:  # noqa: ANN401  (whatever the callable takes)
    return (value,)


async def _finished(awaitable: Awaitable[Any]) -> Any:  # noqa: ANN401  (whatever the callable returns)
    try:
        return await awaitable
    except SystemExit as error:  # would end the loop, and with it every other call
        msg = f"SystemExit: {error}"
        raise RuntimeError(msg) from error


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:  # one that refuses to be cancelled stays behind
            loop.run_until_complete(asyncio.wait(tasks, timeout=_LOOP_END_S / 2))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _whole(answer: Any) -> Any:  # noqa: ANN401  (whatever the callable returns)
    return list(answer) if isinstance(answer, Iterator) else answer


@dataclass(frozen=True)
class Failure:
    """All failures of one type: how many, and what the first one said."""

    kind: str
    count: int
    first_message: str


@dataclass(frozen=True)
class Failures:
    """The calls that failed, by type. They are never counted among the latencies."""

    by_kind: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many calls failed."""
        return sum(failure.count for failure in self.by_kind.values())

    def plus(self, kind: str, message: str, count: int = 1) -> Failures:
        """Return them with some more; the first message stays."""
        known = self.by_kind.get(kind, Failure(kind, 0, _one_line(message)))
        return Failures({**self.by_kind, kind: Failure(kind, known.count + count, known.first_message)})

    def to_list(self) -> list[dict[str, Any]]:
        """Return one record per type."""
        return [{"type": f.kind, "count": f.count, "first_message": f.first_message} for f in self.by_kind.values()]

    def __str__(self) -> str:
        return "; ".join(f"{f.count} × {f.kind}: {f.first_message}" for f in self.by_kind.values()) or "none"  # noqa: RUF001  (a times sign)


def _one_line(message: str) -> str:
    """Make a message fit for a table: one line, no control characters, not endless."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(message.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


class Recorder:
    """Collects latencies and failures from several threads, until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self.samples_ms: list[float] = []
        self.sizes: list[int | None] = []
        self.last_end: float | None = None
        self.failures = Failures()

    def add(self, latency_ms: float, size: int | None = None, end: float | None = None) -> None:
        """Take a call that was answered."""
        with self._lock:
            if not self._closed:
                self.samples_ms.append(latency_ms)
                self.sizes.append(size)
                self._ended(end)

    def fail(self, error: BaseException, end: float | None = None) -> None:
        """Take a call that raised."""
        self.fail_as(kind_of(error), str(error) or repr(error), end)

    def fail_as(self, kind: str, message: str, end: float | None = None) -> None:
        """Take a failure that is known by name."""
        with self._lock:
            if not self._closed:
                self.failures = self.failures.plus(kind, message)
                self._ended(end)

    def close(self) -> None:
        """Take nothing more: a call that is still under way comes too late."""
        with self._lock:
            self._closed = True

    def _ended(self, end: float | None) -> None:
        if end is not None:
            self.last_end = end if self.last_end is None else max(self.last_end, end)


def kind_of(error: BaseException) -> str:
    """Return the name of an exception's type, with its module unless it is Python's own."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
