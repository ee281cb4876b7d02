"""What is advised about a run where a command would be refused: nothing, or the one that works."""

from __future__ import annotations

import shlex
import time

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: act, transport: stdio }
contract: { effects: [danger], writes: [db], idempotent: true }
actions: { do: { argv: [sh, -c, 'echo x >> acted'] } }
"""
ACT = "  - { id: act, type: tool, tool: act }\n"
GATE = "  - { id: act, type: approval, message: ok, timeout: 1s }\n"
HEAD = "apiVersion: kernel/v0\nmeta:\n  name: book\n"
RULES = "  governance: { TIMEOUTrules: [{ effects: [danger], action: require-approval }] }\n"
END = "  - { type: end, outcome: { category: resolved, code: done } }\n"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GERT_ACTOR="olga")
    made.write(tool_act=TOOL)
    return made


def pending(gert: Gert, text: str) -> str:
    gert.write(book=text)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def followed(gert: Gert) -> list[list[str]]:
    """Resume the run, follow each command that is printed then, and return them."""
    said = gert("resume", "latest", "--json")
    assert said.document["status"] not in ("completed", "approval_pending"), said.all
    shown = gert("runs", "show", "latest", "--json").document
    assert shown["next"] == said.document["next"]
    for step in shown["next"]:
        done = gert(*step["command"][1:], "--json")
        assert done.code == 0, (step, done.all)
    return [step["command"] for step in shown["next"]]


@pytest.mark.parametrize("steps", [ACT, GATE, f"  - id: b\n    type: block\n    steps:\n    {ACT}"])
def test_after_an_expiry_no_retry_is_advised(gert, steps):
    rules = RULES.replace("TIMEOUT", "approval_timeout: 1s, ")
    pending(gert, HEAD + rules + "tools: [act]\nsteps:\n" + steps + END)
    time.sleep(1.2)
    assert followed(gert) == []
    said = gert("resume", "latest", "--retry-failed")
    assert (said.code, "a run asks once for the approval of a step" in said.err) == (1, True), said.all
    assert not (gert.root / "acted").exists()


def test_after_a_rejection_no_retry_is_advised(gert):
    ticket = pending(gert, HEAD + RULES.replace("TIMEOUT", "") + "tools: [act]\nsteps:\n" + ACT + END)
    assert gert("reject", ticket, "--as", "bob").code == 0
    assert followed(gert) == []


BOOK = HEAD + "steps:\n" + END


@pytest.mark.parametrize("trace", [b"", b"\0" * 1000, b'{"type":"run_start"', b"rubbish"])
def test_a_run_without_a_first_event_is_said_to_have_never_started(gert, trace):
    gert.write(book=BOOK)
    assert gert("exec", "book.yaml").code == 0
    (gert.run() / "trace.jsonl").write_bytes(trace)
    (gert.run() / "state.json").unlink(missing_ok=True)
    said = gert("runs", "show", "latest")
    assert (said.code, "never started" in said.out) == (1, True), said.all
    assert "resume" not in said.all
    shown = gert("runs", "show", "latest", "--json")
    assert (shown.code, shown.document["next"], shown.document["resume_point"]) == (1, [], None)
    assert "never started" in shown.document["problem"]
    said = gert("runs", "cancel", "latest")
    assert (said.code, "never started" in said.err, "--abort" in said.err) == (1, True, False)


VAULT = """\
apiVersion: tool/v0
meta: { name: vault }
actions:
  rotate:
    argv: [sh, -c, 'echo "p-$(cat turn)-long-enough"; echo x >> rotated']
    contract: { outputs: { password: { type: string, secret: true } }, effects: [vault], DETERMINED }
    extract: { password: { from: stdout } }
  use:
    argv: [sh, -c, 'echo x >> used; test ! -e sick', sh, "{{ .pw }}"]
    contract: { inputs: { pw: { type: string } }, effects: [app], WRITES }
"""
ROTATION = """\
apiVersion: kernel/v0
meta: { name: book }
tools: [vault]
steps:
  - { id: rotate, type: tool, tool: vault, action: rotate }
  - { id: use, type: tool, tool: vault, action: use, inputs: { pw: "it is {{ .rotate.password }}" } }
  - { id: done, type: end, outcome: { category: resolved } }
