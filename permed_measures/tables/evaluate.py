"""Evaluate a run that is a table, in the engine that holds it."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
from ir_measures import Measure

from permed_measures.errors import InputError, ParamError, check_choice
from permed_measures.evaluate import Plan, choose
from permed_measures.files.rows import DUPLICATES, Duplicates
from permed_measures.measures import DEFINED, STANDARD, declared
from permed_measures.profiles import Profile, QuerySet
from permed_measures.ranking import Order
from permed_measures.tables.best_lists import BestLists, best_lists, count_ties
from permed_measures.tables.counts import full_join, systems_of
from permed_measures.tables.engines import fetch, rank_run, with_plain_names
from permed_measures.tables.inputs import (
    LOWEST,
    NAN_SCORES,
    InputTable,
    NanScores,
    as_table,
    check_same_kind,
    in_32_bits,
    is_nan_score,
    united,
    without_duplicates,
)
from permed_measures.tables.inspection import (
    TableFacts,
    check,
    check_grades,
    inspected,
)
from permed_measures.tables.ranking_table import (
    DOC,
    QUERY,
    SCORE,
    SYSTEM,
    RankingTable,
    list_keys,
    lists_of,
    queries_of,
)

_ABOVE_LOWEST = -sys.float_info.max
_TOO_LONG = 2**53


def evaluate_tables(  # noqa: PLR0913  (the options of the main job, all but two with defaults)
    qrels: Any,  # noqa: ANN401  (any table that Narwhals knows)
    run: Any,  # noqa: ANN401  (as above)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    duplicates: Duplicates = "error",
    nan_scores: NanScores = "error",
    row_order: str | None = None,
    qrels_columns: tuple[str, str, str] | None = None,
    run_columns: tuple[str, str, str] | None = None,
    system: str | None = None,
    segments: Sequence[str] = (),
    check_input: bool = True,
) -> Any:  # noqa: ANN401  (a table of the same kind)
    """Evaluate one table against another; return a table of the same kind, one row per query, one column per measure.

    ``qrels`` has the columns query_id, doc_id, relevance and ``run`` query_id, doc_id, score (or what ``qrels_columns``
    and ``run_columns`` say). Both are of one kind: DuckDB relations, Polars, pandas or PySpark frames, Ibis tables. A
    lazy table stays lazy: nothing but the check of the input is computed before you ask for the values.

    ``duplicates`` says what a second row of the same query and document means: an ``'error'``, keep the ``'max'``, or
    keep the ``'first'`` by the column ``row_order`` (rows of Polars and pandas have an order without). ``nan_scores``
    may be an ``'error'``, be ``'drop'``ped, or come ``'last'``. Several systems are evaluated in one pass where ``run``
    is {name: table}, or where ``system`` names its column that tells them apart: there is a row for each system and
    judged query then. ``segments`` are columns of the qrels that have one value for each query, a language or a day;
    they are texts beside the values, for :func:`table_means`. ``check_input=False`` leaves out the check, which
    reads both tables: for tables that were checked before, see :func:`inspect_tables`. ``measures``, ``profile``,
    ``min_relevance``, ``queries`` and ``order`` are as of :func:`~permed_measures.evaluate`; where means run over other
    queries than rows are there, a value is null.
    Raises InputError for what the check finds, HostError where an engine is not installed.

    >>> import polars
    >>> qrels = polars.DataFrame({"query_id": ["p", "q", "q"], "doc_id": ["a", "a", "b"], "relevance": [1, 2, 1]})
    >>> run = polars.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [0.9, 0.8]})
    >>> evaluate_tables(qrels, run, "GWAP@10 P@1").sort("query_id").rows()   # q: (1/1 · 0.5 + 2/2 · 1.0) / 2
    [('p', 0.0, 0.0), ('q', 0.75, 1.0)]
    """
    pipeline = Pipeline.of(
        qrels,
        run,
        measures,
        profile=profile,
        min_relevance=min_relevance,
        queries=queries,
        order=order,
        duplicates=duplicates,
        nan_scores=nan_scores,
        row_order=row_order,
        qrels_columns=qrels_columns,
        run_columns=run_columns,
        system=system,
        segments=segments,
    )
    if check_input:
        in_polars = pipeline.run.rows.implementation.is_polars()  # where lists last
        ask: dict[str, Any] = {"depth": pipeline.plan.depth, "best": pipeline.plain and in_polars}
        with inspected(pipeline.qrels, pipeline.run, **ask) as found:
            pipeline.facts, pipeline.best = found.facts, found.best
            check(pipeline.facts, allowed=pipeline.allowed)
        pipeline.check_grades()
        pipeline.check_segments()
    values = pipeline.values()
    return nw.to_native(values.collect() if pipeline.qrels.eager else values)


@dataclass
class Pipeline:
    """Two tables and what is asked of them, understood and checked, with nothing computed yet."""

    qrels: InputTable
    run: InputTable
    labels: dict[Measure, str]
    query_sets: dict[Measure, QuerySet]
    profile: Profile | None
    rel: float | None
    plan: Plan
    duplicates: Duplicates
    nan_scores: NanScores
    facts: TableFacts | None = None
    """What the check has counted, once it has: some work can be left out then."""
    best: BestLists | None = None
    """The best of each list, while the engine has them."""
    table: RankingTable = field(init=False)
    expressions: list[nw.Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.table = RankingTable(by_system=SYSTEM in self.run.more)
        self.table.keep(*self.qrels.more)
        self.expressions = expressions(self.plan, self.table)

    @classmethod
    def of(  # noqa: PLR0913  (the options of evaluate_tables)
        cls,
        qrels: Any,  # noqa: ANN401  (any table that Narwhals knows)
        run: Any,  # noqa: ANN401  (as above)
        measures: str | Measure | Iterable[str | Measure] | None,
        *,
        profile: str | Path | Profile | None = None,
        min_relevance: float | None = None,
        queries: QuerySet | None = None,
        order: Order = "float32",
        duplicates: Duplicates = "error",
        nan_scores: NanScores = "error",
        row_order: str | None = None,
        qrels_columns: tuple[str, str, str] | None = None,
        run_columns: tuple[str, str, str] | None = None,
        system: str | None = None,
        segments: Sequence[str] = (),
        named: Mapping[str, str] | None = None,
    ) -> "Pipeline":
        """Understand what :func:`evaluate_tables` is given; ``named`` is what messages call the two tables."""
        check_choice("duplicates", duplicates, DUPLICATES)
        check_choice("nan_scores", nan_scores, NAN_SCORES)
        labels, query_sets, known_profile, rel = choose(measures, profile, queries, min_relevance)
        plan = Plan(list(labels), rel, order)
        if row_order is not None and duplicates != "first":
            msg = f"row_order={row_order!r} is for duplicates='first'; duplicates={duplicates!r} asks for no order"
            raise ParamError(msg)
        in_order = duplicates == "first"
        named = named or {}
        ordered: dict[str, Any] = {"row_order": row_order, "in_order": in_order}
        kept = {f"segment_{place}": name for place, name in enumerate(segments)}
        judged = as_table(qrels, "qrels", qrels_columns, place=named.get("qrels"), more=kept, **ordered)
        runs = {
            name: as_table(
                *(one, "run", run_columns),
                place=named.get(name or "run", name),
                more=None if system is None else {SYSTEM: system},
                **ordered,
            )
            for name, one in (run if isinstance(run, Mapping) else {"": run}).items()
        }
        for one in runs.values():
            check_same_kind(judged, one)
        returned = united(runs) if isinstance(run, Mapping) else runs[""]
        if in_order and judged.row_order is None and returned.row_order is None:
            none = "rows of these tables have no order" if row_order is None else f"neither table has {row_order!r}"
            raise ParamError(
                f"duplicates='first': {none}; name the column that orders them with row_order=, or keep the highest "
                "with duplicates='max'"
            )
        return cls(judged, returned, labels, query_sets, known_profile, rel, plan, duplicates, nan_scores)

    @property
    def allowed(self) -> set[tuple[str, str]]:
        """Tables and kinds of fault that the options deal with."""
        allowed = set() if self.nan_scores == "error" else {("run", "NaN scores")}
        for table in (self.qrels, self.run):
            if self.duplicates == "max" or (self.duplicates == "first" and table.row_order is not None):
                allowed.add((table.what, "duplicates"))
        return allowed

    def check_grades(self) -> None:
        """Raise InputError for a grade that a measure is not defined for."""
        kept = replace(self.qrels, rows=without_duplicates(self.qrels, self.duplicates))
        check_grades(kept, list(self.plan.by_kernel.values()))

    def values(self) -> nw.LazyFrame[Any]:
        """Return one row per query, one column per measure, under the names that people know."""
        plain = self.plain_values()
        shown = zip(plain.collect_schema().names(), self.names, strict=True)
        return plain.select(*[nw.col(short).alias(name) for short, name in shown])

    @property
    def names(self) -> list[str]:
        """What the columns of the values are called."""
        names = [*self.run.more.values(), self.qrels.columns[0], *self.qrels.more.values(), *self.labels.values()]
        again = next((name for name in names if names.count(name) > 1), None)
        if again is not None:
            raise ParamError(f"two columns would be called {again!r}; rename the column, or the measure in the profile")
        return names

    def plain_values(self, **more: nw.Expr) -> nw.LazyFrame[Any]:
        """Return the same under plain names, after system, query and segments; on request with further totals."""
        query_sets = set(self.query_sets.values())
        values = {
            f"value_{place}": _in_query_set(value, self.query_sets[measure], query_sets)
            for place, (measure, value) in enumerate(zip(self.labels, self.expressions, strict=True))
        }
        return self._totals(query_sets).select(*self.run.more, QUERY, *self.qrels.more, **values, **more)

    def _totals(self, query_sets: set[QuerySet]) -> nw.LazyFrame[Any]:
        """Join, order and sum: one row per query."""
        judged = self.table.judged_columns(without_duplicates(self.qrels, self.duplicates))
        ranked = self.ranked(self.plan.depth)
        systems = systems_of(self.run.rows) if self.run.more else None
        totals = self.table.totals(judged, ranked.join(judged, on=[QUERY, DOC], how="inner"), systems)
        if query_sets == {"qrels"}:
            return totals
        return _with_query_sets(totals, self._with_nan_placed(self.plan.order), query_sets)

    def ranked(self, depth: int | None, *, whole_run: bool = False) -> nw.LazyFrame[Any]:
        """Rank the documents of judged queries, or of all, down to a depth."""
        best = self.best
        if best is None and self.facts is not None and self.plain and self.run.rows.implementation.is_duckdb():
            lists = best_lists(self.run.rows, depth, self.facts.lists)
            best = lists[0] if len(lists) == 1 else None  # a table that stays lazy is computed at once
        narrowed = best is not None and depth is not None
        rows = self._with_nan_placed("float64" if narrowed else self.plan.order)
        if best is not None and depth is not None:
            rows = best.within_reach(rows, depth)
            rows = rows.with_columns(in_32_bits(rows).alias(SCORE)) if self.plan.order == "float32" else rows
        if not whole_run:
            rows = self._of_judged_queries(rows)
        rows = without_duplicates(replace(self.run, rows=rows), self.duplicates)
        return rank_run(rows, depth, narrowed=narrowed)

    def _of_judged_queries(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Leave out other queries: logs hold far more of them than anybody judges, and they need no ranks."""
        if self.facts is not None and not self.facts.only_run:
            return rows
        return rows.join(queries_of(self.qrels.rows), on=QUERY, how="semi")

    def _with_nan_placed(self, order: Order) -> nw.LazyFrame[Any]:
        """Return the run with scores of this precision, without those that are NaN, or with numbers for them."""
        rows = self.run.rows if self.nan_scores == "error" else self.run.unknown_rows
        if self.nan_scores == "drop":
            rows = rows.filter(~is_nan_score(rows))
        if order == "float32":
            rows = rows.with_columns(in_32_bits(rows).alias(SCORE))
        if self.nan_scores != "last":
            return rows
        score = nw.col(SCORE).cast(nw.Float64)  # where there is room for one score below all of 32 bits
        lowest = nw.when(score == LOWEST).then(_ABOVE_LOWEST).otherwise(score)
        return rows.with_columns(nw.when(is_nan_score(rows)).then(LOWEST).otherwise(lowest).alias(SCORE))

    def check_segments(self) -> None:
        """Raise InputError for a query that has two values of a segment."""
        for short, name in self.qrels.more.items():
            ends = {"low": nw.col(short).min(), "high": nw.col(short).max()}
            found = self.qrels.rows.group_by(QUERY).agg(**ends).filter(nw.col("low") != nw.col("high"))
            for query, low, high in fetch(found.select(QUERY, "low", "high").sort(QUERY).head(1)):
                raise InputError(
                    f"qrels: query {query!r} has two values of {name!r}, {low!r} and {high!r}; a segment is of queries"
                )

    def ties(self, depth: int | None, *, whole_run: bool) -> dict[str | None, tuple[int, int]]:
        """Count the top documents whose score is another one's too: as 32-bit floats, and as 64-bit floats."""
        rows, best = self._with_nan_placed("float64"), self.best
        if not whole_run:
            rows = self._of_judged_queries(rows)
            best = best and best._replace(lists=self._of_judged_queries(best.lists))
        return count_ties(without_duplicates(replace(self.run, rows=rows), self.duplicates), depth, best)

    @property
    def plain(self) -> bool:
        """Whether rows are ranked as they are: all of them, by their own scores."""
        return self.duplicates == "error" and self.nan_scores == "error"

    @property
    def kept(self) -> nw.LazyFrame[Any] | None:
        """The rows of the run that are ranked; None where that is all of them."""
        if self.duplicates == "error" and self.nan_scores != "drop":
            return None
        return without_duplicates(replace(self.run, rows=self._with_nan_placed("float64")), self.duplicates)


