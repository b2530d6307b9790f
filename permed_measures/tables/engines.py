"""What one Narwhals expression cannot say to every engine: collations, the top of each list, names with dots."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from typing import Any

import narwhals as nw

from permed_measures.errors import require
from permed_measures.tables.ranking_table import DOC, ONE, RANK, SCORE, list_keys, with_one

HASH = "hash"
_AT_ONCE = 10_000

BINARY_COLLATIONS = {"postgres": '"C"', "duckdb": "C"}
"""What Ibis calls a database, and how it names the order of bytes."""
_VIEWS = count()
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
MOST_BEST = 999_999
"""DuckDB's max(…, n) takes no more."""
_WITHOUT_PYARROW = 2
"""The first version of DuckDB that is sent tables without it."""
_MOST_ROWS = 2**32 - 1
"""Polars numbers no more of them."""


def can_be_joined(left: nw.LazyFrame[Any], right: nw.LazyFrame[Any]) -> bool:
    """Whether two tables of one engine can meet: those of two connections to DuckDB cannot."""
    if not left.implementation.is_duckdb():
        return True
    try:
        nw.to_native(left).set_alias("left").cross(nw.to_native(right).set_alias("right"))  # nothing is computed
    except nw.get_native_namespace(left).InvalidInputException:
        return False
    return True


def compare_bytes(frame: nw.LazyFrame[Any], *columns: str) -> nw.LazyFrame[Any]:
    """Make text columns compare byte by byte, whatever collation the table or the database has.

    A case-insensitive one would take the documents "a" and "A" for one, and a language's would order them otherwise.
    Spark takes it off with a cast to text; behind Ibis, databases that are not named here keep their own.
    """
    if frame.implementation.is_ibis():
        return _compare_bytes_behind_ibis(nw.to_native(frame), columns)
    if not frame.implementation.is_duckdb():
        return frame.with_columns(nw.col(*columns).cast(nw.String))
    relation = nw.to_native(frame)
    shown = [f"{name} COLLATE C AS {name}" if name in columns else name for name in relation.columns]
    return lazy_frame(relation.project(", ".join(shown)))


def _compare_bytes_behind_ibis(table: Any, columns: tuple[str, ...]) -> nw.LazyFrame[Any]:  # noqa: ANN401  (Ibis's)
    ibis = require("ibis", extra="tables")
    try:
        collation = BINARY_COLLATIONS.get(table.get_backend().name)
    except ibis.common.exceptions.IbisError:  # a table without a database, for to_sql(), which knows the dialect
        collation = None
    if collation is None:
        return lazy_frame(table)
    view = table.alias(f"permed_as_text_{next(_VIEWS)}")
    shown = [f'"{name}" COLLATE {collation} AS "{name}"' if name in columns else f'"{name}"' for name in table.columns]
    return lazy_frame(sql_view(view, f'SELECT {", ".join(shown)} FROM "{view.get_name()}"', view.schema()))  # noqa: S608  (ours)


def sql_view(parent: Any, query: str, schema: Any) -> Any:  # noqa: ANN401  (Ibis's)
    """Return an Ibis table that is written as this text: its own way asks a database for the types."""
    operations = require("ibis.expr.operations", extra="tables")
    return operations.SQLStringView(parent.op(), query, schema).to_expr()


def with_unknown_numbers(frame: nw.LazyFrame[Any], column: str) -> nw.LazyFrame[Any]:
    """Keep DuckDB from believing parquet's statistics, which leave NaN out: it would take isnan() for false.

    Of a function of constants it knows the value, and a column whose statistics have one value is one. So something
    random takes part, which changes no number: NaN is the greatest to DuckDB.
    """
    if not frame.implementation.is_duckdb():
        return frame
    relation = nw.to_native(frame)
    opaque = [f"greatest({n}::DOUBLE, {n}::DOUBLE - random()) AS {n}" if n == column else n for n in relation.columns]
    return lazy_frame(relation.project(", ".join(opaque)))


def rank_run(run: nw.LazyFrame[Any], depth: int | None, *, narrowed: bool = False) -> nw.LazyFrame[Any]:
    """Rank documents, by score, then by id, both descending; keep those down to ``depth``.

    ``narrowed`` says that little more is left.
    """
    keys = list_keys(run)
    if run.implementation.is_spark_like():
        return _rank_in_spark(nw.to_native(run), keys, depth)
    if depth is not None and not narrowed and not run.implementation.is_duckdb():
        # by the bare number first: a document with that many better ones is below the depth
        run = _best_in_polars(run, depth) if run.implementation.is_polars() else _best(run, depth)
    if run.implementation.is_duckdb():  # which orders in files where memory ends
        ranked = _down_to(nw.to_native(run).project(f"{', '.join(keys)}, {DOC}, {_place(keys)}"), depth)
        return lazy_frame(ranked.project(f"{', '.join(keys)}, {DOC}, place::DOUBLE AS {RANK}"))
    # counted from the end of the ascending order, because an order has one direction here
    place = nw.col(ONE).cum_count(reverse=True).over(*keys, order_by=[SCORE, DOC])
    ranked = with_one(run).with_columns(place.cast(nw.Float64).alias(RANK)).select(*keys, DOC, RANK)
    return ranked if depth is None else ranked.filter(nw.col(RANK) <= depth)


