"""Large runs in rows, JSON Lines, CSV or parquet: DuckDB reads them, and only Rankings leave it.

With a cut-off only the top of each query's list leaves the engine; without one, its bare scores and its judged
documents do. Whatever looks wrong, or might, is left to the plain reader: this module returns None then, or raises its
error, without keeping the file. Where both read a file, they find the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import IO, Any, NamedTuple

from permed_measures.errors import HostError, InputError, require
from permed_measures.files import beir, csv_table, jsonl_rows, parquet
from permed_measures.files.parquet import quoted_text
from permed_measures.files.rows import is_smaller_better, pick, ranked
from permed_measures.files.source import Excerpt, Source
from permed_measures.ranking import Grades, Order, Ranking

_BUFFER = 8 << 20
_PIECE = 1 << 18  # stays in the processor's cache
_LINE_FEED, _RETURN = b"\n\r"
_AT_ONCE = 256
_MOST_NAMED = 10  # queries that are looked through for what is wrong
_MOST_DOUBTED = 64 << 20  # bytes of their lines
_LINE = re.compile(r"[Ll]ine:? (\d+)")
_NEAR = 2  # lines: DuckDB counts one too many at the end of a JSON file

_EXACT = "s::DOUBLE"  # to DuckDB -0.0 equals 0.0, in sorting and in hashing too
_SCORES = {"float32": "s::FLOAT", "float64": _EXACT}
_HASHES = "list((hash(d) >> 32)::UINTEGER) AS high, list((hash(d) & 255)::UTINYINT) AS low"
"""40 bits of each document id: enough to see that all ids of a query differ, and little to keep."""


def rankings(
    source: Source, module: ModuleType, qrels: Mapping[str, Grades], depth: int | None, order: Order
) -> dict[str, Ranking] | None:
    """Return the Ranking of every query; None where the plain reader has to do it."""
    if is_smaller_better(source.columns):
        return None
    try:
        duckdb = require("duckdb", extra="cli")
    except HostError:
        return None
    with TemporaryDirectory(prefix="permed-measures-") as folder, parquet.connected(duckdb) as connection:
        connection.execute(f"SET temp_directory = {quoted_text(folder)}")
        connection.execute("SET preserve_insertion_order = false")
        try:
            with _opened(source, module, connection) as rows:
                engine = _Engine(connection, rows, qrels, order)
                found = engine.whole() if depth is None else engine.top(depth)
                rows.confirm()
                return dict(sorted(found.items()))
        except duckdb.InterruptException:
            raise
        except (duckdb.Error, _Doubt) as doubt:
            if module is not parquet:
                _check_lines(source, module, doubt)
    return None


def _check_lines(source: Source, module: ModuleType, doubt: Exception) -> None:
    """Raise the plain reader's error for the lines that the engine doubts, where it says which these are."""
    told = _LINE.search(str(doubt))
    low, high = (int(told[1]) - _NEAR, int(told[1]) + _NEAR) if told else (0, 0)
    marks = [mark.encode() for mark in getattr(doubt, "ids", ())]
    lines: list[tuple[int, bytes]] = []
    size = 0
    for first, block in source.blocks(_PIECE):
        source.decode(block, first)
        near = first <= high and low <= first + block.count(b"\n")
        if first > 1 and not near and not any(mark in block for mark in marks):
            continue
        for at, line in enumerate(block.split(b"\n"), first):
            # the first one may be a header
            if at == 1 or low <= at <= high or any(mark in line for mark in marks):
                lines.append((at, line))
                size += len(line)
        if size > _MOST_DOUBTED:
            return
    module.read(Excerpt(source, lines), "run")


class _Doubt(Exception):  # noqa: N818  (not an error: a reason to look closer)
    """The engine has met something that the plain reader has to judge, in lines with one of these ids if it knows."""

    def __init__(self, *ids: str) -> None:
        super().__init__()
        self.ids = ids


class _Rows(NamedTuple):
    """A run as SQL with the columns q, d, s; and how many rows of a query are not sound."""

    sql: str
    faults: str = "0"
    regular: Any = None
    """What another thread finds out about the file meanwhile."""

    def confirm(self) -> None:
        """Raise _Doubt unless the file is what the engine took it for."""
        if self.regular is not None and not self.regular.result():
            raise _Doubt


