"""nDCG averaged over the relevant documents."""

from compat.case import cases

CASES = cases("nDCGRel", "", cutoffs=(None,))
