"""What an outcome looks like, and which outcomes a command tells by its exit code."""

from __future__ import annotations

import pytest
from shell import Shell


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def book(shell, category, *, governance=""):
    shell.book(f"- {{ id: done, type: end, outcome: {{ category: {category} }} }}", meta=governance)


@pytest.mark.parametrize(
    ("category", "mark"), [("resolved", "✓"), ("no_action", "✓"), ("needs_rca", "!"), ("escalated", "▲")]
)
def test_each_outcome_has_its_mark(shell, category, mark):
    book(shell, category)
    said = shell.gert("exec", "book.yaml")
    assert said.stdout.startswith(f"{mark} Outcome: {category} [real]\n")


def test_the_outcomes_that_are_named_exit_with_4(shell):
    book(shell, "escalated")
    shell.gert("exec", "book.yaml", "--fail-on", "needs_rca")
    found = shell.json("exec", "book.yaml", "--fail-on", "escalated, needs_rca", code=4)
    assert (found["status"], found["outcome"]["category"]) == ("completed", "escalated")
    (start,) = [e for e in shell.json("trace", "show", found["trace"])["events"] if e["type"] == "run_start"]
    assert start["data"]["fail_on"] == ["escalated", "needs_rca"]


def test_a_resume_keeps_to_it_unless_it_says_otherwise(shell):
    book(shell, "escalated", governance="governance: { rules: [{ outcome: escalated, action: require-approval }] }")
    options = ("--approval", "inbox", "--fail-on", "escalated")
    run = shell.json("exec", "book.yaml", *options)["run_id"]
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "alice")
    shell.gert("resume", run, code=4)
    shell.gert("resume", run, code=4)  # it is finished, and says so again
    shell.gert("resume", run, "--fail-on", "none")
    shell.gert("resume", run, "--fail-on", "needs_rca")


def test_a_project_names_them_and_the_flag_wins(shell):
    book(shell, "needs_rca")
    shell.write("gert-project.yaml", "fail_on: [needs_rca]\n")
    shell.gert("exec", "book.yaml", code=4)
    shell.gert("exec", "book.yaml", "--fail-on", "escalated")
    shell.gert("exec", "book.yaml", "--fail-on", "none")
    shell.write("gert-project.yaml", "fail_on: [sometimes]\n")
    assert "fail_on" in shell.gert("exec", "book.yaml", code=2).stderr


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_what_is_only_possible_does_not_fail(shell, mode):
    book(shell, "escalated")
    shell.gert("exec", "book.yaml", "--mode", mode, "--fail-on", "escalated")


def test_an_unknown_category_is_refused_before_anything_is_run(shell):
    book(shell, "escalated")
    for command in (("exec", "book.yaml"), ("resume", "latest")):
        said = shell.gert(*command, "--fail-on", "bad", code=2)
        assert "--fail-on takes categories of outcomes, not 'bad'" in said.stderr
        assert "resolved, escalated, no_action, needs_rca" in said.stderr
    assert shell.runs() == []
