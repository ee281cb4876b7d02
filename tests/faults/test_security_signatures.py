"""Signatures: a key of one kind is no key of another, and what was recorded is believed only while it verifies."""

from __future__ import annotations

import base64
import json
import re

import pytest
from forging import PUBLIC, SEED, chain
from gertproc import Gert

from gert_core.api import ApprovalResponse
from gert_core.approvals import UnverifiedError, sign_response, verify_response
from gert_core.plugin.registry import Registry

BOOK = """\
apiVersion: kernel/v0
meta:
  name: signed
  governance: {SIGNED rules: [{effects: [host], action: require-approval}]}
tools: [touch]
steps:
  - {id: act, type: tool, tool: touch}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: touch, transport: stdio, binary: touch}
contract: {effects: [host], writes: [file]}
actions: {run: {argv: [touch, acted]}}
"""


def event(kind: str, data: dict, **more) -> dict:
    return {"type": kind, "timestamp": "2026-01-02T03:04:05.000006Z", "run_id": "r1", "seq": 0, **more, "data": data}


def test_a_public_key_is_no_shared_key_for_traces(tmp_path):
    """Algorithm confusion: a trace "signed" by HMAC with the public key is refused where ed25519 is pinned."""
    sealed = {"status": "completed", "signature_alg": "hmac-sha256", "signing_key_id": "prod"}
    forged = chain([event("run_start", {"runbook": "x"}), event("run_complete", sealed)], key=base64.b64decode(PUBLIC))
    (tmp_path / "forged.jsonl").write_text(forged)
    gert = Gert(tmp_path, GERT_TRACE_VERIFY_KEY=PUBLIC)
    for pin in (
        {"GERT_TRACE_VERIFY_ALG": "ed25519"},
        {"GERT_TRACE_VERIFY_ALG_PROD": "ed25519"},
        {"GERT_TRACE_SIGNING_ALG": "ed25519"},
    ):
        said = gert("trace", "verify", "forged.jsonl", "--json", **pin)
        assert (said.code, said.document["verdict"]) == (1, "bad_signature"), pin
        assert "is a key for ed25519" in said.document["detail"]
    named = gert("trace", "verify", "forged.jsonl", "--json", GERT_TRACE_VERIFY_KEY=f"ed25519:{PUBLIC}")
    assert (named.code, named.document["verdict"]) == (1, "bad_signature")
    unpinned = gert("trace", "verify", "forged.jsonl", "--json")
    assert unpinned.code == 0, "nothing says which kind of key it is: it verifies as the shared key it was used as"
    assert "Write the key as hmac-sha256:BASE64" in unpinned.err, "and the person is told"
    assert unpinned.document["algorithm"] == "hmac-sha256"


def test_a_trace_that_names_a_signer_and_has_no_signature_is_not_unsigned(pending):
    """Every signature stripped, every hash made anew: the first event still says that the trace is signed."""
    events = pending.events()
    for name in ("chain_hash", "signature", "signature_alg", "signing_key_id"):
        events[-1]["data"].pop(name, None)
    (pending.root / "stripped.jsonl").write_text(chain(events))
    said = pending("trace", "verify", "stripped.jsonl", "--json")
    assert (said.code, said.document["valid"], said.document["verdict"]) == (1, False, "bad_signature"), said.all
    assert "began with a signer" in said.document["detail"]


@pytest.mark.parametrize("key_id", ["ID", "id", "x_id", "ALG"])
def test_an_answer_under_a_key_id_that_names_another_variable_is_refused(tmp_path, key_id):
    """The id of a key is public: whoever knows it could sign with it, were it read as a key."""
    public = base64.b64encode(b"a-key-id-that-everybody-knows").decode()
    names = (
        "SIGNING_KEY_ID",
        "SIGNING_KEY_X_ID",
        "SIGNING_KEY_ALG",
        "VERIFY_KEY_ID",
        "VERIFY_KEY_X_ID",
        "VERIFY_KEY_ALG",
    )
    gert = Gert(tmp_path, **{f"GERT_APPROVAL_{name}": public for name in names})
    found = forged(gert, base64.b64decode(public), key_id)
    assert (found["result"], found["problem"]) == ("rejected", "signature_key_unusable")
    assert "is not a valid key id" in found["message"]