def _opened(source: Source, module: ModuleType, connection: Any) -> AbstractContextManager[_Rows]:  # noqa: ANN401  (DuckDB's)
    if module is parquet:
        return _parquet(source, connection)
    return _json_rows(source) if module is jsonl_rows else _csv(source, module)


def _faults(sound: str = "true") -> str:
    return f"count(*) FILTER (WHERE NOT {sound} OR q IS NULL OR d IS NULL OR d = '' OR s IS NULL)"


@contextmanager
def _parquet(source: Source, connection: Any) -> Iterator[_Rows]:  # noqa: ANN401  (DuckDB's)
    with _plain_path(source) as path:
        try:
            query, doc, score = parquet.columns(connection, source, path, "run")
        except InputError as error:
            raise _Doubt from error
        yield _Rows(_select(query, doc, score, parquet.FILE.replace("?", quoted_text(path))), _faults())


@contextmanager
def _json_rows(source: Source) -> Iterator[_Rows]:
    names = _picked(source, jsonl_rows.keys_of(source.head()))
    query, doc, score = map(parquet.quoted, names)
    columns = "{" + ", ".join(f"{quoted_text(name)}: 'JSON'" for name in names) + "}"
    kinds = [
        f"json_type({query}) IN ('VARCHAR', 'UBIGINT', 'BIGINT')",
        f"json_type({doc}) IN ('VARCHAR', 'UBIGINT', 'BIGINT')",
        f"json_type({score}) IN ('DOUBLE', 'UBIGINT', 'BIGINT')",
    ]
    with _plain_path(source) as path:
        table = f"read_json({quoted_text(path)}, format='newline_delimited', columns={columns}, {_compression(source)})"
        number = f"TRY_CAST({score} AS DOUBLE)"
        sql = _select(f"{query}->>'$'", f"{doc}->>'$'", number, table, f"{' AND '.join(kinds)} AS sound")
        yield _Rows(sql, _faults("sound"))


