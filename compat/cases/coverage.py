"""Coverage."""

from compat.case import cases

CASES = cases("Coverage", "", "rel=2", "rel=6.5", "judged_only=True")
