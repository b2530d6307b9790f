"""Grades of one scale said in another, by thresholds that the user states."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from permed_measures.errors import InputError, ParamError
from permed_measures.inputs import Qrels
from permed_measures.numbers import short_number

SAME = "same"
"""Says that two scales are one, although the highest grades are far apart."""
_APART = 2
"""Highest grades this many times apart look like two scales."""

Scale = Sequence[tuple[float, float]]
"""(lowest grade, the grade it becomes), ascending; what is below the first becomes 0."""


def parse_map(text: str) -> Scale:
    """Read "4:1,8:2": from 4 on a grade becomes 1, from 8 on 2, below that 0; "same" leaves grades as they are.

    >>> parse_map("4:1, 8:2")
    [(4.0, 1.0), (8.0, 2.0)]
    """
    if text.strip() == SAME:
        return []
    steps = []
    for part in text.split(","):
        low, mark, grade = part.partition(":")
        try:
            step = float(low), float(grade)
        except ValueError:
            step = (float("nan"), 0.0)
        if not mark or not all(map(isfinite, step)):
            msg = f"map {text!r}: {part.strip()!r} is not LOWEST:GRADE; write such as '4:1,8:2', or '{SAME}'"
            raise ParamError(msg)
        steps.append(step)
    for (low, grade), (next_low, next_grade) in zip(steps, steps[1:], strict=False):
        if next_low <= low or next_grade < grade:
            msg = f"map {text!r}: {next_low:g}:{next_grade:g} comes after {low:g}:{grade:g}; both numbers must ascend"
            raise ParamError(msg)
    return steps


def mapped(qrels: Qrels, scale: Scale) -> Qrels:
    """Return the judgements with every grade said in the other scale.

    >>> mapped({"q": {"a": 3.9, "b": 8, "c": 4}}, [(4, 1), (8, 2)])
    {'q': {'a': 0, 'b': 2, 'c': 1}}
    """
    if not scale:
        return qrels
    return {query: {doc: _step(grade, scale) for doc, grade in grades.items()} for query, grades in qrels.items()}


def _step(grade: float, scale: Scale) -> float:
    reached = [to for low, to in scale if grade >= low]
    found = reached[-1] if reached else 0
    return int(found) if float(found).is_integer() else found


def check_scales(people: Qrels, judge: Qrels, name: str) -> None:
    """Refuse grades that look like two scales: a kappa, or a threshold, of both would mean nothing."""
    first, second = (max((g for grades in qrels.values() for g in grades.values()), default=0) for qrels in (people, judge))
    low, high = sorted((first, second))
    if low > 0 and high >= _APART * low:
        msg = (
            f"people's highest grade is {short_number(first)}, that of {name} {short_number(second)}: these look like "
            f"two scales. Say how the judge's grades become people's, such as '4:1,8:2' (from 4 on it is 1, from 8 on "
            f"2; in the shell --map 4:1,8:2), or that the scale is the same: '{SAME}'"
        )
        raise InputError(msg)
