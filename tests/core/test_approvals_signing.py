"""Signed approvals: what a signature covers, which key checks it, and ten ways to cheat that fail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gert_signature_ed25519
import gert_signature_hmac
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from msgspec.structs import replace

from gert_core.api import ApprovalRequest, ApprovalResponse, ApprovalTicket
from gert_core.approvals import (
    ApprovalProcess,
    UnverifiedError,
    sign_response,
    signature_payload,
    verify_response,
)
from gert_core.approvals.binding import changed_fields, document_hash
from gert_core.approvals.checks import Approvals
from gert_core.approvals.requests import format_time
from gert_core.engine.cancel import Deadline, Stop
from gert_core.keys import APPROVAL, UnusableKeyError, signing_key, variable

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SCHEMES = {
    scheme.algorithm: scheme
    for plugin in (gert_signature_hmac, gert_signature_ed25519)
    for scheme in plugin.gert_signature_schemes()
}
HMAC, ED25519 = SCHEMES["hmac-sha256"], SCHEMES["ed25519"]
SECRET = bytes(range(32))
HASH = document_hash({"step_id": "restart", "contract": {"writes": ["p"]}, "inputs": {"s": "api"}})


def pair():
    private = Ed25519PrivateKey.generate()
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return raw, private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


ALICE, ALICE_PUBLIC = pair()
BOB, BOB_PUBLIC = pair()
MALLORY, MALLORY_PUBLIC = pair()


def b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


KEYS = {
    "GERT_APPROVAL_VERIFY_KEY_ALICE": b64(ALICE_PUBLIC),
    "GERT_APPROVAL_VERIFY_KEY_BOB_2": b64(BOB_PUBLIC),
    "GERT_APPROVAL_VERIFY_ALG": "ed25519",
}


def request(**more):
    facts = {
        "ticket_id": "t-1",
        "run_id": "r",
        "step_id": "restart",
        "step_key": "restart",
        "runbook_name": "fix",
        "step_type": "tool",
        "description": "",
        "risk_level": "critical",
        "contract": {"writes": ["p"]},
        "inputs": {"s": "api"},
        "request_hash": HASH,
        "created": format_time(START),
        "expires_at": format_time(START + timedelta(minutes=30)),
        "requested_by": "olga",
        "require_signed": True,
        "min_approvers": 2,
    }
    return ApprovalRequest(**facts | more)


def response(approver="alice", *, ticket="t-1", approved=True, at=START):
    return ApprovalResponse(
        ticket_id=ticket, approved=approved, approver_id=approver, method="test", timestamp=format_time(at)
    )


def signed(answer=None, *, key=ALICE, key_id="alice", scheme=ED25519, over=HASH):
    return sign_response(answer or response(), request_hash=over, scheme=scheme, key=key, key_id=key_id)


def settle(*answers, environ=KEYS, asked=None, schemes=SCHEMES.get, actor="olga", recorded=()):
    events = []

    class Provider:
        def submit(self, asked):
            return ApprovalTicket(ticket_id=asked.ticket_id)

        def wait(self, ticket, deadline):
            return queue.pop(0) if queue else None

    queue = list(answers)
    process = ApprovalProcess(
        session=Provider(),
        blocking=False,
        emit=lambda kind, data, principal: events.append((kind, dict(data))),
        sync=lambda: None,
        now=lambda: START,
        known=Approvals(actors=frozenset({actor}), schemes=schemes, environ=environ),
    )
    settled = process.decide(asked or request(), deadline=Deadline(Stop()), recorded=recorded)
    return settled, events


def good_bob():
    return signed(response("bob"), key=BOB, key_id="bob-2")


# --- what is signed ---


def test_the_request_hash_is_the_digest_of_canonical_json():
    facts = {"runbook_hash": "sha256:é", "step_id": "s", "contract": {"b": 1, "a": []}, "inputs": {"x": None}}
    text = '{"contract":{"a":[],"b":1},"inputs":{"x":null},"runbook_hash":"sha256:é","step_id":"s"}'
    assert document_hash(facts) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("changed", ["runbook_hash", "step_id", "contract", "inputs"])
def test_the_request_hash_changes_with_every_part_of_the_request(changed):
    facts = {"runbook_hash": "sha256:a", "step_id": "s", "contract": {"a": 1}, "inputs": {"x": 1}}
    other = facts | {changed: "other" if isinstance(facts[changed], str) else {"y": 2}}
    assert document_hash(facts) != document_hash(other)
    assert changed_fields(facts, other) == [changed]


def test_the_signature_covers_ticket_verdict_approver_time_and_request():
    assert json.loads(signature_payload(response(), HASH)) == {
        "ticket_id": "t-1",
        "approved": True,
        "approver_id": "alice",
        "timestamp": format_time(START),
        "request_hash": HASH,
    }


def test_an_hmac_signature_is_lowercase_hex_anybody_can_recompute():
    made = signed(key=SECRET, key_id="k", scheme=HMAC)
    expected = hmac.new(SECRET, signature_payload(made, HASH), hashlib.sha256).hexdigest()
    assert (made.signature, made.signature_alg, made.key_id) == (expected, "hmac-sha256", "k")


# --- keys ---


@pytest.mark.parametrize(
    ("key_id", "named"),
    [
        (None, "GERT_APPROVAL_VERIFY_KEY"),
        ("ops", "GERT_APPROVAL_VERIFY_KEY_OPS"),
        ("ops-2.b", "GERT_APPROVAL_VERIFY_KEY_OPS_2_B"),
    ],
)
def test_a_key_id_names_its_variable(key_id, named):
    assert variable("GERT_APPROVAL_VERIFY_KEY", key_id) == named
    answer = signed(key=SECRET, key_id=key_id, scheme=HMAC)
    verify_response(answer, request_hash=HASH, schemes=SCHEMES.get, environ={named: b64(SECRET)})


def test_a_symmetric_scheme_falls_back_to_the_signing_key_and_an_asymmetric_one_does_not():
    environ = {"GERT_APPROVAL_SIGNING_KEY": b64(SECRET)}
    verify_response(
        signed(key=SECRET, key_id=None, scheme=HMAC), request_hash=HASH, schemes=SCHEMES.get, environ=environ
    )
    with pytest.raises(UnverifiedError, match="set GERT_APPROVAL_VERIFY_KEY_ALICE") as caught:
        verify_response(
            signed(), request_hash=HASH, schemes=SCHEMES.get, environ={"GERT_APPROVAL_SIGNING_KEY": b64(ALICE)}
        )
    assert caught.value.kind == "signature_key_missing"


def test_rotation_old_and_new_key_verify_side_by_side():
    old, new = os.urandom(32), os.urandom(32)
    environ = {"GERT_APPROVAL_VERIFY_KEY_K1": b64(old), "GERT_APPROVAL_VERIFY_KEY_K2": b64(new)}
    for key, key_id in ((old, "k1"), (new, "k2")):
        answer = signed(key=key, key_id=key_id, scheme=HMAC)
        verify_response(answer, request_hash=HASH, schemes=SCHEMES.get, environ=environ)
    with pytest.raises(UnverifiedError) as caught:
        verify_response(
            signed(key=old, key_id="k2", scheme=HMAC), request_hash=HASH, schemes=SCHEMES.get, environ=environ
        )
    assert caught.value.kind == "signature_wrong"


@pytest.mark.parametrize("text", ["not base64!", "", "===="])
def test_a_key_that_is_no_base64_says_so(text):
    environ = {"GERT_APPROVAL_SIGNING_KEY": text}
    if not text:
        assert signing_key(environ, APPROVAL) is None
        return
    with pytest.raises(UnusableKeyError, match="GERT_APPROVAL_SIGNING_KEY"):
        signing_key(environ, APPROVAL)


# --- a run with two signed approvals ---


def test_two_signed_approvals_from_different_keys_are_accepted_and_verified():
    settled, events = settle(signed(), good_bob())
    assert settled.status == "approved"
    resolved = dict(events)["approval_resolved"]
    assert resolved["verified"] is True
    assert resolved["approvers"] == ["alice", "bob"]
    for answer in settled.responses:
        verify_response(answer, request_hash=HASH, schemes=SCHEMES.get, environ=KEYS)


def test_recorded_responses_verify_offline_from_the_trace_alone():
    _, events = settle(signed(), good_bob())
    submitted = dict(events)["approval_submitted"]
    names = ApprovalResponse.__slots__
    for kind, data in events:
        if kind == "approval_response":
            answer = ApprovalResponse(**{name: data[name] for name in names if name in data})
            verify_response(answer, request_hash=submitted["request_hash"], schemes=SCHEMES.get, environ=KEYS)


def test_a_recorded_answer_is_verified_again_when_the_run_goes_on():
    """The first of two approvals stands in the trace already: it is worth what its signature is worth now."""
    _, events = settle(signed())
    (recorded,) = [data for kind, data in events if kind == "approval_response"]
    assert settle(good_bob(), recorded=[recorded])[0].approvers == ("alice", "bob")
    for forged in (recorded | {"approver_id": "carol"}, {n: v for n, v in recorded.items() if n != "signature"}):
        settled, events = settle(good_bob(), recorded=[forged])
        assert (settled.status, settled.reason) in {("rejected", "signature_wrong"), ("rejected", "signature_missing")}
        assert "in the trace" in dict(events)["approval_resolved"]["message"]


def test_mixed_algorithms_count_by_being_verified_not_by_their_name():
    environ = {
        "GERT_APPROVAL_VERIFY_KEY_ALICE": f"ed25519:{b64(ALICE_PUBLIC)}",
        "GERT_APPROVAL_VERIFY_KEY_OPS": f"hmac-sha256:{b64(SECRET)}",
    }
    settled, _ = settle(signed(), signed(response("carol"), key=SECRET, key_id="ops", scheme=HMAC), environ=environ)
    assert settled.status == "approved"


# --- ten ways to cheat (and some more) ---


def altered(**change):
    return replace(signed(), **change)


CHEATS = {
    "forged with a key of one's own": (signed(key=MALLORY), "signature_wrong"),
    "made up signature": (replace(signed(), signature="00" * 64), "signature_wrong"),
    "no hexadecimal at all": (replace(signed(), signature="zz"), "signature_wrong"),
    "no signature": (response(), "signature_missing"),
    "unknown algorithm": (replace(signed(), signature_alg="rot13"), "signature_algorithm"),
    "no algorithm": (replace(signed(), signature_alg=None), "signature_algorithm"),
    "unknown key": (signed(key=MALLORY, key_id="mallory"), "signature_key_missing"),
    "altered: a no made a yes": (replace(signed(response(approved=False)), approved=True), "signature_wrong"),
    "altered: another name": (altered(approver_id="carol"), "signature_wrong"),
    "altered: another time": (
        altered(timestamp=format_time(START + timedelta(seconds=1))),
        "signature_wrong",
    ),
    "given for another request": (signed(over="cd" * 32), "signature_wrong"),
    "replayed from another ticket, renamed": (
        replace(signed(response(ticket="t-9")), ticket_id="t-1"),
        "signature_wrong",
    ),
    "expired": (signed(response(at=START + timedelta(hours=2))), "approval_timeout"),
    "stale": (signed(response(at=START - timedelta(hours=2))), "approval_stale"),
    "the public key used as an HMAC secret": (
        signed(key=ALICE_PUBLIC, scheme=HMAC),
        "signature_algorithm",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_a_rejection_and_a_contract_violation(name):
    answer, kind = CHEATS[name]
    settled, events = settle(answer, good_bob())
    assert (settled.status, settled.reason) == ("rejected", kind)
    assert dict(events)["contract_violation"]["kind"] == kind
    assert dict(events)["approval_resolved"]["approved"] is False


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (signed(response(ticket="t-9")), "approval_wrong_ticket"),
        (signed(response("olga"), key=ALICE, key_id="alice"), "approval_own_actor"),
        (good_bob(), "approval_duplicate"),
    ],
    ids=["wrong ticket", "own actor", "duplicate approver"],
)
def test_an_answer_that_may_not_count_leaves_the_ticket_open(answer, kind):
    settled, events = settle(good_bob(), answer, asked=request(exclude_actor=True))
    assert settled.status == "pending"
    problems = [data.get("problem") for name, data in events if name == "approval_response"]
    assert problems == [None, kind]


def test_a_replayed_answer_of_the_same_ticket_counts_once():
    settled, _ = settle(signed(), signed(), asked=request())
    assert settled.status == "pending"
    assert settled.approvers == ("alice",)


# --- signatures that nobody requires ---


def test_a_signature_that_is_given_is_checked_even_if_none_is_required():
    relaxed = request(require_signed=False, min_approvers=1)
    assert settle(replace(signed(), signature="00" * 64), asked=relaxed)[0].reason == "signature_wrong"
    assert settle(signed(), asked=relaxed)[1][-1][1]["verified"] is True


def test_without_a_key_an_unrequired_signature_is_passed_over_as_unverified():
    settled, events = settle(signed(), asked=request(require_signed=False, min_approvers=1), environ={})
    assert settled.status == "approved"
    assert dict(events)["approval_resolved"]["verified"] is False


def test_a_rejection_needs_no_signature():
    assert settle(response(approved=False))[0].reason == "approval_rejected"


def test_a_key_of_the_wrong_kind_says_so():
    environ = {"GERT_APPROVAL_VERIFY_KEY_ALICE": b64(b"short")}
    settled, _ = settle(signed(), environ=environ)
    assert settled.reason == "signature_key_unusable"


# --- the published vector ---


def test_the_test_vector_in_the_docs_is_what_gert_computes():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "approve-runs.md"
    text = page.read_text(encoding="utf-8")
    over = document_hash(
        {
            "runbook_hash": "sha256:" + "0" * 64,
            "step_id": "restart",
            "contract": {"effects": ["kubernetes"], "writes": ["production"]},
            "inputs": {"service": "api"},
        }
    )
    answer = replace(response(ticket="t-0123456789abcdef0123"), timestamp="2026-03-01T12:00:00.000Z", method="inbox")
    key = bytes(range(32))
    made = {a: signed(answer, key=key, scheme=s, over=over).signature for a, s in SCHEMES.items()}
    assert f"| `request_hash` | `{over}` |" in text
    assert f"| signed text | `{signature_payload(answer, over).decode()}` |" in text
    assert f"| key | `{b64(key)}` |" in text
    for algorithm, signature in made.items():
        assert f"| `{algorithm}` | `{signature}` |" in text


def test_the_id_of_a_key_is_never_read_as_a_key():
    """``GERT_APPROVAL_SIGNING_KEY_ID`` is public; a key id of ``ID`` made the verifier take it for a shared key."""
    public = base64.b64encode(b"a-key-id-that-everybody-knows").decode()
    environ = {"GERT_APPROVAL_SIGNING_KEY_ID": public, "GERT_APPROVAL_SIGNING_KEY": b64(SECRET)}
    forged = signed(key=base64.b64decode(public), key_id="ID", scheme=HMAC)
    with pytest.raises(UnverifiedError, match="is not a valid key id"):
        verify_response(forged, request_hash=HASH, schemes=SCHEMES.get, environ=environ)


def test_a_bare_key_is_not_taken_for_another_algorithm():
    environ = {"GERT_APPROVAL_VERIFY_KEY_ALICE": b64(ALICE_PUBLIC)}
    with pytest.raises(UnverifiedError, match="the key names no algorithm") as caught:
        verify_response(signed(), request_hash=HASH, schemes=SCHEMES.get, environ=environ)
    assert caught.value.kind == "signature_algorithm"
