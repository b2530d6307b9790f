"""``permed-measures gate``: a check for CI."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from permed_measures.cli import _formats, verdict_shown
from permed_measures.cli._engines import NAMES, Reading, engine_options, reading
from permed_measures.comparison.changes import CORRECTIONS
from permed_measures.comparison.systems import named_runs
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.errors.exits import say
from permed_measures.evaluate.groups import read_pairs
from permed_measures.files.output import print_note, write_or_print, write_whole
from permed_measures.files.values import is_saved
from permed_measures.gating import REMOVED, Rules, ci, gate
from permed_measures.gating.checks import UNDECIDED
from permed_measures.gating.conditions import ask
from permed_measures.gating.settings import NAME, arguments, find, load, max_drops


class _Command(click.Command):
    """A wrong option is an error of the gate, too: no old JUnit file may be taken for its result."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            for one, other in zip(given, [*given[1:], ""], strict=True):
                path = other if one == "--junit" else one.removeprefix("--junit=") if "--junit=" in one else ""
                if path:
                    write_whole(path, ci.junit_error("", error.format_message()))
            raise


@click.command(cls=_Command, short_help="Check conditions on a run; exit 1 when one fails, 3 when it cannot be told.")
@click.argument("qrels", required=False)
@click.argument("run", required=False, metavar="[RUN|NAME=RUN,RUN]")
@click.argument("conditions", nargs=-1)
@click.option("--config", metavar="FILE", help=f"What to check.  [default: {NAME}, here or above, without QRELS]")
@click.option("--profile", metavar="NAME|FILE.toml", help="Display names; its targets when no condition is given.")
@click.option(
    "--baseline",
    metavar="FILE|NAME=RUN,RUN",
    help="A run, several of one system, or what --accept wrote: no measure may drop against it.",
)
@click.option(
    "--max-drop", multiple=True, metavar="X|MEASURE=X", help="The drop that is allowed; needed with a baseline."
)
@click.option("--hard-drop", type=float, metavar="X", help="A drop that fails without a test.")
@click.option("--max-drop-since-anchor", type=float, metavar="X", help="What accepted drops may add up to.")
@click.option(
    "--undecided", type=click.Choice(UNDECIDED), help="Always exit 0 or 3.  [default: 3 where a drop is shown]"
)
@click.option("--confident", is_flag=True, default=None, help="The near end of a value's interval must hold, too.")
@click.option(
    "--segments", metavar="turn|conversation|REGEX|FILE", help="Ask everything of each group of queries, too."
)
@_formats.cluster_option
@click.option("--human", metavar="FILE", help="People's grades of a random sample: conditions ask the corrected means.")
@click.option("--map", metavar="4:1,8:2|same", help="With --human: how the judge's grades become people's.")
@click.option("--serving", metavar="FILE", help='Serving figures, one JSON object: {"p95_ms": 310, …}.')
@click.option("--allow-skipped", is_flag=True, default=None, help="A profile's target without its figure is no error.")
@click.option("--accept", is_flag=True, help="Store the run's values as the baseline, and its anchor.")
@click.option("--init", is_flag=True, help=f"Write a commented {NAME} for QRELS and RUN.")
@click.option("--power", "only_power", is_flag=True, help="Show what the gate can and cannot catch.")
@click.option("--junit", "junit_file", metavar="FILE", help="Also write JUnit XML for the CI system.")
@click.option(
    "--summary", metavar="FILE", help="Also write markdown for a comment; GitHub's step summary gets it, too."
)
@click.option("--show-queries", type=click.IntRange(1), metavar="N", help="There, name the N queries that fell most.")
@click.option("--query-texts", metavar="FILE", help="There, with their texts: id, tab, text on each line, or JSON.")
@_formats.relevance_option
@_formats.queries_option
@_formats.order_option
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), help="Over all drops.  [default: holm]")
@click.option("--alpha", type=float, help="The level of bounds and intervals.  [default: 0.05]")
@click.option("--test", hidden=True)
@click.option("--seed", hidden=True)
@_formats.format_options
@engine_options
@_formats.report_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:  # noqa: ANN401  (as declared above)
    r"""Check CONDITIONS on the means of a RUN: measure, one of >= <= == > <, number. Quote them: the shell knows > too.

    \b
    Examples:
      permed-measures gate qrels.txt run.trec 'nDCG@10>=0.85' 'P@5>=0.8'
      permed-measures gate                      # what gate.toml says, here or in a folder above

    Exit code 0: it may pass. 1: a check fails. 2: the input is wrong. 3: it could not be told, and a drop is shown.

    A condition is decided by the value. A drop against a baseline holds when it is bounded below --max-drop (one-sided,
    95%), or the rankings are identical; it fails when it is shown to be above --max-drop, corrected over measures and
    segments, or is above --hard-drop itself; else it is undecided. Undecided with a drop shown is exit code 3; with
    none shown it is 0 with a warning, never "holds".

    \b
    More:
      permed-measures gate qrels.txt new.trec 'nDCG@10>=0.8' --baseline old.trec --max-drop 0.02
      permed-measures gate qrels.parquet 'new/*.parquet' 'nDCG@10>=0.8' --baseline 'old/*.parquet' --max-drop 0.02
      permed-measures gate --init qrels.txt run.trec     # write gate.toml, with margins that can be decided
      permed-measures gate --accept                      # this run is the baseline from now on
      permed-measures gate --power                       # what can and cannot be caught
      permed-measures gate qrels.txt run.trec 'RR>=0.8' --serving serving.json 'p95_ms<=500' --junit gate.xml
      permed-measures gate qrels.txt run.trec --profile rerank --allow-skipped
      permed-measures gate qrels.txt llm=a.trec,b.trec 'nDCG@10>=0.8'    # one system that ran twice: the mean
      permed-measures gate qrels.txt run.trec 'P@5>=0.8' --format json -o gate.json
    """
    if ctx.get_parameter_source("order") is click.core.ParameterSource.DEFAULT:
        options["order"] = None
    how = {name: options.pop(name) for name in ("accept", "init", "only_power", "form", "output", "junit_file")}
    how |= {name: options.pop(name) for name in ("summary", "show_queries", "query_texts")}
    of_engine = {name: options.pop(name) for name in NAMES}
    with _reported(options["run"] or "", how), ExitStack() as opening:
        how["form"] = _formats.form_for(None if how["init"] else how["output"], how["form"])
        for name, instead in REMOVED.items():
            if options.pop(name) is not None:
                raise ParamError(f"--{name} is no option any more: {instead}; leave it out")
        settings = _settings(options, init=how["init"])
        _formats.say_formats(settings)
        paths = [path for name in ("qrels", "run", "baseline") for path in _listed(settings.get(name))]
        reads = opening.enter_context(reading(of_engine, paths, human="human" in settings))
        apart = [f"--{name.removeprefix('only_')}" for name in ("init", "only_power", "accept") if how[name]]
        if apart:
            none = [name for name in ("junit_file", "summary", "show_queries") if how[name]]
            if none or len(apart) > 1:
                what = ", ".join([*apart[1:], *(f"--{name.removesuffix('_file').replace('_', '-')}" for name in none)])
                raise ParamError(f"{apart[0]} is no check, and does not go with {what}: leave it out")
            _apart(settings, how, reads)
            return
        result = gate(**_arguments(settings, reads))
        if how["junit_file"] is not None:
            write_whole(how["junit_file"], ci.junit(result))
        texts = None if how["query_texts"] is None else read_pairs(how["query_texts"])
        ci.add_summary(how["summary"], ci.markdown(result, how["show_queries"] or 0, texts))
        for line in ci.commands(result) if ci.on_github() else ():
            say(line + "\n")
        # where people read it elsewhere, or not at all
        if how["output"] is not None or how["form"] not in ("text", "markdown"):
            for said in (*(f"WARNING: {warning}" for warning in result.warnings), result.summary):
                print_note(said)
        with verdict_shown():
            write_or_print(how["output"], result.render(how["form"]))
    sys.exit(result.exit_code)


