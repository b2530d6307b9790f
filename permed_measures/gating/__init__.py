"""A gate: conditions that a run must hold, and drops against a baseline that a paired test supports."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import float_info
from typing import Any
from xml.etree import ElementTree as ET

from ir_measures import Measure

from permed_measures.comparison import Comparison, Correction, PairedTest, compare
from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import Evaluation, distinct, evaluate
from permed_measures.gating.conditions import Condition, parse_condition
from permed_measures.inputs import QrelsLike, RunLike
from permed_measures.measures import parse
from permed_measures.measures.base import written
from permed_measures.notes import NEVER_MEET
from permed_measures.profiles import Entry, Profile, QuerySet, load_profile
from permed_measures.ranking import Order
from permed_measures.render.document import Cell, Document, Lines, Section, Table, Value
from permed_measures.render.records import as_json
from permed_measures.render.result import Format, Result
from permed_measures.render.words import counted, p_is


@dataclass(frozen=True)
class Check:
    """One line of a gate's table."""

    condition: Condition
    value: float | None
    """What was found; None where there is nothing to find it in."""
    held: bool | None
    """None: it could not be checked."""
    why: str = ""

    @property
    def what(self) -> str:
        """The condition, written out."""
        return str(self.condition)

    @property
    def found(self) -> str:
        """The value, as a table shows it."""
        if self.value is None:
            return "" if self.held is None else "nothing"
        return f"{round(self.value, 4) + 0.0:.4f}"  # not -0.0000

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON, numbers unrounded."""
        return {
            "name": self.condition.name,
            "operator": self.condition.operator,
            "wanted": self.condition.bound,
            "found": self.value,
            "held": self.held,
            "why": self.why,
        }


_SIGNS = {True: "ok", False: "FAILED", None: "skipped"}


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """What was checked; it holds unless a check did not."""

    run: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether no check failed."""
        return all(check.held is not False for check in self.checks)

    def count(self, *, held: bool | None) -> int:
        """Return how many checks held (True), did not (False), or could not be made (None)."""
        return sum(check.held is held for check in self.checks)

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        total, held, failed, skipped = len(self.checks), *(self.count(held=held) for held in (True, False, None))
        checks = counted(total, "check")
        if failed:
            said = f"{failed} of {checks} did not hold"
        elif total in (held, skipped):
            one, all_ = ("skipped", "all skipped") if skipped else ("it holds", "all hold")
            said = f"{checks}, {one if total == 1 else all_}"
        else:
            said = f"{checks}, {held} {'holds' if held == 1 else 'hold'}"
        if skipped not in (0, total):
            said += f", {skipped} skipped"
        return f"{self.run}: {said}"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        checks = [check.to_dict() for check in self.checks]
        return {"run": self.run, "held": self.held, "checks": checks, "notes": list(self.notes)}

    def as_table(self) -> Table:
        """Return one row per check, its numbers unrounded."""
        rows = []
        for check in self.checks:
            record = check.to_dict()
            rows.append([_SIGNS[record.pop("held")], *record.values()])
        return Table(["verdict", "name", "operator", "wanted", "found", "why"], rows)

    def render(self, form: Format = "text") -> str:
        """Return the report; as JSON Lines it has one object per check, as JSON has them."""
        if form == "jsonl":
            return "".join(as_json(check.to_dict(), None) + "\n" for check in self.checks)
        return super().render(form)

    def document(self) -> Document:
        """Return the checks, the notes, and the verdict in one line."""
        rows: list[list[Value]] = [[_SIGNS[c.held], c.what, Cell(c.value, c.found), c.why] for c in self.checks]
        checks = Table(["verdict", "check", "found", "why"], rows)
        return Document("", "", [Section("", [checks, Lines(self.notes, "note: "), Lines([self.summary])])])


