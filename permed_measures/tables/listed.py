"""What the compiled part finds in one pass over a table: its lists, the best of each, and that all rows differ."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import narwhals as nw

from permed_measures.ranking import compiled_part
from permed_measures.tables.engines import can_receive, received, size_of
from permed_measures.tables.ranking_table import DOC, GRADE, ONE, SCORE, list_keys

BEST = "best"
_AT_ONCE = 2**17
_MOST = 2**24
"""So many rows are looked at here: each takes 8 bytes, and DuckDB may have little memory. Polars is not asked."""
_SHARE = 0.75
"""Of the memory that DuckDB may use: it only reads meanwhile."""
_ANY = sys.maxsize
"""More than there is: Polars says neither how many rows it has nor what memory it may use."""


class Listed(NamedTuple):
    """The lists of a table no two rows of which are the same, each with ids and a number."""

    num_rows: int
    num_lists: int
    lists: nw.LazyFrame[Any]
    """A row for each list: how many rows it has, and its best numbers, descending, as many as were asked for; or, where
    one was asked for, that number."""
    near: nw.LazyFrame[Any] | None
    """The rows that are not below the lowest of those, in 32 bits; None where these are not much less than all."""


class _Sent:
    """A table that comes from the compiled part, to whoever asks by Arrow."""

    def __init__(self, capsule: Any) -> None:  # noqa: ANN401  (of the compiled part)
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:  # noqa: ANN401  (Arrow's name, and a capsule)
        return compiled_part().arrow_stream(self.capsule)


@contextmanager
def listed(rows: nw.LazyFrame[Any], most: int, value: str = SCORE) -> Iterator[Listed | None]:
    """Find the lists of a table in DuckDB or Polars, the highest numbers of each, and that all rows differ.

    ``value`` is the column of the number: a score that is not NaN, or a grade that is finite. None is what is not
    certain, or has no fast way: two rows may be the same, one lacks an id or a number, there is no compiled part, or
    DuckDB cannot be sent anything. Both engines take several times as long to group rows that are all different as
    it takes to compare their hashes here.
    """
    compiled, kind = compiled_part(), rows.implementation
    if compiled is None or not (kind.is_polars() or kind.is_duckdb()) or not can_receive(rows):
        yield None
        return
    sent = _sent_by_polars(rows, value) if kind.is_polars() else _sent_by_duckdb(rows, value)
    wanted = sent.num_rows // 2 if most and value == SCORE else 0  # more is not worth it
    try:
        found = sent.streams and compiled.best_lists(sent.streams, most, wanted, value == GRADE, sent.memory)
    except InterruptedError as error:  # which C knows by its text
        raise nw.get_native_namespace(rows).InterruptException(str(error)) from None
    if not found:
        yield None
        return
    num_rows, num_lists, *answers = found
    lists, near = (_Sent(answer) for answer in answers)
    names = {key: key for key in list_keys(rows)}
    of_lists = {value: BEST} if most == 1 else {ONE: "rows", BEST: BEST}
    with ExitStack() as stack:
        table = stack.enter_context(received(rows, lists, **names, **of_lists))
        left = None
        if near.capsule is not None:
            left = stack.enter_context(received(rows, near, **names, **{DOC: DOC, value: "number"}))
        lists.capsule = near.capsule = None
        del sent, found, answers  # what they hold is the engine's now
        yield Listed(num_rows, num_lists, table, left)


class _Streams(NamedTuple):
    """What an engine sends: streams of Arrow, none where it is too much; how many rows; what memory may be taken."""

    streams: Any
    num_rows: int
    memory: int


def _sent_by_polars(rows: nw.LazyFrame[Any], value: str) -> _Streams:
    polars, native = nw.get_native_namespace(rows), nw.to_native(rows)
    asked = native.select(*list_keys(rows), DOC, polars.col(value).cast(polars.Float64))
    if hasattr(asked, "collect_batches"):
        parts = asked.collect_batches(maintain_order=False)
    else:
        parts = asked.collect().iter_slices(_AT_ONCE)  # a table as a whole would be copied
    return _Streams((part.__arrow_c_stream__() for part in parts), _ANY, _ANY)


def _sent_by_duckdb(rows: nw.LazyFrame[Any], value: str) -> _Streams:
    native = nw.to_native(rows)
    number, _, memory = size_of(native)
    asked = native.project(f"{', '.join(list_keys(rows))}, {DOC}, {value}::DOUBLE AS {value}")
    return _Streams([asked.__arrow_c_stream__()] if number <= _MOST else [], number, min(int(memory * _SHARE), _ANY))
