"""Inputs from sources: a dry-run asks none of them, a resumed run asks again for its secret inputs."""

from __future__ import annotations

import sys

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta:
  name: sourced
  inputs:
    token: { type: string, required: true, secret: true, from: SOURCE }
    other: { type: string, secret: true, default: default-secret }
    typed: { type: string, secret: true, from: env/TYPED }
    host: { type: string, from: cmdb.host, default: localhost }
  constants: { address: "https://{{ .host }}/" }
  governance: { rules: [ { writes: [file], action: require-approval } ] }
tools: [save]
steps:
  - { id: look, type: tool, tool: save, action: look, when: '{{ eq .host "web" }}', inputs: { text: "{{ .address }}" } }
  - { id: save, type: tool, tool: save, action: write, inputs: { text: "{{ .token }} {{ .other }} {{ .typed }}" } }
  - { type: end, outcome: { category: resolved } }
"""
SAVE = """\
apiVersion: tool/v0
meta: { name: save }
contract: { inputs: { text: { type: string } } }
actions:
  look: { argv: [sh, -c, "echo $0 >> looked", "{{ .text }}"], contract: { effects: [], writes: [], reads: [file] } }
  write: { argv: [sh, -c, "echo $0 >> saved", "{{ .text }}"], contract: { effects: [host], writes: [file] } }
"""
PROVIDER = f"""\
#!{sys.executable}
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    names = [binding["input"] for binding in request["params"]["bindings"]]
    with open("asked", "a") as log:
        log.write(" ".join(names) + "\\n")
    facts = {{"token": "cmdb-token-1", "host": "web"}}
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": {{n: facts[n] for n in names}}}}), flush=True)
"""
PROJECT = "name: sourced\nproviders: { cmdb: { binary: ./provider.py } }\n"


def make(root, source="cmdb.token", **environ) -> Gert:
    gert = Gert(root, **environ)
    gert.write(book=BOOK.replace("SOURCE", source), tool_save=SAVE, **{"gert-project": PROJECT})
    (root / "provider.py").write_text(PROVIDER)
    (root / "provider.py").chmod(0o755)
    return gert


def suspend(gert: Gert, *more: str, **environ: str) -> str:
    """Start a run that waits for an approval, approve it, and return its id."""
    said = gert("exec", "book.yaml", "--approval", "inbox", *more, **environ)
    assert said.code == 0, said.err
    (ticket,) = (gert.run() / "tickets").iterdir()
    assert gert("approve", ticket.name.partition(".")[0], "--as", "bob").code == 0
    return gert.run().name


def test_secret_inputs_from_sources_are_resolved_again(tmp_path):
    gert = make(tmp_path, TYPED="typed-secret")
    run = suspend(gert)
    assert (tmp_path / "asked").read_text() == "token host\n"
    said = gert("resume", "--run", run)
    assert said.code == 0, said.err
    assert (tmp_path / "saved").read_text() == "cmdb-token-1 default-secret typed-secret\n"
    assert (tmp_path / "asked").read_text() == "token host\ntoken\n", "only the secret input is asked for again"
    trace = (gert.run() / "trace.jsonl").read_text()
    assert "cmdb-token-1" not in trace
    assert "typed-secret" not in trace


def test_a_secret_input_that_its_source_no_longer_has_is_not_replaced_by_a_default(tmp_path):
    book = "token: { type: string, secret: true, from: SOURCE, default: fallback-secret }"
    gert = make(tmp_path, source="env/TOKEN")
    gert.write(book=BOOK.replace("token: { type: string, required: true, secret: true, from: SOURCE }", book).replace("SOURCE", "env/TOKEN"))  # fmt: skip
    run = suspend(gert, TOKEN="first-secret", TYPED="typed-secret")
    said = gert("resume", "--run", run, TYPED="typed-secret")
    assert said.code == 2, said.err
    assert "the secret input token must be given again" in said.err
    assert f"gert resume --run {run} --var token=" in said.err
    assert not (tmp_path / "saved").exists()
    assert gert("resume", "--run", run, "--var", "token=first-secret", TYPED="typed-secret").code == 0
    assert "first-secret default-secret" in (tmp_path / "saved").read_text()


def test_a_secret_input_that_was_given_is_asked_for_and_never_taken_from_its_source(tmp_path):
    gert = make(tmp_path, TYPED="in-the-environment")
    run = suspend(gert, "--var", "typed=on-the-line")
    said = gert("resume", "--run", run)
    assert (said.code, "the secret input typed must be given again" in said.err) == (2, True), said.err
    (tmp_path / "secrets.yaml").write_text("typed: on-the-line\nhost: web\n")
    said = gert("resume", "--run", run, "--input", "secrets.yaml")
    assert said.code == 0, said.err
    assert (tmp_path / "saved").read_text() == "cmdb-token-1 default-secret on-the-line\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("typed: typed-secret\nhost: other\n", "--input gives 'host' another value than the run has"),
        ("unknown: 1\n", "does not declare as an input"),
    ],
)
def test_a_file_for_a_resumed_run_changes_nothing_else(tmp_path, text, says):
    gert = make(tmp_path, TYPED="typed-secret")
    run = suspend(gert)
    (tmp_path / "more.yaml").write_text(text)
    said = gert("resume", "--run", run, "--input", "more.yaml")
    assert (said.code, says in said.err) == (2, True), said.err
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("source", ["cmdb.token", "prompt", "env/TOKEN", "file/token"])
def test_a_dry_run_asks_no_source(tmp_path, source):
    gert = make(tmp_path, source=source)
    said = gert("exec", "book.yaml", "--mode", "dry-run", answers="typed-at-the-prompt\n")
    assert said.code == 0, said.err
    assert not (tmp_path / "asked").exists()
    assert "token" not in said.err
    assert "look  tool (maybe)" in said.out
    assert "input text = {{ .address }}" in said.out
    assert "input text = {{ .token }} <REDACTED:other> {{ .typed }}" in said.out


def test_a_dry_run_uses_the_inputs_it_is_given(tmp_path):
    gert = make(tmp_path)
    said = gert("exec", "book.yaml", "--mode", "dry-run", "--var", "host=web")
    assert said.code == 0, said.err
    assert "look  tool  (what save look answers" in said.out
    assert "input text = https://web/" in said.out
