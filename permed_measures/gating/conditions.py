"""What a gate asks: conditions, the measures behind their names, and serving figures. What is not known is an error."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from sys import float_info
from typing import Any

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import distinct
from permed_measures.files.json_text import loads
from permed_measures.files.source import Source
from permed_measures.measures import parse
from permed_measures.profiles import Entry, Profile

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": partial(math.isclose, rel_tol=0, abs_tol=1e-9),
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Condition:
    """A name, an operator and a number: ``nDCG@10>=0.85``."""

    name: str
    operator: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side; == allows for the last digits (1e-9)."""
        return OPERATORS[self.operator](value, self.bound)

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {self.bound:g}"


def parse_condition(text: str) -> Condition:
    """Read one condition.

    >>> parse_condition("nDCG(dcg='exp-log2')@10 >= 0.85")
    Condition(name="nDCG(dcg='exp-log2')@10", operator='>=', bound=0.85)
    """
    known = "|".join(map(re.escape, OPERATORS))
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    found = re.fullmatch(rf"\s*(\S|\S.*?\S)\s*({known})\s*({number})\s*", text, re.DOTALL)
    if found is None:
        raise ParamError(
            f"{text!r} is not a condition; write measure, one of {' '.join(OPERATORS)}, number, such as 'nDCG@10>=0.85'"
        )
    return Condition(found[1], found[2], float(found[3]))


@dataclass(frozen=True)
class Asked:
    """The conditions of a gate by what they are about, and the measure behind each name."""

    values: Sequence[Condition] = ()
    figures: Sequence[Condition] = ()
    skipped: Sequence[Condition] = ()  # targets of a profile that no figure was given for
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def profile(self, known: Profile | None, min_relevance: float | None) -> Profile:
        """Return a profile of these measures, each once."""
        once: dict[Measure, Entry] = {}
        for entry in self.entries.values():
            once.setdefault(entry.measure, entry)
        rel = min_relevance if known is None or min_relevance is not None else known.min_relevance
        distinct([entry.measure for entry in self.entries.values()], rel)
        top = None if known is None else known.top_grade
        return Profile("gate", "the measures of a gate", tuple(once.values()), min_relevance=rel, top_grade=top)


def ask(
    conditions: Sequence[str | Condition],
    profile: Profile | None,
    serving: Mapping[str, Any] | None,
    *,
    allow_skipped: bool,
    margins: Sequence[str] | None,
) -> Asked:
    """Sort conditions, or a profile's targets where there are none, into values and figures.

    ``margins`` names the measures that margins are given for; None where there is no baseline.
    """
    given = [condition if isinstance(condition, Condition) else parse_condition(condition) for condition in conditions]
    targets = [] if given or profile is None else profile.targets
    wanted = given + [Condition(t.name, "<" if t.lower_is_better else ">", t.target) for t in targets]
    known = {} if profile is None else {entry.name: entry for entry in profile.entries}
    figures = [condition for condition in wanted if _is_asked_of_figures(condition, known, serving or {})]
    skipped = [c for c in wanted if c not in figures and c.name not in known and _is_figure(c.name)]
    _check_skipped(skipped, serving, allow_skipped=allow_skipped and not given)
    values = [condition for condition in wanted if condition not in figures and condition not in skipped]
    entries = {c.name: known.get(c.name) or _entry(c.name, [*known, *(serving or {})]) for c in values}
    if margins is not None:
        entries |= {name: known.get(name) or _entry(name, known) for name in margins if name not in entries}
        entries = entries or known
    if margins is not None and not entries:
        raise ParamError("a baseline needs measures: name some in conditions or in max_drop, or give a profile")
    if not wanted and margins is None:
        raise ParamError(
            "nothing to check: give conditions such as 'nDCG@10>=0.85', a profile that has targets, or a baseline with "
            "max_drop and a profile"
        )
    return Asked(values, figures, skipped, entries)


def _is_figure(name: str) -> bool:
    if _measure(name) is not None:
        return False
    from permed_measures.serving.summary import is_figure  # noqa: PLC0415  (only for names that are no measure)

    return is_figure(name)


def _measure(name: str) -> Measure | None:
    try:
        return parse(name)
    except ParamError:
        return None


def _is_asked_of_figures(condition: Condition, known: Mapping[str, Entry], figures: Mapping[str, Any]) -> bool:
    if condition.name not in figures:
        return f"{condition.name}_at_least" in figures
    if condition.name in known or _measure(condition.name) is not None:
        raise ParamError(
            f"{condition.name!r} is a measure, and a serving figure too: which of the two is meant cannot be told; "
            "rename it in the serving file"
        )
    return True


def _check_skipped(skipped: Sequence[Condition], serving: Mapping[str, Any] | None, *, allow_skipped: bool) -> None:
    for condition in skipped:
        if serving is None and not allow_skipped:
            msg = f"{condition.name!r} is a serving figure, and none are given: give their file with --serving FILE"
            raise ParamError(msg + ", or --allow-skipped where a profile asks for it")
        if serving is not None and (condition.name.endswith("_ms") or not allow_skipped):
            dead = "; did any call succeed?" if condition.name.endswith("_ms") else ""
            raise InputError(
                f"the serving figures lack {condition.name!r}{dead}{did_you_mean(condition.name, serving)}"
            )


def _entry(name: str, known: Sequence[str] | Mapping[str, Entry]) -> Entry:
    try:
        return Entry(parse(name), name)
    except ParamError as error:
        if not known:
            raise
        msg = f"{name!r} is neither a measure, nor of the profile, nor a serving figure that is given."
        raise ParamError(msg + did_you_mean(name, known) + f" ({error})") from error


def figure(condition: Condition, figures: Mapping[str, Any]) -> float | None:
    """Return the number that a condition is about; None where calls never ended, and only a lower bound is known."""
    if condition.name not in figures:
        return None
    value = figures[condition.name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= float_info.max:
        shown = "beyond 1.8e308" if type(value) is int else repr(value)
        raise InputError(f"the serving figure {condition.name!r} is {shown}; a number is needed")
    return float(value)


def read_serving(path: str | Path) -> dict[str, Any]:
    """Read serving figures: one JSON object, {"p95_ms": 310, "usd_per_query": 0.001}, no key twice."""
    try:
        figures = loads(Source(path).text())
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(error), path=path) from error
    if not isinstance(figures, dict):
        raise InputError('serving figures are one JSON object, such as {"p95_ms": 310}', path=path)
    return figures
