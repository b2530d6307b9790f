"""The form of the ir_measures command: ``permed-measures QRELS RUN 'GWAP@10 P@1' -q -n -p 4 -o jsonl``.

Arguments, flags and output are ir_measures' own, so that a pipeline switches by changing one word; what the numbers
rest on is said on stderr. It needs no click.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import Measure

from permed_measures.errors import HostError, InputError, ParamError, did_you_mean, require
from permed_measures.evaluate import evaluate
from permed_measures.files import read_qrels, read_run
from permed_measures.files.output import print_notes
from permed_measures.files.source import STDIN
from permed_measures.inputs import Qrels, as_qrels
from permed_measures.measures import parse_all

_PLACES = 4
_SAFE_PLACES = 10
_MOST_PLACES = 1000
_SUMMARY = "all"
_HIGHEST = 1000  # a grade that every provider can take

Value = tuple[str, str, float]  # query, measure as it prints, value


def run(arguments: Sequence[str], commands: Sequence[str]) -> None:
    """Evaluate and print as the ir_measures command does."""
    if not arguments[0].startswith("-") and not _is_there(arguments[0]):
        _dataset(arguments[0], commands)
    options = _parser(commands).parse_args(list(arguments))
    if options.no_summary and not options.by_query:
        raise ParamError("--no_summary (-n) only goes with --by_query (-q)")
    if not -1 <= options.places <= _MOST_PLACES:
        msg = f"--places (-p) {options.places} is not allowed; give 0 to {_MOST_PLACES}, or -1 for all digits"
        raise ParamError(msg)
    measures = list(dict.fromkeys(parse_all(options.measures)))
    qrels = _qrels(options.qrels, commands)
    show = _shown(options)
    compute = _by_provider if options.provider else _by_us
    # by name: ir_measures makes a measure's hash from its print, every time
    names = list(map(str, measures))
    aggregators = dict(zip(names, [measure.aggregator() for measure in measures], strict=True))
    notes: list[str] = []
    for query_id, name, value in compute(options, measures, qrels, notes):
        aggregators[name].add(value)
        if options.by_query:
            show(query_id, name, value)
    if not options.no_summary:
        for name in names:
            show(_SUMMARY, name, aggregators[name].result())
    sys.stdout.flush()  # notes come below what they are about
    print_notes(notes)


def _qrels(path: str, commands: Sequence[str]) -> Qrels:
    """Read a file, or the judgements of a data set of ir_datasets, as ir_measures does."""
    found = read_qrels(path) if _is_there(path) else _dataset(path, commands).qrels_iter()
    return as_qrels(found, subtopics=True)


def _is_there(path: str) -> bool:
    return path == STDIN or Path(path).exists()


def _dataset(name: str, commands: Sequence[str]) -> Any:  # noqa: ANN401  (ir_datasets')
    """Return a data set that has qrels; InputError where there is none."""
    try:
        found = require("ir_datasets", extra="all").load(name)
    except (HostError, KeyError):
        found = None
    if found is None or not found.has_qrels():
        msg = f"{name!r} is neither a command nor a file, nor a data set of ir_datasets with qrels."
        raise InputError(msg + did_you_mean(name, commands))
    return found


def _by_us(options: argparse.Namespace, measures: Sequence[Measure], qrels: Qrels, notes: list[str]) -> Iterator[Value]:
    """Yield values in ir_measures' order."""
    # sums depend on the order of queries in their last digits, and a large file is read without keeping it
    exact = options.by_query or options.output_format == "jsonl" or not 0 <= options.places <= _SAFE_PLACES
    run = read_run(options.run) if exact else options.run
    evaluation = evaluate(qrels, run, measures)
    notes += evaluation.notes
    columns = {str(measure): dict(column) for measure, column in evaluation.columns.items()}
    answered = [query_id for query_id in run if query_id in qrels] if exact else list(qrels)
    for query_id, name in _order(measures, qrels, answered) if options.by_query else product(answered, columns):
        yield query_id, name, columns[name].pop(query_id)
    for name in sorted(columns):  # what is missing from the run, or what a provider does not answer for
        for query_id in sorted(columns[name]):
            yield query_id, name, columns[name][query_id]


def _order(measures: Sequence[Measure], qrels: Qrels, answered: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield query and measure as ir_measures prints them: provider by provider, each in an order of its own.

    The providers tell it themselves, by what they answer to the smallest qrels and run with these queries. Where
    ir_measures' order depends on the hash of a name, and changes from call to call, ours is that of the command line.
    """
    highest = {query_id: max(0, *grades.values()) if grades else 0 for query_id, grades in qrels.items()}
    judged = {query_id: {"1": min(math.floor(grade), _HIGHEST)} for query_id, grade in highest.items()}
    returned = {query_id: {"1": 2.0, "2": 1.0} for query_id in answered}
    by_provider: dict[str, list[Measure]] = {}
    for measure in measures:
        by_provider.setdefault(_provider_of(measure), []).append(measure)
    names = {id(measure): str(measure) for measure in measures}
    for provider in ir_measures.DefaultPipeline.providers:
        asked = by_provider.get(provider.NAME, [])
        try:
            for query_id, measure, _ in provider.iter_calc(asked, judged, returned) if asked else ():
                yield query_id, names[id(measure)]
        except (ValueError, RuntimeError, AssertionError, OSError):  # it cannot: then the order is not its own
            continue


def _provider_of(measure: Measure) -> str:
    for provider in ir_measures.DefaultPipeline.providers:
        try:
            if provider.supports(measure) and provider.is_available():
                return str(provider.NAME)
        except (ValueError, AssertionError):  # noqa: PERF203  (it refuses parameters, such as rel=7.5, that we compute)
            continue
    return ""


def _by_provider(
    options: argparse.Namespace, measures: Sequence[Measure], qrels: Qrels, _: list[str]
) -> Iterator[Value]:
    """Let the provider that was asked for compute; it has no notes."""
    provider = ir_measures.providers.registry[options.provider]
    try:
        for query_id, measure, value in provider.iter_calc(measures, qrels, read_run(options.run)):
            yield query_id, str(measure), value
    except (InputError, ParamError, HostError):
        raise
    except (ValueError, RuntimeError, AssertionError) as error:
        raise ParamError(f"provider {options.provider}: {error}") from error


def _parser(commands: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="permed-measures",
        description="The form of the ir_measures command.",
        epilog=f"The commands of permed-measures are {', '.join(commands)}; see permed-measures --help.",
    )
    parser.add_argument("qrels")
    parser.add_argument("run")
    parser.add_argument("measures", nargs="+")
    parser.add_argument("--places", "-p", type=int, default=_PLACES)
    parser.add_argument("--by_query", "-q", action="store_true")
    parser.add_argument("--no_summary", "-n", action="store_true")
    parser.add_argument("--output_format", "-o", choices=["tsv", "jsonl"], default="tsv")
    parser.add_argument("--provider", choices=list(ir_measures.providers.registry))
    return parser


def _shown(options: argparse.Namespace) -> Callable[[str, str, float], None]:
    write, number = sys.stdout.write, "" if options.places == -1 else f".{options.places}f"
    as_json = options.output_format == "jsonl"
    if as_json and options.places != _PLACES:
        sys.stderr.write("--places is ignored when using --output jsonl\n")

    def show(query_id: str, measure: str, value: float) -> None:
        if as_json:
            start = {"query_id": query_id} if options.by_query else {}
            write(json.dumps({**start, "measure": measure, "value": value}) + "\n")
        else:
            write(f"{query_id}\t" * options.by_query + f"{measure}\t{value:{number}}\n")

    return show
