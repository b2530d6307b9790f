"""``permed-measures measures``: what the measures are, from the measures themselves."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
import ir_measures
from ir_measures import Measure

from permed_measures.cli._formats import report_option
from permed_measures.comparison import p_imp
from permed_measures.delegate import delegates
from permed_measures.errors import ParamError
from permed_measures.files.output import print_whole
from permed_measures.measures import DEFINED, declared, own, parse_all
from permed_measures.measures.base import NOT_GIVEN, HostName, Param, RankingMeasure
from permed_measures.measures.definitions import definition, description, formula, in_unicode, plain
from permed_measures.render.document import Table, of_table
from permed_measures.render.records import as_json
from permed_measures.render.result import Format, written

_ONE_FORMATS = ("text", "json", "jsonl")


@click.command(short_help="List the measures, or describe one.")
@click.argument("name", required=False, metavar="[MEASURE]")
@report_option
def command(*, name: str | None, form: Format) -> None:
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
    if name is not None and form not in _ONE_FORMATS:
        msg = f"one measure is described as {', '.join(_ONE_FORMATS)}; {form} is for the list, without {name}"
        raise ParamError(msg)
    measures = _all() if name is None else [_found(name)]
    if form in ("json", "jsonl"):
        records: list[Any] = list(map(_record, measures))
        if form == "json":
            print_whole(as_json(records if name is None else records[0]) + "\n")
        else:
            print_whole("".join(as_json(record, None) + "\n" for record in records))
    else:
        print_whole(written(of_table(_list()), form) if name is None else "\n".join(_described(measures[0])) + "\n")


def _all() -> list[Measure]:
    """Return ours, then ir_measures' own, each once."""
    registry = ir_measures.measures.registry.values()
    return [*DEFINED.values(), *(m for m in dict.fromkeys(registry) if m.NAME not in DEFINED)]


def _list() -> Table:
    rows = []
    for measure in _all():
        stems = dict.fromkeys(name.stem for names in _names(measure).values() for name in names)
        rows.append([str(measure), ", ".join(stems), _computed_by(measure), _said(measure)])
    below = (
        "permed-measures measures MEASURE describes one; it is written Name(param=value)@cutoff.",
        f"{p_imp.NAME}, which compare reports, is of two runs: permed-measures measures {p_imp.NAME} describes it.",
    )
    return Table(["measure", "ranx and trec_eval names", "computed by", "what it is"], rows, below=below)


def _p_imp() -> Measure:
    """Return P-imp, which is of two runs, as a measure to describe."""
    more = (inspect.getdoc(p_imp.pair_improvement) or "").partition("\n\n")[2]
    deep = "how deep it looks; as deep as the deepest measure with a cut-off above 1, else 10, when not given"
    said = {
        "__doc__": f"Of two runs: {p_imp.meaning('k', 'the baseline')}.\n\n.. math:: {p_imp.FORMULA}\n\n{more}",
        "NAME": p_imp.NAME,
        "PRETTY_NAME": p_imp.LABEL,
        "SUPPORTED_PARAMS": {"cutoff": Param("int", desc=deep)},
        "__name__": p_imp.NAME,
    }
    return type(p_imp.NAME, (Measure,), said)()


class _Name(NamedTuple):
    """What a measure with some parameters is called in another host: alone, and as it is written there."""

    stem: str
    written: Sequence[str]
    params: Mapping[str, Any]


def _names(measure: Measure) -> dict[str, list[_Name]]:
    """Return the names in ranx and as trec_eval writes them: theirs for what they have, then ours."""
    known = declared(measure)
    if known is None:
        return {"ranx": [], "trec_eval": []}
    numbers = _numbers(known)
    in_ranx = [known.RANX_NAME if n is None else f"{known.RANX_NAME}@{n}" for n in numbers]
    asked = [(known if n is None else known(**{known.AT_PARAM: n})).asked for n in numbers]
    in_trec = [call.name for call in asked if call is not None and call.cut is None]
    hosts = known.HOST_NAMES
    return {
        "ranx": [
            *([_Name(known.RANX_NAME, in_ranx, {})] if known.RANX_NAME else []),
            *(_Name(host.name, (host.ranx(None), host.ranx(10)), host.params) for host in hosts if host.in_ranx),
        ],
        "trec_eval": [
            *([_Name(re.sub(r"_(10|0\.10)$", "", in_trec[0]), in_trec, {})] if in_trec else []),
            *(_Name(host.name, _trec_names(known, host), host.params) for host in hosts),
        ],
    }


