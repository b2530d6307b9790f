"""Real corpora that are not part of the project: read where they lie, absent on most machines."""

from __future__ import annotations

import gzip
from pathlib import Path

from compat.corpora.corpus import Corpus, Grid

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Beside the project's root."""


def _lines(path: Path) -> list[list[str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.split() for line in text.decode().splitlines()]


def read_qrels(path: Path) -> Grid:
    """Read TREC qrels, in the plainest way."""
    qrels: Grid = {}
    for query_id, _, doc_id, grade in _lines(path):
        qrels.setdefault(query_id, {})[doc_id] = int(grade)
    return qrels


def read_run(path: Path) -> Grid:
    """Read a TREC run, in the plainest way."""
    run: Grid = {}
    for query_id, _, doc_id, _, score, _ in _lines(path):
        run.setdefault(query_id, {})[doc_id] = float(score)
    return run


def _covid(name: str) -> Corpus:
    folder = FOLDER / "trec-covid-r1"
    qrels, run = read_qrels(folder / "qrels.txt"), read_run(folder / f"{name}.run.gz")
    return Corpus(name, f"TREC-COVID round 1, the run {name}", qrels, run, large=True)


def _trec_eval() -> Corpus:
    folder = FOLDER / "trec_eval"
    qrels, run = read_qrels(folder / "qrels.test"), read_run(folder / "results.test")
    return Corpus("trec_eval", "trec_eval's own test input", qrels, run)


REAL = (_trec_eval(), _covid("irc_entrez"), _covid("irc_pubmed")) if FOLDER.is_dir() else ()
