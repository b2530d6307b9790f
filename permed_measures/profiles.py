"""Named sets of measures, one per source system, with the names that system shows.

Two profiles may both show "MAP@10" and mean different measures: a report prints the definition below its table.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from sys import float_info
from typing import Any, Literal, NamedTuple, cast, get_args

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError, check_choice, did_you_mean, require
from permed_measures.measures import parse
from permed_measures.measures.base import written

QuerySet = Literal["qrels", "run", "both"]
QUERY_SETS: tuple[QuerySet, ...] = get_args(QuerySet)


class Entry(NamedTuple):
    """One measure of a profile: what it is, what it is called there, over which queries its mean runs."""

    measure: Measure
    name: str
    queries: QuerySet = "qrels"


class Target(NamedTuple):
    """A level to reach, and the level that is excellent; latency and cost fall, quality rises."""

    name: str
    target: float
    excellent: float
    lower_is_better: bool = False


@dataclass(frozen=True)
class Profile:
    """A named set of measures."""

    name: str
    description: str
    entries: tuple[Entry, ...]
    min_relevance: float | None = None
    targets: tuple[Target, ...] = ()
    top_grade: float | None = None
    """The top of the scale that grades are on; where it is long, a note says from which grade on they are relevant."""
    measures: tuple[Measure, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.entries:
            raise ParamError(f"profile {self.name!r} has no measures")
        names = [entry.name for entry in self.entries]
        prints = [str(entry.measure) for entry in self.entries]
        for what, values in (("name", names), ("measure", prints)):
            again = next((value for value in values if values.count(value) > 1), None)
            if again is not None:
                same = {written(entry.measure) for entry in self.entries if str(entry.measure) == again}
                hint = f" ({' and '.join(sorted(same))} are one, unless each has another rel)" if len(same) > 1 else ""
                raise ParamError(f"profile {self.name!r}: the {what} {again!r} occurs twice; each may occur once{hint}")
        object.__setattr__(self, "measures", tuple(entry.measure for entry in self.entries))

    def to_toml(self) -> str:
        """Return the text of a file that :func:`load_profile` reads as this profile."""
        lines = [f"name = {toml_text(self.name)}", f"description = {toml_text(self.description)}"]
        numbers = {"min_relevance": self.min_relevance, "top_grade": self.top_grade}
        lines += [f"{name} = {number!r}" for name, number in numbers.items() if number is not None]
        for entry in self.entries:
            lines += ["", "[[measures]]", f"measure = {toml_text(written(entry.measure))}"]
            lines.append(f"name = {toml_text(entry.name)}")
            if entry.queries != QUERY_SETS[0]:
                lines.append(f"queries = {toml_text(entry.queries)}")
        for target in self.targets:
            lines += ["", "[[targets]]", f"name = {toml_text(target.name)}", f"target = {target.target!r}"]
            lines.append(f"excellent = {target.excellent!r}")
            if target.lower_is_better:
                lines.append("lower_is_better = true")
        return "\n".join(lines) + "\n"


def toml_text(text: str) -> str:
    """Write a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")  # JSON allows DEL, TOML does not


def load_profile(profile: str | Path | Profile) -> Profile:
    """Return a profile by name, or from a TOML file.

    A file holds ``name``, ``description``, optionally ``min_relevance``, ``top_grade`` (of the scale) and ``queries``,
    and one ``[[measures]]`` table per measure with ``measure``, optionally ``name`` (what is shown) and ``queries``.
    Targets are ``[[targets]]`` tables with ``name`` (what a measure is shown as, or a serving figure), ``target``,
    optionally ``excellent`` and ``lower_is_better``. :meth:`Profile.to_toml` writes such a file.
    Raises ParamError for a name or a file that is none.

    >>> [entry.name for entry in load_profile('permed').entries]
    ['NDCG@10', 'MAP@10', 'P@1']
    """
    if isinstance(profile, Profile):
        return profile
    if not isinstance(profile, (str, PathLike)):
        msg = f"profile={profile!r} is a {type(profile).__name__}; give a name, a .toml file or a Profile."
        raise ParamError(msg + did_you_mean("", PROFILES))
    if str(profile) in PROFILES:
        return PROFILES[str(profile)]
    path = Path(profile)
    if path.suffix != ".toml":
        msg = f"unknown profile {str(profile)!r}; a profile of your own is a file ending in .toml."
        raise ParamError(msg + did_you_mean(str(profile), PROFILES))
    return _from_toml(path)


