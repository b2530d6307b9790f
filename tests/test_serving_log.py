"""Request logs: what is read, and what an error says."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from pytest import approx  # noqa: PT013  (reads well in sums)

from permed_measures.errors import InputError, ParamError
from permed_measures.serving import Fields, read_log


def write(path, *lines):
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("row", "milliseconds"),
    [
        ({"duration_ms": 250}, 250),
        ({"latency_ms": 250.5}, 250.5),
        ({"latency_s": 0.25}, 250),
        ({"elapsed_us": 1500}, 1.5),
        ({"response_time_ns": 2_000_000}, 2),
        ({"duration_ms": "12.5"}, 12.5),
        ({"start": 10.0, "end": 10.25}, 250),
        ({"start_ms": 1000, "end_ms": 1250}, 250),
        ({"start_time": "2026-01-05T09:00:00Z", "end_time": "2026-01-05T09:00:00.25Z"}, 250),
        ({"start_time": "2026-01-05T09:00:00.123456789Z", "end_time": "2026-01-05T10:00:00.123456+01:00"}, 0),
        (
            {"start_time_unix_nano": 1_700_000_000_000_000_001, "end_time_unix_nano": 1_700_000_000_000_250_002},
            0.250001,
        ),
        ({"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}, 1000),
        ({"attributes": {}, "duration_ms": 3}, 3),
    ],
)
def test_durations(tmp_path, row, milliseconds):
    log = read_log(write(tmp_path / "log.jsonl", row))
    assert log.latency.samples_ms == approx([milliseconds])


def test_queries_per_second_run_from_the_first_start_to_the_last_end(tmp_path):
    rows = [{"start": 100 + n, "duration_ms": 500} for n in (3, 0, 1, 2)]
    log = read_log(write(tmp_path / "log.jsonl", *rows))
    assert log.elapsed_s == 3.5
    assert log.qps == 4 / 3.5
    without = read_log(write(tmp_path / "log2.jsonl", *rows, {"duration_ms": 1}))
    assert without.qps is None
    assert "not every request has a start" in without.notes[0]


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ({"error": "TimeoutError: no answer"}, "TimeoutError", "no answer"),
        ({"error": "went wrong"}, "error", "went wrong"),
        ({"error": {"type": "Timeout", "message": "late"}}, "Timeout", "late"),
        ({"exception": "ValueError"}, "exception", "ValueError"),
        ({"status": 503, "duration_ms": 4}, "status 503", "status 503"),
        ({"status_code": "500"}, "status_code 500", "status_code 500"),
        ({"status": "failed"}, "status failed", "status failed"),
        ({"success": False, "duration_ms": 3}, "failed", "the log says that the request did not succeed"),
        (
            {"start_time_unix_nano": 1, "end_time_unix_nano": 2, "status": {"code": 2, "message": "boom"}},
            "status 2",
            "boom",
        ),
    ],
)
def test_failures(tmp_path, row, kind, message):
    log = read_log(write(tmp_path / "log.jsonl", {"duration_ms": 10}, row))
    assert log.latency.samples_ms.tolist() == [10]
    failure = log.latency.failures.by_kind[kind]
    assert (failure.count, failure.first_message) == (1, message)


@pytest.mark.parametrize(
    "row",
    [
        {"error": None},
        {"error": ""},
        {"error": False},
        {"error": []},
        {"error": {}},
        {"status": 200},
        {"status": "ok"},
        {"success": True},
        {"status": {"code": 1}},
        {"status": {}},
    ],
)
def test_what_is_no_failure(tmp_path, row):
    log = read_log(write(tmp_path / "log.jsonl", {"duration_ms": 10, **row}))
    assert log.latency.failures.total == 0


def test_sizes_and_tokens(tmp_path):
    rows = [
        {"duration_ms": 1, "candidates": 20, "tokens": 100},
        {"duration_ms": 3, "candidates": ["a", "b"], "tokens": 200},
        {"duration_ms": 5, "num_documents": 200},
    ]
    log = read_log(write(tmp_path / "log.jsonl", *rows))
    assert log.latency.sizes == (20, 2, 200)
    assert log.tokens_per_request == 150
    log = read_log(write(tmp_path / "log.jsonl", {"duration_ms": 1, "k": 7}), fields=Fields(size="k"))
    assert log.latency.sizes == (7,)


def span(name, start, end, **more):
    return {"name": name, "startTimeUnixNano": str(start), "endTimeUnixNano": str(end), **more}


def test_otlp_files(tmp_path):
    attributes = [{"key": "num_candidates", "value": {"intValue": "50"}}]
    spans = [span("rerank", 0, 2_000_000, attributes=attributes), span("embed", 0, 9_000_000)]
    line = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    path = write(tmp_path / "spans.jsonl", line, line)
    with pytest.raises(InputError, match=r"several names.*'rerank' \(2\), 'embed' \(2\)"):
        read_log(path)
    log = read_log(path, span="rerank")
    assert log.latency.samples_ms.tolist() == [2, 2]
    assert log.latency.sizes == (50, 50)
    with pytest.raises(InputError, match="no span named 'rank' in the log; there are spans named 'rerank', 'embed'"):
        read_log(path, span="rank")


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_text(tmp_path, indent):
    rows = [{"duration_ms": 1}, {"duration_ms": 2}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows, indent=indent))
    assert read_log(path).latency.samples_ms.tolist() == [1, 2]
    path.write_text(
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span("r", 0, 5_000_000)]}]}]}, indent=indent)
    )
    assert read_log(path).latency.samples_ms.tolist() == [5]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_csv(tmp_path, delimiter):
    rows = ["start,duration_ms,candidates,error", "2026-01-05T09:00:00,100,20,", '2026-01-05T09:00:01,,50,"late, so"']
    path = write(tmp_path / "log.csv", *[row.replace(",", delimiter) for row in rows])
    log = read_log(path)
    assert log.latency.samples_ms.tolist() == [100]
    assert log.latency.failures.total == 1
    assert log.latency.sizes == (20,)


def test_gzip(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"duration_ms": 7}\n'))
    assert read_log(path).latency.samples_ms.tolist() == [7]


@pytest.mark.parametrize("zone", ["", "::TIMESTAMPTZ"])
def test_parquet(tmp_path, zone):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "log[1].parquet"
    start = f"(TIMESTAMP '2026-01-05 09:00:00' + to_milliseconds(i * 500)){zone}"
    made = tmp_path / "made.parquet"
    columns = f"{start} AS start, 100.0 + i AS duration_ms, 50 AS candidates"
    duckdb.sql(f"SELECT {columns} FROM range(5) t(i)").write_parquet(str(made))  # noqa: S608  (our own text)
    made.rename(path)
    log = read_log(path)
    assert log.latency.samples_ms.tolist() == [100, 101, 102, 103, 104]
    assert log.elapsed_s == approx(4 * 0.5 + 0.104)
    assert log.latency.sizes == (50,) * 5


def test_parquet_errors_name_the_row(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "log.parquet"
    duckdb.sql("SELECT -1.0 AS duration_ms").write_parquet(str(path))
    with pytest.raises(InputError, match=r"log.parquet: row 1: duration_ms is -1; a duration is a finite number >= 0"):
        read_log(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"duration_ms": 1}', '{"duration_ms": -2}'], "log:2: duration_ms is -2; a duration is a finite number >= 0"),
        (['{"duration_ms": 1}', "", '{"duration_ms"'], "log:3: not JSON"),
        (['{"duration_ms": "soon"}'], "log:1: duration_ms is 'soon', not a number"),
        (['{"duration_ms": true}'], "log:1: duration_ms is True, not a number"),
        (['{"duration_ms": null}'], "log:1: the request has no duration, and did not fail"),
        (['{"duration": 5}'], "log:1: the unit of 'duration' is not known; name it duration_ms"),
        (['{"duration_ms": 5, "latency_s": 1}'], "log:1: several durations: 'duration_ms', 'latency_s'"),
        (['{"query": "a"}'], "log:1: no duration: give a field such as duration_ms"),
        (['{"start": 5, "end": 4}'], "log:1: end - start is -1"),
        (['{"timestamp": 1700000000000, "duration_ms": 1}'], "log:1: timestamp is 1.7e\\+12, which cannot be seconds"),
        (['{"timestamp": "noon", "duration_ms": 1}'], "log:1: timestamp is 'noon', neither a number nor an ISO 8601"),
        (['{"startTimeUnixNano": "x", "endTimeUnixNano": "1"}'], "log:1: start 'x' and end '1' are not whole nano"),
        (['{"startTimeUnixNano": "1", "endTimeUnixNano": "1_0"}'], "log:1: start '1' and end '1_0' are not whole nano"),
        (['{"duration_ms": 1, "candidates": 1.5}'], "log:1: candidates is 1.5; a number of candidates is whole"),
        (['{"duration_ms": 1, "candidates": 1e999}'], "log:1: candidates is inf; a finite number >= 0 is expected"),
        (['{"duration_ms": 1, "tokens": -3}'], "log:1: tokens is -3; a finite number >= 0 is expected"),
        (["{}{}"], "log:1: not JSON"),
        (["[1]"], "log: row 1: a JSON number, a record is an object"),
        (["duration_ms,start", "1"], "log:2: 1 field, the header has 2"),
        (["duration_ms,duration_ms", "1,2"], "log:1: the column 'duration_ms' occurs twice"),
        (["duration_ms", "x"], "log:2: duration_ms is 'x', not a number"),
        (["duration_ms"], "log: no request in the log"),
        ([""], "log: no request in the log"),
        (['{"resourceSpans": [{"scopeSpans": {}}]}'], "log:1: 'scopeSpans' is not a list"),
    ],
)
def test_errors_name_file_and_line(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read_log(write(tmp_path / "log", *lines))


def test_fields_by_name(tmp_path):
    path = write(tmp_path / "log.jsonl", {"took": 5, "latency_s": 1, "when": 1_700_000_000_000})
    fields = Fields(duration="took", duration_unit="us", start="when", start_unit="ms")
    log = read_log(path, fields=fields)
    assert log.latency.samples_ms == approx([0.005])
    assert log.requests[0].start_s == approx(1_700_000_000)
    with pytest.raises(InputError, match="no field 'tok'; there are 'took', 'latency_s', 'when'"):
        read_log(path, fields=Fields(duration="tok"))
    with pytest.raises(InputError, match="no field 'wen'"):
        read_log(path, fields=Fields(start="wen"))
    with pytest.raises(ParamError, match="duration_unit='sec' is not allowed"):
        Fields(duration_unit="sec")
    with pytest.raises(ParamError, match="unknown log format 'xml'"):
        read_log(path, format="xml")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_log(tmp_path / "no.jsonl")


DOCS = (Path(__file__).parents[1] / "docs" / "serving.md").read_text(encoding="utf-8")
K6 = [
    {"type": "Metric", "data": {"name": "http_req_duration", "type": "trend"}, "metric": "http_req_duration"},
    *[
        {
            "metric": "http_req_duration",
            "type": "Point",
            "data": {"time": f"2026-01-05T09:00:0{n}.5+01:00", "value": 100.5 + n, "tags": {"status": status}},
        }
        for n, status in enumerate(("200", "204", "0"))
    ],
    {"metric": "vus", "type": "Point", "data": {"time": "2026-01-05T09:00:01Z", "value": 10, "tags": None}},
]
VEGETA = [
    {"attack": "", "seq": n, "code": code, "timestamp": f"2026-01-05T08:00:0{n}.5Z", "latency": (100_500 + n) * 1000}
    for n, code in enumerate((200, 200, 503))
]
JMETER = [
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes",
    "1767600000500,100,rerank,200,OK,g 1-1,true,312",
    "1767600001500,101,rerank,200,OK,g 1-1,true,312",
    "1767600002500,102,rerank,503,Busy,g 1-1,false,12",
]
JAEGER = {
    "data": [
        {
            "traceID": f"{n}",
            "spans": [
                {
                    "operationName": name,
                    "startTime": 1_767_600_000_500_000 + n * 1_000_000,
                    "duration": (100 + n) * 1000,
                    "tags": [
                        {"key": "candidates", "type": "int64", "value": 50},
                        *([{"key": "error", "type": "bool", "value": True}] if n == 2 else []),
                    ],
                }
                for name in ("rerank", "embed")
            ],
        }
        for n in range(3)
    ]
}


@pytest.mark.parametrize(
    ("tool", "lines", "samples"),
    [
        ("k6", K6, [100.5, 101.5]),
        ("vegeta", VEGETA, [100.5, 100.501]),
        ("jmeter", JMETER, [100, 101]),
        ("jaeger", [JAEGER], [100, 101]),
    ],
)
def test_the_log_formats_of_the_docs(tmp_path, tool, lines, samples):
    described = re.search(rf"```toml {tool}\n(.*?)```", DOCS, re.DOTALL)[1]
    format_file = tmp_path / f"{tool}.toml"
    format_file.write_text(described)
    fields = Fields.of_file(format_file)
    log = read_log(
        write(tmp_path / "log", *lines), fields=fields, span="rerank" if tool in ("jmeter", "jaeger") else None
    )
    assert log.latency.samples_ms == approx(samples)
    assert log.latency.failures.total == 1
    assert [request.start_s for request in log.requests] == approx([1_767_600_000.5 + n for n in range(3)])
    if tool == "jaeger":
        assert log.latency.sizes == (50, 50)
        with pytest.raises(InputError, match=r"several names.*'rerank' \(3\), 'embed' \(3\)"):
            read_log(tmp_path / "log", fields=fields)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ("duraton = { field = 'x', unit = 'ms' }", "no key 'duraton'. Did you mean duration"),
        ("duration = { field = 'x', units = 'ms' }", "no key 'duration_units'. Did you mean duration_unit"),
        ("duration = { field = 'x', unit = 'sec' }", "duration_unit='sec' is not allowed"),
        ("duration = 5", "duration=5 is not allowed; another type is expected"),
        ("duration = { unit = 'ms' }", "a log format needs duration"),
        ("start = { field = 'x' }", "a log format needs duration"),
        ("records = 5\nduration = { field = 'x', unit = 'ms' }", "records=5 is not allowed; another type is expected"),
        ("duration = ", "not TOML"),
    ],
)
def test_a_log_format_that_is_wrong(tmp_path, described, message):
    path = tmp_path / "mine.toml"
    path.write_text(described)
    with pytest.raises(InputError, match=rf"mine\.toml: .*{re.escape(message)}"):
        Fields.of_file(path)


@pytest.mark.parametrize(
    ("row", "start_s"),
    [
        ({"msec": 1767600000.625, "request_time": 0.125, "status": 200}, 1767600000.5),
        ({"time_iso8601": "2026-01-05T08:00:01+00:00", "request_time": "0.125"}, 1767600000.875),
        ({"time_local": "05/Jan/2026:09:00:01 +0100", "request_time": "0.125"}, 1767600000.875),
        ({"durationMs": 125, "startTime": "2026-01-05T08:00:00.5Z"}, 1767600000.5),
    ],
)
def test_nginx_and_camel_case(tmp_path, row, start_s):
    log = read_log(write(tmp_path / "log.jsonl", row))
    assert log.latency.samples_ms == approx([125])
    assert log.requests[0].start_s == approx(start_s)  # nginx writes when a request is over


def test_text_is_no_csv(tmp_path):
    line = '127.0.0.1 - - [05/Jan/2026:09:00:00 +0000] "POST /rerank HTTP/1.1" 200 612 "-" "curl/8.5"'
    for count in (1, 2):
        with pytest.raises(InputError, match=r"log:1: no CSV with a header, nor JSON, nor parquet.*escape=json"):
            read_log(write(tmp_path / "log", *[line] * count))


def test_an_interval_of_parquet_has_its_unit(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "log.parquet"
    duckdb.sql("SELECT INTERVAL 250 MILLISECOND AS duration").write_parquet(str(path))
    assert read_log(path).latency.samples_ms == approx([250])


def sdk_spans():
    """Return spans as the SDK writes them: 8 named rerank, two of which failed, each with a child."""
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import StatusCode

    exporter = InMemorySpanExporter()
    provider = trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    for number in range(8):
        start = (1_767_600_000 + number) * 10**9
        span = tracer.start_span("rerank", start_time=start, attributes={"num_candidates": 50})
        tracer.start_span("embed", start_time=start).end(start + 5_000_000)
        if number % 4 == 3:
            span.set_status(StatusCode.ERROR, "upstream")
        span.end(start + (100 + number) * 1_000_000)
    return exporter.get_finished_spans()


@pytest.mark.parametrize("form", ["lines", "pretty", "list"])
def test_spans_of_the_sdk(tmp_path, form):
    spans = sdk_spans()
    path = tmp_path / "spans.json"
    if form == "list":
        path.write_text("[" + ",\n".join(span.to_json() for span in spans) + "]")
    else:
        path.write_text("\n".join(span.to_json(indent=None if form == "lines" else 4) for span in spans) + "\n")
    with pytest.raises(InputError, match=r"several names.*'embed' \(8\), 'rerank' \(8\)"):
        read_log(path)
    log = read_log(path, span="rerank")
    assert log.latency.samples_ms == approx([100, 101, 102, 104, 105, 106])
    assert log.latency.failures.by_kind["status ERROR"].first_message == "upstream"
    assert log.latency.failures.total == 2
    by_size = log.latency.by_size()["21 to 50"]
    assert (by_size.answered, by_size.failures.total) == (6, 2)
    with pytest.raises(InputError, match="no span named 'nosuch' in the log; there are spans named"):
        read_log(path, span="nosuch")


def test_a_span_of_a_log_without_spans_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no span named 'rerank' in the log, nor any other span"):
        read_log(write(tmp_path / "log.jsonl", {"duration_ms": 5}), span="rerank")


def test_a_pretty_printed_log_names_the_line_of_an_error(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{\n "duration_ms": 5\n}\n{\n "duration_ms": -5\n}\n')
    with pytest.raises(InputError, match=r"log.json:4: duration_ms is -5"):
        read_log(path)
    path.write_text('{\n "duration_ms": 5\n}\n{\n "duration_ms": \n}\n')
    with pytest.raises(InputError, match=r"log.json:6: not JSON"):
        read_log(path)
