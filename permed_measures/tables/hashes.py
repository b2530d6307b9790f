"""Hashes of query and document: where all of them differ, so do all rows. A hash only clears, it never accuses."""

from functools import reduce
from math import log
from operator import and_, xor
from typing import Any, NamedTuple

import narwhals as nw

from permed_measures.errors import require
from permed_measures.tables.engines import HASH, size_of
from permed_measures.tables.ranking_table import DOC, GRADE, ONE, QUERY, SCORE, SYSTEM, list_keys

_MOST, _BYTES = 2**24, 24
"""So many are compared here, and what each takes at most: without the compiled part, two arrays and what fills them."""
_LIST_BITS = 20
"""So many bits of a hash are those of the list alone: enough to count lists; the others tell its documents apart."""


class Different(NamedTuple):
    """How many rows there are, no two the same, and about how many lists, where the engine needs to know."""

    rows: int
    num_lists: float | None
    lists: nw.LazyFrame[Any] | None = None
    """Every list and how many rows it has, where that is known."""


def with_hashes(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any] | None:
    """Add a hash of each pair of query and document, and a column to count; None where the engine has no hashes.

    Where all hashes differ, all pairs do: that is found out in half the time, and in little memory.
    """
    native = nw.to_native(rows)
    if rows.implementation.is_polars():
        column, one = nw.get_native_namespace(rows).col, nw.get_native_namespace(rows).lit(1)
        pair = column(QUERY).hash(1) ^ column(DOC).hash(2)
        pair = pair ^ column(SYSTEM).hash(3) if SYSTEM in list_keys(rows) else pair
        hashed = native.with_columns(pair.alias(HASH), one.alias(ONE))
    elif rows.implementation.is_duckdb():
        hashed = native.project(f"*, hash({', '.join((*list_keys(rows), DOC))}) AS {HASH}, 1 AS {ONE}")
    else:
        return None
    frame: nw.LazyFrame[Any] = nw.from_native(hashed)
    return frame


def all_differ(rows: nw.LazyFrame[Any], value: str = SCORE, *, nan: bool = False) -> Different | None:
    """Find out that all rows have ids and a number, and no two the same ids; None where that is not certain.

    ``value`` is the column of the number: a score that is not NaN, unless ``nan`` says that others look for it, or a
    grade that is finite. This is the plain way; listed.py has a faster one.
    """
    keys, native = list_keys(rows), nw.to_native(rows)
    ids = [*keys, DOC]
    if rows.implementation.is_polars():
        column, when = nw.get_native_namespace(rows).col, nw.get_native_namespace(rows).when
        pair = reduce(xor, (column(name).hash(seed) for seed, name in enumerate(ids)))
        fine = [column(name) != "" for name in ids]
        fine.append(column(value).is_finite() if value == GRADE else ~column(value).is_nan())
        found = _differing(native.select(when(reduce(and_, fine)).then(pair).alias(HASH)).collect(), 1)
        return found and Different(found[0], None)
    if not rows.implementation.is_duckdb():
        return None
    number, given, memory = size_of(native, f"count({value})")
    if given < number or number > _MOST or number * _BYTES > memory / 2:
        return None
    wanted = [f"{name} <> ''" for name in ids]
    if not nan:
        wanted.append(f"isfinite({value})" if value == GRADE else f"NOT isnan({value})")
    hashed = f"xor(hash({', '.join(keys)}), hash({DOC}) >> {_LIST_BITS})"
    found = _differing(native.project(f"CASE WHEN {' AND '.join(wanted)} THEN {hashed} END AS {HASH}"), _LIST_BITS)
    places = 1 << _LIST_BITS
    return found and Different(found[0], places * log(places / max(1, places - found[1])))


def _differing(table: Any, bits: int) -> tuple[int, int] | None:  # noqa: ANN401  (DuckDB's or Polars', of one column)
    """Return how many hashes there are, and how many different first bits; None where two are equal, or one is null."""
    numpy = require("numpy", extra="tables")
    if hasattr(table, "fetchnumpy"):
        hashes = table.fetchnumpy()[HASH]
        if numpy.ma.isMaskedArray(hashes):
            return None
    elif table[HASH].null_count():
        return None
    else:
        hashes = table[HASH].to_numpy()
    hashes = numpy.sort(hashes)
    if (hashes[1:] == hashes[:-1]).any():
        return None
    lists = hashes >> numpy.uint64(64 - bits)
    return len(hashes), int((lists[1:] != lists[:-1]).sum()) + bool(len(lists))
