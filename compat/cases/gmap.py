"""AP with a geometric mean."""

from compat.case import cases

CASES = cases("GMAP", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(None,))
