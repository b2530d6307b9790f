"""The SQL of an evaluation, for a warehouse that holds the tables and that nobody connects to from here."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import narwhals as nw
from ir_measures import Measure

from permed_measures.errors import HostError, ParamError, check_choice, did_you_mean, require
from permed_measures.files.parquet import quoted
from permed_measures.profiles import Profile, QuerySet
from permed_measures.ranking import Order
from permed_measures.tables.dialects import DIALECTS, RUN
from permed_measures.tables.engines import BINARY_COLLATIONS, sql_view
from permed_measures.tables.evaluate import Pipeline, evaluate_tables, table_means
from permed_measures.tables.inspection import faulty_rows
from permed_measures.tables.ranking_table import GRADE

Part = Literal["values", "means", "check"]
PARTS: tuple[Part, ...] = get_args(Part)

_NO_32_BIT = ("bigquery", "snowflake", "oracle")
_CAPITALS = ("snowflake", "oracle")


def to_sql(  # noqa: PLR0913  (the options of evaluate_tables, and where the tables are)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    dialect: str = "duckdb",
    part: Part = "values",
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    duplicates: Literal["error", "max"] = "error",
    qrels: str = "qrels",
    run: str = "run",
    qrels_columns: tuple[str, str, str] = ("query_id", "doc_id", "relevance"),
    run_columns: tuple[str, str, str] = ("query_id", "doc_id", "score"),
) -> str:
    """Return the SQL that computes measures from the tables named ``qrels`` and ``run``, in a database's dialect.

    ``part`` is ``'values'`` (one row per query), ``'means'`` (one row), or ``'check'``: statements that should find
    nothing, because SQL does not look for duplicates, NaN, and grades off a measure's scale by itself.
    ``duplicates='max'`` keeps the highest.
    ``profile``, ``min_relevance``, ``queries`` and ``order`` are those of :func:`evaluate`; ``qrels_columns`` and
    ``run_columns`` name columns. Raises ParamError for a dialect or measure that SQL cannot have, HostError without
    Ibis.

    >>> print(to_sql("P@1", part="means", dialect="postgres").splitlines()[0])
    -- P@1 (permed_measures): one row
    """
    check_choice("part", part, PARTS)
    check_choice("duplicates", duplicates, ("error", "max"))
    ibis = require("ibis", extra="tables")
    _check_dialect(ibis, dialect)
    for what, three in (("qrels_columns", qrels_columns), ("run_columns", run_columns)):
        if len(set(three)) != 3:  # noqa: PLR2004  (query, document, number)
            raise ParamError(f"{what}={three!r} is not allowed; give three different names: query, document and number")
    judged, returned = _unbound(ibis, qrels, qrels_columns, dialect), _unbound(ibis, run, run_columns, dialect)
    options: dict[str, Any] = {"profile": profile, "min_relevance": min_relevance, "queries": queries}
    options |= {"order": order, "qrels_columns": qrels_columns, "run_columns": run_columns}
    if part == "check" and measures is None and profile is None:
        measures = "P@1"  # defined for every grade
    if part == "check":
        pipeline = Pipeline.of(judged, returned, measures, **options)
        return _check_sql(ibis, dialect, pipeline)
    values = evaluate_tables(judged, returned, measures, duplicates=duplicates, check_input=False, **options)
    names = list(values.columns)[1:]
    rows = "one row per query" if part == "values" else "one row"
    head = [f"{' '.join(names)} (permed_measures): {rows}", *_warnings(dialect, order)]
    if duplicates == "error":
        head.append("Duplicates, NaN and grades off the scale are not looked for here: to_sql(part='check') does that.")
    return _written(ibis, values if part == "values" else table_means(values), dialect, head)


def _unbound(ibis: Any, name: str, columns: tuple[str, str, str], dialect: str) -> Any:  # noqa: ANN401  (Ibis's)
    query, doc, value = columns
    database, _, table = name.rpartition(".")
    # said to be whole numbers, so that casts are written out: ids to text, or numbers would be ordered as numbers, and
    # the number to a float, or a decimal would be divided with six digits
    schema = {query: "int64", doc: "int64", value: "int64"}
    catalog, _, database = database.rpartition(".")
    plain = ibis.table(schema, name=table, catalog=catalog or None, database=database or None)
    if dialect not in BINARY_COLLATIONS:
        return plain
    ids = [f"CAST({quoted(column)} AS TEXT) COLLATE {BINARY_COLLATIONS[dialect]}" for column in (query, doc)]
    shown = zip(columns, [*ids, f"CAST({quoted(value)} AS DOUBLE PRECISION)"], strict=True)
    place = ".".join(quoted(part) for part in (catalog, database, table) if part)
    text = f"SELECT {', '.join(f'{column} AS {quoted(name)}' for name, column in shown)} FROM {place}"  # noqa: S608  (quoted)
    return sql_view(plain, text, ibis.schema({query: "string", doc: "string", value: "float64"}))


def _check_dialect(ibis: Any, dialect: str) -> None:  # noqa: ANN401  (Ibis's)
    from importlib.metadata import entry_points  # noqa: PLC0415  (only for SQL)

    known = {point.name for point in entry_points(group="ibis.backends")} - {"polars", "pyspark"} | {"spark"}
    if dialect not in known:
        written = sorted(known & DIALECTS.keys())
        msg = f"dialect={dialect!r} is not one that Ibis {ibis.__version__} writes.{did_you_mean(dialect, written)}"
        raise ParamError(f"{msg} It can write {', '.join(written)}")


def _warnings(dialect: str, order: Order) -> list[str]:
    warnings = []
    if dialect in _NO_32_BIT and order == "float32":
        warnings.append(
            f"{dialect} has no 32-bit numbers: scores that differ only beyond them are ties elsewhere, not here."
        )
    if dialect in _CAPITALS:
        warnings.append(f"Names are in quotes: what {dialect} was given without quotes has its name in capitals there.")
    if dialect not in BINARY_COLLATIONS:
        warnings.append("Ids must compare byte by byte: give their columns a binary collation if they have another.")
    if DIALECTS.get(dialect) != RUN:
        warnings.append(
            f"Nobody has run this on {dialect} for permed_measures: compare a few values before you rely on it."
        )
    return warnings


def _check_sql(ibis: Any, dialect: str, pipeline: Pipeline) -> str:  # noqa: ANN401  (Ibis's)
    statements = []
    for table in (pipeline.qrels, pipeline.run):
        said = [f"rows of the {table.what} that make values wrong: none should be"]
        statements.append(_written(ibis, nw.to_native(faulty_rows(table)), dialect, said))
        for measure in pipeline.plan.by_kernel.values() if table is pipeline.qrels else ():
            suspect = measure.refuses(nw.col(GRADE))
            if suspect is not None:
                said = [f"grades that {measure} is not defined for: none should be"]
                statements.append(_written(ibis, nw.to_native(table.rows.filter(suspect)), dialect, said))
    return ";\n\n".join(statements)


def _written(ibis: Any, expression: Any, dialect: str, head: list[str]) -> str:  # noqa: ANN401  (Ibis's)
    try:
        sql = str(ibis.to_sql(expression, dialect="databricks" if dialect == "spark" else dialect))
    except (ibis.common.exceptions.IbisError, NotImplementedError, ValueError, AttributeError, ImportError) as error:
        raise HostError(f"Ibis cannot write this for {dialect}: {str(error).splitlines()[0]}") from error
    return "\n".join([*(f"-- {' '.join(line.split())}" for line in head), sql])
