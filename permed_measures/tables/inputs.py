"""Qrels and runs as tables: which columns they are, and the few things that engines do not agree on."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import narwhals as nw

from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.files.rows import SMALLER, Duplicates, names_of
from permed_measures.tables.engines import (
    can_be_joined,
    compare_bytes,
    with_plain_names,
    with_row_numbers,
    with_unknown_numbers,
)
from permed_measures.tables.ranking_table import DOC, GRADE, ONE, QUERY, SCORE, SYSTEM, list_keys, with_one

NanScores = Literal["error", "drop", "last"]
NAN_SCORES: tuple[NanScores, ...] = get_args(NanScores)

_FLOAT32_LIMIT = (2 - 2**-24) * 2.0**127
"""From here on a number is infinite as a 32-bit float; DuckDB takes it for an error."""
_FLOAT32_NOTHING = 2.0**-150
"""Down from here a number is 0 as a 32-bit float; PostgreSQL takes it for an error."""

LOWEST = nw.lit(float("inf")) * -1.0
"""Ibis writes minus infinity as infinity for DataFusion."""

_KINDS = {"qrels": ("relevance", GRADE), "run": ("score", SCORE)}


@dataclass(frozen=True)
class InputTable:
    """One of the two tables, with the columns query, doc and grade or score, and whatever orders its rows."""

    what: str
    rows: nw.LazyFrame[Any]
    unknown_rows: nw.LazyFrame[Any]
    """The same rows, of whose numbers the engine knows nothing beforehand: where NaN is looked for."""
    eager: bool
    columns: tuple[str, str, str]
    row_order: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    """What the further columns are called in the table: the system, and segments of queries."""

    @property
    def value(self) -> str:
        """The name of the column that holds the number."""
        return _KINDS[self.what][1]


def as_table(  # noqa: PLR0913  (a table, what it is, and three that most leave out)
    native: Any,  # noqa: ANN401  (any table that Narwhals knows)
    what: str,
    columns: tuple[str, ...] | None = None,
    *,
    place: str | None = None,
    row_order: str | None = None,
    in_order: bool = False,
    more: Mapping[str, str] | None = None,
) -> InputTable:
    """Recognise a table and its columns.

    ``place`` is what messages call it; ``in_order`` asks for an order of its rows where no column gives one; ``more``
    are further columns to keep as texts, what they are called here and there.
    """
    more = more or {}
    place = place or what
    try:
        frame = nw.from_native(native)
    except TypeError:
        raise InputError(
            f"{place}: {type(native).__name__} is not a table that Narwhals knows; give a DuckDB relation, a Polars, "
            "pandas or PySpark frame, or an Ibis table (dicts and files are for evaluate())"
        ) from None
    if frame.implementation.is_polars():
        _check_polars(frame.implementation.to_native_namespace().__version__)
    if in_order and row_order is None:
        frame, row_order = with_row_numbers(frame)
    eager = isinstance(frame, nw.DataFrame)
    lazy = frame.lazy() if isinstance(frame, nw.DataFrame) else frame
    if eager and lazy.implementation.is_pyarrow():
        lazy = frame.lazy("duckdb")  # Arrow itself has no windows
    schema = dict(lazy.collect_schema())
    query, doc, value = _picked(schema, what, columns, place)
    is_empty = isinstance(frame, nw.DataFrame) and frame.is_empty()
    _check_columns(schema, what, (query, doc, value), place, of_any_type=is_empty)
    _check_more(schema, more, place)
    if row_order not in schema:
        row_order = None
    lazy, plain_names = with_plain_names(lazy)
    plain = {name: short for short, name in plain_names.items()}
    number = nw.col(plain[value])
    if schema[value] == nw.Boolean:  # not every database casts one to a number
        number = nw.when(number).then(1).otherwise(nw.when(~number).then(0))
    number = number.cast(nw.Float64)
    if lazy.implementation.is_ibis():  # to DataFusion -0.0 and 0.0 are two numbers
        number = nw.when(number.abs() <= 0.0).then(0.0).otherwise(number)
    kept = [
        nw.col(plain[query]).cast(nw.String).alias(QUERY),
        nw.col(plain[doc]).cast(nw.String).alias(DOC),
        number.alias(_KINDS[what][1]),
    ]
    kept += [nw.col(plain[name]).cast(nw.String).alias(short) for short, name in more.items()]
    if row_order is not None:
        kept.append(nw.col(plain[row_order]).alias("row_order"))
    rows, unknown = (
        compare_bytes(frame.select(*kept), QUERY, DOC, *more)
        for frame in (lazy, with_unknown_numbers(lazy, plain[value]))
    )
    return InputTable(what, rows, unknown, eager, (query, doc, value), row_order, more)


def _check_polars(version: str) -> None:
    if [int(digits) for digits in re.findall(r"\d+", version)[:2]] < [1, 31]:
        raise HostError(
            f"polars {version} is too old for tables, though not for evaluate(): pip install 'permed-measures[tables]'"
        )


def _check_more(schema: Mapping[str, Any], more: Mapping[str, str], place: str) -> None:
    absent = next((name for name in more.values() if name not in schema), None)
    if absent is not None:
        raise ParamError(f"{place}: the table has no column {absent!r}; it has {', '.join(schema)}")


def united(runs: Mapping[str, InputTable]) -> InputTable:
    """Return the runs of several systems as one table, each row with the name of its system."""

    def together(frames: Iterable[nw.LazyFrame[Any]]) -> nw.LazyFrame[Any]:
        named = zip(runs, frames, strict=True)
        return nw.concat([frame.with_columns(nw.lit(name).alias(SYSTEM)) for name, frame in named])

    tables = list(runs.values())
    rows, unknown = together(table.rows for table in tables), together(table.unknown_rows for table in tables)
    return replace(tables[0], rows=rows, unknown_rows=unknown, more={SYSTEM: SYSTEM})


def _check_columns(
    schema: dict[str, Any], what: str, columns: tuple[str, str, str], place: str, *, of_any_type: bool
) -> None:
    *ids, value = columns
    kind = _KINDS[what][0]
    if len(set(columns)) < len(columns):
        named = "{!r}, {!r} and {!r}".format(*columns)
        raise ParamError(f"{place}: query, document and {kind} are three columns; {named} were named")
    for column in ids:
        if not _is_id(schema[column]) and not of_any_type:
            raise InputError(f"{place}: the column {column!r} is {schema[column]}; ids are strings or whole numbers")
    truth = what == "qrels" and schema[value] == nw.Boolean
    if not schema[value].is_numeric() and not truth and not of_any_type:
        raise InputError(f"{place}: the column {value!r} is {schema[value]}; a {kind} is a number: cast it first")


def _picked(schema: dict[str, Any], what: str, columns: tuple[str, ...] | None, place: str) -> tuple[str, str, str]:
    if columns is not None and columns[-1].startswith(SMALLER):
        msg = f"{place}: {columns[-1]!r} is not for tables: add a column of the negative distances, and name that one"
        raise ParamError(msg)
    picked = []
    for names in names_of(list(schema), what, columns):
        name = next((name for name in names if name in schema), None)
        if name is None:
            also = f" (nor {', '.join(names[1:])})" if names[1:] else ""
            raise InputError(
                f"{place}: the table has no column {names[0]!r}{also}; it has {', '.join(schema)}: name the three with "
                f"{what}_columns=('query_id', 'doc_id', {_KINDS[what][0]!r}) (in the shell --{what}-columns)"
            )
        picked.append(name)
    return picked[0], picked[1], picked[2]


def _is_id(dtype: Any) -> bool:  # noqa: ANN401  (a Narwhals type)
    return dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)


def in_32_bits(rows: nw.LazyFrame[Any], column: str = SCORE) -> nw.Expr:
    """Return a column of 64-bit scores as 32-bit ones, infinite where they are too large."""
    score = nw.col(column)
    if rows.implementation.is_polars() or rows.implementation.is_spark_like():  # whose cast does so
        return score.cast(nw.Float32)
    above = (score >= _FLOAT32_LIMIT) & ~score.is_nan()  # to some engines NaN is the greatest number
    below = (score <= -_FLOAT32_LIMIT) & ~score.is_nan()
    in_range = nw.when(above).then(float("inf")).otherwise(nw.when(below).then(LOWEST).otherwise(score))
    if rows.implementation.is_ibis():
        in_range = nw.when(score.abs() <= _FLOAT32_NOTHING).then(0.0).otherwise(in_range)
    return in_range.cast(nw.Float32)


def without_duplicates(table: InputTable, duplicates: Duplicates) -> nw.LazyFrame[Any]:
    """Keep one row per query and document: the highest number, or the first row."""
    if duplicates == "error":
        return table.rows
    keys = [*list_keys(table.rows), DOC]
    if duplicates == "max":
        segments = [nw.col(name).max() for name in table.more if name != SYSTEM]
        return table.rows.group_by(*keys).agg(nw.col(table.value).max(), *segments)
    if table.row_order is None:  # the check has seen that there are none here
        return table.rows
    place = nw.col(ONE).cum_count().over(*keys, order_by=["row_order", table.value])
    return with_one(table.rows).with_columns(place=place).filter(nw.col("place") == 1).drop("place", ONE)


def is_nan_score(rows: nw.LazyFrame[Any]) -> nw.Expr:
    """Whether a score is NaN; pandas has no difference between that and a missing one."""
    score = nw.col(SCORE)
    if rows.implementation.is_pandas_like():
        return score.is_nan() | score.is_null()
    if (
        rows.implementation.is_ibis()
    ):  # as text too: DuckDB, and who knows who else, believes parquet that there is none
        return score.is_nan() | (score.cast(nw.String).str.to_lowercase() == "nan")
    return score.is_nan()


def check_same_kind(qrels: InputTable, run: InputTable) -> None:
    """Raise ParamError unless both tables are of one engine."""
    kinds = qrels.rows.implementation, run.rows.implementation
    if kinds[0] is not kinds[1]:
        names = " and ".join(str(kind).rpartition(".")[2] for kind in kinds)
        msg = f"the qrels and the run are tables of two kinds, {names}; bring the smaller one into the other's engine"
        raise ParamError(msg)
    if not can_be_joined(qrels.rows, run.rows):
        raise ParamError("the qrels and the run are relations of two DuckDB connections; make both with one of them")
