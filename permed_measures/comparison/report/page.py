"""The page of a comparison: its tables, plots, conclusions, and a table of all queries; and the plots alone."""

from collections.abc import Sequence
from functools import partial
from html import escape

from ir_measures import Measure

from permed_measures.comparison import Comparison
from permed_measures.comparison.changes import Change
from permed_measures.comparison.report import tables, words
from permed_measures.errors import check_choice
from permed_measures.evaluate.report import cutoff_panels, unjudged_table
from permed_measures.render import plots
from permed_measures.render.document import Block, Document, Figure, Html, Lines, Section
from permed_measures.render.figure import Panel
from permed_measures.render.html import figures
from permed_measures.render.plots import Dot
from permed_measures.render.queries import Queries
from permed_measures.render.result import PLOTS

_BADGES = {"higher": "win", "lower": "loss"}


def page(comparison: Comparison) -> Document:
    """Return what the page holds."""
    query_ids = dict.fromkeys(q for column in comparison.values.values() for q in column)
    differences = [comparison.difference(run, comparison.measures[0]) for run in comparison.runs]
    listed = Queries(
        comparison.names,
        {label: [comparison.values[name, m] for name in comparison.names] for m, label in comparison.labels.items()},
        sorted(query_ids, key=lambda q: min((of[q] for of in differences if q in of), default=0.0)),
        changes=True,
        grouped_by=(comparison.groups_of and comparison.grouped_by) or "",
        group_of={q: group for group, members in comparison.groups_of.items() for q in members},
        behind=comparison.behind,
    )
    sections = [section._replace(folded=False) for section in _sections(comparison, _conclusions(comparison))]
    title = f"{', '.join(comparison.runs)} against {comparison.baseline}"
    return listed.into(Document(title, _summary(comparison), sections), _by_query_plots(comparison))


def notebook(comparison: Comparison) -> Document:
    """Return what a notebook shows: means, verdicts and plots; the rest is folded."""
    said, by_run = tables.sentences(comparison)
    return Document("", _summary(comparison), _sections(comparison, [Lines([*(text for *_, text in said), *by_run])]))


def _sections(comparison: Comparison, concluded: Sequence[Block]) -> list[Section]:
    method = [*words.method(comparison), *words.p_imp_lines(comparison)]
    sections = [
        Section("Means", [tables.means_table(comparison, tables.marks(comparison))], "means"),
        *(Section(table.title, [table], "unjudged", folded=True) for table in unjudged_table(comparison.unjudged)),
        Section("What can be concluded", [*tables.verdicts(comparison), *concluded], "conclusions"),
        Section(f"Means and differences, with {words.level(comparison)} intervals", [_plots(comparison)], "plots"),
        Section(
            f"Changes against {comparison.baseline}", [tables.changes_table(comparison, method)], "changes", folded=True
        ),
        *(Section(table.title, [table], folded=True) for table in tables.pairs_tables(comparison)),
    ]
    if comparison.groups:
        by = f"By {comparison.grouped_by}"
        sections.append(Section(by, tables.groups_tables(comparison), "groups", folded=True))
    sections.append(Section("Definitions", [Lines(words.definitions(comparison))], "definitions", folded=True))
    sections.append(
        Section("Conditions", [Lines([*map(str, comparison.signatures.values())])], "conditions", folded=True)
    )
    return [
        *sections,
        *([Section("Notes on the input", [Lines(comparison.notes)], "notes")] if comparison.notes else []),
    ]


def _summary(comparison: Comparison) -> str:
    whole = comparison.whole
    parts = [comparison.counted(whole.queries, whole.units), words.family(comparison, [whole])]
    if comparison.profile is not None:
        parts.append(f"profile {comparison.profile.name}")
    if comparison.min_relevance is not None:
        parts.append(f"relevant from grade {comparison.min_relevance:g}")
    return " · ".join(parts)


def _conclusions(comparison: Comparison) -> list[Block]:
    items = []
    for run, measure, sentence in tables.every_sentence(comparison):
        verdict = comparison.whole.changes[run, measure].verdict
        badge = f'<span class="badge {_BADGES.get(verdict, "tie")}">{verdict}</span>'
        items.append(f"<li>{badge} {escape(sentence)}</li>")
    every = f'<ul class="conclusions">{"".join(items)}</ul>'
    _, by_run = tables.sentences(comparison)
    if not by_run:
        return [Html(every)]
    return [Lines(by_run), Html(f"<details><summary>every comparison in a sentence</summary>{every}</details>")]


