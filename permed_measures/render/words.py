"""How numbers are written where people read them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NONE = "–"  # noqa: RUF001  (an en dash: nothing to show)
_SHOWN: ContextVar[tuple[int | None, bool]] = ContextVar("shown", default=(None, False))
"""How values are written within sentences: decimals, and whether those from 0 to 1 are in percent."""


@contextmanager
def shown_as(places: int | None, *, percent: bool) -> Iterator[None]:
    """Let sentences that are made meanwhile show values as the tables beside them do."""
    before = _SHOWN.set((places, percent))
    try:
        yield
    finally:
        _SHOWN.reset(before)


def in_words(value: float | None, *, share: bool, sign: bool = False) -> str:
    """Write a value within a sentence; ``share`` says that it can be in percent.

    >>> with shown_as(1, percent=True):
    ...     in_words(0.1234, share=True, sign=True), in_words(3.0, share=False)
    ('+12.3', '3.0')
    """
    places, percent = _SHOWN.get()
    percent = percent and share
    places = (2 if percent else 4) if places is None else places
    return (signed if sign else number)(value if value is None or not percent else 100 * value, places)


def number(value: float | None, decimals: int = 4, sign: str = "") -> str:
    """Write a value; zero has no sign.

    >>> number(0.5), number(-0.00001)
    ('0.5000', '0.0000')
    """
    if value is None:
        return NONE
    shown = f"{value:{sign}.{decimals}f}"
    return shown.lstrip("+-") if float(shown) == 0 else shown


def signed(value: float | None, decimals: int = 4) -> str:
    """Write a difference, with its sign; none on zero.

    >>> signed(0.5, 2), signed(-0.001, 2)
    ('+0.50', '0.00')
    """
    return number(value, decimals, "+")


def percent(value: float | None) -> str:
    """Write a share with its sign."""
    return NONE if value is None else f"{signed(100 * value, 1)}%"


def p_value(value: float | None) -> str:
    """Write a p-value, never as 0."""
    if value is None:
        return NONE
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"  # noqa: PLR2004  (four decimals)


def p_is(value: float | None) -> str:
    """Write "p = 0.0123" or "p < 0.0001"."""
    shown = p_value(value)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def counted(number: int, one: str, many: str = "") -> str:
    """Write how many there are; ``many`` is needed where it is not ``one`` with an s.

    >>> counted(1, "group"), counted(2000, "group"), counted(0, "query", "queries")
    ('1 group', '2,000 groups', '0 queries')
    """
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def queries(number: int) -> str:
    """Write "1 query" or "30 queries"."""
    return counted(number, "query", "queries")


def milliseconds(value: float) -> str:
    """Write about four digits."""
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 4  # noqa: PLR2004  (about four digits)
    return NONE if value != value else f"{value:,.{decimals}f}"