def gate(  # noqa: PLR0913  (the options of a gate, all but two with defaults)
    qrels: QrelsLike,
    run: RunLike,
    conditions: Sequence[str | Condition] = (),
    *,
    profile: str | Path | Profile | None = None,
    baseline: RunLike | None = None,
    max_drop: float | None = None,
    serving: Mapping[str, Any] | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    test: PairedTest = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    seed: int = 0,
    run_name: str = "run",
) -> Gate:
    """Check conditions on a run's means and on serving figures, and drops against a baseline.

    Without conditions those of the profile (its targets) are checked. A drop counts when it is greater than
    ``max_drop`` (0 when not given) and the paired test, corrected over the measures, supports it. A run that has no
    query of the qrels is an InputError: such a gate would hold for whatever is not above 0.

    >>> qrels, run = {"q": {"a": 1}}, {"q": ["b", "a"]}
    >>> result = gate(qrels, run, ["RR>=0.5", "P@1>0.2", "p95_ms<=500"], serving={"p95_ms": 310})
    >>> [check.held for check in result.checks]
    [True, False, True]
    """
    drop = _drop_allowed(max_drop, has_baseline=baseline is not None)
    known = None if profile is None else load_profile(profile)
    wanted, unasked = _wanted(conditions, known, serving)
    figures = serving or {}
    quality = [condition for condition in wanted if condition.name not in figures]
    entries = _entries(quality, known, figures)
    if not entries and baseline is not None:
        entries = {} if known is None else {entry.name: entry for entry in known.entries}
    if baseline is not None and not entries:
        msg = "a baseline needs measures: name some in conditions, or give a profile"
        raise ParamError(msg)
    if not wanted and baseline is None:
        msg = (
            "nothing to check: give conditions such as 'nDCG@10>=0.85', a profile that has targets, or a baseline and "
            "a profile"
        )
        raise ParamError(msg)
    checks: list[Check] = []
    notes: Sequence[str] = ()
    evaluation = comparison = None
    if entries:
        measured = _profile_of(entries, known, min_relevance)
        if baseline is None:
            evaluation = evaluate(
                qrels, run, profile=measured, min_relevance=min_relevance, queries=queries, order=order
            )
            notes = evaluation.notes
        else:
            comparison = compare(
                qrels,
                baseline,
                {run_name: run},
                profile=measured,
                min_relevance=min_relevance,
                queries=queries,
                order=order,
                test=test,
                correction=correction,
                alpha=alpha,
                seed=seed,
                baseline_name="baseline" if run_name != "baseline" else "the baseline",
            )
            notes = comparison.notes
        _check_met(notes)
    for condition in wanted:
        value = _value(condition, figures, entries, evaluation, comparison)
        why = "" if condition.holds(value) else f"off by {abs(value - condition.bound):.4g}"
        checks.append(Check(condition, value, condition.holds(value), why))
    checks += [_without_figure(condition, serving) for condition in unasked]
    if comparison is not None:
        checks += [_drop(comparison, measure, drop) for measure in comparison.measures]
    meanings = [f"{name} = {said}" for name, entry in entries.items() if name != (said := written(entry.measure))]
    return Gate(run_name, tuple(checks), (*meanings, *notes))


def _drop_allowed(max_drop: float | None, *, has_baseline: bool) -> float:
    if max_drop is None:
        return 0.0
    if not has_baseline:
        msg = (
            f"max_drop={max_drop!r} is about a drop against a baseline, and none is given: give one (in the shell "
            "--baseline RUN), or leave it out"
        )
        raise ParamError(msg)
    if not 0 <= max_drop < math.inf:
        raise ParamError(f"max_drop={max_drop!r} is not allowed; give a number >= 0, such as 0.01")
    return max_drop


def _check_met(notes: Sequence[str]) -> None:
    """Refuse a run, or a baseline, whose values say nothing of it."""
    met = next((note for note in notes if NEVER_MEET in note), None)
    if met is not None:
        raise InputError(f"nothing can be checked: {met}")


def _wanted(
    conditions: Sequence[str | Condition], profile: Profile | None, serving: Mapping[str, Any] | None
) -> tuple[list[Condition], list[Condition]]:
    """Return the conditions to check, and the profile's targets that there are no figures for."""
    given = [condition if isinstance(condition, Condition) else parse_condition(condition) for condition in conditions]
    if given or profile is None:
        return given, []
    measured = {entry.name for entry in profile.entries}
    targets = [Condition(t.name, "<" if t.lower_is_better else ">", t.target) for t in profile.targets]
    known = [target for target in targets if target.name in measured or target.name in (serving or {})]
    return known, [target for target in targets if target not in known]


def _without_figure(condition: Condition, serving: Mapping[str, Any] | None) -> Check:
    if serving is None:
        return Check(condition, None, None, "no serving figures given")
    if condition.name.endswith("_ms"):  # every summary of calls that succeeded has its latencies
        return Check(condition, None, False, "the serving figures lack it: did any call succeed?")
    return Check(condition, None, None, "not among the serving figures")


