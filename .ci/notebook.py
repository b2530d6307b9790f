"""Run a notebook whose cells are results: all must be shown as tables, in few lines as text."""  # noqa: INP001  (a script)

import nbclient
import nbformat

_LINES = 20
_SETUP = """
from permed_measures import compare, evaluate, explain, gate, verify
qrels = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(100)}
run = {query_id: ["b", "x", "a"] for query_id in qrels}
other = {query_id: ["a", "b"] for query_id in qrels}
"""
_SHOWN = (
    "evaluate(qrels, run, 'GWAP@10 P@1')",
    "compare(qrels, run, {'other': other}, 'GWAP@10 P@1')",
    "gate(qrels, run, ['P@1>=0.1'])",
    "explain(qrels, run, value='0.5', about='map@10')",
    "verify(qrels, run, 'P@1')",
    "evaluate(qrels, run, 'GWAP@10 P@1').to_dataframe()",
)

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in (_SETUP, *_SHOWN)])
nbclient.NotebookClient(notebook, timeout=300).execute()
for cell in notebook.cells[1:]:
    shown = [output["data"] for output in cell.outputs if output["output_type"] == "execute_result"]
    if len(shown) != 1 or "<table" not in shown[0].get("text/html", ""):
        raise SystemExit(f"not shown as a table: {cell.source}: {cell.outputs}")
    if len(shown[0]["text/plain"].splitlines()) > _LINES:
        raise SystemExit(f"more than {_LINES} lines: {cell.source}")
print(f"{len(_SHOWN)} results are shown as tables")  # noqa: T201  (a script)
