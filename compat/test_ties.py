"""Values over all orders of tied documents are those of tie-aware-retrieval-metrics on binary grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from permed_measures import evaluate
from permed_measures.ranking import ORDERS, Order

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "ties.json").read_text(encoding="utf-8"))
OURS = {"ndcg": "nDCG", "mrr": "RR", "map": "AP", "recall": "R", "precision": "P"}
ASKED = [name for name in GOLDEN if "@" in name]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["expected", "best", "worst", "input"])
@pytest.mark.parametrize("name", ASKED)
def test_values_are_those_of_tie_aware_retrieval_metrics(name: str, kind: Any, order: Order) -> None:
    metric, _, cutoff = name.partition("@")
    # ids rise with places, so that trec_eval's rule, by id, descending, is not the order of the input
    qrels = {f"q{n}": {f"d{10 + p}": int(rel) for p, rel in enumerate(row)} for n, row in enumerate(GOLDEN["relevant"])}
    run = {f"q{n}": {f"d{10 + p}": score for p, score in enumerate(row)} for n, row in enumerate(GOLDEN["scores"])}
    (column,) = evaluate(qrels, run, f"{OURS[metric]}@{cutoff}", ties=kind, order=order).columns.values()
    assert list(column.values()) == pytest.approx(GOLDEN[name][kind], abs=1e-12)


def test_the_golden_lists_have_ties_that_matter() -> None:
    assert len(ASKED) == len(OURS) * 4
    for name in ASKED:
        assert GOLDEN[name]["best"] != GOLDEN[name]["worst"], name
        assert GOLDEN[name]["input"] != pytest.approx(GOLDEN[name]["expected"]), name
