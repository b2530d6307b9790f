"""Check our values against every installed reference, on the user's own data."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import inf, isnan
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from ir_measures import Measure

from permed_measures.evaluate import Plan, choose, evaluate
from permed_measures.files.large import cut_run
from permed_measures.inputs import Qrels, QrelsLike, Run, RunLike, as_qrels, as_run
from permed_measures.measures.base import NOT_GIVEN, declared
from permed_measures.numbers import as_float
from permed_measures.profiles import Profile
from permed_measures.render.document import Document, Lines, Section, Table
from permed_measures.render.result import Result
from permed_measures.verification.references import REFERENCES, Computation, Reference, has_near_ties, has_ties, untied

Grid = dict[str, dict[str, float]]

AGREES, DIFFERS, EXPLAINED, FAILED = "agrees", "differs", "differs, explained", "failed"
NOT_APPLICABLE, NO_SUCH_MEASURE, ABSENT = "not applicable", "no such measure", "absent"
HOLDS, NOT_CONFIRMED = "holds", "not confirmed"


@dataclass(frozen=True)
class Check:
    """One measure against one reference."""

    measure: str
    reference: str
    verdict: str
    how: str = ""  # what the reference was asked for
    tolerance: float | None = None
    num_queries: int = 0
    num_differing: int = 0
    max_difference: float | None = None
    query_id: str | None = None  # the query of the largest difference, with both values
    ours: float | None = None
    theirs: float | None = None
    reason: str = ""
    version: str = ""  # of the reference; empty where it has none of its own
    circular: bool = False  # the reference is the program that our value comes from: to agree with it confirms nothing

    @property
    def confirms(self) -> bool:
        """Whether another program than the one our value comes from gives the same."""
        return self.verdict == AGREES and not self.circular


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """What :func:`verify` returns."""

    MAY_BE_NAN: ClassVar = True  # the value of a reference

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()  # what is to be known of the references: versions that nobody compared yet

    @property
    def outcome(self) -> str:
        """'differs' without a known reason, 'not confirmed' where a measure has no confirmation, else 'holds'."""
        if any(check.verdict == DIFFERS for check in self.checks):
            return DIFFERS
        return NOT_CONFIRMED if self.unconfirmed or not self.checks else HOLDS

    @property
    def holds(self) -> bool:
        """Whether every measure is confirmed, and nothing differs without an explanation."""
        return self.outcome == HOLDS

    @property
    def unconfirmed(self) -> list[str]:
        """The measures that no reference confirms but, maybe, the program that computes them for us."""
        confirmed = {check.measure for check in self.checks if check.confirms}
        return [measure for measure in self._measures() if measure not in confirmed]

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        verdicts = [check.verdict for check in self.checks]
        text = (
            f"{self.outcome}: {verdicts.count(AGREES)} checks agree, {verdicts.count(EXPLAINED)} differ for a known "
            f"reason, {verdicts.count(DIFFERS)} differ without one, {verdicts.count(FAILED)} failed"
        )
        circular = sum(check.verdict == AGREES and check.circular for check in self.checks)
        text += f"; {circular} of those that agree are with the program that computes the value" if circular else ""
        return text + (f"; no reference here confirms {', '.join(self.unconfirmed)}" if self.unconfirmed else "")

    def _measures(self) -> list[str]:
        return list(dict.fromkeys(check.measure for check in self.checks))

    def record(self) -> dict[str, Any]:
        """Return every check for JSON."""
        return {
            "outcome": self.outcome,
            "holds": self.holds,
            "summary": self.summary,
            "unconfirmed": self.unconfirmed,
            "references": {check.reference: check.version for check in self.checks},
            "notes": list(self.notes),
            "checks": [asdict(check) for check in self.checks],
        }

    def as_table(self) -> Table:
        """Return one row per check."""
        return Table([f.name for f in fields(Check)], [list(asdict(check).values()) for check in self.checks])

    def document(self) -> Document:
        """Return measures by references, the notes that the verdicts point to, and the outcome."""
        notes: list[str] = []
        rows = []
        for measure in self._measures():
            shown = measure
            for check in self.checks:
                if check.measure == measure and check.verdict != NO_SUCH_MEASURE:
                    rows.append(
                        [shown, f"{check.reference} {check.version}".strip(), check.how, _verdict(check, notes)]
                    )
                    shown = ""
        lines = [*(f"[{number}] {note}" for number, note in enumerate(notes, 1)), *self.notes]
        table = Table(["measure", "reference", "is asked for", "verdict"], rows)
        return Document("", "", [Section("", [table, Lines(lines), Lines([self.summary])])])


def _verdict(check: Check, notes: list[str]) -> str:
    """Return the verdict in words; the reason goes to the notes, and its number after the verdict."""
    itself = ", computed by it" if check.circular else ""
    if check.verdict == AGREES and not check.reason:
        return f"agrees to {check.tolerance:g}{itself}"
    if check.verdict == AGREES:
        note, cell = f"{check.reference}: {check.reason}", f"agrees to {check.tolerance:.0e}{itself}"
    elif check.max_difference is None:
        note, cell = f"{check.reference}: {check.reason}", check.verdict
    else:
        cell = check.verdict
        note = (
            f"{check.reference}, {check.measure} ({check.how}): {check.num_differing:,} of {check.num_queries:,} "
            f"queries, at most {check.max_difference:.3g}, at query {check.query_id!r} (ours {check.ours}, "
            f"theirs {check.theirs}): {check.reason}"
        )
    if note not in notes:
        notes.append(note)
    return f"{cell} [{notes.index(note) + 1}]"


def verify(  # noqa: PLR0913  (two inputs, the rest options by name)
    qrels: QrelsLike,
    run: RunLike,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    references: Mapping[str, Reference] = REFERENCES,
) -> Verification:
    """Compute the measures with every reference that is installed, and compare query by query.

    ``qrels``, ``run``, ``measures``, ``profile`` and ``min_relevance`` are those of evaluate; ``references`` may be
    fewer. Returns a Verification; raises InputError or ParamError as evaluate does.

    >>> result = verify({"q": {"a": 2, "b": 1}}, {"q": {"b": 0.9, "a": 0.8}}, "GWAP@10")
    >>> {check.reference: check.verdict for check in result.checks if check.reference in ("by_hand", "pytrec_eval")}
    {'by_hand': 'agrees', 'pytrec_eval': 'agrees'}
    """
    judged = as_qrels(qrels)
    returned = _read(run, judged, choose(measures, profile, None, min_relevance))
    ours = evaluate(judged, returned, measures, profile=profile, min_relevance=min_relevance, queries="qrels")
    plan = Plan(list(ours.columns), ours.min_relevance)
    bound = {**plan.by_kernel, **plan.by_delegate, **plan.by_ir_measures}
    programs = computed_by(plan)
    scores = as_scores(returned)
    grades = {query_id: dict(of_query) for query_id, of_query in judged.items()}
    checks = []
    for index, measure in enumerate(ours.columns):
        for reference in references.values():
            check = _check(measure, all_params(bound[index]), reference, ours.columns[measure], (grades, scores))
            circular = bool(reference.program) and reference.program == programs.get(index)
            checks.append(replace(check, version=reference.version, circular=circular))
    return Verification(tuple(checks), tuple(filter(None, (r.unknown_version() for r in references.values()))))


def _read(run: RunLike, qrels: Qrels, chosen: tuple[Mapping[Measure, str], Any, Any, float | None]) -> Run:
    """Return the run; of a large file, only what can be in the top that the measures look at."""
    plan = Plan(list(chosen[0]), chosen[3])
    if isinstance(run, (str, PathLike)) and plan.depth is not None and not plan.by_ir_measures:
        cut = cut_run(run, qrels, plan.depth)
        if cut is not None:
            return cut
    return as_run(run)


def computed_by(plan: Plan) -> dict[int, str]:
    """Return the program that computes a measure for us, by its place; none where we do it ourselves."""
    return dict.fromkeys(plan.by_delegate, "pytrec_eval") | dict.fromkeys(plan.by_ir_measures, "ir_measures")


def all_params(measure: Measure) -> dict[str, Any]:
    """Return every parameter of a measure, defaults included, None for what has no value."""
    known = declared(measure) or measure
    return {name: None if known[name] is NOT_GIVEN else known[name] for name in known.SUPPORTED_PARAMS}


def as_scores(run: Run) -> Grid:
    """Return a run as plain scores; a list gets n - rank."""
    return {
        query_id: {doc_id: as_float(score) for doc_id, score in returned.items()}
        if isinstance(returned, Mapping)
        else {doc_id: float(len(returned) - rank) for rank, doc_id in enumerate(returned, 1)}
        for query_id, returned in run.items()
    }


def _check(
    measure: Measure, params: dict[str, Any], reference: Reference, ours: Mapping[str, float], data: tuple[Grid, Grid]
) -> Check:
    absent = reference.absent()
    computation = None if absent else reference.find(measure.NAME, params)
    if computation is None:
        return Check(str(measure), reference.name, ABSENT if absent else NO_SUCH_MEASURE, reason=absent)
    try:
        refusal = computation.refuses(*data)
        found = {"verdict": NOT_APPLICABLE, "reason": refusal} if refusal else _compared(computation, ours, data)
    except Exception as error:  # noqa: BLE001  (whatever somebody else's code raises is told, not passed on)
        found = {"verdict": FAILED, "reason": f"it raised {type(error).__name__}: {error}"}
    return Check(str(measure), reference.name, how=computation.how, **found)


def _compared(computation: Computation, ours: Mapping[str, float], data: tuple[Grid, Grid]) -> dict[str, Any]:
    """Return the verdict and all that belongs to it."""
    theirs = computation.compute(*data)
    differences = _differences(ours, theirs, data[1])
    if not differences:
        return {"verdict": NOT_APPLICABLE, "reason": "it answered no query"}
    differing = [query_id for query_id, difference in differences.items() if not difference <= computation.tolerance]
    found: dict[str, Any] = {
        "tolerance": computation.tolerance,
        "num_queries": len(differences),
        "num_differing": len(differing),
    }
    if not differing:
        return {**found, "verdict": AGREES, "reason": computation.tolerance_reason}
    worst = max(differing, key=lambda q: inf if isnan(differences[q]) else differences[q])
    found |= {"max_difference": differences[worst], "query_id": worst, "ours": ours[worst], "theirs": theirs.get(worst)}
    reason = _explanation(computation, ours, differing, data)
    return {**found, "verdict": EXPLAINED if reason else DIFFERS, "reason": reason or "no known reason"}


def _differences(ours: Mapping[str, float], theirs: Mapping[str, float], run: Grid) -> dict[str, float]:
    """Return |ours - theirs| by query; a query without returned documents may be missing from a reference."""
    differences = {}
    for query_id, value in ours.items():
        if query_id in theirs:
            differences[query_id] = abs(value - theirs[query_id])
        elif run.get(query_id) and value:
            differences[query_id] = abs(value)
    return differences


def _explanation(
    computation: Computation, ours: Mapping[str, float], differing: list[str], data: tuple[Grid, Grid]
) -> str:
    """Say why the reference differs: it must read every differing list in another way, and agree once it cannot."""
    qrels, run = data
    reasons: dict[str, None] = {}
    for query_id in differing:
        of_query = [computation.ties] if computation.ties and has_ties(run[query_id]) else []
        if computation.near_ties and has_near_ties(run[query_id]):
            of_query.append(computation.near_ties)
        if not of_query:
            return ""
        reasons.update(dict.fromkeys(of_query))
    in_doubt = {query_id: run[query_id] for query_id in differing}
    on_our_order = computation.compute({query_id: qrels[query_id] for query_id in differing}, untied(in_doubt))
    left = _differences({query_id: ours[query_id] for query_id in differing}, on_our_order, in_doubt)
    if any(not difference <= computation.tolerance for difference in left.values()):
        return ""
    return f"it {'; it '.join(reasons)}; given the same order without ties it agrees"