@contextmanager
def _reported(run: str, how: dict[str, Any]) -> Iterator[None]:
    """Take away what an earlier run left, and let JUnit and the summary tell of an error."""
    for name in () if how["init"] else (how["junit_file"], how["output"]):
        if name and Path(name).is_file():
            Path(name).unlink()
    try:
        yield
    except BaseException as error:
        if isinstance(error, (SystemExit, click.exceptions.Exit)):
            raise
        message = (
            str(error) if isinstance(error, (InputError, ParamError, HostError)) else f"{type(error).__name__}: {error}"
        )
        if how["junit_file"] is not None:
            write_whole(how["junit_file"], ci.junit_error(run, message))
        ci.add_summary(how["summary"], ci.markdown_error(message))
        if ci.on_github():
            say(ci.annotation("error", "the gate could not be checked", message) + "\n")
        raise


def _settings(options: dict[str, Any], *, init: bool) -> dict[str, Any]:
    """Return what the command line says, over what gate.toml says."""
    options["max_drop"] = max_drops(options["max_drop"])
    options["conditions"] = list(options["conditions"]) or None
    config = options.pop("config")
    given = {name: value for name, value in options.items() if value is not None}
    if config is None and "qrels" not in given and not init:
        config = find()
        if config is None:
            msg = f"no QRELS and RUN are given, and there is no {NAME} here or in a folder above"
            raise ParamError(f"{msg}; permed-measures gate --init QRELS RUN writes one")
    settings = ({} if config is None else load(config)) | given
    missing = [name for name in ("qrels", "run") if name not in settings]
    if missing:
        where = "on the command line" if config is None else f"in {config}"
        raise ParamError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given {where}")
    return settings


