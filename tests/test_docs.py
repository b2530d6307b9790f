"""The manual is true: its examples run and print what the pages show, every page is found, every measure has a page."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from permed_measures.measures.base import DEFINED, STANDARD
from permed_measures.measures.definitions import description

ROOT = Path(__file__).resolve().parents[1]
MAKE = ROOT / "docs" / "make"


def tool(name):
    sys.path[:0] = [] if str(MAKE) in sys.path else [str(MAKE)]  # they import one another
    spec = importlib.util.spec_from_file_location(f"docs_{name}", MAKE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


examples = tool("examples")
TEXTS = {path: path.read_text(encoding="utf-8") for path in examples.pages()}
WITH_EXAMPLES = [
    pytest.param(
        path, marks=[pytest.mark.full] if examples.needs(text) else [], id=str(path.relative_to(ROOT / "docs"))
    )
    for path, text in TEXTS.items()
    if examples.blocks(text)
]


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_the_examples_of_a_page(path):
    for module in examples.needs(TEXTS[path]):
        pytest.importorskip(module, reason=f"{module} is not installed, and {path.name} is about it")
    pytest.importorskip("click", reason="the pages use the shell tool")
    done = subprocess.run([sys.executable, MAKE / "examples.py", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_example_that_is_wrong_is_found(tmp_path):
    page = "A\n\n`a.txt`:\n\n```text\none\n```\n```console\n$ cat a.txt\ntwo\n```\n```python\n>>> 1 + 1\n3\n```\n"
    wrong, written = examples.run(page, tmp_path)
    assert len(wrong) == 2
    assert "$ cat a.txt\none\n" in written


def test_a_picture_that_the_page_does_not_make_is_found(tmp_path):
    kept, made = tmp_path / "pictures" / "a.svg", tmp_path / "made" / "a.svg"
    for path, x in ((kept, "1.5"), (made, "1.6")):
        path.parent.mkdir()
        path.write_text(f'<svg><text x="{x}">P@1</text></svg>')
    page = "![A](pictures/a.svg)"
    assert list(examples.pictures(page, tmp_path / "page.md", made.parent)) == [(made, kept)]
    assert examples.alike(made, kept)  # how it looks may change
    made.write_text('<svg><text x="1.5">P@5</text></svg>')
    assert not examples.alike(made, kept)
    made.unlink()
    assert not examples.alike(made, kept)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").rglob("start/*.md")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_start_page_shows_a_picture_that_its_examples_make(path):
    shown = [kept for _, kept in examples.pictures(path.read_text(encoding="utf-8"), path, path.parent)]
    assert len(shown) == 1
    assert shown[0].parent == ROOT / "docs" / "pictures" / path.stem


def test_every_picture_is_shown_by_the_page_that_makes_it():
    shown = [kept for path, text in TEXTS.items() for _, kept in examples.pictures(text, path, path.parent)]
    assert sorted(shown) == sorted((ROOT / "docs" / "pictures").rglob("*.*"))


def anchors(path):
    """Return what the headings of a page are called in a link, as GitHub makes it."""
    outside = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


OF_THE_REPOSITORY = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "compat").glob("*.md")]


@pytest.mark.parametrize("path", OF_THE_REPOSITORY, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_is_dead_for_who_reads_the_repository(path):
    outside = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"""(?:\]\(|(?:src|href)=")(?!https?:|mailto:)([^)#"\s]*)(?:#([^)"\s]+))?""", outside)
    for name, anchor in links:
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{name} does not exist"
        assert not anchor or anchor in anchors(target), f"{name} has no heading {anchor}"


def test_what_only_the_site_has_is_made_by_its_build():
    made = {"report.html", "report-annotated.html", "reference/python.md", "reference/shell.md"}
    made |= {f"{folder}measures/{name}.md" for folder in ("", "zh/") for name in (*DEFINED, *STANDARD, "index")}
    for path in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"<!-- site: (\S+) -->", path.read_text(encoding="utf-8")):
            assert str((path.parent / target).resolve().relative_to(ROOT / "docs")) in made, f"{path}: {target}"


def test_a_file_is_named_where_everybody_sees_it():
    """GitHub shows no title of a fence; docs/rag.md names the framework that a recipe needs by one."""
    titled = {path.name for path in OF_THE_REPOSITORY if "\n```python title=" in path.read_text(encoding="utf-8")}
    assert titled == {"rag.md"}
    assert not any(re.search(r"\n```(?!python)\w+ title=", text) for text in TEXTS.values())


TRANSLATED = {
    path: ROOT / "docs" / path.relative_to(ROOT / "docs" / "zh") for path in (ROOT / "docs" / "zh").rglob("*.md")
}
TRANSLATED[ROOT / "README.zh.md"] = ROOT / "README.md"


def _outline(text):
    """Return the fences of a page as they are and the files they are, and how many headings of each level there are."""
    fences = [(fence[1], fence[0].partition("```")[2]) for fence in examples.FENCE.finditer(text)]
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return fences, [len(mark) for mark in re.findall(r"^(#+) ", outside, re.MULTILINE)]


@pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_translation_has_the_code_and_the_sections_of_its_original(path):
    fences, headings = _outline(path.read_text(encoding="utf-8"))
    theirs, sections = _outline(TRANSLATED[path].read_text(encoding="utf-8"))
    if path.name != "index.md":  # which has a table of terms of its own
        assert fences == theirs, f"{path} is behind: copy the code blocks of {TRANSLATED[path]}"
        assert headings == sections, f"{path} is behind: a section of {TRANSLATED[path]} is missing, or new"


