"""benchmarks/decisions.py in small: every rule within wide bounds of what it must be; a broken one is far outside."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
PATH = Path(__file__).resolve().parents[1] / "benchmarks" / "decisions.py"


def test_every_rule_is_near_what_it_must_be():
    spec = importlib.util.spec_from_file_location("decisions", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["decisions"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    found = list(module.rows(120, seed=1))
    assert len(found) == 22
    # three standard errors of a rate of .93 or .07 by 120 simulations
    assert [row for row in found if not row.holds(room=0.07)] == []
