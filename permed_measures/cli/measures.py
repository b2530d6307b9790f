"""``permed-measures measures``: what the measures are, from the measures themselves."""

from __future__ import annotations

import inspect
from typing import Any

import click
import ir_measures
from ir_measures import Measure

from permed_measures.cli import _tables
from permed_measures.definitions import definition
from permed_measures.delegate import delegates
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.measures import DEFINED, own
from permed_measures.measures.base import NOT_GIVEN, Param, RankingMeasure


@click.command(short_help="List the measures, or describe one.")
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(list(_tables.FORMATS)), default="table", show_default=True)
def command(*, name: str | None, form: str) -> None:
    r"""List the measures, or describe the one called NAME: formula, parameters, names in every host.

    \b
    Examples:
      permed-measures measures
      permed-measures measures GWAP
      permed-measures measures ndcg_exp
    """
    if name is None:
        click.echo(_tables.FORMATS[form](_list()), nl=False)
    else:
        click.echo("\n".join(_described(_found(name))))


def _standard() -> list[Measure]:
    """Return ir_measures' own measures, each once."""
    registry = ir_measures.measures.registry.values()
    return [m for m in dict.fromkeys(registry) if m.NAME not in DEFINED]


def _list() -> _tables.Table:
    rows: list[list[str | float]] = []
    for measure in DEFINED.values():
        names = [host.name for host in measure.HOST_NAMES]
        rows.append([measure.NAME, ", ".join(names), "permed_measures", definition(measure)])
    rows += [
        [str(measure), "", _computed_by(measure), (measure.SHORT_DESC or definition(measure)).rstrip(".")]
        for measure in _standard()
    ]
    below = ("permed-measures measures NAME describes a measure; its name is written Name(param=value)@cutoff.",)
    return _tables.Table(["measure", "ranx and trec_eval names", "computed by", "what it is"], rows, below)


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


def _described(measure: Measure) -> list[str]:
    described = own(measure) or measure
    lines = [f"{described.NAME}: {described.PRETTY_NAME or ''}".rstrip(": "), ""]
    lines += [_doc(described), "", "Parameters"]
    lines += [f"  {_param(name, info)}" for name, info in described.SUPPORTED_PARAMS.items()] or ["  none"]
    lines += ["", "Names"]
    lines += [f"  ir_measures  {name}" for name in _ir_measures_names(described)]
    if isinstance(described, RankingMeasure):
        for host in described.HOST_NAMES:
            given = "".join(f", {name}={value!r}" for name, value in host.params.items()).removeprefix(", ")
            for_params = f"   ({given})" if given else ""
            lines.append(f"  ranx         {host.ranx(None)}, {host.ranx(10)}{for_params}")
            lines.append(f"  trec_eval    {host.trec(None)}, {host.trec(10)}{for_params}")
    lines += ["", f"Computed by {_computed_by(measure)}"]
    return lines


def _doc(measure: Measure) -> str:
    """Return the docstring without the marks of its markup."""
    doc = (inspect.getdoc(type(measure)) or "").strip().replace("``", "")
    return doc.replace(".. math:: ", "Formula: ").replace(".. cite.dblp:: ", "Source: dblp ")


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
