"""Lists of Spark tables with short hashes of their documents: what tells duplicates for two bytes a row."""

from typing import Any

import narwhals as nw

from permed_measures.tables.ranking_table import DOC, SYSTEM, list_keys

JUDGED, RETURNED, FAULTS, DOUBTFUL = "judged", "returned", "faults", "doubtful"
_LIST, _HASH = "list", "hash"
_MOST_SENT = 2**20
"""So many hashes go to every worker."""
_PAIR = f"shiftleft({_LIST}, 16) | (CAST({_HASH} AS BIGINT) & {2**16 - 1}L) AS {_HASH}"
"""One number to look for, which takes Spark less time than two."""


def packed_lists(qrels: nw.LazyFrame[Any], run: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return one row for each list: how many rows are judged, returned and faulty, and how many hashes are too many.

    Documents differ where 16 bits of their hashes do: two bytes a row to exchange, instead of the row. Where they do
    not, the hashes come along. Both tables are grouped at once, so that nothing is left to join; by a number, because
    Spark sorts numbers in half the time of texts. Where there are several systems, lists have their names.
    """
    keys = list_keys(run)
    named = keys if len(keys) > 1 else []
    judged, returned = (
        _hashed(rows, keys).selectExpr(_LIST, FAULTS, f"{_HASH} AS {own}", f"CAST(NULL AS SMALLINT) AS {other}", *named)
        for rows, own, other in ((qrels, JUDGED, RETURNED), (run, RETURNED, JUDGED))
    )
    asked = {FAULTS: "count", JUDGED: "collect_list", RETURNED: "collect_list", **dict.fromkeys(named, "min")}
    lists = judged.unionByName(returned).groupBy(_LIST).agg(asked)
    shown = [_LIST, *(f"`{asked[name]}({name})` AS {name}" for name in (FAULTS, *named))]
    for name in (JUDGED, RETURNED):
        hashes = f"`collect_list({name})`"
        too_many = f"size({hashes}) - size(array_distinct({hashes}))"
        shown += [f"size({hashes}) AS {name}", f"{hashes} AS {name}_{_HASH}", f"{too_many} AS {name}_{DOUBTFUL}"]
    lists = lists.selectExpr(*shown)
    needed = {
        f"{name}_{_HASH}": f"CASE WHEN {name}_{DOUBTFUL} > 0 THEN {name}_{_HASH} END AS {name}_{_HASH}"
        for name in (JUDGED, RETURNED)
    }
    packed: nw.LazyFrame[Any] = nw.from_native(lists.selectExpr(*[needed.get(name, name) for name in lists.columns]))
    return packed


def doubtful_rows(rows: nw.LazyFrame[Any], packed: nw.LazyFrame[Any], which: str, doubtful: int) -> nw.LazyFrame[Any]:
    """Return ids of the rows whose hash their list has more than once; ``doubtful`` is how many hashes are too many."""
    lists = nw.to_native(packed).filter(f"{which}_{DOUBTFUL} > 0")
    hashes = lists.selectExpr(_LIST, f"explode({which}_{_HASH}) AS {_HASH}")
    repeated = hashes.groupBy(_LIST, _HASH).count().filter("count > 1").selectExpr(_PAIR)
    repeated = repeated.hint("broadcast") if doubtful <= _MOST_SENT else repeated
    own = _hashed(rows, list_keys(packed)).selectExpr(*list_keys(rows), DOC, _PAIR)
    found: nw.LazyFrame[Any] = nw.from_native(own.join(repeated, _HASH, "leftsemi"))
    return found


def _hashed(rows: nw.LazyFrame[Any], keys: list[str]) -> Any:  # noqa: ANN401  (Spark's)
    """Add the hashes of list and document; two lists of one hash are one, and judgements are of no system."""
    table = nw.to_native(rows)
    if SYSTEM in keys and SYSTEM not in list_keys(rows):
        table = table.selectExpr("*", f"CAST(NULL AS STRING) AS {SYSTEM}")
    ids = ", ".join(f"coalesce({key}, '')" for key in keys)  # what is null is left out of a hash
    short = f"CAST(pmod(xxhash64({DOC}), {2**16}L) - {2**15}L AS SMALLINT) AS {_HASH}"
    return table.selectExpr("*", f"xxhash64({ids}) AS {_LIST}", short)
