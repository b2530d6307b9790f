"""The share of unjudged documents."""

from compat.case import CUTOFFS, cases

CASES = cases("Unjudged", "", cutoffs=CUTOFFS[:-1])
