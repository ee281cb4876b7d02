"""What a run directory may claim: nothing in it, nor a trace it points at, is believed, cut or written unless it is of its run.

Real files, links, pipes and owners; every attack is made with gert as a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import shutil
import subprocess
import time
from base64 import b64encode

import pytest
from forging import chain
from gertproc import COMMAND, Gert
from users import NOBODY

from gert_core.plugin.registry import Registry
from gert_core.trace.signing import signer_from_environ

KEY = {"GERT_TRACE_SIGNING_KEY": "hmac-sha256:c2lnbmluZy1rZXktMDEyMzQ1Njc4OQ==", "GERT_TRACE_SIGNING_KEY_ID": "night"}
SEED = "ed25519:nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
BOOK = """\
apiVersion: kernel/v0
meta: { name: fix, governance: { rules: [{ effects: [network], action: require-approval }] } }
tools: [box]
steps:
  - { id: act, type: tool, tool: box }
  - { type: end, outcome: { category: resolved, code: acted } }
"""
ASKING = BOOK.replace("name: fix,", "name: fix, inputs: { token: { type: string, secret: true, from: prompt } },")
TOOL = """\
apiVersion: tool/v0
meta: { name: box, transport: stdio }
contract: { effects: [network], writes: [box] }
actions: { do: { argv: [touch, done] } }
"""
TORN = b'{"type":"run_resumed","timest'
VICTIM = b"precious\nline without an end"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_box=TOOL)
    return made


def pending(gert, **environ):
    """A run that waits for an approval; return its directory and its ticket."""
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json", **environ)
    assert said.document["status"] == "approval_pending", said.all
    return gert.root / "runs" / said.document["run_id"], said.document["pending"][0]["ticket_id"]


def approve(gert, ticket, who="ann"):
    said = gert("approve", ticket, "--as", who)
    assert said.code == 0, said.all


def resume(gert, run, **environ):
    return gert("resume", "--run", run.name, "--json", **environ)


def refused(gert, run, kind, **environ):
    """The run is not resumed, and nothing was done; return the sentence."""
    trace = run / "trace.jsonl"
    before = trace.read_bytes() if trace.is_file() else None
    said = resume(gert, run, **environ)
    assert (said.code, said.document["error"]["kind"]) == (1, kind), said.all
    assert not (gert.root / "done").exists()
    assert before is None or trace.read_bytes() == before
    return said.document["error"]["message"]


def status(gert, run):
    listed = {entry["run_id"]: entry for entry in gert("runs", "list", "--json").document["runs"]}
    return listed[run.name]["status"]


def chained(events):
    """Events as an attacker without a key writes them: every hash is right, and there is no seal."""
    previous, lines = "0" * 64, []
    for event in events:
        fields = {name: value for name, value in event.items() if name != "prev_hash"}
        line = json.dumps({**fields, "prev_hash": previous}, separators=(",", ":"), ensure_ascii=False)
        previous = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line + "\n")
    return "".join(lines)


# -- signers --------------------------------------------------------------------------------------------------------


def test_a_signed_run_goes_on_with_its_own_signer_only(gert):
    run, ticket = pending(gert, **KEY)
    approve(gert, ticket)
    (run / "meta.json").write_text("{}")
    assert "no signing key is set" in refused(gert, run, "signing_key_missing")
    named = refused(gert, run, "signer_changed", **KEY | {"GERT_TRACE_SIGNING_KEY_ID": "day"})
    assert "night" in named
    assert "day" in named
    other = KEY | {"GERT_TRACE_SIGNING_KEY": SEED, "GERT_TRACE_VERIFY_KEY": KEY["GERT_TRACE_SIGNING_KEY"]}
    assert "ed25519" in refused(gert, run, "signer_changed", **other)
    assert resume(gert, run, **KEY).document["status"] == "completed"


@pytest.mark.parametrize("by", ["signed", "project", "nothing"])
def test_a_policy_of_the_command_line_stays_in_a_signed_trace(gert, by):
    keys = KEY if by == "signed" else {}
    rule = "{ effects: [network], action: require-approval }"
    policy = "apiVersion: policy/v0\nmeta: { name: strict }\nrules: [RULE]\n".replace("RULE", rule)
    (gert.root / "strict.yaml").write_text(policy)
    (gert.root / "book.yaml").write_text(BOOK.replace(f", governance: {{ rules: [{rule}] }}", ""))
    if by == "project":
        (gert.root / "policies").mkdir()
        (gert.root / "policies" / "own.policy.yaml").write_text(policy.replace("strict", "own"))
        (gert.root / "gert-project.yaml").write_text("policies: [policies/own.policy.yaml]\n")
    words = ("exec", "book.yaml", "--approval", "inbox", "--json")
    run = gert.root / "runs" / gert(*words, "--policy", "strict.yaml", **keys).document["run_id"]
    without = gert.root / "runs" / gert(*words, **keys).document["run_id"]
    (gert.root / "done").unlink(missing_ok=True)
    events, others = (
        [json.loads(line) for line in (one / "trace.jsonl").read_text().splitlines()] for one in (run, without)
    )
    assert [event["type"] for event in events][-1] == "run_suspended"
    events[0]["data"] |= {name: value for name, value in others[0]["data"].items() if "polic" in name}
    signature = events[-1]["data"].pop("signature", None)
    events[-1]["data"].pop("chain_hash")
    kept = [events[0], events[-1]]  # the ticket was never asked for
    (run / "trace.jsonl").write_text(chain(kept, sign=None if signature is None else lambda _: signature))
    shutil.rmtree(run / "tickets")
    (run / "state.json").unlink(missing_ok=True)
    said = resume(gert, run, **keys)
    assert (gert.root / "done").exists() == (by == "nothing"), said.all
    if by == "signed":
        assert said.document["error"]["kind"] == "trace_altered"
    elif by == "project":
        assert said.document["status"] == "approval_pending"


@pytest.mark.parametrize("fingerprint", ["recorded", "of 0.1", "forged"])
@pytest.mark.parametrize("algorithm", ["hmac-sha256", "ed25519"])
def test_another_key_under_the_same_id_is_another_signer(gert, algorithm, fingerprint):
    own, other = (f"{algorithm}:{b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
    keys, others = ({"GERT_TRACE_SIGNING_KEY": key, "GERT_TRACE_SIGNING_KEY_ID": "night"} for key in (own, other))
    run, ticket = pending(gert, **keys)
    approve(gert, ticket)
    if fingerprint != "recorded":
        _with_fingerprint_of(gert, run, others if fingerprint == "forged" else None, seal=keys)
    # A shared key verifies what it signs, so its seals are found not to be its own before anything else.
    assert "sign" in refused(gert, run, "signer_changed" if algorithm == "ed25519" else "trace_altered", **others)
    assert not (gert.root / "done").exists()
    if fingerprint != "forged":
        assert resume(gert, run, **keys).document["status"] == "completed"


def _with_fingerprint_of(gert, run, keys, *, seal):
    """Write another fingerprint (or none) into the trace of a run, and seal it again with the run's own key."""
    trace = run / "trace.jsonl"
    registry, signer = Registry.build(), None
    if keys is not None:
        signer = signer_from_environ(keys, registry.signature_scheme)
    own = signer_from_environ(seal, registry.signature_scheme)
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    events[0]["data"]["signer"].pop("fingerprint")
    if signer is not None:
        events[0]["data"]["signer"]["fingerprint"] = signer.fingerprint
    for name in ("chain_hash", "signature"):
        events[-1]["data"].pop(name)
    trace.write_text(chain(events, sign=own.sign))


