"""Judged non-relevant documents returned."""

from compat.case import cases

CASES = cases("NumNonRelJudgedRet", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(None,))
