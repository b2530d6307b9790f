"""Standard measures as expressions: an engine cannot call pytrec_eval. compat/ checks them against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ir_measures import Measure

from permed_measures.measures.base import NOT_GIVEN

if TYPE_CHECKING:
    import narwhals as nw

    from permed_measures.tables.ranking_table import RankingTable


def p(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> nw.Expr:
    """Precision: relevant documents in the top k, divided by k."""
    rank = table.ranks(judged_only=judged_only)
    return table.sum_hits(1, (table.grade >= rel) & table.within(cutoff, rank)) / float(cutoff)


def r(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> nw.Expr:
    """Recall: relevant documents in the top k, divided by all relevant ones."""
    rank = table.ranks(judged_only=judged_only)
    found = table.sum_hits(1, (table.grade >= rel) & table.within(cutoff, rank))
    return table.ratio(found, table.sum_judged(1, table.grade >= rel))


def set_r(table: RankingTable, *, rel: float) -> nw.Expr:
    """Recall of the whole list."""
    relevant = table.grade >= rel
    return table.ratio(table.sum_hits(1, relevant), table.sum_judged(1, relevant))


def ap(table: RankingTable, *, cutoff: int | None, rel: float, judged_only: bool) -> nw.Expr:
    """Average precision, divided by all relevant documents."""
    rank = table.ranks(judged_only=judged_only)
    relevant = table.grade >= rel
    total = table.sum_hits(table.found(relevant) / rank, relevant & table.within(cutoff, rank))
    return table.ratio(total, table.sum_judged(1, relevant))


def rr(table: RankingTable, *, cutoff: int | None, rel: float, judged_only: bool) -> nw.Expr:
    """Reciprocal rank of the first relevant document."""
    rank = table.ranks(judged_only=judged_only)
    return table.max_hits(1.0 / rank, (table.grade >= rel) & table.within(cutoff, rank))


def rprec(table: RankingTable, *, rel: float, judged_only: bool) -> nw.Expr:
    """Precision at R, the number of relevant documents."""
    rank = table.ranks(judged_only=judged_only)
    relevant = table.grade >= rel
    num_rel = table.sum_judged(1, relevant)
    return table.ratio(table.sum_hits(1, relevant & (rank <= table.count_judged(relevant))), num_rel)


def success(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> nw.Expr:
    """1 if a relevant document is in the top k."""
    rank = table.ranks(judged_only=judged_only)
    return table.any_hit((table.grade >= rel) & table.within(cutoff, rank))


STANDARD: dict[str, Callable[..., nw.Expr]] = {
    "P": p,
    "R": r,
    "AP": ap,
    "RR": rr,
    "Rprec": rprec,
    "SetR": set_r,
    "Success": success,
}
"""By ir_measures' names. nDCG is computed by this package, so its expression stands with its kernel."""


def arguments(measure: Measure) -> dict[str, Any]:
    """Return the parameters of one of ir_measures' measures, with their defaults."""
    given = {name: measure[name] for name in measure.SUPPORTED_PARAMS}
    return {name: None if value is NOT_GIVEN else value for name, value in given.items()}
