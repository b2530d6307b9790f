"""The options that say how qrels, runs and reports are written, the same for every command that has them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from permed_measures.errors import ParamError
from permed_measures.files import formats, parquet
from permed_measures.files.beir import qrels_of
from permed_measures.files.output import print_notes, write_or_print, write_whole
from permed_measures.files.rows import DUPLICATES
from permed_measures.files.source import Source
from permed_measures.profiles import PROFILES, QUERY_SETS
from permed_measures.ranking import ORDERS, TIES
from permed_measures.render.layout import Layout
from permed_measures.render.result import FORMATS as REPORTS
from permed_measures.render.result import PLOTS, Format, Result
from permed_measures.render.words import counted
from permed_measures.tables.datasets import is_parquet

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def together(*options: Callable[[CommandT], CommandT]) -> Callable[[CommandT], CommandT]:
    """Return a decorator that gives a command several options, in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


_TOLD = "[default: told by content and suffix]"
_KEPT = "permed_measures"


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:  # noqa: ANN401  (an option's)
    """Keep what is said of files and of reports for those who read and show them: commands have no use for it."""
    ctx.meta.setdefault(_KEPT, {})[param.name] = value


def three_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Read the columns of query, document and number."""
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(","))
    if len(names) != 3 or not all(names):  # noqa: PLR2004  (query, document, number)
        msg = f"{value!r}: give three names with commas between them, such as query_id,doc_id,score"
        raise click.BadParameter(msg, ctx, param)
    return names


_NAMES = "Columns of query, document, number; '-distance': smaller is better.  [default: the usual names]"
_kept = partial(click.option, expose_value=False, callback=_keep)
_names = partial(
    _kept, metavar="Q,D,N", callback=lambda ctx, param, value: _keep(ctx, param, three_names(ctx, param, value))
)
format_options = together(
    *(_kept(f"--{what}-format", type=click.Choice(list(formats())), help=_TOLD) for what in ("qrels", "run")),
    _names("--qrels-columns", help=_NAMES.replace("; '-distance': smaller is better", "")),
    _names("--run-columns", help=_NAMES),
    _kept("--collapse", metavar="REGEX|FILE", help="From a run's chunks to documents, by best chunk."),
    _kept("--duplicates", type=click.Choice(DUPLICATES), help="Which of two rows of a document counts."),
)
measures_options = together(
    click.option(
        *("-m", "--measures"),
        multiple=True,
        metavar="MEASURES",
        callback=lambda _ctx, _param, value: list(value) or None,
        help="Measures, such as 'GWAP@10 P@1'.",
    ),
    click.option("--profile", metavar="NAME|FILE.toml", help=f"{', '.join(PROFILES)}, or a file.  [default: permed]"),
)


def default_profile(options: dict[str, Any]) -> None:
    """Ask for the usual profile where neither measures nor a profile are asked for."""
    if not options["measures"] and options["profile"] is None:
        options["profile"] = "permed"


relevance_option = click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
queries_option = click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
_ORDER = "How precisely scores are compared: as trec_eval 9.0.8 does, or 10.0."
order_option = click.option("--order", type=click.Choice(ORDERS), default=ORDERS[0], help=_ORDER)
_TIES = "Equal scores: by id, as they came, the exact value over all orders, or refuse them."
ties_option = click.option("--ties", type=click.Choice(TIES), default=TIES[0], help=_TIES)
cluster_option = click.option(
    "--cluster", metavar="conversation|REGEX|FILE", help="What is independent, where queries are not."
)
human_options = together(
    click.option("--human", metavar="FILE", help="People's grades of a random sample: means, corrected for the judge."),
    click.option("--map", "mapping", metavar="4:1,8:2|same", help="With --human: the judge's grades as people's."),
)
texts_options = together(
    click.option("--texts", metavar="QUERIES", help="Texts of queries: TSV, CSV, JSON Lines, BEIR's; also .gz."),
    click.option("--documents", metavar="CORPUS", help="Texts of documents, in the same formats; read in a stream."),
)


def check_texts(form: Format, *others: Any) -> None:  # noqa: ANN401  (options that leave no lists)
    """Refuse texts where there is no page that shows them."""
    given = click.get_current_context().params
    if (given["texts"] or given["documents"]) and (not (is_asked("html") or form == "html") or any(others)):
        raise ParamError(
            "--texts and --documents are for the page: give --html FILE too; where means are corrected by --human, by "
            "--lists and in engines there are no documents to show"
        )


describe_option = click.option(
    "--describe", metavar="FILE", help="Descriptions of runs: name, tab, text on each line, or JSON."
)


def descriptions_of(path: str | None, names: Sequence[str]) -> dict[str, str]:
    """Read the descriptions of these runs; one file may serve several tables."""
    if path is None:
        return {}
    from permed_measures.evaluate.groups import read_pairs  # noqa: PLC0415  (seldom)

    known = read_pairs(path)
    described = {name: text for name, text in known.items() if name in names}
    if not described:
        raise ParamError(f"{path}: none of the runs {', '.join(names)} is described there, but {', '.join(known)}")
    return described


class _Report(click.Choice[str]):
    """The format of a report; a text was once called a table."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401  (click's signature)
        return super().convert("text" if value == "table" else value, param, ctx)


