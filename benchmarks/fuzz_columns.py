"""Random, hostile dicts and streams for the compiled part, against the plain definition: under sanitizers (.ci/full).

python benchmarks/fuzz_columns.py [SECONDS]
"""

from __future__ import annotations

import gc
import random
import sys
import time

import duckdb

from permed_measures import ranking
from permed_measures.inputs import as_qrels, as_run, compiled_columns, distinct_grades, joined
from permed_measures.ranking import ORDERS, Ranking, Rankings, rank


class Text(str):
    """A string of somebody's own."""

    __slots__ = ()


class Wild:
    """What is found where a number or an id should be."""

    def __float__(self) -> float:
        gc.collect()
        return 1.0


IDS = ["", "a", "b", "é", "\0", "\ud800", "\U0001d518", "x" * 10_000, Text("t"), b"a", 7, None, ("a",)]
NUMBERS = [0.0, -0.0, 1, True, 10**400, -(10**400), float("inf"), float("-inf"), float("nan"), 2**53 + 1, 1e300, "0.5"]
NUMBERS += [None, b"1", Wild(), [1.0], 5e-324, 1.0, 1.0 + 1e-9]


def some(rng: random.Random, wild: float, kind: str):
    """Return a number, plain or not."""
    if rng.random() < wild:
        return rng.choice(NUMBERS)
    if kind == "grade":
        return rng.choice([0, 1, 2, 3, -1, 255, 256, 1000, 0.5, rng.randrange(4)])
    return rng.choice([rng.random(), float(rng.randrange(6)), rng.gauss(0, 1e30)])


def a_dict(rng: random.Random, wild: float, kind: str) -> dict:
    number = rng.choice([0, 1, 3, 24, 25, 33, 65, 400])
    ids = [rng.choice(IDS) if rng.random() < wild else f"d{rng.randrange(2 * number + 1)}" for _ in range(number)]
    return {doc_id: some(rng, wild, kind) for doc_id in ids}


def a_case(rng: random.Random) -> tuple[dict, dict, list]:
    wild = rng.choice([0, 0, 0.001, 0.2])
    names = [f"q{n}" for n in range(rng.choice([1, 2, 6]))]
    if rng.random() < wild:
        names.append(rng.choice(IDS[:8]))
    qrels, run = ({name: a_dict(rng, wild, kind) for name in names} for kind in ("grade", "score"))
    for dicts in (qrels, run):
        if rng.random() < wild:
            dicts[rng.choice(names)] = rng.choice([None, [], ["a"], 5, "text"])
        if rng.random() < 0.2:
            dicts.pop(rng.choice(names), None)
    return qrels, run, names


def check(rng: random.Random, qrels: dict, run: dict, names: list) -> bool:
    """Compare one case; return whether the compiled part had no doubt."""
    part = ranking.compiled_part()
    part.plain_qrels(qrels), part.handed(qrels, 10_000), part.handed(run, -1)
    depth, order = rng.choice([None, 1, 5, 30]), rng.choice(ORDERS)
    cutoff = rng.choice([None, 1, 5]) if depth is None else rng.choice([1, depth])
    at_once = joined(qrels, run, (depth, cutoff), order)
    try:
        judged = as_qrels(qrels)
        as_run(run)
    except Exception:  # noqa: BLE001  (what is refused is refused before anything is ranked)
        assert at_once is None
        part.columns(qrels, run, names, -1, -1, False)
        return False
    if at_once is not None:
        again = compiled_columns(judged, run, list(qrels), (depth, cutoff), order)
        assert (at_once[0], distinct_grades(at_once[0])) == (judged, distinct_grades(judged))
        assert (at_once[1].counts, at_once[1].columns) == (again.counts, again.columns)
    found = compiled_columns(judged, run, names, (depth, cutoff), order)
    if found is None:
        return False
    views = [
        rank(run[name], judged.get(name, {}), depth=depth, order=order)
        if run.get(name)
        else Ranking([], judged=judged.get(name, {}).values(), num_ret=0)
        for name in names
    ]
    assert found.counts == Rankings.of(views, cutoff).counts
    for one, other in zip(found.views, views, strict=True):
        assert one.ranked == other.ranked, (one.ranked, other.ranked)
        assert (one.num_ret, sorted(one.judged)) == (other.num_ret, sorted(other.judged))
    return True


