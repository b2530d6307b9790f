"""Systems that are tables of an engine: evaluated there in one pass, and paired by query."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from ir_measures import Measure

from permed_measures.comparison.arms import deepest_cutoff
from permed_measures.comparison.p_imp import Counts
from permed_measures.comparison.systems import System, is_repeated
from permed_measures.evaluate import Evaluation
from permed_measures.evaluate.groups import Groups
from permed_measures.files.values import is_saved


class InEngine(NamedTuple):
    """What was a table is an Evaluation; what was saved is as it was."""

    systems: dict[str, System]
    pairs: Callable[[int | None], Mapping[str, Mapping[str, Counts]]]
    """Given a cut-off: the pairs of every system with one run; nothing where the baseline is no such table."""
    groups: Sequence[Groups | None]  # as given; what names a column of the qrels is the value of every query


def in_engine(
    qrels: Any,  # noqa: ANN401  (a table of an engine)
    sources: Mapping[str, System],
    measures: str | Measure | Iterable[str | Measure] | None,
    groups: Sequence[Groups | None] = (),
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> InEngine:
    """Evaluate all tables among systems, repeats included, in one pass."""
    from permed_measures.tables.rankings import evaluate_runs  # noqa: PLC0415  (Narwhals, for those who have tables)

    given: Mapping[str, Any] = sources
    several = {name: list(runs) if is_repeated(runs) else [runs] for name, runs in given.items()}
    tables = {name: [run for run in runs if not _is_known(run)] for name, runs in several.items()}
    found = evaluate_runs(qrels, {name: runs for name, runs in tables.items() if runs}, measures, groups, **options)
    baseline, *_ = single = [name for name in sources if len(several[name]) == len(tables[name]) == 1] or [""]

    def pairs(cutoff: int | None) -> Mapping[str, Mapping[str, Counts]]:
        if baseline != next(iter(sources)):
            return {}
        counted = found.pairs(baseline, cutoff or deepest_cutoff(found.runs[baseline][0].evaluation.labels))
        return {name: counted.get(name, {}) for name in single}

    systems: dict[str, System] = {}
    for name, runs in several.items():
        reached = (run.evaluation for run in found.runs.get(name, ()))
        all_known = [run if _is_known(run) else next(reached) for run in runs]
        systems[name] = all_known[0] if len(all_known) == 1 else all_known
    return InEngine(systems, pairs, found.groups)


def _is_known(run: Any) -> bool:  # noqa: ANN401  (that is the question)
    return isinstance(run, Evaluation) or (isinstance(run, (str, PathLike)) and is_saved(run))