def test_no_key_signs_what_was_written_without_one(gert):
    """The seal and every word of the signer are gone: the next process must not sign what somebody else wrote."""
    run, ticket = pending(gert, **KEY)
    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    events[0]["data"]["signer"] = None
    (run / "trace.jsonl").write_text(chained(events[:-1]))
    meta = json.loads((run / "meta.json").read_text())
    del meta["signed"]
    (run / "meta.json").write_text(json.dumps(meta))
    approve(gert, ticket)
    assert "began without a signature" in refused(gert, run, "signer_changed", **KEY)
    assert resume(gert, run).document["status"] == "completed", "it goes on as what it is: unsigned"


# -- the trace of a run ----------------------------------------------------------------------------------------------


def test_a_copied_run_is_not_another_run(gert):
    run, ticket = pending(gert)
    approve(gert, ticket)
    copy = run.with_name(f"{run.name}-copy")
    shutil.copytree(run, copy)
    assert f"is of run {run.name}, not of {copy.name}" in refused(gert, copy, "trace_altered")
    assert status(gert, copy) == "unreadable"
    (copy / "state.json").unlink(missing_ok=True)
    assert status(gert, copy) == "unreadable"
    assert status(gert, run) == "approval_pending"
    assert f"is of run {run.name}, not of" in gert("runs", "show", copy.name).out
    listed = gert("approvals", "list", "--all", "--json").document
    assert [entry["request"]["run_id"] for entry in listed["approvals"]] == [run.name]
    assert [entry["run_id"] for entry in listed["unreadable"]] == [copy.name]


