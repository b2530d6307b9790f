"""Measures of other packages, found by their entry points."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "permed_measures.measures"


def load() -> None:
    """Import every module that another package names in the group; one that fails is named in a warning.

    importlib.metadata takes longer to import than most runs take to evaluate, so installed packages are looked at
    first.
    """
    if not any(map(_may_have_one, map(Path, sys.path))):
        return
    from importlib.metadata import entry_points  # noqa: PLC0415  (only where there is one)

    for found in sorted(set(entry_points(group=GROUP)), key=lambda known: (known.name, known.value)):
        _load(found)


def _load(found: EntryPoint) -> None:
    try:
        found.load()
    except Exception as error:  # noqa: BLE001  (whatever another package runs into)
        owner = "" if found.dist is None else f" of {found.dist.name}"
        told = f"{type(error).__name__}: {error}"
        msg = f"the measures {found.name!r}{owner} ({found.value}) could not be loaded and are left out: {told}"
        warnings.warn(msg, RuntimeWarning, stacklevel=3)


def _may_have_one(folder: Path) -> bool:
    """Whether a place that Python imports from may have an entry point of the group; an archive always may."""
    if not folder.is_dir():
        return folder.exists()
    group = f"[{GROUP}]".encode()
    try:
        return any(group in path.read_bytes() for path in folder.glob("*.*-info/entry_points.txt"))
    except OSError:
        return True
