"""What a corpus is."""

from __future__ import annotations

from dataclasses import dataclass

Grid = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """One named input: qrels and a run."""

    name: str
    about: str
    qrels: Grid
    run: Grid
    large: bool = False
    """Only the measures of the profiles and of the hosts are computed on it: the references are slow."""
