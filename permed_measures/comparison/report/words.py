"""How a report says things: names, definitions, and what can be concluded."""

from __future__ import annotations

from ir_measures import Measure

from permed_measures.comparison import Change, Comparison, p_imp
from permed_measures.comparison.significance import POWER, Interval
from permed_measures.measures.definitions import definition
from permed_measures.render.words import NONE, counted, number, p_is, percent, queries, signed

TEST_NAMES = {"t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test", "randomization": "randomization test"}
SHORT_TEST_NAMES = {"t": "t", "wilcoxon": "Wilcoxon", "randomization": "rand."}
CORRECTION_NAMES = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction"}
SHORT_CORRECTION_NAMES = {"holm": "Holm", "bh": "BH"}


def interval(value: Interval | None) -> str:
    """Write an interval of a difference."""
    return NONE if value is None else f"{signed(value[0])} to {signed(value[1])}"


def win_tie_loss(change: Change) -> str:
    """Write 12/3/5."""
    return f"{change.wins}/{change.ties}/{change.losses}"


def level(comparison: Comparison) -> str:
    """Write the level of the intervals: 95%."""
    return f"{100 * (1 - comparison.alpha):g}%"


def p_imp_name(comparison: Comparison) -> str:
    """Write P-imp@10."""
    return f"{p_imp.NAME}@{next(iter(comparison.whole.p_imp.values())).cutoff}"


def definitions(comparison: Comparison) -> list[str]:
    """Return one line for each name in the tables: what stands behind it."""
    lines = []
    for measure, label in comparison.labels.items():
        stands_for = label if label == str(measure) else f"{label} = {measure}"
        said = definition(measure)
        lines.append(f"{stands_for}: {said}" if said else stands_for)
    cutoff = next(iter(comparison.whole.p_imp.values())).cutoff
    lines.append(f"{p_imp_name(comparison)}: {p_imp.meaning(cutoff, comparison.baseline)}")
    return lines


def method(comparison: Comparison) -> list[str]:
    """Return how the numbers were made."""
    starred = any(change.significant for table in comparison.tables for change in table.changes.values())
    sign = f"* differs from {comparison.baseline}" if starred else f"no difference from {comparison.baseline} is shown"
    lines = [
        f"{sign}: {TEST_NAMES[comparison.test]}, {_family(comparison)}, p < {comparison.alpha:g}",
        f"{level(comparison)} interval: BCa bootstrap, {comparison.resamples:,} draws, seed {comparison.seed}",
        f"detectable: what a paired t-test on as many queries finds {POWER:.0%} of the time, before correction",
        "gain: the change as a share of the baseline's mean; d: its mean in standard deviations (Cohen's d_z)",
    ]
    if comparison.groups:
        lines.append("the p-values of all groups are corrected together, apart from the table of all queries")
    return lines


def _family(comparison: Comparison) -> str:
    if comparison.correction == "none":
        return "no correction"
    tests = counted(len(comparison.whole.changes), "comparison")
    return f"{CORRECTION_NAMES[comparison.correction]} over {tests}"


def conclusion(comparison: Comparison, run: str, measure: Measure) -> str:
    """Say what can, and what cannot, be concluded about all queries."""
    change = comparison.whole.changes[run, measure]
    baseline = comparison.baseline
    if change.queries == 0:
        return f"no query is in both {run} and {baseline}; nothing can be compared."
    if change.verdict == "undefined":
        return (
            f"the change is {signed(change.difference)} on one query; intervals and tests need two at least, so "
            "nothing can be concluded beyond this query."
        )
    if change.verdict == "identical":
        return f"{run} and {baseline} have the same value on every one of {queries(change.queries)}; nothing to test."
    what = (
        f"{signed(change.difference)} ({percent(change.relative)}), {level(comparison)} interval "
        f"{interval(change.interval)}"
    )
    if change.significant:
        supported = f"{what}, {_p_in_words(comparison, change)}. {_at_least(change)}"
        return f"{run} is {change.verdict} than {baseline}: {supported}"
    if change.verdict == "not shown after correction":
        return (
            f"{run} is not shown to differ from {baseline}: {what}. Alone it would pass ({p_is(change.p)}), but not "
            "among "
            f"{len(comparison.whole.changes)} comparisons ({_p_in_words(comparison, change)}); test this one alone on "
            "new queries."
        )
    unsupported = f"{what}, {_p_in_words(comparison, change)}. {_unseen(comparison, change)}"
    return f"{run} is not shown to differ from {baseline}: {unsupported}"


def _p_in_words(comparison: Comparison, change: Change) -> str:
    if comparison.correction == "none":
        return f"{p_is(change.p)} ({TEST_NAMES[comparison.test]})"
    return f"{p_is(change.p_adjusted)} after {CORRECTION_NAMES[comparison.correction]}"


def _at_least(change: Change) -> str:
    low, high = change.interval or (0.0, 0.0)
    if low <= 0 <= high:
        return "The interval reaches zero, so the difference may be very small."
    nearest = low if low > 0 else high
    return f"Chance alone is an unlikely cause; on other queries like these it may be as small as {signed(nearest)}."


def _unseen(comparison: Comparison, change: Change) -> str:
    if change.smallest_p is not None and change.smallest_p >= comparison.alpha:
        differ = change.wins + change.losses
        return (
            f"Only {queries(differ)} differ: with so few this test cannot reach p < {comparison.alpha:g}, whatever "
            "they say."
        )
    low, high = change.interval or (0.0, 0.0)
    if low > 0 or high < 0:
        return "The interval, which is not corrected, leaves zero out, the test does not: weak evidence at best."
    if change.detectable is None:
        return "That is no proof that they are equal."
    return (
        f"That is no proof that they are equal: {queries(change.queries)} show a difference of "
        f"{number(change.detectable)} four times out of five, a smaller one less often."
    )
