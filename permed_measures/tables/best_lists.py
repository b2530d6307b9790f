"""The best scores of each list, and the rows that can be among them: what ranks and counts of ties are made of."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any, NamedTuple

import narwhals as nw

from permed_measures.tables.counts import one_row, sums_by_system
from permed_measures.tables.engines import MOST_BEST, highest_scores, kept, lazy_frame, size_of
from permed_measures.tables.hashes import Different, all_differ
from permed_measures.tables.inputs import InputTable, in_32_bits
from permed_measures.tables.listed import BEST, listed
from permed_measures.tables.ranking_table import ONE, SCORE, list_keys, with_one

_NAN = "nan"
_SCORE_BYTES = 128
"""What DuckDB 2.0 takes for each of them while it looks for the best scores of queries whose rows are apart."""
_MOST_PARTS = 16
_FLOAT32_MOST = (2 - 2**-23) * 2.0**127


class BestLists(NamedTuple):
    """The best of each list, down to one more than a depth, in DuckDB or Polars."""

    lists: nw.LazyFrame[Any]
    """A row for each list: how many rows it has, or are left of it; its highest 64-bit scores, descending."""
    rows: nw.LazyFrame[Any] | None = None
    """What is left of the run, where the engine has it: the rows that can be among the best."""

    def within_reach(self, run: nw.LazyFrame[Any], depth: int) -> nw.LazyFrame[Any]:
        """Leave out the rows with 64-bit scores that are below the depth of their list, in 32 bits too."""
        if self.rows is not None:
            return self.rows
        keys = list_keys(self.lists)
        least = lazy_frame(nw.to_native(self.lists).project(f"{', '.join(keys)}, {BEST}[{depth}] AS least"))
        beside = run.join(least.with_columns(least=_nearly_least()), on=keys, how="inner")
        return beside.filter(nw.col(SCORE) >= nw.col("least")).drop("least")

    def scores(self, depth: int) -> nw.LazyFrame[Any]:
        """Return the highest scores of each list, a row each, with the one above and the one below."""
        keys, native = list_keys(self.lists), nw.to_native(self.lists)
        if self.lists.implementation.is_polars():
            return lazy_frame(_scores_in_polars(nw.get_native_namespace(self.lists), native, keys, depth))
        beside = {SCORE: f"{BEST}[:{depth}]"}
        beside |= {"above": f"[NULL] || {BEST}[:{depth - 1}]", "below": f"{BEST}[2:{depth + 1}]"}
        unnested = [f"unnest({those}) AS {name}" for name, those in beside.items()]
        return lazy_frame(native.project(", ".join([*keys, *unnested])))


def _scores_in_polars(polars: Any, lists: Any, keys: list[str], depth: int) -> Any:  # noqa: ANN401  (LazyFrames)
    best, which, place = polars.col(BEST).list, polars.col("which"), polars.col("place")
    places = polars.int_ranges(0, best.len().clip(upper_bound=depth + 1))
    rows = lists.with_row_index("which").select(*keys, which, best.head(depth + 1).alias(SCORE), place=places)
    beside = {
        name: polars.when(which == which.shift(by)).then(polars.col(SCORE).shift(by))
        for name, by in (("above", 1), ("below", -1))
    }
    return rows.explode(SCORE, "place").with_columns(**beside).filter(place < depth)


def _nearly_least() -> nw.Expr:
    """Return what every score is above that is the ``least`` one, or is rounded to the same."""
    score = nw.col("least")
    score = nw.when(score > _FLOAT32_MOST).then(_FLOAT32_MOST).otherwise(score)
    nearly = score - score.abs() * 2.0**-22 - 2.0**-148  # further away than anything that is rounded to the same
    return nw.when(score >= -_FLOAT32_MOST).then(nearly).otherwise(nw.lit(float("-inf")))


def best_lists(run: nw.LazyFrame[Any], depth: int | None, number: float | None = None) -> list[BestLists]:
    """Look for the best of each list in DuckDB, down to one more than the depth; nothing is computed yet.

    ``number`` is how many lists there are, where that is known. While DuckDB looks, they stay in memory, unlike lists
    that it orders as a whole: where all are too many they come in several parts, and where that would be a pass over
    the run too often, in none.
    """
    if depth is None or depth >= MOST_BEST:
        return []
    native, of = nw.to_native(run), ", ".join(list_keys(run))
    rows, found, memory = size_of(native, "0" if number else f"approx_count_distinct(hash({of}))")
    number = number or found
    parts = max(1, ceil(number * (depth + 1) * _SCORE_BYTES / (memory / 2))) if memory else _MOST_PARTS + 1
    if 2 * depth * number > rows or parts > _MOST_PARTS:
        return []
    best = []
    for part in range(parts):
        some = native if parts == 1 else native.filter(f"hash({of}) % {parts} = {part}")
        lists = some.aggregate(f"{of}, max({SCORE}, {depth + 1}) AS {BEST}", of)
        known = f"len({BEST}) AS {ONE}, isnan({BEST}[1])::INTEGER AS {_NAN}"  # which is the greatest number there
        best.append(BestLists(lazy_frame(lists.project(f"{of}, {BEST}, {known}"))))
    return best


@contextmanager
def found_best(run: InputTable, depth: int | None) -> Iterator[tuple[Different | None, BestLists | None]]:
    """Find the best of each list, and find out that all rows differ, in as few passes as the engine needs.

    Without a depth only the latter is found out. Both are None where that is not certain, or where the engine has no
    such way; they last as long as the context.
    """
    most = 0 if depth is None or depth >= MOST_BEST else depth + 1
    with listed(run.rows, most) as found:
        if found is not None:
            best = None if found.near is None else BestLists(found.lists, found.near)
            yield Different(found.num_rows, found.num_lists, found.lists), best
            return
    kind = run.rows.implementation
    if depth is not None and most and (kind.is_polars() or kind.is_duckdb()):
        with _found_in_polars(run, depth) if kind.is_polars() else _found_in_duckdb(run, depth) as found_there:
            yield found_there
    else:
        yield all_differ(run.unknown_rows), None


@contextmanager
def _found_in_duckdb(run: InputTable, depth: int) -> Iterator[tuple[Different | None, BestLists | None]]:
    differ = all_differ(run.rows, nan=True)
    best = best_lists(run.rows, depth, differ and differ.num_lists)
    if not best:
        yield differ and all_differ(run.unknown_rows), None
        return
    with kept(*(part.lists for part in best)) as lists:
        nan = one_row(lists.select(nw.col(_NAN).sum()))[_NAN]
        yield None if nan else differ, BestLists(lists)


@contextmanager
def _found_in_polars(run: InputTable, depth: int) -> Iterator[tuple[Different | None, BestLists | None]]:
    column, keys = nw.get_native_namespace(run.rows).col, list_keys(run.rows)
    with kept(run.rows) as rows:
        differ = all_differ(rows)
        if differ is None:
            yield None, None
            return
        least = column(SCORE).top_k(depth + 1).min().over(keys).alias("least")
        near = lazy_frame(nw.to_native(rows).with_columns(least)).filter(nw.col(SCORE) >= _nearly_least()).drop("least")
        with kept(near) as left:
            del rows, near  # the run, which is in memory
            best = nw.to_native(left).group_by(keys).agg(column(SCORE).alias(BEST), column(SCORE).len().alias(ONE))
            with kept(lazy_frame(best.with_columns(column(BEST).list.sort(descending=True)))) as lists:
                yield differ, BestLists(lists, left)


def count_ties(
    rows: nw.LazyFrame[Any], depth: int | None, best: BestLists | None = None
) -> dict[str | None, tuple[int, int]]:
    """Count the top documents whose score is another one's too: as 32-bit floats, and as 64-bit floats.

    ``rows`` holds 64-bit scores, and no NaN; ``best`` are their best ones, where they are known. The counts are of
    every system, or of None.
    """
    if best is not None and depth is not None:
        ranked = best.scores(depth)
    else:
        keys = list_keys(rows)
        top = rows.select(*keys, SCORE) if depth is None else highest_scores(rows, depth + 1)
        ranked = with_one(top).with_columns(
            place=nw.col(ONE).cum_count(reverse=True).over(*keys, order_by=SCORE),
            above=nw.col(SCORE).shift(-1).over(*keys, order_by=SCORE),
            below=nw.col(SCORE).shift(1).over(*keys, order_by=SCORE),
        )
        ranked = ranked if depth is None else ranked.filter(nw.col("place") <= depth)
    names = (SCORE, "above", "below")
    score, above, below = map(nw.col, names)
    score32, above32, below32 = (in_32_bits(ranked, name) for name in names)
    tied = ranked.with_columns(
        single=nw.when((score32 == above32) | (score32 == below32)).then(1).otherwise(0),
        double=nw.when((score == above) | (score == below)).then(1).otherwise(0),
    )
    found = sums_by_system(tied, ("single", "double"))
    return {system: (counts["single"], counts["double"]) for system, counts in found.items()}
