"""What contributors and those who come from an older version are told is true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import permed_measures

ROOT = Path(__file__).resolve().parents[1]


def text_of(*path):
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def test_the_version_is_one():
    """Its home is __init__.py, where the build reads it; ``.dev0`` until the CHANGELOG has a date for it."""
    version = permed_measures.__version__
    assert f"version: {version}\n" in text_of("CITATION.cff")
    (newest, when), *_ = re.findall(r"^## (\S+) \((.+)\)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert version == (f"{newest}.dev0" if when == "unreleased" else newest)
    assert 'path = "permed_measures/__init__.py"' in text_of("pyproject.toml")


def test_the_workflow_calls_the_one_command_and_nothing_else():
    assert re.findall(r"run: (.*)", text_of(".github", "workflows", "ci.yml")) == ["bash .ci/run"]
    assert "\nbash .ci/run\n" in text_of("CONTRIBUTING.md")


def test_the_links_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):  # the manual's: tests/test_docs.py
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page}: {link}"


def test_what_a_format_has_is_what_contributing_asks_for():
    from permed_measures.files import formats

    (asked,) = re.findall(r"`permed_measures/files/` with (.*?), and its name", text_of("CONTRIBUTING.md"), re.DOTALL)
    names = re.findall(r"`(\w+)[`(]", asked)
    assert len(names) == 7
    for module in formats().values():
        assert [name for name in names if not hasattr(module, name)] == [], module.NAME


MOVED = re.findall(
    r"^\| `(permed_measures\.\w+)`.*? \| `(permed_measures\.[\w.]+)` \| (.*) \|$",
    text_of("docs", "coming-from-0.1.md"),
    re.MULTILINE,
)
WARNED = "works, with a DeprecationWarning"


@pytest.mark.parametrize(("old", "new", "fate"), MOVED, ids=[line[0] for line in MOVED])
def test_what_moved_is_where_the_page_says(old, new, fate):
    code = f"""
import importlib, permed_measures, warnings
warnings.simplefilter("ignore", (SyntaxWarning, ImportWarning))
new = importlib.import_module({new!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        same = importlib.import_module({old!r}) is new
    except ImportError:
        same = None
print([same, [str(w.message) for w in caught if w.category is DeprecationWarning],
       callable(getattr(permed_measures, {old.rpartition(".")[2]!r}, None))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    same, warned, is_function = ast.literal_eval(done.stdout)
    assert same is (True if fate == WARNED else None)
    assert bool(warned) == (fate == WARNED)
    assert is_function == fate.startswith("is the function")
    assert fate == WARNED or fate.startswith("is the function") or fate == "is gone"
