"""Binary G."""

from compat.case import cases

CASES = cases("BinG", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(None,))
