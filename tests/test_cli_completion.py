"""What the shell completes after a tab."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("click", reason="the shell tool needs it")

import click
from click.shell_completion import ShellComplete

from permed_measures.cli import command_files
from permed_measures.cli._group import group
from permed_measures.profiles import PROFILES


def completed(*arguments):
    *before, incomplete = arguments
    asked = ShellComplete(group, {}, "permed-measures", "_PERMED_MEASURES_COMPLETE")
    return [(item.type, item.value) for item in asked.get_completions(before, incomplete)]


def options(command):
    context = click.Context(group)
    for param in group.get_command(context, command).params:
        if isinstance(param, click.Option) and not param.is_flag:
            yield param.opts[0], param.make_metavar(context)


def test_commands_and_choices():
    assert completed("comp") == [("plain", "compare")]
    assert completed("compare", "--format", "m") == [("plain", "markdown")]


@pytest.mark.parametrize(
    "before",
    [
        ("eval",),
        ("eval", "qrels.txt"),
        ("eval", "qrels.txt", "a.run"),
        ("compare", "qrels.txt", "a.run", "b.run"),
        ("gate",),
        ("explain", "qrels.txt"),
        ("verify", "qrels.txt"),
        ("convert", "in.trec"),
        ("samples",),
        ("serving",),
    ],
    ids=" ".join,
)
def test_arguments_that_are_files(before):
    assert completed(*before, "q") == [("file", "q")]


def test_every_option_that_takes_a_file():
    found = 0
    for command in command_files():
        for option, metavar in options(command):
            if re.search(r"\bFILE\b|\bRUN\b", metavar):
                found += 1
                assert ("file", "x") in completed(command, option, "x"), (command, option)
    assert found > 20


def test_profiles_by_name_and_file():
    everything = [("file", ""), *(("plain", name) for name in PROFILES)]
    for command in ("eval", "compare", "gate", "verify", "sql", "bench-reranker"):
        assert completed(command, "--profile", "") == everything, command
    assert completed("profiles", "permed-") == [("file", "permed-"), ("plain", "permed-binary")]


def test_measures_by_name():
    ours = [("plain", "GWAP"), ("plain", "GWMAP")]
    for before in (("eval", "-m"), ("compare", "-m"), ("verify", "-m"), ("sql", "-m"), ("samples", "-m")):
        assert completed(*before, "GW") == ours, before
    assert completed("measures", "GW") == ours
    assert completed("gate", "qrels.txt", "a.run", "GW") == ours
    assert completed("eval", "-m", "P@1 GWA") == [("plain", "P@1 GWAP")]


def test_groups():
    assert completed("compare", "--group", "t") == [("file", "t"), ("plain", "turn")]


def test_the_line_to_paste_is_one_line(capsys):
    group.main(["--help"], prog_name="permed-measures", standalone_mode=False)
    assert '\n    eval "$(_PERMED_MEASURES_COMPLETE=bash_source permed-measures)"\n' in capsys.readouterr().out
