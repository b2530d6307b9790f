"""What the systems of a comparison are called."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from permed_measures.comparison.systems import System
from permed_measures.errors import InputError, ParamError, did_you_mean


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say which run it is that cannot be evaluated."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"run {name!r}: {error}") from error


def run_name(source: System, otherwise: str) -> str:
    """Return what a run is called when nobody says: its file's name without the endings.

    >>> run_name("runs/bm25.v2.trec.gz", ""), run_name({}, "baseline")
    ('bm25.v2', 'baseline')
    >>> run_name("runs/new/*.parquet", "")
    'new'
    """
    if not isinstance(source, (str, PathLike)):
        return otherwise
    path = Path(source)
    while "*" in path.name:  # a pattern: the folder tells more
        path = path.parent
    if path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        path = path.with_suffix("")
    return path.stem or str(source)


def named(
    baseline: System, baseline_name: str | None, runs: Mapping[str, System] | Sequence[str | PathLike[str]]
) -> dict[str, System]:
    """Return every system by its name, the baseline first."""
    if isinstance(runs, (str, PathLike)):
        runs = [runs]
    named = list(runs.items()) if isinstance(runs, Mapping) else [(run_name(run, ""), run) for run in runs]
    if not named:
        raise ParamError("no run to compare with the baseline; give at least one")
    sources = {baseline_name or run_name(baseline, "baseline"): baseline}
    for name, source in named:
        if not isinstance(name, str) or not name:
            raise ParamError(f"a run's name is a text, not {name!r}; give {{name: run}}")
        if name in sources:
            raise ParamError(f"two runs are called {name!r}; give each a name of its own")
        sources[name] = source
    return sources


def check_descriptions(descriptions: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise ParamError for a description of something that is no run here."""
    for name in descriptions:
        if name not in names:
            raise ParamError(f"a description for {name!r}, which is no run here.{did_you_mean(name, names)}")