def highest_scores(run: nw.LazyFrame[Any], number: int) -> nw.LazyFrame[Any]:
    """Return the highest scores of each list, and more where some are equal: its keys and score."""
    keys, native = list_keys(run), nw.to_native(run)
    if run.implementation.is_duckdb() and number <= MOST_BEST:
        of = ", ".join(keys)
        return lazy_frame(native.aggregate(f"{of}, unnest(max({SCORE}, {number})) AS {SCORE}", of))
    if run.implementation.is_spark_like():
        return lazy_frame(
            _down_to(native.selectExpr(*keys, SCORE, _place(keys, f"{SCORE} DESC")), number).drop("place")
        )
    best = _best_in_polars(run, number) if run.implementation.is_polars() else _best(run, number)
    return best.select(*keys, SCORE)


def _best(run: nw.LazyFrame[Any], depth: int) -> nw.LazyFrame[Any]:
    better = nw.col(SCORE).rank("min", descending=True).over(*list_keys(run))
    return run.with_columns(better.alias(RANK)).filter(nw.col(RANK) <= depth).drop(RANK)


def _best_in_polars(run: nw.LazyFrame[Any], depth: int) -> nw.LazyFrame[Any]:
    """Find the same in half the time: Polars looks for the best scores without ranking all."""
    scores = nw.get_native_namespace(run).col(SCORE)
    least = scores.top_k(min(depth, _MOST_ROWS)).min().over(list_keys(run))
    return lazy_frame(nw.to_native(run).filter(scores >= least))


def _rank_in_spark(run: Any, keys: list[str], depth: int | None) -> nw.LazyFrame[Any]:  # noqa: ANN401  (Spark's)
    """Write row_number() and a bare comparison, and nothing between.

    So Spark drops what is below the depth before rows are exchanged: WindowGroupLimit, down to a depth of 1,000. The
    document is first because what differs from row to row is side by side then, and packs into 6% fewer bytes.
    """
    ranked = _down_to(run.selectExpr(DOC, *keys, _place(keys)), depth)
    return lazy_frame(ranked.selectExpr(*keys, DOC, f"CAST(place AS DOUBLE) AS {RANK}"))


def _place(keys: list[str], order: str = f"{SCORE} DESC, {DOC} DESC") -> str:
    """Write the place of a document in its list, in the SQL that DuckDB and Spark share."""
    return f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order}) AS place"


def _down_to(ranked: Any, depth: int | None) -> Any:  # noqa: ANN401  (a table of DuckDB or Spark)
    return ranked if depth is None else ranked.filter(f"place <= {depth}")


def size_of(relation: Any, number: str = "0") -> tuple[int, int, float]:  # noqa: ANN401  (DuckDB's)
    """Return how many rows there are, another number, and the memory that DuckDB may use."""
    asked = f"count(*) AS num, {number} AS more, any_value(current_setting('memory_limit')) AS memory"
    ((rows, more, limit),) = relation.aggregate(asked).fetchall()
    size, unit = (limit or "0 bytes").split()  # as in "476.8 MiB"
    return rows, more, float(size) * 1024.0 ** _UNITS.index(unit)


@contextmanager
def kept(frame: nw.LazyFrame[Any], *others: nw.LazyFrame[Any]) -> Iterator[nw.LazyFrame[Any]]:
    """Compute what is small, and costs a pass over much, once for all who ask.

    In DuckDB ``others`` may be more of the same table, each computed when the one before has given its memory back.
    """
    native = nw.to_native(frame)
    if frame.implementation.is_polars():
        yield lazy_frame(native.collect().lazy())
    elif frame.implementation.is_spark_like():
        native.persist()
        try:
            yield frame
        finally:
            native.unpersist()
    else:
        with _temporary(native) as (name, table):
            for other in others:
                nw.to_native(other).query(f"{name}_now", f"INSERT INTO {name} FROM {name}_now")
            yield table


def can_receive(rows: nw.LazyFrame[Any]) -> bool:
    """Whether the engine, Polars or DuckDB, takes tables by Arrow; a refusal would end a transaction of its user.

    DuckDB before 2.0 does with pyarrow only, and none where it may not look for names in Python.
    """
    if not rows.implementation.is_duckdb():
        return True
    old = int(nw.get_native_namespace(rows).__version__.split(".")[0]) < _WITHOUT_PYARROW
    if old and find_spec("pyarrow") is None:
        return False
    name = f"permed_asked_{next(_VIEWS)}"
    needed = "name IN ('python_enable_replacements', 'enable_external_access') AND value <> 'true'"
    native = nw.to_native(rows)
    refused = native.query(name, f"SELECT name FROM duckdb_settings() WHERE {needed}").fetchall()  # noqa: S608  (ours)
    native.query(name, f"DROP VIEW IF EXISTS {name}")
    return not refused