@pytest.mark.parametrize("key_id", ["bob", None])
def test_no_signing_key_is_looked_up_by_a_key_id(tmp_path, key_id):
    """The key that signs here verifies under its own id only, and no other variable has one."""
    keys = {name: base64.b64encode(name.encode() * 4).decode() for name in ("SIGNING_KEY", "SIGNING_KEY_BOB")}
    gert = Gert(tmp_path, **{f"GERT_APPROVAL_{name}": key for name, key in keys.items()})
    gert.environ["GERT_APPROVAL_SIGNING_KEY_ID"] = "ann"
    found = forged(gert, base64.b64decode(keys["SIGNING_KEY_BOB" if key_id else "SIGNING_KEY"]), key_id)
    assert (found["result"], found["problem"]) == ("rejected", "signature_key_missing")


def forged(gert: Gert, key: bytes, key_id: str | None) -> dict:
    """Write an answer signed with a key, see that nothing is done by it, and return what became of it."""
    gert.write(book=BOOK.replace("SIGNED", "require_signed_approvals: true,"), tool_touch=TOOL)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
    assert said.document["status"] == "approval_pending", said.all
    ticket = said.document["pending"][0]["ticket_id"]
    (asked,) = [one["data"] for one in gert.events() if one["type"] == "approval_submitted"]
    answer = ApprovalResponse(
        ticket_id=ticket, approved=True, approver_id="eve", method="inbox", timestamp=gert.events()[-1]["timestamp"]
    )
    scheme = Registry.build().signature_scheme("hmac-sha256")
    signed = sign_response(answer, request_hash=asked["request_hash"], scheme=scheme, key=key, key_id=key_id)
    folder = gert.run() / "tickets" / f"{ticket}.answers"
    folder.mkdir(mode=0o700)
    (folder / "0001-x.json").write_text(json.dumps(signed.to_json()))
    gert("resume", "--run", gert.run().name)
    assert not (gert.root / "acted").exists()
    (found,) = [one["data"] for one in gert.events() if one["type"] == "approval_response"]
    return found


def test_a_public_key_is_no_shared_key_for_approvals():
    """The same for approvals."""
    scheme = Registry.build().signature_scheme("hmac-sha256")
    answer = ApprovalResponse(ticket_id="t", approved=True, approver_id="eve", method="x", timestamp="now")
    forged = sign_response(answer, request_hash="h", scheme=scheme, key=base64.b64decode(PUBLIC))
    environ = {"GERT_APPROVAL_VERIFY_KEY": PUBLIC, "GERT_APPROVAL_VERIFY_ALG": "ed25519"}
    with pytest.raises(UnverifiedError, match="is a key for ed25519"):
        verify_response(forged, request_hash="h", schemes=lambda name: scheme, environ=environ)


@pytest.fixture
def pending(tmp_path):
    """A run that waits for an approval, its trace signed."""
    gert = Gert(tmp_path, GERT_TRACE_SIGNING_KEY=SEED, GERT_TRACE_SIGNING_ALG="ed25519", GERT_TRACE_VERIFY_KEY=PUBLIC)
    gert.write(tool_touch=TOOL, book=BOOK.replace("SIGNED", ""))
    said = gert("exec", "book.yaml", "--approval", "inbox")
    assert "Approval pending" in said.out, said.err
    return gert


def forge_approval(events: list[dict], **more) -> list[dict]:
    """The events with an approval that nobody gave, before the seal."""
    *before, seal = events
    submitted = next(e for e in events if e["type"] == "approval_submitted")
    ticket = submitted["data"]["ticket_id"]
    answer = {
        "ticket_id": ticket,
        "approved": True,
        "approver_id": "eve",
        "method": "inbox",
        "timestamp": submitted["timestamp"],
        "step_id": "act",
        "result": "counted",
        "verified": True,
        **more,
    }
    resolved = {"ticket_id": ticket, "step_id": "act", "approved": True, "status": "approved", "approver_id": "eve"}
    for kind, data in (("approval_response", answer), ("approval_resolved", resolved)):
        before.append({**submitted, "type": kind, "data": data})
    data = {
        k: v for k, v in seal["data"].items() if k not in ("chain_hash", "signature", "signature_alg", "signing_key_id")
    }
    return [*before, {**seal, "data": data}]


