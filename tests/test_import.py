"""Importing the package is light, and everything public is there."""

from __future__ import annotations

import subprocess
import sys

import permed_measures

HEAVY = ("pandas", "ranx", "numba", "matplotlib", "polars", "duckdb", "click", "rich", "sklearn", "pyarrow", "narwhals")


def modules_after(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_import_loads_nothing_heavy():
    loaded = {name.partition(".")[0] for name in modules_after("import permed_measures")}
    assert not loaded & {*HEAVY, "scipy"}


def test_the_import_adds_little_to_what_it_is_built_on():
    ours = {name.partition(".")[0] for name in modules_after("import permed_measures")}
    theirs = {name.partition(".")[0] for name in modules_after("import ir_measures, pytrec_eval")}
    third_party = {name for name in ours - theirs if name not in sys.stdlib_module_names}
    assert third_party == {"permed_measures"}


def test_a_small_eval_loads_no_pages_intervals_or_texts(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 0.5 x\n")
    words = ["eval", str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "AP@10 P@1"]
    code = f"""if True:
        import sys
        from permed_measures.cli import main
        try:
            main({words})
        except SystemExit:
            print(*sys.modules)
    """
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = {name.removeprefix("permed_measures.") for name in shown.split()}
    assert {"evaluate.report", "render.document"} <= loaded
    rooms = ("inference", "evaluate.clusters", "evaluate.lists", "files.texts")
    drawn = ("render.queries", "render.plots", "render.figure", "render.html", "render.svg")
    assert not loaded & {*rooms, *drawn, "numpy", "scipy"}


def test_every_public_name_exists():
    for name in permed_measures.__all__:
        assert getattr(permed_measures, name) is not None
    assert permed_measures.__version__.removesuffix(".dev0").count(".") == 2
