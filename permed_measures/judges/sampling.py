"""A random list of queries for people to judge."""

import random
from collections.abc import Iterable

from permed_measures.errors import ParamError
from permed_measures.evaluate.clusters import clusters
from permed_measures.evaluate.groups import Groups


def sample_queries(query_ids: Iterable[str], num: int, *, seed: int = 0, cluster: Groups | None = None) -> list[str]:
    """Draw queries at random, in the order they were drawn; with ``cluster`` whole clusters, ``num`` of them.

    The draw depends on the ids and the seed, not on the order in which the ids come.

    >>> sorted(sample_queries({"b", "a", "c"}, 3))
    ['a', 'b', 'c']
    """
    known = sorted(set(query_ids))
    of = {query: query for query in known} if cluster is None else clusters(known, cluster).of
    members: dict[str, list[str]] = {}
    for query in known:
        members.setdefault(of[query], []).append(query)
    what = "queries" if cluster is None else "clusters"
    if not 0 < num <= len(members):
        msg = f"a sample of {num} {what} cannot be drawn from {len(members):,}; give a number from 1 to {len(members)}"
        raise ParamError(msg)
    names = random.Random(seed).sample(list(members), num)  # noqa: S311  (a sample, no secret)
    return [query for name in names for query in members[name]]
