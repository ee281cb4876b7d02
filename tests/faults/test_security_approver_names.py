"""A secret of the run that is typed as the name of an approver: it is not recorded, and it approves nothing."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

SECRET = "swordfish-4711"
PARTED = "correct:horse-battery"
BOOK = """\
apiVersion: kernel/v0
meta:
  name: q
  inputs:
    pw: { type: string, secret: true, default: "SECRET" }
  governance: { rules: [{ effects: [host], action: require-approval }, { default: allow }] }
tools: [say]
steps:
  - { id: say, type: tool, tool: say }
  - { type: end, outcome: { category: resolved, code: done } }
"""
SAY = """\
apiVersion: tool/v0
meta: { name: say }
contract: { effects: [host] }
actions: { run: { argv: ["true"] } }
"""
PEOPLE = f"apiVersion: policy/v0\nmeta: {{ name: p }}\npeople: {{ {SECRET}: {{ login: l }} }}\nrules: []\n"
REFUSED = "stands for a name with a secret of the run in it"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    write(made)
    return made


def write(gert, secret=SECRET):
    gert.write(tool_say=SAY, book=BOOK.replace("SECRET", secret))


def everything(gert):
    return "".join(file.read_text() for file in sorted(gert.root.glob("runs/**/*")) if file.is_file())


def answers(gert):
    return [
        (event["data"]["approver_id"], event["data"]["result"])
        for event in gert.events()
        if event["type"] == "approval_response"
    ]


@pytest.mark.parametrize("who", [SECRET, f"x-{SECRET}", SECRET.encode().hex()])
def test_a_secret_as_the_name_of_an_approver_is_hidden_and_does_not_count(gert, who):
    said = gert("exec", "book.yaml", answers=f"y {who}: it is {who}\ny bob\n")
    assert said.code == 0, said.all
    assert (
        f"warning: step say: an answer has no effect: '(name hidden)' cannot be an approver's id: it {REFUSED}"
        in said.err
    )
    assert answers(gert) == [("(name hidden)", "set_aside"), ("bob", "counted")]
    assert SECRET not in said.all + everything(gert)
    assert who not in said.all + everything(gert)


def test_a_rejection_counts_without_the_name(gert):
    said = gert("exec", "book.yaml", answers=f"n {SECRET}: not now\n")
    assert (said.code, answers(gert)) == (1, [("(name hidden)", "rejected")])
    assert SECRET not in said.all + everything(gert)


@pytest.mark.parametrize("colon", [":", ": ", " : ", " :", ":  ", ":\t", ":\u00a0", "  :  "])
@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_secret_with_a_colon_in_it_is_not_taken_apart(gert, colon, answer):
    secret = PARTED.replace(":", colon)
    write(gert, secret)
    said = gert("exec", "book.yaml", answers=f"{answer} {secret}\ny bob\n")
    assert said.code == (0 if answer == "y" else 1), said.all
    for part in ("correct", "horse"):
        assert part not in said.all + everything(gert)


@pytest.mark.parametrize("secret", ["battery9x:", "y longsecret", "y:secretpart", "no thanks-4711", "bob: battery9x"])
@pytest.mark.parametrize("lead", ["", "y ", "n "])
def test_a_secret_that_is_typed_as_the_line_is_not_taken_apart(gert, secret, lead):
    (gert.root / "given.json").write_text(json.dumps({"pw": secret}))
    said = gert("exec", "book.yaml", "--input", "given.json", answers=f"{lead}{secret}\ny carl\n")
    shown = said.all + everything(gert)
    assert not [part for part in ("battery9x", "longsecret", "secretpart", "thanks-4711") if part in shown], shown
    assert [who for who, _ in answers(gert)] in (["(name hidden)", "carl"], ["(name hidden)"], ["carl"])


def test_who_is_declared_approves_under_a_name_that_is_a_secret_by_chance(gert):
    (gert.root / "p.yaml").write_text(PEOPLE)
    said = gert("exec", "book.yaml", "--policy", "p.yaml", answers=f"y {SECRET}\n")
    assert said.code == 0, said.all
    assert answers(gert) == [(SECRET, "counted")]


def test_an_answer_that_is_given_elsewhere_is_read_once_and_shown_as_without_effect(gert):
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    (ticket,) = (gert.run() / "tickets").glob("*.json")
    assert gert("approve", ticket.stem, "--as", "somebody").code == 0
    (file,) = ticket.with_suffix(".answers").iterdir()
    file.write_text(file.read_text().replace("somebody", SECRET))  # as a command would that knows no secret inputs
    for _ in range(2):
        said = gert("resume", "--run", gert.run().name, "--json")
        assert said.document["status"] == "approval_pending", said.all
        assert answers(gert) == [("(name hidden)", "set_aside")]
    entry = gert("approvals", "show", ticket.stem, "--json").document
    assert (entry["status"], entry["approvers"]) == ("pending", [])
    assert SECRET not in (gert.run() / "trace.jsonl").read_text()
    assert gert("approve", ticket.stem, "--as", "bob").code == 0
    assert gert("resume", "--run", gert.run().name).code == 0
