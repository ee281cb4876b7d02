"""``gert keys``: pairs in the spelling that signing and verifying take."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

BOOK = "apiVersion: kernel/v0\nmeta: {name: x}\nsteps: [{type: end, outcome: {category: resolved, code: done}}]\n"


def exports(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


def test_what_new_prints_signs_and_verifies(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    made = gert("keys", "new", "prod-2026", "--for", "trace")
    assert made.code == 0, made.err
    given = exports(made.out)
    assert set(given) == {"GERT_TRACE_SIGNING_KEY", "GERT_TRACE_SIGNING_KEY_ID", "GERT_TRACE_VERIFY_KEY_PROD_2026"}
    public = {"GERT_TRACE_VERIFY_KEY_PROD_2026": given.pop("GERT_TRACE_VERIFY_KEY_PROD_2026")}
    assert gert("exec", "book.yaml", "--trace", "t.jsonl", **given).code == 0
    verified = gert("trace", "verify", "t.jsonl", "--key-id", "prod-2026", **public)
    assert (verified.code, verified.err) == (0, "")
    assert '✓ Signature valid: signed by key "prod-2026" (ed25519)' in verified.out
    assert gert("keys", "show", "--for", "trace", **given).out.strip() == public["GERT_TRACE_VERIFY_KEY_PROD_2026"]
    assert gert("trace", "verify", "t.jsonl", GERT_TRACE_VERIFY_KEY=gert_new(gert)["public"]).code == 1


def gert_new(gert: Gert) -> dict[str, str]:
    return gert("keys", "new", "alice", "--json").document


def test_pairs_are_new_each_time_and_json_has_both_halves(tmp_path):
    gert = Gert(tmp_path)
    one, two = gert_new(gert), gert_new(gert)
    assert one["private"] != two["private"]
    assert (one["algorithm"], one["key_id"]) == ("ed25519", "alice")
    shown = gert("keys", "show", "--json", answers=one["private"])
    assert json.loads(shown.out) == {"algorithm": "ed25519", "key_id": None, "public": one["public"]}


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["new", "ID"], 2, "is not a valid key id"),
        (["new", "a b"], 2, "is not a valid key id"),
        (["new", "alice", "--for", "mail"], 2, "--for takes approval or trace"),
        (["new", "alice", "--algorithm", "rsa"], 3, "no installed plugin makes keys for signature algorithm rsa"),
        (["show"], 2, "the key on standard input is not a base64-encoded key"),
    ],
)
def test_mistakes(tmp_path, argv, code, said):
    result = Gert(tmp_path)("keys", *argv, answers="")
    assert (result.code, said in result.err) == (code, True), result.all
