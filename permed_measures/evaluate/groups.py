"""Queries in groups: by conversation, by turn, by a regular expression, or as a file says."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path

from permed_measures.errors import InputError, ParamError
from permed_measures.files.json_text import loads
from permed_measures.files.source import Source

Groups = str | PathLike[str] | Mapping[str, str]

NO_GROUP = "no group"


def conversation(query_id: str) -> str:
    """Return what is before the first ``_``.

    >>> conversation("12_3"), conversation("12_3_1"), conversation("q")
    ('12', '12', 'q')
    """
    return query_id.partition("_")[0]


def turn(query_id: str) -> str:
    """Return the number after the last ``_``.

    >>> turn("12_3"), turn("12_a_03"), turn("q"), turn("12_x")
    ('3', '3', 'no turn', 'no turn')
    """
    _, mark, number = query_id.rpartition("_")
    return str(int(number)) if mark and number.isdecimal() else "no turn"


NAMED: dict[str, Callable[[str], str]] = {"conversation": conversation, "turn": turn}


def grouped(query_ids: Iterable[str], groups: Groups, *, what: str = "groups") -> dict[str, list[str]]:
    """Return {group: [query_id, …]}, the groups in the order of their names, numbers by size.

    ``groups`` is 'turn', 'conversation', a dict or a file of query ids and groups, or a regular expression: its first
    parenthesis, or all that it matches, is the group.

    >>> grouped(["1_10", "1_9", "2_9"], "turn")
    {'9': ['1_9', '2_9'], '10': ['1_10']}
    >>> grouped(["en-1", "de-1", "7"], r"^([a-z]+)-")
    {'de': ['de-1'], 'en': ['en-1'], 'no group': ['7']}
    """
    name_of = _naming(groups, what)
    members: dict[str, list[str]] = {}
    for query_id in query_ids:
        members.setdefault(name_of(query_id), []).append(query_id)
    if set(members) == {NO_GROUP}:
        kind = "no query is in it" if is_table(groups) else "it is no file, and matches no query as an expression"
        first = next(iter(members[NO_GROUP]))
        raise InputError(f"{what} {str(groups)!r}: {kind} (the first query is {first!r})")
    return {name: members[name] for name in sorted(members, key=_natural)}


def group_label(groups: Groups) -> str:
    """Return what queries are grouped by, as a heading says it.

    >>> group_label("turn"), group_label({"q1": "short"}), group_label(Path("runs/lengths.tsv"))
    ('turn', 'a table', 'lengths.tsv')
    """
    if isinstance(groups, Mapping):
        return "a table"
    return Path(groups).name if is_table(groups) else str(groups)


def is_table(groups: Groups) -> bool:
    """Whether they are a dict or a file, not a name or an expression."""
    return isinstance(groups, (Mapping, PathLike)) or (groups not in NAMED and _is_file(str(groups)))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _naming(groups: Groups, what: str) -> Callable[[str], str]:
    if is_table(groups):
        table = groups if isinstance(groups, Mapping) else read_pairs(str(groups))
        return lambda query_id: str(table.get(query_id, NO_GROUP))
    name = str(groups)
    if name in NAMED:
        return NAMED[name]
    try:
        pattern = re.compile(name)
    except re.error as error:
        known = ", ".join(map(repr, NAMED))
        raise ParamError(f"{what} {name!r} is none of {known}, no file, and no regular expression: {error}") from None

    def matched(query_id: str) -> str:
        match = pattern.search(query_id)
        if match is None:
            return NO_GROUP
        return (match[1] if pattern.groups else match[0]) or NO_GROUP

    return matched


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Order 9 before 10, and queries without a group last."""
    if name in (NO_GROUP, "no turn"):
        return [(2, 0, name)]
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def read_pairs(path: str | Path) -> dict[str, str]:
    """Read names and texts, two columns with tabs or commas between, or one JSON object: groups, descriptions."""
    text = Source(path).text()
    if text.lstrip().startswith("{"):
        return _json_pairs(text, path)
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t") if "\t" in line else next(csv.reader([line], skipinitialspace=True))
        if len(fields) != 2:  # noqa: PLR2004  (a name and its text)
            raise InputError(f"{len(fields)} fields, a line has 2: name, tab, text: {line!r}", path=path, line=number)
        name, value = (field.strip() for field in fields)
        if name in pairs:
            raise InputError(f"{name!r} is there twice", path=path, line=number)
        pairs[name] = value
    return pairs


def _json_pairs(text: str, path: str | Path) -> dict[str, str]:
    try:
        pairs = loads(text)
    except ValueError as error:
        raise InputError(str(error), path=path) from error
    for name, value in pairs.items():
        if not isinstance(value, (str, int)):
            raise InputError(f"{name!r} has {value!r}; each name has a text", path=path)
    return {name: str(value) for name, value in pairs.items()}
