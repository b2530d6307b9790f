"""Samples from whatever holds them: ids, labels, features and scores, checked column by column."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from permed_measures.errors import InputError, ParamError
from permed_measures.files.json_text import as_id, first_repeated, loads
from permed_measures.ltr.groups import Floats, Group, Ints, Samples, as_codes, joined, unlike
from permed_measures.ltr.tables import NUMBERS, Table, as_number, read_table, short, table_of
from permed_measures.render.words import counted

GROUP = ("trace_id", "node_id")
_CANDIDATE = ("tool", "candidate_id")
_NUMBERED = re.compile(r"f(0|[1-9]\d*)")


def as_samples(
    source: Any,  # noqa: ANN401  (one of the shapes below)
    *,
    group: str | Sequence[str] = GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Return samples from a path, a list of dicts, or a pandas or polars frame, checked.

    ``group`` names the fields that tell groups apart, ``candidate`` the candidate's (by default ``tool`` or
    ``candidate_id``), ``features`` the fields that are features (by default the list ``features``, else f0, f1, …).
    A sample has features, or a ``score``, or both.
    """
    if isinstance(source, Samples):
        return source
    return _samples(table_of(source), group, candidate, features)


def read_samples(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the natural word)
    group: str | Sequence[str] = GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Read samples from a JSONL, JSON, CSV or parquet file; the arguments are those of :func:`as_samples`."""
    return _samples(read_table(path, format), group, candidate, features)


def _samples(
    table: Table, group: str | Sequence[str], candidate: str | None, features: Sequence[str] | None
) -> Samples:
    fields = [group] if isinstance(group, str) else list(group)
    if features is not None and len(set(features)) < len(features):
        raise ParamError(f"features={list(features)} is not allowed; name every feature once")
    if not fields:
        raise ParamError("group=() is not allowed; name the fields that tell groups apart, such as 'trace_id,node_id'")
    if not table.length:
        raise InputError("no samples", path=table.path)
    keys = {name: _ids(table, name) for name in fields}
    candidates = _candidates(table, candidate)
    labels = table.numbers("label", finite=True)
    matrix, names = _features(table, features)
    scores = None if all(value is None for value in table.column("score")) else table.numbers("score")
    if scores is not None and np.isnan(scores).any():
        raise table.fault(int(np.isnan(scores).argmax()), "the score is NaN; a ranking needs a number for every sample")
    if matrix is None and scores is None:
        raise table.fault(0, "neither features ('features', or f0, f1, …) nor a 'score'; a sample has one of them")
    codes = as_codes(zip(*(map(str, key) for key in keys.values()), strict=True))
    pairs = list(zip(codes.tolist(), candidates, strict=True))
    again = first_repeated(pairs)
    if again is not None:
        row = pairs.index(again, pairs.index(again) + 1)
        raise table.fault(row, f"the candidate {candidates[row]!r} occurs in its group twice")
    groups, notes = _groups(table, keys, codes)
    return Samples(groups, codes, candidates, labels, matrix, names, scores, notes)


def _groups(table: Table, keys: dict[str, list[str | int]], codes: "Ints") -> tuple[list[Group], list[str]]:
    queries = table.column("query")
    shown = []
    for name, key in zip(GROUP, [*keys.values(), None, None], strict=False):
        column = keys[name] if name in keys else table.column(name)
        # a key of other names takes the place of the document's trace_id and node_id
        is_free = name not in keys and key is not None and all(value is None for value in column)
        shown.append(key if is_free and key is not None else column)
    groups = [
        Group(
            query_id=joined([str(key[row]) for key in keys.values()]),
            trace_id=shown[0][row],
            node_id=shown[1][row],
            query=None if queries[row] is None else str(queries[row]),
        )
        for row in np.unique(codes, return_index=True)[1].tolist()
    ]
    first_query = dict(zip(codes[::-1].tolist(), reversed(queries), strict=True))
    mixed = {code for code, query in zip(codes.tolist(), queries, strict=True) if query != first_query[code]}
    note = f"{counted(len(mixed), 'group')} whose samples have different queries; the first is shown"
    return groups, [note] if mixed else []


def _ids(table: Table, name: str) -> list[str | int]:
    """Return a column of ids: strings, or whole numbers, none of them absent."""
    column = table.needed(name)
    kinds = set(map(type, column))
    if (kinds <= {str} and _sound(column)) or (kinds == {int} and max(map(abs, column)) < 2**63):
        return column
    return [table.checked(row, _id, value, name) for row, value in enumerate(column)]


def _id(value: Any, name: str) -> str | int:  # noqa: ANN401  (checked here)
    if hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_)):
        str(int(value))  # ValueError beyond 4,300 digits
        return int(value)
    return as_id(value, name)


def _sound(column: list[str]) -> bool:
    try:
        "".join(column).encode()
    except UnicodeEncodeError:
        return False
    return "" not in column


def _candidates(table: Table, name: str | None) -> list[str]:
    """Return the candidates: ``tool`` or ``candidate_id``, whichever a record has."""
    if name is None:
        name, columns = " or ".join(_CANDIDATE), [table.column(known) for known in _CANDIDATE]
        either = [other if tool is None else tool for tool, other in zip(*columns, strict=True)]
        table = replace(table, column=lambda _: either)
    return list(map(str, _ids(table, name)))


def _features(table: Table, names: Sequence[str] | None) -> "tuple[Floats | None, tuple[str, ...]]":
    """Return the features of every sample, one row each, and their names; None where there are none.

    They are in the fields ``names``, else in one field ``features`` (a list, an object, or JSON text of either), else
    in fields f0, f1, ….
    """
    if names is None and any(value is not None for value in table.column("features")):
        matrix, names = _from_lists(table, table.needed("features"))
    else:
        if names is None:
            numbered = sorted(int(found[1]) for found in map(_NUMBERED.fullmatch, table.names) if found)
            if not numbered:
                return None, ()
            gap = next((number for number, found in enumerate(numbered) if number != found), None)
            if gap is not None:
                raise table.fault(0, f"features are in columns f0, f1, …: f{gap} is not there, f{numbered[-1]} is")
            names = [f"f{number}" for number in numbered]
        columns = [table.numbers(name, f"feature {name}") for name in names]
        matrix = np.column_stack(columns) if columns else np.empty((table.length, 0))
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        row, at = divmod(int(wrong.argmax()), matrix.shape[1])
        raise table.fault(row, f"feature {names[at]} is {matrix[row, at]}; a feature is a finite number")
    return matrix, tuple(names)


def _from_lists(table: Table, column: list[Any]) -> "tuple[Floats, tuple[str, ...]]":
    names = None
    if set(map(type, column)) != {list}:
        column = [table.checked(row, loads, v) if isinstance(v, str) else v for row, v in enumerate(column)]
        names = tuple(map(str, column[0])) if isinstance(column[0], Mapping) else None
        column = [table.checked(row, _as_list, value, names) for row, value in enumerate(column)]
    width = len(column[0])
    for row, values in enumerate(column):
        if len(values) != width:
            raise table.fault(row, f"{len(values)} features, the samples before have {width}")
    if not set(map(type, chain.from_iterable(column))) <= NUMBERS:
        column = [[table.checked(row, as_number, v, "feature") for v in values] for row, values in enumerate(column)]
    columns = [table.floats([values[at] for values in column]) for at in range(width)]
    matrix = np.column_stack(columns) if columns else np.empty((table.length, 0))
    return matrix, names or tuple(f"f{at}" for at in range(width))


def _as_list(value: Any, names: tuple[str, ...] | None) -> list[Any]:  # noqa: ANN401  (checked here)
    if isinstance(value, Mapping) and names is not None:
        by_name = value if value.keys() == set(names) else {str(name): number for name, number in value.items()}
        if by_name.keys() != set(names):
            raise ValueError(f"the features do not match those of the first sample: {unlike(by_name, names)}")
        return [by_name[name] for name in names]
    if hasattr(value, "tolist"):  # numpy, which is what pandas makes of parquet's lists
        value = value.tolist()
    if names is None and isinstance(value, (list, tuple)):
        return list(value)
    wanted = "a list of numbers" if names is None else "named, as those of the first sample are"
    raise ValueError(f"the features {short(value)} are a {type(value).__name__}, not {wanted}")
