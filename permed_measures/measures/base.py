"""What a measure is: checked parameters, a kernel or a call of pytrec_eval, and its names in every host."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from ir_measures import Measure
from ir_measures.measures import registry

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.measures.declarations import (
    COUNT,
    CUTOFF,
    JUDGED_ONLY,
    NEEDED_CUTOFF,
    NOT_GIVEN,
    REL,
    Call,
    HostName,
    Param,
    Reading,
    digits,
    on_judged,
    taken_by,
)
from permed_measures.ranking import Grades, Ranking

if TYPE_CHECKING:
    import narwhals as nw

    from permed_measures.tables import ranking_table

    Expr: TypeAlias = nw.Expr
    RankingTable: TypeAlias = ranking_table.RankingTable
else:  # a measure is declared without an engine
    Expr = RankingTable = Any

__all__ = ["COUNT", "CUTOFF", "DEFINED", "JUDGED_ONLY", "NEEDED_CUTOFF", "NOT_GIVEN", "REL", "STANDARD", "Call", "Expr"]
__all__ += ["HostName", "Param", "RankingMeasure", "RankingTable", "Reading", "StandardMeasure", "declared", "define"]
__all__ += ["digits", "same_class", "takes_threshold", "unreadable", "written"]

_ROOM = 1e-9
"""How far rounding may take a value out of its range."""


def written(measure: Measure, params: Mapping[str, Any] | None = None) -> str:
    """Write a measure with all the parameters that it was given, also those that say the default.

    Two measures that differ only in these print alike and are equal: ``GWAP(rel=1)`` is ``GWAP``, until a
    ``min_relevance`` gives a ``rel`` to those that have none.

    >>> from ir_measures import AP
    >>> str(AP(rel=1) @ 10), written(AP(rel=1) @ 10)
    ('AP@10', 'AP(rel=1)@10')
    """
    known = measure.params if params is None else params
    # numpy's int64(1) prints as a call of numpy
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in known.items()}
    # ir_measures leaves out dict entries whose key equals their value; here every entry is printed
    given = ",".join(f"{name}={value!r}" for name, value in plain.items() if name != measure.AT_PARAM)
    at = f"@{known[measure.AT_PARAM]}" if measure.AT_PARAM in known else ""
    return f"{measure.NAME}({given}){at}" if given else f"{measure.NAME}{at}"


def takes_threshold(measure: Measure) -> bool:
    """Whether a ``min_relevance`` is the ``rel`` of this measure: it has one by default, and was not given one."""
    info = measure.SUPPORTED_PARAMS.get("rel")
    return info is not None and isinstance(info.default, (int, float)) and "rel" not in measure.params


class RankingMeasure(Measure):  # type: ignore[misc]  # ir_measures is untyped
    """A measure of ours: an ir_measures measure with a kernel, whose parameters are checked when it is made."""

    NAME: ClassVar[str]
    PRETTY_NAME: ClassVar[str]
    ALIASES: ClassVar[tuple[str, ...]] = ()
    HOST_NAMES: ClassVar[tuple[HostName, ...]] = ()
    SPELLINGS: ClassVar[tuple[str, ...]] = ()
    """What other tools call the measure; capitals, '_' and '-' do not matter."""
    RANX_NAME: ClassVar[str] = ""
    """What ranx itself calls the measure; what trec_eval calls it is what pytrec_eval is asked for."""
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]]
    NOT_CONDENSED: ClassVar[str] = ""
    """Why ``judged_only``, which every other measure has, cannot be asked of this one."""
    LOOKS_PAST_CUTOFF: ClassVar[bool] = False
    HOST_MEASURE: ClassVar[Measure | None] = None
    """ir_measures' own measure of this name, where we compute a measure that it already has."""

    VERSION: ClassVar[int] = 1
    """Raised whenever a value of the measure moves: values of two versions are not compared."""
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ZERO_WITHOUT: ClassVar[str] = "relevant"
    """What a list must hold for a value other than 0: a 'relevant' document, a 'judged' one, or any 'returned' one."""
    COUNTS_RETURNED: ClassVar[bool] = False
    """Whether unjudged documents after the last judged one change the value."""
    kernel: ClassVar[Callable[..., float]]
    call: ClassVar[Callable[..., Call | None] | None] = None
    """What pytrec_eval is asked for the measure with these parameters; None where it is not asked."""
    expression: ClassVar[Callable[..., Any] | None] = None
    """The kernel once more, over a RankingTable: for engines that hold more rows than this process."""
    exact: ClassVar[Callable[..., Any] | None] = None
    """An expression over arrays that adds as pytrec_eval does: to the last bit it is what pytrec_eval is asked for."""
    READS: ClassVar[Reading | None] = None
    """How ``explain`` reads the measure; None where it is of no family there."""
    EXAMPLES: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Parameters with which the laws in tests/ try the measure: each one but the cut-off is varied."""

    def __init__(self, **params: Any) -> None:  # noqa: ANN401  (checked against SUPPORTED_PARAMS)
        super().__init__(**self._checked(params))
        self.validated = True
        self._print = written(self, self._not_default(self.params))
        self._hash = hash(self._print)
        self.arguments = {name: self[name] for name in self.SUPPORTED_PARAMS}

    @classmethod
    def _checked(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given parameters in declared order and canonical form; None means not given."""
        for name in params:
            if name not in cls.SUPPORTED_PARAMS:
                why = f" {cls.NOT_CONDENSED}" if name == "judged_only" else did_you_mean(name, cls.SUPPORTED_PARAMS)
                raise ParamError(f"{cls.NAME} has no parameter {name!r}.{why}")
        checked = {}
        for name, param in cls.SUPPORTED_PARAMS.items():
            value = params.get(name, NOT_GIVEN)
            if value is not NOT_GIVEN and value is not None:
                checked[name] = param.checked(cls.NAME, name, value)
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
        return partial(type(self), **self.params), ()

    def value(self, ranking: Ranking) -> float:
        """Return the value of one query."""
        return type(self).kernel(ranking, **self.arguments)

    @property
    def asked(self) -> Call | None:
        """What pytrec_eval is asked for the measure; None where it is not asked."""
        call = type(self).call
        return None if call is None else call(**self.arguments)

    def checked(self, values: Sequence[float]) -> Sequence[float]:
        """Return values that are in the range of the measure; one that is not is a fault of the measure, no result."""
        low, high = self.RANGE
        total = sum(values)
        if values and not (low - _ROOM <= min(values) and max(values) <= high + _ROOM and total == total):
            wrong = next(value for value in values if not low - _ROOM <= value <= high + _ROOM)
            raise ArithmeticError(
                f"{self} has the value {wrong!r}, outside its range [{low:g}, {high:g}]; in {type(self).__module__} "
                "mend the kernel, declare another RANGE, or let refuses() name the grades that it is not defined for"
            )
        return values

    def refuses(self, grade: Any) -> Any:  # noqa: ANN401, ARG002  (a number or a column; for subclasses)
        """Return whether the measure is undefined for a grade: a condition of a number as of an engine's column."""
        return None

    def advice(self, grade: float) -> str:  # noqa: ARG002  (for subclasses)
        """Say what is wrong with a grade that the measure refuses, and what to do."""
        return f"is not one that {self} is defined for"

    @property
    def takes_all_grades(self) -> bool:
        """Whether the measure is defined for every grade."""
        return type(self).refuses is RankingMeasure.refuses

    def check_grades(self, query_id: str, grades: Grades) -> None:
        """Raise InputError for the highest grade that the measure is not defined for, naming its document."""
        wrong = max((grade for grade in set(grades.values()) if self.refuses(grade)), default=None)
        if wrong is not None:
            doc_id = next(doc_id for doc_id, grade in grades.items() if grade == wrong)
            raise InputError(f"query {query_id!r}, document {doc_id!r}: grade {wrong!r} {self.advice(wrong)}")

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
        """Return the host name of these parameters (the cut-off left out), if there is one."""
        given = {name: value for name, value in cls._not_default(params).items() if name != cls.AT_PARAM}
        named = (host for host in cls.HOST_NAMES if host.at == cls.AT_PARAM and dict(host.params) == given)
        return next(named, None)

    @property
    def label(self) -> str:
        """The name a table shows: GW-MAP@10; the full print where these parameters have no short name."""
        host = self.host_name(self.params)
        return self._print if host is None else host.display(self.params.get(self.AT_PARAM))


