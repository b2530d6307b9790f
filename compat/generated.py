"""What is written from the measures' classes: the stub of the public names, and README's table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from compat.stub import STUB
from compat.stub import make as make_stub
from permed_measures.measures import DEFINED
from permed_measures.measures.base import HostName, RankingMeasure

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


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
    """Return README's table: each measure of ours that has a short name, with its names in every host."""
    lines = [["measure", "ir_measures", "ranx", "trec_eval-style"], ["---"] * 4, *_rows()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def readme() -> str:
    """Return README with the table that belongs into it."""
    text = README.read_text(encoding="utf-8")
    return re.sub(r"(## The measures\n\n)(\|.*\n)+", lambda found: found[1] + measure_table(), text)


GENERATED: dict[Path, Callable[[], str]] = {STUB: make_stub, README: readme}
"""What is written, and by whom; the agreement table, which takes minutes, is compat/table.py's."""
