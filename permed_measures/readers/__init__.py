"""Files of qrels and runs, one module per format.

``read_qrels(path)`` returns ``{query_id: {doc_id: grade}}``, ``read_run(path)`` ``{query_id: {doc_id: score}}`` or,
where the order of a list is the ranking, ``{query_id: [doc_id, …]}``.
"""

from __future__ import annotations

from os import PathLike
from types import ModuleType
from typing import Any

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.readers import jsonl, trec
from permed_measures.readers.source import Source

FORMATS: dict[str, ModuleType] = {module.NAME: module for module in (jsonl, trec)}
"""In the order in which they are tried."""


def read_qrels(path: str | PathLike[str], format: str | None = None) -> dict[str, dict[str, float]]:  # noqa: A002  (the natural word)
    """Read judgements; the format is found by content and suffix when it is not given."""
    source = Source(path)
    return _module(source, format).read(source, "qrels")  # type: ignore[no-any-return]  # a module of FORMATS


def read_run(path: str | PathLike[str], format: str | None = None) -> dict[str, Any]:  # noqa: A002  (the natural word)
    """Read a run; the format is found by content and suffix when it is not given."""
    source = Source(path)
    return _module(source, format).read(source, "run")  # type: ignore[no-any-return]  # a module of FORMATS


def _module(source: Source, name: str | None) -> ModuleType:
    if name is None:
        return detect(source)
    if name not in FORMATS:
        raise ParamError(f"unknown format {name!r}.{did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def detect(source: Source) -> ModuleType:
    """Return the format of a file, by content first, then by suffix."""
    head = source.head()
    for module in FORMATS.values():
        if module.fits(head):
            return module
    for module in FORMATS.values():
        if source.suffix in module.SUFFIXES:
            return module
    known = "".join(f"\n  {name}: {module.DESCRIPTION}" for name, module in FORMATS.items())
    raise source.error(f"the format cannot be told from name and content; give one of{known}")
