"""``permed-measures measures``: what the measures are, from the measures themselves."""

from __future__ import annotations

import json
from typing import Any

import click
import ir_measures
from ir_measures import Measure

from permed_measures.cli import _tables
from permed_measures.definitions import definition, description, formula, plain
from permed_measures.delegate import delegates
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.measures import DEFINED, own
from permed_measures.measures.base import NOT_GIVEN, HostName, Param, RankingMeasure

_ONE_FORMATS = ("table", "json", "jsonl")


@click.command(short_help="List the measures, or describe one.")
@click.argument("name", required=False, metavar="[MEASURE]")
@click.option("--format", "form", type=click.Choice(list(_tables.FORMATS)), default="table", show_default=True)
def command(*, name: str | None, form: str) -> None:
    r"""List the measures, or describe one MEASURE: formula, parameters, names in every host.

    As JSON a measure is an object with its formula, parameters and names; the list is a list of these.

    \b
    Examples:
      permed-measures measures
      permed-measures measures GWAP
      permed-measures measures ndcg_exp
      permed-measures measures GWAP --format json
      permed-measures measures --format markdown
    """
    if name is None:
        click.echo(_listed(form), nl=False)
        return
    if form not in _ONE_FORMATS:
        msg = f"one measure is described as {', '.join(_ONE_FORMATS)}; {form} is for the list, without {name}"
        raise ParamError(msg)
    measure = _found(name)
    click.echo("\n".join(_described(measure)) if form == "table" else _json(_record(measure), form))


def _listed(form: str) -> str:
    if form == "json":
        return _json([_record(measure) for measure in _all()], form) + "\n"
    if form == "jsonl":
        return "".join(_json(_record(measure), form) + "\n" for measure in _all())
    return _tables.FORMATS[form](_list())


def _json(content: Any, form: str) -> str:  # noqa: ANN401  (records)
    return json.dumps(content, indent=2 if form == "json" else None, ensure_ascii=False)


def _all() -> list[Measure]:
    """Return ours, then ir_measures' own, each once."""
    registry = ir_measures.measures.registry.values()
    return [*DEFINED.values(), *(m for m in dict.fromkeys(registry) if m.NAME not in DEFINED)]


def _list() -> _tables.Table:
    rows: list[list[str | float]] = [
        [str(measure), ", ".join(host.name for host in _hosts(measure)), _computed_by(measure), _said(measure)]
        for measure in _all()
    ]
    below = ("permed-measures measures MEASURE describes one; it is written Name(param=value)@cutoff.",)
    return _tables.Table(["measure", "ranx and trec_eval names", "computed by", "what it is"], rows, below)


def _hosts(measure: Measure) -> tuple[HostName, ...]:
    return measure.HOST_NAMES if isinstance(measure, RankingMeasure) else ()


def _said(measure: Measure) -> str:
    return str(getattr(measure, "SHORT_DESC", None) or definition(measure)).rstrip(".")


def _computed_by(measure: Measure) -> str:
    if own(measure) is not None:
        return "permed_measures"
    return "pytrec_eval" if delegates(measure) else "ir_measures"


def _found(name: str) -> Measure:
    known: dict[str, Measure] = {**ir_measures.measures.registry, **DEFINED}
    for ours in DEFINED.values():
        known.update(dict.fromkeys([*ours.ALIASES, *(host.name for host in ours.HOST_NAMES)], ours))
    word = name.partition("(")[0].partition("@")[0]
    folded = {key.casefold(): measure for key, measure in reversed(known.items())}
    measure = known.get(word, folded.get(word.casefold()))
    if measure is None:
        raise ParamError(f"unknown measure {name!r}.{did_you_mean(word, known)}")
    return measure


def _record(measure: Measure) -> dict[str, Any]:
    """Return all there is to say of a measure, for programs."""
    described = own(measure) or measure
    hosts = _hosts(described)
    return {
        "name": str(measure),
        "label": described.PRETTY_NAME or described.NAME,
        "definition": _said(described),
        "formula": formula(described),
        "params": {name: _param_record(info) for name, info in described.SUPPORTED_PARAMS.items()},
        "names": {
            "ir_measures": [described.NAME, *getattr(described, "ALIASES", ())],
            "ranx": {host.ranx(None): dict(host.params) for host in hosts},
            "trec_eval": {host.trec(None): dict(host.params) for host in hosts},
        },
        "computed_by": _computed_by(measure),
    }


def _param_record(info: Any) -> dict[str, Any]:  # noqa: ANN401  (ir_measures' ParamInfo, or ours)
    is_choice = info.choices is not NOT_GIVEN
    kind = "choice" if is_choice else getattr(info.dtype, "__name__", "any")
    return {
        "type": info.kind if isinstance(info, Param) else kind,
        **({"choices": list(info.choices)} if is_choice else {}),
        "required": info.required,
        "default": None if info.default is NOT_GIVEN else info.default,
        "desc": info.desc or "",
    }


def _described(measure: Measure) -> list[str]:
    described = own(measure) or measure
    lines = [f"{described.NAME}: {described.PRETTY_NAME or ''}".rstrip(": "), ""]
    lines += [_doc(described), "", "Parameters"]
    lines += [f"  {_param(name, info)}" for name, info in described.SUPPORTED_PARAMS.items()] or ["  none"]
    lines += ["", "Names"]
    lines += [f"  ir_measures  {name}" for name in _ir_measures_names(described)]
    for host in _hosts(described):
        given = ", ".join(f"{name}={value!r}" for name, value in host.params.items())
        for_params = f"   ({given})" if given else ""
        lines.append(f"  ranx         {host.ranx(None)}, {host.ranx(10)}{for_params}")
        lines.append(f"  trec_eval    {host.trec(None)}, {host.trec(10)}{for_params}")
    lines += ["", f"Computed by {_computed_by(measure)}"]
    return lines


def _doc(measure: Measure) -> str:
    """Return the docstring without the marks of its markup."""
    return plain(description(measure)).replace(".. math:: ", "Formula: ").replace(".. cite.dblp:: ", "Source: dblp ")


def _ir_measures_names(measure: Measure) -> list[str]:
    names = [measure.NAME, *getattr(measure, "ALIASES", ())]
    return [f"{name}, {name}@10" if "cutoff" in measure.SUPPORTED_PARAMS else name for name in names]


def _param(name: str, info: Any) -> str:  # noqa: ANN401  (ir_measures' ParamInfo, or ours)
    if isinstance(info, Param):
        allowed = info.allowed
    elif info.choices is not NOT_GIVEN:
        allowed = "one of " + ", ".join(map(repr, info.choices))
    else:
        allowed = getattr(info.dtype, "__name__", "any value")
    default = "none" if info.default is NOT_GIVEN or info.default is None else repr(info.default)
    needed = "required" if info.required else f"default {default}"
    return f"{name}: {allowed}; {needed}. {info.desc or ''}".rstrip(" .")