def test_an_event_of_another_run_makes_a_run_unreadable(gert):
    run, _ = pending(gert)
    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    events[2]["run_id"] = "20990101T000000Z-other"
    (run / "trace.jsonl").write_text(chained(events[:-1]))
    assert status(gert, run) == "unreadable"
    refused(gert, run, "trace_altered")


def test_what_was_chosen_is_in_the_trace_and_meta_json_only_finds_it(gert):
    """Another runbook, directory, mode, provider, signer or list of policies in ``meta.json`` changes nothing."""
    gert.write(book=BOOK.replace(", governance: { rules: [{ effects: [network], action: require-approval }] }", ""))
    floor = "apiVersion: policy/v0\nmeta: {name: floor}\nrules: [{effects: [network], action: require-approval}]\n"
    (gert.root / "floor.yaml").write_text(floor)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "floor.yaml", "--json")
    assert said.document["status"] == "approval_pending", said.all
    run, elsewhere = gert.run(), gert.root / "elsewhere"
    elsewhere.mkdir()
    (gert.root / "mild.yaml").write_text((gert.root / "book.yaml").read_text().replace("touch", "true"))
    planted = {
        "runbook_path": str(gert.root / "mild.yaml"),
        "policies": [],
        "approval": "stdin",
        "mode": "dry-run",
        "cwd": str(elsewhere),
        "signed": "night",
        "trace_sync": "none",
        "store": "file:elsewhere",
        "run_id": "20990101T000000Z-other",
    }
    (run / "meta.json").write_text(json.dumps(json.loads((run / "meta.json").read_text()) | planted))
    assert resume(gert, run).document["status"] == "approval_pending"
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert, run).document["status"] == "completed"
    assert (gert.root / "done").exists()
    assert list(elsewhere.iterdir()) == []


def foreign_trace(gert):
    run, _ = pending(gert)
    return (run / "trace.jsonl").read_bytes() + TORN


POINTED = {
    "text": lambda gert: VICTIM,
    "one line": lambda gert: b"no end",
    "zeros": lambda gert: bytes(5000),
    "json": lambda gert: b'{"a": 1}\n',
    "torn at once": lambda gert: TORN,
    "empty": lambda gert: b"",
    "another run": foreign_trace,
}


@pytest.mark.parametrize("name", POINTED)
def test_a_pointer_to_a_file_that_is_no_trace_of_the_run(gert, name):
    """``trace:`` in a planted ``meta.json`` names somebody's file: nothing of it is cut, written or copied."""
    victim = gert.root / "victim"
    victim.write_bytes(POINTED[name](gert))
    before = victim.read_bytes(), victim.stat().st_mtime_ns
    run, ticket = pending(gert)
    approve(gert, ticket)
    meta = json.loads((run / "meta.json").read_text())
    (run / "meta.json").write_text(json.dumps(meta | {"trace": str(victim)}))
    said = resume(gert, run)
    assert said.code == 1, said.all
    assert said.document["error"]["kind"] != "internal"
    status(gert, run)
    gert("approvals", "list")
    assert (victim.read_bytes(), victim.stat().st_mtime_ns) == before
    assert not (run / "trace.torn").exists()
    assert not (gert.root / "done").exists()


@pytest.mark.parametrize("name", ["pipe", "device", "directory"])
def test_a_pointer_to_no_file_at_all(gert, name):
    run, _ = pending(gert)
    target = gert.root / "target"
    if name == "pipe":
        os.mkfifo(target)
    elif name == "directory":
        target.mkdir()
    else:
        target.symlink_to("/dev/zero")
    meta = json.loads((run / "meta.json").read_text())
    (run / "meta.json").write_text(json.dumps(meta | {"trace": str(target)}))
    assert resume(gert, run).code == 1
    assert status(gert, run) == "unreadable"


# -- recovery --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pipe", "link", "second name", "directory"])
def test_torn_bytes_are_kept_in_a_file_of_the_run_only(gert, name):
    run, ticket = pending(gert)
    approve(gert, ticket)
    with (run / "trace.jsonl").open("ab") as file:
        file.write(TORN)
    victim, aside = gert.root / "victim", run / "trace.torn"
    victim.write_bytes(VICTIM)
    if name == "pipe":
        os.mkfifo(aside)
    elif name == "link":
        aside.symlink_to(victim)
    elif name == "directory":
        aside.mkdir()
    else:
        os.link(victim, aside)
    assert "trace.torn" in refused(gert, run, "run_directory")
    assert victim.read_bytes() == VICTIM
    shutil.rmtree(aside) if name == "directory" else aside.unlink()
    assert resume(gert, run).document["status"] == "completed"
    assert aside.read_bytes() == TORN + b"\n"


