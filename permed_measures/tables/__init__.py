"""The same measures on tables, for more rows than one process holds: DuckDB, Polars, Spark, Ibis, pandas.

Rows stay in their engine. What is written here is one set of Narwhals expressions; the engine joins, orders and sums.
"""

from permed_measures.errors import require

require("narwhals", extra="tables")

from permed_measures.tables.evaluate import evaluate_tables, known_measures, table_means  # noqa: E402  (they import Narwhals)
from permed_measures.tables.inspection import TableFacts, inspect_tables  # noqa: E402  (likewise)
from permed_measures.tables.sql import to_sql  # noqa: E402  (likewise)

__all__ = ["TableFacts", "evaluate_tables", "inspect_tables", "known_measures", "table_means", "to_sql"]
