"""Saved values: what runs reached on every query, and under which conditions. JSON Lines that diff well.

The first line says what the file is. Then, run by run: a line per measure (its name, mean and signature), a line per
note, and a line per query with the digest of its judgements and its values, in the order of the measures; null where a
measure's mean does not run over the query. Queries are sorted, numbers are whole, so that the same values are the same
file::

    {"permed_measures": "values", "schema": 1}
    {"run": "bm25", "measure": "nDCG@10", "mean": 0.75, "signature": "nDCG@10|order:float32|queries:qrels|n:2|…"}
    {"run": "bm25", "query": "1", "judged": "16af6dc4b3e11192", "values": [1.0]}
    {"run": "bm25", "query": "2", "judged": "b3e1119216af6dc4", "values": [0.5]}

A run that is one of several repeats of a system has its number beside the name: ``"run": "llm", "repeat": 2``. Whatever
was lost or changed by hand is noticed: counts, means and digests must be those of the lines.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from permed_measures.errors import ParamError
from permed_measures.files.json_text import SAVED, as_object, json_lines
from permed_measures.files.output import write_whole
from permed_measures.files.source import STDIN, Source
from permed_measures.signature import Digest, Signature

SCHEMA = 1
_MEASURE_KEYS = {"run", "measure", "mean", "signature"}
_QUERY_KEYS = {"run", "query", "judged", "values"}
_NOTE_KEYS = {"run", "note"}
_SAME = 1e-12


class Column(NamedTuple):
    """The values of one measure by query, what it is called, and their conditions."""

    name: str
    signature: Signature
    values: Mapping[str, float]

    @property
    def mean(self) -> float | None:
        """The mean; None where there are no values."""
        return math.fsum(self.values.values()) / len(self.values) if self.values else None


@dataclass(frozen=True)
class SavedRun:
    """The values of one run; ``repeat`` is its number where a system has several runs."""

    name: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    repeat: int | None = None


@dataclass(frozen=True)
class SavedValues:
    """What a file of saved values holds."""

    runs: Sequence[SavedRun]
    judged: Mapping[str, Digest]  # the digest of every query's judgements; how many they are is not known
    options: Mapping[str, Any] = field(default_factory=dict)  # how the values were compared, where they were


def is_saved(path: str | PathLike[str]) -> bool:
    """Whether a file holds saved values; a pipe never does, since it can be read but once."""
    return path != STDIN and Path(path).is_file() and SAVED.match(Source(path).head(1 << 10)) is not None


def write(path: str | PathLike[str], saved: SavedValues) -> None:
    """Write saved values, whole or not at all."""
    head = {"permed_measures": "values", "schema": SCHEMA} | ({"options": dict(saved.options)} if saved.options else {})
    write_whole(Path(path), "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [head, *_lines(saved)]))


def _lines(saved: SavedValues) -> Iterable[dict[str, Any]]:
    for run in saved.runs:
        start = {"run": run.name} | ({} if run.repeat is None else {"repeat": run.repeat})
        for column in run.columns:
            if not all(map(math.isfinite, column.values.values())):
                query_id = next(query_id for query_id, value in column.values.items() if not math.isfinite(value))
                msg = f"{column.name} of query {query_id!r} is {column.values[query_id]}, which cannot be saved"
                raise ParamError(msg)
            yield start | {"measure": column.name, "mean": column.mean, "signature": str(column.signature)}
        yield from (start | {"note": note} for note in run.notes)
        for query_id in sorted({query_id for column in run.columns for query_id in column.values}):
            values = [column.values.get(query_id) for column in run.columns]
            judged = saved.judged.get(query_id, Digest()).text
            yield start | {"query": query_id, "judged": judged, "values": values}


def read(path: str | PathLike[str]) -> SavedValues:
    """Read saved values; InputError names the line that is wrong."""
    source = Source(path)
    reader = _Reader()
    last = 0
    for number, _ in json_lines(source, reader.take):
        last = number
    try:
        return reader.finished()
    except ValueError as error:
        raise source.error(f"{error}; the file was cut or changed: save the values anew", last) from None


class _Reader:
    """Takes line by line; every ValueError says what is wrong with one."""

    def __init__(self) -> None:
        self.options: Mapping[str, Any] | None = None
        self.runs: dict[tuple[str, int | None], SavedRun] = {}
        self.means: dict[tuple[str, int | None], list[Any]] = {}
        self.seen: set[tuple[str, int | None, str]] = set()
        self.started: set[tuple[str, int | None]] = set()
        self.judged: dict[str, Digest] = {}

    def take(self, record: Any) -> None:  # noqa: ANN401  (checked here)
        if self.options is None:
            self.options = _options(as_object(record, "a line is an object"))
            return
        keys = set(as_object(record, "a line is an object")) - {"repeat"}
        takers = ((_MEASURE_KEYS, self._measure), (_QUERY_KEYS, self._query), (_NOTE_KEYS, self._note))
        taker = next((taker for known, taker in takers if keys == known), None)
        if taker is None:
            known = " or ".join(f"({', '.join(sorted(known))})" for known, _ in takers)
            raise ValueError(f"the keys {', '.join(sorted(keys)) or 'are none'}; a line has {known}")
        name, repeat = _text(record, "run"), record.get("repeat")
        if repeat is not None and (type(repeat) is not int or repeat < 1):
            raise ValueError(f"the repeat {repeat!r} is not a whole number >= 1")
        taker((name, repeat), record)

    def _measure(self, key: tuple[str, int | None], record: dict[str, Any]) -> None:
        run = self.runs.setdefault(key, SavedRun(key[0], [], [], key[1]))
        name = _text(record, "measure")
        if any(column.name == name for column in run.columns) or key in self.started:
            raise ValueError(f"the measure {name!r} of {key[0]!r} occurs before, or after the run's queries")
        run.columns.append(Column(name, Signature.parse(_text(record, "signature")), {}))  # type: ignore[attr-defined]  # a list, here
        self.means.setdefault(key, []).append(record["mean"])

    def _note(self, key: tuple[str, int | None], record: dict[str, Any]) -> None:
        self._run(key).notes.append(_text(record, "note"))  # type: ignore[attr-defined]  # as above

    def _query(self, key: tuple[str, int | None], record: dict[str, Any]) -> None:
        run, query_id, values = self._run(key), _text(record, "query"), record["values"]
        if (*key, query_id) in self.seen:
            raise ValueError(f"the query {query_id!r} of {key[0]!r} occurs before")
        self.seen.add((*key, query_id))
        self.started.add(key)
        if not isinstance(values, list) or len(values) != len(run.columns) or not all(map(_is_value, values)):
            msg = f"'values' is a list of {len(run.columns)} finite numbers or nulls, one per measure of the run"
            raise ValueError(msg)
        judged = _digest(_text(record, "judged"))
        if self.judged.setdefault(query_id, judged) != judged:
            msg = f"the judgements of query {query_id!r} have another digest before: {self.judged[query_id].text}"
            raise ValueError(msg)
        for column, value in zip(run.columns, values, strict=True):
            if value is not None:
                column.values[query_id] = float(value)  # type: ignore[index]  # a dict, here

    def _run(self, key: tuple[str, int | None]) -> SavedRun:
        if key not in self.runs:
            raise ValueError(f"the run {key[0]!r} has no measure in the lines before")
        return self.runs[key]

    def finished(self) -> SavedValues:
        if not self.runs:
            raise ValueError("the file holds no values")
        total = Digest.total(self.judged.values()).text
        for key, run in self.runs.items():
            for column, mean in zip(run.columns, self.means[key], strict=True):
                what, signature = f"{column.name} of {run.name!r}", column.signature
                if len(column.values) != signature.n:
                    raise ValueError(f"{what} has {len(column.values):,} values, its signature says n:{signature.n}")
                if not _same(mean, column.mean):
                    raise ValueError(f"{what} has the mean {column.mean!r}, its line says {mean!r}")
                if signature.queries == "qrels" and signature.digest != total:
                    msg = f"{what}: the digests of its queries sum up to {total}, its signature says {signature.digest}"
                    raise ValueError(msg)
        return SavedValues(tuple(self.runs.values()), self.judged, self.options or {})


def _options(record: dict[str, Any]) -> Mapping[str, Any]:
    if record.get("permed_measures") != "values":
        raise ValueError('no saved values: the first line of such a file is {"permed_measures": "values", …}')
    if record.get("schema") != SCHEMA:
        msg = f"saved values of schema {record.get('schema')!r}; this version of permed_measures reads schema {SCHEMA}"
        raise ValueError(msg)
    options = record.get("options", {})
    if not isinstance(options, dict) or set(record) - {"permed_measures", "schema", "options"}:
        msg = "the first line has the keys permed_measures, schema and, where values were compared, options (an object)"
        raise ValueError(msg)
    return options


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key!r} is {value!r}, not a text")
    return value


def _digest(text: str) -> Digest:
    if not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError(f"'judged' is {text!r}, not 16 hex digits")
    return Digest(0, int(text[:8], 16), int(text[8:], 16))


def _is_value(value: Any) -> bool:  # noqa: ANN401  (that is the question)
    if value is None:
        return True
    return type(value) in (int, float) and abs(value) <= 1.7e308  # noqa: PLR2004  (not infinite, nor NaN)


def _same(said: Any, found: float | None) -> bool:  # noqa: ANN401  (what the file says)
    if said is None or found is None:
        return said is found
    return _is_value(said) and math.isclose(said, found, rel_tol=_SAME, abs_tol=_SAME)
