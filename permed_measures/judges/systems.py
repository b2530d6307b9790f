"""Whether judges order the same systems alike, and agree on who is better where a test decides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

from ir_measures import Measure

from permed_measures.comparison.significance import deciding_p, holm
from permed_measures.errors import ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.evaluate.clusters import clusters
from permed_measures.evaluate.groups import Groups
from permed_measures.inference import units
from permed_measures.inference.orders import kendall_tau, tau_ap
from permed_measures.inputs import Qrels, RunLike
from permed_measures.render.document import Block, Cell, Lines, Table, Value
from permed_measures.render.words import number, signed

Better = Literal["first", "second", "not shown"]


class PairOfSystems(NamedTuple):
    """Two systems under people's grades and under the judge's."""

    first: str
    second: str
    by_people: float
    """First minus second."""
    by_judge: float
    people_say: Better
    judge_says: Better

    @property
    def verdict(self) -> str:
        """Whether the two judges lead to the same decision."""
        if self.people_say == self.judge_says:
            return "same" if self.people_say != "not shown" else "neither shows one"
        if "not shown" in (self.people_say, self.judge_says):
            return "only people show one" if self.judge_says == "not shown" else "only the judge shows one"
        return "opposite"


@dataclass(frozen=True)
class SystemOrder:
    """One measure under people's grades and under one judge's."""

    tau: float | None
    tau_ap: float | None
    means: dict[str, tuple[float, float]]
    """Of each system, by people and by the judge."""
    pairs: tuple[PairOfSystems, ...]


@dataclass(frozen=True)
class SystemOrders:
    """All measures and judges."""

    orders: dict[tuple[str, Measure], SystemOrder]
    num_queries: dict[str, int]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all of it for JSON."""
        return [
            {
                "judge": judge,
                "measure": str(measure),
                "queries": self.num_queries[judge],
                "tau": order.tau,
                "tau_ap": order.tau_ap,
                "means": {
                    name: dict(zip(("people", "judge"), both, strict=True)) for name, both in order.means.items()
                },
                "pairs": [{**pair._asdict(), "verdict": pair.verdict} for pair in order.pairs],
            }
            for (judge, measure), order in self.orders.items()
        ]

    def blocks(self) -> list[Block]:
        """Return a table of the orders, and the pairs on which two judges differ."""
        heads = ["judge", "measure", "queries", "tau", "tau_AP", "pairs"]
        heads += ["same", "opposite", "only people", "only judge"]
        rows: list[list[Value]] = []
        apart: list[str] = []
        for (judge, measure), order in self.orders.items():
            said = [pair.verdict for pair in order.pairs]
            unlike = ("opposite", "only people show one", "only the judge shows one")
            same = [verdict for verdict in said if verdict not in unlike]
            counts = [len(same), *map(said.count, unlike)]
            taus = [Cell(tau, number(tau, 3)) for tau in (order.tau, order.tau_ap)]
            rows.append([judge, str(measure), self.num_queries[judge], *taus, len(said), *counts])
            apart += [
                f"{measure}, {pair.first} minus {pair.second}: people {signed(pair.by_people)}, {judge} "
                f"{signed(pair.by_judge)}: {pair.verdict}"
                for pair in order.pairs
                if pair.verdict in unlike
            ]
        return [Table(heads, rows, left=2), Lines(apart)]


def system_orders(  # noqa: PLR0913  (two kinds of judges, systems, and how to compare)
    people: Qrels,
    judges: Mapping[str, Qrels],
    runs: Mapping[str, RunLike],
    measures: str | Measure | Iterable[str | Measure],
    *,
    cluster: Groups | None,
    alpha: float,
) -> SystemOrders:
    """Evaluate every run with every judge's grades, on the queries that people and the judge share."""
    if len(runs) < 2:  # noqa: PLR2004  (one system has no order)
        raise ParamError(f"an order of systems needs two runs at least; there is {len(runs)}")
    orders, num_queries = {}, {}
    for judge, qrels in judges.items():
        shared = [query for query in people if query in qrels]
        found = [
            {name: evaluate({query: side[query] for query in shared}, run, measures) for name, run in runs.items()}
            for side in (people, qrels)
        ]
        num_queries[judge] = len(shared)
        for measure in next(iter(found[0].values())).means:
            orders[judge, measure] = _order(found[0], found[1], measure, cluster, alpha)
    return SystemOrders(orders, num_queries)


def _order(
    people: Mapping[str, Evaluation],
    judge: Mapping[str, Evaluation],
    measure: Measure,
    cluster: Groups | None,
    alpha: float,
) -> SystemOrder:
    means = {name: (people[name].means[measure], judge[name].means[measure]) for name in people}
    by_people, by_judge = zip(*means.values(), strict=True)
    sides = [_verdicts(side, measure, cluster, alpha) for side in (people, judge)]
    pairs = tuple(
        PairOfSystems(a, b, means[a][0] - means[b][0], means[a][1] - means[b][1], people_say, judge_says)
        for (a, b), people_say, judge_says in zip(combinations(means, 2), *sides, strict=True)
    )
    return SystemOrder(kendall_tau(by_people, by_judge), tau_ap(by_people, by_judge), means, pairs)


def _verdicts(side: Mapping[str, Evaluation], measure: Measure, cluster: Groups | None, alpha: float) -> list[Better]:
    """Say of every pair of systems which is better by the deciding test, Holm over the pairs."""
    columns = {name: evaluation.columns[measure] for name, evaluation in side.items()}
    queries = list(next(iter(columns.values())))
    cluster_of = None if cluster is None else clusters(queries, cluster)
    samples = [
        units({q: columns[a][q] - columns[b][q] for q in queries}, cluster_of) for a, b in combinations(columns, 2)
    ]
    adjusted = holm([deciding_p(sample) for sample in samples])
    shown = [p is not None and p < alpha for p in adjusted]
    return [
        "not shown" if not is_shown else "first" if sum(sample.sums) > 0 else "second"
        for sample, is_shown in zip(samples, shown, strict=True)
    ]
