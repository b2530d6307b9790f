"""Measures of other packages, found by their entry points."""

import os
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "permed_measures.measures"


def load() -> None:
    """Import every module that another package names in the group; one that fails is named in a warning.

    importlib.metadata takes longer to import than most runs take to evaluate, so installed packages are looked at
    first.
    """
    if not any(map(_may_have_one, sys.path)):
        return
    from importlib.metadata import entry_points  # noqa: PLC0415  (only where there is one)

    for found in sorted(set(entry_points(group=GROUP)), key=lambda known: (known.name, known.value)):
        _load(found)


def _load(found: "EntryPoint") -> None:
    try:
        found.load()
    except Exception as error:  # noqa: BLE001  (whatever another package runs into)
        owner = "" if found.dist is None else f" of {found.dist.name}"
        told = f"{type(error).__name__}: {error}"
        msg = f"the measures {found.name!r}{owner} ({found.value}) could not be loaded and are left out: {told}"
        warnings.warn(msg, RuntimeWarning, stacklevel=3)


def _may_have_one(folder: str) -> bool:
    """Whether a place that Python imports from may have an entry point of the group; an archive always may."""
    folder = folder or os.curdir
    if not os.path.isdir(folder):  # noqa: PTH112  (pathlib takes long to import)
        return os.path.exists(folder)  # noqa: PTH110  (as above)
    try:
        packages = [name for name in os.listdir(folder) if name.endswith("-info") and "." in name[:-5]]  # noqa: PTH208  (as above)
        return any(_names_group(os.path.join(folder, name, "entry_points.txt")) for name in packages)  # noqa: PTH118  (as above)
    except OSError:
        return True


def _names_group(path: str) -> bool:
    try:
        with open(path, "rb") as lines:  # noqa: PTH123  (as above)
            return f"[{GROUP}]".encode() in lines.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
