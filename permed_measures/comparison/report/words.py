"""How a report says things: names, definitions, and what can be concluded."""

import math
from collections.abc import Iterable

from ir_measures import Measure

from permed_measures.comparison import Comparison, p_imp
from permed_measures.comparison.changes import Change, Table
from permed_measures.comparison.repeats import apart
from permed_measures.evaluate.spans import is_share
from permed_measures.inference import EXACT_UNITS, POWER, Interval
from permed_measures.measures.definitions import definition
from permed_measures.render.words import NONE, counted, in_words, p_is, percent, queries

TEST_NAMES = {
    "sign flips": "exact sign-flip test",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "randomization": "randomization test",
}
CORRECTION_NAMES = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
SHORT_CORRECTION_NAMES = {"holm": "Holm", "bh": "BH"}
_NO_PROOF = " (which is no proof that they are equal)."


def interval(value: Interval | None, *, share: bool = False) -> str:
    """Write an interval of a difference."""
    return NONE if value is None else " to ".join(in_words(end, share=share, sign=True) for end in value)


def level(comparison: Comparison) -> str:
    """Write the level of the intervals: 95%."""
    return f"{100 * (1 - comparison.alpha):g}%"


def p_imp_name(comparison: Comparison) -> str:
    """Write P-imp@10; nothing where it was left out."""
    return next((f"{p_imp.NAME}@{found.cutoff}" for found in comparison.whole.p_imp.values()), "")


def smallest_p(change: Change) -> str:
    """Write what the test could at best have found."""
    return "" if change.smallest_p is None else f"{change.smallest_p:.3g}"


def definitions(comparison: Comparison) -> list[str]:
    """Return one line for each name in the tables: what is behind it."""
    lines = []
    for measure, label in comparison.labels.items():
        stands_for = label if label == str(measure) else f"{label} = {measure}"
        said = definition(measure)
        lines.append(f"{stands_for}: {said}" if said else stands_for)
    cutoffs = {found.cutoff for found in comparison.whole.p_imp.values()}
    return [*lines, *(f"{p_imp_name(comparison)}: {p_imp.meaning(k, comparison.baseline)}" for k in cutoffs)]


def stars(comparison: Comparison) -> list[str]:
    """Say what a star is: the test that decides, and the correction; of the groups too, whose count is another."""
    starred = any(change.significant for table in comparison.tables for change in table.changes.values())
    sign = f"* differs from {comparison.baseline}" if starred else f"no difference from {comparison.baseline} is shown"
    lines = [f"{sign}: {family(comparison, [comparison.whole])}, p < {comparison.alpha:g}"]
    if comparison.groups:
        lines.append(f"in groups: {family(comparison, comparison.groups)}, corrected apart from all queries")
    return lines


def family(comparison: Comparison, tables: Iterable[Table]) -> str:
    """Say which test decides, and over how many comparisons p-values are corrected."""
    changes = [change for table in tables for change in table.changes.values()]
    used = [name for test, name in TEST_NAMES.items() if any(change.decided_by == test for change in changes)]
    unit = "queries" if comparison.settings.clusters is None else f"{comparison.settings.clusters.name}s"
    tests = " or ".join(used)
    if len(used) > 1:
        tests = f"{used[0]} up to {EXACT_UNITS} {unit}, above that the {used[1]}"
    if comparison.settings.clusters is not None:
        tests += f" over {unit}"
    left = sum(not change.tested for change in changes)
    out = f" ({left} with too few {unit} to show anything left out)" if left else ""
    if comparison.correction == "none":
        return f"{tests}, no correction{out}"
    return f"{tests}, {CORRECTION_NAMES[comparison.correction]} over {counted(len(changes) - left, 'comparison')}{out}"


def repeats(comparison: Comparison) -> list[str]:
    """Say of each system that has several runs how far they are apart."""
    lines = []
    for name in comparison.names:
        found = {comparison.labels[m]: spread for (run, m), spread in comparison.whole.spreads.items() if run == name}
        shares = {label for m, label in comparison.labels.items() if is_share(m)}
        lines += [apart(name, found, shares)] if found else []
    return lines


def method(comparison: Comparison) -> list[str]:
    """Return how the numbers below the changes were made."""
    whole = comparison.whole
    units = comparison.counted(whole.queries, whole.units)
    lines = [
        f"{level(comparison)} interval: the mean and its standard error over {units}, by Student's t",
        f"detectable: what these queries show {POWER:.0%} of the time, at the level that decides",
        "gain: the change as a share of the baseline's mean; d: its mean in standard deviations (Cohen's d_z)",
    ]
    if any(not change.tested and change.p is not None for change in whole.changes.values()):
        lines.append(">=p: the smallest p that so few differences allow; such a comparison leaves the count")
    if any(change.interval_disagrees for change in whole.changes.values()):
        lines.append("where star and interval disagree, the test decides: it is corrected, the interval is not")
    return lines


def p_imp_lines(comparison: Comparison) -> list[str]:
    """Say how sure P-imp is, run by run."""
    lines = []
    for run, found in comparison.whole.p_imp.items():
        if found.interval is None or found.p is None:
            continue
        low, high = found.interval
        lines.append(
            f"{p_imp_name(comparison)} of {run}: {in_words(found.value, share=True)}, {level(comparison)} interval "
            f"{in_words(low, share=True)} to {in_words(high, share=True)}; {found.improved:,} of "
            f"{counted(found.pairs, 'pair')} put right, {found.worsened:,} put wrong: {p_is(found.p)}, not corrected"
        )
    return lines


