"""permed-measures samples: learning-to-rank samples, evaluated and looked at for leaks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from permed_measures.cli._formats import report_option
from permed_measures.errors import InputError, ParamError
from permed_measures.files.numbers import score_of
from permed_measures.files.output import print_whole
from permed_measures.render.document import Cell, Document, Lines, Section, Table, Value
from permed_measures.render.records import as_json
from permed_measures.render.result import written
from permed_measures.render.words import counted

if TYPE_CHECKING:
    from permed_measures.ltr.leaks import FeatureLook
    from permed_measures.ltr.samples import Samples, SamplesEvaluation


@click.command()
@click.argument("file", type=click.Path())
@click.option("--weights", help="One weight per feature: 0.4,0.3,0.2,0.1. Without it each sample needs a 'score'.")
@click.option("--train", type=click.Path(), help="Learn the weights from the samples of this file.")
@click.option("--solver", type=click.Choice(["sgd", "lbfgs"]), default="sgd", help="For --train.")
@click.option("--l2", type=float, default=0.01, help="For --train: the weight of ‖w‖².")
@click.option("--learning-rate", type=float, default=0.01, help="For --train with sgd.")
@click.option("--epochs", type=int, default=100, help="For --train.")
@click.option("--seed", type=int, help="For --train with sgd: shuffle the groups before every epoch.")
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="More: 'nDCG@5 GWAP(max_rel=1)@10'.")
@click.option("--min-relevance", type=float, help="The lowest label of a right candidate. [default: 1]")
@click.option("--group", default="trace_id,node_id", help="The fields that tell groups apart.")
@click.option("--candidate", help="The candidate's field. [default: tool, or candidate_id]")
@click.option("--features", help="The fields that are features: a,b,c. [default: features, or f0, f1, …]")
@click.option("--details", type=click.Path(), help="Write one record per group to this JSON Lines file.")
@report_option
def command(file: str, weights: str | None, train: str | None, form: Any, **options: Any) -> None:  # noqa: ANN401  (as above)
    r"""Evaluate learning-to-rank samples: Top-1 and Top-3 accuracy, MRR, and a check for features that know the label.

    \b
    FILE is JSONL, JSON, CSV or parquet, one sample per candidate:
    {"trace_id": "t1", "node_id": 3, "query": "…", "tool": "search", "features": [0.8, 0.5, 0.7, 0.9], "label": 1}

    \b
    Examples:
      permed-measures samples test.jsonl --weights 0.4,0.3,0.2,0.1
      permed-measures samples test.jsonl --train train.jsonl --solver lbfgs
      permed-measures samples scored.csv --group query_id --candidate doc_id -m 'nDCG@5'
      permed-measures samples test.jsonl --weights 0.4,0.3,0.2,0.1 --details groups.jsonl --format json
    """
    from permed_measures.ltr.leaks import leak_check  # noqa: PLC0415  (the tool starts fast)
    from permed_measures.ltr.samples import evaluate_samples, read_samples  # noqa: PLC0415  (likewise)

    if weights is not None and train is not None:
        raise ParamError("give either --weights or --train, not both")
    features, min_relevance, details = map(options.pop, ("features", "min_relevance", "details"))
    fields: dict[str, Any] = {"group": _words(options.pop("group")), "candidate": options.pop("candidate")}
    fields["features"] = None if features is None else _words(features)
    measures = list(options.pop("measures")) or None
    samples = read_samples(file, **fields)
    rel = 1 if min_relevance is None else min_relevance
    training: _Training | None = None
    scoring: dict[str, Any] | list[float] | None = None
    if train is not None:
        training = _Training(samples, read_samples(train, **fields), options)  # what is left is the ranker's
        scoring = training.weights
    elif weights is not None:
        scoring = _numbers(weights)
    elif samples.scores is None:
        msg = f"{file}: the samples have no 'score': give --weights, or --train with samples to learn them from"
        raise ParamError(msg)
    found = evaluate_samples(samples, scoring, measures=measures, min_relevance=min_relevance)
    looks = [] if samples.features is None else leak_check(samples, min_relevance=rel)
    warnings = [str(look) for look in looks if look.leaks]
    notes = [*found.notes, *[str(look) for look in looks if look.unproven]]
    if training is not None:
        notes += training.notes
        more = training.looks(rel, looks)
        warnings += [f"training file: {look}" for look in more if look.leaks]
        notes += [f"training file: {look}" for look in more if look.unproven]
    if details is not None:
        found.write_details(details)
    named = dict(zip(samples.feature_names, scoring, strict=True)) if isinstance(scoring, list) else scoring
    if form == "json":
        shown = {
            **found.to_dict(),
            "notes": notes,
            "weights": named,
            "training": None if training is None else training.to_dict(),
            "leaks": [look.to_dict() for look in looks],
            "warnings": warnings,
        }
        print_whole(as_json(shown, allow_nan=True) + "\n")
    else:
        print_whole(written(_document(replace(found, notes=notes), named, warnings), form))


def _document(found: SamplesEvaluation, weights: dict[str, float] | None, warnings: list[str]) -> Document:
    means, reading, notes = found.document().sections
    rows: list[list[Value]] = [[name, Cell(weight, f"{weight:.6g}")] for name, weight in (weights or {}).items()]
    table = [Section("", [Table(["feature", "weight"], rows)])] if rows else []
    return Document("", "", [means, reading, *table, notes, Section("", [Lines(warnings, "warning: ")])])


class _Training:
    """Weights learned from one file, to be used on another."""

    def __init__(self, samples: Samples, trained_on: Samples, options: dict[str, Any]) -> None:
        from permed_measures.ltr.groups import unlike  # noqa: PLC0415  (the tool starts fast)
        from permed_measures.ltr.leaks import trained_on as again_in  # noqa: PLC0415  (as above)
        from permed_measures.ltr.softmax_ranker import SoftmaxRanker  # noqa: PLC0415  (as above)

        if set(samples.feature_names) != set(trained_on.feature_names):  # before the time that training takes
            difference = unlike(samples.feature_names, trained_on.feature_names)
            raise InputError(f"the features do not match those of the training file: {difference}")
        self.trained_on = trained_on
        self.ranker = SoftmaxRanker(**options, verbose=True).fit(trained_on)
        self.weights = dict(zip(trained_on.feature_names, self.ranker.coef_.tolist(), strict=True))
        self.notes = [f"weights learned from {counted(self.ranker.n_groups_, 'group')}"]
        if self.ranker.groups_skipped_:
            skipped = counted(self.ranker.groups_skipped_, "group")
            self.notes.append(f"{skipped} not learned from: one sample only, or none that is right")
        known = {group.query_id for group in trained_on.groups}
        again = sum(group.query_id in known for group in samples.groups)
        if again:
            self.notes.append(
                f"{again:,} of {counted(len(samples.groups), 'group')} were trained on: expect less on new ones"
            )
        copies = len(again_in(samples, trained_on))
        if copies:
            share = f"{copies:,} of {counted(len(samples.groups), 'group')}"
            self.notes.append(f"{share} occur in the training data under other ids, with the same features and labels")

    def looks(self, rel: float, known: list[FeatureLook]) -> list[FeatureLook]:
        """Return what the training file shows of features, where the evaluated samples do not show as much."""
        from permed_measures.ltr.leaks import leak_check  # noqa: PLC0415  (the tool starts fast)

        leaking = {look.feature for look in known if look.leaks}
        shown = leaking | {look.feature for look in known if look.unproven}
        found = leak_check(self.trained_on, min_relevance=rel)
        return [look for look in found if look.feature not in (leaking if look.leaks else shown)]

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned from, and the average loss of every epoch."""
        ranker = self.ranker
        return {"groups": ranker.n_groups_, "groups_skipped": ranker.groups_skipped_, "loss": ranker.loss_curve_}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    try:
        return [score_of(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise ParamError(f"--weights {text!r}: give numbers separated by commas, such as 0.4,0.3,0.2,0.1") from None
