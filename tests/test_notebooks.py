"""The notebooks and the page on results: kept without outputs, and what they say runs (.ci/full runs the notebooks)."""

from __future__ import annotations

import ast
import doctest
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    for cell in code:
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        lines = [line for line in cell["source"] if not line.startswith("!")]
        assert ast.parse("".join(lines))
    assert path.stat().st_size < 10_000


def test_there_are_two_notebooks_and_the_page_names_them():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 2
    assert all(f"notebooks/{path.name}" in page for path in NOTEBOOKS)


def test_the_examples_of_the_page_run():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(source, {}, "results.md", "results.md", 0)
    out = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=out.append)
    assert tried == len(test.examples) > 3
    assert not failed, "".join(out)
