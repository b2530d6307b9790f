"""Compile permed_measures/_columns.c and what it calls while the package is built, where that is possible; optional."""

from __future__ import annotations

import re
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

HERE = Path(__file__).parent


def compiled(into: Path) -> Path:
    """Compile the extension on the limited API: one file for every Python from 3.10 on."""
    from setuptools import Distribution, Extension  # noqa: PLC0415  (what is missing must not stop the build)
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415  (likewise)

    extension = Extension(
        "permed_measures._columns",
        [str(HERE / "permed_measures" / name) for name in ("_columns.c", "_lists.c", "_trec.c")],
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
    )
    command = build_ext(Distribution({"name": "permed-measures", "ext_modules": [extension]}))
    command.build_lib, command.build_temp = str(into), str(into / "temporary")
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(extension.name))


class CompiledPart(BuildHookInterface):  # type: ignore[misc]  # hatchling is untyped here
    """Puts the compiled extension into the wheel, or leaves it out where it cannot be compiled."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together; an editable install has the file beside its source."""
        if self.target_name != "wheel" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return  # free-threaded Pythons have no limited API
        self._folder = tempfile.mkdtemp()
        try:
            built = compiled(Path(self._folder))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever a missing or broken compiler does)
            self.app.display_warning(f"permed_measures: without its compiled part, which is faster ({error})")
            return
        name = re.sub(r"\.abi3-[^.]+", ".abi3", built.name)  # Python 3.15 adds the platform, which 3.13 does not read
        if version == "editable":
            shutil.copy(built, HERE / "permed_measures" / name)
        else:
            build_data["force_include"][str(built)] = f"permed_measures/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp310-abi3-{next(sys_tags()).platform}"

    def finalize(self, *_: object) -> None:
        """Remove what the compiler left."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)
