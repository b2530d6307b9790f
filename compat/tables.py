"""Grids as tables of every engine that runs within this process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from compat.corpora.corpus import Grid

Names = tuple[str, str, str]

_OPEN: list[Any] = []
"""Before DuckDB 2.0 a relation does not keep its connection open."""


def columns(names: Names, grid: Grid) -> dict[str, list[Any]]:
    """Return a grid as three columns; numbers as floats, so that a column has one type."""
    rows = [
        (query_id, doc_id, float(value)) for query_id, of_query in grid.items() for doc_id, value in of_query.items()
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _polars(qrels_names: Names, qrels: Grid, run_names: Names, run: Grid) -> tuple[Any, Any]:
    polars = import_module("polars")
    text, number = polars.String, polars.Float64
    return tuple(
        polars.LazyFrame(columns(names, grid), schema=dict(zip(names, (text, text, number), strict=True)))
        for names, grid in ((qrels_names, qrels), (run_names, run))
    )  # type: ignore[return-value]  # two of them


def _pandas(qrels_names: Names, qrels: Grid, run_names: Names, run: Grid) -> tuple[Any, Any]:
    pandas = import_module("pandas")
    return pandas.DataFrame(columns(qrels_names, qrels)), pandas.DataFrame(columns(run_names, run))


def _arrow(qrels_names: Names, qrels: Grid, run_names: Names, run: Grid) -> tuple[Any, Any]:
    return tuple(frame.collect().to_arrow() for frame in _polars(qrels_names, qrels, run_names, run))  # type: ignore[return-value]  # two


def _duckdb(qrels_names: Names, qrels: Grid, run_names: Names, run: Grid) -> tuple[Any, Any]:
    return tuple(duckdb_relations(*_arrow(qrels_names, qrels, run_names, run)))  # type: ignore[return-value]  # two


def duckdb_relations(*tables: Any) -> list[Any]:
    """Return Arrow tables as relations of one connection."""
    connection = import_module("duckdb").connect()
    _OPEN.append(connection)
    return [connection.from_arrow(table) for table in tables]


def _ibis(qrels_names: Names, qrels: Grid, run_names: Names, run: Grid) -> tuple[Any, Any]:
    ibis = import_module("ibis")
    return tuple(ibis.memtable(table) for table in _arrow(qrels_names, qrels, run_names, run))  # type: ignore[return-value]  # two


TABLES: dict[str, Callable[[Names, Grid, Names, Grid], tuple[Any, Any]]] = {
    "polars": _polars,
    "duckdb": _duckdb,
    "pandas": _pandas,
    "ibis": _ibis,
}
