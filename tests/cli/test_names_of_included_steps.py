"""Names of steps inside runbooks that are included, in tests and from ``gert explain``, from the command line."""

from __future__ import annotations

import json

import pytest

CALLER = """\
apiVersion: kernel/v0
meta: {name: m}
steps:
  - {id: r, type: runbook, runbook: ./child.yaml}
  - {id: outer, type: assert, assert: [{type: equals, value: 1, expected: 1}]}
  - {type: end, outcome: {category: resolved, code: ok}}
"""
CHILD = """\
apiVersion: kernel/v0
meta: {name: child}
steps:
  - id: b
    type: block
    steps:
      - {id: danger, type: assert, assert: [{type: equals, value: 1, expected: 1}]}
      - {id: s, type: runbook, runbook: ./last.yaml}
    finally:
      - {id: swept, type: assert, assert: [{type: equals, value: 1, expected: 1}]}
  - {type: end, outcome: {category: resolved, code: ok}}
"""
LAST = """\
apiVersion: kernel/v0
meta: {name: last}
steps:
  - {id: deep, type: assert, assert: [{type: equals, value: 1, expected: 1}]}
  - {type: end, outcome: {category: resolved, code: ok}}
finally:
  - {id: tidy, type: assert, assert: [{type: equals, value: 1, expected: 1}]}
"""


@pytest.fixture
def judged(tmp_path, monkeypatch, gert):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "scenarios" / "m" / "s"
    folder.mkdir(parents=True)
    (folder / "scenario.yaml").write_text("{}\n")
    for name, text in (("m", CALLER), ("child", CHILD), ("last", LAST)):
        (tmp_path / f"{name}.yaml").write_text(text)

    def judge(*names):
        (folder / "test.yaml").write_text(json.dumps({"must_not_reach": names}))
        _, out, err = gert("test", "m.yaml")
        return out + err

    return judge


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("r/0/danger", "step danger is not directly inside step r, but inside step b"),
        ("r/danger", "step danger is not directly inside step r, but inside step b"),
        ("zzz/danger", "step danger is not directly inside step zzz, but inside step b"),
        ("zzz/b/danger", "step b is not directly inside step zzz, but inside step r"),
        ("r/0/b/1/danger", "step danger is in block 0 of step b"),
        ("danger[9]", "step danger has no for_each, so it has no items"),
        ("r[x]/b/danger", "step r has no for_each, so it has no items"),
        ("r/deep", "step deep is not directly inside step r, but inside step s"),
        ("b/1/s/deep", "step s is in block 0 of step b"),
        ("outer/danger", "step danger is not directly inside step outer, but inside step b"),
    ],
)
def test_a_name_that_no_step_of_an_included_runbook_can_have_is_warned_about(judged, name, why):
    assert f"must_not_reach: {name!r} cannot be reached: {why}\n" in judged(name)


@pytest.mark.parametrize(
    "name",
    [
        "danger",
        "b/danger",
        "r/b/danger",
        "r/0/b/0/danger",
        "0/b/danger",
        "s/deep",
        "r/0/b/0/s/0/deep",
        "s/0/@finally/tidy",
        "r/0/b/2/swept",
        "r/0/b/swept",
    ],
)
def test_a_name_that_one_can_have_is_found(judged, name):
    said = judged(name)
    assert "cannot be reached" not in said
    assert f"must_not_reach {name}: expected step {name} not to be reached, but it was reached" in said


@pytest.mark.parametrize("command", [["explain"], ["policy", "explain"]])
def test_the_names_that_explain_gives_are_such(judged, gert, command):
    _, out, _ = gert(*command, "m.yaml", "--json")
    names = [step["step_id"] for step in json.loads(out)["steps"]]
    assert {"r/0/b/0/danger", "r/0/b/0/s/0/deep", "r/0/b/0/s/0/@finally/tidy", "outer"} < set(names)
    said = judged(*names)
    assert "cannot be reached" not in said
    assert all(f"must_not_reach {name}: expected" in said for name in names)
