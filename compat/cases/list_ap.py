"""AP within the list."""

from compat.case import cases

CASES = cases("ListAP", "", "rel=2", "rel=6.5", "judged_only=True")