@contextmanager
def _csv(source: Source, module: ModuleType) -> Iterator[_Rows]:
    """Give a table without quoted fields: engines differ on what may stand around quotes."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (only for large files)

    delimiter, names = ("\t", list(beir.HEADER)) if module is beir else csv_table.header(source.head())
    query, doc, score = map(parquet.quoted, _picked(source, names))
    if len(set(names)) != len(names):
        raise _Doubt
    types = dict.fromkeys(names, "VARCHAR")
    with _plain_path(source) as path, ThreadPoolExecutor(1) as reader:
        regular = reader.submit(_has_plain_lines, source, delimiter.encode(), quotes=module is beir)
        table = _read_csv(path, delimiter, types, "quote='', escape='', header=true", source)
        # DuckDB reads 1_0 as 10, and so does Python; it is no number in a file
        number, sound = f"TRY_CAST({score} AS DOUBLE)", f"NOT contains({score}, '_') AS sound"
        yield _Rows(_select(query, doc, number, table, sound), _faults("sound"), regular)


def _has_plain_lines(source: Source, delimiter: bytes, *, quotes: bool) -> bool:
    import numpy as np  # noqa: PLC0415  (only for large files)

    last = b""
    with source.open() as file:
        for piece in _overlapping(file):
            if b"\0" in piece or (not quotes and b'"' in piece):
                return False
            chars = np.frombuffer(piece, np.uint8)
            before, after = chars[:-1], chars[1:]
            ends = (after == _LINE_FEED) | (after == _RETURN)
            # DuckDB takes a delimiter at the end of a line for nothing; and a return alone may end a line or not
            if ((before == delimiter[0]) & ends).any() or ((before == _RETURN) & (after != _LINE_FEED)).any():
                return False
            last = piece[-1:]
    return last not in (delimiter, b"\r")


def _overlapping(file: IO[bytes]) -> Iterator[bytes]:
    """Yield pieces of a file, each starting with the last character of the one before."""
    last = b""
    while piece := file.read(_PIECE):
        yield last + piece
        last = piece[-1:]


def _select(query: str, doc: str, score: str, table: str, *more: str) -> str:
    columns = ", ".join((f"{query} AS q", f"{doc} AS d", f"{score} AS s", *more))
    return f"(SELECT {columns} FROM {table})"  # noqa: S608  (names and paths are quoted)


def _read_csv(path: str, delimiter: str, types: Mapping[str, str], options: str, source: Source) -> str:
    columns = ", ".join(f"{quoted_text(name)}: {quoted_text(kind)}" for name, kind in types.items())
    return (
        f"read_csv({quoted_text(path)}, delim={quoted_text(delimiter)}, {options}, comment='', auto_detect=false, "
        f"buffer_size={_BUFFER}, columns={{{columns}}}, {_compression(source)})"
    )


def _compression(source: Source) -> str:
    if source.packing not in (None, "gzip", "zstd"):  # what DuckDB unpacks
        raise _Doubt
    return f"compression={quoted_text(source.packing or 'uncompressed')}"


def _plain_path(source: Source) -> AbstractContextManager[str]:
    if source.on_disk is None:
        raise _Doubt
    return parquet.plain_path(source.on_disk)


def _picked(source: Source, names: list[str]) -> tuple[str, str, str]:
    try:
        return pick(names, "run", source.columns)
    except ValueError as error:
        raise _Doubt from error


class _Engine(NamedTuple):
    """DuckDB, one run, and its judgements."""

    connection: Any
    rows: _Rows
    qrels: Mapping[str, Grades]
    order: Order

    @property
    def score(self) -> str:
        """The number that documents are ordered by, in SQL."""
        return _SCORES[self.order]

    def top(self, depth: int) -> dict[str, Ranking]:
        """Rank the first documents of each query."""
        # one more than asked, to see whether the last one is tied
        best = f"max({_EXACT}, {depth + 1}) AS scores"
        first = f"max({{'s': {self.score}, 'd': d}}, {depth}) AS top"
        return dict(ranked(self._tops(best, first), self.qrels, depth))

    def _tops(self, best: str, first: str) -> Iterator[tuple[str, int, list[str], Sequence[float]]]:
        for query_id, num_ret, scores, top in self._by_query(self.rows.sql, best, first):
            if scores[0] != scores[0]:  # NaN, to DuckDB the greatest number
                raise _Doubt(query_id)
            yield query_id, num_ret, [row["d"] for row in top], scores

    def whole(self) -> dict[str, Ranking]:
        """Rank the judged documents of each query among all of its documents."""
        pairs = [(query_id, doc_id) for query_id, grades in self.qrels.items() for doc_id in grades]
        self._load("judged", pairs, "VARCHAR")
        hits = f"coalesce(list({{'s': {self.score}, 'd': d}}) FILTER (WHERE judged), []) AS hits"
        # not a join: DuckDB would take the file for the smaller side, and keep it in memory
        judged_rows = f"(SELECT *, (q, d) IN (SELECT (judged_q, judged_v) FROM judged) AS judged FROM {self.rows.sql})"  # noqa: S608  (quoted)
        found, places, among = {}, {}, []
        for query_id, num_ret, scores, returned in self._by_query(judged_rows, f"list({_EXACT}) AS scores", hits):
            scores.sort()
            if scores[-1] != scores[-1]:  # NaN, to numpy the greatest number
                raise _Doubt(query_id)
            judged = self.qrels.get(query_id, {}).values()
            keys = _in_32_bits(scores)
            tied = (keys[1:] == keys[:-1]).any()
            found[query_id] = Ranking([], judged=judged, num_ret=num_ret, ascending=scores if tied else None)
            places[query_id] = _places(keys if self.order == "float32" else scores, returned)
            among += [(query_id, score) for score, _, _, count in places[query_id] if count > 1]
        doc_ids = self._documents_with(among)
        for query_id, ranking in found.items():
            grades = self.qrels.get(query_id, {})
            ranking.ranked = sorted(
                (place + sum(other > doc_id for other in doc_ids.get((query_id, score), ())), grades[doc_id])
                for score, doc_id, place, _ in places[query_id]
            )
        return found

    def _by_query(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield query id, number of documents and the columns asked for, when nothing is wrong with the query."""
        names = [column.rpartition(" AS ")[2] for column in columns]
        answer = self.connection.execute(
            f"SELECT q, count(*) AS n, {self.rows.faults} AS faults, {_HASHES}, {', '.join(columns)} "  # noqa: S608  (quoted)
            f"FROM {table} GROUP BY q"
        ).fetchnumpy()
        query_ids = answer["q"].tolist()
        if not all(isinstance(query_id, str) and query_id and not query_id.startswith("#") for query_id in query_ids):
            raise _Doubt(*self._documents_without_query())
        faulty = sorted(query_id for query_id, faults in zip(query_ids, answer["faults"], strict=True) if faults)
        if faulty:
            raise _Doubt(*faulty[:_MOST_NAMED])
        high, low = answer.pop("high"), answer.pop("low")
        for start in range(0, len(query_ids), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            _check_all_differ(high[some], low[some], query_ids[some])
        for query_id, num_ret, *rest in zip(query_ids, *(answer[name] for name in ("n", *names)), strict=True):
            yield query_id, int(num_ret), *rest

    def _documents_without_query(self) -> list[str]:
        answer = self.connection.execute(f"SELECT min(d) FROM {self.rows.sql} WHERE q IS NULL OR q = ''").fetchall()  # noqa: S608  (quoted)
        return [doc_id for (doc_id,) in answer if doc_id]

    def _documents_with(self, tied: list[tuple[str, float]]) -> dict[tuple[str, float], list[str]]:
        """Return all documents that have one of these scores in one of these queries."""
        if not tied:
            return {}
        self._load("tied", list(dict.fromkeys(tied)), "FLOAT" if self.order == "float32" else "DOUBLE")
        answer = self.connection.execute(
            f"SELECT q, {self.score} AS score, list(d) FROM {self.rows.sql} "  # noqa: S608  (quoted)
            f"WHERE (q, {self.score}) IN (SELECT (tied_q, tied_v) FROM tied) GROUP BY q, score"
        ).fetchall()
        return {(query_id, score): doc_ids for query_id, score, doc_ids in answer}

    def _load(self, name: str, pairs: list[tuple[str, Any]], kind: str) -> None:
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS "
            f"SELECT unnest(?::VARCHAR[]) AS {name}_q, unnest(?::{kind}[]) AS {name}_v",
            [[query_id for query_id, _ in pairs], [value for _, value in pairs]],
        )


