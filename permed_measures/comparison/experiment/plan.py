"""The file of an experiment: data sets, systems, what is measured; all of it checked before anything is computed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from permed_measures.comparison.changes import Settings
from permed_measures.comparison.systems import is_repeated
from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import Plan, choose
from permed_measures.evaluate.groups import Groups, grouped
from permed_measures.profiles import known_keys, read_toml
from permed_measures.render.result import FORMATS

_SHARED = ("measures", "profile", "min_relevance", "queries", "order", "cluster")
"""Of all data sets, and of one that says otherwise."""
_DECIDING = ("test", "correction", "alpha", "margin", "seed")
_KEYS = ("name", "description", "baseline", "datasets", "systems", "output", *_SHARED, *_DECIDING)
_PLACE = "{dataset}"
_MEASURING = _SHARED[:-1]


@dataclass(frozen=True)
class DataSet:
    """Qrels, what is measured on them, and the runs of every system: several where it is repeated."""

    name: str
    qrels: Any
    measured: Mapping[str, Any]  # the options of evaluate()
    cluster: Groups | None
    runs: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class ExperimentPlan:
    """What an experiment is to do."""

    name: str
    description: str
    systems: tuple[str, ...]  # the baseline first
    datasets: tuple[DataSet, ...]
    deciding: Mapping[str, Any]  # test, correction, alpha, margin, seed, where they are given
    output: Mapping[str, Path]  # files to write, by format; under 'values' the folder of the values


def read_plan(source: str | PathLike[str] | Mapping[str, Any]) -> ExperimentPlan:
    """Read an experiment from a TOML file, or from a dict of the same shape whose qrels and runs may be in memory.

    Paths are relative to the file. All that is wrong is told at once.
    """
    if isinstance(source, Mapping):
        return _Reader(source, Path(), "experiment").plan()
    path = Path(source)
    try:
        return _Reader(read_toml(path, "experiment"), path.parent, path.stem).plan()
    except ParamError as error:
        raise InputError(str(error), path=path) from error


class _Reader:
    def __init__(self, table: Mapping[str, Any], folder: Path, stem: str) -> None:
        self.table, self.folder, self.stem = table, folder, stem
        self.wrong: list[str] = []

    def plan(self) -> ExperimentPlan:
        table = self.table
        known_keys(table, _KEYS, "an experiment")
        systems = self._named("systems", ("name", "runs"))
        datasets = self._named("datasets", ("name", "qrels", *_SHARED))
        baseline = table.get("baseline", next(iter(systems), None))
        if baseline not in systems:
            raise ParamError(f"baseline = {baseline!r} is no system.{did_you_mean(str(baseline), systems)}")
        if len(systems) < 2:  # noqa: PLR2004  (a baseline and another)
            self.wrong.append("there is one system; a comparison needs two, each a [[systems]] table")
        names = [baseline, *(name for name in systems if name != baseline)]
        runs = {name: dict(self._runs(name, systems[name].get("runs"), list(datasets))) for name in names}
        found = [
            self._dataset(name, datasets[name], {system: runs[system].get(name, []) for system in names})
            for name in datasets
        ]
        output = self._output()
        self._check_deciding()
        if self.wrong:
            listed = [f"{len(self.wrong)} things are wrong:", *self.wrong] if len(self.wrong) > 1 else self.wrong
            raise ParamError("\n  ".join(listed))
        deciding = {key: table[key] for key in _DECIDING if key in table}
        return ExperimentPlan(
            str(table.get("name", self.stem)),
            str(table.get("description", "")),
            tuple(names),
            tuple(dataset for dataset in found if dataset is not None),
            deciding,
            output,
        )

    def _named(self, key: str, keys: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        rows = self.table.get(key)
        if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
            raise ParamError(f"an experiment has one [[{key}]] table or more, each with {', '.join(keys[:2])}")
        named: dict[str, Mapping[str, Any]] = {}
        for row in rows:
            name = row.get("name") if isinstance(row, Mapping) else None
            if not isinstance(name, str) or not name:
                raise ParamError(f'a [[{key}]] table needs name = "…"; found {row!r}')
            known_keys(row, keys, f"{name!r} of [[{key}]]")
            if name in named:
                raise ParamError(f"two [[{key}]] are called {name!r}; give each a name of its own")
            named[name] = row
        return named

    def _runs(self, system: str, runs: Any, datasets: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:  # noqa: ANN401  (checked here)
        """Yield the runs of a system on every data set."""
        each = isinstance(runs, Mapping)
        if each:
            for name in runs:
                if name not in datasets:
                    self.wrong.append(f"system {system!r}: {name!r} is no data set.{did_you_mean(name, datasets)}")
        for dataset in datasets:
            given = runs.get(dataset) if each else runs
            listed = [] if given is None else list(given) if is_repeated(given) else [given]
            if not listed or listed == [[]]:
                self.wrong.append(f"system {system!r} has no run for the data set {dataset!r}")
            if not each and len(datasets) > 1 and not all(_PLACE in str(run) for run in listed):
                self.wrong.append(
                    f"system {system!r}: {_PLACE} in a path of runs is the data set's name; it is missing"
                )
            yield dataset, [self._file(run, dataset, f"run of {system!r}") for run in listed]

    def _file(self, path: Any, dataset: str, what: str) -> Any:  # noqa: ANN401  (a path, or what is in memory)
        if not isinstance(path, (str, PathLike)):
            return path
        found = self.folder / str(path).replace(_PLACE, dataset)
        if not found.is_file():
            self.wrong.append(f"{dataset}: the {what} is not there: {found}")
        return found

    def _dataset(self, name: str, row: Mapping[str, Any], runs: Mapping[str, Sequence[Any]]) -> DataSet | None:
        if "qrels" not in row:
            self.wrong.append(f"data set {name!r} has no qrels")
            return None
        own = {key: row[key] for key in _SHARED if key in row}
        shared = {key: self.table[key] for key in _SHARED if key in self.table}
        if "measures" in own or "profile" in own:  # one takes the other's place
            shared = {key: value for key, value in shared.items() if key not in ("measures", "profile")}
        options = shared | own
        measured = {key: options[key] for key in _MEASURING if key in options}
        profile = measured.get("profile")
        if isinstance(profile, str) and profile.endswith(".toml"):
            measured["profile"] = self.folder / profile
        try:
            labels, *_, rel = choose(*map(measured.get, ("measures", "profile", "queries", "min_relevance")))
            Plan(list(labels), rel, measured.get("order", "float32"))
        except (ParamError, InputError) as error:
            self.wrong.append(f"data set {name!r}: {error}")
        cluster = options.get("cluster")
        if isinstance(cluster, str) and (self.folder / cluster).is_file():
            cluster = self.folder / cluster
        if cluster is not None:
            try:
                grouped([], cluster, what="cluster")  # reads it, or says what is wrong with it
            except (ParamError, InputError, TypeError) as error:
                self.wrong.append(f"data set {name!r}: cluster = {cluster!r}: {error}")
        return DataSet(name, self._file(row["qrels"], name, "qrels"), measured, cluster, runs)

    def _output(self) -> dict[str, Path]:
        output = self.table.get("output", {})
        known = (*FORMATS, "values")
        if not isinstance(output, Mapping):
            raise ParamError(
                f'output is a table [output] of files by format, such as html = "report.html"; found {output!r}'
            )
        known_keys(output, known, "[output]")
        found = {form: self.folder / str(path) for form, path in output.items()}
        for path in found.values():
            if not path.parent.is_dir():
                self.wrong.append(f"the folder of the output is not there: {path.parent}")
        return found

    def _check_deciding(self) -> None:
        given = {key: self.table[key] for key in _DECIDING if key in self.table}
        for key, value in given.items():
            whole = key == "seed" and (type(value) is not int or value < 0)
            if whole or (key in ("alpha", "margin") and type(value) not in (int, float)):
                self.wrong.append(f"{key} = {value!r} is not {'a whole number >= 0' if whole else 'a number'}")
                return
        try:
            Settings(**given)
        except ParamError as error:
            self.wrong.append(str(error))
