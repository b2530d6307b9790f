"""compat/README.md is what the numbers say."""

from __future__ import annotations

import pytest

from compat.table import README, make, missing_here


def test_readme_is_current() -> None:
    if missing_here():
        pytest.skip(missing_here())
    assert README.read_text(encoding="utf-8") == make(), "python -m compat.table --write makes it anew"
