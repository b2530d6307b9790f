"""``permed-measures bench-reranker``: quality, latency and cost of rerankers."""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from permed_measures.cli._formats import report_of, report_options
from permed_measures.errors import ParamError, did_you_mean
from permed_measures.files import by_suffix, formatted
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.serving.answers import lines_of, read_recorded
from permed_measures.serving.calls import TIMEOUT_S, is_factory
from permed_measures.serving.report import RerankReport
from permed_measures.serving.rerank import GIVEN, HttpReranker, RerankEvaluator
from permed_measures.serving.summary import Cost
from permed_measures.serving.throughput import ARRIVALS


def _numbers(kind: type[int | float], example: str) -> Callable[..., tuple[float, ...]]:
    def read(context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...]:  # noqa: ARG001  (click's signature)
        try:
            return tuple(kind(word) for word in (text or "").split(",") if word.strip())
        except ValueError:
            whole = "whole numbers" if kind is int else "numbers"
            raise click.BadParameter(f"{text!r} is not a list of {whole} such as {example}") from None

    return read


@click.command(short_help="Quality, latency, throughput and cost of rerankers, side by side.")
@click.argument("rerankers", nargs=-1, metavar="[NAME=]MODULE:CALLABLE...")
@click.option("--queries", required=True, metavar="FILE", help="JSON Lines: query_id, text.")
@click.option("--candidates", required=True, metavar="FILE", help="JSON Lines: query_id, candidates.")
@click.option("--qrels", required=True, metavar="FILE", help="Judgements, in any format that eval reads.")
@click.option("--profile", default="rerank", metavar="NAME|FILE.toml", help="Measures and targets.")
@click.option("--http", "urls", multiple=True, metavar="[NAME=]URL", help="A reranker behind a URL; may be repeated.")
@click.option("--http-model", "model", metavar="NAME", help="The model to ask for there.")
@click.option("--http-header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent along; may be repeated.")
@click.option("--http-key-env", metavar="VARIABLE", help="The environment variable that holds the API key.")
@click.option("--calls", "calls_file", metavar="FILE", help="Report on the calls of --write-calls; call nobody.")
@click.option(
    "--pass",
    "given",
    type=click.Choice(GIVEN),
    default="text",
    help="Call with the texts of the candidates, or with their records as in the file.",
)
@click.option("--warmup", type=click.IntRange(0), default=1, help="Calls that are not counted.")
@click.option("--repeats", type=click.IntRange(1), default=1, help="Calls of each query.")
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=TIMEOUT_S,
    metavar="S",
    help="The longest that a call may take, in every phase; 0: no limit.",
)
@click.option("--retries", type=click.IntRange(0), default=0, help="How often a failed call is made again.")
@click.option("--sizes", callback=_numbers(int, "20,50"), metavar="20,50,...", help="Also time lists cut to so many.")
@click.option(
    "--threads", callback=_numbers(int, "1,4"), metavar="1,4,...", help="Also measure throughput, so many at once."
)
@click.option("--duration", type=float, default=10.0, metavar="S", help="Of each throughput run.")
@click.option(
    "--rates",
    "--arrival-rate",
    callback=_numbers(float, "10,20,40"),
    metavar="10,20,...",
    help="Throughput in an open loop: arrivals a second, one run each.",
)
@click.option("--arrivals", type=click.Choice(ARRIVALS), default="even", help="Evenly spaced, or at random.")
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
@click.option("--seed", type=click.IntRange(0), default=0, help="Of all draws.")
@report_options
@click.option("--write-run", metavar="FILE", help="Also write the reranked run (one reranker); format by suffix.")
@click.option("--write-serving", metavar="FILE", help="Also write the figures that gate --serving reads.")
@click.option("--write-calls", metavar="FILE", help="Also write every call, for --calls.")
def command(*, rerankers: Sequence[str], queries: str, candidates: str, qrels: str, **options: Any) -> None:  # noqa: ANN401  (as above)
    r"""Run rerankers over queries with candidates; report quality, latency and cost together.

    A reranker is called as callable(query, texts), may be async, and answers with a score for each text; or with the
    documents best first, as (index, score) pairs, as records with an index or an id, or as ids. The module is looked
    for in the current folder too. A callable without parameters is a factory: it returns the reranker, or a context
    manager (async or not) that gives it; all calls of a reranker, sync or async, share one event loop. With --http no
    Python is needed: {"query", "documents", "top_n"} is posted, {"results": [{"index", "relevance_score"}]} expected.

    The order of the candidates is the ranking without reranking. Calls that raise, answers that make no sense, and
    calls without an end after --timeout are counted by type. Quality is that of the first answer to each query; a
    query that no call answered, retries included, counts 0. Each retry is a call of its own in every figure. After
    five calls in a row without an end no more are made. Exit code 1 when a reranker answered no call at all.

    \b
    Load: --threads 4 calls from 4 threads, each as soon as it has its answer (closed loop: the capacity).
      With --rates 10,20,40 calls arrive at these rates, whatever the server does (open loop: latency against load),
      at most --threads under way at once; latency then counts from the arrival. Calls that never started or never
      ended are censored: a percentile that touches them is printed as "≥ x", and no gate holds by it.
    Figures of --write-serving: p95_ms, failure_share (the highest, of the calls and of every load), and of each load
      qps_4_threads, offered_qps_4_threads, p95_ms_4_threads, failures_4_threads, failure_share_4_threads
      (with several rates: qps_4_threads_at_20_per_s).

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

    \b
    A server, its latency against load, and the report made again from the calls:
      permed-measures bench-reranker --http http://localhost:8080/rerank --queries queries.jsonl ... \
          --threads 16 --rates 10,20,40 --arrivals poisson --write-calls calls.jsonl --write-serving serving.json
      permed-measures bench-reranker --calls calls.jsonl --queries queries.jsonl ... -o report.html
    """
    form, output = report_of(options)
    write_run, write_serving, write_calls = map(options.pop, ("write_run", "write_serving", "write_calls"))
    timeout_s, calls_file = options.pop("timeout") or None, options.pop("calls_file")
    http: dict[str, Any] = {"headers": _headers(options.pop("headers"), options.pop("http_key_env"))}
    http |= {"model": options.pop("model"), "timeout_s": timeout_s}
    called: dict[str, Any] = _named(rerankers, load)
    called |= _named(options.pop("urls"), lambda url: partial(HttpReranker, url, **http), called)
    if bool(called) == (calls_file is not None):
        msg = "name rerankers, or give --http URL, or --calls FILE: one of these, and not --calls with another"
        raise ParamError(msg)
    asked = {name: options.pop(name) for name in ("profile", "given")}
    evaluator = RerankEvaluator(queries, qrels, candidates, **asked)
    run_format = None if write_run is None else _run_format(write_run)
    rates = options.pop("rates")
    if rates and not options["threads"]:
        raise ParamError("--arrival-rate needs --threads: how many calls may be under way at once")
    recorded = {} if calls_file is None else read_recorded(calls_file, evaluator.query_ids)
    names = list(called or recorded)
    if len(names) > 1 and (write_run is not None or write_serving is not None):
        raise ParamError("--write-run and --write-serving take what one reranker gave; name one only")
    tokens = {name: options.pop(name) for name in ("tokens_per_document", "tokens_per_query")}
    costs = _costs(names, options.pop("prices"), evaluator.documents_per_query, **tokens)
    shared = {name: options.pop(name) for name in ("queries_per_day", "seed")}
    options |= {"duration_s": options.pop("duration"), "timeout_s": timeout_s, "progress": True}
    options["arrival_rate"] = None if not rates else rates if len(rates) > 1 else rates[0]
    revenue = options.pop("revenue_per_query")
    made = [evaluator.reranked(name, kept, cost=costs.get(name), **shared) for name, kept in recorded.items()]
    for name, reranker in called.items():
        made.append(evaluator.evaluate(reranker, name=name, cost=costs.get(name), **options, **shared))
    report = RerankReport(evaluator.baseline, tuple(made), evaluator.profile, revenue_per_query=revenue)
    first = report.rerankers[0]
    if write_calls is not None:
        write_whole(write_calls, lines_of({one.name: one.recorded for one in made}, evaluator.query_ids))
    if write_run is not None and run_format is not None:
        write_whole(write_run, formatted(first.run, "run", run_format)[0])
    if write_serving is not None:
        write_whole(write_serving, first.serving.render("json"))
    write_or_print(output, report.render(form))
    sys.exit(0 if all(reranked.serving.latency.answered for reranked in report.rerankers) else 1)


