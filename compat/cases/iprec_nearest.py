"""Interpolated precision at recall levels, rounded to the nearest."""

from compat.case import cases

CASES = cases("IPrecNearest", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(0.0, 0.1, 0.25, 0.5, 1.0))
