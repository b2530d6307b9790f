"""The share of unjudged documents."""

from compat.case import cases

CASES = cases("Unjudged", "")