def _headers(given: Sequence[str], key_env: str | None) -> dict[str, str]:
    headers = {}
    for header in given:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise ParamError(f"--http-header {header!r}: write 'NAME: VALUE'")
        headers[name.strip()] = value.strip()
    if key_env is not None:
        if not os.environ.get(key_env):
            raise ParamError(f"--http-key-env {key_env}: there is no such variable in the environment")
        headers["Authorization"] = f"Bearer {os.environ[key_env]}"
    return headers


def _named(
    given: Sequence[str], make: Callable[[str], Callable[..., Any]], known: Iterable[str] = ()
) -> dict[str, Callable[..., Any]]:
    called: dict[str, Callable[..., Any]] = {}
    for word in given:
        name, equals, target = word.partition("=")
        if not equals or name.startswith(("http:", "https:")):  # the = of a URL's query
            name = target = word
        if name in called or name in known:
            raise ParamError(f"two rerankers are called {name!r}; give each a name: fast={target}")
        called[name] = make(target)
    return called


def load(target: str) -> Callable[..., Any]:
    """Import ``module:callable``; the module may stand in the current folder, the callable within an object."""
    module_name, colon, path = target.partition(":")
    if not colon or not module_name or not path:
        raise ParamError(f"{target!r} is not module:callable, such as my_rerankers:by_words")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ParamError(f"no module {module_name!r}, neither installed nor in {folder}") from error
        raise ParamError(f"the module {module_name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise ParamError(f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise ParamError(f"{target}: no {name!r} in {module_name}.{did_you_mean(name, known)}")
        found = getattr(found, name)
    makes = ("__call__", "__enter__", "__aenter__")
    if inspect.isclass(found) and not (is_factory(found) and any(name in dir(found) for name in makes)):
        raise ParamError(f"{target} is a class; make an instance of it in the module, and name that or its method")
    if not callable(found):
        raise ParamError(f"{target} is a {type(found).__name__}, which cannot be called")
    called: Callable[..., Any] = found
    return called


def _costs(
    names: Sequence[str],
    prices: Sequence[float],
    documents_per_query: float,
    **tokens: Any,  # noqa: ANN401  (numbers)
) -> dict[str, Cost]:
    if not prices:
        return {}
    if tokens["tokens_per_document"] is None:
        raise ParamError("--usd-per-million-tokens needs --tokens-per-document")
    if len(prices) not in (1, len(names)):
        raise ParamError(f"{len(prices)} prices for {len(names)} rerankers; give one, or one for each")
    each = list(prices) * len(names) if len(prices) == 1 else list(prices)
    return {
        name: Cost(price, documents_per_query=documents_per_query, **tokens)
        for name, price in zip(names, each, strict=True)
    }


def _run_format(path: str) -> str:
    module = by_suffix(Path(path).suffix.lower())
    if module is None:
        raise ParamError(f"--write-run {path}: the format cannot be told from the name; end it in .trec or .jsonl")
    return str(module.NAME)