def _from_toml(path: Path) -> Profile:
    table = read_toml(path, "profile")
    try:
        return _from_table(table, path.stem)
    except ParamError as error:
        raise InputError(str(error), path=path) from error


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """Read a TOML file; ``what`` it is is said where that fails."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the {what}: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} is not UTF-8: {error}", path=path) from error
    try:
        toml = require("tomllib" if sys.version_info >= (3, 11) else "tomli", extra="cli")
        table: dict[str, Any] = toml.loads(text)
    except ValueError as error:
        raise InputError(f"not TOML: {error}", path=path) from error
    return table


_TABLE_KEYS = ("name", "description", "min_relevance", "top_grade", "queries", "measures", "targets")
_ENTRY_KEYS = ("measure", "name", "queries")
_TARGET_KEYS = ("name", "target", "excellent", "lower_is_better")


def _from_table(table: Mapping[str, Any], stem: str) -> Profile:
    known_keys(table, _TABLE_KEYS, "the profile")
    queries = _query_set(table.get("queries", "qrels"))
    msg = 'a profile has one [[measures]] table per measure, with measure = "GWAP@10" and name = "MAP@10"'
    entries = []
    for row in _rows(table.get("measures"), msg):
        known_keys(row, _ENTRY_KEYS, "a [[measures]] table")
        if not isinstance(row.get("measure"), str):
            raise ParamError(f'a [[measures]] table needs measure = "…"; found {dict(row)!r}')
        measure = parse(row["measure"])
        entries.append(Entry(measure, str(row.get("name", written(measure))), _query_set(row.get("queries", queries))))
    top = table.get("top_grade")
    if top is not None and type(top) not in (int, float):
        raise ParamError(f"top_grade={top!r} is not allowed; give a number, the top of the scale of grades")
    return Profile(
        str(table.get("name", stem)),
        str(table.get("description", "")),
        tuple(entries),
        min_relevance=table.get("min_relevance"),
        top_grade=top,
        targets=tuple(map(_target, _rows(table.get("targets", []), 'a target is a [[targets]] table with name = "…"'))),
    )


def _rows(rows: Any, msg: str) -> list[Mapping[str, Any]]:  # noqa: ANN401  (checked here)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ParamError(msg)
    return rows


def _target(row: Mapping[str, Any]) -> Target:
    known_keys(row, _TARGET_KEYS, "a [[targets]] table")
    name, lower = row.get("name"), row.get("lower_is_better", False)
    target: Any = row.get("target")
    excellent: Any = row.get("excellent", target)
    are_numbers = {type(target), type(excellent)} <= {int, float}
    are_numbers = are_numbers and max(abs(target), abs(excellent)) <= float_info.max  # NaN is not, either
    if not isinstance(name, str) or not are_numbers or not isinstance(lower, bool):
        raise ParamError(f'a [[targets]] table needs name = "…" and target = a number; found {dict(row)!r}')
    return Target(name, target, excellent, lower)


def known_keys(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Raise ParamError for a key that a table does not have."""
    for key in table:
        if key not in known:
            raise ParamError(f"{what} has no key {key!r}.{did_you_mean(key, known)}")


def _query_set(value: Any) -> QuerySet:  # noqa: ANN401  (checked here)
    check_choice("queries", value, QUERY_SETS)
    return cast("QuerySet", value)


class _Profiles(Mapping[str, Profile]):
    """Ours by name, each made when somebody asks for it: to read the measures of all takes as long as a small run."""

    def __init__(self) -> None:
        self._made: dict[str, Profile] = {}

    @cached_property
    def _tables(self) -> dict[str, dict[str, Any]]:
        """Each is written as a file of one's own is."""
        tables = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
        return {table["name"]: table for table in tables}

    def __getitem__(self, name: str) -> Profile:
        if name not in self._made:
            self._made[name] = _from_table(self._tables[name], name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return repr(dict(self))


PROFILES: Mapping[str, Profile] = _Profiles()
