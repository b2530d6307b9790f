"""``permed-measures trec_eval``: the command line of trec_eval, and what it prints, to the digit."""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import exp, log, nan
from typing import Any, NamedTuple

import click
from ir_measures import Measure, SumAgg

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import evaluate
from permed_measures.files import trec
from permed_measures.files.large import rankings
from permed_measures.files.output import print_note
from permed_measures.files.source import Source
from permed_measures.inputs import Qrels, Returned, as_qrels, distinct_grades, rankings_of
from permed_measures.measures import parse
from permed_measures.measures.gmap import LEAST, GeometricMean
from permed_measures.measures.iprec_nearest import ELEVEN, level
from permed_measures.ranking import Order, Ranking
from permed_measures.render.words import queries

_OLD = "9.0.8"
_VERSIONS: dict[str, Order] = {"10.0": "float64", _OLD: "float32"}
_PRINTED = """
runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall infAP
gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P
set_relative_P set_recall set_map set_F num_nonrel_judged_ret rbp rbp_resid unj
"""
_ORDER = _PRINTED.split()  # in which trec_eval prints measures: measures.c

_SINCE_10 = ("rbp", "rbp_resid", "unj")
_SET = "runid num_q num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P set_map set_F"
_NICKNAMES = {"official": _ORDER[: _ORDER.index("P") + 1], "set": _SET.split(), "all_trec": _ORDER}
_NUMBERS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("P", "recall", "ndcg_cut", "map_cut", "relative_P"), (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    **dict.fromkeys(("iprec_at_recall", "11pt_avg"), ELEVEN),
    "Rprec_mult": tuple(fifths / 5 for fifths in range(1, 11)),
    "success": (1, 5, 10),
    "unj": (5, 10, 20),
}
"""What they are printed at, and 11pt_avg averaged over, when no numbers are given."""

_ELSEWHERE = re.compile(r"dcg|ideal_dcg|yaap|(all_)?prefs.*|qrels_jg|.+_avgjg|(G|ndcg_rel|Rndcg)\..*")
"""What trec_eval has besides, mostly for other judgements than qrels, and gains of other measures than ndcg."""

_NOT_HERE = {
    "-D": "debugging",
    "-N": "size of the collection",
    "-R": "other qrels",
    "-T": "other runs",
    "-Z": "Z scores",
}
_UNCOUNTED = re.compile(r"num_ret|utility|rbp_resid|unj.*|relstring")
"""What is not changed by the document that, with -c, trec_eval 10.0 puts into the list of a query without one."""

_PIECE = 1 << 20


class _Flags(NamedTuple):
    version: str
    rel: int
    most: int | None
    by_query: bool
    no_summary: bool
    complete: bool
    judged_only: bool


class _Column(NamedTuple):
    """What is printed in one line for each query: the mean of some measures, nearly always of one; or a text."""

    label: str
    measures: tuple[Measure, ...] = ()
    length: int = 0  # of the text, in documents

    @property
    def aggregator(self) -> object:
        return self.measures[0].aggregator() if self.measures else None

    @property
    def counts(self) -> bool:
        return isinstance(self.aggregator, SumAgg)

    @property
    def of_all(self) -> bool:
        """Whether only the line for all queries is printed."""
        return self.label in ("runid", "num_q") or isinstance(self.aggregator, GeometricMean)

    def line(self, query_id: str, value: float | str) -> str:
        """Return a line as trec_eval prints it; C writes 0 / 0 as -nan."""
        if isinstance(value, float):
            value = "  -nan" if value != value else f"{value:.0f}" if self.counts else f"{value:6.4f}"
        return f"{self.label:<22}\t{query_id}\t{value}\n"


