"""Run the notebooks of docs/notebooks, and write each as a page: .ci/notebook.py FOLDER."""  # noqa: INP001  (a script)

import sys
from pathlib import Path

import nbclient
import nbformat
from nbconvert import HTMLExporter

_LINES = 20
_HERE = Path(__file__).parent.parent / "docs" / "notebooks"
_NOTEBOOKS = sorted(_HERE.glob("*.ipynb"))
_FRAMES = ("to_frame", "to_dataframe")

folder = Path(sys.argv[1])
for path in _NOTEBOOKS:
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = [
        (cell.source, output["data"])
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "execute_result"
    ]
    for source, data in shown:
        if len(data.get("text/plain", "").splitlines()) > _LINES and not any(frame in source for frame in _FRAMES):
            raise SystemExit(f"{path.name}: more than {_LINES} lines of text: {source}")
    ours = [data["text/html"] for _, data in shown if "permed-measures" in data.get("text/html", "")]
    figures = [data for _, data in shown if "image/svg+xml" in data]
    if not ours or not figures or not all("<table" in html for html in ours):
        raise SystemExit(f"{path.name}: no result is shown as a table, or no figure")
    page, _ = HTMLExporter().from_notebook_node(notebook)
    (folder / f"{path.stem}.html").write_text(page, encoding="utf-8")
    print(f"{path.name}: {len(ours)} results and {len(figures)} figures are shown")  # noqa: T201  (a script)
if not _NOTEBOOKS:
    raise SystemExit(f"no notebook is in {_HERE}")
