"""``python -m permed_measures``: the shell tool."""

from __future__ import annotations

import sys

from permed_measures.errors import HostError, require


def main() -> None:
    """Start the shell tool, or say what is missing."""
    try:
        require("click", extra="cli")
    except HostError as error:
        sys.stderr.write(f"permed-measures: {error}\n")
        sys.exit(2)
    from permed_measures.cli import main as run  # noqa: PLC0415  (click is an extra)

    run()


if __name__ == "__main__":
    main()
