"""What a measure is made of: checked parameters, a kernel, and its names in every host."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from ir_measures import Measure, ParamInfo

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.ranking import Grades, Ranking, real

NOT_GIVEN: Any = ParamInfo().default
"""ir_measures' mark for a parameter that has no value and no default."""


class Param(ParamInfo):  # type: ignore[misc]  # ir_measures is untyped
    """A declared parameter: what it may be, its default, and one line of description.

    ``kind`` is one of 'int', 'number', 'choice', 'flag', 'weights', 'gains'.
    """

    def __init__(
        self,
        kind: str,
        *,
        default: Any = None,  # noqa: ANN401  (of the parameter's own type)
        choices: tuple[str, ...] | None = None,
        above: float | None = None,
        desc: str,
    ) -> None:
        optional = {} if choices is None else {"choices": list(choices)}
        super().__init__(dtype=None, required=False, default=default, desc=desc, **optional)
        self.kind = kind
        self.allowed_choices = choices
        self.above = above

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(map(repr, self.allowed_choices or ()))
        if self.kind == "int":
            return "an int >= 1"
        if self.kind == "flag":
            return "True or False"
        if self.kind == "weights":
            return "a dict of grade > 0 to weight in [0, 1], such as {1: 0.5, 2: 1.0}"
        if self.kind == "gains":
            return "a dict of grade to gain, such as {1: 1, 2: 5}"
        return f"a number > {self.above}"

    def check(self, value: Any) -> Any:  # noqa: ANN401  (of the parameter's own type)
        """Return the value in its one canonical form, or raise ValueError."""
        return _CHECKS[self.kind](self, value)

    def validate(self, value: Any) -> bool:  # noqa: ANN401  (ir_measures' signature)
        """Tell ir_measures whether a value is allowed."""
        if value is NOT_GIVEN or value == self.default:
            return True
        try:
            self.check(value)
        except ValueError:
            return False
        return True


def canonical(number: Any) -> int | float:  # noqa: ANN401  (any real number, numpy's included)
    """Return a built-in int for a whole number, else a built-in float, so that 2, 2.0 and np.int64(2) are one value."""
    if isinstance(number, bool):
        raise ValueError(number)  # noqa: TRY004  (as of anything else that is no number)
    try:
        as_float = real(number)
        return operator.index(number)
    except TypeError:
        pass
    except OverflowError:
        raise ValueError(number) from None
    if not math.isfinite(as_float):
        raise ValueError(number)
    return int(as_float) if as_float.is_integer() else as_float


def lowest_relevant(grade: Any, name: str) -> int | float:  # noqa: ANN401  (checked here)
    """Return the lowest grade that is relevant, or raise ParamError; ``name`` is what the caller calls it.

    >>> lowest_relevant(2.0, "rel")
    2
    """
    try:
        number = canonical(grade)
    except ValueError:
        number = 0
    if number <= 0:
        msg = f"{name}={grade!r} is not allowed; give a number > 0: an unjudged document has grade 0"
        raise ParamError(msg)
    return number


def _check_int(_: Param, value: Any) -> int:  # noqa: ANN401  (checked here)
    whole = canonical(value)
    if not isinstance(whole, int) or isinstance(value, float) or not 1 <= whole < 2**63:
        raise ValueError(value)
    return whole


def _check_number(param: Param, value: Any) -> int | float:  # noqa: ANN401  (checked here)
    number = canonical(value)
    if param.above is not None and not number > param.above:
        raise ValueError(value)
    return number


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
REL = Param("number", default=1, above=0, desc="the lowest grade that is relevant")


class HostName(NamedTuple):
    """A measure's name where parameters cannot be written: in ranx and in trec_eval-style names."""

    name: str
    label: str
    params: Mapping[str, Any] = MappingProxyType({})
    cut: str = "_cut"
    """What trec_eval-style names put before the cut-off: gwmap_cut_10, but coverage_10."""

    def ranx(self, cutoff: int | None) -> str:
        """Return the name in ranx: gwmap@10."""
        return self.name if cutoff is None else f"{self.name}@{cutoff}"

    def trec(self, cutoff: int | None) -> str:
        """Return the trec_eval-style name: gwmap_cut_10."""
        return self.name if cutoff is None else f"{self.name}{self.cut}_{cutoff}"

    def display(self, cutoff: int | None) -> str:
        """Return the name a table shows: GW-MAP@10."""
        return self.label if cutoff is None else f"{self.label}@{cutoff}"


