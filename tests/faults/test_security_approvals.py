"""Approvals cannot be granted by the run they are asked for."""

from __future__ import annotations

import base64
import re
import subprocess
import sys

import pytest
from gertproc import Gert

SEED = base64.b64encode(bytes(range(32))).decode()
PUBLIC = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
# What somebody who can write to the run directory can do: put an answer beside the ticket. A tool cannot do it before
# the ticket is there, because the ticket's name depends on the whole request.
ATTACK = """\
import json, pathlib, subprocess, sys
from datetime import datetime, timezone
run = next(pathlib.Path("runs").glob("[!.]*"))
ticket = next((run / "tickets").glob("*.json")).stem
answer = {"ticket_id": ticket, "approved": True, "approver_id": "boss", "method": "inbox",
          "timestamp": datetime.now(timezone.utc).isoformat(), "reason": None}
answer |= json.loads(sys.argv[1])
folder = run / "tickets" / f"{ticket}.answers"
folder.mkdir(parents=True)
(folder / "0001-forged.json").write_text(json.dumps(answer))
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: NAME, transport: stdio, binary: BINARY}
contract: {inputs: {code: {type: string}, more: {type: string}}, effects: [EFFECT], writes: []}
actions: {run: {argv: ARGV}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: own
  inputs: {more: {type: string, default: "{}"}}
  governance:
    require_signed_approvals: SIGNED
    rules: [{effects: [danger], action: require-approval}]
tools: [attack, act]
steps:
  - {id: prepare, type: tool, tool: attack, inputs: {code: attack.py, more: "{{ .more }}"}}
  - {id: act, type: tool, tool: act}
  - {type: end, outcome: {category: resolved, code: acted}}
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GERT_APPROVAL_VERIFY_KEY=PUBLIC, GERT_APPROVAL_VERIFY_ALG="ed25519")
    (tmp_path / "attack.py").write_text(ATTACK)
    attack = TOOL.replace("NAME", "attack").replace("BINARY", "python3").replace("EFFECT", "host")
    made.write(
        tool_attack=attack.replace("ARGV", '[python3, "{{ .code }}", "{{ .more }}"]'),
        tool_act=TOOL.replace("NAME", "act")
        .replace("BINARY", "touch")
        .replace("EFFECT", "danger")
        .replace("ARGV", "[touch, acted]"),
    )
    return made


def start(gert: Gert, *, signed: str, more: str = "{}") -> None:
    gert.write(book=BOOK.replace("SIGNED", signed))
    gert.said = gert("exec", "book.yaml", "--approval", "inbox", "--json", "--var", f"more={more}")


def forge(gert: Gert, *, signed: str, more: str = "{}") -> None:
    """Start a run, forge an answer to its ticket, and resume it."""
    attack = (gert.root / "attack.py").read_text()
    (gert.root / "attack.py").write_text("")
    start(gert, signed=signed, more=more)
    assert gert.said.document["status"] == "approval_pending"
    subprocess.run([sys.executable, "-c", attack, more], cwd=gert.root, check=True)
    gert.said = gert("resume", "--run", gert.run().name, "--json")


@pytest.mark.parametrize(
    "more",
    [
        "{}",
        '{"signature": "00", "signature_alg": "ed25519"}',
        '{"signature": "00", "signature_alg": "none"}',
        '{"signature": "", "signature_alg": "ed25519", "verified": true}',
    ],
)
def test_a_tool_that_writes_an_answer_file_is_refused_when_signatures_are_required(gert, more):
    """The forged answer is a rejection and a contract violation; the step it was for does not run."""
    forge(gert, signed="true", more=more)
    assert gert.said.code == 1, gert.said.all
    assert gert.said.document["status"] == "failed"
    assert not (gert.root / "acted").exists()
    kinds = [e["data"].get("kind") for e in gert.events() if e["type"] == "contract_violation"]
    assert len(kinds) == 1
    assert kinds[0].startswith("signature_")


def test_the_limit_without_signatures(gert):
    """Without required signatures a file in the run directory is believed: whoever can write there can approve.

    This is the documented limit: tools run as the same user. The page says so and what to do about it.
    """
    forge(gert, signed="false")
    assert gert.said.document["status"] == "completed"
    answer = next(e for e in gert.events() if e["type"] == "approval_response")
    assert (answer["data"]["approver_id"], answer["data"]["verified"]) == ("boss", False), "the trace says unverified"


def test_a_tool_has_no_key_to_sign_with(gert):
    """Even when the signing key is (wrongly) set where the run is, no tool is given it, so `gert approve` cannot sign."""
    gert.environ |= {"GERT_APPROVAL_SIGNING_KEY": SEED, "GERT_APPROVAL_SIGNING_ALG": "ed25519"}
    (gert.root / "attack.py").write_text("import os, pathlib\npathlib.Path('env').write_text('\\n'.join(os.environ))\n")
    start(gert, signed="true")
    assert gert.said.document["status"] == "approval_pending"
    names = (gert.root / "env").read_text().split()
    assert "PATH" in names
    assert not [name for name in names if re.match("GERT_(APPROVAL|TRACE)_.*KEY", name)]


def test_nobody_answers_at_the_terminal_for_a_person(gert):
    """A tool's standard input is empty: it can neither read what a person types nor type for one."""
    (gert.root / "attack.py").write_text("import sys, pathlib\npathlib.Path('read').write_text(sys.stdin.read())\n")
    gert.write(book=BOOK.replace("SIGNED", "false"))
    said = gert("exec", "book.yaml", "--approval", "stdin", "--json", answers="n ann: not today\n")
    assert said.document["status"] == "failed"
    assert (gert.root / "read").read_text() == ""
    answer = next(e for e in gert.events() if e["type"] == "approval_response")
    assert (answer["data"]["approver_id"], answer["data"]["reason"]) == ("ann", "not today")
