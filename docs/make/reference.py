"""The reference pages: Python from docstrings and signatures, the shell from each command's own help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import click

import permed_measures
from permed_measures.cli import command_files
from permed_measures.cli._group import group

_ROLE = re.compile(r":(?:func|class|meth|mod|data):`~?([^`]+)`")
_SECTION = re.compile(r"^(Arguments|Returns|Raises|Yields):$", re.MULTILINE)
_WIDE = 100
ROOMS = (
    "permed_measures.serving",
    "permed_measures.ltr.samples",
    "permed_measures.ltr.softmax_ranker",
    "permed_measures.ltr.leaks",
)
"""Modules that are public as a whole, beside the names of the package itself."""

EXIT_CODES = (
    (0, "it worked, or holds"),
    (1, "a gate or a check does not hold"),
    (2, "wrong input, options or surroundings (disk full, out of memory): nothing was decided"),
    (3, "could not tell: no other program confirms a value, or a drop is shown and not bounded"),
    (4, "a fault of ours, with the words to report it"),
    (130, "interrupted"),
)


def markdown(docstring: str) -> str:
    """Return a docstring as markdown: examples as code, sections as bold words, roles as code."""
    lines: list[str] = []
    in_code = False
    for line in _ROLE.sub(r"`\1`", docstring).replace("``", "`").splitlines():
        is_code = line.startswith(">>>") or (in_code and bool(line.strip()))
        if is_code != in_code:
            lines.append("```python" if is_code else "```")
        in_code = is_code
        named = re.match(r"^    (\w+|\*+\w+): (.*)", line)
        if _SECTION.match(line):
            lines += ["", f"**{line}**", ""]
        elif named and not in_code:
            lines.append(f"- `{named[1]}`: {named[2]}")
        elif line.startswith("        ") and not in_code:
            lines.append(f"  {line.strip()}")
        elif line.startswith(".. math::"):
            lines.append(f"`{line.removeprefix('.. math::').strip()}`")
        else:
            lines.append(line if in_code else line.replace("::", ":") if line.endswith("::") else line)
    return "\n".join([*lines, *(["```"] if in_code else [])])


def _signature(name: str, function: Callable[..., Any]) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return name
    parameters = [str(part.replace(annotation=inspect.Parameter.empty)) for part in signature.parameters.values()]
    parameters = [part for part in parameters if part != "self"]
    star = next((i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY), None)
    if star is not None and not any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        parameters.insert(star, "*")
    short = f"{name}({', '.join(parameters)})"
    return short if len(short) <= _WIDE else f"{name}(\n    " + ",\n    ".join(parameters) + ",\n)"


def _described(name: str, thing: Any, level: str = "##") -> Iterator[str]:
    yield from [f"{level} {name}", "", "```python", _signature(name, thing), "```", ""]
    yield from [markdown(inspect.getdoc(thing) or ""), ""]
    if inspect.isclass(thing):
        for part, member in inspect.getmembers(thing):
            if not part.startswith("_") and inspect.isfunction(member) and inspect.getdoc(member):
                first = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
                shown = _signature(part, member).replace("\n    ", " ").replace(",\n)", ")").replace("( ", "(")
                said = _ROLE.sub(r"`\1`", first).replace("``", "`")
                yield f"- `{shown}`: {said}"
        yield ""


def python_page() -> str:
    """Return every public name but the measures, which have pages of their own."""
    public = {name: getattr(permed_measures, name) for name in sorted(permed_measures.__all__, key=str.casefold)}
    functions = {name: thing for name, thing in public.items() if inspect.isfunction(thing)}
    classes = {name: thing for name, thing in public.items() if inspect.isclass(thing)}
    lines = [
        "# Python",
        "",
        "Everything here is imported from `permed_measures`. Measures have [pages of their own](../measures/index.md).",
        "",
    ]
    for name, thing in {**functions, **classes}.items():
        lines += _described(name, thing)
    for room in ROOMS:
        module = import_module(room)
        lines += [f"## {room}", "", markdown(inspect.getdoc(module) or ""), ""]
        for name, thing in sorted(vars(module).items()):
            ours = getattr(thing, "__module__", "").startswith(room) and not name.startswith("_")
            if ours and (inspect.isfunction(thing) or inspect.isclass(thing)):
                lines += _described(f"{name}", thing, "###")
    return "\n".join(lines)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its name."""
    context = click.Context(group, info_name="permed-measures")
    for name in sorted(command_files()):
        command = group.get_command(context, name)
        if command is not None:
            yield name, command


def shell_page() -> str:
    """Return the help of the tool and of every command, and the exit codes."""
    lines = ["# Shell", "", "Each command's help, as `permed-measures COMMAND --help` prints it.", ""]
    lines += [
        "## Exit codes",
        "",
        "| code | means |",
        "| --- | --- |",
        *(f"| {code} | {said} |" for code, said in EXIT_CODES),
        "",
    ]
    context = click.Context(group, info_name="permed-measures", terminal_width=_WIDE)
    lines += ["## permed-measures", "", "```text", group.get_help(context).rstrip(), "```", ""]
    for name, command in commands():
        inner = click.Context(command, info_name=name, parent=context, terminal_width=_WIDE)
        lines += [f"## {name}", "", "```text", command.get_help(inner).rstrip(), "```", ""]
    return "\n".join(lines)
