"""The suite can fail: every fault of mutations.py is noticed, and the package without a fault passes."""

from __future__ import annotations

import re

import pytest

from compat.mutations import MUTATIONS, run_all


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[bool, str]]:
    return run_all()


def test_without_a_fault_nothing_is_found(results: dict[str, tuple[bool, str]]) -> None:
    assert results["none"] == (False, "no disagreement")


@pytest.mark.parametrize("name", [mutation.name for mutation in MUTATIONS])
def test_fault_is_found(name: str, results: dict[str, tuple[bool, str]]) -> None:
    found, told = results[name]
    assert found, told
    assert not re.match(r"(Syntax|Name|Import|ModuleNotFound|Attribute)Error", told), f"the fault does not run: {told}"
