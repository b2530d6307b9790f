"""Graded-weight AP."""

from compat.case import cases

_NORMS = ("norm='relevant'", "norm='cutoff'", "norm='retrieved'", "norm='ideal'")


def _with(params: str) -> list[str]:
    return [f"{params}, {norm}" for norm in _NORMS]


CASES = [
    *cases("GWAP", *_NORMS),
    *cases("GWAP", *_with("judged_only=True"), cutoffs=(3, 10, None)),
    *cases("GWAP", *_with("max_rel=1")),  # on binary grades: AP, and ListAP
    *cases("GWAP", *_with("max_rel=10"), cutoffs=(1, 10, None)),
    *cases("GWAP", *_with("rel=2"), cutoffs=(1, 10, None)),
    *cases("GWAP", *_with("rel=6.5, max_rel=10"), cutoffs=(5, None)),
    *cases("GWAP", *_with("weights={1: 0.25, 2: 1.0}"), cutoffs=(5, None)),
    *cases("GWAP", *_with("weights={1: 1.0, 2: 0.5}"), cutoffs=(3, 10)),  # the lower grade is worth more
    *cases("GWAP", *_with("rel=2, weights={2: 0.0}"), cutoffs=(10,)),  # nothing is worth anything
]
