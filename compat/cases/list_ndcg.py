"""nDCG within the list."""

from compat.case import cases

CASES = cases("ListNDCG", "dcg='log2'", "dcg='exp-log2'", "dcg='log2', judged_only=True")
