"""From what a gate is given to checked conditions: everything evaluated once, paired by query."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from ir_measures import Measure

from permed_measures import inference
from permed_measures.comparison import run_name
from permed_measures.comparison.changes import CORRECTIONS, Correction
from permed_measures.comparison.systems import is_repeated
from permed_measures.errors import InputError, ParamError, check_choice
from permed_measures.evaluate import aggregate, is_mean
from permed_measures.evaluate.clusters import Clusters, cluster_notes, clusters
from permed_measures.evaluate.groups import Groups, grouped
from permed_measures.evaluate.spans import span_of
from permed_measures.gating.checks import Check, Compared, Rules, anchor_check, decide_drops, differences, value_check
from permed_measures.gating.conditions import Asked, Condition, figure
from permed_measures.gating.given import Evaluated, Input, depth_of, runs_of
from permed_measures.gating.result import Gate
from permed_measures.judges import corrected
from permed_measures.render.words import queries as counted_queries
from permed_measures.tables import stays_in_engine


@dataclass(frozen=True)
class Job:
    """A gate at work."""

    given: Input
    asked: Asked
    rules: Rules
    serving: Mapping[str, Any]
    segments: Groups | None
    cluster: Groups | None
    correction: Correction
    options: Mapping[str, Any]

    def done(self, tell: Callable[[str], None]) -> Gate:
        """Evaluate, check, and say what was found."""
        check_choice("correction", self.correction, CORRECTIONS)
        if stays_in_engine(self.given.qrels) and self.asked.entries:
            given, (segments, cluster) = self.given.in_engine(self.asked, self.segments, self.cluster)
            return replace(self, given=given, segments=segments, cluster=cluster).done(tell)
        dropping = [] if self.given.baseline is None else self._dropping().values()
        found = self.given.evaluated(self.asked, lambda query_ids: self._warn(query_ids, tell), list(dropping))
        values: list[Check] = []
        drops: list[Check] = []
        notes: list[str] = []
        if found is not None:
            query_ids = list(dict.fromkeys(q for column in found.run.columns.values() for q in column))
            units = None if self.cluster is None else clusters(query_ids, self.cluster)
            groups = {} if self.segments is None else grouped(query_ids, self.segments)
            values = self._values(found, units, groups)
            if self.given.human is not None:
                values, notes = self._corrected(values, groups)
            drops, few = self._drops(found, units, groups)
            low = [] if found.baseline is None else self._low()
            few += [f"{name}: to be low, so no drop is asked of it" for name in low]
            notes = [*notes, *found.notes, *few, *(cluster_notes(query_ids, units) if drops else ())]
        figures = [_figure_check(condition, self.serving) for condition in self.asked.figures]
        skipped = [Check("figure", condition, "skipped", "no figure is given") for condition in self.asked.skipped]
        checks = (*values, *figures, *skipped, *drops)
        open_ = [check for check in checks if check.verdict == "undecided" and not check.exit_code]
        changes = {} if found is None else _changes(found)
        return Gate(
            *(self.given.run_name, checks, (*notes, *_worst(checks)), self._baseline_name),
            warnings=tuple(f"{check.what} is undecided: {check.why}" for check in open_),
            changes={name: moved for name, (moved, _) in changes.items()},
            unchanged={name: same for name, (_, same) in changes.items()},
            options=self.options,
        )

    @property
    def _baseline_name(self) -> str | None:
        baseline = self.given.baseline
        if isinstance(baseline, (list, tuple)) and is_repeated(baseline):
            return ", ".join(run_name(run, "baseline") for run in baseline)
        return str(baseline) if isinstance(baseline, (str, PathLike)) else None if baseline is None else "baseline"

    def _warn(self, query_ids: Sequence[str], tell: Callable[[str], None]) -> None:
        """Say which margins cannot hold with so many queries, whatever the runs are."""
        if self.given.baseline is None or self.rules.max_drop is None:
            return
        units = query_ids if self.cluster is None else set(map(clusters(query_ids, self.cluster), query_ids))
        num = len(units)
        what = counted_queries(num) if self.cluster is None else f"{num} clusters"
        margins = sorted({margin for name in self.asked.entries if (margin := self.rules.margin(name))})
        for margin in margins:
            fewest = inference.fewest_units(margin, self.rules.alpha)
            if num < fewest:
                none = inference.drop(inference.units([0.0] * num), margin, alpha=self.rules.alpha).smallest_margin
                smallest = "" if none is None else f"; the smallest margin that these could ever decide is {none:.4f}"
                tell(
                    f"{what} cannot show that a drop is below {margin:g}, whatever the run returns, unless it returns "
                    f"what the baseline does: {fewest} are needed{smallest}"
                )

    def _values(self, found: Evaluated, units: Clusters | None, groups: Mapping[str, Sequence[str]]) -> list[Check]:
        checks = []
        for condition in self.asked.values:
            measure = self.asked.entries[condition.name].measure
            column = found.run.columns[measure]
            span = span_of(measure, [column]) if is_mean(measure) else None
            for segment, part in _parts(column, groups):
                value = found.run.means[measure] if segment is None else aggregate(measure, list(part.values()))
                repeats = found.repeats(measure, part) or None
                check = value_check(condition, value, part, span, units, self.rules, repeats=repeats)
                signature = str(found.run.signatures[measure])
                checks.append(replace(check, segment=segment, signature=signature))
        return checks

    def _corrected(self, values: Sequence[Check], groups: Mapping[str, Sequence[str]]) -> tuple[list[Check], list[str]]:
        """Decide the conditions by means that people's sample corrects; drops stay those of the judge's grades."""
        given = self.given
        if groups or given.human is None:
            raise ParamError("human: a sample of queries says nothing of each segment; leave segments out")
        (run, *more) = runs_of(given.run)
        if more:
            raise ParamError("human: the means of one run are corrected, and several are given; give one")
        found = corrected(
            *(given.qrels, given.human, run),
            profile=self.asked.profile(given.known, given.min_relevance),
            mapping=given.mapping,
            cluster=self.cluster,
            min_relevance=given.min_relevance,
            queries=given.queries,
            order=given.order,
            alpha=self.rules.alpha,
        )
        checks = []
        for check in values:
            mean = found[self.asked.entries[check.condition.name].measure]
            value, low, high = mean.corrected.value, mean.corrected.low, mean.corrected.high
            ends = None if low is None or high is None else (low, high)
            again = value_check(check.condition, value, {}, None, None, self.rules, ends)
            why = "; ".join(filter(None, [again.why, f"quoted: {mean.quote}, of {mean.num_people} judged by people"]))
            checks.append(replace(again, why=why, n=check.n, units=check.units, signature=check.signature))
        said = [] if given.baseline is None else ["drops are those of the judge's grades alone"]
        return checks, [*found.notes[:2], *said]

    def _drops(
        self, found: Evaluated, units: Clusters | None, groups: Mapping[str, Sequence[str]]
    ) -> tuple[list[Check], list[str]]:
        """Return the checks of all drops, and notes on those that no bound is safe for."""
        baseline, rules = found.baseline, self.rules
        checks: list[Check] = []
        since: list[Check] = []
        notes = []
        for name, measure in self._dropping().items() if baseline is not None else ():
            compared = [c for c in self._compared(name, measure, found, groups) if c.before.keys() & c.after.keys()]
            if not compared or compared[0].segment is not None:
                raise InputError(f"{name}: no query is in both the run and the baseline; nothing can be checked")
            signature = str(found.run.signatures[measure])
            for one in (replace(c, cluster_of=units) for c in compared):
                margin = rules.margin(name)
                checks.append(replace(one.check(0.0 if margin is None else margin, rules), signature=signature))
                if one.segment is None and inference.one_sided_few(one.sample):
                    notes.append(
                        f"{name}: a few queries carry most of the change, all in one direction; below some 200 queries "
                        "no bound is safe then: look at those queries"
                    )
            lost = len(compared[0].before.keys() - compared[0].after.keys())
            if lost:
                notes.append(
                    f"{name}: {counted_queries(lost)} of the baseline not compared: the run does not have them"
                )
            if rules.max_drop_since_anchor is not None and baseline is not None:
                anchor = baseline.anchor.get(measure)
                if anchor is None:
                    raise InputError("max_drop_since_anchor needs a baseline that permed-measures gate --accept wrote")
                one = replace(compared[0], before=anchor, cluster_of=units, depth_identical="")
                check = anchor_check(one.check(rules.max_drop_since_anchor, rules), rules.max_drop_since_anchor)
                since.append(replace(check, signature=signature))
        return decide_drops(checks, rules, CORRECTIONS[self.correction]) + since, notes

    def _dropping(self) -> dict[str, Measure]:
        """Return the measures whose drop is asked for, each once, by the first of its names."""
        once: dict[Measure, str] = {}
        low = self._low()
        for name, entry in self.asked.entries.items():
            if self.rules.margin(name) is not None and name not in low:
                once.setdefault(entry.measure, name)
            again = once.get(entry.measure, name)
            if self.rules.margin(name) not in (None, self.rules.margin(again)):
                raise ParamError(f"max_drop: {again} and {name} are one measure, with two margins; keep one")
        if not once:
            msg = "no measure is compared with the baseline: all are to be low; name margins: max_drop={'RR': 0.02}"
            raise ParamError(msg)
        for measure, name in once.items():
            if not is_mean(measure):
                msg = f"{name} is no mean over queries, so a drop cannot be tested; name margins of others"
                raise ParamError(f"{msg}: max_drop={{'nDCG@10': 0.02}} (--max-drop nDCG@10=0.02)")
        return {name: measure for measure, name in once.items()}

    def _low(self) -> list[str]:
        """Return the measures that are to be low: one margin for all is not about their drop."""
        high = {condition.name for condition in self.asked.values if "<" not in condition.operator}
        names = dict.fromkeys(condition.name for condition in self.asked.values)
        return [] if isinstance(self.rules.max_drop, Mapping) else [name for name in names if name not in high]

    def _compared(
        self, name: str, measure: Measure, found: Evaluated, groups: Mapping[str, Sequence[str]]
    ) -> list[Compared]:
        if found.baseline is None:
            return []
        before, after = found.baseline.values.columns[measure], found.run.columns[measure]
        depth = depth_of(measure, found.run.min_relevance, self.given.order)
        said = "the rankings are identical" + ("" if depth is None else f" down to rank {depth}")
        span = span_of(measure, [before, after])
        olds = dict(_parts(before, groups))
        compared = []
        whole = False  # equal values are not enough
        for segment, part in _parts(after, groups):
            old = olds.get(segment, {})
            maybe = old.keys() == part.keys() and not any(differences(old, part).values())
            same = whole or (maybe and found.baseline.same_rankings(found.rankings, depth, list(part)))
            whole = same if segment is None else whole
            repeats = found.repeats(measure, part) or None
            compared.append(Compared(name, old, part, span, None, segment, said if same else "", repeats))
        return compared


def _parts(
    column: Mapping[str, float], groups: Mapping[str, Sequence[str]]
) -> list[tuple[str | None, Mapping[str, float]]]:
    """Return the values of all queries, and those of every group that has some."""
    parts = ((name, {q: column[q] for q in inside if q in column}) for name, inside in groups.items())
    return [(None, column), *((name, part) for name, part in parts if part)]


def _figure_check(condition: Condition, serving: Mapping[str, Any]) -> Check:
    value = figure(condition, serving)
    if value is None:
        least = serving[f"{condition.name}_at_least"]
        why = f"only known to be at least {least}: calls never started or never ended"
        return Check("figure", condition, "fails", why, exit_code=1)
    held = condition.holds(value)
    why = "" if held else f"off by {abs(value - condition.bound):.4g}"
    return Check("figure", condition, "holds" if held else "fails", why, value=value, exit_code=int(not held))


def _changes(found: Evaluated) -> dict[str, tuple[dict[str, tuple[float, float]], int]]:
    """Return, by measure, the values before and after of the queries that changed, and how many did not."""
    changes = {}
    for measure, before in () if found.baseline is None else found.baseline.values.columns.items():
        after = found.run.columns[measure]
        moved = differences(before, after)
        changed = {q: (before[q], after[q]) for q, change in moved.items() if change}
        changes[found.run.labels[measure]] = changed, len(moved) - len(changed)
    return changes


def _worst(checks: Sequence[Check]) -> list[str]:
    """Name the worst segment of every condition that was asked of segments."""
    by_condition: dict[tuple[str, Condition], list[Check]] = {}
    for check in checks:
        if check.segment is not None:
            by_condition.setdefault((check.kind, check.condition), []).append(check)
    said = []
    for (kind, condition), parts in by_condition.items():
        if kind == "drop":
            worst = max(parts, key=lambda check: (check.drop or 0.0, check.segment))
            found = f"a drop of {worst.drop:.4f}"
        else:
            turn = -1 if condition.operator in ("<", "<=") else 1
            worst = min(parts, key=lambda check: (turn * (check.value or 0.0), check.segment))
            found = f"{worst.value:.4f}"
        named = f"{condition.name} {kind}" if kind == "drop" else str(condition)
        n = counted_queries(worst.n or 0)
        said.append(f"worst segment of {named}: {worst.segment}, {found} ({n}; {worst.verdict})")
    return said
