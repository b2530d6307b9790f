"""How an experiment is shown: over all data sets, set by set, and how alike the sets order the systems."""

from typing import Any

from permed_measures.comparison import Comparison
from permed_measures.comparison.experiment import FEWEST_SETS, Experiment, Macro
from permed_measures.comparison.report import words
from permed_measures.comparison.report.page import means_plot
from permed_measures.comparison.report.records import as_dict as comparison_dict
from permed_measures.comparison.report.records import as_table as comparison_table
from permed_measures.comparison.report.records import ends
from permed_measures.comparison.report.tables import changes_table, marks, mean_cell, sentences
from permed_measures.evaluate.report import standing
from permed_measures.render.document import Block, Cell, Document, Figure, Lines, Section, Table, Value, interval_cell
from permed_measures.render.html import figures
from permed_measures.render.words import counted, p_value


def document(experiment: Experiment) -> Document:
    """Return the report of every format but HTML."""
    blocks: list[Block] = [_macro_table(experiment)] if len(experiment.comparisons) > 1 else []
    blocks += [_set_table(name, found) for name, found in experiment.comparisons.items()]
    blocks += [*_agreement_tables(experiment), Lines(_definitions(experiment), flow=True)]
    return Document("", "", [Section("", [*blocks, Lines(experiment.notes, "note: ", flow=True)])])


def page(experiment: Experiment) -> Document:
    """Return one page with all of it."""
    sections = []
    if len(experiment.comparisons) > 1:
        sections.append(Section("Over all data sets", [_macro_table(experiment)], "macro"))
    for place, (name, found) in enumerate(experiment.comparisons.items()):
        drawn = [Figure(means_plot(found, m), f"{label}: means") for m, label in found.labels.items()]
        said, rest = sentences(found)
        concluded = Lines([*(text for *_, text in said), *rest], "- ")
        blocks: list[Block] = [_set_table(name, found), figures(drawn), concluded]
        sections.append(Section(name, [*blocks, changes_table(found, words.method(found))], f"set-{place}"))
    tables = _agreement_tables(experiment)
    if tables:
        sections.append(Section("Do data sets and measures order the systems alike?", tables, "agreement"))
    sections.append(Section("Definitions", [Lines(_definitions(experiment))], "definitions"))
    signatures = [f"{name}: {text}" for name, of in experiment.comparisons.items() for text in of.signatures.values()]
    sections.append(Section("Conditions", [Lines(signatures)], "conditions"))
    if experiment.notes:
        sections.append(Section("Notes on the input", [Lines(experiment.notes)], "notes"))
    systems = counted(len(experiment.systems), "system")
    summary = f"{systems} on {counted(len(experiment.comparisons), 'data set')}, baseline {experiment.baseline}"
    return Document(experiment.name, " · ".join(filter(None, [experiment.description, summary])), sections)


def _macro_table(experiment: Experiment) -> Table:
    level = words.level(experiment.first)
    tested = len(experiment.comparisons) >= FEWEST_SETS
    rows: list[list[Value]] = []
    for (system, label), macro in experiment.macro.items():
        best, second = standing({name: found.mean for (name, by), found in experiment.macro.items() if by == label})
        row: list[Value] = [label, system, Cell(macro.mean, best=system in best, second=system in second, share=True)]
        row += [interval_cell(macro.interval, share=True), Cell(macro.difference, sign=True, share=True)]
        row.append(interval_cell(macro.difference_interval, sign=True, share=True))
        row += ["", ""] if system == experiment.baseline else _wins(macro)
        rows.append([*row, *([Cell(macro.p, p_value(macro.p))] if tested else [])])
    heads = ["measure", "system", "mean", f"{level} interval", "change", f"{level} interval of it"]
    names = ", ".join(experiment.comparisons)
    below = [
        f"every data set counts alike: {names}; the variances of the sets are added",
        "sets higher, lower: by the mean, and in brackets where a test on that set shows it",
        "p: sign flips of whole data sets"
        if tested
        else f"no test over data sets: fewer than {FEWEST_SETS} cannot show anything",
    ]
    title = f"means over {counted(len(experiment.comparisons), 'data set')}, baseline {experiment.baseline}"
    heads += ["sets higher", "sets lower", *(["p"] if tested else [])]
    return Table(heads, rows, title, left=2, below=below, name="macro-table")


def _wins(macro: Macro) -> list[Value]:
    pairs = ((macro.sets_higher, macro.shown_higher), (macro.sets_lower, macro.shown_lower))
    return [f"{sets} ({shown})" if shown else str(sets) for sets, shown in pairs]


def _set_table(name: str, comparison: Comparison) -> Table:
    """Lay out the means on one data set, each with its letters."""
    whole = comparison.whole
    rows: list[list[Value]] = [
        [system, *(mean_cell(comparison, whole, system, measure) for measure in comparison.measures)]
        for system in comparison.names
    ]
    title = f"{name}: {comparison.counted(whole.queries, whole.units)}"
    heads = ["system", *comparison.labels.values()]
    return Table(heads, rows, title, left=1, below=marks(comparison), name="set-table")


def _agreement_tables(experiment: Experiment) -> list[Table]:
    if not experiment.agreements:
        return []
    rows: list[list[Value]] = [list(found) for found in experiment.agreements]
    below = [
        "1 is the same order, -1 the reversed one; tau: Kendall's tau-b",
        "tau_AP: errors at the top weigh most (Yilmaz et al. 2008; ties as Urbano and Marrero 2017)",
    ]
    heads = ["by", "one", "other", "tau", "tau_AP"]
    return [Table(heads, rows, "orders of the systems", left=3, below=below, places=2)]


def _definitions(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(line for found in experiment.comparisons.values() for line in words.definitions(found)))


def as_table(experiment: Experiment) -> Table:
    """Return the rows of every comparison with their data set, and those over all sets with none."""
    records: list[dict[str, Any]] = [
        {"dataset": name, **record}
        for name, found in experiment.comparisons.items()
        for record in comparison_table(found).records()
    ]
    for (system, label), macro in experiment.macro.items():
        record = {"run": system, "name": label, "mean": macro.mean, **ends("mean", macro.interval)}
        record |= {"difference": macro.difference, **ends("difference", macro.difference_interval)}
        records.append({**record, "sets_higher": macro.sets_higher, "sets_lower": macro.sets_lower})
    heads = list(dict.fromkeys(head for record in records for head in record))
    return Table(heads, [[record.get(head) for head in heads] for record in records])


def as_dict(experiment: Experiment) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        **{name: getattr(experiment, name) for name in ("name", "description", "baseline")},
        "systems": list(experiment.systems),
        "macro": [
            {"system": system, "measure": label, **macro._asdict()}
            for (system, label), macro in experiment.macro.items()
        ],
        "agreements": [found._asdict() for found in experiment.agreements],
        "datasets": [{"name": name, **comparison_dict(found)} for name, found in experiment.comparisons.items()],
        "notes": list(experiment.notes),
    }
