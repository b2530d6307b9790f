"""A progress bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from permed_measures.errors import require, visible

_REFRESH_S = 0.2


@contextmanager
def bar(label: str, total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Give a function to call after every step. Nothing is drawn unless standard error is a terminal.

    It draws only between steps, never from a thread of its own: a bar must not slow down what is being timed.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
    rich_progress = require("rich.progress", extra="cli")
    console = require("rich.console", extra="cli").Console(stderr=True)
    drawn = 0.0
    with rich_progress.Progress(console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task(visible(label).replace("[", r"\["), total=total)

        def step() -> None:
            nonlocal drawn
            progress.advance(task)
            if time.monotonic() - drawn > _REFRESH_S:
                progress.refresh()
                drawn = time.monotonic()

        yield step