class StandardMeasure(RankingMeasure):
    """What pytrec_eval computes: ir_measures' own measure, which people write, with what else there is to say of it.

    Its parameters are ir_measures'; a class declares those that are not a cut-off, ``rel`` or ``judged_only``.
    """

    HOST_MEASURE: ClassVar[Measure]
    call: ClassVar[Callable[..., Call]]

    def __init_subclass__(cls) -> None:
        cls.HOST_MEASURE = registry[cls.NAME]
        theirs = type(cls.HOST_MEASURE)
        cls.AT_PARAM = theirs.AT_PARAM
        cls.PRETTY_NAME = cls.__dict__.get("PRETTY_NAME", theirs.PRETTY_NAME)
        own = cls.__dict__.get("SUPPORTED_PARAMS", {})
        known = {"cutoff": CUTOFF, "rel": REL, "judged_only": JUDGED_ONLY, **own}
        cls.SUPPORTED_PARAMS = {name: known.get(name, info) for name, info in theirs.SUPPORTED_PARAMS.items()}
        if "cutoff" in theirs.SUPPORTED_PARAMS and theirs.SUPPORTED_PARAMS["cutoff"].required:
            cls.SUPPORTED_PARAMS["cutoff"] = NEEDED_CUTOFF
        undeclared = [name for name, info in cls.SUPPORTED_PARAMS.items() if not isinstance(info, Param)]
        if undeclared or own.keys() - theirs.SUPPORTED_PARAMS.keys():
            raise TypeError(f"{cls.__module__}: the parameters are not those of ir_measures' {cls.NAME}")