class Sent:
    """A table that comes from the compiled part."""

    def __init__(self, table: object) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ranking.compiled_part().arrow_stream(self.table)


def check_lists(rng: random.Random) -> None:
    """Compare what is said of the lists in Arrow streams, right ones and others, with Python's own sorting."""
    kinds = [rng.choice([*["VARCHAR"] * 12, "BIGINT", "VARCHAR[]"]) for _ in range(rng.choice([2, 2, 2, 3, 3, 1, 4]))]
    kinds.append(rng.choice([*["DOUBLE"] * 12, "FLOAT", "VARCHAR"]))
    number, most = rng.choice([0, 1, 2, 100, 3000, 30_000]), rng.choice([0, 1, 5, 11, 100])
    memory = rng.choice([2**40] * 8 + [0, 100_000, 1_000_000])
    wide = rng.choice([1, 3, 11, 16, 40])
    rows = [
        (*(str(rng.randrange(number // 20 + 1)).rjust(wide, "q") for _ in kinds[:-2]), f"{n:0{wide}}", rng.gauss(0, 1))
        for n in range(number)
    ]
    rng.shuffle(rows)
    if rows and rng.random() < 0.4:
        row, place = [*rng.choice(rows)], rng.randrange(len(kinds))
        row[place] = rng.choice([None, "", row[place]]) if place < len(kinds) - 1 else rng.choice([None, float("nan")])
        rows.insert(rng.randrange(number), tuple(row))
    plain = all(kind == "VARCHAR" for kind in kinds[:-1]) and kinds[-1] == "DOUBLE" and len(kinds) in (3, 4)
    columns = ", ".join(f"unnest(?::VARCHAR[])::{kind} AS c{place}" for place, kind in enumerate(kinds))
    if not plain:  # whatever comes of it, the process goes on
        number = min(number, 100)
        columns = ", ".join(
            f"{'[i::VARCHAR]' if kind == 'VARCHAR[]' else f'i::{kind}'} AS c{n}" for n, kind in enumerate(kinds)
        )
        stream = duckdb.sql(f"SELECT {columns} FROM range({number}) numbers(i)").__arrow_c_stream__()  # noqa: S608
        assert ranking.compiled_part().best_lists([stream], most, 2**40, False, memory) is None
        return
    given = [[None if row[place] is None else str(row[place]) for row in rows] for place in range(len(kinds))]
    step = len(rows) // rng.choice([1, 1, 3, 7]) + 1
    relations = [
        duckdb.sql(f"SELECT {columns}", params=[those[at : at + step] for those in given])
        for at in range(0, len(rows) or 1, step)
    ]
    streams = (relation.__arrow_c_stream__() for relation in relations)
    found = ranking.compiled_part().best_lists(streams, most, 2**40 * bool(most), False, memory)
    whole = all(all(part for part in row[:-1]) and row[-1] is not None and row[-1] == row[-1] for row in rows)
    if not whole or len({row[:-1] for row in rows}) < len(rows):
        assert found is None
        return
    assert found is not None or memory < 2**40
    if found is None:
        return
    lists: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        lists.setdefault(row[:-2], []).append(row[-1])
    assert found[:2] == (len(rows), len(lists))
    sent = duckdb.from_arrow(Sent(found[2])).fetchall()
    keys = len(kinds) - 2
    assert {row[:keys]: row[keys:] for row in sent} == {
        key: (len(those), max(those) if most == 1 else sorted(those, reverse=True)[:most])
        for key, those in lists.items()
    }
    if most:
        near = duckdb.from_arrow(Sent(found[3])).fetchall()
        assert {row for row in rows if row[-1] >= sorted(lists[row[:-2]])[-most:][0]} <= set(near) <= set(rows)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed, sure, end = 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        seed += 1
        rng = random.Random(seed)
        sure += check(rng, *a_case(rng))
        if seed % 100 == 0:
            check_lists(rng)
    assert sure > seed / 10, "nearly all cases were in doubt"
    print(f"{seed:,} cases, {sure:,} without doubt, all as the plain definition says")


if __name__ == "__main__":
    main()
