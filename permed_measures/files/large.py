"""Large run files: from disk to Rankings, without ever holding the run in memory.

TREC files are read by the compiled part; without it, with numpy where only the top of each list is wanted
(:mod:`permed_measures.files.blocks`), and else list by list. Other rows are read by DuckDB
(:mod:`permed_measures.files.engine`). What is wrong with a file is said as the plain reader says it, without keeping
the file; what only the plain reader can read is left to it.
"""

from __future__ import annotations

import gc
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from permed_measures import ranking
from permed_measures.errors import InputError
from permed_measures.files import format_of, trec
from permed_measures.files.rows import ranked
from permed_measures.files.source import Source
from permed_measures.ranking import Grades, Order, Ranking

if TYPE_CHECKING:
    from permed_measures.files.judged import JudgedLists

T = TypeVar("T")

LARGE = 8 << 20
"""Smaller files are read faster than an engine starts. A packed file counts four times its size."""

_SMALL = 1 << 16
"""Smaller files are read faster than anything is started."""

_DEEP = 100
"""To keep more than this many documents per query costs more than to keep all scores."""

_MOST_THREADS = 4
_BUCKETS = 64
_BUFFER = 8 << 20


class RankedRun(dict[str, Ranking]):
    """The Rankings of all queries of a run, and what is to be said about its file."""

    notes: tuple[str, ...] = ()


class CutRun(dict[str, dict[str, float]]):
    """A run cut down to what can be in the top, whatever the order of ties, and to what is judged."""

    num_ret: Mapping[str, int]
    """How many documents each query returned."""


def returned(
    path: str | PathLike[str],
    qrels: Mapping[str, Grades],
    depth: int | None,
    *,
    order: Order = "float32",
    keep: int = 0,
    **said: Any,  # noqa: ANN401  (what a Source takes)
) -> Any:  # noqa: ANN401  (Rankings, or the run)
    """Read a run file: its Rankings where it is large, with the ids of the first ``keep`` documents, else the run."""
    source = Source.of(path, **said)
    found = rankings(source, qrels, depth, order=order, keep=keep)
    return format_of(source).read(source, "run") if found is None else found


def rankings(  # noqa: PLR0913  (what to read, and how far down)
    path: str | PathLike[str] | Source,
    qrels: Mapping[str, Grades],
    depth: int | None,
    *,
    large: int = LARGE,
    order: Order = "float32",
    keep: int = 0,
) -> dict[str, Ranking] | None:
    """Return the Ranking of every query of a run file; None where the plain reader has to do it.

    Documents below ``depth`` may have no rank in them. Files smaller than ``large`` are left to the plain reader.
    """
    source = Source.of(path)
    size = source.size * (1 if source.packing is None else 4)
    if size < min(large, _SMALL):
        return None
    module = format_of(source)
    deep = depth is None or depth > _DEEP
    if module is trec:
        if _reader() is not None:
            mode, top = ("whole", keep) if deep else ("top", max(depth or 0, keep))
            return _compiled(source, qrels, top, order, mode)
        if size < large or source.duplicates != "error":
            return None
        return _plain(
            source,
            lambda plain: None if deep else _by_blocks(plain, qrels, max(depth or 0, keep), order),
            lambda plain: _by_lists(plain, qrels, None if deep else depth, keep, order),
        )
    if not module.ROWS or size < large or source.on_disk is None or (deep and keep):
        return None
    from permed_measures.files import engine  # noqa: PLC0415  (for large files of rows alone)

    return engine.rankings(source, module, qrels, None if deep else max(depth or 0, keep), order)


def cut_run(path: str | PathLike[str], qrels: Mapping[str, Grades], depth: int, *, large: int = LARGE) -> CutRun | None:
    """Return what can matter to the top of each list of a large TREC run; None where the plain reader has to do it."""
    source = Source.of(path)
    if _reader() is None or source.is_pipe or source.size < large or format_of(source) is not trec:
        return None
    groups = _groups(source, qrels, depth, "float32", "cut")
    if groups is None:
        return None
    found = CutRun()
    found.num_ret = {}
    for query_id, num_ret, ids, scores, _ in groups[1]:
        found[query_id] = dict(zip(ids.decode().split(" "), array("d", scores), strict=True))
        found.num_ret[query_id] = num_ret
    return found


def judged_lists(source: Source, qrels: Mapping[str, Grades], *, large: int = LARGE) -> JudgedLists | None:
    """Return what ranks of judged documents depend on in a large TREC run; None where the plain reader has to do it."""
    if source.size * (1 if source.packing is None else 4) < large or format_of(source) is not trec:
        return None
    from permed_measures.files.judged import JudgedLists  # noqa: PLC0415  (numpy is for large files)

    numbers = {query_id: number for number, query_id in enumerate(qrels)}
    found = JudgedLists(numbers)
    if _reader() is None:
        try:
            readers = [partial(read, qrels=qrels, numbers=numbers) for read in (_judged_by_blocks, _judged_by_lists)]
            return _plain(source, *readers)
        except InputError:  # a document may be there twice
            return None
    with _no_collection():
        groups = _groups(source, qrels, 0, "float32", "judged")
        found.add_groups(() if groups is None else groups[1])
    return None if groups is None else found


def _reader() -> Any:  # noqa: ANN401  (a function of the compiled part, or None)
    return getattr(ranking.COLUMNS, "read_trec", None)