@contextmanager
def received(rows: nw.LazyFrame[Any], sent: Any, **names: str) -> Iterator[nw.LazyFrame[Any]]:  # noqa: ANN401  (what speaks Arrow)
    """Have a table that is sent by Arrow in the engine that holds these rows, Polars or DuckDB.

    ``names`` say which columns are wanted, and what each is called there.
    """
    if rows.implementation.is_polars():
        polars = nw.get_native_namespace(rows)
        columns = [polars.col(there).alias(here) for here, there in names.items()]
        yield lazy_frame(polars.DataFrame(sent).lazy().select(*columns))
        return
    asked = ", ".join(f"{there} AS {here}" for here, there in names.items())
    with _temporary(nw.to_native(rows), asked, sent) as (_, table):
        yield table


@contextmanager
def _temporary(
    native: Any,  # noqa: ANN401  (DuckDB's)
    asked: str = "*",
    permed_sent_5d2c91e7: Any = None,  # noqa: ANN401  (what speaks Arrow)
) -> Iterator[tuple[str, nw.LazyFrame[Any]]]:
    """Have a table of DuckDB for a while: of a relation, or of what is sent, which DuckDB finds by its name here.

    A table or view of that name would be taken instead, so it is one that nobody has.
    """
    name = f"permed_lists_{next(_VIEWS)}"
    source = f"{name}_now" if permed_sent_5d2c91e7 is None else "permed_sent_5d2c91e7"
    drop_view = f"DROP VIEW IF EXISTS {name}_now"  # DuckDB before 2.0 leaves it
    try:
        native.query(f"{name}_now", f"CREATE TEMP TABLE {name} AS SELECT {asked} FROM {source}")  # noqa: S608  (ours)
    except Exception:
        with suppress(Exception):  # a transaction that has ended, for one
            native.query(f"{name}_now", drop_view)
        raise
    try:
        yield name, lazy_frame(native.query(f"{name}_now", f"FROM {name}"))
    finally:
        native.query(f"{name}_now", f"DROP TABLE {name}")
        native.query(f"{name}_now", drop_view)


def with_row_numbers(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any],
) -> tuple[nw.DataFrame[Any] | nw.LazyFrame[Any], str | None]:
    """Add the number of each row where rows have an order, in memory and in Polars; return the name too, or None."""
    name = "row_number"
    while name in frame.collect_schema():
        name += "_"
    if isinstance(frame, nw.DataFrame):
        return frame.with_row_index(name), name
    if frame.implementation.is_polars():
        return lazy_frame(nw.to_native(frame).with_row_index(name)), name
    return frame, None


def fetch(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """Return the rows, in the engine's own way where it has one: Narwhals would take Arrow along."""
    native = nw.to_native(frame)
    if frame.implementation.is_duckdb():
        return list(native.fetchall())
    if frame.implementation.is_spark_like():
        return [tuple(row) for row in native.collect()]
    return frame.collect().rows()


def stream(frame: nw.LazyFrame[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sorted table, where the engine can without having all of them in memory."""
    native = nw.to_native(frame)
    if hasattr(type(native), "fetchmany"):  # DuckDB before 2.0
        while rows := native.fetchmany(_AT_ONCE):
            yield from rows
    elif frame.implementation.is_duckdb():
        yield from native.iter_rows()
    elif frame.implementation.is_spark_like():
        yield from map(tuple, native.toLocalIterator())
    else:  # a database behind Ibis may have another order of texts
        yield from sorted(frame.collect().rows())


def lazy_frame(native: Any) -> nw.LazyFrame[Any]:  # noqa: ANN401  (a table of the engine)
    """Return a table of an engine as one of Narwhals."""
    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


def with_plain_names(frame: nw.LazyFrame[Any]) -> tuple[nw.LazyFrame[Any], dict[str, str]]:
    """Rename columns: Spark, and DuckDB before 2.0, take the dot in "P(rel=7.5)@10" for a field of something."""
    names = {f"column_{place}": name for place, name in enumerate(frame.collect_schema().names())}
    if frame.implementation.is_spark_like():
        return lazy_frame(nw.to_native(frame).toDF(*names)), names
    if frame.implementation.is_duckdb():
        quoted = [f'"{name.replace(chr(34), 2 * chr(34))}" AS {plain}' for plain, name in names.items()]
        return lazy_frame(nw.to_native(frame).project(", ".join(quoted))), names
    return frame.rename({name: plain for plain, name in names.items()}), names
