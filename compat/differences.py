"""Where a reference differs from us, and why. Strict both ways: a difference that vanishes is a failure too."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """All cases of some references on some corpora whose name matches, except those that agree by chance."""

    references: tuple[str, ...]
    corpora: tuple[str, ...]
    reason: str
    cases: str = ""
    """A regular expression, searched in the print of the measure."""
    but: str = "(?!)"
    """A regular expression for the whole print: these agree all the same, because no value depends on the matter."""

    def covers(self, case: str, corpus: str, reference: str) -> bool:
        """Whether the difference is expected here."""
        here = reference in self.references and corpus in self.corpora
        return here and re.search(self.cases, case) is not None and re.fullmatch(self.but, case) is None


_TREC = ("pytrec_eval", "ir_measures/pytrec_eval")

DIFFERENCES = (
    Difference(
        ("scikit-learn",),
        ("ties", "unicode"),
        "scikit-learn averages over all orders of documents with equal scores",
    ),
    Difference(
        ("scikit-learn",),
        ("trec_eval",),
        "scikit-learn averages over all orders of documents with equal scores: query 301 has some below rank 10",
        cases=r"(@100|DCG|\))$",
        but=r".*@(1|3|5|10)",
    ),
    Difference(
        ("ir_measures/msmarco",),
        ("ties", "unicode"),
        "MS MARCO's script as ir_measures calls it orders equal scores by document id, ascending",
    ),
    Difference(
        ("ranx",),
        ("ties",),
        "ranx leaves equal scores in the order its sort happens to give",
        but=r"(Coverage|Success)(\(rel=2\)@10|.*@100)|Coverage(\(rel=2\))?|(P|R)(\(rel=2\))?@100|SetR(\(rel=2\))?",
    ),
    Difference(
        ("ranx",),
        ("unicode",),
        "ranx leaves equal scores in the order its sort happens to give",
        but=r"(Coverage|Success).*@100|Coverage(\(rel=2\))?|(P|R)(\(rel=2\))?@100|SetR(\(rel=2\))?",
    ),
    Difference(
        ("ranx",),
        ("near_ties",),
        "ranx compares scores as 64-bit floats, trec_eval 9.0.8 and we as 32-bit floats",
        but=r"(Coverage|Success)(\(rel=2\)@5|.*@100)|Coverage(\(rel=2\))?|SetR(\(rel=2\))?",
    ),
    Difference(
        ("ranx",),
        ("extreme",),
        "as 64-bit floats 1e300 is below infinity and 1e-60 above 0; as 32-bit floats they are equal",
        but=r"(Coverage|Success)(@10|.*@100)|Coverage(\(rel=2\))?|(P|R)(\(rel=2\))?@100|SetR(\(rel=2\))?",
    ),
    Difference(
        ("scikit-learn", "ir_measures/gdeval", "ir_measures/msmarco"),
        ("near_ties",),
        "they compare scores as 64-bit floats, trec_eval 9.0.8 and we as 32-bit floats",
    ),
    Difference(
        ("ir_measures/gdeval", "ir_measures/msmarco"),
        ("extreme",),
        "as 64-bit floats 1e300 is below infinity and 1e-60 above 0; as 32-bit floats they are equal",
    ),
    Difference(
        _TREC,
        ("empty",),
        "trec_eval's interpolated precision of an empty list is 0/0; ours is 0, as that of every other measure",
        cases=r"IPrec\b",
    ),
    Difference(
        _TREC,
        ("near_ties", "unjudged", "all_negative"),
        "trec_eval's interpolated precision is 0/0 where nothing judged was returned and judged_only empties the list",
        cases=r"(IPrec|ElevenPointAP)\(.*judged_only=True",
    ),
    Difference(
        _TREC,
        ("short", "extreme"),
        "trec_eval's interpolated precision is 0/0 where nothing judged was returned and judged_only empties the list",
        cases=r"IPrec\(.*judged_only=True.*@0\.0|ElevenPointAP\(.*judged_only=True",
    ),
    Difference(
        _TREC,
        ("empty",),
        "a query that returned nothing counts as missing with us; pytrec_eval counts it, and its relevant documents",
        cases=r"NumQ|NumRel",
        but=r"NumRel\(rel=6.5\)",
    ),
)


def expected(case: str, corpus: str, reference: str) -> Difference | None:
    """Return the difference that covers a comparison."""
    return next((entry for entry in DIFFERENCES if entry.covers(case, corpus, reference)), None)