def _compiled(source: Source, qrels: Mapping[str, Grades], depth: int, order: Order, mode: str) -> RankedRun | None:
    with _no_collection():
        groups = _groups(source, qrels, depth, order, mode)
        if groups is None:
            return None
        found = RankedRun()
        found.notes = trec.notes_on(groups[0])
        for query_id, num_ret, ids, scores, places in groups[1]:
            judged = qrels.get(query_id, {}).values()
            ascending = array("d", scores) if scores else None
            found[query_id] = Ranking(places, judged=judged, num_ret=num_ret, ascending=ascending, top=ids)
    return found


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from looking for cycles among a million new objects: there are none, and it takes long."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _groups(
    source: Source, qrels: Mapping[str, Grades], depth: int, order: Order, mode: str
) -> tuple[int, list[Any]] | None:
    """Return how many lines are longer than they need be, and what the compiled part keeps of each query."""
    plain = {query_id: judged if isinstance(judged, dict) else dict(judged) for query_id, judged in qrels.items()}

    def read(file: Source) -> tuple[Any, ...]:
        with file.reading() as given:
            threads = min(_MOST_THREADS, os.cpu_count() or 1)
            answer: tuple[Any, ...] = _reader()(given, depth, plain, order, mode, threads)
            return answer

    kind, *found = read(source)
    if kind == "mixed":
        kind, *found = _of_regrouped(source, read)
    if kind == "again" and (source.duplicates != "error" or mode == "judged"):
        return None
    if kind in ("fault", "again"):
        raise trec.error_of(source, *found)
    return (found[0], found[1]) if kind == "sound" else None


def _of_regrouped(source: Source, read: Callable[[Source], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Read a copy of the file in which the lines of each query are together."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (for such files alone)

    with TemporaryDirectory(prefix="permed-measures-") as folder:
        kind, *found = read(Source(_regrouped(source, Path(folder))))
    if kind in ("fault", "again"):  # its lines have other numbers than those of the copy
        numbers = trec.numbers_of(source, found[1], again=kind == "again")
        return (kind, numbers[-1], found[1], *numbers[:-1]) if numbers else ("large",)
    return (kind, *found)


def _regrouped(source: Source, folder: Path) -> Path:
    buckets = [folder / str(number) for number in range(_BUCKETS)]
    for _, block in source.blocks(_BUFFER):
        parts: list[list[bytes]] = [[] for _ in buckets]
        for line in filter(trec.is_data, block.split(b"\n")):
            parts[hash(line.split(None, 1)[0]) % _BUCKETS].append(line)
        for bucket, lines in zip(buckets, parts, strict=True):
            with bucket.open("ab") as file:
                file.writelines(line + b"\n" for line in lines)
    copy = folder / "regrouped"
    with copy.open("wb") as file:
        file.write(b"\n")  # an id may be a byte order mark, which is none but at the start
        for bucket in filter(Path.exists, buckets):
            groups: dict[bytes, list[bytes]] = {}
            for line in bucket.read_bytes().split(b"\n")[:-1]:
                groups.setdefault(line.split(None, 1)[0], []).append(line)
            bucket.unlink()
            file.writelines(b"\n".join(lines) + b"\n" for lines in groups.values())
    return copy


def _plain(source: Source, by_blocks: Callable[[Source], T | None], by_lists: Callable[[Source], T]) -> T | None:
    """Read with numpy; list by list, as the plain reader does, where that has a doubt."""
    found = by_blocks(source)
    if found is not None:
        return found
    try:
        return by_lists(source)
    except trec.MixedError:
        pass
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (for such files alone)

    with TemporaryDirectory(prefix="permed-measures-") as folder:
        try:
            return by_lists(Source(_regrouped(source, Path(folder))))
        except InputError:
            trec.check(source, "run")  # lines have other numbers than those of the copy
    return None


def _by_blocks(source: Source, qrels: Mapping[str, Grades], depth: int, order: Order) -> dict[str, Ranking] | None:
    from permed_measures.files.blocks import Doubt, tops  # noqa: PLC0415  (numpy is for large files)

    found: dict[str, Ranking] = {}
    try:
        for query_id, made in ranked(tops(source, depth + 1, order), qrels, depth):
            if query_id in found:
                return None
            found[query_id] = made
    except Doubt as doubt:
        if doubt.lines is not None:  # it may be an error of theirs
            trec.check_block(source, "run", *doubt.lines)
        return None
    return found


def _judged_by_blocks(source: Source, qrels: Mapping[str, Grades], numbers: Mapping[str, int]) -> JudgedLists | None:
    from permed_measures.files.blocks import Doubt, judged  # noqa: PLC0415  (numpy is for large files)
    from permed_measures.files.judged import JudgedLists  # noqa: PLC0415  (as above)

    found = JudgedLists(numbers)
    try:
        for part in judged(source, qrels, numbers):
            if not found.lengths.keys().isdisjoint(part.lengths):
                return None
            found.join(part)
    except Doubt as doubt:
        if doubt.lines is not None:  # it may be an error of theirs
            trec.check_block(source, "run", *doubt.lines)
        return None
    return found


def _judged_by_lists(source: Source, qrels: Mapping[str, Grades], numbers: Mapping[str, int]) -> JudgedLists:
    from permed_measures.files.judged import JudgedLists  # noqa: PLC0415  (numpy is for large files)

    found = JudgedLists(numbers)
    for query_id, scores, _ in trec.lists(source):
        found.add_list(query_id, scores, qrels.get(query_id, {}))
    return found


def _by_lists(
    source: Source, qrels: Mapping[str, Grades], depth: int | None, keep: int, order: Order
) -> dict[str, Ranking]:
    found = RankedRun()
    longer = 0
    for query_id, scores, more in trec.lists(source):
        longer += more
        made = ranking.rank(scores, qrels.get(query_id, {}), depth=depth, query_id=query_id, order=order)
        made.keep(ranking.order(scores, keep, by=order) if keep else ())
        found[query_id] = made
    found.notes = trec.notes_on(longer)
    return found
