"""What a measure is made of: checked parameters, a kernel, and its names in every host."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from ir_measures import Measure, ParamInfo
from ir_measures.measures import registry

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.numbers import canonical, within_floats
from permed_measures.ranking import Grades, Ranking

NOT_GIVEN: Any = ParamInfo().default
"""ir_measures' mark for a parameter that has no value and no default."""


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
    ) -> None:
        optional = {} if choices is None else {"choices": list(choices)}
        super().__init__(dtype=None, required=required, default=default, desc=desc, **optional)
        self.kind = kind
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
    if not isinstance(whole, int) or isinstance(value, float) or not 1 <= whole < 2**63:
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
REL = Param("number", default=1, above=0, desc="the lowest grade that is relevant")


def written(measure: Measure, params: Mapping[str, Any] | None = None) -> str:
    """Write a measure with all the parameters that it was given, also those that say the default.

    Two measures that differ only in these print alike and are equal: ``GWAP(rel=1)`` is ``GWAP``, until a
    ``min_relevance`` gives a ``rel`` to those that have none.

    >>> from ir_measures import AP
    >>> str(AP(rel=1) @ 10), written(AP(rel=1) @ 10)
    ('AP@10', 'AP(rel=1)@10')
    """
    known = measure.params if params is None else params
    # ir_measures leaves out dict entries whose key equals their value; here every entry is printed
    given = ",".join(f"{name}={_plain(value)!r}" for name, value in known.items() if name != measure.AT_PARAM)
    at = f"@{known[measure.AT_PARAM]}" if measure.AT_PARAM in known else ""
    return f"{measure.NAME}({given}){at}" if given else f"{measure.NAME}{at}"


def takes_threshold(measure: Measure) -> bool:
    """Whether a ``min_relevance`` is the ``rel`` of this measure: it has one by default, and was not given one."""
    info = measure.SUPPORTED_PARAMS.get("rel")
    return info is not None and isinstance(info.default, (int, float)) and "rel" not in measure.params


def _plain(value: Any) -> Any:  # noqa: ANN401  (of a parameter's own type)
    """Make 1 of numpy's int64(1), which prints as a call of numpy."""
    return value.item() if hasattr(value, "item") else value


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
    ZERO_WITHOUT: ClassVar[str] = "relevant"
    """What a list must hold for a value other than 0: a 'relevant' document, a 'judged' one, or any 'returned' one."""
    COUNTS_RETURNED: ClassVar[bool] = False
    """Whether unjudged documents after the last judged one change the value."""
    kernel: ClassVar[Callable[..., float]]
    expression: ClassVar[Callable[..., Any] | None] = None
    """The kernel once more, over a RankingTable: for engines that hold more rows than this process."""

    def __init__(self, **params: Any) -> None:  # noqa: ANN401  (checked against SUPPORTED_PARAMS)
        super().__init__(**self._checked(params))
        self.validated = True
        self._print = written(self, self._not_default(self.params))
        self._hash = hash(self._print)
        self.arguments = {name: self[name] for name in self.SUPPORTED_PARAMS}

    @classmethod
    def _checked(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given parameters in declared order and canonical form; None stands for one that is not given."""
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
        return checked

    @classmethod
    def _not_default(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in params.items() if value != cls.SUPPORTED_PARAMS[name].default}

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

    def note(self, highest: float) -> str:  # noqa: ARG002  (for subclasses)
        """Say what a reader should know where no grade is above ``highest``; nothing for nothing."""
        return ""

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
        given = {name: value for name, value in cls._not_default(params).items() if name != cls.AT_PARAM}
        named = (host for host in cls.HOST_NAMES if host.at == cls.AT_PARAM and dict(host.params) == given)
        return next(named, None)

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
    """Check a measure's class and make it known; what is written there is all that a measure needs.

    A name that another measure has, or that a host cannot read, is a ParamError. The same class may be defined again,
    as a reload does.
    """
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
    _check_names(cls)
    cls.__name__ = cls.NAME  # ir_measures registers and prints measures by it
    measure = cls()
    DEFINED[cls.NAME] = measure
    return measure


def same_class(one: type, other: type) -> bool:
    """Whether two classes are one, perhaps from before and after a reload: of the same name in the same module."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _check_names(cls: type[RankingMeasure]) -> None:
    names = [cls.NAME, *cls.ALIASES]
    hosts = {name: host for host in cls.HOST_NAMES for name in (host.name, host.name + host.cut)}
    taken = _taken_names(cls)
    for name in names:
        if name in taken:
            _refuse_name(cls, name, f"it stands for {taken[name]}")
    folded = {name.casefold(): owner for name, owner in taken.items()}  # rr@10 is RR@10
    for name, host in hosts.items():
        owner = folded.get(name.casefold())
        if owner is not None:
            _refuse_name(cls, name, f"it stands for {owner}")
        reason = unreadable(name) if host.in_ranx else ""
        if not re.fullmatch(r"\w+", name) or re.search(r"_\d+$", name):
            reason = reason or "trec_eval-style names are of letters, digits and '_', and end in a cut-off only"
        if reason:
            _refuse_name(cls, name, reason)
    known = [*names, *(host.name for host in cls.HOST_NAMES if host.name != cls.NAME)]
    again = next((name for name in known if known.count(name) > 1), None)
    if again is not None:
        _refuse_name(cls, again, "the class has it twice")


def _taken_names(cls: type[RankingMeasure]) -> dict[str, str]:
    """Return the names that a class may not have, each with what it stands for."""
    taken = {}
    if not cls.__module__.startswith(f"{__package__}."):  # this package has measures of trec_eval's under its names
        taken = {name: f"trec_eval's {name}" for name in _trec_eval_names()}
    for name, known in registry.items():
        if not same_class(type(known), cls) and type(known) is not type(cls.HOST_MEASURE):
            taken[name] = f"ir_measures' {known}"
    for known in DEFINED.values():
        if not same_class(type(known), cls):
            hosts = [name for host in known.HOST_NAMES for name in (host.name, host.name + host.cut)]
            taken |= dict.fromkeys([known.NAME, *known.ALIASES, *hosts], f"{known} of {type(known).__module__}")
    return taken


@lru_cache(maxsize=1)
def _trec_eval_names() -> frozenset[str]:
    try:
        trec_eval = import_module("pytrec_eval_ext")  # without pytrec_eval, which imports numpy
    except ImportError:
        trec_eval = import_module("pytrec_eval")
    return frozenset({*trec_eval.supported_measures, *trec_eval.supported_nicknames})


def unreadable(name: str) -> str:
    """Say why ranx cannot read a name, which it does by looking for parts of it; nothing where it can."""
    if not re.fullmatch(r"[^\W\d][\w-]*", name):
        return "a name is letters, digits, '_' and '-', and begins with a letter"
    if "-l" in name:
        return "ranx reads '-l' within a name as a relevance level"
    if "rbp" in name:
        return "ranx reads every name with 'rbp' in it as rank-biased precision"
    return ""


def _refuse_name(cls: type[RankingMeasure], name: str, reason: str) -> None:
    msg = f"{cls.__module__}.{cls.__qualname__}: the name {name!r} cannot be used: {reason}; choose another one"
    raise ParamError(msg)


def grade_error(query_id: str, grades: Grades, wrong: Iterable[float], advice: str) -> InputError:
    """Make the error for a grade that a measure is not defined for, naming its document."""
    grade = next(iter(wrong))
    doc_id = next(doc_id for doc_id, judged in grades.items() if judged == grade)
    return InputError(f"query {query_id!r}, document {doc_id!r}: grade {grade!r} {advice}")
