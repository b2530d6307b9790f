"""What the compiled part says of the lists in streams of Arrow, beside Python's own sets and sorting."""

from __future__ import annotations

import random
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permed_measures.ranking import compiled_part

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'permed-measures[tables]'")
pl = pytest.importorskip("polars", reason="Polars is not installed: pip install 'permed-measures[tables]'")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'permed-measures[frames]'")
pytestmark = pytest.mark.skipif(compiled_part() is None, reason="the compiled part is not there")

MUCH = 2**40
TEXTS = st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()) | st.sampled_from(
    ["a", "aa", "aaa", "d1", "d10", "twelve bytes", "thirteen byte", "sixteen bytes at", "seventeen bytes !", "é" * 9]
)
NUMBERS = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1e-46, 1e300, -1e300, 0.1, 0.1 + 1e-12, 7.0])


class Sent:
    """A table that comes from the compiled part."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return compiled_part().arrow_stream(self.table)


def in_arrow(rows, keys, kind):
    names = [f"key{place}" for place in range(keys)] + ["doc"]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    texts = {"duckdb": pa.string(), "polars": pa.string_view(), "large": pa.large_string()}[kind]
    arrays = {name: pa.array(column, texts) for name, column in columns.items()}
    return pa.table({**arrays, "number": pa.array([row[-1] for row in rows], pa.float64())})


def found_in(tables, most, *, wanted=MUCH, finite=False, memory=MUCH):
    streams = (table.__arrow_c_stream__() for table in tables)
    return compiled_part().best_lists(streams, most, wanted, finite, memory)


def in_32_bits(number):
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def by_hand(rows, most):
    """Return of every list how many rows it has and its best numbers, and the rows that are not below them."""
    lists = {}
    for *key, _, number in rows:
        lists.setdefault(tuple(key), []).append(number)
    least = {key: sorted(those)[-most] if len(those) >= most else float("-inf") for key, those in lists.items()}
    best = {
        key: (len(those), max(those) if most == 1 else sorted(those)[: -most - 1 : -1]) for key, those in lists.items()
    }
    return best, [row for row in rows if in_32_bits(row[-1]) >= in_32_bits(least[tuple(row[:-2])])]


@given(
    data=st.data(),
    keys=st.integers(1, 2),
    most=st.integers(1, 5),
    kind=st.sampled_from(["duckdb", "polars", "large"]),
    pieces=st.integers(1, 4),
)
def test_lists_and_their_best_are_those_of_sorting(data, keys, most, kind, pieces):
    ids = st.tuples(*[st.sampled_from(["q", "p", "a query of many bytes"]) | TEXTS] * keys, TEXTS)
    rows = [(*pair, data.draw(NUMBERS)) for pair in data.draw(st.lists(ids, min_size=1, max_size=40, unique=True))]
    step = len(rows) // pieces + 1
    tables = [in_arrow(rows[at : at + step], keys, kind) for at in range(0, len(rows), step)]
    num_rows, num_lists, lists, near = found_in(tables, most)
    best, left = by_hand(rows, most)
    assert (num_rows, num_lists) == (len(rows), len(best))
    assert {row[:keys]: row[keys:] for row in pl.DataFrame(Sent(lists)).rows()} == best
    assert pl.DataFrame(Sent(near)).rows() == left
    again = data.draw(st.sampled_from(rows))
    assert found_in([*tables, in_arrow([(*again[:-1], 0.5)], keys, kind)], most) is None


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
@pytest.mark.parametrize("most", [0, 1, 10, 1000])
def test_many_rows_in_any_order(order, most):
    """So many that memory grows, lists are asked for ahead, and rows below the best are left out on the way."""
    rng = random.Random(20261118)
    rows = [(f"query {n % 3001}", f"d{n}", rng.random()) for n in range(600_000)]
    if order != "random":
        rows.sort(key=lambda row: row[-1], reverse=order == "descending")
    num_rows, num_lists, lists, near = found_in([in_arrow(rows, 1, "duckdb")], most, wanted=MUCH if most else 0)
    assert (num_rows, num_lists) == (len(rows), 3001)
    best, left = by_hand(rows, most) if most else ({}, [])
    found = {(key,): (number, numbers) for key, number, numbers in pl.DataFrame(Sent(lists)).rows()}
    if most:
        assert found == best
        assert pl.DataFrame(Sent(near)).rows() == left
    else:
        assert near is None
        assert {number for number, numbers in found.values() if not numbers} == {199, 200}


@pytest.mark.parametrize("length", [10, 600_000])
def test_rows_that_are_not_much_less_than_all_are_none(length):
    rows = [("q", f"d{n}", float(n)) for n in range(length)]
    table = in_arrow(rows, 1, "duckdb")
    for most, fine in ((length // 2, True), (length // 2 + 1, False)):
        *_, lists, near = found_in([table], most, wanted=length // 2)
        assert (near is not None) == fine
        assert pl.DataFrame(Sent(lists)).rows() == [("q", length, [float(length - 1 - n) for n in range(most)])]


def test_what_is_not_certain_is_nothing():
    rows = [("q", f"d{n}", float(n)) for n in range(50)]
    assert found_in([in_arrow(rows, 1, "duckdb")], 3)
    for place, wrong in ((0, None), (0, ""), (1, None), (1, ""), (2, None), (2, float("nan"))):
        for at in (0, 30, 49):
            row = [*rows[at]]
            row[place] = wrong
            faulty = [*rows[:at], tuple(row), *rows[at + 1 :]]
            assert all(found_in([in_arrow(faulty, 1, kind)], 3) is None for kind in ("duckdb", "polars", "large"))
    endless = in_arrow([*rows, ("q", "last", float("-inf"))], 1, "duckdb")
    assert found_in([endless], 3)
    assert found_in([endless], 3, finite=True) is None
    assert found_in([in_arrow(rows, 1, "duckdb")], 3, memory=1000) is None
    assert found_in([in_arrow(rows, 1, "duckdb"), in_arrow([("s", "q", "d", 1.0)], 2, "duckdb")], 3) is None


def test_a_part_of_a_table_is_read_from_where_it_begins():
    rows = [(f"q{n % 2}", f"a document with a long name {n}", float(n)) for n in range(20)]
    for kind in ("duckdb", "polars", "large"):
        part = in_arrow([("", "", float("nan")), *rows, ("", "", float("nan"))], 1, kind).slice(1, 20)
        num_rows, num_lists, lists, near = found_in([part], 2)
        assert (num_rows, num_lists) == (20, 2)
        assert pl.DataFrame(Sent(lists)).rows() == [("q0", 10, [18.0, 16.0]), ("q1", 10, [19.0, 17.0])]
        assert pl.DataFrame(Sent(near)).rows() == rows[16:]


def test_a_stream_is_read_once_and_nothing_else_is_read_at_all():
    best_lists = compiled_part().best_lists
    stream = in_arrow([("q", "d", 1.0)], 1, "duckdb").__arrow_c_stream__()
    assert best_lists([stream], 1, 0, False, MUCH)[:2] == (1, 1)
    assert (best_lists([stream], 1, 0, False, MUCH) or (0, 0))[:2] == (0, 0)  # nothing is left
    others = [pl.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"a": ["q"], "b": ["d"], "c": [1]})]
    others.append(pl.DataFrame({"a": ["q"], "b": ["d"], "c": ["e"], "d": ["f"], "e": [1.0]}))
    for other in (None, b"hash", object(), *(other.__arrow_c_stream__() for other in others)):
        assert best_lists([other], 1, 0, False, MUCH) is None
    assert best_lists([], 1, 0, False, MUCH) is None
    with pytest.raises(TypeError):
        best_lists(None, 1, 0, False, MUCH)

    def failing():
        yield in_arrow([("q", "d", 1.0)], 1, "duckdb").__arrow_c_stream__()
        raise ArithmeticError("in the middle")

    with pytest.raises(ArithmeticError, match="in the middle"):
        best_lists(failing(), 1, 0, False, MUCH)
    late = "CASE WHEN i = 99999 THEN error('no') ELSE 'd' || i END AS doc"
    failed = duckdb.sql(f"SELECT 'q' AS query, {late}, 1.0::DOUBLE AS score FROM range(100000) numbers(i)")  # noqa: S608  (ours)
    with suppress(duckdb.Error):  # which DuckDB before 2.0 raises itself, when it is asked for a stream
        assert best_lists([failed.__arrow_c_stream__()], 1, 0, False, MUCH) is None


def test_what_was_found_lasts_as_long_as_somebody_has_it():
    _, _, lists, near = found_in([in_arrow([("q", f"d{n}", float(n)) for n in range(5)], 1, "duckdb")], 2)
    streams = [compiled_part().arrow_stream(table) for table in (lists, near, lists, near)]
    tables = [pa.RecordBatchReader.from_stream(Sent(table)).read_all() for table in (lists, near)]
    columns = tables[0].column("best"), tables[1].column("doc")
    del lists, near, tables, streams[1]
    assert columns[0].to_pylist() == [[4.0, 3.0]]
    assert columns[1].to_pylist() == ["d3", "d4"]
    assert [stream is not None for stream in streams] == [True, True, True]
    with pytest.raises(ValueError, match="invalid PyCapsule"):
        compiled_part().arrow_stream(object())