report_option = click.option("--format", "form", type=_Report(REPORTS), default=REPORTS[0])
report_options = together(
    click.option("--format", "form", type=_Report(REPORTS), help=f"[default: {REPORTS[0]}, or by FILE's suffix]"),
    click.option("-o", "--output", metavar="FILE", help="Write the report there instead of printing it."),
)


def _headings(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> None:
    for given in value:
        if not given.partition("=")[0] or "=" not in given:
            raise click.BadParameter(f"{given!r}: give a heading and what it is to be, such as run=method", ctx, param)
    new = dict(given.split("=", 1) for given in value)
    if len(new) < len(value):
        raise click.BadParameter("a heading is given two new ones: give one", ctx, param)
    _keep(ctx, param, new)


def _figure(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from permed_measures.render.figure import checked_suffix  # noqa: PLC0415  (seldom)

        checked_suffix(value)
    _keep(ctx, param, value)


layout_options = together(
    _kept("-p", "--places", type=click.IntRange(0, 17), help="Decimals.  [default: 4]"),
    _kept("--percent", is_flag=True, help="Values of measures from 0 to 1 in percent."),
    _kept("--heading", "headings", multiple=True, metavar="OLD=NEW", callback=_headings, help="Another heading."),
    _kept("--caption", default="", show_default=False, metavar="TEXT", help="The title of the first table."),
    _kept("--label", default="", show_default=False, metavar="NAME", help="Of the first table, for LaTeX."),
    _kept("--html", metavar="FILE", help="Also write one self-contained page."),
)
figure_options = together(
    _kept("--figure", metavar="FILE.svg|pdf|png", callback=_figure, help="Also write a plot, a file of its own."),
    _kept("--plot", type=click.Choice(PLOTS), default=PLOTS[0], help="What the figure shows."),
    _kept("--columns", type=click.Choice(["1", "2"]), default="1", help="A paper's, for its width."),
)


def is_asked(*names: str) -> bool:
    """Whether one of these options is given."""
    asked = click.get_current_context().meta[_KEPT]
    return any(asked.get(name) is not None for name in names)


def show(result: Result, form: Format, output: str | None, **options: bool) -> None:
    """Write or print a result as the options of layout and figure say; nothing is written where one cannot be made."""
    asked = click.get_current_context().meta[_KEPT]
    layout = Layout(**{field.name: asked[field.name] for field in fields(Layout)})
    shown = result.render(form, layout=layout, **options)
    files: dict[str, str | bytes] = {}
    if asked["html"] is not None:
        files[asked["html"]] = result.render("html", layout=layout)
    if asked.get("figure") is not None:
        files[asked["figure"]] = result.figure(asked["plot"], columns=int(asked["columns"])).content(asked["figure"])
    for path, content in files.items():
        write_whole(path, content)
    write_or_print(output, shown)


_SUFFIXES = {"text": ".txt", "markdown": ".md", "latex": ".tex"}
"""Where the suffix of an output file is not the name of its format."""


def form_for(output: str | None, asked: Format | None) -> Format:
    """Return the format of a report: the one asked for, else that of the file's suffix, else the first.

    >>> form_for("report.md", None), form_for("report", None)
    ('markdown', 'text')
    """
    form = asked or cast("Format", form_by_suffix(output, REPORTS, "; or say with --format what it is to hold"))
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        _check_read(ctx, form)
        check_targets(ctx)
    return form


def report_of(options: dict[str, Any]) -> tuple[Format, str | None]:
    """Take out of a command's options what :data:`report_options` put there: the format, and the file."""
    output = options.pop("output")
    return form_for(output, options.pop("form")), output


_FOR_PEOPLE = ("text", "markdown", "latex", "html")
_NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("places", "percent", "headings", "caption"), _FOR_PEOPLE),
    "label": ("latex",),
    "brief": ("text", "markdown", "latex"),
    "signatures": ("text", "markdown", "latex", "json", "html"),
    "by_query": tuple(form for form in REPORTS if form != "html"),
}
"""The formats that an option is for; a page beside the report (--html) is one of them."""
_BESIDE = {"plot": "figure", "columns": "figure", "show_queries": "summary", "query_texts": "show_queries"}
"""Options that say something of what another one writes."""
_TARGETS = ("output", "html", "figure", "save", "junit_file", "summary")


