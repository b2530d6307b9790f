"""``permed-measures bench-reranker``: quality, latency and cost of rerankers."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from permed_measures.cli._formats import form_for, report_options
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.files import by_suffix, formatted
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.render.result import Format
from permed_measures.serving.cost import Cost
from permed_measures.serving.rerank import GIVEN, RerankEvaluator


def _numbers(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:  # noqa: ARG001  (click's signature)
    try:
        return tuple(int(word) for word in (text or "").split(",") if word.strip())
    except ValueError:
        msg = f"{text!r} is not a list of whole numbers such as 20,50,100"
        raise click.BadParameter(msg) from None


@click.command(short_help="Quality, latency, throughput and cost of rerankers, side by side.")
@click.argument("rerankers", nargs=-1, required=True, metavar="[NAME=]MODULE:CALLABLE...")
@click.option("--queries", required=True, metavar="FILE", help="JSON Lines: query_id, text.")
@click.option("--candidates", required=True, metavar="FILE", help="JSON Lines: query_id, candidates.")
@click.option("--qrels", required=True, metavar="FILE", help="Judgements, in any format that eval reads.")
@click.option("--profile", default="rerank", show_default=True, metavar="NAME|FILE.toml", help="Measures and targets.")
@click.option(
    "--pass",
    "given",
    type=click.Choice(GIVEN),
    default="text",
    show_default=True,
    help="Call with the texts of the candidates, or with their records as in the file.",
)
@click.option("--warmup", type=click.IntRange(0), default=1, show_default=True, help="Calls that are not counted.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Calls of each query.")
@click.option("--sizes", callback=_numbers, metavar="20,50,...", help="Also time lists cut to so many candidates.")
@click.option("--threads", callback=_numbers, metavar="1,4,...", help="Also measure throughput with so many threads.")
@click.option("--duration", type=float, default=10.0, show_default=True, metavar="S", help="Of each throughput run.")
@click.option("--arrival-rate", type=float, metavar="QPS", help="Throughput in an open loop: arrivals a second.")
@click.option(
    "--usd-per-million-tokens",
    "prices",
    type=click.FloatRange(0),
    multiple=True,
    metavar="X",
    help="The price of tokens: once for all rerankers, or once for each.",
)
@click.option("--tokens-per-document", type=click.FloatRange(0), metavar="N", help="Tokens paid for one candidate.")
@click.option("--tokens-per-query", type=click.FloatRange(0), default=0.0, metavar="N", help="And once a query.")
@click.option("--queries-per-day", type=click.FloatRange(0), metavar="N", help="For the cost of a day.")
@click.option("--revenue-per-query", type=click.FloatRange(0), metavar="X", help="For the return on investment.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap.")
@report_options
@click.option("--write-run", metavar="FILE", help="Also write the reranked run (one reranker); format by suffix.")
@click.option("--write-serving", metavar="FILE", help="Also write the figures that gate --serving reads.")
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    rerankers: Sequence[str],
    queries: str,
    candidates: str,
    qrels: str,
    profile: str,
    given: str,
    warmup: int,
    repeats: int,
    sizes: Sequence[int],
    threads: Sequence[int],
    duration: float,
    arrival_rate: float | None,
    prices: Sequence[float],
    tokens_per_document: float | None,
    tokens_per_query: float,
    queries_per_day: float | None,
    revenue_per_query: float | None,
    seed: int,
    form: Format | None,
    output: str | None,
    write_run: str | None,
    write_serving: str | None,
) -> None:
    r"""Run rerankers over queries with candidates; report quality, latency and cost together.

    A reranker is called as callable(query, texts), may be async, and answers with a score for each text; or with the
    documents best first, as (index, score) pairs, as records with an index or an id, or as ids. The module is looked
    for in the current folder too. The order of the candidates is the ranking without reranking. Calls that raise, and
    answers that make no sense, are counted by type; such a query counts 0. Exit code 1 when a reranker answered no
    call at all.

    \b
    Files, one JSON object a line:
      queries     {"query_id": "1", "text": "..."}                      ("query" is as good as "text")
      candidates  {"query_id": "1", "candidates": [{"doc_id": "a", "text": "..."}, ...]}
                  ("results" and "text_id" are as good; further keys are kept for --pass records)

    \b
    Example:
      echo 'by_words = lambda query, texts: [sum(w in t for w in query.split()) for t in texts]' > my_rerankers.py
      echo '{"query_id": "1", "text": "blood pressure"}' > queries.jsonl
      echo '{"query_id": "1", "candidates": [{"doc_id": "a", "text": "tomato soup"},' \
           '{"doc_id": "b", "text": "high blood pressure"}]}' > candidates.jsonl
      echo '1 0 b 1' > qrels.txt
      permed-measures bench-reranker my_rerankers:by_words \
          --queries queries.jsonl --candidates candidates.jsonl --qrels qrels.txt --repeats 20
    """
    form = form_for(output, form)
    called = _named(rerankers)
    evaluator = RerankEvaluator(queries, qrels, candidates, profile=profile, given=given)
    run_format = None if write_run is None else _run_format(write_run)
    if len(called) > 1 and (write_run is not None or write_serving is not None):
        msg = "--write-run and --write-serving take what one reranker gave; name one only"
        raise ParamError(msg)
    if arrival_rate is not None and not threads:
        msg = "--arrival-rate needs --threads: how many calls may be under way at once"
        raise ParamError(msg)
    if threads and sys.stderr.isatty():
        click.echo(f"throughput: {len(threads) * len(called)} runs of {duration:g} s follow", err=True)
    report = evaluator.compare(
        called,
        costs=_costs(list(called), prices, tokens_per_document, tokens_per_query, evaluator.documents_per_query),
        revenue_per_query=revenue_per_query,
        warmup=warmup,
        repeats=repeats,
        sizes=sizes,
        threads=threads,
        duration_s=duration,
        arrival_rate=arrival_rate,
        queries_per_day=queries_per_day,
        seed=seed,
        progress=True,
    )
    first = report.rerankers[0]
    if write_run is not None and run_format is not None:
        write_whole(write_run, formatted(first.run, "run", run_format)[0])
    if write_serving is not None:
        write_whole(write_serving, first.serving.render("json"))
    write_or_print(output, report.render(form))
    sys.exit(0 if all(reranked.serving.latency.answered for reranked in report.rerankers) else 1)


def _named(given: Sequence[str]) -> dict[str, Callable[..., Any]]:
    called = {}
    for word in given:
        name, equals, target = word.partition("=")
        if not equals:
            name = target = word
        if name in called:
            msg = f"two rerankers are called {name!r}; give each a name: fast={target}"
            raise ParamError(msg)
        called[name] = load(target)
    return called


def load(target: str) -> Callable[..., Any]:
    """Import ``module:callable``; the module may stand in the current folder, the callable within an object."""
    module_name, colon, path = target.partition(":")
    if not colon or not module_name or not path:
        msg = f"{target!r} is not module:callable, such as my_rerankers:by_words"
        raise ParamError(msg)
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            msg = f"no module {module_name!r}, neither installed nor in {folder}"
            raise ParamError(msg) from error
        raise ParamError(f"the module {module_name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise ParamError(f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise ParamError(f"{target}: no {name!r} in {module_name}.{did_you_mean(name, known)}")
        found = getattr(found, name)
    if inspect.isclass(found):
        msg = f"{target} is a class; make an instance of it in the module, and name that or its method"
        raise ParamError(msg)
    if not callable(found):
        msg = f"{target} is a {type(found).__name__}, which cannot be called"
        raise ParamError(msg)
    called: Callable[..., Any] = found
    return called


def _costs(
    names: Sequence[str],
    prices: Sequence[float],
    tokens_per_document: float | None,
    tokens_per_query: float,
    documents_per_query: float,
) -> dict[str, Cost]:
    if not prices:
        return {}
    if tokens_per_document is None:
        msg = "--usd-per-million-tokens needs --tokens-per-document"
        raise ParamError(msg)
    if len(prices) not in (1, len(names)):
        msg = f"{len(prices)} prices for {len(names)} rerankers; give one, or one for each"
        raise ParamError(msg)
    each = list(prices) * len(names) if len(prices) == 1 else list(prices)
    return {
        name: Cost(price, tokens_per_document, documents_per_query, tokens_per_query)
        for name, price in zip(names, each, strict=True)
    }


def _run_format(path: str) -> str:
    module = by_suffix(Path(path).suffix.lower())
    if module is None:
        msg = f"--write-run {path}: the format cannot be told from the name; end it in .trec or .jsonl"
        raise ParamError(msg)
    return str(module.NAME)
