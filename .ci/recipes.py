"""Run the recipes of docs/rag.md, each in the framework that its block is titled with; all of them must be here."""  # noqa: INP001  (a script)

import doctest
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path

_BLOCK = re.compile(r'^```python title="([\w.]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
_WANTED = {"beir", "llama_index.core", "mlflow", "mteb", "ragas"}

warnings.simplefilter("ignore")  # theirs
recipes = _BLOCK.findall(Path("docs/rag.md").read_text(encoding="utf-8"))
held = set()
for framework, code in recipes:
    import_module(framework)
    test = doctest.DocTestParser().get_doctest(code, {}, framework, "docs/rag.md", 0)
    result = doctest.DocTestRunner(verbose=False).run(test)
    print(f"{framework}: {result.attempted} examples, {result.failed} failed")  # noqa: T201  (a script)
    held |= {framework} if result.attempted and not result.failed else set()
sys.exit(held != _WANTED)
