"""The cases, one file per measure of ours and one for those of pytrec_eval. Files are found by themselves."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from compat.case import Case

CASES: dict[str, Case] = {
    case.name: case
    for module in sorted(iter_modules(__path__), key=lambda found: found.name)
    for case in import_module(f"{__name__}.{module.name}").CASES
}

__all__ = ["CASES"]
