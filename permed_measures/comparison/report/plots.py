"""The plots of a comparison, of its numbers."""

from functools import partial

from ir_measures import Measure

from permed_measures.comparison import Comparison
from permed_measures.comparison.changes import Change
from permed_measures.comparison.report import words
from permed_measures.errors import check_choice
from permed_measures.evaluate.report import cutoff_panels
from permed_measures.render import plots
from permed_measures.render.figure import Panel
from permed_measures.render.plots import Dot
from permed_measures.render.result import PLOTS


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


def win_tie_loss_bar(change: Change, width: float) -> str:
    """Draw wins, ties and losses as one bar."""
    return plots.wins_bars({"": (change.wins, change.ties, change.losses)}, width) if change.queries else ""


def _means(comparison: Comparison) -> list[Panel]:
    said = comparison.counted(comparison.whole.queries, comparison.whole.units)
    drawn = [(label, partial(means_plot, comparison, m)) for m, label in comparison.labels.items()]
    return [Panel(f"{label}, {said}", draw, label) for label, draw in drawn]


def _differences(comparison: Comparison) -> list[Panel]:
    minus, draw = f" \u2212 {comparison.baseline}", partial(sorted_differences_plot, comparison)
    pairs = [(run, measure, label) for measure, label in comparison.labels.items() for run in comparison.runs]
    return [Panel(f"{label}: {run}{minus}", partial(draw, run, measure), label, run) for run, measure, label in pairs]


def _wins(comparison: Comparison) -> list[Panel]:
    panels = []
    for measure, label in comparison.labels.items():
        changes = [(run, comparison.whole.changes[run, measure]) for run in comparison.runs]
        counts = {run: (change.wins, change.ties, change.losses) for run, change in changes}
        title = f"{label}: better, equal, worse than {comparison.baseline}"
        panels.append(Panel(title, partial(plots.wins_bars, counts), label))
    return panels


def _cutoffs(comparison: Comparison) -> list[Panel]:
    said = comparison.counted(comparison.whole.queries, comparison.whole.units)
    return cutoff_panels({m: _dots(comparison, m) for m in comparison.measures}, said)


_PANELS = dict(zip(PLOTS, (_means, _differences, _wins, _cutoffs), strict=True))
