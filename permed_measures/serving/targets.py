"""Targets: which levels are reached, which are missed and by how much, and whether reranking is worth it."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from permed_measures.errors import ParamError
from permed_measures.profiles import PROFILES, Profile, Target, load_profile
from permed_measures.serving.latency import AT_LEAST

EXCELLENT, MET, MISSED, NOT_MEASURED, UNDECIDED = "excellent", "met", "missed", "not measured", "undecided"
WORTH_IT = 0.15  # source 5: reranking is worth it only if the main measure improves by more than this share


class Verdict(NamedTuple):
    """One target and what was measured."""

    target: Target
    value: float | None
    status: str
    """excellent, met, missed, not measured; or undecided: all that is known is that the value is at least so large."""

    @property
    def holds(self) -> bool:
        """Whether the target is reached; what was not measured is not."""
        return self.status in (EXCELLENT, MET)

    @property
    def missed_by(self) -> float | None:
        """How far the value is from the target; None where it is reached or not measured."""
        return None if self.status != MISSED or self.value is None else abs(self.target.target - self.value)

    @property
    def sign(self) -> str:
        """How the level is to be read."""
        return "<" if self.target.lower_is_better else ">"

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        name, target, excellent, lower = self.target
        record = {"name": name, "value": self.value, "target": target, "excellent": excellent}
        return {**record, "lower_is_better": lower, "status": self.status, "missed_by": self.missed_by}

    def __str__(self) -> str:
        """Say it: "missed by 0.03 (3.5%)"."""
        if self.missed_by is None:
            return self.status
        if self.missed_by == 0:
            return f"missed: the level itself is not enough, {self.sign} {self.target.target:g}"
        share = f" ({self.missed_by / self.target.target:.1%})" if self.target.target else ""
        return f"missed by {self.missed_by:.4g}{share}"


class Worth(NamedTuple):
    """Whether reranking is worth it: the main measure against the list without reranking."""

    name: str
    baseline: float
    value: float
    threshold: float = WORTH_IT

    @property
    def improvement(self) -> float:
        """The change as a share of the baseline; infinite over 0."""
        if self.baseline == 0:
            return math.inf if self.value > 0 else 0.0
        return (self.value - self.baseline) / self.baseline

    @property
    def holds(self) -> bool:
        """Whether the improvement is above the threshold."""
        return self.improvement > self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values; an infinite improvement is None."""
        grown = self.improvement if math.isfinite(self.improvement) else None
        record = {"name": self.name, "baseline": self.baseline, "value": self.value, "improvement": grown}
        return {**record, "threshold": self.threshold, "worth_it": self.holds}

    def __str__(self) -> str:
        grown = f"{self.improvement:+.1%}" if math.isfinite(self.improvement) else "from 0"
        verdict = "worth it" if self.holds else "not worth it"
        more = f"more than {self.threshold:+.0%} asked"
        return f"{verdict}: {self.name} {self.baseline:.4f} -> {self.value:.4f} ({grown}, {more})"


class Targets:
    """Levels to reach, source 5's unless others are given; a level is reached when the value is *beyond* it.

    >>> [str(verdict) for verdict in Targets().check({"NDCG@10": 0.87, "p95_ms": 620.0}) if verdict.value]
    ['met', 'missed by 120 (24.0%)']
    >>> print(Targets().worth("NDCG@10", 0.72, 0.87))       # 0.15 / 0.72
    worth it: NDCG@10 0.7200 -> 0.8700 (+20.8%, more than +15% asked)
    """

    def __init__(self, targets: Iterable[Target] | None = None, *, worth_it: float = WORTH_IT) -> None:
        self.targets = load_profile("rerank").targets if targets is None else tuple(targets)
        self.worth_it = worth_it
        for target in self.targets:
            if (target.excellent > target.target) if target.lower_is_better else (target.excellent < target.target):
                easier = f"{target.excellent:g} (excellent) is easier to reach than {target.target:g}"
                raise ParamError(f"target {target.name}: {easier}")

    @classmethod
    def of_profile(cls, profile: str | Path | Profile) -> "Targets":
        """Take a profile's targets; where it has some, that of the failure share is among them."""
        given = load_profile(profile).targets
        # percentiles say nothing of the calls that failed
        standard = next(target for target in PROFILES["rerank"].targets if target.name == "failure_share")
        has_it = not given or any(target.name == standard.name for target in given)
        return cls(given if has_it else (*given, standard))

    def __iter__(self) -> Iterator[Target]:
        return iter(self.targets)

    def check(self, numbers: Mapping[str, float]) -> list[Verdict]:
        """Judge every target by the numbers of that name; a lower bound can miss a target, never reach it."""
        verdicts = []
        for target in self.targets:
            bound = numbers.get(target.name + AT_LEAST)
            verdict = judge(target, numbers.get(target.name, bound))
            if target.name not in numbers and bound is not None and verdict.status != MISSED:
                verdict = Verdict(target, bound, UNDECIDED)
            verdicts.append(verdict)
        return verdicts

    def worth(self, name: str, baseline: float, value: float) -> Worth:
        """Judge the improvement of the main measure."""
        return Worth(name, baseline, value, self.worth_it)


def judge(target: Target, value: float | None) -> Verdict:
    """Judge one target."""
    if value is None or math.isnan(value):
        return Verdict(target, None, NOT_MEASURED)
    levels = [(EXCELLENT, target.excellent), (MET, target.target)]
    for status, level in levels[target.excellent == target.target :]:  # where there is one level only, it is met
        if value < level if target.lower_is_better else value > level:
            return Verdict(target, value, status)
    return Verdict(target, value, MISSED)
