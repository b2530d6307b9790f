"""The exceptions this package raises on purpose. Anything else that escapes is a bug."""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What moves the cursor, colours, turns the direction of writing, or is half a character."""


def visible(text: str) -> str:
    r"""Return a text as people may see it: what a terminal would obey, not show, is written out.

    >>> print(visible("run\x1b[2J"), visible("né"))
    run\x1b[2J né
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """Qrels, a run or a file hold something that cannot be evaluated.

    ``path`` and ``line`` say where, when the input came from a file.
    """

    def __init__(self, message: str, *, path: "str | Path | None" = None, line: int | None = None) -> None:
        name = visible(str(path))
        place = "" if path is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(place + message)
        self.path = path
        self.line = line


class ParamError(ValueError):
    """A measure, parameter, profile or option is not one of the allowed ones."""


class HostError(RuntimeError):
    """A framework we plug into, or an optional package, is absent or not of a shape we know."""


def did_you_mean(word: str, known: "Iterable[str]", otherwise: str = "") -> str:
    """Return " Did you mean …?" with the nearest known words; when none is near, ``otherwise``, or all of them."""
    import difflib  # noqa: PLC0415  (only for messages)

    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=3, cutoff=0.6)
    if not near:
        by_folded = {w.casefold(): w for w in words}
        near = [by_folded[w] for w in difflib.get_close_matches(word.casefold(), by_folded, n=3, cutoff=0.6)]
    if near:
        return f" Did you mean {' or '.join(near)}?"
    return f" {otherwise}" if otherwise else f" Known: {', '.join(words)}."


def require(module: str, *, extra: str) -> Any:  # noqa: ANN401  (a module of any shape)
    """Import an optional package, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        msg = f"{package} is needed here and could not be imported ({error}); pip install 'permed-measures[{extra}]'"
        raise HostError(msg) from error


class Lazy:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the module has)
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)  # from now on it is found at once
        return found


def check_whole(name: str, number: int, low: int = 1) -> int:
    """Return a whole number that is at least so high; anything else is a ParamError."""
    if isinstance(number, bool) or not isinstance(number, int) or number < low:
        raise ParamError(f"{name}={number!r} is not allowed; give an int >= {low}")
    return number


def check_choice(name: str, value: str, allowed: "Collection[str]") -> None:
    """Raise ParamError unless a value is one of the allowed ones."""
    if value not in allowed:
        raise ParamError(f"{name}={value!r} is not allowed; give one of {', '.join(map(repr, allowed))}")
