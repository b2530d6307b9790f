"""What the shell completes: files, profiles, measures; told by what a parameter is called in the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from permed_measures.comparison.groups import NAMED
from permed_measures.measures import known_names
from permed_measures.profiles import PROFILES


def _file(incomplete: str) -> CompletionItem:
    return CompletionItem(incomplete, type="file")


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _files(incomplete: str) -> list[CompletionItem]:
    return [_file(incomplete)]


# bash forgets what stands before a file
def _profiles(incomplete: str) -> list[CompletionItem]:
    return [_file(incomplete), *_starting(PROFILES, incomplete)]


def _groups(incomplete: str) -> list[CompletionItem]:
    return [_file(incomplete), *_starting(NAMED, incomplete)]


def _measures(incomplete: str) -> list[CompletionItem]:
    before, space, _ = incomplete.rpartition(" ")  # several may stand in quotes
    return _starting([before + space + name for name in sorted(set(known_names()))], incomplete)


_BY_METAVAR: dict[str, Callable[[str], list[CompletionItem]]] = {
    "FILE": _files,
    "QRELS": _files,
    "RUN": _files,
    "RUN [RUN …]": _files,
    "NAME|FILE.toml": _profiles,
    "[NAME|FILE.toml]": _profiles,
    "turn|conversation|REGEX|FILE": _groups,
    "conversation|REGEX|FILE": _groups,
    "MEASURES": _measures,
    "[MEASURE]": _measures,
    "CONDITIONS": _measures,
}


class _Completed(click.types.StringParamType):
    """A text that the shell can complete."""

    def __init__(self, complete: Callable[[str], list[CompletionItem]]) -> None:
        self.complete = complete

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  (click's signature)
        """Return what may stand there."""
        return self.complete(incomplete)


def complete(command: click.Command) -> None:
    """Let the shell complete the parameters of a command; paths and choices complete themselves."""
    for param in command.params:
        shown = param.metavar or (str(param.name).upper() if isinstance(param, click.Argument) else "")
        if param.type is click.STRING and shown in _BY_METAVAR:
            param.type = _Completed(_BY_METAVAR[shown])
