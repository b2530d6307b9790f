"""The same measures on tables, for more rows than one process holds: DuckDB, Polars, Spark, Ibis, pandas.

Rows stay in their engine. What is written here is one set of Narwhals expressions; the engine joins, orders and sums.
Narwhals is imported on first use.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from permed_measures.errors import require

if TYPE_CHECKING:
    from permed_measures.evaluate import Evaluation
    from permed_measures.tables.evaluate import evaluate_tables as evaluate_tables
    from permed_measures.tables.evaluate import known_measures as known_measures
    from permed_measures.tables.evaluate import table_means as table_means
    from permed_measures.tables.files import evaluate_files as evaluate_files
    from permed_measures.tables.files import evaluate_systems as evaluate_systems
    from permed_measures.tables.files import table_of as table_of
    from permed_measures.tables.inspection import TableFacts as TableFacts
    from permed_measures.tables.inspection import inspect_tables as inspect_tables
    from permed_measures.tables.sql import to_sql as to_sql

_LATER = {
    **dict.fromkeys(("evaluate_tables", "known_measures", "table_means"), "evaluate"),
    **dict.fromkeys(("TableFacts", "inspect_tables"), "inspection"),
    **dict.fromkeys(("evaluate_files", "evaluate_systems", "table_of"), "files"),
    "to_sql": "sql",
}


@dataclass(frozen=True)
class EngineRun:
    """A run that stays in its engine: what it reached, and its documents in order, for those who ask."""

    evaluation: "Evaluation"
    lists: Callable[[int | None], Iterator[tuple[str, list[str]]]]
    """Given a depth: every query and its documents, sorted by query."""


def stays_in_engine(source: object) -> bool:
    """Whether it is a table that is evaluated where it is: DuckDB's, Spark's, one of Ibis, a LazyFrame of Polars."""
    kind = type(source)
    return kind.__module__.partition(".")[0] in ("duckdb", "_duckdb", "pyspark", "ibis") or kind.__name__ == "LazyFrame"


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a function or class of this package)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("narwhals", extra="tables")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
