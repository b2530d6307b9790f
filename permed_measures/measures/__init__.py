"""Every measure of this package, one file each, and the one place where a measure's name is read.

A new measure is a new file beside this one: nothing else has to list it.
"""

import ast
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import ir_measures
from ir_measures import Measure

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.measures.base import DEFINED, STANDARD, RankingMeasure, StandardMeasure, declared, define
from permed_measures.measures.declarations import CUTOFF, JUDGED_ONLY, NOT_GIVEN, REL, HostName, Param, condensed

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

EXPORTED = {name: measure for name, measure in DEFINED.items() if measure.HOST_MEASURE is None}
"""What ``from permed_measures import …`` gives; ir_measures' own measures are imported from there."""

__all__ = ["DEFINED", "EXPORTED", "STANDARD", "HostName", "Param", "RankingMeasure", "checked", "declared", "define"]
__all__ += ["host_names", "known_names", "own", "parse", "parse_all", "parse_trec_name", "trec_named"]


def own(measure: Measure) -> RankingMeasure | None:
    """Return the measure of ours that computes this one, or None where it is somebody else's."""
    known = declared(measure)
    return None if isinstance(known, StandardMeasure) else known


def parse(name: str | Measure) -> Measure:
    """Return the one measure that a name stands for.

    Raises ParamError with a suggestion where no measure, or more than one, is meant.

    >>> parse("GWAP(max_rel=3)@10"), parse("gwmap_cut_10"), parse("gwmap@10"), parse("map_cut_10")
    (GWAP(max_rel=3)@10, GWAP@10, GWAP@10, AP@10)
    """
    measures = parse_all(name)
    if len(measures) != 1:
        msg = f"{name!r} stands for {len(measures)} measures ({', '.join(map(str, measures))}); one is needed here"
        raise ParamError(msg)
    return measures[0]


