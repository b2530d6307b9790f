"""nDCG at R levels."""

from compat.case import cases

CASES = cases("RnDCG", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(None,))
