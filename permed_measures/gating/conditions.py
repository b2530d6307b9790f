"""What a gate is asked: a name, an operator and a number."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from permed_measures.errors import ParamError


def _equal(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=0, abs_tol=1e-9)


OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": _equal,
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
    found = re.fullmatch(rf"\s*(\S|\S.*?\S)\s*({known})\s*([-+]?[\d.][^\s_]*)\s*", text, re.DOTALL)
    try:
        if found is None:
            raise ValueError(text)  # noqa: TRY301  (one message for all that is wrong)
        bound = float(found[3])
    except ValueError:
        msg = (
            f"{text!r} is not a condition; write measure, one of {' '.join(OPERATORS)}, number, such as 'nDCG@10>=0.85'"
        )
        raise ParamError(msg) from None
    return Condition(found[1], found[2], bound)
