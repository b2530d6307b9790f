"""One check of a gate, and the rules by which it holds, fails, or is undecided."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from statistics import NormalDist, fmean
from typing import Any, Literal, get_args

from permed_measures import inference
from permed_measures.comparison.repeats import Spread
from permed_measures.errors import ParamError, check_choice
from permed_measures.gating.conditions import Condition
from permed_measures.inference import SAME, Extra, Interval, Span, Units
from permed_measures.inference.student import t_quantile
from permed_measures.render.words import p_is, queries

Verdict = Literal["holds", "fails", "undecided", "skipped"]
Kind = Literal["value", "figure", "drop", "drop since anchor"]
Undecided = Literal["warn", "fail"]
UNDECIDED: tuple[Undecided, ...] = get_args(Undecided)
ClusterOf = Callable[[str], str] | None
Values = Mapping[str, float]


@dataclass(frozen=True)
class Check:
    """One line of a gate's table; what does not apply to its kind is None."""

    kind: Kind
    condition: Condition  # of a drop: the measure's name, <=, and the margin
    verdict: Verdict
    why: str = ""
    segment: str | None = None  # the group of queries; None: all of them
    value: float | None = None  # the mean, or the serving figure
    baseline: float | None = None  # the baseline's mean, or the anchor's, over the queries that both have
    drop: float | None = None  # baseline minus value
    interval: Interval | None = None  # of the value, or of the drop, two-sided
    bound: float | None = None  # the drop is below it, one-sided (k = 2): what "holds" needs to be below the margin
    p: float | None = None  # of "the drop is at most the margin", one-sided
    p_adjusted: float | None = None  # the same, corrected over measures and segments
    p_no_drop: float | None = None  # of "there is no drop", one-sided
    n: int | None = None  # queries
    units: int | None = None  # independent units: clusters, else queries
    smallest_margin: float | None = None  # the smallest margin that these queries can decide
    queries_needed: int | None = None  # about how many queries decide the margin
    repeats: Mapping[str, Spread] | None = None
    """Of ``run`` and ``baseline``, where a system was run several times: how far its runs are apart."""
    signature: str | None = None
    exit_code: int = 0  # what the check alone would end the gate with: 0, 1, or 3 for undecided

    @property
    def what(self) -> str:
        """The condition, written out."""
        is_drop = self.kind.startswith("drop")
        about = f"{self.condition.name} {self.kind} <= {self.condition.bound:g}" if is_drop else str(self.condition)
        return about + self.part

    @property
    def part(self) -> str:
        """The group of queries, as names show it; nothing for all of them."""
        return "" if self.segment is None else f" [{self.segment}]"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON, numbers unrounded."""
        asked = self.condition
        of_condition = {"name": asked.name, "operator": asked.operator, "wanted": asked.bound}
        rest = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "condition"}
        interval = None if self.interval is None else list(self.interval)
        repeats = None if self.repeats is None else {name: found._asdict() for name, found in self.repeats.items()}
        return {"what": self.what, **of_condition, **rest, "interval": interval, "repeats": repeats}


@dataclass(frozen=True)
class Rules:
    """How checks are decided; checked once, when made."""

    max_drop: float | Mapping[str, float] | None = None
    hard_drop: float | None = None
    max_drop_since_anchor: float | None = None
    confident: bool = False
    undecided: Undecided | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        margins = self.max_drop if isinstance(self.max_drop, Mapping) else {"": self.max_drop}
        if not margins:
            msg = "max_drop has no measure, so nothing would be compared; give a number, or {'nDCG@10': 0.02}"
            raise ParamError(msg)
        named = {f"max_drop{f' of {name}' if name else ''}": margin for name, margin in margins.items()}
        named |= {"hard_drop": self.hard_drop, "max_drop_since_anchor": self.max_drop_since_anchor}
        for name, margin in named.items():
            is_number = isinstance(margin, Real) and not isinstance(margin, bool)
            if margin is not None and not (is_number and 0 <= margin < math.inf):
                raise ParamError(f"{name}={margin!r} is not allowed; give a number >= 0, such as 0.01")
        largest = max((margin for margin in margins.values() if margin is not None), default=0)
        if self.hard_drop is not None and self.hard_drop < largest:
            raise ParamError(
                f"hard_drop={self.hard_drop:g} is below max_drop={largest:g}: it is the drop that fails without a test"
            )
        if not isinstance(self.alpha, float) or not 0 < self.alpha < 0.5:  # noqa: PLR2004  (a level, one-sided)
            raise ParamError(f"alpha={self.alpha!r} is not allowed; give a number above 0 and below 0.5, such as 0.05")
        if self.undecided is not None:
            check_choice("undecided", self.undecided, UNDECIDED)

    @property
    def named(self) -> list[str]:
        """The measures that margins are given for, each its own."""
        return list(self.max_drop) if isinstance(self.max_drop, Mapping) else []

    def margin(self, name: str) -> float | None:
        """Return the drop that is allowed to a measure; None where none was named for it."""
        return self.max_drop.get(name) if isinstance(self.max_drop, Mapping) else self.max_drop

    def code(self, verdict: Verdict, *, loud: bool) -> int:
        """Return the exit code of one check; ``loud``: undecided and a drop is shown, or confidence was asked for."""
        if verdict != "undecided":
            return int(verdict == "fails")
        return 3 if self.undecided == "fail" or (loud and self.undecided is None) else 0


def value_check(  # noqa: PLR0913, PLR0917  (a condition, the values, and how they are decided)
    condition: Condition,
    value: float,
    column: Values,
    span: Span | None,
    cluster_of: ClusterOf,
    rules: Rules,
    interval: Interval | None = None,
    repeats: Mapping[str, Spread] | None = None,
) -> Check:
    """Decide a condition by the value; where confidence is asked for, by the near end of its interval."""
    held = condition.holds(value)
    sample = inference.units(column, cluster_of)
    if interval is None and span is not None:
        found = inference.mean_estimate(sample, span, extra=_extra(repeats))
        interval = None if found is None else found.interval(rules.alpha)
    verdict: Verdict = "holds" if held else "fails"
    why = "" if held else f"off by {abs(value - condition.bound):.4g}"
    if rules.confident:
        ends = [held] if interval is None else [condition.holds(end) for end in interval]
        if interval is None or len({*ends, held}) > 1:
            verdict = "undecided"
            side = "on the right side" if held else "on the wrong side"
            why = f"the value is {side}, its interval is on both" if interval else "there is no interval"
    code = rules.code(verdict, loud=True)
    return Check(
        *("value", condition, verdict, why),
        value=value,
        interval=interval,
        n=len(column),
        units=len(sample),
        repeats=repeats,
        exit_code=code,
    )


def _extra(repeats: Mapping[str, Spread] | None) -> Extra:
    return [part for spread in (repeats or {}).values() for part in spread.extra]


def differences(before: Values, after: Values) -> dict[str, float]:
    """Return run minus baseline of every query that both have; rounding counts as no difference."""
    both = {query_id: after[query_id] - value for query_id, value in before.items() if query_id in after}
    return {query_id: 0.0 if abs(change) < SAME else change for query_id, change in both.items()}


@dataclass(frozen=True)
class Compared:
    """The values of a run and of its baseline by one measure, over some queries."""

    name: str
    before: Values
    after: Values
    span: Span
    cluster_of: ClusterOf = None
    segment: str | None = None
    depth_identical: str = ""  # where the rankings are identical: to which depth, in words
    repeats: Mapping[str, Spread] | None = None  # as those of a check

    @property
    def sample(self) -> Units:
        """The units of run minus baseline."""
        return inference.units(differences(self.before, self.after), self.cluster_of)

    def check(self, margin: float, rules: Rules) -> Check:
        """Bound the drop; the verdict waits for the correction over all checks."""
        sample, wide, extra = self.sample, self.span.of_differences, _extra(self.repeats)
        found = inference.drop(sample, margin, wide, alpha=rules.alpha, extra=extra)
        shown = inference.difference_estimate(sample, wide, extra=extra)
        low, high = (0.0, 0.0) if shown is None else shown.interval(rules.alpha)
        plain = inference.estimate(sample, extra=extra)
        both = [query_id for query_id in self.before if query_id in self.after]
        return Check(
            "drop",
            Condition(self.name, "<=", margin),
            "undecided",
            self.depth_identical,
            segment=self.segment,
            value=fmean([self.after[query_id] for query_id in both]),
            baseline=fmean([self.before[query_id] for query_id in both]),
            drop=found.drop + 0.0,  # not -0.0
            interval=None if shown is None else (0.0 - high, 0.0 - low),
            bound=found.upper,
            p=None if self.cluster_of is not None and len(sample) < inference.FEWEST_CLUSTERS else found.p,
            p_no_drop=None if plain is None else _tail(sample, plain),
            n=len(both),
            units=len(sample),
            smallest_margin=found.smallest_margin,
            queries_needed=queries_needed(sample, margin, wide, rules.alpha, extra),
            repeats=self.repeats,
        )


def _tail(sample: Units, found: inference.Estimate) -> float | None:
    """Return the one-sided p of "there is no drop", by the t; where all differences are one number, by sign flips."""
    if any(sample.sums) and inference.is_constant(sample, found):
        half = (inference.sign_flip_p(sample) or 0.0) / 2
        return half if found.mean < 0 else 1 - half
    return inference.Estimate(0.0 - found.mean, found.variance, found.freedom).tail(0.0)


def queries_needed(sample: Units, margin: float, wide: Span, alpha: float, extra: Extra = ()) -> int | None:
    """Return about how many queries, spread as these are, decide a margin four times out of five.

    At least ((z.95 + z.80)·s / X)², and so many that (t.95 + t.80)·√V at k = 2 is at most the margin. None where the
    spread of few runs alone is above it: then more runs are needed, not more queries.
    """
    found = inference.estimate(sample)
    if found is None or not margin:
        return None
    spread = found.variance * len(sample)  # of one unit
    ends = 2 * (wide.low**2 + wide.high**2)

    def enough(num: float) -> bool:
        sampled = 0.0 if num == math.inf else (num * spread + ends) / ((num + 4) * (num + 3))
        variance, freedom = inference.added([(sampled, min(num + 3.0, 1e9)), *extra])
        quantiles = t_quantile(1 - alpha, freedom) + t_quantile(inference.POWER, freedom)
        return quantiles * math.sqrt(variance) < margin

    if not enough(math.inf):
        return None
    least = max(2, queries_for_margin(math.sqrt(spread), margin, alpha))
    return math.ceil(inference.fewest(enough, least) * sample.queries / len(sample))


def queries_for_margin(deviation: float, allowed: float, alpha: float = 0.05) -> int:
    """Return about how many queries decide a margin: ((z.95 + z.80)·s / X)²."""
    levels = NormalDist().inv_cdf(1 - alpha) + NormalDist().inv_cdf(inference.POWER)
    return math.ceil((levels * deviation / allowed) ** 2)


def decide_drops(checks: Sequence[Check], rules: Rules, correct: Callable[..., list[float | None]]) -> list[Check]:
    """Give every drop its verdict, the p-values corrected over all of them."""
    adjusted = correct([check.p for check in checks])
    return [_decided(check, p_adjusted, rules) for check, p_adjusted in zip(checks, adjusted, strict=True)]


def _decided(check: Check, p_adjusted: float | None, rules: Rules) -> Check:
    """Fails beyond the hard drop, or when shown to be above the margin; holds when bounded below it, or identical."""
    margin, drop = check.condition.bound, check.drop or 0.0
    verdict: Verdict = inference.drop_verdict(check.bound, margin, p_adjusted, rules.alpha)
    loud = check.p_no_drop is not None and check.p_no_drop < rules.alpha
    if rules.hard_drop is not None and drop > rules.hard_drop:
        verdict, why = "fails", f"the drop itself is above hard_drop {rules.hard_drop:g}"
    elif check.why:  # identical rankings
        verdict, why = "holds", check.why
    elif verdict == "holds":
        why = f"the drop is below {check.bound:.4f}"
    elif verdict == "fails":
        why = f"the drop is above the margin ({p_is(p_adjusted)})"
    else:
        why = _open(check, margin, loud=loud)
    code = rules.code(verdict, loud=loud)
    return replace(check, verdict=verdict, why=why, p_adjusted=p_adjusted, exit_code=code)


def _open(check: Check, margin: float, *, loud: bool) -> str:
    """Say what an undecided drop lacks."""
    if check.bound is None:
        return f"one unit of {queries(check.n or 0)}: nothing can be said"
    if loud:
        return f"a drop is shown ({p_is(check.p_no_drop)}), not whether it is above {margin:g}"
    told = f"no drop is shown, but one of up to {check.bound:.4f} is not excluded"
    if check.repeats and check.queries_needed is None and margin:
        return f"{told}; the runs of a system are so far apart that only more of them decide it"
    return told if check.queries_needed is None else f"{told}; about {queries(check.queries_needed)} decide it"


def anchor_check(check: Check, limit: float) -> Check:
    """Decide the drop since the anchor by itself: no row of small accepted drops may add up to more."""
    fails = (check.drop or 0.0) > limit + SAME
    why = f"accepted drops add up to more than {limit:g} below the best accepted state" if fails else ""
    return replace(
        check, kind="drop since anchor", verdict="fails" if fails else "holds", why=why, p=None, exit_code=int(fails)
    )
