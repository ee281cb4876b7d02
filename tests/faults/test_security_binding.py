"""An approval is bound to what was shown: documents, inputs, command, program, policy, run and one execution."""

from __future__ import annotations

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
import time
from hashlib import sha256

import pytest
from forging import PUBLIC, SEED, append, rewrite
from gertproc import Gert

from gert_core.approvals.binding import document_hash

TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act}
contract: {inputs: {what: {type: string}}, effects: [danger], writes: [production]}
actions: {run: {argv: [act, "{{ .what }}"], stdin: "quiet"}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: bound
  inputs: {what: {type: string, default: one}}
  governance: {rules: [{effects: [danger], action: require-approval, exclude_actor: EXCLUDE}]}
tools: [act]
steps:
  - {id: act, type: tool, tool: act, inputs: {what: "{{ .what }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
PROGRAM = '#!/bin/sh\ncat - > given; echo "$1" >> acted; exit CODE\n'


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    program(made)
    made.write(tool_act=TOOL, book=BOOK.replace("EXCLUDE", "false"))
    with made:
        yield made


def program(gert: Gert, text: str = PROGRAM, code: int = 0) -> None:
    file = gert.root / "act"
    file.write_text(text.replace("CODE", str(code)))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def pending(gert: Gert, *argv: str) -> str:
    """Start or resume a run until it waits; return its ticket."""
    said = gert(*(argv or ("exec", "book.yaml", "--approval", "inbox", "--as", "olga")), "--json")
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def resume(gert: Gert, *more: str) -> dict:
    return gert("resume", "--run", gert.run().name, "--json", *more).document


def of(gert: Gert, kind: str) -> list[dict]:
    return [event["data"] for event in gert.events() if event["type"] == kind]


def acted(gert: Gert) -> list[str]:
    file = gert.root / "acted"
    return file.read_text().split() if file.exists() else []


def approve(gert: Gert, ticket: str, who: str = "ann") -> None:
    said = gert("approve", ticket, "--as", who)
    assert said.code == 0, said.all


def test_the_request_has_everything_that_is_executed(gert):
    pending(gert)
    (submitted,) = of(gert, "approval_submitted")
    document = submitted["request"]
    assert (document["v"], document["generation"], document["requested_by"]) == (2, 1, "olga")
    command = document["command"]
    assert command["program"] == str(gert.root / "act")
    assert (command["argv"], command["stdin"], command["cwd"]) == (["./act", "one"], "quiet", str(gert.root))
    assert len(command["program_sha256"]) == 64
    assert document["tool_hash"].startswith("sha256:")
    assert document["policy_digest"] == gert.events()[0]["data"]["policy_digest"]


def test_the_program_is_found_as_it_will_be_started(gert):
    """With the PATH of the action, not with gert's own."""
    bin_ = gert.root / "own"
    bin_.mkdir()
    (gert.root / "act").rename(bin_ / "deploy")
    tool = TOOL.replace("binary: ./act", "binary: deploy").replace(
        'stdin: "quiet"', f"env: {{PATH: '{bin_}:/bin:/usr/bin'}}"
    )
    gert.write(tool_act=tool)
    ticket = pending(gert)
    assert of(gert, "approval_submitted")[0]["request"]["command"]["program"] == str(bin_ / "deploy")
    approve(gert, ticket)
    (bin_ / "deploy").write_text("#!/bin/sh\necho evil >> acted\n")
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == []


@pytest.mark.parametrize("retry", [False, True])
def test_allowed_drift_executes_nothing_under_an_old_approval(gert, retry):
    """A changed ``stdin`` after the approval, or a changed tool when the step is run again."""
    if retry:
        program(gert, code=3)
    first = pending(gert)
    approve(gert, first)
    if retry:
        assert resume(gert)["status"] == "failed"
        program(gert)
    before = acted(gert)
    gert.write(tool_act=TOOL.replace("quiet", "loud"))
    again = ("--retry-failed", "--reconcile", "act=redo") if retry else ()
    waiting = resume(gert, "--on-drift", "allow", *again)
    assert waiting["status"] == "approval_pending"
    assert acted(gert) == before
    second = waiting["pending"][0]["ticket_id"]
    assert second != first
    if not retry:
        (void,) = of(gert, "approval_void")
        assert (void["ticket_id"], set(void["changed"])) == (first, {"tool_hash", "command.stdin"})
    refused = gert("approve", first, "--as", "bob")
    assert refused.code == 1, "the old ticket takes no answers"
    approve(gert, second)
    assert resume(gert, "--on-drift", "allow")["status"] == "completed"
    assert (gert.root / "given").read_text() == "loud"


@pytest.mark.parametrize("change", ["allow", "gone"])
@pytest.mark.parametrize("answered", [False, True])
def test_a_softened_policy_does_not_run_what_waits_for_an_approval(gert, change, answered):
    ticket = pending(gert)
    if answered:
        approve(gert, ticket)
    book = BOOK.replace("EXCLUDE", "false")
    rules = "  governance: {rules: [{effects: [danger], action: require-approval, exclude_actor: false}]}\n"
    gert.write(
        book=book.replace("require-approval, exclude_actor: false", "allow")
        if change == "allow"
        else book.replace(rules, "")
    )
    waiting = resume(gert, "--on-drift", "allow")
    assert waiting["status"] == "approval_pending"
    assert acted(gert) == []
    approve(gert, waiting["pending"][0]["ticket_id"], "bob")
    assert resume(gert, "--on-drift", "allow")["status"] == "completed"


def test_a_program_exchanged_after_the_approval_is_asked_about_again(gert):
    approve(gert, pending(gert))
    program(gert, "#!/bin/sh\necho evil >> acted\n")
    waiting = resume(gert)
    assert waiting["status"] == "approval_pending"
    assert acted(gert) == []
    assert of(gert, "approval_void")[0]["changed"] == ["command.program_sha256"]


def test_a_program_exchanged_while_a_person_answers(gert):
    """In the same process: the request is compared directly before the step runs."""
    gert.write(book=BOOK.replace("EXCLUDE", "false"))
    (gert.root / "act").unlink()
    program(gert, "#!/bin/sh\necho first >> acted\n")
    answers = iter(["act ann\n"] * 4)
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "gert_core", "exec", "book.yaml", "--approval", "stdin"]
    run = subprocess.Popen(argv, cwd=gert.root, stdin=theirs, stdout=theirs, stderr=theirs, env=gert.environ)
    os.close(theirs)
    seen, changes = "", 0
    until = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < until:
        try:
            seen += os.read(ours, 65536).decode()
        except OSError:
            break
        asked = seen.count("act needs approval") or seen.count("pprove")
        if asked > changes and changes < 4:
            changes += 1
            program(gert, f"#!/bin/sh\necho {changes} >> acted\n")
            time.sleep(0.3)
            os.write(ours, next(answers).encode())
            seen = seen.replace("pprove", "-").replace("act needs approval", "-")
    run.wait(20)
    os.close(ours)
    assert acted(gert) == [], seen
    assert len(of(gert, "approval_void")) == 3
    done = of(gert, "step_complete")[0]
    assert done["failure"]["kind"] == "approval_void"
    assert run.returncode == 1


def test_the_own_actor_cannot_be_written_into_an_unsigned_trace(gert):
    """A recorded answer is judged as a fresh one is."""
    gert.write(book=BOOK.replace("EXCLUDE", "true"))
    ticket = pending(gert)
    trace = gert.run() / "trace.jsonl"
    *before, _ = [json.loads(line) for line in trace.read_text().splitlines()]
    submitted = next(event for event in before if event["type"] == "approval_submitted")
    who = {"ticket_id": ticket, "approved": True, "approver_id": "olga", "method": "inbox", "step_id": "act"}
    answer = {**who, "timestamp": submitted["timestamp"], "result": "counted", "verified": False}
    resolved = {**who, "status": "approved", "approvers": ["olga"]}
    for kind, data in (("approval_response", answer), ("approval_resolved", resolved)):
        before.append({**submitted, "type": kind, "data": data})
    trace.write_text(chained(before))
    said = gert("resume", "--run", gert.run().name, "--json")
    assert said.code == 1
    assert "may not approve" in said.all
    assert acted(gert) == []


def chained(events: list[dict]) -> str:
    previous, lines = "0" * 64, []
    for number, event in enumerate(events, 1):
        line = json.dumps({**event, "seq": number, "prev_hash": previous}, separators=(",", ":"), ensure_ascii=False)
        previous = sha256(line.encode()).hexdigest()
        lines.append(line)
    return "\n".join(lines) + "\n"


def test_the_operating_systems_user_is_an_actor_too(gert):
    """``--as`` is a claim: who started the run under another name may not approve it under their own."""
    gert.write(book=BOOK.replace("EXCLUDE", "true"))
    ticket = pending(gert)
    own = gert.events()[0]["data"]["os_user"]
    gert("approve", ticket, "--as", own)
    said = resume(gert)
    assert said["status"] == "approval_pending"
    assert of(gert, "approval_response")[0]["problem"] == "approval_own_actor"
    assert acted(gert) == []


def test_a_copied_run_does_not_reuse_the_approval_of_the_other(gert):
    approve(gert, pending(gert))
    (first,) = gert.runs()
    copy = first.with_name(first.name[:-1] + ("0" if first.name[-1] != "0" else "1"))
    shutil.copytree(first, copy)
    for file in copy.rglob("*.json*"):
        file.write_text(file.read_text().replace(first.name, copy.name))
    said = gert("resume", "--run", copy.name, "--json")
    assert acted(gert) == [], said.all
    assert said.code == 1 or said.document["status"] == "approval_pending"


def test_a_rejection_is_final_whatever_changes(gert):
    ticket = pending(gert)
    assert gert("reject", ticket, "--as", "ann").code == 0
    assert resume(gert)["status"] == "failed"
    gert.write(tool_act=TOOL.replace("quiet", "loud"))
    assert resume(gert, "--on-drift", "allow")["status"] == "failed"
    retried = gert("resume", "--run", gert.run().name, "--on-drift", "allow", "--retry-failed")
    assert (retried.code, "was not approved" in retried.err) == (1, True)
    assert acted(gert) == []


@pytest.mark.parametrize("change", ["drift", "program", "killed"])
def test_a_rejection_that_was_not_read_before_the_request_changed_is_final_too(gert, change):
    ticket = pending(gert)
    assert gert("reject", ticket, "--as", "ann", "--reason", "not today").code == 0
    if change == "killed":
        kill_at(gert, "approval_resolved")
    if change == "drift":
        gert.write(tool_act=TOOL.replace("quiet", "loud"))
    else:
        program(gert, "#!/bin/sh\necho evil >> acted\n")
    ended = resume(gert, "--on-drift", "allow")
    assert ended["status"] == "failed"
    (resolved,) = of(gert, "approval_resolved")
    assert (resolved["ticket_id"], resolved["status"], resolved["approver_id"]) == (ticket, "rejected", "ann")
    assert [data["result"] for data in of(gert, "approval_response")] == ["rejected"]
    assert of(gert, "step_complete")[0]["approval"]["reason"] == "approval_rejected"
    assert (of(gert, "approval_void"), len(of(gert, "approval_submitted")), acted(gert)) == ([], 1, [])
    assert gert("resume", "--run", gert.run().name, "--retry-failed").code == 1


def test_an_approval_of_the_request_before_has_no_effect(gert):
    """Only the rejection among the answers to a void request counts; a second approver's is not lost."""
    gert.write(
        book=BOOK.replace("EXCLUDE", "false").replace("require-approval,", "require-approval, min_approvers: 3,")
    )
    ticket = pending(gert)
    approve(gert, ticket)
    assert resume(gert)["status"] == "approval_pending"
    approve(gert, ticket, "bob")
    program(gert, "#!/bin/sh\necho evil >> acted\n")
    assert resume(gert)["status"] == "approval_pending"
    assert [data["ticket_id"] for data in of(gert, "approval_void")] == [ticket]
    assert [data["approver_id"] for data in of(gert, "approval_response")] == ["ann"]


@pytest.mark.parametrize("cut", [False, True])
def test_an_answer_in_a_signed_trace_counts_only_with_the_seal_of_its_key(gert, cut):
    """Somebody who can write the directory takes the seal of the trace away, writes an approval, and waits."""
    key = {"GERT_TRACE_SIGNING_KEY": "hmac-sha256:" + "QUJD" * 11}
    gert.environ |= key
    ticket = pending(gert)
    trace = gert.run() / "trace.jsonl"
    *before, _ = [json.loads(line) for line in trace.read_text().splitlines()]
    submitted = next(event for event in before if event["type"] == "approval_submitted")
    who = {"ticket_id": ticket, "approved": True, "approver_id": "ann", "method": "inbox", "step_id": "act"}
    answer = {**who, "timestamp": submitted["timestamp"], "result": "counted", "verified": False}
    forged = [("approval_response", answer)]
    if not cut:
        forged.append(("approval_resolved", {**who, "status": "approved", "approvers": ["ann"]}))
    for kind, data in forged:
        before.append({**submitted, "type": kind, "data": data})
    trace.write_text(chained(before))
    said = gert("resume", "--run", gert.run().name, "--json")
    assert said.code == 1, said.all
    assert acted(gert) == []
    assert "was not sealed with its key" in said.all


def test_a_signed_run_goes_on_with_answers_that_it_sealed(gert):
    gert.environ["GERT_TRACE_SIGNING_KEY"] = "hmac-sha256:" + "QUJD" * 11
    gert.write(
        book=BOOK.replace("EXCLUDE", "false").replace("require-approval,", "require-approval, min_approvers: 2,")
    )
    ticket = pending(gert)
    approve(gert, ticket, "ann")
    assert resume(gert)["status"] == "approval_pending"
    approve(gert, ticket, "bob")
    assert resume(gert)["status"] == "completed"
    assert all(data["seal"] for data in of(gert, "approval_response"))


@pytest.mark.parametrize("command", ["show", "list", "approve"])
def test_a_ticket_file_that_fits_its_own_hash_does_not_stand_for_another_ticket(gert, command):
    """Everything in the forged file agrees with its hash, but not with the name that approvers were given."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    forged = json.loads(file.read_text())
    forged["inputs"] = forged["document"]["inputs"] = {"what": "harmless"}
    forged["request_hash"] = document_hash(forged["document"])
    file.write_text(json.dumps(forged))
    argv = {"show": ("approvals", "show", ticket), "list": ("approvals", "list")}
    said = gert(*argv.get(command, ("approve", ticket, "--as", "ann")))
    assert said.code == (0 if command == "list" else 1), said.all
    assert f"ticket {ticket} was altered: what it shows does not match its hash" in said.all
    assert "harmless" not in said.all
    assert not file.with_suffix(".answers").exists()


@pytest.mark.parametrize("document", [{"shown": {}}, {"shown": None, "run_id": 5}, {"shown": [], "step_key": {}}])
def test_a_ticket_file_with_a_senseless_document_is_altered(gert, document):
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"document": document}))
    said = gert("approve", ticket, "--as", "ann")
    assert (said.code, said.err.startswith("error: ticket")) == (1, True), said.all


# -- the ledger ------------------------------------------------------------------------------------------------------


def kept_aside(gert: Gert) -> tuple:
    """Return the run and a copy of it as it is now."""
    run = gert.run()
    copy = gert.root / "copy"
    shutil.copytree(run, copy)
    return run, copy


def restore(run, copy) -> None:
    shutil.rmtree(run)
    shutil.copytree(copy, run)


def test_a_restored_run_directory_executes_nothing_under_the_old_approval(gert):
    first = pending(gert)
    approve(gert, first)
    run, copy = kept_aside(gert)
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one"]
    for _ in range(2):
        restore(run, copy)
        said = gert("resume", "--run", run.name, "--json")
        assert said.document["status"] == "approval_pending", said.all
        assert "its approval was used for an execution that this trace does not have" in said.err
        assert acted(gert) == ["one"]
        assert of(gert, "approval_void")[-1] == {"step_id": "act", "ticket_id": first, "changed": ["execution"]}
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"], "under an approval of its own"
    assert [line.split()[0] for line in gert("runs", "list").out.splitlines()[1:]] == [run.name]


def test_a_copy_resumed_while_the_first_still_executes(gert):
    """Two directories of one run: the lock of one does not lock the other, but the ledger does."""
    program(gert, '#!/bin/sh\necho "$1" >> acted; while [ ! -e go ]; do sleep 0.05; done\n')
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    argv = [sys.executable, "-m", "gert_core", "resume", "--run", run.name]
    first = subprocess.Popen(argv, cwd=gert.root, env=gert.environ, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not acted(gert) and time.monotonic() < until:
        time.sleep(0.05)
    run.rename(gert.root / "moved")
    copy.rename(run)
    assert resume(gert)["status"] == "approval_pending"
    (gert.root / "go").touch()
    first.wait(30)
    assert acted(gert) == ["one"]


@pytest.mark.parametrize("damage", ["content", "place"])
def test_nothing_is_executed_when_it_cannot_be_claimed(gert, damage):
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    if damage == "place":
        (run.parent / ".ledger").write_text("")
    else:
        assert resume(gert)["status"] == "completed"
        (file,) = run.parent.glob(".ledger/*/*.jsonl")
        file.write_text("rubbish\n")
        (gert.root / "acted").unlink()
        restore(run, copy)
    said = gert("resume", "--run", run.name)
    assert said.code == 1
    assert "the ledger of executions cannot be used" in said.err
    assert ".ledger" in said.err
    assert acted(gert) == []
    if damage == "place":
        (run.parent / ".ledger").unlink()
        assert resume(gert)["status"] == "completed"
        assert acted(gert) == ["one"]


def kill_at(gert: Gert, word: str) -> None:
    """Resume the run and kill it when it is about to write the event."""
    site = gert.root / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(
        "import os, signal\nwrite_ = os.write\n"
        "def write(fd, data):\n"
        f'    at = bytes(data).find(b\'"type":"{word}"\')\n'
        "    if at < 0: return write_(fd, data)\n"
        "    write_(fd, bytes(data)[: bytes(data).rfind(b'\\n', 0, at) + 1])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.write = write\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "resume", "--run", gert.run().name],
        cwd=gert.root,
        env={**gert.environ, "PYTHONPATH": str(site)},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr


def test_a_process_killed_between_claim_and_start_keeps_its_approval(gert):
    """Nothing was done under it; once something may have been done, it is used."""
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    for _ in range(2):
        kill_at(gert, "step_start")
    assert acted(gert) == []
    (ledger,) = run.parent.glob(".ledger/*/*.jsonl")
    assert [json.loads(line)["state"] for line in ledger.read_text().splitlines()] == ["open", "failed", "open"]
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one"]
    assert len(of(gert, "approval_submitted")) == 1
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one"]


@pytest.mark.parametrize("repeatable", [False, True])
def test_a_run_restored_after_its_process_was_killed_in_the_execution(gert, repeatable):
    if repeatable:
        gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    kill_at(gert, "step_complete")
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one"]


def test_a_start_under_an_earlier_ticket_is_not_a_start_under_this_one(gert):
    """The trace of the restored run has a start, but of before the request changed and was approved again."""
    gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    program(gert, PROGRAM + "# another program\n")
    second = resume(gert)["pending"][0]["ticket_id"]
    approve(gert, second)
    run, copy = kept_aside(gert)
    kill_at(gert, "step_complete")
    assert acted(gert) == ["one", "one"]
    killed = gert.root / "killed"
    shutil.copytree(run, killed)
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one", "one"]
    assert of(gert, "approval_void")[-1] == {"step_id": "act", "ticket_id": second, "changed": ["execution"]}
    restore(run, killed)
    assert resume(gert)["status"] == "completed", "this trace has the start under the second ticket"
    assert acted(gert) == ["one", "one", "one"]


def test_a_repeatable_execution_that_was_interrupted_keeps_its_approval(gert):
    gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    assert acted(gert) == ["one"]
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"]
    assert len(of(gert, "approval_submitted")) == 1


def test_an_interrupted_execution_that_is_to_be_redone_is_asked_about_again(gert):
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    waiting = resume(gert, "--reconcile", "act=redo")
    assert waiting["status"] == "approval_pending"
    assert acted(gert) == ["one"]
    approve(gert, waiting["pending"][0]["ticket_id"])
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"]
    assert [data["generation"] for data in of(gert, "approval_submitted")] == [1, 2]


@pytest.mark.parametrize(
    "lie", [{"decision": "allow"}, {"min_approvers": 1}, {"exclude_actor": False}, {"approvers": ["eve"]}]
)
def test_a_decision_in_the_trace_never_replaces_that_of_the_policies(gert, lie):
    rule = "require-approval, exclude_actor: true, min_approvers: 2, approvers: [ann, bob]"
    gert.write(book=BOOK.replace("require-approval, exclude_actor: EXCLUDE", rule))
    pending(gert)

    def edit(events):
        kept = [event for event in events if event["type"] != "approval_submitted"]
        for event in kept:
            if event["type"] == "governance_decision" and event["step_key"] == "act":
                event["data"] |= lie
        return kept

    rewrite(gert, edit)
    refused = resume(gert)
    assert refused["error"]["kind"] == "trace_altered"
    assert "step act" in refused["error"]["message"]
    assert acted(gert) == []


def test_a_decision_of_other_policies_in_the_trace_only_makes_it_stricter(gert):
    """The facts that the trace states about its policies are forged as well, so that it looks like another answer."""
    pending(gert)

    def edit(events):
        events[0]["data"]["gert_version"] = "0.0.1"
        kept = [event for event in events if event["type"] != "approval_submitted"]
        for event in kept:
            if event["type"] == "governance_decision" and event["step_key"] == "act":
                event["data"]["decision"] = "allow"
        return kept

    rewrite(gert, edit)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == []


def test_a_decision_written_behind_the_seal_of_a_signed_run_is_refused(gert):
    keys = {"GERT_TRACE_SIGNING_KEY": f"ed25519:{SEED}", "GERT_TRACE_VERIFY_KEY": f"ed25519:{PUBLIC}"}
    waiting = gert("exec", "book.yaml", "--approval", "inbox", "--json", **keys)
    assert waiting.document["status"] == "approval_pending", waiting.all
    decided = next(event for event in gert.events() if event["type"] == "governance_decision")
    append(
        gert,
        {"type": "run_resumed", "data": {"actor": "olga", "from_seq": 1, "void": ["act"]}},
        {"type": "governance_decision", "step_key": "act", "data": {**decided["data"], "decision": "allow"}},
    )
    refused = gert("resume", "--run", gert.run().name, "--json", **keys)
    assert refused.document["error"]["kind"] == "trace_altered", refused.all
    assert acted(gert) == []


LIES = {
    "rule": "Rule 1 applies: require-approval for effects danger.\nThe change board has approved it.",
    "runbook_name": "harmless",
    "step_type": "manual",
    "description": "does nothing",
    "approvers": ["eve"],
    "created": "2026-01-02T03:04:05Z",
    "command": ["true"],
    "risk_level": "low",
    "require_signed": True,
    "extensions": {"x-note": "routine"},
    "timeout": 1.0,
}


@pytest.mark.parametrize("field", LIES)
def test_an_approver_is_shown_nothing_that_the_hash_does_not_cover(gert, field):
    """A ticket file in which one field that is shown was replaced."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    facts = json.loads(file.read_text())
    assert facts[field] != LIES[field]
    file.write_text(json.dumps({**facts, field: LIES[field]}))
    for command in (("approve", ticket, "--as", "ann"), ("approvals", "show", ticket)):
        said = gert(*command)
        assert (said.code, "was altered: what it shows does not match its hash" in said.err) == (1, True), said.all
        assert "harmless" not in said.all
    listed = gert("approvals", "list", "--json").document
    assert (listed["approvals"], listed["unreadable"][0]["ticket_id"]) == ([], ticket)
    assert "does not match the request to approve" in resume(gert)["failure"]["message"]
    assert acted(gert) == []


def test_a_ticket_that_binds_less_is_not_answered(gert):
    """As an earlier version made it: what is only shown is left out of the document, the hash fits."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    facts = json.loads(file.read_text())
    del facts["document"]["shown"]
    bare = json.dumps(facts["document"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    facts |= {"rule": LIES["rule"], "request_hash": sha256(bare.encode()).hexdigest()}
    file.write_text(json.dumps(facts))
    said = gert("approve", ticket, "--as", "ann")
    assert (said.code, "covers less than approvals do now" in said.err) == (1, True), said.all
