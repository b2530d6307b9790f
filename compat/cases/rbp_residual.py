"""The residual of rank-biased precision."""

from compat.case import cases

CASES = cases("RBPResidual", "", "p=0.9", cutoffs=(None,))
