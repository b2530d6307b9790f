"""G."""

from compat.case import cases

CASES = cases("G", "", "judged_only=True", cutoffs=(None,))
