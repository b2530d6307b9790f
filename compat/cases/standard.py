"""The measures that pytrec_eval computes for us."""

from compat.case import cases

_CUT = (1, 3, 5, 10, 100)
_RELS = ("", "rel=2", "rel=6.5")
_JUDGED = ("", "rel=2", "judged_only=True", "rel=2, judged_only=True")

CASES = [
    *cases("P", *_JUDGED, cutoffs=_CUT),
    *cases("R", *_JUDGED, cutoffs=_CUT),
    *cases("R", "", cutoffs=(50,)),
    *cases("Success", *_JUDGED, cutoffs=_CUT),
    *cases("AP", *_JUDGED),
    *cases("RR", *_JUDGED),
    *[case for name in ("P", "R", "Success", "AP", "RR") for case in cases(name, "rel=6.5", cutoffs=(5,))],
    *[case for name in ("Rprec", "SetAP", "SetP") for case in cases(name, *_JUDGED, "rel=6.5", cutoffs=(None,))],
    *[case for name in ("Bpref", "infAP", "SetR", "NumRel", "NumRet") for case in cases(name, *_RELS, cutoffs=(None,))],
    *[c for name in ("Bpref", "infAP", "SetR", "NumRet") for c in cases(name, "judged_only=True", cutoffs=(None,))],
    *cases("SetP", "relative=True", "relative=True, rel=2", "relative=True, judged_only=True", cutoffs=(None,)),
    *cases("SetF", *_JUDGED, "beta=2.0", "beta=0.5", "beta=0.5, rel=2, judged_only=True", cutoffs=(None,)),
    *cases("NumQ", "", cutoffs=(None,)),
    *cases("NumRet", "rel=1", cutoffs=(None,)),
    *[
        case
        for recall in (0.0, 0.1, 0.5, 1.0)
        for case in cases("IPrec", f"recall={recall}", f"recall={recall}, rel=2, judged_only=True", cutoffs=(None,))
    ],
]
