"""Tables for programs: CSV, JSON and JSON Lines, every number whole."""

import json
from typing import Any

from permed_measures.render.document import Table, plain


def table_csv(table: Table) -> str:
    """Return CSV; what is missing is an empty field."""
    import csv  # noqa: PLC0415  (most people read tables)
    import io  # noqa: PLC0415  (as above)

    lines = io.StringIO(newline="")
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerow(table.heads)
    rows.writerows([[plain(value) for value in row] for row in table.rows])
    return lines.getvalue()


def as_json(record: Any, indent: int | None = 2, *, allow_nan: bool = False) -> str:  # noqa: ANN401  (any JSON)
    """Return JSON as every result and command writes it."""
    return json.dumps(record, indent=indent, ensure_ascii=False, allow_nan=allow_nan)


def table_json(table: Table) -> str:
    """Return one JSON list with an object per row."""
    return as_json(table.records(), allow_nan=True) + "\n"


def table_jsonl(table: Table) -> str:
    """Return one JSON object per row and line."""
    return "".join(as_json(record, None, allow_nan=True) + "\n" for record in table.records())
