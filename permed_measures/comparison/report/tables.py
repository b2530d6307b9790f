"""The tables of a comparison, and its report in every format but HTML."""

from __future__ import annotations

from collections.abc import Sequence

from ir_measures import Measure

from permed_measures.comparison import Comparison
from permed_measures.comparison import Table as Part
from permed_measures.comparison.report import words
from permed_measures.render.document import Cell, Document, Lines, Section, Table, Value
from permed_measures.render.words import p_value, percent, queries, signed


def document(comparison: Comparison, *, brief: bool = False) -> Document:
    """Return the report; a brief one has no changes and no conclusions."""
    method = words.method(comparison)
    sections = [Section("", [means_table(comparison, [*method[:1], *words.definitions(comparison)])])]
    if not brief:
        sections.append(Section("", [changes_table(comparison, method[1:])]))
    if comparison.groups:
        sections.append(Section("", [groups_table(comparison)]))
    if not brief:
        said = [f"{label}: {words.conclusion(comparison, run, measure)}" for run, measure, label in _pairs(comparison)]
        sections.append(Section("What can be concluded", [Lines(said, "- ")]))
    sections.append(Section("", [Lines(comparison.notes, "note: ")]))
    return Document("", "", sections)


def _pairs(comparison: Comparison) -> list[tuple[str, Measure, str]]:
    return [(run, measure, label) for measure, label in comparison.labels.items() for run in comparison.runs]


def means_table(comparison: Comparison, below: Sequence[str]) -> Table:
    """Lay out runs by measures: the table of a paper."""
    described = bool(comparison.descriptions)
    heads = ["run", *(["description"] if described else []), *comparison.labels.values()]
    heads.append(words.p_imp_name(comparison))
    title = f"{queries(comparison.whole.queries)}, baseline {comparison.baseline}"
    rows: list[list[Value]] = []
    for name in comparison.names:
        texts = [name, *([comparison.descriptions.get(name, "")] if described else [])]
        rows.append([*texts, *_means(comparison, comparison.whole, name)])
    return Table(heads, rows, title, left=2 if described else 1, below=below, name="means-table")


def _means(comparison: Comparison, part: Part, name: str) -> list[Value]:
    cells: list[Value] = []
    for measure in comparison.measures:
        change = part.changes.get((name, measure))
        best = name in part.best(measure) and len(part.best(measure)) < len(comparison.names)
        marked = change is not None and change.significant
        cells.append(Cell(part.means[name, measure].value, best=best, marked=marked))
    improvement = part.p_imp.get(name)
    return [*cells, None if improvement is None else improvement.value]


def changes_table(comparison: Comparison, below: Sequence[str] = ()) -> Table:
    """Lay out every change with its interval and tests; the star is at the p-value that decides."""
    decides = f"p {words.SHORT_TEST_NAMES[comparison.test]}"
    if comparison.correction in words.SHORT_CORRECTION_NAMES:
        decides += f", {words.SHORT_CORRECTION_NAMES[comparison.correction]}"
    rows: list[list[Value]] = []
    p_values: dict[str, float | None] = {}
    for run, measure, label in _pairs(comparison):
        change = comparison.whole.changes[run, measure]
        p_values = {f"p {name}": change.p_values[test] for test, name in words.SHORT_TEST_NAMES.items()}
        p_values[decides] = change.p_adjusted  # without a correction it is there already
        rows.append(
            [
                label,
                run,
                Cell(change.difference, signed(change.difference)),
                Cell(change.relative, percent(change.relative)),
                words.interval(change.interval),
                *(Cell(p, p_value(p), marked=of == decides and change.significant) for of, p in p_values.items()),
                words.win_tie_loss(change),
                Cell(change.effect_size, signed(change.effect_size, decimals=2)),
                change.detectable,
            ]
        )
    interval = f"{words.level(comparison)} interval"
    heads = ["measure", "run", "change", "gain", interval, *p_values, "win/tie/loss", "d", "detectable"]
    return Table(heads, rows, f"changes against {comparison.baseline}", left=2, below=below, name="changes-table")


def groups_table(comparison: Comparison) -> Table:
    """Lay out the means of every group, marked where a change is supported."""
    heads = [comparison.grouped_by or "", "run", "queries", *comparison.labels.values(), words.p_imp_name(comparison)]
    rows: list[list[Value]] = []
    for part in comparison.groups:
        for name in comparison.names:
            first = name == comparison.baseline
            start = [(part.group or "") if first else "", name, str(part.queries) if first else ""]
            rows.append([*start, *_means(comparison, part, name)])
    return Table(heads, rows, f"by {comparison.grouped_by}", left=2, name="groups-table")
