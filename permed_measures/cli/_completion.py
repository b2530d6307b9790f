"""What the shell completes: files, profiles, measures; told by what a parameter is called in the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from permed_measures.comparison.groups import NAMED
from permed_measures.measures import known_names
from permed_measures.profiles import PROFILES


class _Names(NamedTuple):
    """What may be written there: some names, or a file."""

    names: Callable[[], Iterable[str]] = tuple
    is_file: bool = True


_FILE, _PROFILE, _MEASURE, _GROUP = (
    _Names(),
    _Names(lambda: PROFILES),
    _Names(lambda: sorted(set(known_names())), is_file=False),
    _Names(lambda: NAMED),
)
_BY_METAVAR = {
    **dict.fromkeys(("FILE", "OLD_LOG", "QRELS", "RUN", "RUN|FILE", "RUN [RUN …]"), _FILE),
    "jsonl|csv|parquet|FILE.toml": _FILE,
    **dict.fromkeys(("NAME|FILE.toml", "[NAME|FILE.toml]"), _PROFILE),
    **dict.fromkeys(("MEASURES", "[MEASURE]", "CONDITIONS", "X|MEASURE=X"), _MEASURE),
    **dict.fromkeys(("turn|conversation|REGEX|FILE", "conversation|REGEX|FILE"), _GROUP),
}


def complete(command: click.Command) -> None:
    """Let the shell complete the parameters of a command; paths and choices complete themselves."""
    for param in command.params:
        shown = param.metavar or (str(param.name).upper() if isinstance(param, click.Argument) else "")
        if param.type is click.STRING and shown in _BY_METAVAR:
            param.type = _Completed(_BY_METAVAR[shown])


class _Completed(click.types.StringParamType):
    def __init__(self, known: _Names) -> None:
        self.known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  (click's signature)
        before, space, _ = incomplete.rpartition(" ")  # of measures, there may be several in quotes
        names = [before + space + name for name in self.known.names()]
        file = (
            [CompletionItem(incomplete, type="file")] if self.known.is_file else []
        )  # first: bash forgets what was before
        return [*file, *(CompletionItem(name) for name in names if name.startswith(incomplete))]
