"""Eleven-point average precision."""

from compat.case import cases

CASES = [
    *cases("ElevenPointAP", "", "rel=2", "rounding='nearest'", "rounding='nearest', rel=2", cutoffs=(None,)),
    *cases("ElevenPointAP", "rel=6.5", "judged_only=True", cutoffs=(None,)),
]