MeasureT = TypeVar("MeasureT", bound=RankingMeasure)

DEFINED: dict[str, RankingMeasure] = {}
"""Every measure of this package by its ir_measures name. Filled by :func:`define`, read by all hosts."""

STANDARD: dict[str, StandardMeasure] = {}
"""Every measure that pytrec_eval alone computes, by its ir_measures name."""


def declared(measure: Measure) -> RankingMeasure | None:
    """Return what is declared of a measure, ours or pytrec_eval's, with its parameters; None of somebody else's."""
    if isinstance(measure, RankingMeasure):
        return measure
    known: RankingMeasure | None = DEFINED.get(measure.NAME, STANDARD.get(measure.NAME))
    is_known = known is not None and isinstance(measure, type(known.HOST_MEASURE))
    return type(known)(**measure.params) if known is not None and is_known else None


def define(cls: type[MeasureT]) -> MeasureT:
    """Check a measure's class and make it known; what is written there is all that a measure needs.

    A name that another measure has, or that a host cannot read, is a ParamError. The same class may be defined again,
    as a reload does.
    ``cls`` is a subclass of :class:`RankingMeasure`. Returns the measure; raises TypeError for what is not declared.

    >>> from permed_measures import GWAP
    >>> define(type(GWAP)) == GWAP
    True
    """
    if not cls.NOT_CONDENSED and "judged_only" not in cls.SUPPORTED_PARAMS:
        cls.SUPPORTED_PARAMS = {**cls.SUPPORTED_PARAMS, "judged_only": JUDGED_ONLY}
        cls.EXAMPLES = (*cls.EXAMPLES, {**cls.EXAMPLES[0], "judged_only": True})
    declared = set(cls.SUPPORTED_PARAMS)
    for role in ("kernel", "expression", "exact"):
        function = getattr(cls, role, None)
        if function is None:
            continue
        number, keywords = taken_by(function)
        if keywords | {"judged_only"} == declared and number == len(declared):
            setattr(cls, role, staticmethod(on_judged(function)))
        elif keywords != declared or number != len(declared) + 1:
            takes = f"the {role} takes {sorted(keywords)} without defaults"
            raise TypeError(f"{cls.__name__}: {takes}, the class declares {sorted(declared)}")
    if not (cls.__doc__ or "").strip() or ">>>" not in (cls.__doc__ or ""):
        raise TypeError(f"{cls.__name__}: a measure needs a docstring with a worked example")
    if type(cls.VERSION) is not int or cls.VERSION < 1:
        raise TypeError(f"{cls.__name__}: VERSION = {cls.VERSION!r} is not a whole number >= 1")
    _check_names(cls)
    cls.__name__ = cls.NAME  # ir_measures registers and prints measures by it
    measure = cls()
    if isinstance(measure, StandardMeasure):
        STANDARD[cls.NAME] = measure
        return measure
    DEFINED[cls.NAME] = measure
    if cls.HOST_MEASURE is None:
        registry.update(dict.fromkeys([cls.NAME, *cls.ALIASES], measure))
    return measure


