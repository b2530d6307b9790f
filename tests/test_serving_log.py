"""Request logs: what is read, and what an error says."""

from __future__ import annotations

import gzip
import json

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
