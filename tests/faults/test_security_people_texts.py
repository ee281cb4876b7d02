"""What people write about a run that waits: reasons, keys and answers hide the secrets that their shell knows."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

from gert_core.api import UsageError
from gert_core.hosting import Host

SECRET = "swordfish-4711"
TOKEN = "token-of-the-run"
PARTS = '["first-part-of-it", "second-part-of-it"]'
BOOK = """\
apiVersion: kernel/v0
meta:
  name: q
  inputs:
    pw: { type: string, secret: true, from: env/PWX }
    parts: { type: list, secret: true, from: env/PARTSX }
  secrets: [{ env: TOKEN }]
steps:
  - id: look
    type: manual
    instructions: Look
    required_evidence: [{ kind: text, name: note }, { kind: attachment, name: file }]
  - { type: end, outcome: { category: resolved, code: done } }
"""
APPROVAL = """\
steps:
  - { id: sure, type: approval, message: Go on? }
  - { type: end, outcome: { category: resolved, code: done } }
"""
SAY = """\
apiVersion: tool/v0
meta: { name: say }
contract: { inputs: { text: { type: string } }, effects: [host] }
actions: { run: { argv: [echo, "{{ .text }}"] } }
"""
GATED = """\
apiVersion: kernel/v0
meta:
  name: q
  inputs: { pw: { type: string, from: env/PWX, secret: SECRET } }
  governance: { rules: [{ effects: [host], action: require-approval }, { default: allow }] }
tools: [say]
steps:
  - { id: say, type: tool, tool: say, inputs: { text: "it is {{ .pw }}" } }
  - { type: end, outcome: { category: resolved, code: done } }
