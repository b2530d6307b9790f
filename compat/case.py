"""What a case is: one measure with its parameters, to be computed by every host and every reference on every corpus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ir_measures import Measure

from permed_measures.measures import DEFINED, STANDARD, parse
from permed_measures.profiles import PROFILES
from permed_measures.verification.references.by_hand import Definition

CUTOFFS = (1, 3, 5, 10, 100, None)


@dataclass(frozen=True)
class Case:
    """One measure."""

    measure: Measure
    by_hand_only: str = ""
    """Why no other reference computes it; a case that says nothing has another one."""
    definition: Definition | None = None
    """The definition as a loop, where by_hand of the package does not have it: grades, ranked ids, parameters."""

    @property
    def name(self) -> str:
        """The measure as it prints."""
        return str(self.measure)


def cases(
    name: str,
    *params: str,
    cutoffs: Iterable[int | None] | None = None,
    by_hand_only: str = "",
    definition: Definition | None = None,
) -> list[Case]:
    """Return the cases of a measure: every set of parameters, as it is written, at every cut-off it can have."""
    cutoffs = _cutoffs(name) if cutoffs is None else cutoffs
    written = [f"{name}({given})" if given else name for given in params]
    measures = [parse(text if k is None else f"{text}@{k}") for text in written for k in cutoffs]
    return [Case(measure, by_hand_only, definition) for measure in measures]


def _cutoffs(name: str) -> tuple[int | None, ...]:
    at = {**STANDARD, **DEFINED}[name].SUPPORTED_PARAMS.get("cutoff")
    return CUTOFFS[:-1] if at is not None and at.required else CUTOFFS


def on_large() -> set[Measure]:
    """Return the measures for large corpora too: those of the profiles, and those with a short name in all hosts."""
    measures = {parse(str(measure)) for profile in PROFILES.values() for measure in profile.measures}
    for measure in DEFINED.values():
        for host in measure.HOST_NAMES:
            if host.in_ranx:
                measures |= {
                    parse(str(type(measure)(**host.params, cutoff=k))) for k in (10, *_cutoffs(measure.NAME)[5:])
                }
    return measures