def conclusion(comparison: Comparison, run: str, measure: Measure) -> str:
    """Say what can, and what cannot, be concluded about all queries."""
    change, share = comparison.whole.changes[run, measure], is_share(measure)
    baseline = comparison.baseline
    if change.verdict == "identical":
        return f"{run} and {baseline} have the same value on every one of {queries(change.queries)}; nothing to test."
    if change.verdict == "undefined":
        return _undefined(comparison, run, change, share=share)
    what = (
        f"{in_words(change.difference, share=share, sign=True)} ({percent(change.relative)}), {level(comparison)} "
        f"interval {interval(change.interval, share=share)}"
    )
    decided = f"{what}, {_p_in_words(comparison, change)}."
    scale = float(in_words(1.0, share=share))  # 100 in percent
    margin = f"{(comparison.settings.margin or 0) * scale:g}"
    if change.significant:
        within = f", by less than the margin {margin}" if change.equivalent else ""
        return f"{run} is {change.verdict} than {baseline}{within}: {decided} {_at_least(change, share=share)}"
    if change.verdict == "mixed":
        most = "better" if change.direction > 0 else "worse"
        return (
            f"{run} against {baseline} is mixed: most changes are for the {most} (by ranks), but the mean does not "
            f"follow: {decided} Few large changes weigh against many small ones."
        )
    if change.verdict == "equivalent":
        return f"{run} is equivalent to {baseline}: the change surely stays within \u00b1{margin}: {decided}"
    return (
        f"{run} is not shown to differ from {baseline}: {_not_shown(comparison, change, (what, decided), share=share)}"
    )


def _undefined(comparison: Comparison, run: str, change: Change, *, share: bool) -> str:
    if change.queries == 0:
        return f"no query is in both {run} and {comparison.baseline}; nothing can be compared."
    one = "one query" if change.queries == 1 else comparison.counted(change.queries, change.units)
    beyond = "this query" if change.queries == 1 else "these"
    return (
        f"the change is {in_words(change.difference, share=share, sign=True)} on {one}; intervals and tests need two "
        f"independent units at least, so nothing can be concluded beyond {beyond}."
    )


def _p_in_words(comparison: Comparison, change: Change) -> str:
    if comparison.correction == "none" or not change.tested:
        return f"{p_is(change.p)} ({TEST_NAMES[change.decided_by]})"
    return f"{p_is(change.p_adjusted)} after {CORRECTION_NAMES[comparison.correction]}"


def _at_least(change: Change, *, share: bool) -> str:
    if change.interval_disagrees or change.interval is None:
        return "The interval reaches zero, so the difference may be very small."
    low, high = change.interval
    nearest = in_words(low if low > 0 else high, share=share, sign=True)
    return f"Chance alone is an unlikely cause; on other queries like these it may be as small as {nearest}."


def _not_shown(comparison: Comparison, change: Change, said: tuple[str, str], *, share: bool) -> str:
    what, decided = said
    if not change.tested:
        differ = round(1 - math.log2(change.smallest_p or 1.0))
        of = comparison.settings.clusters
        only = queries(differ) if of is None else of.counted(differ)
        only += " differs" if differ == 1 else " differ"
        reach = f"reach p < {comparison.alpha:g}"
        reach += " among so many" if (change.smallest_p or 0) < comparison.alpha else ""
        return (
            f"{decided} Only {only}: with so few this test cannot {reach}, whatever they say (smallest possible p = "
            f"{smallest_p(change)})."
        )
    if change.p is not None and change.p < comparison.alpha:
        among = sum(other.tested for other in comparison.whole.changes.values())
        return (
            f"{what}. Alone it would pass ({p_is(change.p)}), but not among {counted(among, 'comparison')} "
            f"({_p_in_words(comparison, change)}); test this one alone on new queries."
        )
    if change.interval_disagrees:
        return f"{decided} The interval leaves zero out, the test does not, and it decides: weak evidence at best."
    if change.detectable is None:
        return f"{decided} That is no proof that they are equal."
    return (
        f"{decided} That is no proof that they are equal: {comparison.counted(change.queries, change.units)} show a "
        f"difference of {in_words(change.detectable, share=share)} four times out of five, a smaller one less often."
    )


def summed_up(comparison: Comparison, run: str) -> str:
    """Say in one sentence how a run does by all measures."""
    by_verdict: dict[str, list[str]] = {}
    for measure, label in comparison.labels.items():
        change = comparison.whole.changes[run, measure]
        quiet = change.verdict in ("not shown", "identical", "undefined")
        by = "" if quiet else f" {in_words(change.difference, share=is_share(measure), sign=True)}"
        by_verdict.setdefault(change.verdict, []).append(f"{label}{by}")
    said = "; ".join(f"{verdict} by {', '.join(labels)}" for verdict, labels in by_verdict.items())
    return f"{run} against {comparison.baseline}: {said}{_NO_PROOF if 'not shown' in by_verdict else '.'}"
