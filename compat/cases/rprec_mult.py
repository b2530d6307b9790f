"""Precision at multiples of R."""

from compat.case import cases

CASES = cases("RprecMult", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(0.2, 0.5, 1, 1.4, 2))
