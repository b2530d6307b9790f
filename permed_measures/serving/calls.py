"""One call with its time and what it raised: sync or async, from any thread, on one event loop from first to last."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from permed_measures.errors import ParamError

NOT_STARTED, NOT_FINISHED, NOT_CALLED, BAD_ANSWER = "NotStarted", "NotFinished", "NotCalled", "a bad answer"
TIMEOUT_S = 30.0
_LOOP_END_S, _LONGEST = 2.0, 300

Clock = Callable[[], float]
"""Returns seconds that never run backwards; ``time.perf_counter`` is the default everywhere."""
Prepare = Callable[[Any], tuple[Any, ...]]  # makes the arguments of a call from an input, before the clock runs


@dataclass(frozen=True)
class Timed:
    """What one call gave: when it began and ended, its answer, or what it raised."""

    start: float
    end: float
    answer: Any = None
    error: BaseException | None = None


class Caller:
    """Calls a callable and times it, while it is open as a context manager.

    What an async callable returns is awaited on one event loop in a thread of its own, from the first call to the last
    and for all threads that call: a client bound to a loop works, and so does a notebook whose own loop is running. One
    without parameters is a factory: it returns the callable, or a context manager that gives it, async or not, entered
    here and left at the end. A generator is run to its end. An async call has no more than ``timeout_s``.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        clock: Clock,
        prepare: Prepare | None = None,
        timeout_s: float | None = TIMEOUT_S,
    ) -> None:
        if timeout_s is not None and not 0 < timeout_s < threading.TIMEOUT_MAX:
            raise ParamError(f"timeout_s={timeout_s!r} is not allowed; give seconds > 0, or None for no limit")
        self.timeout_s = timeout_s
        self._factory = call if is_factory(call) else None
        self._call = _callable(call)
        self._prepare = prepare or (lambda value: (value,))
        self._clock = clock
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held = ExitStack()

    @property
    def is_async(self) -> bool:
        """Whether a call is a coroutine, which can be cancelled."""
        called = getattr(self._call, "__call__", None)  # noqa: B004  (whether it is async is the question)
        return inspect.iscoroutinefunction(self._call) or inspect.iscoroutinefunction(called)

    def late(self) -> "CallError":
        """Return what a call that had no answer within its time has for an error."""
        return CallError(NOT_FINISHED, f"no answer within {self.timeout_s:g} s")

    def __enter__(self) -> "Caller":  # noqa: PYI034  (typing.Self came with Python 3.11)
        if self._factory is None:
            return self
        try:
            made = self._factory()
            if inspect.isawaitable(made):
                made = self._await(_awaited(made), self.timeout_s)
            if hasattr(made, "__aenter__"):
                made = self._entered(made)
            elif hasattr(made, "__enter__"):
                made = self._held.enter_context(made)
            self._call = _callable(made)
        except (Exception, SystemExit) as error:
            self._held.close()
            if isinstance(error, ParamError):
                raise
            name = getattr(self._factory, "__qualname__", repr(self._factory))
            raise ParamError(f"the factory {name} raised {type(error).__name__}: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def __call__(self, value: Any) -> Timed:  # noqa: ANN401  (whatever the callable takes)
        """Call it once."""
        arguments = self._prepare(value)
        if self.is_async:
            timed: Timed = self._await(self._within(lambda: self._call(*arguments)))
            return timed
        start = self._clock()
        try:
            answer = self._call(*arguments)
            if inspect.isawaitable(answer):
                awaited: Timed = self._await(self._within(lambda: answer))
                return Timed(start, awaited.end, awaited.answer, awaited.error)
            answer = _whole(answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (all a call can raise is counted and reported)
            return Timed(start, self._clock(), error=error)
        return Timed(start, self._clock(), answer)

    async def _within(self, make: Callable[[], Awaitable[Any]]) -> Timed:
        # timed on the loop: handing the call over to its thread is no part of the call
        begun = self._clock()
        task = asyncio.ensure_future(self._timed(make))
        await asyncio.wait({task}, timeout=self.timeout_s)
        if task.done():
            return task.result()
        task.cancel()
        return Timed(begun, self._clock(), error=self.late())

    async def _timed(self, make: Callable[[], Awaitable[Any]]) -> Timed:
        start = self._clock()
        try:
            answer = _whole(await make())
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  (as above; an exit would end the loop)
            return Timed(start, self._clock(), error=error)
        return Timed(start, self._clock(), answer)

    def _entered(self, manager: Any) -> Any:  # noqa: ANN401  (an async context manager, and what it gives)
        """Enter it, and leave it in the task that entered it, which waits in between."""
        loop, ready, leave = self._started(), Future[Any](), asyncio.Event()

        async def hold() -> None:
            try:
                async with manager as given:
                    ready.set_result(given)
                    await leave.wait()
            except Exception as error:
                if ready.done():
                    raise
                ready.set_exception(error)

        holding = asyncio.run_coroutine_threadsafe(hold(), loop)

        def left() -> None:
            loop.call_soon_threadsafe(leave.set)
            with suppress(Exception):  # a client that cannot be closed, or a loop that is blocked, is left behind
                holding.result(2 * _LOOP_END_S)

        self._held.callback(left)
        return ready.result(self.timeout_s)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run, args=(self._loop,), name="timed calls", daemon=True)
                thread.start()
                self._held.callback(thread.join, _LOOP_END_S)
                self._held.callback(self._loop.call_soon_threadsafe, self._loop.stop)
            return self._loop

    def _await(self, coroutine: Coroutine[Any, Any, Any], limit_s: float | None = None) -> Any:  # noqa: ANN401  (what it returns)
        return asyncio.run_coroutine_threadsafe(coroutine, self._started()).result(limit_s)


def is_factory(call: Any) -> bool:  # noqa: ANN401  (anything)
    """Whether a callable takes nothing, so that it can only be the maker of the one to be called."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return False
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return all(p.kind in by_name and (p.default is not p.empty or p.kind is by_name[1]) for p in parameters)


def _callable(found: Any) -> Callable[..., Any]:  # noqa: ANN401  (checked here)
    if not callable(found):
        raise ParamError(f"{found!r} cannot be called; give a function, a method or an object with __call__")
    called: Callable[..., Any] = found
    return called


async def _awaited(awaitable: Awaitable[Any]) -> Any:  # noqa: ANN401  (whatever it gives)
    return await awaitable


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


class Failed(NamedTuple):
    """One call that failed. ``wait_ms``: how long it was waited for, where no end of it was seen."""

    kind: str
    message: str
    size: int | None = None
    wait_ms: float | None = None


@dataclass(frozen=True)
class Failure:
    """All failures of one type: how many, and what the first one said."""

    kind: str
    count: int
    first_message: str


@dataclass(frozen=True)
class Failures:
    """The calls that failed. They are never counted among the latencies."""

    each: tuple[Failed, ...] = ()

    @cached_property
    def by_kind(self) -> Mapping[str, Failure]:
        """Return them by type."""
        found: dict[str, list[str]] = {}
        for failed in self.each:
            found.setdefault(failed.kind, []).append(failed.message)
        return {kind: Failure(kind, len(said), _one_line(said[0])) for kind, said in found.items()}

    @property
    def total(self) -> int:
        """How many calls failed."""
        return len(self.each)

    def to_list(self) -> list[dict[str, Any]]:
        """Return one record per type."""
        return [{"type": f.kind, "count": f.count, "first_message": f.first_message} for f in self.by_kind.values()]

    def __str__(self) -> str:
        return "; ".join(f"{f.count} × {f.kind}: {f.first_message}" for f in self.by_kind.values()) or "none"  # noqa: RUF001  (a times sign)


class CallError(Exception):
    """A failure that has a name of its own."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _one_line(message: str) -> str:
    """Make a message fit for a table: one line, no control characters, not endless."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(message.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def kind_of(error: BaseException) -> str:
    """Return the name of an exception's type, with its module unless it is Python's own."""
    kind = type(error)
    if isinstance(error, CallError):
        return error.kind
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
