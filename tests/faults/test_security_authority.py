"""Who says who approves: a policy of the command line or of an included runbook cannot add to a stronger one."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert
from people import BOOK, TOOL, pair

from gert_core.api import ProjectError
from gert_core.governance.sources import Source, people_of

CALLER = """\
apiVersion: kernel/v0
meta: {name: caller}
tools: [act]
steps:
  - {id: before, type: tool, tool: act}
  - {id: call, type: runbook, runbook: sub/book.yaml}
  - {type: end, outcome: {category: resolved}}
"""
PROJECT = "name: here\npolicies: [floor.yaml]\n"


ALICE = {"alice": {"keys": [pair(1)[1]], "slack": "T1/U1"}}
STRONGER = {
    "people": {"people": ALICE},
    "keys of their own": {"personal_keys": True},
}
ADDED = {
    "a bridge": ({"bridges": {"slack": {"keys": [pair(3)[1]]}}}, "bridge 'slack'"),
    "a person": ({"people": {"eve": {"keys": [pair(3)[1]]}}}, "person 'eve'"),
}


RULES = [{"effects": ["danger"], "action": "require-approval"}]


def write(place, name: str, **more: object) -> None:
    place.write_text(json.dumps({"apiVersion": "policy/v0", "meta": {"name": name}, "rules": RULES, **more}))


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


@pytest.mark.parametrize("stronger", STRONGER.values(), ids=STRONGER.keys())
@pytest.mark.parametrize(("added", "what"), ADDED.values(), ids=ADDED.keys())
def test_a_policy_of_the_command_line_adds_no_one_whose_approval_counts(gert, stronger, added, what):
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    write(gert.root / "floor.yaml", "floor", **stronger)
    write(gert.root / "mine.yaml", "mine", **added)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "mine.yaml")
    assert said.code == 2
    assert f"{what} is not declared by" in said.all
    assert "which says who approves here" in said.all
    assert "mine.yaml" in said.all
    assert not list(gert.root.glob("runs/2*"))


@pytest.mark.parametrize(("added", "what"), ADDED.values(), ids=ADDED.keys())
def test_the_project_of_an_included_runbook_adds_no_one_either(gert, added, what):
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    write(gert.root / "floor.yaml", "floor", people=ALICE)
    (gert.root / "sub" / "tools").mkdir(parents=True)
    (gert.root / "sub" / "book.yaml").write_text(BOOK)
    (gert.root / "sub" / "tools" / "act.tool.yaml").write_text(TOOL)
    (gert.root / "sub" / "gert-project.yaml").write_text("name: sub\ntools_dir: tools\npolicies: [own.yaml]\n")
    write(gert.root / "sub" / "own.yaml", "own", **added)
    (gert.root / "caller.yaml").write_text(CALLER)
    said = gert("exec", "caller.yaml", "--approval", "inbox")
    assert said.code == 2, "before anything is executed"
    assert f"{what} is not declared by" in said.all
    assert not list(gert.root.glob("runs/2*"))


def test_the_same_people_and_further_groups_may_stand_in_a_weaker_policy(gert):
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    write(gert.root / "floor.yaml", "floor", people=ALICE)
    write(gert.root / "mine.yaml", "mine", people=ALICE, groups={"ops": ["alice"]})
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "mine.yaml", "--json")
    assert (said.code, said.document["status"]) == (0, "approval_pending"), said.all


NAMED = {
    "an approver": (
        {"rules": [{"effects": ["danger"], "action": "require-approval", "approvers": ["Alice"]}]},
        "Alice",
    ),
    "a member of a group": (
        {
            "rules": [{"effects": ["danger"], "action": "require-approval", "approvers": ["group:ops"]}],
            "groups": {"ops": ["alice"]},
        },
        "alice",
    ),
}


@pytest.mark.parametrize(("stronger", "name"), NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("declared", [{"keys": [pair(3)[1]]}, {"os": "eve"}, {}])
def test_a_policy_of_the_command_line_does_not_say_who_a_named_person_is(gert, stronger, name, declared):
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    write(gert.root / "floor.yaml", "floor", **stronger)
    write(gert.root / "mine.yaml", "mine", people={name.lower(): declared})
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "mine.yaml")
    assert said.code == 2, said.all
    assert "person 'alice' is named by the policy floor.yaml; who that is must stand in the same policy" in said.all
    assert not list(gert.root.glob("runs/2*"))


def test_a_project_does_not_say_who_a_person_of_a_pack_is(gert):
    """The same between a stronger and a weaker source that both were set up before the run."""
    floor = Source.parse(NAMED["an approver"][0], kind="floor", name="f", title="the floor")
    project = Source.parse({"people": {"alice": {"keys": [pair(3)[1]]}}}, kind="project", name="p", title="the project")
    with pytest.raises(ProjectError, match="person 'alice' is named by the floor"):
        people_of([floor, project])


@pytest.mark.parametrize("space", ["os", "login", "slack", "teams"])
def test_a_project_does_not_give_the_name_of_a_person_of_a_pack_to_another_one(space):
    floor = Source.parse(NAMED["an approver"][0], kind="floor", name="f", title="the floor")
    eve = {"eve": {"keys": [pair(3)[1]], space: ["e", "ALICE"]}}
    project = Source.parse({"people": eve}, kind="project", name="p", title="the project")
    with pytest.raises(ProjectError, match=f"{space} 'ALICE' of person 'eve' is named by the floor"):
        people_of([floor, project])


def test_a_project_does_not_say_who_is_in_a_group_of_a_pack():
    rules = [{"effects": ["danger"], "action": "require-approval", "approvers": ["group:ops"]}]
    floor = Source.parse({"rules": rules, "people": {**ALICE, "eve": {}}}, kind="pack", name="f", title="the pack")
    project = Source.parse({"groups": {"ops": ["eve"]}}, kind="project", name="p", title="the project")
    with pytest.raises(ProjectError, match="group 'ops' is named by the pack"):
        people_of([floor, project])


def test_a_policy_of_the_command_line_does_not_say_who_is_in_a_named_group(gert):
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    rules = [{"effects": ["danger"], "action": "require-approval", "approvers": ["group:ops"]}]
    write(gert.root / "floor.yaml", "floor", rules=rules, people={**ALICE, "eve": {}})
    write(gert.root / "mine.yaml", "mine", groups={"ops": ["eve"]})
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "mine.yaml")
    assert said.code == 2, said.all
    assert "group 'ops' is named by the policy floor.yaml; who is in it must stand" in said.all


@pytest.mark.parametrize(
    "stronger",
    [
        {"require_signed_approvals": True},
        {"rules": [{"effects": ["danger"], "action": "require-approval", "approvers": ["group:ops"]}]},
    ],
)
@pytest.mark.parametrize("added", [one for one, _ in ADDED.values()], ids=ADDED.keys())
def test_a_policy_of_the_command_line_declares_no_one_where_another_says_whose_approval_counts(gert, stronger, added):
    """It would choose the keys, and what is said about keys that whoever resumes chooses would no longer be said."""
    (gert.root / "gert-project.yaml").write_text(PROJECT)
    write(gert.root / "floor.yaml", "floor", **stronger)
    write(gert.root / "mine.yaml", "mine", **added)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "mine.yaml")
    assert said.code == 2, said.all
    assert "the policy floor.yaml says whose approval counts" in said.all
