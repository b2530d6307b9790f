"""Hashes of query and document: where all of them differ, so do all rows. A hash only clears, it never accuses."""

from functools import reduce
from math import log
from operator import and_, xor
from typing import Any, NamedTuple

import narwhals as nw

from permed_measures.errors import require
from permed_measures.ranking import compiled_part
from permed_measures.tables.engines import HASH, size_of
from permed_measures.tables.ranking_table import DOC, ONE, QUERY, SCORE, SYSTEM, list_keys

_MOST, _BYTES = 2**24, 24
"""So many are compared here, and what each takes: the engine's, its numpy array, and our copy."""
_LIST_BITS = 20
"""So many bits of a hash are those of the list: enough to count lists; the others still tell its documents apart."""


class Different(NamedTuple):
    """How many rows there are, no two the same, and about how many lists, where the engine needs to know."""

    rows: int
    lists: float | None


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


def all_differ(rows: nw.LazyFrame[Any], *, scored: bool = True) -> Different | None:
    """Find out that all rows of a run have ids and a number, and no two the same ids; None where that is not certain.

    ``scored=False`` leaves the number to others. Both engines take several times as long to group numbers that are all
    different as it takes to compare them here.
    """
    keys, native = list_keys(rows), nw.to_native(rows)
    ids = [*keys, DOC]
    if rows.implementation.is_polars():
        column, when = nw.get_native_namespace(rows).col, nw.get_native_namespace(rows).when
        pair = reduce(xor, (column(name).hash(seed) for seed, name in enumerate(ids)))
        fine = reduce(and_, (column(name) != "" for name in ids), ~column(SCORE).is_nan())
        found = native.select(when(fine).then(pair).alias(HASH)).collect()[HASH]
        return Different(len(found), None) if not found.null_count() and _are_different(found.to_numpy()) else None
    if not rows.implementation.is_duckdb():
        return None
    number, _, memory = size_of(native)
    if number > _MOST or number * _BYTES > memory / 2:
        return None
    given = " AND ".join([*(f"{name} <> ''" for name in ids), *([f"NOT isnan({SCORE})"] if scored else [])])
    bits = 2**64 - 2 ** (64 - _LIST_BITS)
    hashed = f"(hash({', '.join(keys)}) & {bits}::UBIGINT) | (hash({', '.join(ids)}) >> {_LIST_BITS})"
    hashes = native.project(f"CASE WHEN {given} THEN {hashed} END AS {HASH}").fetchnumpy()[HASH]
    numpy = require("numpy", extra="tables")
    if numpy.ma.isMaskedArray(hashes) or not _are_different(hashes):
        return None
    places = 1 << _LIST_BITS
    taken = numpy.zeros(places, bool)
    taken[(hashes >> numpy.uint64(64 - _LIST_BITS)).view(numpy.int64)] = True
    return Different(number, places * log(places / max(1, places - int(taken.sum()))))


def _are_different(hashes: Any) -> bool:  # noqa: ANN401  (an array of numpy)
    compiled = compiled_part()
    if compiled is not None:
        return bool(compiled.all_differ(bytearray(hashes)))
    hashes = hashes.copy()
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()