def asked(gert, *argv):
    """Start gert on a terminal and wait until it asks for the token."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *argv], cwd=gert.root, stdin=theirs, stdout=theirs, stderr=theirs, env=gert.environ
    )
    os.close(theirs)
    seen, until = b"", time.monotonic() + 60
    while b"token" not in seen and time.monotonic() < until:
        if select.select([ours], [], [], 1.0)[0]:
            seen += os.read(ours, 65536)
    assert b"token" in seen
    return process, ours, seen


def answer(process, terminal, text):
    """Answer the question; return everything that was said after it."""
    os.write(terminal, text)
    seen, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if select.select([terminal], [], [], 1.0)[0]:
                seen += os.read(terminal, 65536)
        except OSError:
            break
    os.close(terminal)
    return process.wait(30), seen.decode()


@pytest.mark.parametrize("name", ["link", "other file"])
def test_a_trace_exchanged_while_its_run_is_resumed(gert, name):
    """What was checked is what is cut and continued, also when somebody is faster than a person who types."""
    gert.write(book=ASKING)
    process, terminal, _ = asked(gert, "exec", "book.yaml", "--approval", "inbox")
    code, said = answer(process, terminal, b"token-of-olga\n")
    assert code == 0, said
    run = gert.run()
    (ticket,) = (run / "tickets").glob("*.json")
    approve(gert, ticket.stem)
    trace = run / "trace.jsonl"
    with trace.open("ab") as file:
        file.write(TORN)
    victim = gert.root / "victim"
    victim.write_bytes(VICTIM * 1000)
    process, terminal, _ = asked(gert, "resume", "--run", run.name)
    trace.unlink()
    if name == "link":
        trace.symlink_to(victim)
    else:
        os.link(victim, trace)
    code, said = answer(process, terminal, b"token-of-olga\n")
    assert code == 1, said
    assert "Traceback" not in said
    assert victim.read_bytes() == VICTIM * 1000
    assert not (gert.root / "done").exists()


def test_the_lock_of_a_run_overwrites_no_other_file(gert):
    run, ticket = pending(gert)
    approve(gert, ticket)
    victim = gert.root / "victim"
    victim.write_bytes(VICTIM)
    (run / "lock").unlink()
    os.link(victim, run / "lock")
    assert resume(gert, run).document["status"] == "completed"
    assert victim.read_bytes() == VICTIM


@pytest.mark.parametrize("name", ["pipe", "link", "second name"])
def test_the_list_of_running_programs_is_a_file_of_its_own(gert, name):
    run, ticket = pending(gert)
    approve(gert, ticket)
    victim, planted = gert.root / "victim", run / "children"
    victim.write_bytes(VICTIM)
    if name == "pipe":
        os.mkfifo(planted)
    elif name == "link":
        planted.symlink_to(victim)
    else:
        os.link(victim, planted)
    assert resume(gert, run).document["status"] == "completed"
    assert victim.read_bytes() == VICTIM


# -- links -----------------------------------------------------------------------------------------------------------


def test_a_linked_tickets_directory_is_not_followed(gert):
    run, ticket = pending(gert)
    outside = gert.root / "outside"
    (run / "tickets").rename(outside)
    (run / "tickets").symlink_to(outside)
    before = sorted(outside.rglob("*"))
    assert gert("approve", ticket, "--as", "ann").code == 1
    listed = gert("approvals", "list", "--json").document
    assert (listed["approvals"], [entry["run_id"] for entry in listed["unreadable"]]) == ([], [run.name])
    (outside / f"{ticket}.answers").mkdir()
    (outside / f"{ticket}.answers" / "0001-x.json").write_text(json.dumps(given(run, ticket)))
    resume(gert, run)
    assert not (gert.root / "done").exists()
    assert sorted(outside.glob("*.json")) == [path for path in before if path.suffix == ".json"]


def test_linked_answers_are_not_followed(gert):
    run, ticket = pending(gert)
    outside = gert.root / "outside"
    outside.mkdir()
    (outside / "0001-x.json").write_text(json.dumps(given(run, ticket)))
    (run / "tickets" / f"{ticket}.answers").symlink_to(outside)
    assert gert("approve", ticket, "--as", "ann").code == 1
    assert resume(gert, run).document["status"] == "approval_pending"
    assert [path.name for path in outside.iterdir()] == ["0001-x.json"]
    (run / "tickets" / f"{ticket}.answers").unlink()
    (run / "tickets" / f"{ticket}.answers").mkdir()
    (run / "tickets" / f"{ticket}.answers" / "0001-x.json").symlink_to(outside / "0001-x.json")
    assert resume(gert, run).document["status"] == "approval_pending"
    assert not (gert.root / "done").exists()


# -- answers ---------------------------------------------------------------------------------------------------------


def given(run, ticket, **more):
    """An answer as ``gert approve`` writes it."""
    created = json.loads((run / "trace.jsonl").read_text().splitlines()[-1])["timestamp"]
    answer = {"ticket_id": ticket, "approved": True, "approver_id": "ann", "method": "inbox", "timestamp": created}
    return answer | more


def responses(run):
    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    return [event["data"] for event in events if event["type"] == "approval_response"]


def test_an_answer_has_one_name(gert):
    """A second name of somebody's answer to something is not an answer here."""
    run, ticket = pending(gert)
    approve(gert, ticket)
    (file,) = (run / "tickets" / f"{ticket}.answers").iterdir()
    os.link(file, gert.root / "second")
    said = resume(gert, run)
    assert said.document["status"] == "approval_pending"
    assert f"{file} has 2 names" in said.err
    (gert.root / "second").unlink()
    assert resume(gert, run).document["status"] == "completed"