def _check_all_differ(high: Any, low: Any, query_ids: list[str]) -> None:  # noqa: ANN401  (numpy's)
    """Raise _Doubt when two documents of a query have the same hash; many queries at once, for speed."""
    import numpy as np  # noqa: PLC0415  (only for large files)

    lengths = [len(hashes) for hashes in high]
    keys = np.repeat(np.arange(len(high), dtype=np.uint64) << np.uint64(40), lengths)
    keys |= np.concatenate(high).astype(np.uint64) << np.uint64(8)
    keys |= np.concatenate(low)
    keys.sort()
    again = np.unique(keys[1:][keys[1:] == keys[:-1]] >> np.uint64(40)).tolist()
    if again:
        raise _Doubt(*[query_ids[place] for place in again[:_MOST_NAMED]])


def _in_32_bits(scores: Any) -> Any:  # noqa: ANN401  (numpy's)
    import numpy as np  # noqa: PLC0415  (only for large files)

    with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float
        return scores.astype(np.float32)


def _places(ascending: Any, hits: Any) -> list[tuple[float, str, int, int]]:  # noqa: ANN401  (numpy's)
    """Return score, id, rank of the first document with this score, and number of documents with it."""
    import numpy as np  # noqa: PLC0415  (only for large files)

    if not len(hits):
        return []
    scores = np.array([hit["s"] for hit in hits], dtype=ascending.dtype)
    not_above = ascending.searchsorted(scores, "right")
    counts = not_above - ascending.searchsorted(scores, "left")
    places = len(ascending) + 1 - not_above
    return [
        (score, hit["d"], place, count)
        for score, hit, place, count in zip(scores.tolist(), hits, places.tolist(), counts.tolist(), strict=True)
    ]
