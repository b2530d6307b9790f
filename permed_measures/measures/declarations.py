"""What a measure's class declares: parameters with their domain, names in other programs, what pytrec_eval is asked."""

import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from math import inf
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ir_measures import Measure, ParamInfo

from permed_measures.errors import ParamError
from permed_measures.numbers import canonical, within_floats

if TYPE_CHECKING:
    from permed_measures.measures.base import RankingMeasure

NOT_GIVEN: Any = ParamInfo().default
"""ir_measures' mark for a parameter that has no value and no default."""


COUNT = (0.0, inf)
"""The range of a measure that counts."""

_LONG = 2**63 - 1
"""The highest cut-off that pytrec_eval can read."""


class Param(ParamInfo):  # type: ignore[misc]  # ir_measures is untyped
    """A declared parameter: what it may be, its default, and one line of description.

    ``kind`` is one of 'int', 'number', 'choice', 'flag', 'weights', 'gains'. A number may have bounds: ``low`` and
    ``high`` are allowed themselves, ``above`` and ``below`` are not.

    >>> Param("number", above=0, high=1, desc="a share").allowed
    'a number > 0 and <= 1'
    """

    def __init__(  # noqa: PLR0913  (all but the kind by name)
        self,
        kind: str,
        *,
        default: Any = None,  # noqa: ANN401  (of the parameter's own type)
        choices: tuple[str, ...] | None = None,
        above: float | None = None,
        below: float | None = None,
        low: float | None = None,
        high: float | None = None,
        required: bool = False,
        desc: str,
        why: str = "",
    ) -> None:
        optional = {} if choices is None else {"choices": list(choices)}
        super().__init__(dtype=None, required=required, default=default, desc=desc, **optional)
        self.kind = kind
        self.why = f": {why}" if why else ""
        self.allowed_choices = choices
        self.bounds = {">": above, ">=": low, "<": below, "<=": high}

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        bounds = [f"{sign} {bound}" for sign, bound in self.bounds.items() if bound is not None]
        return {
            "choice": "one of " + ", ".join(map(repr, self.allowed_choices or ())),
            "int": "an int >= 1",
            "flag": "True or False",
            "number": f"a number {' and '.join(bounds)}".rstrip(),
            "weights": "a dict of grade > 0 to weight in [0, 1], such as {1: 0.5, 2: 1.0}",
            "gains": "a dict of grade to gain, such as {1: 1, 2: 5}",
        }[self.kind]

    def check(self, value: Any) -> Any:  # noqa: ANN401  (of the parameter's own type)
        """Return the value in its one canonical form, or raise ValueError."""
        return _CHECKS[self.kind](self, value)

    def checked(self, measure: str, name: str, value: Any) -> Any:  # noqa: ANN401  (of the parameter's own type)
        """Return the canonical value of the parameter of a measure, or raise ParamError."""
        try:
            return self.check(value)
        except (ValueError, TypeError):
            too_high = self.kind == "int" and isinstance(value, int) and value > _LONG
            allowed = f"an int <= {_LONG}" if too_high else self.allowed + self.why
            raise ParamError(f"{measure}: {name}={value!r} is not allowed; give {allowed}") from None

    def validate(self, value: Any) -> bool:  # noqa: ANN401  (ir_measures' signature)
        """Tell ir_measures whether a value is allowed."""
        if value is NOT_GIVEN or value == self.default:
            return True
        try:
            self.check(value)
        except ValueError:
            return False
        return True


def _check_int(_: Param, value: Any) -> int:  # noqa: ANN401  (checked here)
    whole = canonical(value)
    if not isinstance(whole, int) or isinstance(value, float) or not 1 <= whole <= _LONG:
        raise ValueError(value)
    return whole


def _check_number(param: Param, value: Any) -> int | float:  # noqa: ANN401  (checked here)
    number = within_floats(value)
    if any(bound is not None and not _COMPARE[sign](number, bound) for sign, bound in param.bounds.items()):
        raise ValueError(value)
    return number


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def _check_choice(param: Param, value: Any) -> str:  # noqa: ANN401  (checked here)
    if value not in (param.allowed_choices or ()):
        raise ValueError(value)
    return str(value)


def _check_flag(_: Param, value: Any) -> bool:  # noqa: ANN401  (checked here)
    if value not in (True, False):
        raise ValueError(value)
    return bool(value)


def _check_weights(_: Param, value: Any) -> dict[float, float]:  # noqa: ANN401  (checked here)
    if not isinstance(value, Mapping) or not value:
        raise ValueError(value)
    weights = {canonical(grade): float(canonical(weight)) for grade, weight in value.items()}
    if len(weights) != len(value) or min(weights) <= 0:
        raise ValueError(value)
    if not all(0 <= weight <= 1 for weight in weights.values()):
        raise ValueError(value)
    return dict(sorted(weights.items()))


def _check_gains(_: Param, value: Any) -> dict[float, float]:  # noqa: ANN401  (checked here)
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return {canonical(grade): canonical(gain) for grade, gain in sorted(value.items())}


_CHECKS: dict[str, Callable[[Param, Any], Any]] = {
    "int": _check_int,
    "number": _check_number,
    "choice": _check_choice,
    "flag": _check_flag,
    "weights": _check_weights,
    "gains": _check_gains,
}

CUTOFF = Param("int", desc="how many documents of the list are looked at; all of them when not given")
NEEDED_CUTOFF = Param("int", required=True, desc="how many documents of the list are looked at")
REL = Param(
    "number", default=1, above=0, desc="the lowest grade that is relevant", why="an unjudged document has grade 0"
)
JUDGED_ONLY = Param("flag", default=False, desc="take unjudged documents and negative grades out of the list")


