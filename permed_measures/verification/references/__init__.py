"""Implementations that we did not write, to check our values against; and the definitions written out by hand.

One file each, which no list names. A reference imports nothing from the rest of this package, takes and returns plain
dicts, and loads its own package only when it computes.
"""

import re
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

Grades = Mapping[str, float]
Scores = Mapping[str, float]
Qrels = Mapping[str, Grades]
Run = Mapping[str, Scores]
Values = dict[str, float]
Params = Mapping[str, Any]

TOLERANCE = 1e-12
"""Two implementations agree when their values differ by no more: room for the order of additions and nothing else."""


@dataclass(frozen=True)
class Computation:
    """How one reference computes one measure."""

    compute: Callable[[Qrels, Run], Values]
    """Values of the queries it answers; it may leave out those without returned documents."""
    how: str  # what the reference is asked for, in its own words
    refuses: Callable[[Qrels, Run], str] = lambda _qrels, _run: ""
    """Why this input cannot be given to the reference; empty when it can."""
    ties: str = ""  # what it does with equal scores, where that is not trec_eval 9.0.8's rule
    near_ties: str = ""
    """What it does with scores that are equal only as 32-bit floats, where that is not trec_eval 9.0.8's rule."""
    tolerance: float = TOLERANCE
    tolerance_reason: str = ""


@dataclass(frozen=True)
class Reference:
    """An implementation that we did not write, or the definition written out."""

    name: str
    package: str  # the package that must be importable; empty when none is needed
    find: Callable[[str, Params], Computation | None]
    """Return the computation of the measure of this name and these parameters (all of them, defaults included)."""
    missing: Callable[[], str] = str
    """Why it cannot run here, for another reason than an absent package; empty when it can."""
    program: str = ""
    """The program that does the arithmetic: where evaluate() has its value from it, it confirms nothing."""
    distributions: tuple[str, ...] = ()
    """What the package is called where it is published; the first one that is installed counts."""
    known: tuple[str, str] = ("", "")  # the versions that were compared with ours: from this one on, before that one

    def absent(self) -> str:
        """Return why the reference cannot be used on this machine; empty when it can."""
        if self.package and find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return self.missing()

    @cached_property
    def version(self) -> str:
        """The installed version; empty where it has none of its own, or none that can be found."""
        for distribution in self.distributions:
            with suppress(PackageNotFoundError):
                return version(distribution)
        return ""

    def unknown_version(self) -> str:
        """Say that the version is not among those that were compared with ours; empty where it is."""
        if not self.distributions or self.absent():
            return ""
        first, end = self.known
        if not self.version:
            return f"{self.name}: its version cannot be found; known are {first} to below {end}"
        if _numbers(first) <= _numbers(self.version) < _numbers(end):
            return ""
        known = f"the known versions, {first} to below {end}"
        return f"{self.name} {self.version} is not among {known}: it may compute something else"


def _numbers(written: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with.

    >>> _numbers("0.5.11") < _numbers("0.6"), _numbers("1.4rc1")
    (True, (1, 4))
    """
    found = re.match(r"\d+(\.\d+)*", written)
    return tuple(map(int, found[0].split("."))) if found else ()


def whole_grades(qrels: Qrels) -> bool:
    """Whether all grades are ints."""
    return all(isinstance(grade, int) for judged in qrels.values() for grade in judged.values())


def as_float32(score: float) -> float:
    """Return the nearest 32-bit float; beyond 3.4e38 that is infinity."""
    single: float = struct.unpack("f", struct.pack("f", score))[0]
    return single


def trec_order(scores: Scores) -> list[str]:
    """Return the documents as trec_eval 9.0.8 ranks them: by 32-bit score; ties by id (bytes); both descending."""
    return sorted(scores, key=lambda doc_id: (as_float32(scores[doc_id]), doc_id.encode()), reverse=True)


def untied(run: Run) -> dict[str, dict[str, float]]:
    """Return the same order with scores that nobody can read in two ways: n - rank."""
    return {
        query_id: {doc_id: float(len(scores) - place) for place, doc_id in enumerate(trec_order(scores), 1)}
        for query_id, scores in run.items()
    }


def has_ties(scores: Scores) -> bool:
    """Whether two documents have the same score."""
    return len(set(scores.values())) < len(scores)


def has_near_ties(scores: Scores) -> bool:
    """Whether two different scores are the same 32-bit float."""
    return len({as_float32(score) for score in scores.values()}) < len(set(scores.values()))


REFERENCES: dict[str, Reference] = {
    reference.name: reference
    for module in sorted(iter_modules(__path__), key=lambda found: found.name)
    for reference in import_module(f"{__name__}.{module.name}").REFERENCES
}
