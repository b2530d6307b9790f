"""nDCG averaged over the relevant documents."""

from compat.case import cases

CASES = cases("nDCGRel", "", "judged_only=True", cutoffs=(None,))
