"""``permed-measures serving``: latency, throughput and cost from a request log."""

from dataclasses import replace
from typing import Any

import click

from permed_measures.cli._formats import report_of, report_options
from permed_measures.errors import ParamError
from permed_measures.files.output import write_or_print
from permed_measures.files.records import FORMATS as LOG_FORMATS
from permed_measures.files.times import UNITS_MS
from permed_measures.render.result import Result
from permed_measures.serving.log import Fields, RequestLog, read_log
from permed_measures.serving.periods import LENGTHS, Length, PeriodChange, PeriodReport
from permed_measures.serving.report import ServingReport
from permed_measures.serving.summary import Cost, ServingSummary
from permed_measures.serving.targets import Targets

_FIELDS = ("duration", "duration_unit", "start", "start_unit", "size")


@click.command(short_help="Latency percentiles, throughput and cost from a request log.")
@click.argument("log", type=click.Path(dir_okay=False))
@click.option(
    "--log-format",
    metavar="|".join((*LOG_FORMATS, "FILE.toml")),
    help="The format of the log, where it cannot be told; or a file that says which fields to read.",
)
@click.option("--span", metavar="NAME", help="Read only the OpenTelemetry spans of this name.")
@click.option("--duration-field", metavar="NAME", help="The field of the duration.")
@click.option("--duration-unit", type=click.Choice(list(UNITS_MS)), help="Its unit, where its name does not tell.")
@click.option("--start-field", metavar="NAME", help="The field of the start.")
@click.option("--start-unit", type=click.Choice(list(UNITS_MS)), help="The unit of numeric starts since 1970.")
@click.option("--size-field", metavar="NAME", help="The field of the number of candidates.")
@click.option("--usd-per-million-tokens", type=click.FloatRange(0), metavar="X", help="The price of tokens.")
@click.option("--tokens-per-query", type=click.FloatRange(0), metavar="N", help="Unless the log has tokens.")
@click.option("--queries-per-day", type=click.FloatRange(0), metavar="N", help="For the cost of a day.")
@click.option("--by", type=click.Choice(LENGTHS), help="Report hour by hour, or day by day (UTC).")
@click.option("--against", metavar="OLD_LOG", help="Report the differences from another log, with intervals.")
@report_options
def command(*, log: str, by: Length | None, against: str | None, **options: Any) -> None:  # noqa: ANN401  (as above)
    r"""Read a request LOG: JSON, CSV or parquet, one request a record, or OpenTelemetry spans.

    A request has a duration (duration_ms, latency_ms, elapsed_s, durationMs, ...: the unit is in the name; nginx's
    request_time is in seconds), or a start and an end; optionally start (seconds since 1970, another unit by suffix, or
    ISO 8601), candidates, tokens, error or status. A unit is never guessed. Spans are read in every JSON form: OTLP,
    the collector's file, the SDK's to_json, one a line or pretty-printed. Requests that failed are counted by type, and
    by number of candidates, and have no latency.

    The JSON format is what `permed-measures gate --serving FILE` reads.

    \b
    Any other log: --log-format FILE.toml says which fields to read (docs/serving.md has k6, vegeta, JMeter, Jaeger):
      format = "jsonl"                                       # or csv, parquet; told by the content if left out
      records = "data.spans"                                 # where the requests are, if not one a record
      where = { metric = "http_req_duration" }               # only those that have these values
      duration = { field = "data.value", unit = "ms" }       # or start and end; units: ns, us, ms, s
      start = { field = "data.time" }                        # ISO 8601, or since 1970 with a unit
      failure = { field = "data.tags.status", ok = ["2??"] } # what is not ok failed; without ok: an error or status
      size = { field = "k" }                                 # tokens, and name (for --span), as well

    \b
    Example:
      echo '{"start": "2026-01-05T09:00:00Z", "duration_ms": 120.5, "candidates": 50}' > requests.jsonl
      echo '{"start": "2026-01-05T09:00:01Z", "duration_ms": 310.0, "candidates": 100}' >> requests.jsonl
      echo '{"start": "2026-01-05T09:00:02Z", "error": "TimeoutError: no answer"}' >> requests.jsonl
      permed-measures serving requests.jsonl
      permed-measures serving requests.jsonl --by hour
      permed-measures serving requests.jsonl --against requests.jsonl
      permed-measures serving requests.jsonl --format html -o latency.html
      permed-measures serving requests.jsonl --usd-per-million-tokens 0.025 --tokens-per-query 40000 \
          --queries-per-day 100000 --format json -o serving.json
    """
    form, output = report_of(options)
    if by is not None and against is not None:
        raise ParamError("--by and --against are two reports; ask for one")
    said, price = options["log_format"], options["usd_per_million_tokens"]
    fields = Fields.of_file(said) if said and said.endswith(".toml") else Fields(format=said)
    chosen = {name: options.get(f"{name}_field", options.get(name)) for name in _FIELDS}
    fields = replace(fields, **{name: value for name, value in chosen.items() if value is not None})
    requests, *old = (read_log(path, fields=fields, span=options["span"]) for path in (log, against) if path)
    report: Result
    if against is not None:
        report = PeriodChange(old[0], requests, price)
    elif by is not None:
        report = PeriodReport.of(requests, by)
    else:
        summary = ServingSummary(
            requests.latency,
            cost=_cost(requests, price, options["tokens_per_query"]),
            qps=requests.qps,
            queries_per_day=options["queries_per_day"],
            notes=tuple(requests.notes),
        )
        report = ServingReport(requests.path.name, summary, Targets())
    write_or_print(output, report.render(form))


def _cost(requests: RequestLog, price: float | None, tokens: float | None) -> Cost | None:
    if price is None:
        if tokens is not None:
            raise ParamError("--tokens-per-query without --usd-per-million-tokens: tokens have no price")
        return None
    known = requests.tokens_per_request if tokens is None else tokens
    if known is None:
        raise ParamError("--usd-per-million-tokens needs --tokens-per-query: the log has no field tokens")
    return Cost(price, tokens_per_document=0, documents_per_query=0, tokens_per_query=known)