class RankingMeasure(Measure):  # type: ignore[misc]  # ir_measures is untyped
    """A measure of ours: an ir_measures measure with a kernel, whose parameters are checked when it is made."""

    NAME: ClassVar[str]
    PRETTY_NAME: ClassVar[str]
    ALIASES: ClassVar[tuple[str, ...]] = ()
    HOST_NAMES: ClassVar[tuple[HostName, ...]]
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]]
    LOOKS_PAST_CUTOFF: ClassVar[bool] = False
    HOST_MEASURE: ClassVar[Measure | None] = None
    """ir_measures' own measure of this name, where we compute a measure that it already has."""

    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    kernel: ClassVar[Callable[..., float]]
    expression: ClassVar[Callable[..., Any] | None] = None
    """The kernel once more, over a RankingTable: for engines that hold more rows than this process."""

    def __init__(self, **params: Any) -> None:  # noqa: ANN401  (checked against SUPPORTED_PARAMS)
        super().__init__(**self._checked(params))
        self.validated = True
        self._print = self._printed()
        self._hash = hash(self._print)
        self.arguments = {name: self[name] for name in self.SUPPORTED_PARAMS}

    @classmethod
    def _checked(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters in declared order and canonical form, those that say the default left out."""
        for name in params:
            if name not in cls.SUPPORTED_PARAMS:
                msg = f"{cls.NAME} has no parameter {name!r}.{did_you_mean(name, cls.SUPPORTED_PARAMS)}"
                raise ParamError(msg)
        checked = {}
        for name, param in cls.SUPPORTED_PARAMS.items():
            value = params.get(name, NOT_GIVEN)
            if value is NOT_GIVEN or value is None:
                continue
            try:
                checked[name] = param.check(value)
            except (ValueError, TypeError):
                msg = f"{cls.NAME}: {name}={value!r} is not allowed; give {param.allowed}"
                raise ParamError(msg) from None
            if checked[name] == param.default:
                del checked[name]
        return checked

    def _printed(self) -> str:
        # ir_measures leaves out dict entries whose key equals their value; here every entry is printed
        given = ",".join(f"{name}={value!r}" for name, value in self.params.items() if name != self.AT_PARAM)
        at = f"@{self.params[self.AT_PARAM]}" if self.AT_PARAM in self.params else ""
        return f"{self.NAME}({given}){at}" if given else f"{self.NAME}{at}"

    def __repr__(self) -> str:
        return self._print

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (type(self), self.params)

    def value(self, ranking: Ranking) -> float:
        """Return the value of one query."""
        return type(self).kernel(ranking, **self.arguments)

    def check_grades(self, query_id: str, grades: Grades) -> None:
        """Raise InputError when the measure is not defined for these grades."""

    def suspect_grades(self, grade: Any) -> Any:  # noqa: ANN401, ARG002  (expressions over a column; for subclasses)
        """Return the condition under which ``check_grades`` may object to a grade of a table; None for never."""
        return None

    @property
    def raising_helps(self) -> bool:
        """Whether exchanging a relevant document with a non-relevant one above it can never lower the value."""
        return True

    @property
    def ideal_is_top(self) -> bool:
        """Whether the ranking of all judged documents by grade reaches the top of the range."""
        return True

    @classmethod
    def host_name(cls, params: Mapping[str, Any]) -> HostName | None:
        """Return the host name that stands for these parameters (the cut-off left out), if there is one."""
        given = {name: value for name, value in params.items() if name != cls.AT_PARAM}
        return next((host for host in cls.HOST_NAMES if dict(host.params) == given), None)

    @property
    def label(self) -> str:
        """The name a table shows: GW-MAP@10; the full print where no short name stands for the parameters."""
        host = self.host_name(self.params)
        return self._print if host is None else host.display(self.params.get(self.AT_PARAM))


def _remake(cls: type[RankingMeasure], params: dict[str, Any]) -> RankingMeasure:
    return cls(**params)


MeasureT = TypeVar("MeasureT", bound=RankingMeasure)

DEFINED: dict[str, RankingMeasure] = {}
"""Every measure of this package by its ir_measures name. Filled by :func:`define`, read by all hosts."""


def define(cls: type[MeasureT]) -> MeasureT:
    """Check a measure's class and make it known; what is written there is all that a measure needs."""
    declared = set(cls.SUPPORTED_PARAMS)
    for role, function in (("kernel", cls.kernel), ("expression", cls.expression)):
        if function is None:
            continue
        parameters = list(inspect.signature(function).parameters.values())
        keywords = {p.name for p in parameters[1:] if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
        if keywords != declared or len(parameters) != len(declared) + 1:
            takes = f"the {role} takes {sorted(keywords)} without defaults"
            msg = f"{cls.__name__}: {takes}, the class declares {sorted(declared)}"
            raise TypeError(msg)
    if not (cls.__doc__ or "").strip() or ">>>" not in (cls.__doc__ or ""):
        msg = f"{cls.__name__}: a measure needs a docstring with a worked example"
        raise TypeError(msg)
    cls.__name__ = cls.NAME  # ir_measures registers and prints measures by it
    measure = cls()
    DEFINED[cls.NAME] = measure
    return measure


def grade_error(query_id: str, grades: Grades, wrong: Iterable[float], advice: str) -> InputError:
    """Make the error for a grade that a measure is not defined for, naming its document."""
    grade = next(iter(wrong))
    doc_id = next(doc_id for doc_id, judged in grades.items() if judged == grade)
    return InputError(f"query {query_id!r}, document {doc_id!r}: grade {grade!r} {advice}")
