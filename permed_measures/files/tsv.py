"""TSV with a header: CSV with tabs."""

from collections.abc import Mapping

from permed_measures.files import csv_table
from permed_measures.files.csv_table import read, what_is

__all__ = ["DESCRIPTION", "NAME", "ROWS", "SUFFIXES", "fits", "read", "what_is", "write"]

NAME = "tsv"
DESCRIPTION = "the same with tabs"
SUFFIXES = (".tsv",)
ROWS = True


def fits(head: bytes) -> bool:
    """Whether the first line is a header with a query and a document, between tabs."""
    return csv_table.fits(head) and csv_table.header(head)[0] == "\t"


def write(groups: Mapping[str, Mapping[str, float]], what: str) -> bytes:
    """Return the file."""
    return csv_table.write(groups, what, delimiter="\t")
