"""The one progress bar: on a terminal, for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from permed_measures.errors import require

_REFRESH_S = 0.2

Step = Callable[[str, float], None]
"""Takes what is being done, and which share of the whole is done."""


@contextmanager
def progress(what: str, *, shown: bool = True) -> Iterator[Step]:
    """Give a function to call after every step; nothing is drawn unless standard error is a terminal.

    It draws only between steps, never from a thread of its own: a bar must not slow down what is being timed.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    rich_progress = require("rich.progress", extra="cli")
    console = require("rich.console", extra="cli").Console(stderr=True)
    drawn = 0.0
    with rich_progress.Progress(console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task(_literal(what), total=1.0)

        def step(doing: str, share: float) -> None:
            nonlocal drawn
            bar.update(task, description=_literal(doing), completed=share)
            if time.monotonic() - drawn > _REFRESH_S:
                bar.refresh()
                drawn = time.monotonic()

        yield step


def _literal(text: str) -> str:
    return text.replace("[", r"\[")
