"""The one progress bar: on a terminal, for long work."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from permed_measures.errors import visible

_REFRESH_S = 0.2

Step = Callable[[str, float], None]  # takes what is being done, and which share of the whole is done


@contextmanager
def progress(what: str, *, shown: bool = True) -> Iterator[Step]:
    """Give a function to call after every step; nothing is drawn unless standard error is a terminal, and with rich.

    It draws only between steps, never from a thread of its own: a bar must not slow down what is being timed.
    """
    if not shown or not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda _, __: None
        return
    from rich.console import Console  # noqa: PLC0415  (only on a terminal)
    from rich.markup import escape  # noqa: PLC0415  (only on a terminal)
    from rich.progress import Progress  # noqa: PLC0415  (only on a terminal)

    with Progress(console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task(escape(visible(what)), total=1.0)
        bar.refresh()
        drawn = 0.0

        def step(doing: str, share: float) -> None:
            nonlocal drawn
            if share >= 1 or time.monotonic() - drawn > _REFRESH_S:
                bar.update(task, description=escape(visible(doing)), completed=share, refresh=True)
                drawn = time.monotonic()

        yield step