def same_class(one: type, other: type) -> bool:
    """Whether two classes are one, perhaps from before and after a reload: of the same name in the same module."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _check_names(cls: type[RankingMeasure]) -> None:
    names = [cls.NAME, *cls.ALIASES]
    hosts = {name: host for host in cls.HOST_NAMES for name in (host.name, host.name + host.cut)}
    taken = _taken_names(cls, {name.casefold() for name in (*names, *hosts)})
    for name in names:
        if name in taken:
            _refuse_name(cls, name, _owner(name, taken[name]))
    folded = {name.casefold(): name for name in taken}  # rr@10 is RR@10
    for name, host in hosts.items():
        owned = folded.get(name.casefold())
        if owned is not None:
            _refuse_name(cls, name, _owner(owned, taken[owned]))
        reason = unreadable(name) if host.in_ranx else ""
        if not re.fullmatch(r"\w+", name) or re.search(r"_\d+$", name):
            reason = reason or "trec_eval-style names are of letters, digits and '_', and end in a cut-off only"
        if reason:
            _refuse_name(cls, name, reason)
    known = [*names, *(host.name for host in cls.HOST_NAMES if host.name != cls.NAME)]
    again = next((name for name in known if known.count(name) > 1), None)
    if again is not None:
        _refuse_name(cls, again, "the class has it twice")


def _taken_names(cls: type[RankingMeasure], wanted: set[str]) -> dict[str, Measure | None]:
    """Return which of the wanted names others have, each with the measure that it stands for; None is trec_eval's."""
    taken: dict[str, Measure | None] = {}
    if not cls.__module__.startswith(f"{__package__}."):  # this package has measures of trec_eval's under its names
        taken = dict.fromkeys(_trec_eval_names())
    for name, known in registry.items():
        if name.casefold() in wanted and not same_class(type(known), cls):
            taken |= {name: known} if type(known) is not type(cls.HOST_MEASURE) else {}
    for known in DEFINED.values():
        hosts = [name for host in known.HOST_NAMES for name in (host.name, host.name + host.cut)]
        found = [name for name in (known.NAME, *known.ALIASES, *hosts) if name.casefold() in wanted]
        if found and not same_class(type(known), cls):
            taken |= dict.fromkeys(found, known)
    return taken


def _owner(name: str, known: Measure | None) -> str:
    if known is None:
        return f"it stands for trec_eval's {name}"
    ours = isinstance(known, RankingMeasure)
    return f"it stands for {known} of {type(known).__module__}" if ours else f"it stands for ir_measures' {known}"


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