def _given(ctx: click.Context) -> dict[str, str]:
    """Return the options of the command line, each as it is written there."""
    source, default = ctx.get_parameter_source, click.core.ParameterSource.DEFAULT
    return {
        str(param.name): max(param.opts, key=len)
        for param in ctx.command.params
        if source(str(param.name)) not in (None, default)
    }


def _check_read(ctx: click.Context, form: str) -> None:
    """Raise UsageError for an option that this report would not read: nothing is ignored silently."""
    given = _given(ctx)
    for name, option in given.items():
        forms = _NEEDS.get(name, (form,))
        if form not in forms and not ("html" in forms and "html" in given):
            page = " or --html FILE" if "html" in forms and any(p.name == "html" for p in ctx.command.params) else ""
            msg = f"{option} is for --format {', '.join(forms)}{page}; {form} does not have it: leave it out"
            raise click.UsageError(msg, ctx)
        other = _BESIDE.get(name, name)
        if other not in given and not (other == "summary" and os.environ.get("GITHUB_STEP_SUMMARY")):
            needed = f"--{other.replace('_', '-')}"
            raise click.UsageError(f"{option} is for what {needed} writes: give {needed} too, or leave it out", ctx)


LAYOUT = ("form", "output", "html", *(field.name for field in fields(Layout)))
_FORMATS = ("qrels_format", "run_format")
READING = (*_FORMATS, "qrels_columns", "run_columns", "duplicates", "collapse")


def allow_only(option: str, *names: str) -> None:
    """Raise UsageError where something is given that does not go with an option."""
    ctx = click.get_current_context()
    given = {name: said for name, said in _given(ctx).items() if said.startswith("-") and name not in names}
    if given:
        raise click.UsageError(f"{', '.join(given.values())} does not go with {option}: leave it out", ctx)


