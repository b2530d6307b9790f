"""Files of qrels and runs, one module per format.

``read_qrels(path)`` returns ``{query_id: {doc_id: grade}}``, ``read_run(path)`` ``{query_id: {doc_id: score}}`` or,
where the order of a list is the ranking, ``{query_id: [doc_id, …]}``. Files may be packed with gzip, bzip2, xz or zstd.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files.rows import SubtopicQrels, refuse_several
from permed_measures.ranking import order
from permed_measures.render.words import counted

if TYPE_CHECKING:
    from permed_measures.files.source import Source

_MODULES = ("parquet", "jsonl", "jsonl_rows", "json_dict", "beir", "tsv", "csv_table", "trec")
"""In the order in which a file's content is tried."""


@cache
def formats() -> Mapping[str, ModuleType]:
    """Return every format by its name; they are imported by those who read files."""
    modules = (import_module(f"{__name__}.{name}") for name in _MODULES)
    return {module.NAME: module for module in modules}


_WITH_COLUMNS = ("parquet", "jsonl-rows", "tsv", "csv")
_MOST_RANKS = 2**24  # whole numbers up to this one are exact as 32-bit floats, in which scores are compared


def read_qrels(path: str | PathLike[str], format: str | None = None, **said: Any) -> dict[str, dict[str, float]]:  # noqa: A002, ANN401  (the natural word; a Source's)
    """Read judgements from a file, as :func:`permed_measures.read_qrels` says."""
    source = import_module(f"{__name__}.source").Source.of(
        import_module(f"{__name__}.beir").qrels_of(path), form=format, **said
    )
    qrels: dict[str, dict[str, float]] = format_of(source).read(source, "qrels")
    return qrels


def read_run(path: str | PathLike[str], format: str | None = None, **said: Any) -> dict[str, Any]:  # noqa: A002, ANN401  (as above)
    """Read a run from a file, as :func:`permed_measures.read_run` says."""
    source = import_module(f"{__name__}.source").Source.of(path, form=format, **said)
    run: dict[str, Any] = format_of(source).read(source, "run")
    return run


def format_of(source: "Source", name: str | None = None) -> ModuleType:
    """Return the format of a file: the one that is named, else by content, else by suffix."""
    head = b"" if name or source.form else source.head()
    if source.columns is not None and not name and not source.form:  # one with columns, whatever they are called
        tabs = formats()["csv"].header(head)[0] == "\t"
        rows = "jsonl-rows" if head.lstrip()[:1] == b"{" else "tsv" if tabs else "csv"
        return formats()["parquet" if formats()["parquet"].fits(head) else rows]
    found = by_name(name or source.form or "") if name or source.form else None
    if found is not None and source.columns is not None and found.NAME not in _WITH_COLUMNS:
        msg = f"columns {', '.join(source.columns)}: the format {found.NAME} has none with names; leave them out"
        raise ParamError(msg)
    found = found or next((module for module in formats().values() if module.fits(head)), None)
    found = found or by_suffix(source.suffix)
    if found is None:
        raise _untold(source, head)
    return found


def _untold(source: "Source", head: bytes) -> InputError:
    """Make the error for a file that fits no format; its first line says most about why."""
    if import_module(f"{__name__}.json_text").SAVED.match(head):
        return source.error("saved values, no qrels or run: compare takes them in place of runs, gate as a baseline")
    lines = enumerate(head.split(b"\n"), 1)
    number, line = next(((number, line) for number, line in lines if formats()["trec"].is_data(line)), (None, b""))
    fields = len(line.split())
    found = f"{counted(fields, 'field')}: {import_module(f'{__name__}.source').shown(line)}"
    why = f"the format cannot be told from name and content; this line has {found}"
    if not head.strip():
        why = "the file is empty" if not source.is_pipe else "nothing comes from it, and a pipe is read once"
    elif number is None:
        why = "the format cannot be told from name and content: there are only comments at its start"
    known = "".join(f"\n  {name}: {module.DESCRIPTION}" for name, module in formats().items())
    return source.error(f"{why}\nthese formats are known:{known}", number)


def by_name(name: str) -> ModuleType:
    """Return a format."""
    if name not in formats():
        raise ParamError(f"unknown format {name!r}.{did_you_mean(name, formats())}")
    return formats()[name]


def by_suffix(suffix: str) -> ModuleType | None:
    """Return the format that files with this suffix have."""
    return next((module for module in formats().values() if suffix in module.SUFFIXES), None)


def formatted(groups: Mapping[str, Any], what: str, format: str) -> tuple[bytes, list[str]]:  # noqa: A002  (the natural word)
    """Return qrels or a run (``what``) as the bytes of a file, and notes on what the file cannot say.

    Scored documents are written in the order that evaluation gives them. Where a format needs scores and the run
    has none, the first of n documents gets n, the last gets 1.
    """
    module = by_name(format)
    notes = []
    if isinstance(groups, SubtopicQrels) and module.NAME != "trec":
        refuse_several(groups.subtopics)
        notes.append("the iteration of each judgement is left out: TREC files alone keep it")
    if what == "run":
        if module.ROWS and any(not isinstance(group, Mapping) for group in groups.values()):
            notes.append("the order is the ranking: the first of n documents is written with score n, the last with 1")
        if not module.ROWS and module.NAME == "jsonl" and any(isinstance(group, Mapping) for group in groups.values()):
            notes.append("in this format the order of the list is the ranking; scores are written, but not read back")
        groups = {query_id: _in_order(query_id, group, scored=module.ROWS) for query_id, group in groups.items()}
    empty = [query_id for query_id, group in groups.items() if not group]
    if module.ROWS and empty:
        shown = ", ".join(map(repr, empty[:5])) + (", …" if len(empty) > 5 else "")  # noqa: PLR2004  (a few are enough)
        notes.append(f"left out, as this format has no line for a query without documents: {shown}")
    return module.write(groups, what), notes


def _in_order(query_id: str, group: Any, *, scored: bool) -> Any:  # noqa: ANN401  (scores or a list)
    if isinstance(group, Mapping):
        return {doc_id: group[doc_id] for doc_id in order(group)}
    if not scored:
        return group
    if len(group) > _MOST_RANKS:
        raise InputError(f"query {query_id!r}: {len(group):,} documents cannot be told apart by 32-bit scores")
    return {doc_id: len(group) - place for place, doc_id in enumerate(group)}
