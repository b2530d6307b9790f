"""The stub of the package's public names, written from what is defined: ``python -m compat.stub --write``.

Measures get a call with their parameters, so that a type checker finds ``GWAP(max_rell=3)``; all else is imported from
where it is defined.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import permed_measures
from permed_measures.files.output import write_whole
from permed_measures.measures.base import DEFINED, Param, RankingMeasure

STUB = Path(permed_measures.__file__).with_suffix(".pyi")

_KINDS = {
    "int": "int",
    "number": "float",
    "flag": "bool",
    "weights": "Mapping[float, float]",
    "gains": "Mapping[float, float]",
}


def make() -> str:
    """Return the stub."""
    measures = {name: DEFINED[name] for name in permed_measures.__all__ if name in DEFINED}
    imports = _imports(name for name in permed_measures.__all__ if name not in DEFINED)
    lines = [
        "# Written by: python -m compat.stub --write",
        "from collections.abc import Mapping",
        "from typing import Literal",
        "",
        *sorted([*imports, "from permed_measures.measures.base import RankingMeasure"]),
        "",
        "__version__: str",
        "__all__ = [",
        *(f'    "{name}",' for name in permed_measures.__all__),
        "]",
        "",
        *(line for name, measure in measures.items() for line in _class(name, measure)),
        *(f"{name}: _{name}" for name in measures),
    ]
    return "\n".join(lines) + "\n"


def _imports(names: Iterable[str]) -> Iterator[str]:
    """Import names from where the package does, or else from where the function or class says that it is."""
    written = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(ast.parse(Path(permed_measures.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name in names:
        value = getattr(permed_measures, name)
        module, attribute = written.get(name) or (value.__module__, value.__name__)
        yield f"from {module} import {attribute} as {name}"


def _class(name: str, measure: RankingMeasure) -> list[str]:
    params = measure.SUPPORTED_PARAMS
    call = [f"        {param}: {_type(declared)} | None = ...," for param, declared in params.items()]
    at = [f"    def __matmul__(self, at_param: {_type(params[measure.AT_PARAM])}) -> _{name}: ..."]
    return [
        f"class _{name}(RankingMeasure):",
        "    def __call__(",
        "        self,",
        *(["        *,", *call] if call else []),
        f"    ) -> _{name}: ...",
        *(at if measure.AT_PARAM in params else []),
        "",
    ]


def _type(param: Param) -> str:
    if param.kind != "choice":
        return _KINDS[param.kind]
    return f"Literal[{', '.join(map(_quoted, param.allowed_choices or ()))}]"


def _quoted(choice: str) -> str:
    return f'"{choice}"'


def main() -> int:
    """Print the stub, or write it."""
    if sys.argv[1:] == ["--write"]:
        write_whole(STUB, make())
    else:
        print(make(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