"""
CHANGES, SAME, LOOKS = "writes: [vault]", "writes: [vault], idempotent: true, deterministic: true", "writes: []"


def rotation(gert: Gert, source: str, use: str, text: str = ROTATION):
    (gert.root / "turn").write_text("1")
    (gert.root / "sick").touch()
    gert.write(tool_vault=VAULT.replace("DETERMINED", source).replace("WRITES", use), book=text)
    said = gert("exec", "book.yaml", "--json")
    assert said.code == 1, said.all
    (gert.root / "sick").unlink()
    return [(one["command"], one["why"]) for one in said.document["next"]]


def test_a_step_that_was_given_a_secret_that_is_lost_is_not_retried_but_a_new_run_is_started(gert):
    ((command, why),) = rotation(gert, CHANGES, LOOKS)
    assert command == ["gert", "exec", str(gert.root / "book.yaml")]
    assert why == (
        "start a new run, which makes the secret anew, and rotate again, which took effect before: in this one use"
        " needs a secret output that only the process that ended knew"
    )
    retried = gert("resume", "latest", "--retry-failed", "--json")
    assert (retried.code, retried.document["failure"]["kind"]) == (1, "secret_lost"), "as it says"
    ((after, _),) = [(one["command"], one["why"]) for one in retried.document["next"]]
    assert after == command
    assert gert(*command[1:]).code == 0


def test_of_a_write_that_was_given_it_only_what_works_may_be_stated(gert):
    commands = rotation(gert, CHANGES, "writes: [app]")
    assert [words[1] for words, _ in commands] == ["exec", "resume", "resume"]
    assert [words[-1] for words, _ in commands[1:]] == ["use=done", "use=failed"]
    assert gert(*commands[1][0][1:]).code == 0


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (SAME, ROTATION),
        (CHANGES, ROTATION.replace("it is {{ .rotate.password }}", "nothing")),
    ],
    ids=["made again", "not given it"],
)
def test_a_step_that_has_or_needs_no_lost_secret_is_retried(gert, source, text):
    ((command, why),) = rotation(gert, source, LOOKS, text)
    assert (command[1], command[-1], why) == ("resume", "--retry-failed", "run use again")
    assert gert(*command[1:]).code == 0


SECRET = "  inputs: { pw: { type: string, secret: true, required: true }, n: { type: int, default: 1 } }\n"
GIVEN = ("--var", "pw=hunter2hunter2")


def test_a_second_approval_names_the_secrets_that_the_run_needs_again(gert):
    text = HEAD + SECRET + RULES.replace("TIMEOUT", "") + "tools: [act]\nsteps:\n" + ACT + END
    gert.write(book=text)
    ticket = gert("exec", "book.yaml", "--approval", "inbox", *GIVEN, "--json").document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", "bob").code == 0
    again = gert("approve", ticket, "--as", "carl")
    command = f"gert resume --run {gert.run().name} --var 'pw=…'"
    assert (again.code, again.err.splitlines()[-1].strip()) == (1, f"hint: resume the run: {command}"), again.all
    words = [word.replace("pw=…", "pw=hunter2hunter2") for word in shlex.split(command)[1:]]
    assert gert(*words).code == 0


def test_a_second_answer_names_the_secrets_that_the_run_needs_again(gert):
    ask = "  - { id: sure, type: manual, instructions: Look }\n"
    gert.write(book=HEAD + SECRET + "steps:\n" + ask + END)
    said = gert("exec", "book.yaml", "--questions", "suspend", *GIVEN, "--json")
    assert said.document["status"] == "answer_pending", said.all
    run = gert.run().name
    assert gert("answer", run, "sure", "confirm=yes", "--as", "bob").code == 0
    again = gert("answer", run, "sure", "confirm=yes", "--as", "carl")
    hint = f"hint: a resumed run uses it: gert resume --run {run} --var 'pw=…'"
    assert (again.code, again.err.splitlines()[-1].strip()) == (1, hint), again.all