class HostName(NamedTuple):
    """A measure's name where parameters cannot be written: in ranx and in trec_eval-style names."""

    name: str
    label: str
    params: Mapping[str, Any] = MappingProxyType({})
    cut: str = "_cut"
    """What trec_eval-style names put before the cut-off: gwmap_cut_10, but coverage_10."""
    at: str = "cutoff"
    """The parameter that a number in a trec_eval-style name is for: 0.80 in rbp_0.80 is ``p``."""
    numbers: tuple[float, ...] = ()
    """What a name that needs a number means without one: unj is unj_5, unj_10 and unj_20."""
    in_ranx: bool = True
    """Whether ranx knows the name too; it cannot read some, such as those with 'rbp' in them."""

    def ranx(self, cutoff: int | None) -> str:
        """Return the name in ranx: gwmap@10."""
        return self.name if cutoff is None else f"{self.name}@{cutoff}"

    def trec(self, number: float | None) -> str:
        """Return the trec_eval-style name: gwmap_cut_10, Rprec_mult_0.20."""
        if number is None:
            return self.name
        written = str(number) if self.at == "cutoff" else f"{number:.2f}"
        return f"{self.name}{self.cut}_{written if float(written) == number else number}"

    def display(self, cutoff: int | None) -> str:
        """Return the name a table shows: GW-MAP@10."""
        return self.label if cutoff is None else f"{self.label}@{cutoff}"


class Call(NamedTuple):
    """What pytrec_eval is asked for one measure."""

    name: str
    answer: str = ""
    """The key of its answer, where that is not the name."""
    depth: int | None = None
    """Ranks below it do not matter to the value."""
    cut: int | None = None
    """The list itself is cut here, for a measure that pytrec_eval has only uncut."""
    graded: bool = False
    """Grades matter, not only whether they reach ``rel``."""
    counts_returned: bool = False
    """The length of the list matters, not only where its judged documents are."""
    needs_missed: bool = True
    """The value depends on judged documents that are below the depth or were not returned."""
    zero_without_hits: bool = True
    """Nothing judged within reach means the value 0, so that pytrec_eval need not be asked."""
    threshold: bool = False
    """pytrec_eval ignores its relevance level here, so grades are made 0 and 1 first."""


def on_judged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give ``judged_only``, which a class may declare alone, to its kernel or expression."""

    @wraps(function)
    def asked(ranking: Any, *, judged_only: bool, **params: Any) -> Any:  # noqa: ANN401  (a Ranking, or a table)
        return function(ranking.judged_only() if judged_only else ranking, **params)

    number, keywords = taken_by(function)
    asked.TAKEN = number + 1, {*keywords, "judged_only"}  # type: ignore[attr-defined]  # a class may be defined again
    return asked


def condensed(cls: type[Measure]) -> type[Measure]:
    """Return a class of ir_measures' with ``judged_only``: evaluate() has it of every measure, its programs do not.

    >>> import ir_measures
    >>> condensed(type(ir_measures.RBP))(judged_only=True, cutoff=5)
    RBP(judged_only=True)@5
    """

    def validate_params(self: Measure) -> None:
        msg = f"{self}: ir_measures' own programs keep unjudged documents; permed_measures.evaluate() computes it"
        raise ParamError(msg)

    def remade(self: Measure) -> tuple[Any, ...]:
        return _condensed, (cls, self.params)

    params = {**cls.SUPPORTED_PARAMS, "judged_only": JUDGED_ONLY}
    made = {"SUPPORTED_PARAMS": params, "CONDENSES": cls, "validate_params": validate_params, "__reduce__": remade}
    return type(cls.NAME, (cls,), {**made, "__doc__": cls.__doc__})


def _condensed(cls: type[Measure], params: dict[str, Any]) -> Measure:
    return condensed(cls)(**params)


def taken_by(function: Any) -> tuple[int, set[str]]:  # noqa: ANN401  (whatever is declared)
    """Return how many parameters a function takes, and those by name alone that have no default, after the first."""
    if hasattr(function, "TAKEN"):
        return cast("tuple[int, set[str]]", function.TAKEN)
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):  # inspect takes long
        code, defaults = function.__code__, function.__kwdefaults__ or {}
        plain, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        others = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
        return named + others, {name for name in code.co_varnames[plain:named] if name not in defaults}
    parameters = list(signature(function).parameters.values())
    return len(parameters), {p.name for p in parameters[1:] if p.kind is p.KEYWORD_ONLY and p.default is p.empty}


def digits(number: float) -> str:
    """Write a number without an exponent: pytrec_eval takes 1e-05 for 1.

    >>> digits(1e-05), digits(0.125), digits(2)
    ('0.00001', '0.125', '2.0')
    """
    return f"{Decimal(repr(float(number))):f}"


class Reading(NamedTuple):
    """How a measure reads as a convention for ``explain``, and the way back.

    The cut-off, ``rel`` and ``judged_only`` are read of every measure that has them.
    """

    family: str
    axes: Mapping[str, Any] = MappingProxyType({})
    """What the measure chooses on the axes of the family, whatever its parameters are."""
    read: "Callable[[RankingMeasure, Sequence[float], Sequence[float]], dict[str, Any]] | None" = None
    """What its parameters choose, on qrels with these grades; the thresholds that explain tries come last."""
    write: Callable[[Mapping[str, Any], Sequence[float]], dict[str, Any] | None] | None = None
    """The parameters with which it computes these choices, on qrels with these grades; None where it does not."""
