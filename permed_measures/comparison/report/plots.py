"""The plots of a comparison, of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ir_measures import Measure

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison.report import words
from permed_measures.errors import check_choice
from permed_measures.evaluate.report import cutoff_panels
from permed_measures.render import plots
from permed_measures.render.figure import Panel
from permed_measures.render.plots import Dot


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
    return plots.dots(_dots(comparison, measure), label, width=width)


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


def counts(change: Change) -> Sequence[int]:
    """Return wins, ties and losses."""
    return change.wins, change.ties, change.losses


def win_tie_loss_bar(change: Change, width: float) -> str:
    """Draw wins, ties and losses as one bar."""
    return plots.wins_bar(counts(change), width) if change.queries else ""


def _means(comparison: Comparison) -> list[Panel]:
    whole = comparison.whole
    said = f"{words.level(comparison)} intervals, {comparison.counted(whole.queries, whole.units)}"
    labels = comparison.labels
    return [Panel(f"{label}, {said}", partial(means_plot, comparison, m), label) for m, label in labels.items()]


def _differences(comparison: Comparison) -> list[Panel]:
    return [
        Panel(
            f"{label}: {run} \u2212 {comparison.baseline}",
            partial(sorted_differences_plot, comparison, run, measure),
            label,
            run,
        )
        for measure, label in comparison.labels.items()
        for run in comparison.runs
    ]


def _wins(comparison: Comparison) -> list[Panel]:
    by_measure = [
        (label, {run: counts(comparison.whole.changes[run, measure]) for run in comparison.runs})
        for measure, label in comparison.labels.items()
    ]
    title = f"better, equal, worse than {comparison.baseline}"
    return [Panel(f"{label}: {title}", partial(plots.wins_bars, found), label) for label, found in by_measure]


def _cutoffs(comparison: Comparison) -> list[Panel]:
    return cutoff_panels({m: _dots(comparison, m) for m in comparison.measures})


_PANELS: dict[str, Callable[[Comparison], list[Panel]]] = {
    "means": _means,
    "differences": _differences,
    "wins": _wins,
    "cutoffs": _cutoffs,
}
