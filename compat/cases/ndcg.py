"""nDCG over all judged documents."""

from compat.case import cases

CASES = [
    *cases("nDCG", "", "judged_only=True", "dcg='exp-log2'", "dcg='exp-log2', judged_only=True"),
    *cases("nDCG", "gains={2: 1}", cutoffs=(3, None)),  # a grade that is not named gains itself
    *cases("nDCG", "gains={1: 1, 2: 5}", "gains={0: 1, 1: 2, 2: 0}", cutoffs=(3, 10, None)),
    *cases("nDCG", "dcg='exp-log2', gains={1: 3, 2: 1}", cutoffs=(3, 10, None)),
]
