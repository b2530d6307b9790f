"""A comparison as saved values: every run, or repeat, under its name, and how they were compared."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from permed_measures.comparison import Comparison, compare
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation
from permed_measures.evaluate.groups import NO_GROUP, Groups, is_table
from permed_measures.files.values import Column, SavedRun, SavedValues, read, write

_OPTIONS = ("test", "correction", "alpha", "seed", "margin", "all_pairs", "descriptions", "groups", "cluster")


def save(comparison: Comparison, path: str | PathLike[str], about: Mapping[str, Any] | None = None) -> None:
    """Write the values of all runs, the options that :func:`load` compares them with, and what else is to be kept."""
    if comparison.conditions is None:
        raise ParamError("a comparison without conditions cannot be saved; compare the runs")
    runs = []
    for name in comparison.names:
        several = comparison.repeats.get((name, comparison.measures[0]))
        for place in range(len(several or [None])):
            repeat = None if several is None else place + 1
            runs.append(SavedRun(name, _columns(comparison, name, None if several is None else place), (), repeat))
    settings = comparison.settings
    options: dict[str, Any] = {name: getattr(settings, name) for name in _OPTIONS[:5]}
    options["all_pairs"] = bool(comparison.pairs)
    options["descriptions"] = dict(comparison.descriptions)
    of = {} if settings.clusters is None else settings.clusters.of
    options["cluster"] = _said(comparison.asked.get("cluster"), {q: name[1:] for q, name in of.items()})  # no mark
    group_of = {q: name for name, inside in comparison.groups_of.items() for q in inside if name != NO_GROUP}
    options["groups"] = _said(comparison.asked.get("groups"), group_of)
    unjudged = {name: list(shares) for name, shares in comparison.unjudged.items()}
    notes = {"notes": list(comparison.notes), "grouped_by": comparison.grouped_by, "unjudged": unjudged}
    write(path, SavedValues(runs, comparison.conditions.judged, {"compare": options, **notes, **(about or {})}))


def _columns(comparison: Comparison, name: str, place: int | None) -> list[Column]:
    columns = []
    for measure, label in comparison.labels.items():
        key = name, measure
        values = comparison.values[key] if place is None else comparison.repeats[key][place]
        columns.append(Column(label, comparison.signatures[measure]._replace(n=len(values)), values))
    return columns


def _said(groups: Groups | None, table: Mapping[str, str]) -> str | dict[str, str] | None:
    """Write groups as they were given; a table of a file or dict is kept whole, since the file may change."""
    if groups is None:
        return None
    return dict(sorted(table.items())) if is_table(groups) else fspath(groups)  # type: ignore[arg-type]  # else a text


def systems_of(path: str | PathLike[str]) -> tuple[dict[str, Evaluation | list[Evaluation]], SavedValues]:
    """Return the systems that a file of saved values holds, a list where one has several runs."""
    saved = read(path)
    found: dict[str, list[Evaluation]] = {}
    for run in saved.runs:
        found.setdefault(run.name, []).append(Evaluation.of_saved(run, saved.judged, path))
    return {name: runs[0] if len(runs) == 1 else runs for name, runs in found.items()}, saved


def load(path: str | PathLike[str]) -> tuple[Comparison, Mapping[str, Any]]:
    """Read a comparison that was saved and compare again as it was; also return all that was saved with it."""
    systems, saved = systems_of(path)
    options, names = saved.options.get("compare"), list(systems)
    if not isinstance(options, dict) or len(names) < 2 or set(options) - set(_OPTIONS):  # noqa: PLR2004  (a baseline and a run)
        msg = f"saved values of {', '.join(names)}, but no comparison: give them to compare()"
        raise InputError(msg, path=str(path))
    first, *others = names
    runs: dict[str, Any] = {name: systems[name] for name in others}
    try:
        found = compare(None, systems[first], runs, baseline_name=first, p_imp=False, **options)
    except TypeError as error:
        raise InputError(f"the options of the comparison are not as saved: {error}", path=str(path)) from error
    notes: Sequence[str] = saved.options.get("notes", [])
    kept = {"grouped_by": saved.options.get("grouped_by"), "unjudged": saved.options.get("unjudged", {})}
    return replace(found, notes=tuple(notes), **kept), saved.options
