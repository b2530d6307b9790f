"""Print what tie-aware-retrieval-metrics 0.1.1 gives for lists with ties: how compat/golden/ties.json was made.

In an environment of its own, with nothing of this package::

    pip install tie-aware-retrieval-metrics==0.1.1 && python compat/golden/ties.py > compat/golden/ties.json
"""

import json
import random

METRICS = ("ndcg", "mrr", "map", "recall", "precision")
CUTOFFS = (1, 3, 5, 10)
KINDS = {"expected": "expected", "best": "maximum", "worst": "minimum", "input": "oblivious"}


def lists(number: int = 12) -> tuple[list[list[float]], list[list[bool]]]:
    """Make lists that are longer than every cut-off: below one, theirs divides precision by the list's length."""
    made = random.Random(2008)
    lengths = [made.randint(10, 14) for _ in range(number)]
    scores = [[made.choice((0.9, 0.7, 0.5, 0.25)) for _ in range(length)] for length in lengths]
    relevant = [[made.random() < made.choice((0.2, 0.5)) for _ in range(length)] for length in lengths]
    relevant[-1] = [False] * lengths[-1]
    return scores, relevant


if __name__ == "__main__":
    import trm

    scores, relevant = lists()
    found = trm.evaluate(scores, relevant, metrics=list(METRICS), k_list=list(CUTOFFS)).per_query
    values = {
        f"{metric}@{k}": {ours: [getattr(one, theirs) for one in found[metric][k]] for ours, theirs in KINDS.items()}
        for metric in METRICS
        for k in CUTOFFS
    }
    made_by = f"tie-aware-retrieval-metrics {trm.__version__}: python compat/golden/ties.py"
    whole = {"made_by": made_by, "scores": scores, "relevant": relevant}
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in {**whole, **values}.items())
    print(f"{{\n{rows}\n}}")
