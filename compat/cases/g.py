"""G."""

from compat.case import cases

CASES = cases("G", "", cutoffs=(None,))
