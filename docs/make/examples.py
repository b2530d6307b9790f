"""The examples of a page, run in order in a folder of their own: files are written, code and commands are compared.

A fence below a line that is only a file's name and a colon (`` `qrels.txt`: ``) is that file, one of ``python`` with
``>>>`` a doctest that goes on where the one before ended, and one of ``console`` commands after ``$`` with what they
print; ``...`` is anything. A picture of the page that is in a folder ``pictures`` is one that its examples make.
``python docs/make/examples.py PAGE --write`` fills in what commands print and draws the pictures anew.
``<!-- needs: ranx -->`` on a page says what it imports beyond the extras cli, frames and tables. A fence with a
``title`` is not run here: it needs a framework, see .ci/recipes.py.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"(?:^`([^`\n]+)`[:\uff1a]\n\n)?^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(((?:\.\./)*pictures/([^)\s]+))\)")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SLOW = 300


class Block(NamedTuple):
    """A fence: the file that it is, its language, and what is in it."""

    file: str
    language: str
    body: str


def pages() -> list[Path]:
    """Return all pages that people wrote, but for translations: their examples are those of the original."""
    return sorted(path for path in FOLDER.rglob("*.md") if not {"make", "zh"} & {*path.relative_to(FOLDER).parts})


def blocks(text: str) -> list[Block]:
    """Return the fences of a page that are files, code to run or commands."""
    found = [Block(fence[1] or "", fence[2], fence[4]) for fence in FENCE.finditer(text) if not fence[3]]
    return [
        block for block in found
        if block.file or block.language == "console" or (block.language == "python" and ">>>" in block.body)
    ]  # fmt: skip


def needs(text: str) -> list[str]:
    """Return the modules that a page says it needs."""
    found = re.search(r"<!-- needs: (.+?) -->", text)
    return found[1].split() if found else []


def _commands(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        while command.endswith("\\"):
            line, _, said = said.partition("\n")
            command = f"{command}\n{line}"
        yield command, said


def _said(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    surroundings = {**os.environ, "PATH": path, "COLUMNS": "110", "NO_COLOR": "1"}
    if "permed-measures" not in {found.name for found in entry_points(group="pytest11")}:  # not installed
        surroundings["PYTEST_PLUGINS"] = "permed_measures.gating.pytest_plugin"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=surroundings, check=False, timeout=_SLOW,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


def run(text: str, folder: Path) -> tuple[list[str], str]:
    """Run a page; return what differs, and the page with what its commands really print."""
    wrong: list[str] = []
    known: dict[str, Any] = {}
    written = text
    here = Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks(text):
            if block.file:
                (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.file).write_text(block.body, encoding="utf-8")
            elif block.language == "console":
                shown = []
                for command, expected in _commands(block.body):
                    said = _said(command, folder)
                    if doctest.OutputChecker().check_output(expected, said, _FLAGS):
                        said = expected
                    else:
                        wrong.append(f"$ {command}\nthe page has:\n{expected}\nit prints:\n{said}")
                    shown.append(f"$ {command}\n{said.rstrip()}\n" if said.strip() else f"$ {command}\n")
                written = written.replace(block.body, "".join(shown), 1)
            else:
                wrong += _doctest(block.body, known)
    finally:
        os.chdir(here)
    return wrong, written


def _doctest(source: str, known: dict[str, Any]) -> list[str]:
    test = doctest.DocTestParser().get_doctest(source, known, "page", "page", 0)
    out: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=_FLAGS)
    runner.run(test, out=out.append, clear_globs=False)
    known.update(test.globs)
    return ["".join(out)] if runner.failures else []


def pictures(text: str, page: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each picture that a page shows and its examples make: where it was made, and where it is kept."""
    for found in _PICTURE.finditer(text):
        yield folder / found[2].rpartition("/")[2], (page.parent / found[1]).resolve()


def alike(made: Path, kept: Path) -> bool:
    """Tell whether two drawings say the same; how they look is the business of what draws them."""
    if not made.exists() or not kept.exists():
        return False
    one, other = (re.findall(r"<text[^>]*>([^<]*)", path.read_text(encoding="utf-8")) for path in (made, kept))
    return one == other


def main() -> None:
    """Run pages, and end with 1 where something differs; with --write, put what commands print into them."""
    differ = 0
    for name in [name for name in sys.argv[1:] if name != "--write"]:
        with tempfile.TemporaryDirectory() as folder:
            text, page = Path(name).read_text(encoding="utf-8"), Path(name).resolve()
            wrong, written = run(text, Path(folder))
            for made, kept in pictures(text, page, Path(folder)):
                if "--write" in sys.argv and made.exists():
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(made, kept)
                elif not alike(made, kept):
                    wrong.append(f"{kept} is not the picture that the page's examples make")
        if "--write" in sys.argv:
            page.write_text(written, encoding="utf-8")
        print(f"{name}: {len(wrong)} differ", *wrong, sep="\n")
        differ += len(wrong)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
