"""What gert itself searches and normalises texts for: whatever a text is made of, that takes time in proportion to it.

Python holds all other threads up meanwhile, so that no signal would end gert.
"""

from __future__ import annotations

import json
import time

import pytest
from shell import Shell

SECONDS = 15
"""What a command may take; where the time is quadratic it takes minutes or hours."""


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def at_once(shell: Shell, *args: str, **options):
    began = time.monotonic()
    said = shell.gert(*args, **options)
    assert time.monotonic() - began < SECONDS
    return said


def test_what_is_almost_a_number_is_none_at_once(shell):
    shell.program("digits", "head -c 1000000 /dev/zero | tr '\\0' 1; echo x\n")
    contract = "{ effects: [], reads: [x], outputs: { size: { type: float } } }"
    shell.tool("digits", "[digits]", contract=contract, more="extract: { size: { from: stdout } }")
    shell.book("- { id: count, type: tool, tool: digits }", tools="digits", meta="inputs: { limit: { type: float } }")
    said = at_once(shell, "exec", "book.yaml", code=1)
    assert "is not a number" in said.stderr
    shell.write("in.json", json.dumps({"limit": "1" * 1_000_000 + "x"}))
    said = at_once(shell, "exec", "book.yaml", "--input", "in.json", code=2)
    assert "is not a number" in said.stderr


MARKS = "a" + "\u0300\u0323" * 300_000
"""Normalising puts each of the marks in its place among those before it."""


def governed(shell: Shell) -> None:
    shell.tool("touch", "[touch, done]", contract="{ effects: [host], writes: [disk] }")
    shell.book(
        "- { id: act, type: tool, tool: touch }",
        tools="touch",
        meta="governance: { rules: [{ writes: [disk], action: require-approval }] }",
    )


def test_an_answer_by_what_is_too_long_for_an_id_is_set_aside_at_once(shell):
    governed(shell)
    shell.gert("exec", "book.yaml", "--approval", "inbox")
    (run,) = shell.runs()
    (ticket,) = (run / "tickets").glob("*.json")
    answers = ticket.with_suffix(".answers")
    shell.gert("approve", ticket.stem, "--as", "alice")
    (file,) = answers.iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "approver_id": MARKS}))
    listed = at_once(shell, "approvals", "list")
    assert ticket.stem in listed.stdout
    at_once(shell, "approvals", "show", ticket.stem)
    at_once(shell, "resume", run.name)
    (told,) = shell.events("approval_response")
    assert told["data"]["result"] == "set_aside"
    assert "has more than 500 characters" in told["data"]["message"]
    assert len(told["data"]["message"]) < 1000
    assert not (shell.root / "done").exists()


def test_an_actor_whose_name_is_too_long_is_refused_at_once(shell):
    shell.book("")
    said = at_once(shell, "exec", "book.yaml", "--as", MARKS[:60_000], code=2)
    assert "cannot be the id of an actor: it has more than 500 characters" in said.stderr


def test_a_line_of_many_blanks_is_an_answer_at_once(shell):
    governed(shell)
    blanks = " " * 300_000
    at_once(shell, "exec", "book.yaml", stdin=f"y{blanks}alice{blanks}:{blanks}to{blanks}test\n")
    (told,) = shell.events("approval_response")
    assert (told["data"]["approver_id"], told["data"]["reason"]) == ("alice", f"to{blanks}test")


@pytest.mark.parametrize(("part", "end"), [("eyJaaaa.", ""), ("eyJ", ""), ("a-", "://"), ("x\n", "\rx")])
def test_what_a_tool_wrote_is_recorded_and_scanned_at_once(shell, part, end):
    """It looks like the beginnings of many tokens or addresses, or has a return behind many lines."""
    shell.write("text", part * 200_000 + end)
    contract = "{ effects: [], reads: [x], outputs: { text: { type: string } } }"
    shell.tool("say", "[cat, text]", contract=contract, more="extract: { text: { from: stdout } }")
    shell.book("- { id: say, type: tool, tool: say }", tools="say")
    said = at_once(shell, "exec", "book.yaml", "--record", "kept")
    assert "not recorded" not in said.stderr
    at_once(shell, "scenario", "scan", "scenarios")


@pytest.mark.parametrize("address", ["http://h/?options=" + "a" * 300_000, "//a:" * 100_000, "h/" + "?" * 300_000])
def test_an_address_is_looked_through_for_passwords_at_once(shell, address):
    shell.tool("call", "[call]")
    file = shell.root / "tools" / "call.tool.yaml"
    file.write_text(file.read_text().replace("transport: stdio", f"transport: jsonrpc, connect: '{address}'"))
    at_once(shell, "validate", str(file), code=None)
    file.unlink()
    shell.write("gert-project.yaml", f"store: 'x:{address}'\n")
    at_once(shell, "runs", "list", code=None)


def test_blanks_between_braces_are_explained_at_once(shell):
    text = "{{" + " " * 3000 + "{{"
    shell.book(f"""- {{ id: gate, type: approval, message: 'go on {{{{ "{text}" }}}}?' }}""")
    for command in ("explain", "graph"):
        said = at_once(shell, command, "book.yaml")
        assert "go on" in said.stdout
