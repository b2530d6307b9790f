"""The README is true: its examples run, its tables are the code's and the data's."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from compat.generated import GENERATED
from permed_measures import PROFILES, evaluate, load_profile, parse
from permed_measures.measures import parse_trec_name
from permed_measures.measures.plugins import GROUP

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


NAMES = (ROOT / "docs" / "measure-names.md").read_text(encoding="utf-8")


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def cells(heading, text=README):
    """Return the rows of the table after a line, without its head."""
    lines = text[text.index(heading) :].splitlines()
    table = [line for line in lines[: lines.index("", 2 + lines.index(""))] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


@pytest.mark.parametrize("source", [pytest.param(b, id=b.splitlines()[0]) for b in blocks("python")])
def test_examples(source):
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


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_what_is_written_from_code_is_current(path):
    assert path.read_text(encoding="utf-8") == GENERATED[path](), "python -m compat.table --write makes it anew"


def test_the_names_in_the_measure_table_are_what_they_say():
    for _, ours, ranx, trec in cells("## The measures", NAMES):
        name = re.findall(r"`([^`]+)`", ours)[0]
        at = {"k": "3", "x": "0.5", "": ""}[name.partition("@")[2]]
        wanted = parse(name.replace("@k", "@3").replace("@x", "@0.5"))
        first = re.findall(r"`([^`]+)`", trec)[0]
        assert parse_trec_name(f"{first[:-1]}{at}" if at else first) == [wanted]
        for host in re.findall(r"`([^`]+)`", ranx):
            assert parse(host.replace("@k", "@3")) == wanted


def test_names_and_profiles_in_the_text_exist(tmp_path):
    profiles, adding = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("profiles.md", "adding-a-measure.md")
    )
    for name in PROFILES:
        assert f"`{name}`" in profiles
    assert parse_trec_name("gwmap_cut_10")
    (profile,), (entry_point,) = blocks("toml", profiles), blocks("toml", adding)
    (tmp_path / "own.toml").write_text(profile, encoding="utf-8")
    assert load_profile(tmp_path / "own.toml").entries[0].name == "MAP@10"
    assert f'entry-points."{GROUP}"' in entry_point


def test_every_command_is_in_the_readme_and_the_other_way_round():
    from permed_measures.cli import command_files

    shell = "".join(blocks("sh"))
    written = {line.split()[1] for line in shell.splitlines()} - {"QRELS"}  # QRELS: the form of the ir_measures command
    assert written == command_files().keys()


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len(README.splitlines()) <= 150
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_ci_runs_the_commands_of_the_readme():
    (main,), (test,) = blocks("sh main"), blocks("sh test")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "permed-measures demo" in main
    assert '-m pytest -q -n auto -m "not full" tests permed_measures' in test
    assert 'readme_command "sh main"' in script
    assert 'readme_command "sh test"' in script
