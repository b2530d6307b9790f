"""Set utility."""

from compat.case import cases

CASES = [
    *cases("Utility", "", "rel=2", "rel=6.5", "judged_only=True", cutoffs=(None,)),
    *cases("Utility", "rel_ret=2, nonrel_ret=-0.5, rel_missed=-0.25", cutoffs=(None,)),
]