def parse_all(names: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Return the measures that names stand for: ir_measures', trec_eval's or ranx's way of writing them.

    >>> parse_all("GWAP@10 P@1"), parse_all(["coverage_5", "ndcg_exp_cut.5,10"])
    ([GWAP@10, P@1], [Coverage@5, nDCG(dcg='exp-log2')@5, nDCG(dcg='exp-log2')@10])
    """
    if isinstance(names, Measure):
        return [checked(names)]
    if isinstance(names, str):
        words = _split(names)
        if not words:
            raise ParamError("an empty measure name; give one such as 'GWAP@10'")
        return [measure for word in words for measure in _parse_word(word)]
    if not isinstance(names, Iterable) or not getattr(names, "ndim", 1):
        raise ParamError(f"a measure is given by name or as an ir_measures measure, not as {type(names).__name__}")
    return [measure for name in names for measure in parse_all(name)]


def _split(text: str) -> list[str]:
    """Split at white space, except within parentheses."""
    words, depth, start = [], 0, 0
    for place, char in enumerate(text + " "):
        depth += (char in "({[") - (char in ")}]")
        if char.isspace() and depth <= 0:
            words.append(text[start:place])
            start = place + 1
    words.append(text[start:])
    return [word for word in words if word]


def _parse_word(word: str) -> list[Measure]:
    found = parse_trec_name(word) if re.fullmatch(r"\w+\.[\d.,]+|\d\w+", word) else list(trec_named(word).values())
    if found:
        return found
    syntax = re.fullmatch(r"\s*([^\W\d][\w-]*)\s*(\(.*\))?\s*(?:@\s*(.+))?", word, re.DOTALL)
    if syntax is None:
        msg = f"{word!r} is not a measure; write Name(param=value)@cutoff, such as GWAP(max_rel=3)@10"
        raise ParamError(_not_computed(word) or _other_parameters(word) or msg)
    name, given, at = syntax.groups()
    measure = _by_name().get(name)
    if measure is not None:
        params = {} if given is None else _literal_params(word, given)
        if at is not None:
            params[_at_param(measure, word, at)] = _literal(word, at)
        return [checked(type(measure)(**{**measure.params, **params}))]
    if given is None and at is not None and name in host_names():
        measure, host = host_names()[name]
        return [type(measure)(**host.params, **{measure.AT_PARAM: _literal(word, at)})]
    if given is None and at is None:
        found = parse_trec_name(name)
        if found:
            return found
    spelled = _spelled(name, at)
    if spelled is not None:
        return _parse_word(f"{spelled[0]}{given or ''}{'' if spelled[1] is None else '@' + spelled[1]}")
    if name.casefold() in ("acc", "top_k_accuracy"):
        meant = "Success" if at is None else f"Success@{at}"
        msg = f"{word!r} is {meant} here, if it says whether the top k has a relevant document; Accuracy is another"
        raise ParamError(f"{msg} measure, of ir_measures: pairs in the right order")
    near = did_you_mean(name, known_names(), "All that are known: permed-measures measures.")
    raise ParamError(_not_computed(name) or f"unknown measure {word!r}.{near}")


def _spelled(name: str, at: str | None) -> tuple[str, str | None] | None:
    """Return the measure that others write so, and its cut-off: map, mrr, hit_rate, HitRate, f1, precision_at_5."""
    folded = _folded(name)
    found = next((known for known in _by_name() if _folded(known) == folded and known != name), None)
    for measure in (*STANDARD.values(), *DEFINED.values()):
        names = (*measure.SPELLINGS, measure.RANX_NAME or measure.NAME)
        if found is None and name != measure.NAME and folded in map(_folded, names):
            found = measure.NAME
    if found is not None:
        return found, at
    written = re.fullmatch(r"(\w+)_at_(\d+)", name)  # as MLflow does
    return _spelled(written[1], written[2]) if written is not None and at is None else None


def _at_param(measure: Measure, word: str, at: str) -> str:
    if measure.AT_PARAM in measure.SUPPORTED_PARAMS:
        return str(measure.AT_PARAM)
    parts = f"; P@{at} and R@{at} do" if measure.NAME.startswith("Set") else ""
    raise ParamError(f"{word!r}: {measure.NAME} is of the whole list and takes no cut-off{parts}")


def _folded(name: str) -> str:
    return re.sub("[-_]", "", name).casefold()


def _literal_params(word: str, given: str) -> dict[str, Any]:
    try:
        call = ast.parse(_unmixed(f"_{given}"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ParamError(f"{word!r}: the parameters {given!r} cannot be read; write Name(param=value, …)") from None
    if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
        raise ParamError(f"{word!r}: parameters are named, as in GWAP(max_rel=3)")
    return {str(keyword.arg): _literal(word, ast.unparse(keyword.value)) for keyword in call.keywords}


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_RUN_TOGETHER = re.compile(r"\b\d[\w.]*?(and|else|for|if|in|is|not|or)")
"""A number and a word of Python's without a space between them."""


def _unmixed(text: str) -> str:
    """Return a text that Python reads or refuses without a warning; ValueError where it would warn first."""
    if _RUN_TOGETHER.search(_QUOTED.sub("", text)):
        raise ValueError(text)
    return text


def _literal(word: str, text: str) -> Any:  # noqa: ANN401  (whatever was written)
    try:
        return ast.literal_eval(_unmixed(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        hint = "; measures are separated by spaces" if "," in text else ""
        msg = f"{word!r}: {text!r} is not a value; numbers, quoted strings, True, False and dicts of these are{hint}"
        raise ParamError(msg) from None


def _by_name() -> dict[str, Measure]:
    aliases = {alias: measure for measure in DEFINED.values() for alias in measure.ALIASES}
    ours = {name: measure for name, measure in DEFINED.items() if measure.HOST_MEASURE is None}
    return {**ir_measures.measures.registry, **aliases, **ours}


def host_names() -> dict[str, tuple[RankingMeasure, HostName]]:
    """Return the measures of ours by their names in ranx and in trec_eval's style."""
    return {host.name: (measure, host) for measure in DEFINED.values() for host in measure.HOST_NAMES}


def known_names() -> list[str]:
    """Every name that :func:`parse` understands, cut-offs left out."""
    return [*_by_name(), *host_names(), *_trec_names()]


def _trec_names() -> list[str]:
    """trec_eval's names that ir_measures can translate."""
    import pytrec_eval  # noqa: PLC0415  (only for error messages)

    return [name for name in pytrec_eval.supported_measures if name not in _NOT_COMPUTED]


_NOT_COMPUTED = ("relstring", "runid")
"""What trec_eval prints that is text, and no value of a measure."""

_SINCE_10 = ("rbp", "rbp_resid", "unj")
"""What all_trec has since trec_eval 10.0; pytrec_eval is 9.0.8."""


def _not_computed(name: str) -> str:
    """Say so of a name that trec_eval has; nothing of others."""
    stem = re.sub(r"[._][\d.,]+$", "", name)
    return f"trec_eval has {name!r}, but it is text, not a value" if stem in _NOT_COMPUTED else ""


def _other_parameters(word: str) -> str:
    """Say how parameters are given to a measure of ours that trec_eval writes in its own way: utility.1,-1,0,0."""
    known = host_names().get(re.split(r"[._](?=[\d.,=-]+$)", word)[0])
    if known is None:
        return ""
    own_params = [param for param in known[0].SUPPORTED_PARAMS if param != "judged_only"]
    name, params = known[0].NAME, ", ".join(f"{param}=…" for param in own_params)
    advice = f"these parameters are not read here; write {name}({params})" if params else f"{name} takes no parameters"
    return f"{word!r}: {advice}"


def trec_named(name: str) -> dict[str, RankingMeasure]:
    """Return the measures of ours that a trec_eval-style name stands for, by the name of each; none when it is none.

    >>> trec_named("gwmap_cut.5,10"), trec_named("rbp_0.7"), trec_named("unj_5")
    ({'gwmap_cut_5': GWAP@5, 'gwmap_cut_10': GWAP@10}, {'rbp_0.70': RBP(p=0.7)}, {'unj_5': Unjudged@5})
    """
    for measure, host in host_names().values():
        if not name.startswith(host.name):
            continue
        at = measure.SUPPORTED_PARAMS.get(host.at)
        if name == host.name and not host.numbers:
            return {name: type(measure)(**host.params)}
        number = r"\d+" if at is not None and at.kind == "int" else r"\d*\.?\d+"
        written = re.fullmatch(rf"{re.escape(host.name + host.cut)}[._](?:{host.at}=)?({number}(?:,{number})*)", name)
        if at is not None and (written is not None or name == host.name):
            read = int if at.kind == "int" else float
            numbers = host.numbers if written is None else [read(text) for text in written[1].split(",")]
            return {host.trec(n): type(measure)(**{**host.params, host.at: n}) for n in numbers}
    return {}


def parse_trec_name(name: str) -> list[Measure]:
    """Return the measures of a trec_eval-style name; an empty list when it is none.

    Where versions of trec_eval differ (``iprec_at_recall``, ``11pt_avg``), a name has its meaning in 9.0.8 and
    pytrec_eval; what is new in 10.0 (``rbp``, ``rbp_resid``, ``unj``) has the meaning it has there.

    >>> parse_trec_name("gwmap_ideal_cut_10"), parse_trec_name("coverage.5,10"), parse_trec_name("ndcg")
    ([GWAP(norm='ideal')@10], [Coverage@5, Coverage@10], [nDCG])
    """
    ours = trec_named(name)
    if ours:
        return list(ours.values())
    from pytrec_eval import supported_nicknames  # noqa: PLC0415  (ir_measures' parser imports it too)

    if name in supported_nicknames:
        members = {*supported_nicknames[name], *(_SINCE_10 if name == "all_trec" else ())}
        left_out = sorted(members.intersection(_NOT_COMPUTED))
        if left_out:
            print(f"{name}: left out, as text and not a value: {', '.join(left_out)}", file=sys.stderr)  # noqa: T201  (as ir_measures tells it)
        return [measure for member in sorted(members) for measure in parse_trec_name(member)]
    try:
        found = ir_measures.util.parse_trec_measure(name)  # register() puts ours in the place of the other
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return []  # ir_measures raises whatever its parser runs into
    return [checked(measure) for measure in found]


def checked(measure: Measure) -> Measure:
    """Check the parameters of a measure, ours or ir_measures', as soon as it is named.

    ir_measures itself asserts them on use, accepts a cut-off of 0, and rejects ``rel=7.5``, which we compute.
    """
    if isinstance(measure, RankingMeasure):
        return _with_all_needed(measure)
    for name, value in measure.params.items():
        info = measure.SUPPORTED_PARAMS.get(name)
        if name == "judged_only" and info is None:
            return checked(_judged_only(measure))
        if info is None:
            raise ParamError(f"{measure.NAME} has no parameter {name!r}.{did_you_mean(name, measure.SUPPORTED_PARAMS)}")
        if name in _EVERYWHERE:
            _EVERYWHERE[name].checked(measure.NAME, name, value)
        elif declared(measure) is None and not info.validate(value):
            one_of = info.choices is not NOT_GIVEN
            allowed = f"one of {info.choices}" if one_of else f"a value of type {info.dtype.__name__}"
            raise ParamError(f"{measure.NAME}: {name}={value!r} is not allowed; give {allowed}")
    return _with_all_needed(measure)


def _judged_only(measure: Measure) -> Measure:
    """Return a measure of ir_measures' with ``judged_only``, which we compute; ParamError where it means nothing."""
    known = DEFINED.get(measure.NAME, STANDARD.get(measure.NAME))
    why = _JUDGED if measure.NAME == "Judged" else "" if known is None else known.NOT_CONDENSED
    if why:
        raise ParamError(f"{measure.NAME} has no parameter 'judged_only'. {why}")
    return condensed(type(measure))(**measure.params)


_JUDGED = "Without unjudged documents it is 1 for every list"
_EVERYWHERE = {"cutoff": CUTOFF, "rel": REL, "judged_only": JUDGED_ONLY}
"""Parameters that mean the same in every measure, also in those that ir_measures has computed elsewhere."""


def _with_all_needed(measure: Measure) -> Measure:
    for name, info in measure.SUPPORTED_PARAMS.items():
        if info.required and name not in measure.params:
            at = 10 if name == "cutoff" else 0.1  # a rank; a share, as of the recall of IPrec
            example = f"{measure.NAME}@{at}" if name == measure.AT_PARAM else f"{measure.NAME}({name}=…)"
            raise ParamError(f"{measure.NAME} needs {name}; write {example}")
    return measure