def test_the_user_who_wrote_an_answer_is_recorded(gert):
    run, ticket = pending(gert)
    folder = run / "tickets" / f"{ticket}.answers"
    folder.mkdir()
    (folder / "0001-x.json").write_text(json.dumps(given(run, ticket, uid=4242)))
    assert resume(gert, run).document["status"] == "completed"
    assert [data["uid"] for data in responses(run)] == [os.getuid()]


@needs_root
def test_another_user_can_answer_and_is_recorded(gert):
    run, ticket = pending(gert)
    approve(gert, ticket)
    (file,) = (run / "tickets" / f"{ticket}.answers").iterdir()
    os.chown(file, NOBODY, NOBODY)
    assert resume(gert, run).document["status"] == "completed"
    assert [data["uid"] for data in responses(run)] == [NOBODY]


# -- owners ----------------------------------------------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("name", ["trace.jsonl", "meta.json", "lock"])
def test_files_of_another_user_in_a_run_are_not_believed(gert, name):
    run, ticket = pending(gert)
    approve(gert, ticket)
    os.chown(run / name, NOBODY, NOBODY)
    message = refused(gert, run, "run_directory")
    assert name in message
    assert "belongs to user nobody" in message
    assert status(gert, run) == "unreadable"


@needs_root
def test_a_cache_of_another_user_is_not_believed(gert):
    run, _ = pending(gert)
    assert status(gert, run) == "approval_pending"
    cache = run / "state.json"
    assert cache.exists()
    os.chown(cache, NOBODY, NOBODY)
    assert status(gert, run) == "approval_pending"
    assert cache.stat().st_uid == os.getuid(), "it was folded again"


@needs_root
def test_a_trace_elsewhere_of_another_user_is_not_believed(gert):
    said = gert("exec", "book.yaml", "--approval", "inbox", "--trace", "elsewhere.jsonl", "--json")
    run = gert.root / "runs" / said.document["run_id"]
    approve(gert, said.document["pending"][0]["ticket_id"])
    os.chown(gert.root / "elsewhere.jsonl", NOBODY, NOBODY)
    assert "belongs to user nobody" in refused(gert, run, "run_directory")


@needs_root
def test_the_run_of_another_user_is_resumed_only_where_a_group_shares_it(gert):
    run, ticket = pending(gert)
    approve(gert, ticket)
    for path in (run, *run.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    message = refused(gert, run, "run_directory")
    assert f"run {run.name} belongs to user nobody" in message
    assert status(gert, run) == "approval_pending", "it is still listed"
    assert not (run / "state.json").exists() or (run / "state.json").stat().st_uid == NOBODY
    for path in (run, *run.rglob("*")):
        path.chmod(0o2770 if path.is_dir() else 0o660)
    assert resume(gert, run).document["status"] == "completed"


@pytest.mark.parametrize("name", ["trace.jsonl", "meta.json", "state.json", "lock", "ticket"])
def test_a_pipe_in_place_of_any_file_of_a_run_ends_with_a_sentence(gert, name):
    run, ticket = pending(gert)
    status(gert, run)
    file = run / "tickets" / f"{ticket}.json" if name == "ticket" else run / name
    file.unlink()
    os.mkfifo(file)
    for argv in (
        ("runs", "list"),
        ("runs", "show", run.name),
        ("approvals", "list"),
        ("resume", "--run", run.name),
    ):
        said = gert(*argv)
        assert said.code in (0, 1), (argv, said.all)
        assert "Traceback" not in said.all
    assert not (gert.root / "done").exists()
