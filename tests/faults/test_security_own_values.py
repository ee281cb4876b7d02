"""Secrets that occur in what gert writes about programs, and gert's own keys in every spelling."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: act }
contract: { effects: [host], inputs: { text: { type: string, required: false } } }
actions: { run: { argv: [echo, "{{ .text }}"] } }
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: b
  inputs: { pw: { type: string, secret: true, default: "not-a-word" }, text: { type: string, default: "" } }
  governance: { rules: [{ effects: [host], action: require-approval }, { default: allow }] }
tools: [act]
steps:
  - { id: act, type: tool, tool: act, inputs: { text: "{{ .text }}" } }
  - { type: end, outcome: { category: resolved, code: acted } }
"""
RAW = b"a shared key of many bytes: \xff\xfe"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


def everything(gert):
    return "".join(file.read_text() for file in sorted(gert.root.glob("runs/**/*")) if file.is_file())


def echo_digest():
    found = shutil.which("echo")
    assert found is not None
    return hashlib.sha256(Path(found).resolve().read_bytes()).hexdigest()


@pytest.mark.parametrize("secret", ["sha256", "program", "echo", "digest"])
def test_a_secret_that_occurs_in_the_facts_of_a_program_exchanges_none(gert, secret):
    secret = echo_digest()[8:14] if secret == "digest" else secret
    said = gert("exec", "book.yaml", "--var", f"pw={secret}", answers="y bob\n")
    assert said.code == 0, said.all
    assert "exchanged" not in said.all


SIGNING = [
    (name, algorithm)
    for name in ("GERT_TRACE_SIGNING_KEY", "GERT_APPROVAL_SIGNING_KEY_BOB")
    for algorithm in ("", "hmac-sha256:", "ed25519:")
]


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [*SIGNING, ("GERT_APPROVAL_VERIFY_KEY", ""), ("GERT_APPROVAL_VERIFY_KEY_BOB", "hmac-sha256:")],
)
def test_keys_of_gert_are_masked_however_they_are_written(gert, name, algorithm):
    data = (RAW * 2)[:32]
    body = base64.b64encode(data).decode()
    environ = {name: f"{algorithm}{body}"}
    for spelled in (f"{algorithm}{body}", body, body.rstrip("="), data.hex(), data.hex().upper()):
        said = gert("exec", "book.yaml", "-v", "--var", f"text=it is {spelled}.", answers="y bob\n", **environ)
        assert said.code == 0, said.all
        said = gert("exec", "book.yaml", answers=f"y {spelled}\ny carl: {spelled}\n", **environ)
        assert said.code == 0, said.all
        assert spelled not in said.all + everything(gert), spelled


@pytest.mark.parametrize(
    "step",
    [
        "{ id: s, type: assert, assert: [{ type: equals, value: '{{ .told }}', expected: ok }] }",
        "{ id: s, type: assert, assert: [{ type: equals, value: ['{{ .told }}'], expected: ok }] }",
        "{ id: s, type: wait, for: '{{ .told }}' }",
    ],
)
@pytest.mark.parametrize("quoted", ["horse\\ 12\\ stap\\!\\ batt\\ 99", "'horse 12 stap! batt 99'"])
def test_what_is_quoted_already_is_hidden_before_it_is_quoted_again(tmp_path, step, quoted):
    """As bash quotes it (``printf %q``), and between the quotes of a shell."""
    gert = Gert(tmp_path)
    told = "inputs: { pw: { type: string, secret: true }, told: { type: any } }"
    end = "{ type: end, outcome: { category: resolved, code: ok } }"
    gert.write(book=f"apiVersion: kernel/v0\nmeta: {{ name: b, {told} }}\nsteps:\n  - {step}\n  - {end}\n")
    (tmp_path / "given.json").write_text(json.dumps({"pw": "horse 12 stap! batt 99", "told": quoted}))
    said = gert("exec", "book.yaml", "--input", "given.json")
    assert said.code == 1, said.all
    assert "stap" not in said.all + everything(gert)