@click.command(short_help="Print what trec_eval prints.")
@click.argument("qrels", metavar="QRELS", type=click.Path(dir_okay=False))
@click.argument("run", metavar="RUN", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-q", "--query_eval_wanted", "by_query", is_flag=True, help="The values of each query, too.")
@click.option("-n", "--nosummary", "no_summary", is_flag=True, help="No line for all queries.")
@click.option("-c", "--complete_rel_info_wanted", "complete", is_flag=True, help="Queries missing from RUN count 0.")
@click.option("-l", "--level_for_rel", "rel", type=click.IntRange(1), default=1, help="The lowest relevant grade.")
@click.option("-M", "--Max_retrieved_per_topic", "most", type=click.IntRange(1), help="Cut each list there.")
@click.option("-J", "--Judged_docs_only", "judged_only", is_flag=True, help="Take out what is not judged.")
@click.option("-m", "--measure", "measures", metavar="NAME", multiple=True, help="Such as P.5,10.  [default: official]")
@click.option("--as", "version", type=click.Choice(list(_VERSIONS)), default="10.0")
def command(*, qrels: str, run: str, measures: Sequence[str], **flags: Any) -> None:  # noqa: ANN401  (those of _Flags)
    r"""Evaluate RUN against QRELS, and print what trec_eval 10.0 prints; with --as 9.0.8, what that one does.

    \b
    Examples:
      permed-measures trec_eval qrels.txt run.txt
      permed-measures trec_eval -q -c -l2 -m all_trec -m relstring.20 qrels.txt run.txt
      permed-measures trec_eval --as 9.0.8 -m P.5,10 -m ndcg.1=3,2=9 qrels.txt run.txt
    """
    known = _Flags(**flags)
    columns = [*_columns(measures or ["official"], known)]
    judged = as_qrels(trec.read(Source(qrels), "qrels"))
    _check(judged, columns)
    source = Source(run)
    large = rankings(source, judged, None, order=_VERSIONS[known.version])
    for line in _lines(columns, judged, trec.read(source, "run") if large is None else large, _tag(source), known):
        sys.stdout.write(line)


def _refused(_: click.Context, option: Any, value: str | None) -> None:  # noqa: ANN401  (a click.Option)
    if value not in (None, "qrels", "trec_results"):
        msg = f"trec_eval's {option.opts[0]} is not done here ({_NOT_HERE[option.opts[0]]}); use trec_eval itself"
        raise click.UsageError(msg)


for _option in _NOT_HERE:
    click.option(_option, hidden=True, expose_value=False, callback=_refused)(command)


def _columns(words: Sequence[str], flags: _Flags) -> Iterator[_Column]:
    """Yield what is printed, in trec_eval's order; of a measure that is given twice, the first parameters hold."""
    known = [name for name in _ORDER if flags.version != _OLD or name not in _SINCE_10]
    chosen: dict[str, str] = {}
    for word in words:
        name, dot, given = word.partition(".")
        if _ELSEWHERE.fullmatch(word):
            raise ParamError(f"trec_eval has {word!r}, but it is not computed here; use trec_eval itself")
        if name not in (*known, *_NICKNAMES) or (dot and not given):
            names = did_you_mean(name, [*known, *_NICKNAMES])
            raise ParamError(f"{word!r} is no measure of trec_eval {flags.version}.{names}")
        chosen |= {member: chosen.get(member) or given for member in _NICKNAMES.get(name, [name])}
    for name in filter(chosen.__contains__, known):
        yield from _read(name, chosen[name], flags)


def _read(name: str, given: str, flags: _Flags) -> list[_Column]:
    try:
        return [*_columns_of(name, given, flags)]
    except ValueError as error:
        raise ParamError(f"{name}.{given}: these parameters are not read here ({error})") from None


def _need(what: str, *, holds: bool) -> None:
    if not holds:
        raise ValueError(what)


def _columns_of(name: str, given: str, flags: _Flags) -> Iterator[_Column]:
    """Yield the columns of a measure with these parameters; ValueError where they cannot be read."""
    label = f"{name}_{given}" if given else name
    if name in ("runid", "relstring"):
        yield _Column(name if name == "runid" else label, length=_whole(given or "10"))
    elif name in _NUMBERS:
        whole = isinstance(_NUMBERS[name][-1], int)
        numbers = [_whole(text) if whole else float(text) for text in given.split(",")] if given else _NUMBERS[name]
        _need("each number once", holds=len({*numbers}) == len(numbers))
        stem = name if name == "Rprec_mult" or whole else "IPrec" if flags.version == _OLD else "iprec_nearest"
        measures = {number: parse(f"{stem}{'@' if stem == 'IPrec' else '_'}{number}") for number in sorted(numbers)}
        if name == "11pt_avg":
            _need("the lowest comes first", holds=[*measures] == [*numbers])
            yield _Column(label, tuple(reversed(measures.values())))
            return
        for number, measure in measures.items():
            yield _Column(f"{name}_{number if whole else f'{number:.2f}'}", (measure,))
    elif given and name in _WITH:
        yield _Column(label, (parse(_WITH[name](given.split(","))),))
    else:
        yield _Column(name, (parse(f"NumRet(rel={flags.rel})" if name == "num_rel_ret" else name),))


def _whole(text: str) -> int:
    """Return a whole number as trec_eval reads it: 23 of 23.4, 20 of 20,30."""
    return int(re.split("[.,]", text)[0])


def _utility(texts: Sequence[str]) -> str:
    relevant, others, missed, neither = map(float, texts)
    _need("the fourth worth needs the size of the collection", holds=not neither)
    return f"Utility(rel_ret={relevant},nonrel_ret={others},rel_missed={missed})"


def _persistence(name: str, texts: Sequence[str]) -> str:
    ((key, number),) = (text.split("=") for text in texts)
    _need("only p can be given", holds=key == "p")
    return f"{name}(p={float(number)})"


_WITH: dict[str, Callable[[Sequence[str]], str]] = {
    "set_F": lambda texts: f"SetF(beta={float(texts[0])})",
    "utility": _utility,
    "ndcg": lambda texts: f"nDCG(gains={ {int(k): float(v) for k, v in (text.split('=') for text in texts)} })",
    "rbp": partial(_persistence, "RBP"),
    "rbp_resid": partial(_persistence, "RBPResidual"),
}
"""Names here with parameters other than numbers that a measure is printed at."""


def _check(qrels: Qrels, columns: Sequence[_Column]) -> None:
    """Refuse what trec_eval reads in a way of its own: grades that are not whole, and gains that are close together."""
    cut = {grade for grade in distinct_grades(qrels) if grade != int(grade)}
    for query_id, grades in qrels.items() if cut else ():
        for doc_id in (doc_id for doc_id, grade in grades.items() if grade in cut):
            found = f"query {query_id!r}, document {doc_id!r}: grade {grades[doc_id]} is not whole"
            raise InputError(f"{found}: trec_eval would cut it; permed-measures eval computes with it as it is")
    for column in columns:
        gains = column.measures[0].params.get("gains", {}) if column.measures else {}
        levels = range(int(min(max(distinct_grades(qrels), default=0), max(gains.values(), default=0) + 1)) + 1)
        known = sorted({*gains.values(), *(gains.get(grade, grade) for grade in levels)}) if gains else []
        if any(above - below < 1 for below, above in pairwise(known)):
            found = f"{column.label}: gains, or grades among them, that differ by less than 1 trec_eval cannot order"
            raise ParamError(f"{found}; permed-measures eval -m '{column.measures[0]}' computes with them")


def _tag(source: Source) -> str:
    """Return the tag of a run's last line."""
    tag = b""
    for _, block in source.blocks(_PIECE):
        line = next((line for line in reversed(block.split(b"\n")) if trec.is_data(line)), None)
        tag = tag if line is None else line.split()[5]
    return tag.decode(errors="replace")


def _lines(columns: Sequence[_Column], qrels: Qrels, run: Returned, tag: str, flags: _Flags) -> Iterator[str]:
    """Yield trec_eval's lines."""
    views, missing = _views(qrels, run, flags)
    values = _values(columns, qrels, views, flags)
    for query_id, view in views.items():
        for column in columns:
            absent = query_id in missing and _UNCOUNTED.fullmatch(column.label)
            if column.measures and absent:
                values[column.label][query_id] = 0.0
            if flags.by_query and not column.of_all:
                value = (
                    values[column.label][query_id] if column.measures else _text(view, 0 if absent else column.length)
                )
                yield column.line(query_id, value)
    left_out = len(qrels) - len(views) if flags.complete else 0
    for column in columns if not flags.no_summary else ():
        if column.label == "num_rel" and flags.complete:  # trec_eval does not look at -l here
            yield column.line("all", float(sum(grade > 0 for judged in qrels.values() for grade in judged.values())))
        elif column.measures:
            yield column.line("all", _of_all(column, values[column.label].values(), left_out))
        elif column.label == "runid":
            yield column.line("all", tag)


def _text(view: Ranking, length: int) -> str:
    """Return the grades of the first documents: '-' for one that is not in the qrels, '.' for a negative grade."""
    marks = ["-"] * min(length, view.num_ret)
    for rank, grade in view.hits(len(marks)) if marks else ():
        marks[rank - 1] = "." if grade < 0 else f"{grade:.0f}" if grade < 10 else ">"  # noqa: PLR2004  (one digit)
    return f"'{''.join(marks)}'"


def _views(qrels: Qrels, run: Returned, flags: _Flags) -> tuple[dict[str, Ranking], set[str]]:
    """Return the rankings that trec_eval evaluates, in its order, and the queries that the run does not have."""
    query_ids = sorted(qrels, key=str.encode)
    missing = {query_id for query_id in query_ids if query_id not in run}
    found = [query_id for query_id in query_ids if query_id not in missing]
    views = dict(zip(found, rankings_of(qrels, run, found, order=_VERSIONS[flags.version]).views, strict=True))
    if flags.complete and flags.version != _OLD:  # it puts a list of one unjudged document there
        views |= {query_id: Ranking([], judged=[*qrels[query_id].values()], num_ret=1) for query_id in missing}
    if not views:
        raise InputError(f"none of the {queries(len(qrels))} of the qrels is in the run: are the ids written alike?")
    if missing and not flags.complete:
        stops = "" if flags.version == _OLD else "; trec_eval 10.0 stops there, although its help says this"
        print_note(f"note: {queries(len(missing))} of the qrels not in the run, left out; -c counts 0{stops}")
    return {query_id: _cut(views[query_id], flags) for query_id in query_ids if query_id in views}, missing


def _cut(view: Ranking, flags: _Flags) -> Ranking:
    """Cut a list, and take what is not judged out of the rest: in this order, as trec_eval does."""
    if flags.most is not None:
        view = Ranking([*view.hits(flags.most)], judged=view.judged, num_ret=min(flags.most, view.num_ret))
    return view.judged_only() if flags.judged_only else view


def _values(
    columns: Sequence[_Column], qrels: Qrels, views: Mapping[str, Ranking], flags: _Flags
) -> dict[str, dict[str, float]]:
    """Return the values of each column by query."""
    measures = [*dict.fromkeys(measure for column in columns for measure in column.measures)]
    judged = {query_id: qrels[query_id] for query_id in views}
    order = _VERSIONS[flags.version]
    found = dict(evaluate(judged, views, measures, min_relevance=flags.rel, order=order).columns) if measures else {}
    empty = {query_id: view for query_id, view in views.items() if not view.num_ret}
    for measure in measures if empty else ():
        found[measure] = {**found[measure], **{q: _of_nothing(measure, view, flags) for q, view in empty.items()}}
    return {
        column.label: {q: sum([found[m][q] for m in column.measures], 0.0) / len(column.measures) for q in views}
        for column in columns
        if column.measures
    }


def _of_nothing(measure: Measure, view: Ranking, flags: _Flags) -> float:
    """Return trec_eval's value where -J took out the whole list: mostly 0, and 0 / 0 at a recall of no document."""
    relevant = view.num_rel(flags.rel)
    if measure.NAME in ("NumRel", "Utility"):
        return float(relevant * measure.params.get("rel_missed", measure.NAME == "NumRel"))
    rounding = "up" if flags.version == _OLD else "nearest"
    return nan if "recall" in measure.params and not level(measure.params["recall"], relevant, rounding) else 0.0


def _of_all(column: _Column, values: Collection[float], left_out: int) -> float:
    """Return what trec_eval makes of the values of all queries, added up one after the other as it does."""
    geometric = isinstance(column.aggregator, GeometricMean)
    total = 0.0
    for value in values:
        total += log(max(value, LEAST)) if geometric else value
    count = len(values) + left_out
    if geometric:
        return exp((total + left_out * log(LEAST)) / count)
    return float(count) if column.label == "num_q" else total if column.counts else total / count
