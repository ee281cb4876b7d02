"""An approval is bound to what was shown: documents, inputs, command, program, policy, run and one execution."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import pytest
from binding import BOOK, TOOL, acted, approve, bound_gert, kill_at, of, pending, program, resume
from forging import PUBLIC, SEED, append, rewrite

from gert_core.approvals.binding import bound_program, changed_fields
from gert_core.engine.cancel import Deadline, Stop


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


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
        assert (void["ticket_id"], set(void["changed"])) == (first, {"tool_hash", "command.stdin", "documents"})
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


@pytest.mark.parametrize("before", ["deny", "require-approval, exclude_actor: false"])
@pytest.mark.parametrize("after", ["allow", "require-approval, exclude_actor: false"])
def test_a_softened_policy_does_not_run_again_what_it_stopped(gert, before, after):
    """What was denied, or failed under an approval, is held to its recorded decision when it is run again."""
    program(gert, code=3)
    book = BOOK.replace("EXCLUDE", "false")
    rule = "require-approval, exclude_actor: false"
    gert.write(book=book.replace(rule, before))
    if before == rule:
        approve(gert, pending(gert))
        assert resume(gert)["status"] == "failed"
    else:
        said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
        assert said.document["status"] == "failed", said.all
    done = acted(gert)
    gert.write(book=book.replace(rule, after))
    again = ("--on-drift", "allow", "--retry-failed", *(("--reconcile", "act=redo") if done else ()))
    for _ in range(2):
        said = gert("resume", "--run", gert.run().name, "--json", *again)
        again = again[:3]
        assert acted(gert) == done, said.all
        if before == "deny":
            assert said.document["failure"]["kind"] == "governance_denied", said.all
        else:
            assert said.document["status"] == "approval_pending", said.all


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


@pytest.mark.parametrize("renamed", [False, True])
def test_a_copied_run_does_not_reuse_the_approval_of_the_other(gert, renamed):
    """Copied when it was approved and had not begun, and with the copy's own id in every file and a sound chain."""
    approve(gert, pending(gert))
    kill_at(gert, "step_start")
    (first,) = gert.runs()
    assert [data["status"] for data in of(gert, "approval_resolved")] == ["approved"]
    copy = first.with_name(first.name[:-1] + ("0" if first.name[-1] != "0" else "1"))
    shutil.copytree(first, copy)
    if renamed:
        for file in copy.rglob("*.json*"):
            file.write_text(file.read_text().replace(first.name, copy.name))
        lines = (copy / "trace.jsonl").read_text().splitlines()
        (copy / "trace.jsonl").write_text(chained([json.loads(line) for line in lines]))
        (copy / "state.json").unlink(missing_ok=True)
    said = gert("resume", "--run", copy.name, "--json")
    assert acted(gert) == [], said.all
    assert said.code == 1 or said.document["status"] == "approval_pending"
    assert gert("resume", "--run", first.name).code == 0, "the run that was approved goes on"
    assert acted(gert) == ["one"]


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


def test_a_program_that_cannot_be_read_is_bound_by_its_file(tmp_path):
    """Executable and not readable: another file in its place, or another content, is noticed all the same."""
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        place.chmod(0o755)
        shutil.copy("/bin/sh", place / "act")
        (place / "act").chmod(0o111)
        first = as_another_user(place / "act")
        assert (first["program"], first["program_sha256"]) == (str(place / "act"), None)
        assert first == as_another_user(place / "act")
        info = (place / "act").stat()
        (place / "act").chmod(0o755)
        with (place / "act").open("r+b") as file:
            file.seek(100)
            file.write(b"\0")
        os.utime(place / "act", ns=(info.st_atime_ns, info.st_mtime_ns))
        (place / "act").chmod(0o111)
        written = as_another_user(place / "act")
        assert changed_fields({"command": first}, {"command": written}) == ["command.program_file"]
        shutil.copy("/bin/sh", place / "new")
        (place / "new").chmod(0o111)
        (place / "new").rename(place / "act")
        assert as_another_user(place / "act")["program_file"] not in (first["program_file"], written["program_file"])
    finally:
        shutil.rmtree(place)


def as_another_user(file: Path) -> dict[str, str | None]:
    """What is bound of a program, for somebody who is not root, who can read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        return bound_program(str(file), {}, deadline=Deadline(Stop()))
    finally:
        if root:
            os.seteuid(0)