def _listed(given: Any) -> list[Any]:  # noqa: ANN401  (a path, several, or nothing)
    return given if isinstance(given, list) else [] if given is None else [given]


def _arguments(settings: dict[str, Any], reads: Reading) -> dict[str, Any]:
    known = {**arguments(settings, reads.qrels_in, reads.run_in), "tell": lambda said: print_note(f"WARNING: {said}")}
    return known | ({} if reads.table_options is None else {"table_options": reads.table_options})


def _apart(settings: dict[str, Any], how: dict[str, Any], reads: Reading) -> None:
    """Do what is no check: write gate.toml, show the power, accept a baseline."""
    from permed_measures.gating.given import Input, accept  # noqa: PLC0415  (seldom)
    from permed_measures.gating.power import gate_file, power  # noqa: PLC0415  (seldom)

    baseline = settings.get("baseline", "")
    path = baseline if isinstance(baseline, str) and named_runs(baseline) is None else ""
    there = bool(baseline) and (not path or Path(path).exists())
    if how["accept"] and not path:
        raise ParamError(f"--accept needs to know where: --baseline FILE, or baseline = in {NAME}")
    if how["accept"] and there and not is_saved(path):
        raise InputError("it is there, and no file of saved values: --accept would overwrite a run", path=path)
    for_values = (
        dict(settings) if there and not how["accept"] else {k: v for k, v in settings.items() if k != "baseline"}
    )
    known = _arguments(for_values, reads)
    rules = Rules(known.get("max_drop"), alpha=known.get("alpha", 0.05))
    names = ("run_name", "min_relevance", "queries", "order", "profile", "table_options")
    given = Input(known["qrels"], known["run"], known.get("baseline"), **{n: known[n] for n in names if n in known})
    conditions = known.get("conditions") or (() if "profile" in known else ["nDCG@10>=0", "RR@10>=0"])
    asked = ask(conditions, given.known, known.get("serving"), allow_skipped=True, margins=rules.named)
    found = given.evaluated(asked, lambda _: None)
    if found is None:
        raise ParamError("no measure is named, only serving figures: there is nothing to write, show or accept")
    if how["accept"]:
        said = accept(path, found.runs, found.rankings, known["run_name"])
        means = ", ".join(f"{label} {found.run.means[measure]:.4f}" for measure, label in found.run.labels.items())
        write_or_print(how["output"], "".join(f"{line}\n" for line in [*said, f"accepted into {path}: {means}"]))
        return
    shown = power(found, rules, settings.get("cluster"))
    if how["only_power"]:
        write_or_print(how["output"], shown.render(how["form"]))
        return
    target = Path(how["output"] or NAME)
    if target.exists():
        raise InputError("it is there already; remove it, or name another file with -o", path=target)
    write_whole(target, gate_file(found, shown, settings, target.parent))
    write_or_print(None, f"wrote {target}\n" + shown.render("text"))
