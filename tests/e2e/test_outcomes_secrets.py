"""A secret input appears in nothing that ``gert outcomes`` prints or writes, wherever a runbook puts it."""

from __future__ import annotations

import pytest
from gertproc import Gert

TOKEN = "s3cr3t-Qx7 'of\"the\\pump"
TOOL = """\
apiVersion: tool/v0
meta: { name: say }
contract:
  effects: [host]
  idempotent: true
  inputs: { text: { type: string }, code: { type: string } }
actions:
  run:
    argv: [sh, -c, 'echo "$0"; exit "$1"', "{{ .text }}", "{{ .code }}"]
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: pump
  inputs: { token: { type: string, secret: true, required: true } }
tools: [say]
steps:
  - { id: told, type: tool, tool: say, inputs: { text: "{{ .token }}", code: "0" } }
  - { id: failing, type: tool, tool: say, continue_on_fail: true, inputs: { text: "no {{ .token }}", code: "3" } }
  - { type: end, outcome: { category: resolved, code: "code-{{ .token }}" } }
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_say=TOOL, book=BOOK)
    made("exec", "book.yaml", "--var", f"token={TOKEN}", "--as", "alice")
    assert TOKEN not in (made.run() / "trace.jsonl").read_text()
    return made


@pytest.mark.parametrize(
    "words", [(), ("--steps",), ("--json", "--steps"), ("--csv",), ("--csv", "--steps"), ("--by", "actor")]
)
def test_no_form_shows_it(gert, words):
    said = gert("outcomes", *words)
    assert (said.code, said.err) == (0, "")
    assert "pump" in said.out or "alice" in said.out
    assert "s3cr3t" not in said.out


def test_the_page_does_not_show_it(gert):
    assert gert("outcomes", "--steps", "--html", "page.html").code == 0
    page = (gert.root / "page.html").read_text()
    assert "failing" in page
    assert "s3cr3t" not in page
