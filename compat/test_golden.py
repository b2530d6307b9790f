"""Values that somebody published or worked out: in the definitions, the source systems, by trec_eval, by NIST."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import pytest
import pytrec_eval
from ir_measures import Measure

from compat.corpora.corpus import Grid
from compat.corpora.real import FOLDER, read_qrels, read_run
from compat.hosts import HOSTS, absent
from permed_measures import ParamError, evaluate
from permed_measures.measures import parse, parse_all
from permed_measures.verification import all_params
from permed_measures.verification.references import REFERENCES

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the reference data is not at hand: {FOLDER} is missing")


@dataclass(frozen=True)
class Golden:
    """A mean that a source states, for lists of grades or of documents."""

    source: str
    measure: str
    value: float
    qrels: dict[str, dict[str, float]]
    lists: dict[str, list[str]]

    @property
    def run(self) -> dict[str, dict[str, float]]:
        return {q: {d: float(len(docs) - place) for place, d in enumerate(docs)} for q, docs in self.lists.items()}


def _letters(source: str, measure: str, value: float, grades: dict[str, float], ranking: str) -> Golden:
    return Golden(source, measure, value, {"q": grades}, {"q": ranking.split()})


def _graded(source: str, measure: str, value: float, *lists: list[int]) -> Golden:
    """Make lists of grades by rank; everything judged was returned."""
    names = [[f"d{place}" for place in range(len(grades))] for grades in lists]
    return Golden(
        source,
        measure,
        value,
        {str(n): dict(zip(names[n], grades, strict=True)) for n, grades in enumerate(lists)},
        {str(n): names[n] for n in range(len(lists))},
    )


def _ranks(source: str, measure: str, value: float, *ranks: int) -> Golden:
    """Put the one right answer of each query at these ranks."""
    return _graded(source, measure, value, *[[int(place == rank) for place in range(1, 6)] for rank in ranks])


_WORKED: dict[str, float] = {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}
_HITS = (1 / 1 * 0.5, 2 / 3 * 1.0, 3 / 5 * 0.5)
_HALU = ([1, 0, 1], [1, 1, 0], [0, 1, 1])


def _worked(measure: str, value: float) -> Golden:
    return _letters("definitions", measure, value, _WORKED, "b x a c d")


GOLDEN = (
    _worked("GWAP@1", 0.125),
    _worked("GWAP@3", sum(_HITS[:2]) / 4),
    _worked("GWAP@5", sum(_HITS) / 4),
    _worked("GWAP@10", sum(_HITS) / 4),
    _worked("GWAP(norm='retrieved')@1", 0.5),
    _worked("GWAP(norm='retrieved')@3", sum(_HITS[:2]) / 2),
    _worked("GWAP(norm='retrieved')@5", sum(_HITS) / 3),
    _worked("GWAP(norm='retrieved')@10", sum(_HITS) / 3),
    _worked("GWAP(norm='cutoff')@1", 0.5),
    _worked("GWAP(norm='cutoff')@3", sum(_HITS[:2]) / 3),
    _worked("GWAP(norm='cutoff')@5", sum(_HITS) / 4),
    _worked("GWAP(norm='cutoff')@10", sum(_HITS) / 4),
    _worked("GWAP(norm='ideal')@1", 0.5),
    _worked("GWAP(norm='ideal')@3", sum(_HITS[:2]) / (1 + 1 + 0.5)),
    _worked("GWAP(norm='ideal')@5", sum(_HITS) / (1 + 1 + 0.5 + 0.5)),
    _worked("GWAP(norm='ideal')@10", sum(_HITS) / (1 + 1 + 0.5 + 0.5)),
    _worked("nDCG(dcg='exp-log2')@10", 0.4957276125706667),
    _worked("P@1", 1.0),
    _letters(
        "source 2",
        "nDCG(dcg='exp-log2')@10",
        0.6542237389763327,
        {"A": 8.0, "B": 7.0, "C": 6.0, "D": 5.0},
        "C E A F B G H I J D",
    ),
    _letters("source 2", "AP", 0.7555555555555555, {"A": 1, "B": 1, "C": 1}, "A X B Y C Z"),
    _letters("source 2", "R@10", 0.6, dict.fromkeys("ABCDE", 1), "A C E F G H I J K L"),
    _letters("source 2, corrected", "P@5", 3 / 5, dict.fromkeys("ACEG", 1), "A B C D E"),
    _graded("source 3", "ListAP@3", 0.8055555555555555, *_HALU),
    _graded("source 3", "ListNDCG@3", 0.8710490642551528, *_HALU),
    _graded("source 3", "ListNDCG(dcg='exp-log2')@3", 0.8710490642551528, *_HALU),
    _ranks("source 4", "Success@1", 0.6, 1, 2, 1, 3, 1),
    _ranks("source 4", "Success@3", 1.0, 1, 2, 1, 3, 1),
    _ranks("source 4", "RR", 0.7666666666666666, 1, 2, 1, 3, 1),
    _ranks("source 4", "Success@1", 0.2, 2, 4, 3, 1, 3),
    _ranks("source 4", "Success@3", 0.8, 2, 4, 3, 1, 3),
    _ranks("source 4", "RR", 0.4833333333333333, 2, 4, 3, 1, 3),
    _graded("source 5", "RR", 0.6111111111111112, [0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]),
    _graded("source 5", "ListAP", 0.6694444444444444, [1, 0, 1, 0, 1], [0, 1, 1, 0, 0]),
    _graded("source 5", "R@5", 0.75, [1, 0, 1, 0, 1, 0, 0, 1, 0, 0]),
    _graded("source 5", "P@5", 0.6, [1, 0, 1, 0, 1, 0, 0, 1, 0, 0]),
    _graded("source 5, corrected", "nDCG@10", 0.9725044904464192, [3, 1, 2, 0, 0]),
    _graded(
        "source 5, corrected", "ListNDCG@10", (3 + 1 / log2(3) + 2 / 2) / (3 + 2 / log2(3) + 1 / 2), [3, 1, 2, 0, 0]
    ),
)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden.source}-{golden.measure}")
def test_golden_value(golden: Golden) -> None:
    measure = parse(golden.measure)
    assert evaluate(golden.qrels, golden.lists, [measure]).means[measure] == pytest.approx(golden.value, abs=1e-12)
    for host, values in HOSTS.items():
        if not absent(host):
            found = values([measure], golden.qrels, golden.run)
            if found:  # ranx takes no float grades
                mean = sum(found[measure].values()) / len(golden.qrels)
                assert mean == pytest.approx(golden.value, abs=1e-12), host
    confirmed = []
    for reference in REFERENCES.values():
        asked = None if reference.absent() else reference.find(measure.NAME, all_params(measure))
        if asked is not None and not asked.refuses(golden.qrels, golden.run):
            theirs = asked.compute(golden.qrels, golden.run)
            assert sum(theirs.values()) / len(golden.qrels) == pytest.approx(golden.value, abs=asked.tolerance), (
                reference
            )
            confirmed.append(reference.name)
    assert len(confirmed) > 1, "a reference besides by_hand must confirm it"


_TEXTS = ("runid", "relstring")
"""What trec_eval prints that is no value."""


def _in_10(name: str) -> Measure:
    """Return the measure of what trec_eval 10.0 prints under a name: two of them mean what they mean in 9.0.8 here."""
    if name == "11pt_avg":
        return parse("ElevenPointAP(rounding='nearest')")
    stem, _, recall = name.rpartition("_")
    return parse(f"IPrecNearest@{recall}" if stem == "iprec_at_recall" else name)


def _trec_eval() -> tuple[Grid, Grid, list[list[str]]]:
    """Return trec_eval's own qrels and run, and what version 10.0 prints of them: -m all_trec -q."""
    folder = FOLDER / "trec_eval"
    printed = [line.split() for line in (folder / "out.test.aq").read_text().splitlines()]
    return read_qrels(folder / "qrels.test"), read_run(folder / "results.test"), printed


