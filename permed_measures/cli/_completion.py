"""What the shell completes: files, profiles, measures; told by what a parameter is called in the help."""

import re
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from permed_measures.measures import known_names
from permed_measures.profiles import PROFILES


class _Completed(click.types.StringParamType):
    """A text of which the shell knows some: names, or a file."""

    def __init__(self, names: Sequence[str], *, is_file: bool) -> None:
        self.names, self.is_file = names, is_file

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  (click's signature)
        """Return what may be written there; the file first, as bash forgets what comes before one."""
        before, space, _ = incomplete.rpartition(" ")  # of measures there may be several, in quotes
        names = [before + space + name for name in self.names]
        file = [CompletionItem(incomplete, type="file")] if self.is_file else []
        return [*file, *(CompletionItem(name) for name in names if name.startswith(incomplete))]


def complete(command: click.Command) -> None:
    """Let the shell complete the parameters of a command; paths and choices complete themselves."""
    for param in command.params:
        shown = param.metavar or (str(param.name).upper() if isinstance(param, click.Argument) else "")
        is_file = re.search(r"\b(FILE|QRELS|RUN|\w*LOG)\b", shown) is not None
        names = re.findall(r"\b[a-z]+(?=\|)", shown)  # turn|conversation|REGEX|FILE
        if "NAME|FILE.toml" in shown:
            names = list(PROFILES)
        elif "MEASURE" in shown or shown == "CONDITIONS":
            names = sorted(set(known_names()))
        if param.type is click.STRING and (is_file or names):
            param.type = _Completed(names, is_file=is_file)