def _entries(conditions: Sequence[Condition], profile: Profile | None, figures: Mapping[str, Any]) -> dict[str, Entry]:
    """Return the measure behind each condition's name: the profile's by its display name, else as it is written."""
    by_name = {} if profile is None else {entry.name: entry for entry in profile.entries}
    entries = {}
    for condition in conditions:
        if condition.name in by_name:
            entries[condition.name] = by_name[condition.name]
            continue
        try:
            measure = parse(condition.name)
        except ParamError as error:
            if figures:
                msg = f"{condition.name!r} is neither a measure nor in the serving file."
                raise ParamError(msg + did_you_mean(condition.name, [*figures, *by_name])) from error
            if _is_figure(condition.name):
                msg = f"{condition.name!r} is a serving figure, and none are given: give their file with --serving FILE"
                raise ParamError(msg) from error
            raise
        entries[condition.name] = Entry(measure, condition.name)
    return entries


def _is_figure(name: str) -> bool:
    from permed_measures.serving.summary import is_figure  # noqa: PLC0415  (only for a message)

    return is_figure(name)


def _profile_of(entries: Mapping[str, Entry], known: Profile | None, min_relevance: float | None) -> Profile:
    """Return a profile of these measures, each once."""
    once: dict[Measure, Entry] = {}
    for entry in entries.values():
        once.setdefault(entry.measure, entry)
    rel = min_relevance if known is None or min_relevance is not None else known.min_relevance
    distinct([entry.measure for entry in entries.values()], rel)
    top = None if known is None else known.top_grade
    return Profile("gate", "the measures of a gate", tuple(once.values()), min_relevance=rel, top_grade=top)


def _value(
    condition: Condition,
    figures: Mapping[str, Any],
    entries: Mapping[str, Entry],
    evaluation: Evaluation | None,
    comparison: Comparison | None,
) -> float:
    if condition.name in figures:
        figure = figures[condition.name]
        if isinstance(figure, bool) or not isinstance(figure, (int, float)) or not abs(figure) <= float_info.max:
            shown = "beyond 1.8e308" if type(figure) is int else repr(figure)
            raise InputError(f"the serving figure {condition.name!r} is {shown}; a number is needed")
        return float(figure)
    measure = entries[condition.name].measure
    if evaluation is not None:
        return evaluation.means[measure]
    value = comparison.whole.means[comparison.runs[0], measure].value if comparison is not None else None
    if value is None:
        raise InputError(f"{measure} has no value here")
    return value


def _drop(comparison: Comparison, measure: Measure, max_drop: float) -> Check:
    change = comparison.whole.changes[comparison.runs[0], measure]
    what = Condition(f"{comparison.labels[measure]} drop", "<=", max_drop)
    if change.difference is None:
        return Check(what, None, None, "no query is in both runs")
    found = 0.0 - change.difference  # not -0.0
    if found <= max_drop:
        return Check(what, found, held=True)
    p = "" if change.p_adjusted is None else f" ({p_is(change.p_adjusted)})"
    if change.significant:
        return Check(what, found, held=False, why=f"the paired test supports the drop{p}")
    why = f"the paired test does not support the drop{p}" if p else "one query: no paired test"
    return Check(what, found, held=True, why=why)


def read_serving(path: str | Path) -> dict[str, Any]:
    """Read serving figures: one JSON object, {"p95_ms": 310, "usd_per_query": 0.001}."""
    try:
        figures = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path=path) from error
    if not isinstance(figures, dict):
        msg = 'serving figures are one JSON object, such as {"p95_ms": 310}'
        raise InputError(msg, path=path)
    return figures


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: Gate) -> str:
    """Return JUnit's XML: one test case per check."""
    count = {
        "tests": str(len(result.checks)),
        "failures": str(result.count(held=False)),
        "errors": "0",
        "skipped": str(result.count(held=None)),
        "time": "0",
    }
    suites = ET.Element("testsuites", {"name": "permed-measures", **count})
    suite = ET.SubElement(suites, "testsuite", {"name": _xml(f"gate {result.run}"), **count})
    for check in result.checks:
        attributes = {"classname": "permed-measures.gate", "name": _xml(check.what), "time": "0"}
        case = ET.SubElement(suite, "testcase", attributes)
        said = _xml(f"{check.what}: found {check.found}" + (f", {check.why}" if check.why else ""))
        if check.held is False:
            ET.SubElement(case, "failure", {"message": said, "type": "gate"}).text = said
        elif check.held is None:
            ET.SubElement(case, "skipped", {"message": _xml(check.why)})
        else:
            ET.SubElement(case, "system-out").text = said
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
