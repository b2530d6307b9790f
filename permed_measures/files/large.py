"""Large run files: from disk to Rankings, without ever holding the run in memory.

TREC files are read with numpy where only the top of each list is wanted (:mod:`permed_measures.files.blocks`), and
everything else with DuckDB. With a cut-off only the top of each query's list leaves the engine; without one, its bare
scores and its judged documents do. Whatever looks wrong, or might, is left to the plain reader, which names file and
line: this module returns None then, or raises the same error, without keeping the file. Where both read a file, they
find the same.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from permed_measures.errors import HostError, InputError, require
from permed_measures.files import beir, csv_table, format_of, jsonl_rows, parquet, trec
from permed_measures.files.parquet import quoted_text
from permed_measures.files.rows import pick
from permed_measures.files.source import Source
from permed_measures.ranking import Grades, Order, Ranking

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

LARGE = 8 << 20
"""Smaller files are read faster than the engine starts. A gzip file counts four times its size."""

_DEEP = 100
"""To keep more than this many documents per query costs more than to keep all scores."""

_BUFFER = 8 << 20
_PIECE = 1 << 18  # stays in the processor's cache
_SPACE, _LINE_FEED, _RETURN = b" \n\r"
_TO_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")

_EXACT = "s::DOUBLE"  # to DuckDB -0.0 equals 0.0, in sorting and in hashing too
_SCORES = {"float32": "s::FLOAT", "float64": _EXACT}
_HASHES = "list((hash(d) >> 32)::UINTEGER) AS high, list((hash(d) & 255)::UTINYINT) AS low"
"""40 bits of each document id: enough to see that all ids of a query differ, and little to keep."""


def rankings(
    path: str | PathLike[str],
    qrels: Mapping[str, Grades],
    depth: int | None,
    *,
    large: int = LARGE,
    order: Order = "float32",
) -> dict[str, Ranking] | None:
    """Return the Ranking of every query of a run file; None where the plain reader has to do it.

    Documents below ``depth`` may have no rank in them. Files smaller than ``large`` are left to the plain reader.
    """
    source = Source(path)
    if source.size * (4 if source.is_gzip else 1) < large or not source.path.is_file():
        return None
    module = format_of(source)
    if not module.ROWS:
        return None
    depth = None if depth is None or depth > _DEEP else depth
    with tempfile.TemporaryDirectory(prefix="permed-measures-") as folder:
        found = None
        if module is trec and depth is not None:
            found = _top_of_trec(source, qrels, depth, Path(folder), order)
        if found is None:
            found = _by_engine(source, module, qrels, depth, Path(folder), order)
    return None if found is None else dict(sorted(found.items()))


def _top_of_trec(
    source: Source, qrels: Mapping[str, Grades], depth: int, folder: Path, order: Order
) -> dict[str, Ranking] | None:
    from permed_measures.files.blocks import Doubt, Irregular, tops  # noqa: PLC0415  (numpy is for large files)

    try:
        if not source.is_gzip:
            try:
                return _rankings(tops(source.path, depth + 1, order), qrels, depth)
            except Doubt as doubt:
                if doubt.part is not None:
                    trec.check_parts(source, "run", [doubt.part])
                if not isinstance(doubt, Irregular):
                    return None
        tidied = _tidied(source, folder)
        try:
            return _rankings(tops(tidied, depth + 1, order), qrels, depth)
        except Doubt as doubt:
            if doubt.part is not None and not _is_sound(tidied, doubt.part):
                trec.check(source, "run")  # its lines have other numbers than those of the copy
    except _Doubt:
        pass
    return None


def _is_sound(path: Path, part: tuple[int, int]) -> bool:
    try:
        trec.check_parts(Source(path), "run", [part])
    except InputError:
        return False
    return True


def _by_engine(  # noqa: PLR0913, PLR0917  (what rankings() was given, and two that it found out)
    source: Source, module: ModuleType, qrels: Mapping[str, Grades], depth: int | None, folder: Path, order: Order
) -> dict[str, Ranking] | None:
    try:
        duckdb = require("duckdb", extra="cli")
    except HostError:
        return None
    with parquet.connected(duckdb) as connection:
        connection.execute(f"SET temp_directory = {quoted_text(str(folder))}")
        connection.execute("SET preserve_insertion_order = false")
        for opened in _ways_to_read(source, module, connection, folder):
            try:
                with opened as rows:
                    engine = _Engine(connection, rows, qrels, order)
                    found = engine.whole() if depth is None else engine.top(depth)
                    rows.confirm()
                    return found
            except duckdb.InterruptException:  # noqa: PERF203  (at most two rounds)
                raise
            except (duckdb.Error, _Doubt) as doubt:
                if module is trec:
                    _check_doubtful(source)
                if isinstance(doubt, _Repeated):
                    break
    if module is trec:  # what is wrong is found without keeping the file
        trec.check(source, "run")
    return None


def _check_doubtful(source: Source) -> None:
    """Raise the error of a line that is wrong in itself, or repeats one that is near."""
    from permed_measures.files.blocks import Doubt, doubtful  # noqa: PLC0415  (numpy is for large files)

    if not source.is_gzip:
        with suppress(Doubt):
            trec.check_parts(source, "run", doubtful(source.path))


def _rankings(
    tops: Iterable[tuple[str, int, Sequence[str], Sequence[float]]], qrels: Mapping[str, Grades], depth: int
) -> dict[str, Ranking]:
    """Rank the first documents of each query; of scores there is one more than asked: the last one may be tied."""
    found: dict[str, Ranking] = {}
    for query_id, num_ret, top, scores in tops:
        if query_id in found:
            raise _Doubt
        grades = qrels.get(query_id, {})
        ranked = [(place, grades[doc_id]) for place, doc_id in enumerate(top[:depth], 1) if doc_id in grades]
        ascending = array("d", reversed(scores)) if len(set(array("f", scores))) != len(scores) else None
        found[query_id] = Ranking(ranked, judged=grades.values(), num_ret=num_ret, ascending=ascending)
    return found


class _Doubt(Exception):  # noqa: N818  (not an error: a reason to look closer)
    """The engine has met something that the plain reader has to judge."""


class _Repeated(_Doubt):
    """A document stands twice in a query, or its hash does."""


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


def _ways_to_read(
    source: Source,
    module: ModuleType,
    connection: Any,  # noqa: ANN401  (DuckDB's)
    folder: Path,
) -> Iterator[AbstractContextManager[_Rows]]:
    if module is parquet:
        yield _parquet(source, connection)
    elif module is jsonl_rows:
        yield _json_rows(source)
    elif module is trec:
        yield _trec(source)
        yield _tidied_trec(source, folder)
    else:
        yield _csv(source, module)


def _faults(sound: str = "true") -> str:
    return f"count(*) FILTER (WHERE NOT {sound} OR q IS NULL OR d IS NULL OR d = '' OR s IS NULL)"


@contextmanager
def _parquet(source: Source, connection: Any) -> Iterator[_Rows]:  # noqa: ANN401  (DuckDB's)
    with parquet.plain_path(source.path) as path:
        try:
            query, doc, score = parquet.columns(connection, source, path, "run")
        except InputError as error:
            raise _Doubt from error
        yield _Rows(_select(query, doc, score, parquet.FILE.replace("?", quoted_text(path))), _faults())


@contextmanager
def _json_rows(source: Source) -> Iterator[_Rows]:
    names = _picked(jsonl_rows.keys_of(source.head()))
    query, doc, score = map(parquet.quoted, names)
    columns = "{" + ", ".join(f"{quoted_text(name)}: 'JSON'" for name in names) + "}"
    kinds = [
        f"json_type({query}) IN ('VARCHAR', 'UBIGINT', 'BIGINT')",
        f"json_type({doc}) IN ('VARCHAR', 'UBIGINT', 'BIGINT')",
        f"json_type({score}) IN ('DOUBLE', 'UBIGINT', 'BIGINT')",
    ]
    with parquet.plain_path(source.path) as path:
        table = f"read_json({quoted_text(path)}, format='newline_delimited', columns={columns}, {_compression(source)})"
        sql = _select(f"{query}->>'$'", f"{doc}->>'$'", f"{score}::DOUBLE", table, f"{' AND '.join(kinds)} AS sound")
        yield _Rows(sql, _faults("sound"))


@contextmanager
def _csv(source: Source, module: ModuleType) -> Iterator[_Rows]:
    """Give a table without quoted fields: engines differ on what may stand around quotes."""
    delimiter, names = ("\t", list(beir.HEADER)) if module is beir else csv_table.header(source.head())
    query, doc, score = _picked(names)
    if len(set(names)) != len(names):
        raise _Doubt
    types = dict.fromkeys(names, "VARCHAR")
    with parquet.plain_path(source.path) as path, _one_thread() as reader:
        regular = reader.submit(_has_plain_lines, source, delimiter.encode(), quotes=module is beir)
        table = _read_csv(path, delimiter, types, "quote='', escape='', header=true", source)
        rows = _text_rows(parquet.quoted(query), parquet.quoted(doc), parquet.quoted(score), table)
        yield _Rows(rows, _faults("sound"), regular)


def _one_thread() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (only for large files)

    return ThreadPoolExecutor(1)


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


@contextmanager
def _trec(source: Source) -> Iterator[_Rows]:
    """Give the file as it is, when its fields are separated by one space, or by one tab, and nothing else."""
    line = next((line for line in source.head().split(b"\n") if line), b"")
    delimiter = b"\t" if b"\t" in line else b" "
    if source.is_gzip or len(line.split(delimiter)) != len(line.split()):
        raise _Doubt
    with parquet.plain_path(source.path) as path, _one_thread() as reader:
        regular = reader.submit(_is_regular, source.path, delimiter)
        yield _Rows(_trec_rows(path, delimiter.decode()), _faults("sound"), regular)


def _is_regular(path: Path, delimiter: bytes) -> bool:
    """Whether a file has no white space but single delimiters and line feeds between fields."""
    import numpy as np  # noqa: PLC0415  (only for large files)

    others = [char for char in (b" ", b"\t", b"\v", b"\f", b"\r", b"\0") if char != delimiter]
    last = b""
    with path.open("rb") as file:
        for piece in _overlapping(file):
            spaces = np.frombuffer(piece, np.uint8) <= _SPACE
            if any(char in piece for char in others) or (spaces[1:] & spaces[:-1]).any():
                return False
            last = piece[-1:]
    return last != delimiter


@contextmanager
def _tidied_trec(source: Source, folder: Path) -> Iterator[_Rows]:
    yield _Rows(_trec_rows(str(_tidied(source, folder)), " "), _faults("sound"))


def _tidied(source: Source, folder: Path) -> Path:
    """Return a copy of the file with single spaces, without comments, blank lines and compression."""
    copy = folder / "tidied.trec"
    if copy.exists():  # and is whole
        return copy
    with (folder / "part").open("wb") as file:
        for _, block in source.blocks(_BUFFER):
            if b"\0" in block:
                raise _Doubt
            data = b"\n" + block.translate(_TO_SPACES) + b"\n"
            for pair, single in ((b"  ", b" "), (b"\n ", b"\n"), (b" \n", b"\n"), (b"\n\n", b"\n")):
                while pair in data:
                    data = data.replace(pair, single)
            if b"\n#" in data:
                data = b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"#"))
            file.write(data[1:])
    return (folder / "part").rename(copy)


def _trec_rows(path: str, delimiter: str) -> str:
    types = dict.fromkeys(("q", "q0", "d", "r", "s", "t"), "VARCHAR")
    return _text_rows("q", "d", "s", _read_csv(path, delimiter, types, "quote='', escape='', header=false"))


def _text_rows(query: str, doc: str, score: str, table: str) -> str:
    # DuckDB reads 1_0 as 10, and so does Python; it is no number in a file
    return _select(query, doc, f"{score}::DOUBLE", table, f"NOT contains({score}, '_') AS sound")


def _select(query: str, doc: str, score: str, table: str, *more: str) -> str:
    columns = ", ".join((f"{query} AS q", f"{doc} AS d", f"{score} AS s", *more))
    return f"(SELECT {columns} FROM {table})"  # noqa: S608  (names and paths are quoted)


def _read_csv(path: str, delimiter: str, types: Mapping[str, str], options: str, source: Source | None = None) -> str:
    columns = ", ".join(f"{quoted_text(name)}: {quoted_text(kind)}" for name, kind in types.items())
    return (
        f"read_csv({quoted_text(path)}, delim={quoted_text(delimiter)}, {options}, comment='', auto_detect=false, "
        f"buffer_size={_BUFFER}, columns={{{columns}}}, {_compression(source)})"
    )


def _compression(source: Source | None) -> str:
    return "compression='gzip'" if source is not None and source.is_gzip else "compression='uncompressed'"


def _picked(names: list[str]) -> tuple[str, str, str]:
    try:
        return pick(names, "run")
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
        return _rankings(self._tops(best, first), self.qrels, depth)

    def _tops(self, best: str, first: str) -> Iterator[tuple[str, int, list[str], Sequence[float]]]:
        for query_id, num_ret, scores, top in self._by_query(self.rows.sql, best, first):
            if scores[0] != scores[0]:  # NaN, to DuckDB the greatest number
                raise _Doubt
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
                raise _Doubt
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
        for high, low in _batches(answer.pop("high"), answer.pop("low")):
            _check_all_differ(high, low)
        for query_id, num_ret, faults, *rest in zip(
            *(answer[name] for name in ("q", "n", "faults", *names)), strict=True
        ):
            if faults or not isinstance(query_id, str) or not query_id or query_id.startswith("#"):
                raise _Doubt
            yield query_id, int(num_ret), *rest

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


def _batches(*columns: Any, size: int = 256) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  (numpy's)
    for start in range(0, len(columns[0]), size):
        yield tuple(column[start : start + size] for column in columns)


def _check_all_differ(high: Any, low: Any) -> None:  # noqa: ANN401  (numpy's)
    """Raise _Repeated when two documents of a query have the same hash; many queries at once, for speed."""
    import numpy as np  # noqa: PLC0415  (only for large files)

    lengths = [len(hashes) for hashes in high]
    keys = np.repeat(np.arange(len(high), dtype=np.uint64) << np.uint64(40), lengths)
    keys |= np.concatenate(high).astype(np.uint64) << np.uint64(8)
    keys |= np.concatenate(low)
    keys.sort()
    if (keys[1:] == keys[:-1]).any():
        raise _Repeated


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
