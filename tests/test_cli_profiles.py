"""The command profiles: what the profiles are, and a file to start one's own from."""

from __future__ import annotations

import json

import pytest

from permed_measures.profiles import PROFILES, load_profile

pytest.importorskip("click", reason="the shell tool needs it")


@pytest.fixture
def tool(shell):
    return shell


def test_all_profiles_are_listed_with_names_and_targets(tool):
    code, out, _ = tool("profiles")
    lines = out.splitlines()
    assert code == 0
    for profile in PROFILES.values():
        assert f"{profile.name}: {profile.description}" in lines
        for entry in profile.entries:
            assert any(line.split()[:2] == [entry.name, str(entry.measure)] for line in lines)
    assert "p95_ms                  a serving figure  < 500   < 300" in lines
    assert "coverage@5         Coverage@5               run" in lines


def test_one_profile_has_definitions(tool):
    code, out, _ = tool("profiles", "permed")
    assert code == 0
    assert "MAP@10 = GWAP@10: Average precision in which a relevant document counts by its grade" in out.splitlines()
    assert "permed-binary" not in out
    _, out, _ = tool("profiles", "rerank", "--format", "markdown")
    assert "| NDCG@10 | nDCG@10 | > 0.85 | > 0.9 |" in out.splitlines()
    assert out.startswith("**rerank: the reranking evaluation system")


def test_profiles_as_json(tool):
    listed = json.loads(tool("profiles", "--format", "json")[1])
    assert [profile["name"] for profile in listed] == list(PROFILES)
    one = json.loads(tool("profiles", "rerank", "--format", "json")[1])
    assert one == listed[list(PROFILES).index("rerank")]
    assert one["measures"][1]["measure"] == "RR"
    assert (one["measures"][1]["name"], one["measures"][1]["queries"]) == ("MRR", "qrels")
    assert one["targets"][-1]["name"] == "failure_share"
    assert one["targets"][-2] == {
        "name": "usd_per_million_tokens",
        "target": 0.05,
        "excellent": 0.03,
        "lower_is_better": True,
    }


@pytest.mark.parametrize("name", PROFILES)
def test_the_file_it_prints_is_the_same_profile(tool, tmp_path, name):
    code, out, _ = tool("profiles", name, "--toml")
    path = tmp_path / "mine.toml"
    path.write_text(out, encoding="utf-8")
    assert code == 0
    assert load_profile(path) == PROFILES[name]
    assert tool("profiles", str(path)) == tool("profiles", name)


def test_what_is_wrong_is_said(tool):
    code, out, err = tool("profiles", "permet")
    assert (code, out) == (2, "")
    assert "Did you mean permed" in err
    for arguments in (("--toml",), ("permed", "--toml", "--format", "json")):
        code, out, err = tool("profiles", *arguments)
        assert (code, out) == (2, "")
        assert "--toml prints one profile" in err


def test_help_has_examples(tool):
    assert "\n    permed-measures profiles permed --toml > mine.toml" in tool("profiles", "--help")[1]
