"""Latency, throughput and cost of one system, as one flat set of numbers; and what its cost brings."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from permed_measures.errors import ParamError
from permed_measures.render.document import Cell, Document, Lines, Section, Table
from permed_measures.render.result import Result
from permed_measures.serving.latency import AT_LEAST, Latency
from permed_measures.serving.throughput import Load, LoadKey

_FIGURES = re.compile(
    r"(\w+_ms|qps|offered_qps|failures|failure_share)(_\d+_threads(_at_[\d.e+-]+_per_s)?)?(_at_least)?"
    r"|usd_per_\w+|tokens_per_query|queries_per_day|calls|censored"
)
_OF_LOADS = ("qps", "offered_qps", "failures", "failure_share", "p95_ms")
"""Under these names with a suffix, ``qps_4_threads`` or, one of several rates, ``qps_4_threads_at_20_per_s``."""


@dataclass(frozen=True)
class Cost:
    """What reranking costs where tokens are paid for.

    ``tokens_per_document`` is what is paid for one candidate (a cross-encoder reads the query again with each of them:
    count it there); ``tokens_per_query`` is paid once a query, on top.

    >>> cost = Cost(usd_per_million_tokens=0.025, tokens_per_document=800, documents_per_query=50)
    >>> cost.tokens, cost.usd_per_query                    # 50 · 800 tokens at $0.025 a million
    (40000, 0.001)
    >>> cost.usd_per_day(100_000), cost.usd_per_million_queries
    (100.0, 1000.0)
    """

    usd_per_million_tokens: float
    tokens_per_document: float
    documents_per_query: float
    tokens_per_query: float = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _at_least_zero(name, value)

    @property
    def tokens(self) -> float:
        """Tokens paid for one query."""
        return self.documents_per_query * self.tokens_per_document + self.tokens_per_query

    @property
    def usd_per_query(self) -> float:
        """Dollars a query."""
        return self.tokens * self.usd_per_million_tokens / 1_000_000

    @property
    def usd_per_million_queries(self) -> float:
        """Dollars a million queries."""
        return self.tokens * self.usd_per_million_tokens

    def usd_per_day(self, queries_per_day: float) -> float:
        """Return dollars a day."""
        return _at_least_zero("queries_per_day", queries_per_day) * self.usd_per_query

    def to_dict(self, queries_per_day: float | None = None) -> dict[str, float]:
        """Return the numbers."""
        numbers = {"usd_per_million_tokens": self.usd_per_million_tokens, "tokens_per_query": self.tokens}
        numbers |= {"usd_per_query": self.usd_per_query, "usd_per_million_queries": self.usd_per_million_queries}
        if queries_per_day is not None:
            numbers |= {"queries_per_day": queries_per_day, "usd_per_day": self.usd_per_day(queries_per_day)}
        return numbers


@dataclass(frozen=True)
class Roi:
    """What :func:`roi` returns. Shares, not percentages: 0.2083 is 20.83%."""

    improvement: float
    revenue_increase_usd_per_day: float
    cost_usd_per_day: float
    roi: float | None  # none where it costs nothing
    improvement_interval: tuple[float, ...] = ()
    """95%, from that of the measure's difference; empty where it is not known."""
    roi_interval: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    def __str__(self) -> str:
        gain = "free" if self.roi is None else f"ROI {self.roi:+.2%}{_between(self.roi_interval)}"
        return (
            f"improvement {self.improvement:+.2%}{_between(self.improvement_interval)}, revenue "
            f"{self.revenue_increase_usd_per_day:+,.2f} $/day, cost {self.cost_usd_per_day:,.2f} $/day, {gain}"
        )


def _between(interval: tuple[float, ...]) -> str:
    return f" ({interval[0]:+.2%} to {interval[1]:+.2%})" if interval else ""


