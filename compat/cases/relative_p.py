"""Relative precision."""

from compat.case import cases

CASES = cases("RelativeP", "", "rel=2", "rel=6.5", "judged_only=True")