def expressions(plan: Plan, table: RankingTable) -> list[nw.Expr]:
    """Return the expression of every measure, over the totals that it has asked the table for."""
    values: dict[int, nw.Expr] = {}
    for index, measure in {**plan.by_kernel, **plan.by_delegate, **plan.by_ir_measures}.items():
        found = declared(measure)
        expression = None if found is None else type(found).expression
        if found is not None and expression is not None:
            values[index] = expression(table, **_fitting(found.arguments))
        else:
            known = ", ".join(known_measures())
            raise ParamError(f"{measure} has no expression for tables; {known} have. Without an engine it is computed")
    return [values[index] for index in range(len(values))]


def _fitting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Make floats of whole numbers that engines have no room for."""
    return {n: float(v) if isinstance(v, int) and abs(v) >= _TOO_LONG else v for n, v in given.items()}


def known_measures() -> list[str]:
    """Name the measures that can be computed on tables."""
    return sorted(name for name, measure in {**STANDARD, **DEFINED}.items() if type(measure).expression is not None)


def _with_query_sets(totals: nw.LazyFrame[Any], run: nw.LazyFrame[Any], query_sets: set[QuerySet]) -> nw.LazyFrame[Any]:
    """Mark the queries of the qrels and of the run, and keep those that a mean runs over."""
    in_run, keys = lists_of(run).with_columns(returned=nw.lit(1)), list_keys(run)
    sums = [name for name, kind in totals.collect_schema().items() if kind.is_numeric() and name != "judged"]
    marked = full_join(totals, in_run, keys) if "run" in query_sets else totals.join(in_run, on=keys, how="left")
    marked = marked.with_columns(
        *[nw.col(name).fill_null(0.0) for name in sums],
        judged=nw.col("judged").fill_null(0),
        returned=nw.col("returned").fill_null(0),
    )
    return marked if "qrels" in query_sets else marked.filter(nw.col("returned") > 0)


def _in_query_set(value: nw.Expr, queries: QuerySet, query_sets: set[QuerySet]) -> nw.Expr:
    """Leave out the value of a query that the mean does not run over, where other measures have it."""
    if len(query_sets) == 1 and queries != "both":
        return value
    judged, returned = nw.col("judged") > 0, nw.col("returned") > 0
    return nw.when({"qrels": judged, "run": returned, "both": judged & returned}[queries]).then(value)


def table_means(values: Any, *, by: str | Sequence[str] | None = None) -> Any:  # noqa: ANN401  (a table, and one of the same kind)
    """Return the means of columns of 64-bit floats, as :func:`evaluate_tables` makes them: one row, or one per group.

    ``by`` is a column of the values, or several: the system, a segment, or what you have joined to them. Nulls do not
    count: a query that a mean does not run over has no value.
    Raises ParamError for a column that is not there.

    >>> import polars
    >>> table_means(polars.DataFrame({"query_id": ["p", "q"], "P@1": [0.0, 1.0]})).rows()
    [(0.5,)]
    """
    frame = nw.from_native(values)
    eager = isinstance(frame, nw.DataFrame)
    lazy, names = with_plain_names(frame.lazy() if isinstance(frame, nw.DataFrame) else frame)
    schema = lazy.collect_schema()
    asked = [by] if isinstance(by, str) else list(by or ())
    measured = [plain for plain, name in names.items() if schema[plain] == nw.Float64 and name not in asked]
    absent = next((name for name in asked if name not in names.values()), None)
    if absent is not None:
        raise ParamError(f"no column {absent!r} to group by; the table has {', '.join(names.values())}")
    if not measured:
        raise ParamError(f"no column of 64-bit floats to take means of; the table has {', '.join(names.values())}")
    means = [nw.col(plain).mean() for plain in measured]
    groups = [plain for by_name in asked for plain, name in names.items() if name == by_name]
    grouped = lazy.group_by(*groups).agg(*means).sort(*groups) if groups else lazy.select(*means)
    kept = [*groups, *measured]
    shown = grouped.select(*[nw.col(plain).alias(names[plain]) for plain in kept])
    return nw.to_native(shown.collect() if eager else shown)
