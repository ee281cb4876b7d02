"""Which runbooks and scenarios are found, and which of them run."""

from __future__ import annotations

import pytest
from scenario_books import write_book, write_scenario

from gert_core.api import UsageError
from gert_core.scenarios import ScenarioSelection, candidates_of, find_runbooks

STEP = "- {id: a, type: assert, assert: [{type: equals, value: x, expected: x}]}"


@pytest.fixture
def tree(tmp_path):
    """Two runbooks with scenarios, one without, and things that are no runbooks."""
    for name in ("one", "two", "bare"):
        write_book(tmp_path / name, STEP, name=name)
    write_scenario(tmp_path / "one" / "one.yaml", "s", {}, {})
    write_scenario(tmp_path / "two" / "two.yaml", "s", {}, {})
    write_scenario(tmp_path / ".hidden" / "three.yaml", "s", {}, {})
    (tmp_path / ".hidden" / "three.yaml").write_text("apiVersion: kernel/v0\n")
    write_scenario(tmp_path / "two" / "lost.yaml", "s", {}, {})
    write_scenario(tmp_path / "two" / "notes.yaml", "s", {}, {})
    (tmp_path / "two" / "notes.yaml").write_text("apiVersion: tool/v0\n")
    return tmp_path


def test_a_directory_gives_the_runbooks_that_have_scenarios(tree):
    found = find_runbooks([tree])
    assert found.runbooks == [tree / "one" / "one.yaml", tree / "two" / "two.yaml"]


def test_scenarios_without_a_runbook_are_told(tree):
    remarks = find_runbooks([tree]).warnings
    assert [("lost" in text, "notes" in text) for text in remarks] == [(True, False), (False, True)]


def test_each_runbook_is_found_once_in_the_order_given(tree):
    one, two, bare = (tree / name / f"{name}.yaml" for name in ("one", "two", "bare"))
    assert find_runbooks([two, tree, bare, two]).runbooks == [two, one, bare]


def test_a_broken_runbook_is_found_too(tree):
    (tree / "one" / "one.yaml").write_text("apiVersion: kernel/v0 # the kernel\nsteps: [\n")
    assert find_runbooks([tree / "one"]).runbooks == [tree / "one" / "one.yaml"]


def test_nothing_there_is_a_usage_error(tree):
    with pytest.raises(UsageError, match="does not exist"):
        find_runbooks([tree / "nope.yaml"])
    with pytest.raises(UsageError, match="no runbook with scenarios"):
        find_runbooks([tree / "bare"])


def test_candidates_are_read_by_name_and_broken_ones_say_why(tree):
    book = tree / "one" / "one.yaml"
    write_scenario(book, "b", {"inputs": {"x": 1}}, {"golden": True, "tags": ["t"]})
    write_scenario(book, "a", {})
    write_scenario(book, "wrong", "tool_responses: [1]", {})
    write_scenario(book, "typo", {}, "expected_statsu: completed")
    (book.parent / "scenarios" / "one" / "empty").mkdir()
    only_test = book.parent / "scenarios" / "one" / "tested"
    only_test.mkdir()
    (only_test / "test.yaml").write_text("golden: true")
    found = {one.name: one for one in candidates_of(book)}
    assert list(found) == ["a", "b", "s", "tested", "typo", "wrong"]
    assert (found["b"].golden, found["b"].tags, found["b"].testable) == (True, {"t"}, True)
    assert not found["a"].testable
    assert "tool_responses" in found["wrong"].problem.message
    assert "expected_statsu" in found["typo"].problem.message
    assert "there is no scenario" in found["tested"].problem.message


@pytest.fixture
def candidates(tmp_path):
    book = write_book(tmp_path, STEP)
    write_scenario(book, "gold", {}, {"golden": True, "tags": ["smoke"]})
    write_scenario(book, "gold_slow", {}, {"golden": True, "tags": ["slow", "night"]})
    write_scenario(book, "old", {}, {"tags": ["smoke", "night"]})
    write_scenario(book, "plain", {}, {})
    write_scenario(book, "untested", {})
    write_scenario(book, "wrong", "- 1", {})
    return candidates_of(book)


@pytest.mark.parametrize(
    ("selection", "names", "archived"),
    [
        ({}, "gold gold_slow untested wrong", 2),
        ({"everything": True}, "gold gold_slow old plain untested wrong", 0),
        ({"names": ["old"]}, "old", 0),
        ({"names": ["gold*", "p?ain"]}, "gold gold_slow plain", 0),
        ({"tags": ["smoke"]}, "gold", 1),
        ({"tags": ["smoke"], "everything": True}, "gold old", 0),
        ({"tags": ["smoke", "slow"], "everything": True}, "gold gold_slow old", 0),
        ({"tags": ["night"], "names": ["old"]}, "old", 0),
    ],
    ids=str,
)
def test_golden_scenarios_run_unless_others_are_asked_for(candidates, selection, names, archived):
    chosen = ScenarioSelection(**selection).choose(candidates)
    assert [one.name for one in chosen.candidates] == names.split()
    assert chosen.archived == archived


def test_without_a_golden_scenario_all_of_them_run(candidates):
    none_golden = [one for one in candidates if not one.golden]
    assert [one.name for one in ScenarioSelection().choose(none_golden).candidates] == [
        "old",
        "plain",
        "untested",
        "wrong",
    ]


@pytest.mark.parametrize(
    ("selection", "said", "hint"),
    [
        ({"names": ["glod"]}, "no scenario 'glod'", "did you mean 'gold'?"),
        ({"names": ["zzz"]}, "no scenario 'zzz'", "gold, gold_slow"),
        ({"tags": ["smok"]}, "tag 'smok'", "did you mean 'smoke'?"),
    ],
    ids=str,
)
def test_a_name_or_tag_that_nobody_has_is_a_usage_error(candidates, selection, said, hint):
    with pytest.raises(UsageError, match=said) as caught:
        ScenarioSelection(**selection).check_matches(candidates)
    assert hint in caught.value.hint


def test_a_file_that_is_too_large_for_a_runbook_is_read_up_to_the_limit(tmp_path):
    (tmp_path / "scenarios" / "big" / "one").mkdir(parents=True)
    (tmp_path / "scenarios" / "big" / "one" / "test.yaml").touch()
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate(200 * 1024**3)
    with pytest.raises(UsageError, match="there is no runbook with scenarios"):
        find_runbooks([tmp_path])
