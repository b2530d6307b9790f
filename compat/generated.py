"""What is written from the measures' classes: their types for type checkers, and the manual's table of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from permed_measures.measures import DEFINED, EXPORTED
from permed_measures.measures.base import HostName, Param, RankingMeasure

ROOT = Path(__file__).resolve().parents[1]
EXPORTS = ROOT / "permed_measures" / "measures" / "exports.pyi"
NAMES = ROOT / "docs" / "measure-names.md"

_HEAD = """# Written by `python -m compat.table --write` from the measures' classes.
from collections.abc import Mapping
from typing import Literal

from permed_measures.measures.base import RankingMeasure
"""


def _type(param: Param) -> str:
    if param.kind == "choice":
        return f"Literal[{', '.join(map(repr, param.allowed_choices or ()))}]"
    return {"int": "int", "number": "float", "flag": "bool"}.get(param.kind, "Mapping[float, float]")


def exports() -> str:
    """Return the types of all measures: what may be given to each."""
    return "\n".join([_HEAD, *(_exported(name, measure) for name, measure in sorted(EXPORTED.items()))])


def _exported(name: str, measure: RankingMeasure) -> str:
    params = [f"{param}: {_type(info)} | None = None" for param, info in measure.SUPPORTED_PARAMS.items()]
    given = "".join(f",\n        {param}" for param in ["*", *params]) if params else ""
    return (
        f"class _{name}(RankingMeasure):\n    def __call__(\n        self{given},\n    ) -> _{name}: ...\n"
        f"    def __matmul__(self, at: float) -> _{name}: ...\n\n{name}: _{name}\n"
    )


def _rows() -> Iterator[list[str]]:
    for measure in sorted(DEFINED.values(), key=lambda known: not any(host.in_ranx for host in known.HOST_NAMES)):
        for host in measure.HOST_NAMES:
            yield _row(measure, host)


def _row(measure: RankingMeasure, host: HostName) -> list[str]:
    at = measure.SUPPORTED_PARAMS.get(host.at)
    letter = "" if at is None or host.at in host.params else "k" if at.kind == "int" else "x"
    name = str(measure(**host.params)) + (f"@{letter}" if letter else "")
    given = ", ".join(f"{param}={value!r}" for param, value in host.params.items())
    aliases = [] if given else measure.ALIASES
    trec = [f"{host.name}{host.cut}_{letter}"] if letter else []
    alone = [] if host.numbers else [host.name]
    return [
        measure.PRETTY_NAME + (f", {given}" if given else ""),
        ", ".join([f"`{name}`", *(f"alias `{alias}`" for alias in aliases)]),
        f"`{host.name}{'@k' if letter else ''}`" if host.in_ranx else "",
        ", ".join(f"`{written}`" for written in [*trec, *alone]),
    ]


def measure_table() -> str:
    """Return the table of names: each measure of ours that has a short name, with its names in every host."""
    lines = [["measure", "ir_measures", "ranx", "trec_eval-style"], ["---"] * 4, *_rows()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def names() -> str:
    """Return the page of names with the table that belongs into it."""
    text = NAMES.read_text(encoding="utf-8")
    return re.sub(r"(## The measures\n\n)(\|.*\n)+", lambda found: found[1] + measure_table(), text)


GENERATED: dict[Path, Callable[[], str]] = {EXPORTS: exports, NAMES: names}
"""What is written, and by whom; the agreement table, which takes minutes, is compat/table.py's."""
