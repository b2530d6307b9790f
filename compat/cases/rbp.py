"""Rank-biased precision."""

from compat.case import cases

CASES = [
    *cases("RBP", "", "rel=2", "p=0.9"),
    *cases("RBP", "rel=3, p=0.5", "judged_only=True", cutoffs=(5, None)),
]
