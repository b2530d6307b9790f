"""The pages on files and on RAG code are true: their examples run; those of frameworks do in .ci/full."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r'^```python(?: title="(?P<framework>[\w.]+)")?\n(?P<code>.*?)^```', re.MULTILINE | re.DOTALL)
FRAMEWORKS = ("beir", "llama_index.core", "mlflow", "mteb", "ragas")


def blocks(page):
    return [(found["framework"], found["code"]) for found in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))]


def run(code, known):
    test = doctest.DocTestParser().get_doctest(code, known, "docs", "docs", 0)
    assert test.examples
    out = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=out.append, clear_globs=False)
    assert tried == len(test.examples)
    assert not failed, "".join(out)
    return test.globs


@pytest.mark.parametrize("page", ["files.md", "rag.md"])
def test_the_examples_of_a_page_run_one_after_the_other(page):
    known = {}
    for framework, code in blocks(page):
        known = known if framework else run(code, known)
    assert known


def test_every_framework_has_its_recipe():
    assert sorted(filter(None, (framework for framework, _ in blocks("rag.md")))) == list(FRAMEWORKS)
