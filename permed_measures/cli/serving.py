"""``permed-measures serving``: latency, throughput and cost from a request log."""

from __future__ import annotations

import click

from permed_measures.cli._formats import form_for, report_options
from permed_measures.errors import ParamError
from permed_measures.files.output import write_or_print
from permed_measures.render.result import Format
from permed_measures.serving.cost import Cost
from permed_measures.serving.log import FORMATS as LOG_FORMATS
from permed_measures.serving.log import RequestLog, read_log
from permed_measures.serving.log_fields import UNITS_MS, Fields
from permed_measures.serving.report import ServingReport
from permed_measures.serving.summary import ServingSummary
from permed_measures.serving.targets import Targets


@click.command(short_help="Latency percentiles, throughput and cost from a request log.")
@click.argument("log", type=click.Path(dir_okay=False))
@click.option("--log-format", type=click.Choice(LOG_FORMATS), help="The format of the log, where it cannot be told.")
@click.option("--span", metavar="NAME", help="Read only the OpenTelemetry spans of this name.")
@click.option("--duration-field", metavar="NAME", help="The field of the duration.")
@click.option("--duration-unit", type=click.Choice(list(UNITS_MS)), help="Its unit, where its name does not tell.")
@click.option("--start-field", metavar="NAME", help="The field of the start.")
@click.option("--start-unit", type=click.Choice(list(UNITS_MS)), help="The unit of numeric starts since 1970.")
@click.option("--size-field", metavar="NAME", help="The field of the number of candidates.")
@click.option("--usd-per-million-tokens", type=click.FloatRange(0), metavar="X", help="The price of tokens.")
@click.option("--tokens-per-query", type=click.FloatRange(0), metavar="N", help="Unless the log has tokens.")
@click.option("--queries-per-day", type=click.FloatRange(0), metavar="N", help="For the cost of a day.")
@report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    log: str,
    log_format: str | None,
    span: str | None,
    duration_field: str | None,
    duration_unit: str | None,
    start_field: str | None,
    start_unit: str | None,
    size_field: str | None,
    usd_per_million_tokens: float | None,
    tokens_per_query: float | None,
    queries_per_day: float | None,
    form: Format | None,
    output: str | None,
) -> None:
    r"""Read a request LOG: JSON Lines, CSV or parquet, one request a row, or OpenTelemetry spans.

    A request has a duration (duration_ms, latency_ms, elapsed_s, ...: the unit is in the name), or a start and an end;
    optionally start (seconds since 1970, another unit by suffix, or ISO 8601), candidates, tokens, error or status. A
    span has start_time_unix_nano and end_time_unix_nano. Requests that failed are counted by type and have no latency.

    The JSON format is what `permed-measures gate --serving FILE` reads.

    \b
    Example:
      echo '{"start": "2026-01-05T09:00:00Z", "duration_ms": 120.5, "candidates": 50}' > requests.jsonl
      echo '{"start": "2026-01-05T09:00:01Z", "duration_ms": 310.0, "candidates": 100}' >> requests.jsonl
      echo '{"start": "2026-01-05T09:00:02Z", "error": "TimeoutError: no answer"}' >> requests.jsonl
      permed-measures serving requests.jsonl
      permed-measures serving requests.jsonl --format html -o latency.html
      permed-measures serving requests.jsonl --usd-per-million-tokens 0.025 --tokens-per-query 40000 \
          --queries-per-day 100000 --format json -o serving.json
    """
    form = form_for(output, form)
    fields = Fields(
        duration=duration_field,
        duration_unit=duration_unit,
        start=start_field,
        start_unit=start_unit,
        size=size_field,
    )
    requests = read_log(log, format=log_format, fields=fields, span=span)
    summary = ServingSummary(
        requests.latency,
        cost=_cost(requests, usd_per_million_tokens, tokens_per_query),
        qps=requests.qps,
        queries_per_day=queries_per_day,
        notes=tuple(requests.notes),
    )
    write_or_print(output, ServingReport(requests.path.name, summary, Targets()).render(form))


def _cost(requests: RequestLog, price: float | None, tokens: float | None) -> Cost | None:
    if price is None:
        if tokens is not None:
            msg = "--tokens-per-query without --usd-per-million-tokens: tokens have no price"
            raise ParamError(msg)
        return None
    known = requests.tokens_per_request if tokens is None else tokens
    if known is None:
        msg = "--usd-per-million-tokens needs --tokens-per-query: the log has no field tokens"
        raise ParamError(msg)
    return Cost(price, tokens_per_document=0, documents_per_query=0, tokens_per_query=known)
