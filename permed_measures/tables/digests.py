"""The digest of judgements that are a table, computed where the table is; see signature.py for what it is."""

from typing import Any

import narwhals as nw

from permed_measures.files.rows import Duplicates, subtopic_column
from permed_measures.signature import Digest, digest_of, grade_text
from permed_measures.tables.engines import fetch, with_plain_names
from permed_measures.tables.inputs import InputTable, without_duplicates
from permed_measures.tables.ranking_table import DOC, GRADE, QUERY

_ITERATION = "iteration"
_MOST_TEXTS = 500
"""So many different grades are written into a query; with more, the rows are fetched."""
_NUMBERS = {
    "duckdb": "CAST('0x' || substr(hashed, {}, 8) AS BIGINT)",
    "spark": "CAST(conv(substr(hashed, {}, 8), 16, 10) AS BIGINT)",
}
"""How eight hex digits are read as a number."""
_SUMS = nw.col("first").count().alias("num"), nw.col("first", "second").sum()


def table_digests(native: Any, qrels: InputTable, duplicates: Duplicates) -> dict[str, Digest]:  # noqa: ANN401  (a table)
    """Return the digest of every query's judgements; ``native`` is what ``qrels`` was made of.

    DuckDB and Spark compute them; of tables in this process the rows are taken one by one.
    """
    rows = _with_iterations(native, qrels, duplicates)
    numbers = _numbers(rows)
    if numbers is None:
        return _by_rows(rows)
    return {query_id: Digest(*map(int, found)) for query_id, *found in fetch(numbers.group_by(QUERY).agg(*_SUMS))}


def table_digest(native: Any, qrels: InputTable, duplicates: Duplicates) -> Digest:  # noqa: ANN401  (a table)
    """Return the digest of all judgements, for which no query leaves the engine."""
    rows = _with_iterations(native, qrels, duplicates)
    numbers = _numbers(rows)
    if numbers is None:
        return Digest.total(_by_rows(rows).values())
    return Digest.total(Digest(*map(int, found)) for found in fetch(numbers.select(*_SUMS)))


def _numbers(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any] | None:
    """Return of every judgement its query and two numbers, whose sums are the digest; None where no engine has them."""
    engine = "duckdb" if rows.implementation.is_duckdb() else "spark" if rows.implementation.is_spark_like() else ""
    grades = [grade for (grade,) in fetch(rows.select(GRADE).unique())] if engine else []
    if not engine or not 0 < len(grades) <= _MOST_TEXTS:
        return None
    texts = " ".join(f"WHEN CAST('{grade!r}' AS DOUBLE) THEN '{grade_text(grade)}'" for grade in grades)
    text = ", chr(9), ".join([QUERY, _ITERATION, DOC, f"CASE {GRADE} {texts} END"])
    hashed, halves = f"md5(concat({text})) AS hashed", [_NUMBERS[engine].format(start) for start in (1, 9)]
    asked = [QUERY, f"{halves[0]} AS first", f"{halves[1]} AS second"]
    frame = nw.to_native(rows)
    if engine == "duckdb":
        numbers = frame.project(f"{QUERY}, {hashed}").project(", ".join(asked))
    else:
        numbers = frame.selectExpr(QUERY, hashed).selectExpr(*asked)
    lazy: nw.LazyFrame[Any] = nw.from_native(numbers)
    return lazy


def _with_iterations(native: Any, qrels: InputTable, duplicates: Duplicates) -> nw.LazyFrame[Any]:  # noqa: ANN401  (a table)
    """Return query, document, grade and iteration, which is empty where all are the same."""
    kept = without_duplicates(qrels, duplicates).with_columns(nw.lit("").alias(_ITERATION))
    columns = (QUERY, _ITERATION, DOC, GRADE)
    frame = nw.from_native(native)
    name = subtopic_column(frame.collect_schema().names(), "qrels") if duplicates == "error" else None
    if name is None or qrels.rows.implementation is not frame.implementation:
        return kept.select(*columns)
    lazy, names = with_plain_names(frame.lazy() if isinstance(frame, nw.DataFrame) else frame)
    plain = {shown: short for short, shown in names.items()}
    query, doc, grade = (nw.col(plain[column]) for column in qrels.columns)
    iteration = nw.col(plain[name]).cast(nw.String)
    if fetch(lazy.select(iteration.n_unique()))[0][0] < 2:  # noqa: PLR2004  (one tells nothing apart)
        return kept.select(*columns)
    ids = {QUERY: query.cast(nw.String), _ITERATION: iteration, DOC: doc.cast(nw.String)}
    return lazy.select(**ids, **{GRADE: grade.cast(nw.Float64)})


def _by_rows(rows: nw.LazyFrame[Any]) -> dict[str, Digest]:
    judged: dict[str, list[tuple[str, str, str, float]]] = {}
    for row in fetch(rows):
        judged.setdefault(row[0], []).append(row)
    return {query_id: digest_of(found) for query_id, found in judged.items()}