def _numbers(measure: RankingMeasure) -> list[float | None]:
    """Return what may follow a name, as examples: nothing, a cut-off, a recall."""
    at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    number = [] if at is None else [10 if at.kind == "int" else 0.1]
    return [*([] if at is not None and at.required else [None]), *number]


def _trec_names(measure: RankingMeasure, host: HostName) -> list[str]:
    """Return a trec_eval-style name alone and, where one may be given, with a number."""
    at = measure.SUPPORTED_PARAMS.get(host.at)
    if at is None or host.at in host.params:
        return [host.trec(None)]
    return [host.trec(None), host.trec(host.numbers[0] if host.numbers else 10 if at.kind == "int" else at.default)]


def _said(measure: Measure) -> str:
    return str(getattr(measure, "SHORT_DESC", None) or definition(measure)).rstrip(".")


def _computed_by(measure: Measure) -> str:
    if own(measure) is not None or measure.NAME == p_imp.NAME:
        return "permed_measures"
    return "pytrec_eval" if delegates(measure) else "ir_measures"


def _found(name: str) -> Measure:
    word = name.partition("(")[0].partition("@")[0]
    if word.casefold().replace("_", "-") == p_imp.NAME.casefold():
        return _p_imp()
    known: dict[str, Measure] = {**ir_measures.measures.registry, **DEFINED}
    for ours in DEFINED.values():
        known.update(dict.fromkeys([*ours.ALIASES, *(host.name for host in ours.HOST_NAMES)], ours))
    folded = {key.casefold(): measure for key, measure in reversed(known.items())}
    # else P_5, recip_rank: names with a cut-off, or of trec_eval
    return known.get(word) or folded.get(word.casefold()) or known[parse_all(name)[0].NAME]


def _record(measure: Measure) -> dict[str, Any]:
    """Return all there is to say of a measure, for programs."""
    described = declared(measure) or measure
    return {
        "name": str(measure),
        "label": described.PRETTY_NAME or described.NAME,
        "definition": _said(described),
        "formula": formula(described),
        "params": {name: _param_record(info) for name, info in described.SUPPORTED_PARAMS.items()},
        "names": {
            "ir_measures": _ir_measures_names(described, alone=True),
            **{host: {name.stem: dict(name.params) for name in names} for host, names in _names(measure).items()},
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
    described = declared(measure) or measure
    lines = [f"{described.NAME}: {described.PRETTY_NAME or ''}".rstrip(": "), "", _doc(described), "", "Parameters"]
    lines += [f"  {_param(name, info)}" for name, info in described.SUPPORTED_PARAMS.items()] or ["  none"]
    lines += ["", "Names"]
    if measure.NAME == p_imp.NAME:
        lines.append(f"  compare      {p_imp.NAME}@10, with --p-imp-cutoff 10")
    lines += [f"  ir_measures  {name}" for name in _ir_measures_names(described)]
    for host, names in _names(measure).items():
        for name in names:
            given = ", ".join(f"{param}={value!r}" for param, value in name.params.items())
            lines.append(f"  {host:<12} {', '.join(name.written)}" + (f"   ({given})" if given else ""))
    return [*lines, "", f"Computed by {_computed_by(measure)}"]


def _doc(measure: Measure) -> str:
    """Return the docstring without the marks of its markup, and the formula as text."""
    shown = re.sub(
        r"^\.\. math::.+?(?=\n\s*\n|\Z)",
        lambda _: f"Formula: {in_unicode(formula(measure) or '')}",
        description(measure),
        flags=re.DOTALL | re.MULTILINE,
    )
    return plain(shown).replace(".. cite.dblp:: ", "Source: dblp ")


def _ir_measures_names(measure: Measure, *, alone: bool = False) -> list[str]:
    names = [] if measure.NAME == p_imp.NAME else [measure.NAME, *getattr(measure, "ALIASES", ())]
    at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    if at is None or alone:
        return names
    number = 10 if measure.AT_PARAM == "cutoff" else 0.1
    return [f"{name}@{number}" if at.required else f"{name}, {name}@{number}" for name in names]


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
