"""Folders whose files do not all count: Delta is read by its log; Iceberg, Hudi and other Delta are refused."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec

import polars as pl
import pytest

from permed_measures import HostError, InputError
from permed_measures.tables import evaluate_files
from permed_measures.tables.datasets import dataset
from permed_measures.tables.sessions import opened

needs_delta = pytest.mark.skipif(
    find_spec("deltalake") is None, reason="deltalake is not installed: pip install 'permed-measures[delta]'"
)
QRELS = {"q": {"a": 1}, "p q/ä": {"a": 1}}


def run_of(*docs, query="q"):
    return pl.DataFrame({"query_id": query, "doc_id": docs, "score": [float(-place) for place in range(len(docs))]})


def means(path, engine="duckdb"):
    with opened(engine) as session:
        found = evaluate_files(session, {"q": {"a": 1}}, str(path), "RR P@1")
    return {str(measure): mean for measure, mean in found.means.items()}


@pytest.mark.full
@needs_delta
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_delta_table_is_read_without_its_dead_files(tmp_path, engine):
    import deltalake

    table = str(tmp_path / "run")
    deltalake.write_deltalake(table, run_of("x", "y").to_arrow())
    deltalake.write_deltalake(table, run_of("a", "b").to_arrow(), mode="overwrite")
    assert len(list((tmp_path / "run").glob("*.parquet"))) == 2
    assert means(table, engine) == {"RR": 1.0, "P@1": 1.0}  # with the dead file, a would be third
    deltalake.DeltaTable(table).delete("doc_id = 'a'")
    assert means(table, engine) == {"RR": 0.0, "P@1": 0.0}


@pytest.mark.full
@needs_delta
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_partitioned_delta_table_has_the_columns_of_its_folders(tmp_path, engine):
    import deltalake

    table = str(tmp_path / "a run")
    rows = pl.concat([run_of("a", "b", query=query) for query in QRELS])
    for turn in range(2):  # a second version makes the files of the first dead
        changed = rows.with_columns(doc_id=pl.lit("x") + pl.col("doc_id")) if turn == 0 else rows
        deltalake.write_deltalake(table, changed.to_arrow(), partition_by=["query_id"], mode="overwrite")
    assert dataset(table).partitions == ["query_id"]
    with opened(engine) as session:
        found = evaluate_files(session, QRELS, table, "RR", by_query=True)
    assert next(iter(found.columns.values())) == {"q": 1.0, "p q/ä": 1.0}


@pytest.mark.full
@needs_delta
def test_delta_tables_whose_files_are_not_their_rows_are_refused(tmp_path):
    import deltalake

    table = tmp_path / "run"
    deltalake.write_deltalake(str(table), run_of("a", "b").to_arrow())
    log = table / "_delta_log" / f"{0:020}.json"
    plain = log.read_text()

    def with_protocol(reader_features, configuration):
        lines = [json.loads(line) for line in plain.splitlines()]
        for line in lines:
            if "protocol" in line:
                line["protocol"] = {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": reader_features,
                    "writerFeatures": reader_features,
                }
            if "metaData" in line:
                line["metaData"]["configuration"] = configuration
        log.write_text("\n".join(map(json.dumps, lines)))

    with_protocol(["timestampNtz"], {})
    assert means(table) == {"RR": 1.0, "P@1": 1.0}
    with_protocol(["deletionVectors"], {"delta.enableDeletionVectors": "true"})
    with pytest.raises(InputError, match=r"a Delta table with deletionVectors.*polars\.scan_delta"):
        means(table)
    with_protocol(["columnMapping"], {"delta.columnMapping.mode": "name"})
    with pytest.raises(InputError, match=r"columnMapping|not readable as a Delta table"):
        means(table)
    log.write_text("{}")
    with pytest.raises(InputError, match="not readable as a Delta table"):
        means(table)


def test_delta_without_its_reader_is_an_error_that_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "run" / "_delta_log").mkdir(parents=True)
    run_of("a").write_parquet(tmp_path / "run" / "1.parquet")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(HostError, match=r"permed-measures\[delta\]"):
        means(tmp_path / "run")


@pytest.mark.parametrize(
    ("sign", "kind"),
    [
        ("metadata/v1.metadata.json", "Iceberg"),
        ("metadata/00000-7c2f.metadata.json", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("_delta_log/00000000000000000000.json", "Delta"),
    ],
)
@pytest.mark.parametrize("path", ["table", "table/data", "table/data/*.parquet", "."])
def test_tables_that_keep_dead_files_are_refused_by_name(tmp_path, monkeypatch, sign, kind, path):
    (tmp_path / "table" / "data").mkdir(parents=True)
    run_of("a").write_parquet(tmp_path / "table" / "data" / "1.parquet")
    (tmp_path / "table" / sign).parent.mkdir()
    (tmp_path / "table" / sign).write_text("{}")
    monkeypatch.chdir(tmp_path)
    if kind == "Delta" and path == "table":
        return  # read by its log, above
    with pytest.raises(InputError, match=f"table is a table of {kind}, whose folder also holds files that count no"):
        means(path)


def test_a_folder_beside_a_table_and_one_file_by_its_name_are_read(tmp_path):
    for folder in ("runs", "table/_delta_log"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("runs", "table"):
        run_of("a").write_parquet(tmp_path / folder / "1.parquet")
    assert means(tmp_path / "runs") == means(tmp_path / "table" / "1.parquet") == {"RR": 1.0, "P@1": 1.0}


@pytest.mark.parametrize("sign", ["metadata/v1.metadata.json", ".hoodie/hoodie.properties", "_delta_log/0.json"])
def test_duckdb_looks_at_addresses_too(tmp_path, sign):
    run_of("a").write_parquet(tmp_path / "1.parquet")
    address = f"file://{tmp_path}/*.parquet"
    assert means(address) == {"RR": 1.0, "P@1": 1.0}
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).write_text("{}")
    with pytest.raises(InputError, match="whose folder also holds files that count no longer"):
        means(address)
