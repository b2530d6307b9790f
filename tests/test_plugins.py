"""Measures of other packages: found by an entry point, known wherever ours are, named where they cannot be loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import ir_measures
import pytest

import permed_measures
from permed_measures.measures.plugins import GROUP

ROOT = Path(permed_measures.__file__).parents[1]

MEASURE = '''
from permed_measures import HostName, Param, RankingMeasure, define


def first_grade(ranking, *, top, cutoff):
    return sum(grade / top for rank, grade in ranking.hits(cutoff) if rank == 1)


def expression(table, *, top, cutoff):
    return table.sum_hits(table.grade / float(top), (table.rank == 1.0) & table.within(cutoff))


class _FirstGrade(RankingMeasure):
    """The grade of the first document as a share of the highest. >>> 1."""

    NAME, PRETTY_NAME = "FirstGrade", "First Grade"
    HOST_NAMES = (HostName("first_grade", "First grade"),)
    SUPPORTED_PARAMS = {
        "cutoff": Param("int", desc="how many documents are looked at"),
        "top": Param("number", default=4, above=0, desc="the highest grade"),
    }
    kernel = staticmethod(first_grade)
    expression = staticmethod(expression)


FirstGrade = define(_FirstGrade)
'''

QRELS, RUN = {"p": {"a": 3}, "q": {"a": 1}}, {"p": {"a": 1.0}, "q": {"x": 2.0, "a": 1.0}}  # 3/4 and 0

ASKED = """
import json, sys, ir_measures, permed_measures
from permed_measures.measures import known_names
qrels, run = json.loads(sys.argv[1])
measure = ir_measures.parse_measure("FirstGrade@5")
told = {
    "ir_measures": ir_measures.calc_aggregate([measure], qrels, run)[measure],
    "evaluate": permed_measures.evaluate(qrels, run, "FirstGrade@5").means[measure],
    "trec_eval-style": permed_measures.evaluate(qrels, run, "first_grade_cut_5").means[measure],
    "profile": permed_measures.evaluate(qrels, run, profile=sys.argv[2])["first"],
    "RelevanceEvaluator": permed_measures.RelevanceEvaluator(qrels, ["first_grade"]).evaluate(run)["p"]["first_grade"],
    "completed": "FirstGrade" in known_names(),
}
print(json.dumps(told))
"""

TABLES = """
import json, sys, polars as pl, permed_measures
qrels, run = ([(q, d, v) for q, docs in given.items() for d, v in docs.items()] for given in json.loads(sys.argv[1]))
judged = pl.DataFrame(qrels, ["query_id", "doc_id", "relevance"], orient="row")
returned = pl.DataFrame(run, ["query_id", "doc_id", "score"], orient="row")
print(permed_measures.evaluate_tables(judged, returned, "FirstGrade@5")["FirstGrade@5"].sum())
"""

RANX = """
import json, sys, ranx, permed_measures
permed_measures.install_ranx()
qrels, run = json.loads(sys.argv[1])
print(float(ranx.evaluate(permed_measures.ranx_qrels(qrels), permed_measures.ranx_run(run), "first_grade@5")))
"""


def install(folder, name, module):
    """Lay out a package as an installer does: its module, and beside it what it says of itself."""
    (folder / f"{name}.py").write_text(module, encoding="utf-8")
    said = folder / f"{name}-1.0.dist-info"
    said.mkdir()
    (said / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (said / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}\n", encoding="utf-8")


@pytest.fixture
def installed(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "first_grade_measure", MEASURE)
    return folder


def asked(folder, *command, python=sys.executable, more=()):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *map(str, more or [ROOT])])}
    return subprocess.run([python, *command], capture_output=True, text=True, check=True, env=env)


def test_every_way_to_a_value_knows_it(installed, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('[[measures]]\nmeasure = "FirstGrade@5"\nname = "first"\n', encoding="utf-8")
    done = asked(installed, "-c", ASKED, json.dumps([QRELS, RUN]), str(profile))
    mean = (3 / 4 + 0) / 2
    assert json.loads(done.stdout) == {
        **dict.fromkeys(["ir_measures", "evaluate", "trec_eval-style", "profile"], mean),
        "RelevanceEvaluator": 3 / 4,
        "completed": True,
    }
    assert done.stderr == ""


def test_an_engine_knows_its_expression(installed):
    done = asked(installed, "-c", TABLES, json.dumps([QRELS, RUN]))
    assert float(done.stdout) == 3 / 4 + 0


def test_the_shell_knows_it(installed, tmp_path):
    for name, data in (("qrels.json", QRELS), ("run.json", RUN)):
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    files = [str(tmp_path / "qrels.json"), str(tmp_path / "run.json")]
    done = asked(installed, "-m", "permed_measures", "eval", *files, "-m", "FirstGrade@5", "--format", "json")
    assert "0.375" in done.stdout
    assert "First Grade" in asked(installed, "-m", "permed_measures", "measures", "FirstGrade").stdout


@pytest.mark.full
def test_ranx_knows_it(installed):
    pytest.importorskip("ranx", reason="ranx is an extra")
    assert float(asked(installed, "-W", "ignore", "-c", RANX, json.dumps([QRELS, RUN])).stdout) == 3 / 8


def test_its_module_may_be_imported_first(installed):
    code = "import first_grade_measure, ir_measures; print(ir_measures.parse_measure('FirstGrade@5'))"
    done = asked(installed, "-c", code)
    assert (done.stdout, done.stderr) == ("FirstGrade@5\n", "")


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("raise OSError('no licence')", "OSError: no licence"),
        (MEASURE.replace('"FirstGrade"', '"GWAP"'), "the name 'GWAP' cannot be used"),
    ],
    ids=["raises", "takes a name"],
)
def test_one_that_cannot_be_loaded_is_named_and_the_rest_works(installed, module, told):
    install(installed, "broken_measure", module)
    code = "import permed_measures as p; print(p.parse('FirstGrade@5'), p.parse('GWAP@5').PRETTY_NAME)"
    done = asked(installed, "-c", code)
    assert done.stdout == "FirstGrade@5 Graded-Weight Average Precision\n"
    warned = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(warned) == 1
    assert "the measures 'broken_measure' of broken_measure (broken_measure) could not be loaded" in warned[0]
    assert told in warned[0]


def test_nobody_looks_for_them_in_vain():
    code = "import sys, permed_measures; print('importlib.metadata' in sys.modules)"
    assert asked(ROOT, "-c", code).stdout == "False\n"


BACKEND = """
import zipfile


