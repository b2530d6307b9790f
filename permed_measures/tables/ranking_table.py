"""The table that measures write their expressions on: one row per judged document, of all queries at once.

What :class:`~permed_measures.ranking.Ranking` is to a kernel, :class:`RankingTable` is to an expression. A measure asks
for sums over the judged documents that were returned (*hits*) and over all judged ones; the table notes what was asked,
and computes all of it, for all measures, in one pass of whatever engine holds the rows.
"""

from collections.abc import Mapping
from copy import copy
from math import log
from typing import Any

import narwhals as nw

from permed_measures.measures.ndcg import LARGEST, SMALLEST

QUERY, DOC, GRADE, SCORE, RANK, ONE = "query", "doc", "grade", "score", "rank", "one"
SYSTEM = "system"
"""The column that says whose list a row is of, where a run holds those of several systems."""


class RankingTable:
    """Judged documents with their ranks, and what measures want to know of them."""

    def __init__(self, *, by_system: bool = False) -> None:
        self._lists = {"judged": [QUERY], "hits": [SYSTEM, QUERY] if by_system else [QUERY]}
        self._columns: dict[str, dict[str, nw.Expr]] = {"judged": {}, "hits": {}}
        self._windows: dict[str, dict[str, nw.Expr]] = {"judged": {}, "hits": {}}
        self._terms: dict[str, dict[str, nw.Expr]] = {"judged": {}, "hits": {}}
        self._totals: dict[str, dict[str, nw.Expr]] = {"judged": {}, "hits": {}}
        self._names: dict[str, str] = {}
        self._judged_only = False

    @property
    def grade(self) -> nw.Expr:
        """The grade of a document."""
        return nw.col(GRADE)

    @property
    def rank(self) -> nw.Expr:
        """The rank of a returned document, as a float."""
        return self.found(self.grade >= 0) if self._judged_only else nw.col(RANK)

    def judged_only(self) -> "RankingTable":
        """Return the table of the lists without unjudged documents; hits of a negative grade have no rank there."""
        table = copy(self)
        table._judged_only = True  # noqa: SLF001  (a copy of this one)
        return table

    def ranks(self, *, judged_only: bool, grade: nw.Expr | None = None) -> nw.Expr:
        """Return the rank of a returned document of grade >= 0, in the whole list or among such documents."""
        if not judged_only:
            return self.rank
        return self.found((self.grade if grade is None else grade) >= 0)

    def found(self, relevant: nw.Expr) -> nw.Expr:
        """How many hits are relevant down to this one, itself included."""
        return self._window("hits", _number(relevant).cum_sum().over(*self._lists["hits"], order_by=RANK))

    def place(self, worth: nw.Expr, *, among: str = "judged") -> nw.Expr:
        """Return the place of a document in the best order of the judged ones, or of the returned ones (``hits``)."""
        column = self._column(among, worth)
        # documents of equal worth may be in any order
        return self._window(among, nw.col(column).rank("ordinal", descending=True).over(*self._lists[among]))

    def count_judged(self, condition: nw.Expr) -> nw.Expr:
        """How many judged documents of the query meet a condition, as a column beside each of them."""
        return self._window("judged", _number(condition).sum().over(QUERY))

    def highest(self, worth: nw.Expr, *, among: str = "judged") -> nw.Expr:
        """Return the highest worth of a document of the query."""
        column = self._column(among, worth)
        return self._window(among, nw.col(column).max().over(*self._lists[among]))

    def sum_hits(self, value: nw.Expr | int, where: nw.Expr) -> nw.Expr:
        """Sum a value over the returned documents for which a condition holds; 0 when there are none."""
        return self._total("hits", "sum", self.where(where, value))

    def max_hits(self, value: nw.Expr, where: nw.Expr) -> nw.Expr:
        """Return the greatest value over the returned documents for which a condition holds; 0 when there are none."""
        return self._total("hits", "max", self.where(where, value))

    def any_hit(self, where: nw.Expr) -> nw.Expr:
        """Return 1 where a returned document meets the condition, else 0."""
        return _number(self.sum_hits(1, where) > 0).cast(nw.Float64)

    def sum_judged(self, value: nw.Expr | int, where: nw.Expr) -> nw.Expr:
        """Sum a value over the judged documents for which a condition holds."""
        return self._total("judged", "sum", self.where(where, value))

    def within(self, cutoff: int | None, rank: nw.Expr | None = None) -> nw.Expr:
        """Whether a rank is within the cut-off."""
        return (self.rank if rank is None else rank) <= (float("inf") if cutoff is None else float(cutoff))

    @staticmethod
    def where(condition: nw.Expr, value: nw.Expr | int) -> nw.Expr:
        """Return a value where a condition holds, else 0."""
        return nw.when(condition).then(value).otherwise(0 if isinstance(value, int) else 0.0)

    @staticmethod
    def ratio(value: nw.Expr, whole: nw.Expr) -> nw.Expr:
        """Divide; 0 where there is nothing to divide by."""
        return nw.when(whole > 0).then(value / whole).otherwise(0.0)

    @staticmethod
    def mapped(grade: nw.Expr, numbers: Mapping[float, float], otherwise: nw.Expr | float) -> nw.Expr:
        """Return the number that each grade counts as."""
        mapped: Any = otherwise
        for known, number in numbers.items():
            mapped = nw.when(grade == float(known)).then(float(number)).otherwise(mapped)
        return mapped if isinstance(mapped, nw.Expr) else nw.lit(float(mapped))

    def gain(self, grade: nw.Expr, dcg: str, *, among: str = "judged") -> nw.Expr:
        """Return the gain of a positive grade, up to a factor that is the same for all documents of a query."""
        if dcg == "log2":
            return grade
        best = self.highest(grade, among=among)
        x = grade * log(2)
        series = x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))
        # the first terms of the series are exact where 2^grade - 1 loses digits
        plain = nw.when(grade < SMALLEST).then(series).otherwise(2.0 ** self._at_most(grade, LARGEST) - 1.0)
        scaled = 2.0 ** (grade - best) - 2.0 ** (0.0 - best)
        return nw.when(best > LARGEST).then(scaled).otherwise(plain)

    @staticmethod
    def _at_most(expression: nw.Expr, bound: float) -> nw.Expr:
        # engines compute both branches of a condition, and some take an overflow in the other one for an error
        return nw.when(expression > bound).then(float(bound)).otherwise(expression)

    @staticmethod
    def discount(rank: nw.Expr) -> nw.Expr:
        """Return log2(rank + 1)."""
        return (rank + 1.0).log(2)

    def _column(self, rows: str, worth: nw.Expr) -> str:
        # the grade has a column already, and what an engine orders by it sends to where it does so
        return GRADE if repr(worth) == repr(self.grade) else self._named(self._columns[rows], rows, worth)

    def _window(self, rows: str, window: nw.Expr) -> nw.Expr:
        return nw.col(self._named(self._windows[rows], rows, window.cast(nw.Float64)))

    def _total(self, rows: str, kind: str, term: nw.Expr) -> nw.Expr:
        # in two steps: pandas groups plain columns only
        column = nw.col(self._named(self._terms[rows], f"{rows}_term", term))
        total = column.sum() if kind == "sum" else column.max()
        return nw.col(self._named(self._totals[rows], f"{rows}_{kind}", total)).cast(nw.Float64)

    def _named(self, known: dict[str, nw.Expr], kind: str, expression: nw.Expr) -> str:
        """Name an expression; the same one, asked for again, has the same name and is computed once."""
        key = f"{kind} {expression!r}"
        name = self._names.setdefault(key, f"{kind}_{len(self._names)}")
        known[name] = expression
        return name

    def judged_columns(self, judged: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Add what expressions want to know of judged documents to their rows."""
        return self._with_columns(with_one(judged), "judged")

    def keep(self, *columns: str) -> None:
        """Have columns of the judged rows that are one text for each query beside the sums."""
        self._totals["judged"].update({column: nw.col(column).max() for column in columns})

    def totals(
        self, judged: nw.LazyFrame[Any], hits: nw.LazyFrame[Any], systems: nw.LazyFrame[Any] | None = None
    ) -> nw.LazyFrame[Any]:
        """Return one row per query of the judged rows, with all sums; ``hits`` are the judged rows with ranks.

        With several ``systems``, one row per query and system: what is summed over judged rows is the same for all.
        """
        if self._terms["judged"]:
            judged = judged.with_columns(**self._terms["judged"])
        per_query = judged.group_by(QUERY).agg(**self._totals["judged"], judged=nw.len())
        if systems is not None:
            per_query = per_query.join(systems, how="cross")
        found, lists = self._totals["hits"], self._lists["hits"]
        if not found:
            return per_query
        per_list = self._with_columns(hits, "hits").with_columns(**self._terms["hits"]).group_by(*lists).agg(**found)
        zero_where_missing = [nw.col(name).cast(nw.Float64).fill_null(0.0) for name in found]
        return per_query.join(per_list, on=lists, how="left").with_columns(*zero_where_missing)

    def _with_columns(self, rows: nw.LazyFrame[Any], kind: str) -> nw.LazyFrame[Any]:
        for added in (self._columns[kind], self._windows[kind]):
            if added:
                rows = rows.with_columns(**added)
        return rows


def queries_of(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return every query once; by grouping, which all engines do well."""
    return rows.group_by(QUERY).agg(nw.len().alias(ONE)).select(QUERY)


def list_keys(rows: nw.LazyFrame[Any]) -> list[str]:
    """Return the columns that tell lists apart: the query, before it the system where there are several."""
    return [SYSTEM, QUERY] if SYSTEM in rows.collect_schema().names() else [QUERY]


def lists_of(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return every list once, by its keys."""
    keys = list_keys(rows)
    return rows.group_by(*keys).agg(nw.len().alias(ONE)).select(*keys)


def with_one(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Add a column to count: on pandas, Narwhals cannot count a column that rows are also ordered by."""
    return rows.with_columns(nw.lit(1).alias(ONE))


def _number(condition: nw.Expr) -> nw.Expr:
    # whole numbers: as SQL, 1.0 is a decimal in some engines, and so would be what is divided by it
    return nw.when(condition).then(1).otherwise(0)
