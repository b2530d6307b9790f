"""The names of measures that pytrec_eval's class is given: its own, in the form that it reads safely, and ours."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

import pytrec_eval as host
from ir_measures import Measure, nDCG
from pytrec_eval import supported_nicknames

from permed_measures.delegate import exact_measure
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.evaluate import Plan, distinct
from permed_measures.measures import checked, host_names, parse, parse_all, trec_named

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # those of trec_eval for a measure named without one: m_map_cut.c

_CUT = {"P", "recall", "ndcg_cut", "map_cut", "relative_P", "success"}
_RECALL_LEVELS = {"iprec_at_recall", "11pt_avg"}
_FACTORS = {"Rprec_mult", "set_F"}
GRADED = ("ndcg", "ndcg_cut", "ndcg_rel", "Rndcg", "G")
"""Measures of pytrec_eval's that look at grades: where it cannot take them, they are computed here."""

_THEIRS = frozenset(host.supported_measures)

supported_measures: set[str] = {*_THEIRS} | {
    name
    for stem, (measure, ours) in host_names().items()
    for name in (stem, stem + ours.cut if "cutoff" in measure.SUPPORTED_PARAMS and ours.at == "cutoff" else stem)
}


def read(names: Iterable[str | Measure], level: float) -> tuple[set[str], dict[str, Measure]]:
    """Part the names: pytrec_eval's, in the one form that it reads safely, and ours with the key of each value."""
    theirs: set[str] = set()
    ours: list[tuple[str, Measure]] = []
    betas: set[str] = set()
    for name in [names] if isinstance(names, (str, Measure)) else names:
        if isinstance(name, Measure):
            ours.append((str(name), checked(name)))
        elif not isinstance(name, str):
            raise ParamError(f"a measure is given by name or as a measure, not as {type(name).__name__}")
        elif name in supported_nicknames:
            theirs |= _members(name)
        elif name in _THEIRS:
            theirs.add(name)
        elif (known := _with_parameters(name)) is not None:
            theirs |= known
            betas |= {word for word in known if word.startswith("set_F.")}
        else:
            ours += _ours(name)
    if len(betas) > 1:
        msg = f"{', '.join(sorted(betas))}: pytrec_eval computes one set_F at a time; make one evaluator for each"
        raise ParamError(msg)
    distinct([measure for key, measure in ours if key == str(measure)], level, name="relevance_level")
    return theirs, dict(ours)


def _members(nickname: str) -> set[str]:
    members = set(supported_nicknames[nickname])
    unknown = sorted(members - _THEIRS)
    if unknown:
        usable = [name for name, names in supported_nicknames.items() if _THEIRS.issuperset(names)]
        msg = f"pytrec_eval cannot compute {nickname!r}: it lacks {', '.join(unknown)}; usable: {', '.join(usable)}"
        raise ParamError(msg)
    return members


def _with_parameters(name: str) -> set[str] | None:
    """Return pytrec_eval's names for one such as ndcg_cut.10,100, one for each parameter; None when it is not its own.

    pytrec_eval ends the process on a cut-off of 0, on one that is given twice, and on parameters that are not cut-offs.
    """
    written = re.fullmatch(r"([A-Za-z0-9_]+?)[._]([0-9.,]+)", name)
    if written is None or written[1] not in _THEIRS:
        return None
    stem, parameters = written[1], written[2].split(",")
    if stem in _CUT:
        pattern, allowed = r"0*[1-9]\d*", "cut-offs are whole numbers >= 1"
    elif stem in _RECALL_LEVELS:
        pattern, allowed = r"0+(\.\d+)?|1(\.0+)?|0*1", "recall levels are numbers from 0 to 1"
    elif stem in _FACTORS:
        pattern, allowed = r"\d+(\.\d+)?", "it takes a number >= 0"
    else:
        cut = f"{stem}_cut"
        advice = f"; write {cut}_{written[2]}" if cut in _THEIRS else ""
        raise ParamError(f"{name!r}: {stem} takes no parameter{advice}")
    if not all(re.fullmatch(pattern, parameter) for parameter in parameters):
        raise ParamError(f"{name!r}: {allowed}, as in {stem}.{'5,10' if stem in _CUT else '0.5'}")
    return {f"{stem}.{_shortest(parameter)}" for parameter in parameters}


def _shortest(number: str) -> str:
    """Return the one way to write 5 and 05, or 0.5 and 0.50."""
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    return f"{int(whole)}.{fraction}" if fraction else str(int(whole))


def _ours(name: str) -> list[tuple[str, Measure]]:
    """Return the measures of ours that a name stands for, each with the key of its values."""
    named = trec_named(name)
    if named:
        return list(named.items())
    for stem, (measure, ours) in host_names().items():
        if name == stem + ours.cut and ours.at == "cutoff" and "cutoff" in measure.SUPPORTED_PARAMS:
            return [(ours.trec(cutoff), type(measure)(**ours.params, cutoff=cutoff)) for cutoff in _CUTOFFS]
    if "@" in name or "(" in name:
        return [(str(measure), measure) for measure in parse_all(name)]
    word = re.match(r"\w*", name)
    near = did_you_mean(word[0] if word else name, {*supported_measures, *supported_nicknames})
    raise ParamError(f"{name!r} is not a measure; names are written as ndcg, ndcg_cut_10 or ndcg_cut.10,100.{near}")


@lru_cache(maxsize=64)
def over_columns(names: frozenset[str], level: float) -> tuple[list[str], Plan] | None:
    """Return how all names are computed over columns to every bit of pytrec_eval's; None where one is not."""
    keys = [name.replace(".", "_") for name in names]
    known = [measure for measure in map(exact_measure, keys) if measure is not None]
    return (keys, Plan(known, level)) if names and len(known) == len(keys) else None


def exact(names: Collection[str]) -> dict[str, Measure]:
    """Return our measures under pytrec_eval's names, for grades that pytrec_eval cannot take."""
    found = {name: parse(name) for name in GRADED if name in names and name != "ndcg_cut"}
    cutoffs = [int(name.partition(".")[2]) for name in names if name.startswith("ndcg_cut.")]
    if not cutoffs and "ndcg_cut" in names:
        cutoffs = list(_CUTOFFS)
    return found | {f"ndcg_cut_{cutoff}": nDCG @ cutoff for cutoff in sorted(cutoffs)}