def test_what_is_to_be_in_chinese_is():
    wanted = [ROOT / "docs" / "zh" / path.relative_to(ROOT / "docs") for path in (ROOT / "docs" / "start").glob("*.md")]
    behind = [path for path in (*wanted, ROOT / "docs" / "zh" / "formats.md") if path not in TRANSLATED]
    assert behind == []
    chinese = tool("words_zh").ZH
    english = tool("words").EN
    assert chinese.text.keys() == english.text.keys()
    assert list(chinese.questions.values()) == list(english.questions.values())
    measures = DEFINED.keys() | STANDARD.keys()
    lacking = [
        name for name in measures if not {"label", "sentence", "not_for"} <= chinese.measures.get(name, {}).keys()
    ]
    assert lacking == []


@pytest.mark.full
def test_pages_of_measures_in_chinese_have_chinese_punctuation():
    pytest.importorskip("latex2mathml", reason="the formulas of the pages are made with latex2mathml")
    drawn = re.compile(r"```.*?```|<svg.*?</svg>|<math.*?</math>|`[^`]*`", re.DOTALL)
    pages = {name: drawn.sub("", text) for name, text in tool("measures").pages(tool("words_zh").ZH).items()}
    assert len(pages) > 30
    found = [
        (name, part) for name, text in pages.items() for part in re.findall(r".{9}[一-鿿](?:\*\*)?[,;:?!.].{9}", text)
    ]
    assert found == []


def test_every_page_has_one_title():
    for path, text in TEXTS.items():
        outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", outside, re.MULTILINE)) == 1, path


def test_every_measure_answers_a_question_and_says_when_not_to_use_it():
    asked = {re.match(r"\w+", name)[0] for names in tool("words").EN.questions.values() for name in names}
    assert asked == DEFINED.keys() | STANDARD.keys()
    silent = [name for name, measure in {**DEFINED, **STANDARD}.items() if "\nNot for " not in description(measure)]
    assert silent == []


@pytest.fixture
def commands():
    click = pytest.importorskip("click", reason="the shell tool needs click")
    from permed_measures.cli import command_files
    from permed_measures.cli._group import group

    top = click.Context(group, info_name="permed-measures")
    return top, {name: group.get_command(top, name) for name in command_files()}


def test_help_starts_with_what_for_and_two_examples(commands):
    import click

    top, known = commands
    for name, command in known.items():
        text = command.get_help(click.Context(command, info_name=name, parent=top))
        usage, purpose, examples = text.split("\n\n")[:3]
        assert usage.startswith("Usage:"), name
        assert len(purpose.splitlines()) <= 2, name
        assert examples.lstrip().startswith("Example"), name
        assert examples.count("permed-measures ") >= 2 or name == "bench-reranker", name  # its one needs three files


def test_help_has_every_option_once_and_every_command(commands):
    import click

    top, known = commands
    listed = re.findall(r"^  ([\w-]+)  ", top.command.get_help(top), re.MULTILINE)
    assert [name for name in known if listed.count(name) != 1] == []
    for name, command in known.items():
        context = click.Context(command, info_name=name, parent=top)
        shown = re.findall(r"^  (?:-\w, )?(--?[\w-]+)", command.get_help(context), re.MULTILINE)
        options = [
            param for param in command.get_params(context) if isinstance(param, click.Option) and not param.hidden
        ]
        assert [param.name for param in options if len({*param.opts} & {*shown}) != 1] == [], name


def test_a_formula_in_the_terminal_is_text():
    from permed_measures.measures.definitions import formula, in_unicode

    wanted = "1/N Σ[i ≤ k, gᵢ ≥ rel] |{j ≤ i : gⱼ ≥ rel}|/i · w(gᵢ),     w(g) = g / max_rel"
    assert in_unicode(formula(DEFINED["GWAP"])) == wanted
    for measure in (*DEFINED.values(), *STANDARD.values()):
        text = in_unicode(formula(measure) or "")
        assert "\\" not in text
        assert text.count("{") == text.count("}")
        assert text.count("(") == text.count(")")


def lacks(function):
    """Return what the docstring of a function does not say."""
    text = inspect.getdoc(function) or ""
    silent = [name for name in inspect.signature(function).parameters if not re.search(rf"\b{name}\b", text)]
    asked = {"an example": ">>>", "what it returns": r"\b[Rr]eturn", "its errors": r"Error\b"}
    return silent + [what for what, pattern in asked.items() if not re.search(pattern, text)]


def test_every_public_function_has_arguments_returns_errors_and_an_example():
    import permed_measures

    public = {name: getattr(permed_measures, name) for name in permed_measures.__all__}
    missing = {name: lacks(thing) for name, thing in public.items() if inspect.isfunction(thing)}
    assert len(missing) > 20
    assert {name: what for name, what in missing.items() if what} == {}


def test_the_text_for_assistants_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


@pytest.mark.full
def test_the_site_builds_and_needs_no_network():
    pytest.importorskip("zensical", reason="the site is built with Zensical: pip install --group docs")
    done = subprocess.run([sys.executable, MAKE], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "build" / "manual" / "site"
    pages = {path.stem for path in (site / "measures").glob("*.html")}
    assert pages == {*DEFINED, *STANDARD, "index"}
    gwap = (site / "measures" / "GWAP.html").read_text(encoding="utf-8")
    assert "<math" in gwap
    assert "<svg" in gwap
    assert "0.2917" in gwap  # (1/1 · 0.5 + 2/3 · 1.0) / 4
    assert "unpkg.com" not in gwap