def check_targets(ctx: click.Context) -> None:
    """Raise UsageError where two outputs would be one file, or one of the files that are read."""
    given, values = _given(ctx), {**ctx.meta.get(_KEPT, {}), **ctx.params}
    written = {given.get(name, "the report"): values[name] for name in _TARGETS if name in given}
    seen: dict[str, str] = {} if "output" in given or values.get("init") else {_STDOUT: "the report"}
    for name in ("qrels", "run", "runs", "paths", "given", "texts", "documents", "human", "file"):
        read = values.get(name) or ()
        seen |= {_place(path): f"what is read ({path})" for path in ([read] if isinstance(read, str) else read)}
    for option, path in written.items():
        other = seen.setdefault(_place(path), option)
        if other != option:
            what = "standard output" if _place(path) == _STDOUT else path
            hint = ": give -o FILE too, or --format instead" if other == "the report" else ": name another file"
            raise click.UsageError(f"{option} {path} and {other} are both {what}{hint}", ctx)


_STDOUT = "-"


def _place(path: str) -> str:
    return _STDOUT if path in ("-", "/dev/stdout") else str(Path(path).resolve())


def form_by_suffix(output: str | None, forms: Sequence[str], otherwise: str = "") -> str:
    """Return the format of the file's suffix, the first where it has none; another suffix is a ParamError."""
    suffix = Path(output or "").suffix.lower()
    known = {_SUFFIXES.get(form, f".{form}"): form for form in forms}
    if suffix and suffix not in known:
        raise ParamError(
            f"-o {output}: the suffix {suffix!r} is none of those that can be written here: {', '.join(known)}; use "
            f"one of these, or a name without a suffix, which gets {forms[0]}{otherwise}"
        )
    return known.get(suffix, forms[0])


def said(*, formats: bool = False) -> dict[str, Any]:
    """Return what the command line says of the rows of files, or of their formats, by option."""
    known = click.get_current_context().meta.get(_KEPT, {})
    names = [name for name in READING if (name in _FORMATS) == formats]
    return {name: known[name] for name in names if known.get(name) is not None}


def say_formats(settings: dict[str, Any]) -> None:
    """Take formats out of a file's settings, which hold where the command line says nothing."""
    known = click.get_current_context().meta[_KEPT]
    for name in _FORMATS:
        known[name] = settings.pop(name, None) if known[name] is None else known[name]


def qrels_in(path: str, form: str | None = None) -> Any:  # noqa: ANN401  (a path)
    """Return the path of qrels, with what was said of its content, if anything was."""
    return _file(str(qrels_of(path)), form, "qrels")


def run_in(path: str, form: str | None = None) -> Any:  # noqa: ANN401  (a path)
    """Return the path of a run, with what was said of its content, if anything was: a large file is read fast."""
    found, chunks = _file(path, form, "run"), said().get("collapse")
    if chunks is None:
        return found
    from permed_measures.evaluate.chunks import collapse  # noqa: PLC0415  (seldom)

    return collapse(found, chunks)


def runs_in(paths: Sequence[str]) -> dict[str, Any]:
    """Return runs by name: that of the file, or a number and the path where two files are called alike."""
    from permed_measures.comparison.systems import run_name  # noqa: PLC0415  (eval does without)

    names = [run_name(path, path) for path in paths]
    names = names if len(set(names)) == len(names) else [f"{n}: {path}" for n, path in enumerate(paths, 1)]
    return dict(zip(names, map(run_in, paths), strict=True))


def _file(path: str, form: str | None, what: str) -> Any:  # noqa: ANN401  (a path)
    form = form or said(formats=True).get(f"{what}_format")
    columns, duplicates = said().get(f"{what}_columns"), said().get("duplicates", "error")
    told = form is None or (form == parquet.NAME and is_parquet(path))
    if told and columns is None and duplicates == "error":
        return path
    source = Source(path, None if told else form, columns=columns, duplicates=duplicates)
    click.get_current_context().call_on_close(lambda: _say_dropped(source))
    return source


def _say_dropped(source: Source) -> None:
    if source.dropped:
        rows = f"{counted(source.dropped, 'row')} of a document that occurs before in its query"
        print_notes([f"{source.path}: --duplicates {source.duplicates}: {rows} left out"])