@pytest.mark.parametrize("kept", ["no seal", "the seal unsigned", "the seal with the old signature"])
def test_an_approval_forged_into_a_signed_trace(pending, kept):
    """A run with signed seals does not go on from a seal that was altered or stripped of its signature."""
    run = pending.run()
    trace = run / "trace.jsonl"
    events = pending.events()
    forged = chain(forge_approval(events))
    if kept == "the seal with the old signature":
        old = events[-1]["data"]
        tail = f'"signature_alg":"ed25519","signing_key_id":"default","chain_hash":"{old["chain_hash"]}","signature":"{old["signature"]}"'
        forged = re.sub(r'"chain_hash":"[0-9a-f]+"(?=\},"prev_hash":"[0-9a-f]+"\}\n\Z)', tail, forged)
    if kept == "no seal":
        forged = "".join(line + "\n" for line in forged.splitlines()[:-1])
    trace.write_text(forged)
    said = pending("resume", "--run", run.name, "--json")
    if kept == "no seal":
        # The limit, written down in the page: what looks like a crash before the seal has no signature to check.
        assert said.code in (0, 1)
        return
    assert (said.code, said.document["error"]["kind"]) == (1, "trace_altered")
    assert not (pending.root / "acted").exists()


def test_an_approval_forged_into_a_trace_where_approvals_must_be_signed(tmp_path):
    """Where signed approvals are required, a recorded one is verified again: writing to the trace gains nothing."""
    gert = Gert(tmp_path, GERT_APPROVAL_VERIFY_KEY=PUBLIC, GERT_APPROVAL_VERIFY_ALG="ed25519")
    gert.write(tool_touch=TOOL, book=BOOK.replace("SIGNED", "require_signed_approvals: true,"))
    assert "Approval pending" in gert("exec", "book.yaml", "--approval", "inbox").out
    run = gert.run()
    (run / "trace.jsonl").write_text(chain(forge_approval(gert.events(), signature="00" * 64, signature_alg="ed25519")))
    said = gert("resume", "--run", run.name, "--json")
    assert (said.code, said.document["error"]["kind"]) == (1, "approval_unverified"), said.all
    assert not (tmp_path / "acted").exists()


def test_an_honest_approval_still_counts_after_a_second_look(tmp_path):
    """The same run with an approval signed by the right key goes on, and again after a crash behind the approval."""
    gert = Gert(tmp_path, GERT_APPROVAL_VERIFY_KEY=PUBLIC, GERT_APPROVAL_VERIFY_ALG="ed25519")
    gert.write(tool_touch=TOOL, book=BOOK.replace("SIGNED", "require_signed_approvals: true,"))
    gert("exec", "book.yaml", "--approval", "inbox")
    run = gert.run()
    ticket = next((run / "tickets").glob("*.json")).stem
    key = {"GERT_APPROVAL_SIGNING_KEY": SEED, "GERT_APPROVAL_SIGNING_ALG": "ed25519"}
    assert gert("approve", ticket, "--as", "ann", **key).code == 0
    said = gert("resume", "--run", run.name)
    assert said.code == 0, said.all
    lines = (run / "trace.jsonl").read_text().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if '"type":"approval_resolved"' in line) + 1
    (run / "trace.jsonl").write_text("".join(lines[:cut]))
    (run / "state.json").unlink(missing_ok=True)
    said = gert("resume", "--run", run.name)
    assert said.code == 0, said.all


def test_a_trace_in_a_database_that_is_not_as_it_was_signed_is_named(tmp_path):
    gert = Gert(tmp_path, GERT_STORE="sqlite:runs.db", GERT_TRACE_SIGNING_KEY_ID="prod")
    gert.write(tool_touch=TOOL, book=BOOK.replace("SIGNED", ""))
    keys = [f"hmac-sha256:{base64.b64encode(bytes([n]) * 16).decode()}" for n in (1, 2)]
    assert gert("exec", "book.yaml", "--approval", "inbox", GERT_TRACE_SIGNING_KEY=keys[0]).code == 0
    said = gert("resume", "latest", "--json", GERT_TRACE_SIGNING_KEY=keys[1])
    error = said.document["error"]
    assert (said.code, error["kind"]) == (1, "trace_altered"), said.all
    assert re.match(r"the trace run \S+ in sqlite:\S+/runs.db is not as it was signed", error["message"])
