"""explain SIGNATURE: one read back in words, two diffed."""

from __future__ import annotations

import json

import pytest

from permed_measures import evaluate
from permed_measures.errors import ParamError
from permed_measures.explanation.signatures import is_signature, read_back
from permed_measures.measures import parse
from permed_measures.signature import Signature

QRELS, RUN = {"q": {"a": 2, "b": 1}}, {"q": {"b": 0.9, "a": 0.8}}
ONE = "nDCG@10|order:float32|queries:qrels|n:50|judgements:1326|digest:9f86d081884c7d65|version:1"


def signature(measure, **options):
    return str(evaluate(QRELS, RUN, measure, **options).signatures[parse(measure)])


def rows(*signatures):
    return {row["condition"]: row for row in read_back(*signatures).tables[0].records()}


def said(*signatures):
    return read_back(*signatures).tables[0].below[0]


def test_every_condition_is_said():
    words = rows(signature("ListNDCG@5", queries="both", order="float64"))
    assert "ideal: returned; discount: log2; cutoff: 5" in words["measure"]["means"]
    assert "64-bit" in words["order"]["means"]
    assert "in the qrels and in the run" in words["queries"]["means"]
    assert set(words) == set(Signature.parse(ONE)._fields)


def test_two_are_diffed():
    found = rows(signature("nDCG@10"), signature("ListNDCG@10"))
    assert found == {"ideal": {"condition": "ideal", "first": "judged", "second": "returned"}}
    assert said(ONE, ONE.replace("float32", "float64")) == "their numbers cannot be compared"
    assert "can be compared" in said(ONE, ONE)
    assert "only the number of queries" in said(ONE, ONE.replace("n:50", "n:49"))
    with pytest.raises(ParamError, match="is not a signature"):
        read_back(ONE, "x")


def test_a_measure_of_a_package_that_is_not_installed():
    assert "not installed" in rows(ONE.replace("nDCG@10", "Theirs@10"))["measure"]["means"]


def test_in_the_shell(capsys):
    pytest.importorskip("click", reason="the shell tool needs it")
    from permed_measures.cli import main

    for arguments, code in (([ONE], 0), ([ONE, ONE], 0), (["qrels.txt"], 2), ([ONE, "run.txt"], 2)):
        with pytest.raises(SystemExit) as end:
            main(["explain", *arguments])
        assert (end.value.code or 0) == code, arguments
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["explain", ONE, ONE.replace("float32", "float64"), "--format", "json"])
    assert json.loads(capsys.readouterr().out) == [{"condition": "order", "first": "float32", "second": "float64"}]
    assert is_signature(ONE)
    assert not is_signature("run.trec")
