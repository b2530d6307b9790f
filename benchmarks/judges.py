"""Coverage and width of corrected means, for judges that err in five ways: python benchmarks/judges.py [--draws 1000].

Queries are drawn from a population of 20,000 whose mean is known, N of them judged by a simulated judge and n of these
by people; minutes. The bounds are those of docs: coverage at least .93, never wider than people alone, and at least a
quarter narrower where the judge follows people (correlation at least .8, for a 0/1 measure .85) and 30 <= n <= N / 5
(for a 0/1 measure 100 <= n).
"""

from __future__ import annotations

import argparse
import random

from permed_measures import evaluate
from permed_measures.inference import DIFFERENCE, VALUE
from permed_measures.judges.means import estimates

POPULATION, DOCS = 20_000, 20
SIZES = [(n, num) for num in (50, 500, 3440) for n in (15, 30, 100) if n < num]
MEASURES = ("nDCG@10", "RR@10", "P@5", "P@1")


def graded(rng: random.Random) -> list[int]:
    rate = rng.betavariate(1.2, 1.2)
    return [int(rng.random() < rate * 0.5) + int(rng.random() < rate * 0.3) for _ in range(DOCS)]


JUDGES = {
    "over-rating": lambda rng: lambda g: min(2, g + (rng.random() < 0.35)),
    "under-rating": lambda rng: lambda g: max(0, g - (rng.random() < 0.35)),
    "noisy": lambda rng: lambda g: rng.randrange(3) if rng.random() < 0.3 else g,
    "good": lambda rng: lambda g: rng.randrange(3) if rng.random() < 0.05 else g,
    "useless": lambda rng: lambda _: rng.randrange(3),
    "rarely erring": lambda rng: (lambda g: 2 - g) if rng.random() < 0.03 else (lambda g: g),
}
"""Each makes, for a query, a function from people's grade to the judge's."""


def population(seed: int):
    """Return people's qrels, each judge's, and two runs."""
    rng = random.Random(seed)
    people = {str(q): {f"d{i}": g for i, g in enumerate(graded(rng))} for q in range(POPULATION)}
    judged = {name: {q: _judged(make(rng), grades) for q, grades in people.items()} for name, make in JUDGES.items()}
    runs = [
        {q: {d: g + rng.gauss(0, noise) for d, g in grades.items()} for q, grades in people.items()}
        for noise in (1.0, 1.6)
    ]
    return people, judged, runs


def _judged(judge, grades):
    return {d: judge(g) for d, g in grades.items()}


def columns(qrels, runs, measure, *, difference):
    values = [next(iter(evaluate(qrels, run, measure).columns.values())) for run in runs]
    if not difference:
        return values[0]
    return {q: value - values[1][q] for q, value in values[0].items()}


def simulate(people, judge, span, *, n, num, draws, rng):  # noqa: PLR0913  (what is drawn)
    """Return coverage, mean width by people's, how often wider than people, and the correlation."""
    truth = sum(people.values()) / len(people)
    ids = list(people)
    covered = wider = judge_covers = 0
    width = width_people = correlation = 0.0
    for _ in range(draws):
        drawn = rng.sample(ids, num)
        by_people = {q: people[q] for q in drawn[:n]}
        found = estimates({q: judge[q] for q in drawn}, by_people, span, None, 0.05)
        covered += found.corrected.low <= truth <= found.corrected.high
        judge_covers += found.judge.low <= truth <= found.judge.high
        wider += found.corrected.width > found.people.width + 1e-12
        width += found.corrected.width
        width_people += found.people.width
        correlation += found.correlation or 0.0
    return covered / draws, judge_covers / draws, width / width_people, wider, correlation / draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    people, judged, runs = population(arguments.seed)
    print(f"{'measure':<12}{'judge':<15}{'n':>5}{'N':>6}{'rho':>7}{'judge alone':>13}{'covers':>8}{'width':>7}  bounds")
    missed = 0
    for difference in (False, True):
        for measure in MEASURES:
            truth = columns(people, runs, measure, difference=difference)
            for name, qrels in judged.items():
                values = columns(qrels, runs, measure, difference=difference)
                rng = random.Random(arguments.seed)
                for n, num in SIZES:
                    span = DIFFERENCE if difference else VALUE
                    covers, alone, width, wider, rho = simulate(
                        truth, values, span, n=n, num=num, draws=arguments.draws, rng=rng
                    )
                    whole = measure == "P@1"
                    narrow = (
                        not difference and rho >= (0.85 if whole else 0.8) and (100 if whole else 30) <= n <= num / 5
                    )
                    held = covers >= 0.93 - 0.012 and not wider and (width <= 0.75 or not narrow)
                    missed += not held
                    label = f"Δ {measure}" if difference else measure
                    told = ("held" if held else "MISSED") + (", must be narrow" if narrow else "")
                    print(
                        f"{label:<12}{name:<15}{n:>5}{num:>6}{rho:>7.2f}{alone:>13.3f}{covers:>8.3f}{width:>7.2f}"
                        f"  {told}"
                    )
    print(f"{missed} rows missed")
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()