def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, said = "first_grade-1.0-py3-none-any.whl", "first_grade-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("first_grade_measure.py")
        wheel.writestr(f"{said}/METADATA", "Metadata-Version: 2.1\\nName: first-grade\\nVersion: 1.0\\n")
        wheel.writestr(f"{said}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{said}/entry_points.txt", "[GROUP]\\nfirst = first_grade_measure\\n")
        wheel.writestr(f"{said}/RECORD", "")
    return name
"""


@pytest.mark.full
def test_a_package_that_pip_builds_and_installs_in_a_fresh_environment(tmp_path):
    package, fresh = tmp_path / "package", tmp_path / "fresh"
    package.mkdir()
    (package / "first_grade_measure.py").write_text(MEASURE, encoding="utf-8")
    (package / "backend.py").write_text(BACKEND.replace("GROUP", GROUP), encoding="utf-8")
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n', encoding="utf-8"
    )
    venv.create(fresh, with_pip=True)
    python = str(fresh / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    asked(ROOT, "-m", "pip", "install", *options, str(package), python=python)
    here = Path(ir_measures.__file__).parents[1]  # what we are built on is taken from there
    code = "import permed_measures, ir_measures; print(ir_measures.parse_measure('FirstGrade(top=3)@5'))"
    assert asked(ROOT, "-c", code, python=python, more=[here]).stdout == "FirstGrade(top=3)@5\n"
