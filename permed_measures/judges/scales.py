"""Grades of one scale said in another, by thresholds that the user states."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite

from permed_measures.errors import InputError, ParamError
from permed_measures.inputs import Qrels

SAME = "same"
"""Says that two scales are one, although the highest grades are far apart."""
_MOST_COLUMNS = 11
"""A confusion with more grades than these has ranges of grades."""
_APART = 2
"""Highest grades more than this many times apart look like two scales."""

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
        lowest, mark, becomes = part.partition(":")
        try:
            step = float(lowest), float(becomes)
        except ValueError:
            step = (float("nan"), 0.0)
        if not mark or not all(map(isfinite, step)):
            msg = f"map {text!r}: {part.strip()!r} is not LOWEST:GRADE; write such as '4:1,8:2', or '{SAME}'"
            raise ParamError(msg)
        steps.append(step)
    for (low, grade), (next_low, next_grade) in pairwise(steps):
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


def to_scale_of(people: Qrels, judge: Qrels, scale: str | Scale | None, name: str) -> Qrels:
    """Return the judge's grades in people's scale; without a mapping, grades that look like two scales are an error."""
    if scale is not None:
        return mapped(judge, parse_map(scale) if isinstance(scale, str) else scale)
    highest = [max((g for grades in qrels.values() for g in grades.values()), default=0) for qrels in (people, judge)]
    low, high = sorted(highest)
    if low > 0 and high > _APART * low:
        raise InputError(
            f"people's highest grade is {highest[0]:g}, that of {name} {highest[1]:g}: these look like two scales. Say "
            "how the judge's grades become people's, such as '4:1,8:2' (from 4 on it is 1, from 8 on 2; in the shell "
            f"--map 4:1,8:2), or that the scale is the same: '{SAME}'"
        )
    return judge


def ranges(grades: Iterable[float]) -> dict[str, tuple[float, float]]:
    """Return the columns of a confusion table by what is above them: each grade, or ten ranges where they are many.

    >>> list(ranges([0, 1, 2]))
    ['0', '1', '2']
    >>> list(ranges(x / 10 for x in range(101)))[::9]
    ['0 to <1', '9 to 10']
    """
    known = sorted(set(grades))
    if len(known) <= _MOST_COLUMNS:
        return {f"{grade:g}": (grade, grade) for grade in known}
    low, step = known[0], (known[-1] - known[0]) / 10
    ends = [low + step * place for place in range(10)] + [known[-1]]
    inner = {f"{a:g} to <{b:g}": (a, b) for a, b in pairwise(ends[:-1])}
    return {**inner, f"{ends[-2]:g} to {ends[-1]:g}": (ends[-2], ends[-1])}


def range_of(grade: float, edges: Mapping[str, tuple[float, float]]) -> str:
    """Return the column that a grade belongs to."""
    return [name for name, (low, _) in edges.items() if grade >= low][-1]