def roi(  # noqa: PLR0913  (all that a return is made of)
    baseline: float,
    reranked: float,
    *,
    usd_per_query: float,
    queries_per_day: float,
    revenue_per_query: float,
    difference_interval: tuple[float, float] | None = None,
) -> Roi:
    """Return the return on investment, (revenue increase - cost) / cost.

    It supposes that revenue grows in proportion to the measure, which is a strong supposition: an A/B test tells. The
    interval of ``reranked - baseline`` is carried through; the baseline's own mean is taken as it is.

    >>> result = roi(0.72, 0.87, usd_per_query=0.001, queries_per_day=100_000, revenue_per_query=0.01)
    >>> print(result)                                       # (0.87 - 0.72) / 0.72; · $1,000 a day; against $100
    improvement +20.83%, revenue +208.33 $/day, cost 100.00 $/day, ROI +108.33%
    """
    given = {"baseline": baseline, "reranked": reranked, "usd_per_query": usd_per_query}
    for name, value in (given | {"queries_per_day": queries_per_day, "revenue_per_query": revenue_per_query}).items():
        _at_least_zero(name, value)
    if baseline == 0:
        raise ParamError("baseline=0 is not allowed: an improvement over 0 has no size")
    revenue, cost = queries_per_day * revenue_per_query, queries_per_day * usd_per_query
    shares = [change / baseline for change in (reranked - baseline, *(difference_interval or ()))]
    returns = [(revenue * share - cost) / cost for share in shares] if cost else []
    return Roi(
        shares[0], revenue * shares[0], cost, returns[0] if cost else None, tuple(shares[1:]), tuple(returns[1:])
    )


def _at_least_zero(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ParamError(f"{name}={value!r} is not allowed; give a number >= 0")
    return value


def is_figure(name: str) -> bool:
    """Whether a :class:`ServingSummary` has numbers under such a name."""
    return _FIGURES.fullmatch(name) is not None


@dataclass(frozen=True, eq=False, repr=False)
class ServingSummary(Result):
    """What is known about how a system serves: the same names in JSON, in targets and in ``permed-measures gate``."""

    latency: Latency  # of calls one after the other, or of a log; the latency under load is in ``loads``
    cost: Cost | None = None
    loads: Mapping[LoadKey, Load] = field(default_factory=dict)
    """Measured throughput, by number of threads, or by (threads, rate)."""
    by_size: Mapping[int, Latency] = field(default_factory=dict)
    """Latency with the candidates cut to so many, where that was measured."""
    qps: float | None = None
    """Queries a second, where they are known otherwise: of a request log. Else the highest of the loads."""
    queries_per_day: float | None = None
    notes: tuple[str, ...] = ()

    def record(self) -> dict[str, float]:
        """Return the numbers under flat names; those that are not known are left out.

        ``failure_share`` is the highest one, of the calls, of every size and of every load: a target holds for all.
        """
        numbers = self.latency.to_dict()
        shares = [latency.to_dict().get("failure_share", 0.0) for latency in self.by_size.values()]
        of_loads: dict[str, float] = {}
        for key, load in self.loads.items():
            of = f"_{key}_threads" if isinstance(key, int) else f"_{key[0]}_threads_at_{key[1]:g}_per_s"
            found = load.to_dict()
            of_loads |= {name + of: found[name] for name in _OF_LOADS if name in found}
            if f"p95_ms{AT_LEAST}" in found:
                of_loads[f"p95_ms{of}{AT_LEAST}"] = found[f"p95_ms{AT_LEAST}"]
            shares.append(found.get("failure_share", 0.0))
        if shares:
            numbers["failure_share"] = max(numbers.get("failure_share", 0.0), *shares)
        rates = [load.qps for load in self.loads.values() if not math.isnan(load.qps)]
        if self.qps is not None or rates:
            numbers["qps"] = max(rates) if self.qps is None else self.qps
        numbers |= of_loads
        if self.cost is not None:
            numbers |= self.cost.to_dict(self.queries_per_day)
        return numbers

    def as_table(self) -> Table:
        """Return the numbers."""
        return Table(["figure", "value"], [[name, Cell(v, f"{v:,.6g}")] for name, v in self.to_dict().items()])

    def document(self) -> Document:
        """Return the numbers and the notes."""
        return Document("", "", [Section("", [self.as_table(), Lines([*self.notes, *self.latency.notes], "note: ")])])
