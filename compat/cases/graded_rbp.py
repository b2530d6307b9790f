"""Graded rank-biased precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.case import cases


def graded_rbp(grades: Mapping[str, float], ranking: list[str], params: Mapping[str, Any]) -> float:
    total, chance = 0.0, 1 - params["p"]
    for rank, doc_id in enumerate(ranking, 1):
        if params["cutoff"] is None or rank <= params["cutoff"]:
            total += chance * max(grades.get(doc_id, 0), 0) / params["max_rel"]
        chance *= params["p"]
    return total


_ALONE = {"definition": graded_rbp, "by_hand_only": "no other program divides gains by a fixed max_rel"}

CASES = [
    *cases("GradedRBP", "", "max_rel=1", "judged_only=True", **_ALONE),
    *cases("GradedRBP", "max_rel=10, p=0.5", cutoffs=(5, None), **_ALONE),
]
