"""The README is true: its examples run, its tables are the code's and the data's."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from permed_measures import PROFILES, evaluate, load_profile, parse
from permed_measures.measures import DEFINED, parse_trec_name

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def cells(heading):
    """Return the rows of the table after a line, without its head."""
    lines = README[README.index(heading) :].splitlines()
    table = [line for line in lines[: lines.index("", 2 + lines.index(""))] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


@pytest.mark.parametrize("source", [pytest.param(b, id=b.splitlines()[0]) for b in blocks("python") if "ranx" not in b])
def test_examples(source):
    run_doctest(source)


@pytest.mark.full
# ranx's own files hold "\c" and the like: seen when they are first compiled
@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:SyntaxWarning")
@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64")  # ranx's average precision mixes the two
@pytest.mark.parametrize("source", [pytest.param(b, id=b.splitlines()[0]) for b in blocks("python") if "ranx" in b])
def test_examples_with_ranx(source):
    pytest.importorskip("ranx", reason="ranx is an extra")
    run_doctest(source)


def run_doctest(source):
    test = doctest.DocTestParser().get_doctest(source, {}, "README.md", "README.md", 0)
    assert test.examples
    out = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=out.append)
    assert tried == len(test.examples)
    assert not failed, "".join(out)


def test_one_run_and_every_map_at_10(covid):
    qrels, runs = covid
    table = cells('**The problem.** "MAP@10"')
    assert len(table) == 6
    for _, measure, value in table:
        assert f"{evaluate(qrels, runs['irc_entrez'], measure.strip('`'))[parse(measure.strip('`'))]:.4f}" == value


def test_the_measure_table_is_the_codes():
    written = {}
    for _, ours, ranx, trec in cells("## The measures"):
        names = re.findall(r"`([^`]+)`", ours)
        written[re.findall(r"`([^`]+)`", ranx)[0]] = (names, re.findall(r"`([^`]+)`", trec))
    known = {}
    for measure in DEFINED.values():
        for host in measure.HOST_NAMES:
            if not host.in_ranx:
                continue
            name = str(measure(**host.params)) + "@k"
            aliases = [] if host.params else list(measure.ALIASES)
            trec_names = [host.trec(1)[:-1] + "k", host.trec(None)]
            known[host.name + "@k"] = ([name, *aliases], trec_names)
    assert written == known


def test_the_pretty_names_are_the_classes():
    first_column = [row[0] for row in cells("## The measures")]
    for measure in DEFINED.values():
        if any(host.in_ranx for host in measure.HOST_NAMES):
            assert any(cell.startswith(measure.PRETTY_NAME) for cell in first_column), measure.NAME


def test_trec_evals_measures_are_the_codes():
    said = README[README.index("trec_eval's measures that ir_measures lacks") :].partition("\n\n")[0]
    written = dict(re.findall(r"`([^`]+)` \(`([^`]+)`\)", said))
    names = {"cutoff": "_k", "recall": "_x", "multiple": "_x"}
    known = {}
    for measure in DEFINED.values():
        for host in measure.HOST_NAMES:
            if not host.in_ranx:
                number = names[host.at] if host.numbers else ""
                known[host.name + number] = str(measure(**host.params)) + number.replace("_", "@")
    assert written == known


def test_names_and_profiles_in_the_text_exist(tmp_path):
    for name in PROFILES:
        assert f"`{name}`" in README
    assert parse_trec_name("gwmap_cut_10")
    (profile,) = blocks("toml")
    (tmp_path / "own.toml").write_text(profile, encoding="utf-8")
    assert load_profile(tmp_path / "own.toml").entries[0].name == "MAP@10"


def test_every_command_is_in_the_readme_and_the_other_way_round():
    from permed_measures.cli import command_files

    shell = "".join(blocks("sh"))
    written = {line.split()[1] for line in shell.splitlines()} - {"QRELS"}  # QRELS: the form of the ir_measures command
    assert written == command_files().keys()


def test_ci_runs_the_commands_of_the_readme():
    (main,), (test,) = blocks("sh main"), blocks("sh test")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "permed-measures demo" in main
    assert '-m pytest -q -n auto -m "not full" tests permed_measures' in test
    assert 'readme_command "sh main"' in script
    assert 'readme_command "sh test"' in script
