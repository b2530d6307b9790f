"""The dialects of SQL that can be written, and what our tests do with the text."""

RUN, PARSED = "run", "parsed"
"""It is run in the engine itself, or only read by a parser of that dialect."""
DIALECTS = dict.fromkeys(("duckdb", "postgres", "spark", "clickhouse", "datafusion"), RUN) | dict.fromkeys(
    ("athena", "bigquery", "databricks", "impala", "materialize", "oracle", "risingwave", "snowflake", "trino"), PARSED
)
