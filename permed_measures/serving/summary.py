"""Latency, throughput and cost of one system, as one flat set of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from permed_measures.render.document import Cell, Document, Lines, Section, Table
from permed_measures.render.result import Result
from permed_measures.serving.cost import Cost
from permed_measures.serving.latency import Latency
from permed_measures.serving.throughput import Load, LoadKey

_FIGURES = re.compile(
    r"(\w+_ms(_at_least)?|qps|offered_qps|failures|failure_share)(_\d+_threads(_at_[\d.e+-]+_per_s)?)?"
    r"|usd_per_\w+|tokens_per_query|queries_per_day|calls|censored"
)


_OF_LOADS = ("qps", "offered_qps", "failures", "failure_share", "p95_ms", "p95_ms_at_least")
"""Under these names with a suffix, ``qps_4_threads`` or, one of several rates, ``qps_4_threads_at_20_per_s``."""


def is_figure(name: str) -> bool:
    """Whether a :class:`ServingSummary` has numbers under such a name.

    >>> is_figure("p95_ms"), is_figure("qps_4_threads_at_2.5_per_s"), is_figure("nDCG@10")
    (True, True, False)
    """
    return _FIGURES.fullmatch(name) is not None


@dataclass(frozen=True, eq=False, repr=False)
class ServingSummary(Result):
    """What is known about how a system serves: the same names in JSON, in targets and in ``permed-measures gate``.

    >>> summary = ServingSummary(Latency.of([10, 20, 30]), cost=Cost(0.025, 800, 50))
    >>> {name: summary.to_dict()[name] for name in ("p50_ms", "max_ms", "usd_per_query")}
    {'p50_ms': 20.0, 'max_ms': 30.0, 'usd_per_query': 0.001}
    """

    latency: Latency
    """Of calls one after the other, or of a log; the latency under load is in ``loads``."""
    cost: Cost | None = None
    loads: Mapping[LoadKey, Load] = field(default_factory=dict)
    """Measured throughput, by number of threads, or by (threads, rate)."""
    qps: float | None = None
    """Queries a second, where they are known otherwise: of a request log. Else the highest of the loads."""
    queries_per_day: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under flat names; those that are not known are left out.

        ``failure_share`` is the highest one, of the calls and of every load: a target for it holds for all of them.
        """
        numbers = self.latency.to_dict()
        of_loads: dict[str, float] = {}
        for key, load in self.loads.items():
            of = f"_{key}_threads" if isinstance(key, int) else f"_{key[0]}_threads_at_{key[1]:g}_per_s"
            found = load.to_dict()
            of_loads |= {name + of: found[name] for name in _OF_LOADS if name in found}
            numbers["failure_share"] = max(numbers.get("failure_share", 0.0), found.get("failure_share", 0.0))
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
