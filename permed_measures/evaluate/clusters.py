"""The unit of inference: which queries are one unit, what the units are called, and ids that look like turns."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from permed_measures.errors import InputError
from permed_measures.evaluate.groups import NO_GROUP, Groups, conversation, group_label, grouped, is_table
from permed_measures.inference import FEWEST_CLUSTERS
from permed_measures.render.words import counted, queries

_FEW_CLUSTERS = 10


@dataclass(frozen=True)
class Clusters:
    """Which queries are one unit."""

    name: str
    of: dict[str, str]
    """The cluster of every query."""

    def __call__(self, query_id: str) -> str:
        """Return the cluster of a query."""
        return self.of[query_id]

    def counted(self, number: int) -> str:
        """Say how many units there are: "95 conversations"."""
        return counted(number, self.name)


def clusters(query_ids: Collection[str], cluster: Groups) -> Clusters:
    """Return the clusters of queries; ``cluster`` is 'conversation', a regular expression, a file or a dict.

    A query that the expression does not match is a unit of its own; one that a file or dict lacks is an error.
    """
    found = grouped(query_ids, cluster, what="cluster")
    missing = found.pop(NO_GROUP, [])
    if missing and is_table(cluster):
        msg = f"cluster {group_label(cluster)!r}: {queries(len(missing))} not in it, the first is {missing[0]!r}"
        raise InputError(f"{msg}; every query needs a cluster")
    of = {query_id: f"={query_id}" for query_id in missing}  # a name that no cluster has
    of.update({query_id: f":{name}" for name, inside in found.items() for query_id in inside})
    return Clusters(cluster if cluster in ("conversation", "turn") else "cluster", of)


def cluster_notes(query_ids: Collection[str], known: Clusters | None) -> list[str]:
    """Say what the number of clusters allows, or that ids look like turns of conversations."""
    if known is None:
        return _turns(query_ids)
    num = len({known.of[query_id] for query_id in query_ids})
    if num < FEWEST_CLUSTERS:
        smallest = f"the smallest possible p is {2.0 ** (1 - num):.4g}" if num > 1 else "nothing can be tested"
        return [f"only {counted(num, known.name)}: {smallest}, so no difference can be shown"]
    if num < _FEW_CLUSTERS:
        return [f"only {counted(num, known.name)}: intervals and p-values rest on few independent units"]
    return []


def _turns(query_ids: Collection[str]) -> list[str]:
    turns = [q for q in query_ids if "_" in q and q.rpartition("_")[2].isdecimal()]
    sizes = Counter(map(conversation, turns))
    several = sum(size > 1 for size in sizes.values())
    if 2 * several < len(sizes) or len(sizes) < 2 or 10 * len(turns) < 9 * len(query_ids):  # noqa: PLR2004  (two at least)
        return []
    num = counted(len(sizes), "conversation")
    said = f"query ids look like conversation_turn: {num}, {len(turns) / len(sizes):.1f} turns each"
    advice = "add --cluster conversation (in Python cluster='conversation')"
    return [f"{said}; turns of one conversation are not independent, but are taken to be: {advice}"]