def _plots(comparison: Comparison) -> Html:
    drawn = []
    for measure, label in comparison.labels.items():
        drawn.append(Figure(means_plot(comparison, measure), f"{label}: means"))
        title = f"{label}: difference to {comparison.baseline}"
        drawn.append(Figure(differences_plot(comparison, measure), title))
    return figures(drawn)


def _by_query_plots(comparison: Comparison) -> list[Html]:
    in_pairs = len(comparison.runs) == 2  # noqa: PLR2004  (three are in a row, and so are the measures of one run)
    width = 550 if in_pairs else 360
    rows: list[list[Figure]] = [[]]
    for measure, label in comparison.labels.items():
        for run in comparison.runs:
            change = comparison.whole.changes[run, measure]
            drawn = sorted_differences_plot(comparison, run, measure, width)
            drawn += plots.wins_bars({"": _counts(change)}, width) if change.queries else ""
            counts = f"{change.wins} better, {change.ties} equal, {change.losses} worse"
            rows[-1].append(Figure(drawn, f"{label}: {run}", counts))
        if len(comparison.runs) > 1:
            rows.append([])
    intro = (
        f"<p>The difference of every query to {escape(comparison.baseline)}, the largest gain first, and how many "
        "queries gain, tie and lose.</p>"
    )
    return [Html(intro), *(figures(row, "figures pairs" if in_pairs else "figures") for row in rows if row)]


def panels(comparison: Comparison, plot: str) -> list[Panel]:
    """Return the parts of a plot that is called 'means', 'differences', 'wins' or 'cutoffs'."""
    check_choice("plot", plot, list(_PANELS))
    return _PANELS[plot](comparison)


def _dots(comparison: Comparison, measure: Measure) -> list[Dot]:
    means = [(name, comparison.whole.means[name, measure]) for name in comparison.names]
    return [Dot(name, mean.value, mean.interval) for name, mean in means]


def means_plot(comparison: Comparison, measure: Measure, width: float = plots.WIDTH) -> str:
    """Draw the mean of every run with its interval."""
    label = f"means by {comparison.labels[measure]} with intervals"
    return plots.dots(_dots(comparison, measure), label, width=width, said=f"{words.level(comparison)} intervals")


def differences_plot(comparison: Comparison, measure: Measure, width: float = plots.WIDTH) -> str:
    """Draw the difference of every run to the baseline with its interval, and the line where there is none."""
    changes = [(run, comparison.whole.changes[run, measure]) for run in comparison.runs]
    rows = [Dot(run, change.difference, change.interval) for run, change in changes]
    label = f"differences by {comparison.labels[measure]} with intervals"
    return plots.dots(rows, label, width=width, changes=True)


def sorted_differences_plot(comparison: Comparison, run: str, measure: Measure, width: float) -> str:
    """Draw the differences of all queries, the largest gain first."""
    label = f"differences of all queries by {comparison.labels[measure]}, sorted"
    return plots.sorted_steps(list(comparison.difference(run, measure).values()), label, width)


def _counts(change: Change) -> tuple[int, int, int]:
    return change.wins, change.ties, change.losses


def _means(comparison: Comparison) -> list[Panel]:
    said = comparison.counted(comparison.whole.queries, comparison.whole.units)
    drawn = [(label, partial(means_plot, comparison, m)) for m, label in comparison.labels.items()]
    return [Panel(f"{label}, {said}", draw, label) for label, draw in drawn]


def _differences(comparison: Comparison) -> list[Panel]:
    minus, draw = f" \u2212 {comparison.baseline}", partial(sorted_differences_plot, comparison)
    return [Panel(f"{label}: {run}{minus}", partial(draw, run, m), label, run) for run, m, label in comparison.compared]


def _wins(comparison: Comparison) -> list[Panel]:
    panels = []
    for measure, label in comparison.labels.items():
        counts = {run: _counts(comparison.whole.changes[run, measure]) for run in comparison.runs}
        title = f"{label}: better, equal, worse than {comparison.baseline}"
        panels.append(Panel(title, partial(plots.wins_bars, counts), label))
    return panels


def _cutoffs(comparison: Comparison) -> list[Panel]:
    said = comparison.counted(comparison.whole.queries, comparison.whole.units)
    return cutoff_panels({m: _dots(comparison, m) for m in comparison.measures}, said)


_PANELS = dict(zip(PLOTS, (_means, _differences, _wins, _cutoffs), strict=True))
