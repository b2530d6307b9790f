"""Relative precision."""

from compat.case import CUTOFFS, cases

CASES = cases("RelativeP", "", "rel=2", "rel=6.5", cutoffs=CUTOFFS[:-1])
