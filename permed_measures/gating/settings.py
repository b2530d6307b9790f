"""gate.toml: what a gate checks, beside the code. Paths in it start from its folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from permed_measures.comparison import run_name
from permed_measures.comparison.systems import is_repeated, named_runs
from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate.groups import NAMED
from permed_measures.files import read_qrels, read_run
from permed_measures.files.values import is_saved
from permed_measures.gating.conditions import read_serving
from permed_measures.profiles import PROFILES, read_toml
from permed_measures.tables.datasets import is_parquet

NAME = "gate.toml"
_NUMBER = (int, float)
_TEXTS = (
    *("qrels", "profile", "undecided", "segments", "cluster", "serving", "queries", "order", "human", "map"),
    *("correction", "qrels_format", "run_format"),
)
KEYS: Mapping[str, Any] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(("hard_drop", "max_drop_since_anchor", "min_relevance"), _NUMBER),
    **dict.fromkeys(("confident", "allow_skipped"), bool),
    **dict.fromkeys(("run", "baseline"), (str, list)),
    "conditions": list,
    "max_drop": (*_NUMBER, dict),
    "alpha": float,
}
_PATHS = ("qrels", "run", "baseline", "serving", "profile", "segments", "cluster", "human")


def find(start: Path | None = None) -> Path | None:
    """Return the nearest gate.toml: of this folder, or of one above it."""
    here = (start or Path.cwd()).resolve()
    return next((folder / NAME for folder in (here, *here.parents) if (folder / NAME).is_file()), None)


def load(path: str | Path) -> dict[str, Any]:
    """Read a gate.toml; an unknown key, or a value of another kind, is an InputError."""
    table = read_toml(Path(path), "gate file")
    for key, value in table.items():
        if key not in KEYS:
            raise InputError(f"a gate has no key {key!r}.{did_you_mean(key, KEYS)}", path=path)
        wrong = not isinstance(value, KEYS[key]) or (isinstance(value, bool) and KEYS[key] is not bool)
        inside = value.values() if isinstance(value, dict) else ()
        texts = isinstance(value, list) and not all(isinstance(one, str) for one in value)
        if wrong or texts or not all(type(one) in _NUMBER for one in inside):
            raise InputError(
                f"{key} = {value!r} is not allowed; {_ALLOWED.get(key, _SAID.get(KEYS[key], 'give a number'))}",
                path=path,
            )
    folder = Path(path).parent
    return {key: _from(folder, key, value) for key, value in table.items()}


_SAID = {str: "give a text", bool: "give true or false"}
_ALLOWED = {
    "conditions": "give a list of texts, such as ['nDCG@10 >= 0.85']",
    **dict.fromkeys(("run", "baseline"), "give a path, or a list of paths: the runs of one system"),
    "max_drop": "give a number, or a table [max_drop] with a number for each measure, such as 'nDCG@10' = 0.02",
}


def _from(folder: Path, key: str, value: Any) -> Any:  # noqa: ANN401  (checked before)
    """Return a path from the file's folder; names of profiles and groups, and expressions, stay."""
    if isinstance(value, list) and key in _PATHS:
        return [str(folder / one) for one in value]
    if key not in _PATHS or value in (*PROFILES, *NAMED):
        return value
    path = folder / value
    if key in ("segments", "cluster"):
        try:
            return str(path) if path.is_file() else value
        except (OSError, ValueError):  # an expression that can be no path
            return value
    return str(path)


def max_drops(given: tuple[str, ...]) -> float | dict[str, float] | None:
    """Read --max-drop: one number for all measures, or MEASURE=X for some.

    >>> max_drops(("0.02",)), max_drops(("nDCG@10=0.02", "RR=0.05"))
    (0.02, {'nDCG@10': 0.02, 'RR': 0.05})
    """
    if not given:
        return None
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            margin = float(number)
        except ValueError:
            margin = -1.0
        if name.strip() in found or margin < 0:
            raise ParamError(
                f"--max-drop {text!r}: give one number >= 0 such as 0.02, or measures, such as nDCG@10=0.02, each once"
            )
        found[name.strip()] = margin
    if "" in found and len(found) > 1:
        raise ParamError(f"--max-drop {given!r}: give one number for all measures, or one for each that is named")
    return found.get("", found)


_Reader = Callable[[Any, str | None], Any]


def arguments(
    settings: Mapping[str, Any],
    qrels_in: _Reader = lambda path, form: path if form is None else read_qrels(path, form),
    run_in: _Reader = lambda path, form: path if form is None else read_run(path, form),
) -> dict[str, Any]:
    """Return the arguments of gate(): files are read that it does not read itself."""
    known = dict(settings)
    qrels_form, run_form = known.pop("qrels_format", None), known.pop("run_format", None)
    name, run = _runs(known["run"])
    known.setdefault("run_name", name or run_name(run, "run"))
    known["qrels"] = qrels_in(known["qrels"], qrels_form)
    known["run"] = [run_in(one, run_form) for one in run] if isinstance(run, list) else run_in(run, run_form)
    if "map" in known:
        known["mapping"] = known.pop("map")
    _, baseline = _runs(known.get("baseline"))
    for path in baseline if isinstance(baseline, list) else [baseline]:
        if isinstance(path, (str, Path)) and not Path(path).exists() and not is_parquet(str(path)):
            msg = "the baseline is not there; permed-measures gate --accept writes it from a run that is good enough"
            raise InputError(msg, path=path)
    if isinstance(baseline, list):
        known["baseline"] = [run_in(one, run_form) for one in baseline]
    elif isinstance(baseline, (str, Path)):
        known["baseline"] = baseline if is_saved(baseline) else run_in(baseline, run_form)
    if isinstance(known.get("serving"), (str, Path)):
        known["serving"] = read_serving(known["serving"])
    return known


def _runs(given: Any) -> tuple[str | None, Any]:  # noqa: ANN401  (what gate() takes)
    """Return the name of a system and its run, or a list of its runs: NAME=RUN,RUN, or a list."""
    named = named_runs(given) if isinstance(given, str) else None
    name, paths = named or (None, given if isinstance(given, list) and is_repeated(given) else None)
    if paths is None:
        return None, given
    return name, paths[0] if len(paths) == 1 else list(paths)
