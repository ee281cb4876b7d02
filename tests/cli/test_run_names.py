"""Runs by the beginning of their id and as ``latest``, wherever a command takes the id of a run."""

from __future__ import annotations

import json
import re

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: {name: NAME}
steps:
  - {type: end, outcome: {category: resolved, code: NAME}}
"""


@pytest.fixture
def gert(tmp_path):
    """Three runs: one of the runbook `one`, and two of `two`."""
    made = Gert(tmp_path)
    for name in ("one", "two"):
        made.write(**{name: BOOK.replace("NAME", name)})
    for name in ("one", "two", "two"):
        assert made("exec", f"{name}.yaml").code == 0
    return made


def ids(gert: Gert) -> list[str]:
    """The newest first."""
    return [run["run_id"] for run in gert("runs", "list", "--json").document["runs"]]


@pytest.mark.parametrize("words", [["resume"], ["resume", "--run"], ["runs", "show"], ["runs", "artifacts"]])
def test_a_run_by_its_beginning_and_the_latest(gert, words):
    newest, _, oldest = ids(gert)
    for name, wanted in (("latest", newest), (newest[:-1], newest), (oldest[:-4], oldest), (oldest, oldest)):
        said = gert(*words, name, "--json")
        assert (said.code, said.document["run_id"]) == (0, wanted), said.all


@pytest.mark.parametrize("words", [["resume"], ["resume", "--run"], ["runs", "show"], ["runs", "artifacts"]])
def test_the_beginning_of_several_is_refused_and_they_are_named(gert, words):
    said = gert(*words, "2")
    assert said.code == 2, said.all
    assert said.err == (
        f"error: the ids of 3 runs begin with 2: {', '.join(ids(gert))}\n"
        "  hint: give more of the id, or `latest` for the newest run\n"
    )
    assert gert(*words, "2", "--json").document["error"]["kind"] == "run_id"


def test_of_many_candidates_ten_are_named(gert):
    for number in range(20):
        (gert.root / "runs" / f"x-{number:02}").mkdir()
    said = gert("runs", "show", "x-")
    assert said.code == 2
    assert len(re.findall(r"x-\d\d", said.err)) == 10
    assert "and 10 more" in said.err


def test_a_whole_id_is_not_the_beginning_of_another(gert):
    newest = ids(gert)[0]
    (gert.root / "runs" / f"{newest}-more").mkdir()
    assert gert("runs", "show", newest, "--json").document["run_id"] == newest


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["resume"], "no run is given"),
        (["resume", "a", "--run", "b"], "two runs are given, 'a' and --run 'b'"),
        (["resume", "x"], "there is no run x in"),
        (["runs", "show", "../runs"], "'../runs' is not a valid run id"),
        (["runs", "show", ""], "'' is not a valid run id"),
    ],
)
def test_what_names_no_run_is_refused(gert, words, message):
    said = gert(*words)
    assert (said.code, message in said.err) == (2, True), said.all


def test_without_runs_there_is_no_latest(tmp_path):
    said = Gert(tmp_path)("resume", "latest", "--json")
    assert said.code == 2
    assert json.loads(said.out)["error"]["kind"] == "run_not_found"


def test_a_link_is_not_found_by_its_beginning(gert):
    (gert.root / "runs" / "linked-run").symlink_to(gert.root / "runs" / ids(gert)[0])
    said = gert("runs", "show", "linked")
    assert (said.code, "there is no run linked" in said.err) == (2, True), said.all