@needs_data
def test_trec_eval_prints_our_values() -> None:
    qrels, run, printed = _trec_eval()
    known = {name: _in_10(name) for name in dict.fromkeys(name for name, _, _ in printed) if name not in _TEXTS}
    result = evaluate(qrels, run, list(known.values()), queries="both")
    compared = 0
    for name, query_id, text in printed:
        if name not in _TEXTS:
            measure = known[name]
            value = result.means[measure] if query_id == "all" else result.columns[measure][query_id]
            shown = f"{value:.0f}" if name.startswith("num_") else f"{value:.4f}"
            assert shown == text, (name, query_id)
            compared += 1
    assert compared == len(printed) - 4  # the run's name once, the relevance of its top documents for each query


@needs_data
def test_nicknames_are_all_that_trec_eval_prints(capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run, printed = _trec_eval()
    names = dict.fromkeys(name for name, _, _ in printed)
    asked = parse_all("all_trec")
    assert {str(parse(name)) for name in names if name not in _TEXTS} == {str(measure) for measure in asked}
    assert capsys.readouterr().err == "all_trec: left out, as text and not a value: relstring, runid\n"
    assert set(map(str, parse_all("official"))) < set(map(str, asked))
    for name in _TEXTS:
        with pytest.raises(ParamError, match=f"trec_eval has '{name}', but it is text"):
            parse(name)
    assert len(evaluate(qrels, run, "all_trec").means) == len(asked)


# 10% of 474 relevant documents are 47.4, 60% of 77 are 46.2: 10.0 looks from the 47th and the 46th on,
# 9.0.8 and pytrec_eval from the 48th and the 47th
_ROUNDED_DOWN = {("0.10", "301"), ("0.10", "all"), ("0.60", "302"), ("0.60", "all")}


@needs_data
def test_the_names_that_changed_in_10_mean_what_they_did() -> None:
    qrels, run, printed = _trec_eval()
    grades = {query_id: {doc: int(grade) for doc, grade in judged.items()} for query_id, judged in qrels.items()}
    changed = [row for row in printed if row[0].startswith("iprec_at_recall") or row[0] == "11pt_avg"]
    result = evaluate(qrels, run, list(dict.fromkeys(row[0] for row in changed)), queries="both")
    raw = pytrec_eval.RelevanceEvaluator(grades, {"iprec_at_recall", "11pt_avg"}).evaluate(run)
    moved = set()
    for name, query_id, text in changed:
        measure = parse(name)
        value = result.means[measure] if query_id == "all" else result.columns[measure][query_id]
        if query_id != "all":
            assert value == pytest.approx(raw[query_id][name], abs=1e-12), (name, query_id)
        if f"{value:.4f}" != text and name != "11pt_avg":
            moved.add((name.rpartition("_")[2], query_id))
    assert moved == _ROUNDED_DOWN
    assert f"{result[parse('11pt_avg')]:.4f}" != next(t for name, q, t in changed if (name, q) == ("11pt_avg", "all"))


@needs_data
@pytest.mark.parametrize(
    ("run", "published"),
    [
        ("irc_entrez", {"AP": "0.0988", "nDCG@10": "0.2533", "P@5": "0.3667", "Bpref": "0.3054"}),
        ("irc_pubmed", {"AP": "0.1080", "nDCG@10": "0.2538", "P@5": "0.4067", "Bpref": "0.3025"}),
    ],
)
def test_nist_published_our_values(run: str, published: dict[str, str]) -> None:
    folder = FOLDER / "trec-covid-r1"
    qrels, scores = read_qrels(folder / "qrels.txt"), read_run(folder / f"{run}.run.gz")
    result = evaluate(qrels, scores, list(published))
    assert {name: f"{result[name]:.4f}" for name in published} == published
