"""Rows and lists of tables, counted: of every system where there are several."""

from collections.abc import Collection
from typing import Any

import narwhals as nw

from permed_measures.notes import NAMED, Queries
from permed_measures.tables.engines import fetch
from permed_measures.tables.ranking_table import ONE, QUERY, SYSTEM, list_keys, queries_of, with_one


def full_join(left: nw.LazyFrame[Any], right: nw.LazyFrame[Any], keys: list[str]) -> nw.LazyFrame[Any]:
    """Join and keep the rows of both; keys that only the right side has are there, too."""
    joined = left.join(right, on=keys, how="full", suffix="_of_right")
    others = [f"{key}_of_right" for key in keys]
    return joined.with_columns(*[nw.coalesce(key, f"{key}_of_right").alias(key) for key in keys]).drop(*others)


def systems_of(run: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the name of every system once."""
    return run.group_by(SYSTEM).agg(nw.len().alias(ONE)).select(SYSTEM)


def sums_by_system(rows: nw.LazyFrame[Any], columns: Collection[str]) -> dict[str | None, dict[str, int]]:
    """Sum columns up for every system; for None where there is but one run."""
    sums = [nw.col(name).sum() for name in columns]
    if SYSTEM not in rows.collect_schema().names():
        return {None: one_row(rows.select(*sums))}
    found = fetch(rows.group_by(SYSTEM).agg(*sums).select(SYSTEM, *columns))
    return {
        system: dict(zip(columns, (int(n or 0) for n in counts), strict=True))
        for system, *counts in sorted(found, key=str)
    }


def some_lists(lists: nw.LazyFrame[Any]) -> dict[str | None, Queries]:
    """Count the lists of every system, or of None, and name the first queries by id."""
    if list_keys(lists) == [QUERY]:
        return {None: some_queries(lists)}
    numbers = sums_by_system(with_one(lists), (ONE,))
    place = nw.col(ONE).cum_count().over(SYSTEM, order_by=QUERY)
    first = with_one(lists).with_columns(place=place).filter(nw.col("place") <= NAMED).select(SYSTEM, QUERY)
    named: dict[str, list[str]] = {}
    for system, query in sorted(fetch(first)):
        named.setdefault(system, []).append(query)
    return {system: Queries(counts[ONE], tuple(named[system or ""])) for system, counts in numbers.items()}


def some_queries(rows: nw.LazyFrame[Any]) -> Queries:
    """Count the queries of some rows, and name the first by id."""
    queries = queries_of(rows)
    number = one_row(with_one(queries).select(nw.col(ONE).sum()))[ONE]
    return Queries(number, tuple(query for (query,) in fetch(queries.sort(QUERY).head(NAMED))) if number else ())


def one_row(frame: nw.LazyFrame[Any]) -> dict[str, int]:
    """Fetch sums, where there is one row of them; 0 for what is missing."""
    (row,) = fetch(frame)
    return {name: int(count or 0) for name, count in zip(frame.collect_schema().names(), row, strict=True)}