"""


def ticket_of(gert):
    (entry,) = json.loads(gert("approvals", "list", "--json").out)["approvals"]
    return entry["ticket_id"]


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, PWX=SECRET, PARTSX=PARTS, TOKEN=TOKEN)
    made.write(book=BOOK)
    assert made("exec", "book.yaml", "--questions", "suspend").code == 0
    return made


def everything(gert):
    return "".join(file.read_text() for file in sorted(gert.run().rglob("*")) if file.is_file())


def test_reasons_and_keys_of_a_block_hide_secret_inputs(gert):
    run = gert.run().name
    said = gert("runs", "block", run, "--key", "k", "--reason", f"it is {SECRET}, or second-part-of-it")
    assert said.code == 0, said.all
    assert SECRET not in everything(gert)
    assert "second-part-of-it" not in everything(gert)
    assert "it is <REDACTED:pw>, or <REDACTED:parts.1>" in everything(gert)
    said = gert("runs", "block", run, "--key", f"x-{SECRET}")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: the key has a secret of the run in it")
    assert SECRET not in said.all
    assert gert("runs", "unblock", run, "--key", "k").code == 0


@pytest.mark.parametrize("who", [SECRET, TOKEN])
def test_no_name_of_who_answers_or_blocks_is_a_secret(gert, who):
    run = gert.run().name
    for argv in (
        ("runs", "block", run, "--key", "k"),
        ("answer", run, "look", "note=x"),
    ):
        said = gert(*argv, "--as", who)
        assert (said.code, said.err.splitlines()[0]) == (2, "error: the name has a secret of the run in it"), said.all
        assert who not in said.all
    assert gert("runs", "block", run, "--key", "k").code == 0
    assert gert("runs", "unblock", run, "--key", "k", "--as", who).code == 2
    assert who not in everything(gert)


@pytest.mark.parametrize("who", [SECRET, TOKEN, f"x-{TOKEN}", "first-part-of-it"])
def test_no_name_of_who_starts_or_resumes_a_run_is_a_secret(gert, who):
    before, told = gert.runs(), (2, "error: the name has a secret of the run in it")
    for argv in (("exec", "book.yaml", "--questions", "suspend"), ("resume", "--run", gert.run().name)):
        for flags, environ in ((("--as", who), {}), ((), {"GERT_ACTOR": who})):
            said = gert(*argv, *flags, **environ)
            assert (said.code, said.err.splitlines()[0]) == told, said.all
            assert who not in said.all
    assert gert.runs() == before
    assert who not in everything(gert)


@pytest.mark.parametrize("given", [("--var", f"pw={SECRET}"), ("--input", "given.yaml")])
def test_no_name_is_a_secret_that_was_given_with_the_command(tmp_path, given):
    gert = Gert(tmp_path, TOKEN=TOKEN, PARTSX=PARTS)
    gert.write(book=BOOK.replace(", from: env/PWX", ""), given=f"pw: {SECRET}")
    said = gert("exec", "book.yaml", *given, "--as", SECRET)
    assert (said.code, said.err.splitlines()[0]) == (2, "error: the name has a secret of the run in it"), said.all
    assert gert.runs() == []


@pytest.mark.parametrize(
    "by", ["agent:helper", "Agent:helper", " ann", "a\u200bnn", "<REDACTED:pw>", "(no person)", ""]
)
def test_a_planted_answer_by_an_agent_or_an_unusual_name_does_not_count(gert, by):
    run = gert.run()
    (gert.root / "seen.txt").write_text("x")
    assert gert("answer", run.name, "look", "note=planted", "file=seen.txt", "--as", "ann").code == 0
    planted = [file for file in (run / "answers").iterdir() if json.loads(file.read_text())["name"] == "note"]
    for file in planted:
        file.write_text(json.dumps({**json.loads(file.read_text()), "by": by}))
    said = gert("resume", "--run", run.name, "--json", "--questions", "suspend")
    assert said.document["status"] == "answer_pending", said.all
    assert "an answer is left out:" in said.err
    assert "is not an answer by a person" in said.err
    assert not [event for event in gert.events() if event["type"] == "question_answered"]
    planted[0].unlink()
    assert gert("answer", run.name, "look", "note=mine", "--as", "ann").code == 0
    assert gert("resume", "--run", run.name, "--json").document["status"] == "completed"


def test_answers_hide_secret_inputs_and_the_run_has_them_again(gert):
    run = gert.run().name
    (gert.root / "seen.txt").write_text(f"it said {SECRET}")
    said = gert("answer", run, "look", "file=seen.txt")
    assert (said.code, "seen.txt has the value of secret pw in it and is not kept" in said.err) == (2, True), said.all
    (gert.root / "seen.txt").write_text("it said nothing")
    said = gert("answer", run, "look", f"note={SECRET}!", "file=seen.txt")
    assert said.code == 0, said.all
    assert SECRET not in everything(gert)
    said = gert("resume", "--run", run)
    assert said.code == 0, said.all
    assert "<REDACTED:pw>!" in everything(gert)
    assert SECRET not in everything(gert)


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_no_reason_of_an_approval_has_a_secret_in_it(tmp_path, verb):
    gert = Gert(tmp_path, PWX=SECRET, PARTSX=PARTS, TOKEN=TOKEN)
    gert.write(book=BOOK.partition("steps:")[0] + APPROVAL)
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    (ticket,) = (gert.run() / "tickets").glob("*.json")
    for secret in (SECRET, TOKEN, "first-part-of-it"):
        for what, flag, given in (("reason", "--reason", f"for {secret}."), ("name", "--as", secret)):
            said = gert(verb, ticket.stem, flag, given)
            assert (said.code, said.err.splitlines()[0]) == (
                2,
                f"error: the {what} has a secret of the run in it",
            )
            assert secret not in said.all + everything(gert)
    assert gert(verb, ticket.stem, "--reason", "for the token", "--as", "bob").code == 0


@pytest.mark.parametrize("name", ["TOKEN", "pw", "GERT_TRACE_SIGNING_KEY"])
def test_a_name_that_looks_like_a_mask_is_one_name_and_tells_no_secret(tmp_path, name):
    """What is written as it is, is read as it is: such a name must not become the value, nor another approver."""
    key = "hmac-sha256:c2lnbmluZy1rZXktMDEyMzQ1Njc4OQ=="
    gert = Gert(
        tmp_path, PWX=SECRET, PARTSX=PARTS, TOKEN=TOKEN, GERT_TRACE_SIGNING_KEY=key, GERT_TRACE_SIGNING_KEY_ID="k"
    )
    gert.write(book=BOOK.partition("steps:")[0] + APPROVAL.replace("message:", "min_approvers: 2, message:"))
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    (ticket,) = (gert.run() / "tickets").glob("*.json")
    answers = ticket.with_suffix(".answers")
    gert("approve", ticket.stem, "--as", f"<REDACTED:{name}>")
    if not answers.exists():  # refused: then somebody writes the file
        assert gert("approve", ticket.stem, "--as", "somebody").code == 0
        (file,) = answers.iterdir()
        file.write_text(file.read_text().replace("somebody", f"<REDACTED:{name}>"))
    for _ in range(3):
        said = gert("resume", "--run", gert.run().name, "--json")
        assert said.document["status"] == "approval_pending", said.all
    assert not [secret for secret in (SECRET, TOKEN, key) if secret in everything(gert) + said.all]
    assert gert("approve", ticket.stem, "--as", "bob").code == 0
    said = gert("resume", "--run", gert.run().name, "--json")
    assert not [secret for secret in (SECRET, TOKEN, key) if secret in everything(gert) + said.all]


def test_what_the_shell_does_not_know_is_not_hidden_in_an_answer(gert):
    """The page says so: the trace is masked when the run goes on, the file of the answer stays as it was written."""
    run = gert.run().name
    (gert.root / "seen.txt").write_text("x")
    assert gert("answer", run, "look", f"note={SECRET}", "file=seen.txt", PWX="").code == 0
    assert SECRET in everything(gert)
    assert gert("resume", "--run", run).code == 0
    assert SECRET not in (gert.run() / "trace.jsonl").read_text()


@pytest.mark.parametrize("who", [SECRET, TOKEN])
@pytest.mark.parametrize("given", ["flag", "variable"])
def test_no_name_of_who_moves_or_ends_a_run_is_a_secret(gert, who, given):
    """Nor is it one that cannot be seen: it is kept as it is written."""
    flags, environ = (("--as", who), {}) if given == "flag" else ((), {"GERT_ACTOR": who})
    trace = gert.run() / "trace.jsonl"
    lines = trace.read_text().splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if '"type":"question_asked"' in line)
    trace.write_text("".join(lines[:end]))  # as if its process had been killed
    for argv in (
        ("store", "copy", "file:runs", "sqlite:runs.db", "--move"),
        ("runs", "cleanup", "--older-than", "1ms"),
    ):
        said = gert(*argv, *flags, **environ)
        assert (said.code, said.err.splitlines()[0]) == (2, "error: the name has a secret of the run in it"), said.all
        assert who not in said.all
        assert gert(*argv, "--as", "al\u200bice").code == 2
    assert who not in everything(gert)
    assert "\u200b" not in everything(gert)


def test_no_name_of_an_approver_in_the_environment_is_a_secret(tmp_path):
    gert = Gert(tmp_path, TOKEN=TOKEN)
    gert.write(book=f"apiVersion: kernel/v0\nmeta: {{ name: q, secrets: [{{ env: TOKEN }}] }}\n{APPROVAL}")
    gert("exec", "book.yaml", "--approval", "inbox")
    ticket = ticket_of(gert)
    for verb in ("approve", "reject"):
        said = gert(verb, ticket, GERT_ACTOR=TOKEN)
        assert (said.code, said.err.splitlines()[0]) == (2, "error: the name has a secret of the run in it"), said.all
    with (
        Host(tmp_path, environ=gert.environ, actor=TOKEN) as host,
        pytest.raises(UsageError, match="a secret of the run"),
    ):
        host.decide(ticket, approved=True)
    assert TOKEN not in everything(gert)


def test_what_was_approved_before_does_not_show_what_is_a_secret_by_now(tmp_path):
    """In the notices of the run, in its process, and in a host that shows the ticket."""
    gert = Gert(tmp_path, PWX=SECRET)
    gert.write(tool_say=SAY, book=GATED.replace("SECRET", "false"))
    run = gert("exec", "book.yaml", "--approval", "inbox", "--json").document["run_id"]
    assert gert("approve", ticket_of(gert), "--as", "bob").code == 0
    assert gert("resume", "--run", run).code == 0
    gert.write(book=GATED.replace("SECRET", "true"))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--progress", "json")
    (told,) = [line for line in map(json.loads, said.err.splitlines()) if line["kind"] == "approval"]
    with Host(tmp_path, environ=gert.environ) as host:
        (shown,) = host.tickets()
        views = [told["data"]["since_last"], dict(shown.since_last)]
    for since in views:
        changed = {one["field"]: (one["before"], one["after"]) for one in since["changed"]}
        assert changed["inputs"] == ({"text": "it is <REDACTED:pw>"},) * 2
    assert SECRET not in f"{said.all}{views}"


def test_no_name_of_a_trace_is_a_secret(tmp_path):
    gert = Gert(tmp_path, PWX=SECRET, PARTSX=PARTS, TOKEN=TOKEN)
    gert.write(book=BOOK)
    said = gert("exec", "book.yaml", "--questions", "suspend", "--trace", f"t-{SECRET}.jsonl")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: the name of the trace has a secret of the run in it")
    assert (gert.runs(), sorted(file.name for file in tmp_path.iterdir())) == ([], ["book.yaml"])
