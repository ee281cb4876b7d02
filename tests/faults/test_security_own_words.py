"""A secret that is a word or a number of gert's own ends no run; one of digits is hidden where it is a number."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from binding import TOOL, acted, approve, bound_gert, of, resume

BOOK = """\
apiVersion: kernel/v0
meta:
  name: book
  inputs: {pin: {type: int, secret: true, default: 864197}}
  secrets: [{env: TOKEN, required: false}]
  governance: {rules: [{effects: [danger], action: require-approval}]}
tools: [act]
steps:
  - {id: look, type: manual, instructions: Look., required_evidence: [{name: notes, kind: text}]}
  - id: both
    type: parallel
    branches:
      - {label: one, steps: [{id: first, type: assert, assert: [{type: equals, value: 1, expected: 1}]}]}
      - {label: two, steps: [{id: second, type: assert, assert: [{type: equals, value: 1, expected: 1}]}]}
  - {id: act, type: tool, tool: act, inputs: {what: a}}
  - {id: rest, type: wait, for: 1s}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
FIELDS = ("inputs", "generation", "step", "shown", "name", "prompt", "kind", "index", "parent", "effects")
VALUES = ("text", "tool", "bound", "critical", "notes")


@pytest.fixture
def gert(tmp_path):
    made = bound_gert(tmp_path)
    made.write(book=BOOK)
    return made


def through(gert, *given):
    """Take the run through a question, an approval and a pause, each in a process of its own, to its end."""
    said = gert("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", "--json", *given)
    assert said.document.get("status") == "answer_pending", said.all
    assert gert("answer", gert.run().name, "look", "notes=seen").code == 0
    waiting = resume(gert, *given)
    assert waiting.get("status") == "approval_pending", waiting
    ticket = waiting["pending"][0]["ticket_id"]
    assert gert("approvals", "show", ticket).code == 0
    approve(gert, ticket)
    done = resume(gert, *given)
    assert (done.get("status"), acted(gert)) == ("completed", ["a"]), done
    assert gert("trace", "verify", "--run", "latest").code == 0
    assert gert("runs", "show", "latest").code == 0


@pytest.mark.parametrize("word", [*FIELDS, *VALUES])
def test_a_secret_that_is_a_word_of_a_request_or_a_question(gert, word):
    gert.environ["TOKEN"] = word
    through(gert)


def test_a_secret_that_is_part_of_every_time(gert):
    """The year of requests, of their expiry and of pauses."""
    gert.environ["TOKEN"] = str(datetime.now(UTC).year)
    through(gert)


def test_a_secret_that_is_a_number_of_a_request(gert):
    """The seconds in which it is to be answered."""
    through(gert, "--var", "pin=1800")


def test_a_secret_of_digits_is_hidden_as_a_number_too(gert, tmp_path):
    gert.write(
        book=BOOK.replace("tools: [act]", "tools: [tell]").split("steps:")[0]
        + "steps:\n  - {id: tell, type: tool, tool: tell}\n"
        "  - {id: again, type: assert, assert: [{type: equals, value: '{{ .tell.number }}', expected: 8675309421}]}\n"
        "  - {type: end, outcome: {category: resolved, code: told}}\n",
        tool_tell="apiVersion: tool/v0\nmeta: {name: tell, transport: stdio, binary: sh}\n"
        "contract: {effects: [], outputs: {number: {type: int}}}\n"
        "actions: {run: {argv: [sh, -c, 'echo $TOKEN'], extract: {number: {from: stdout}}}}\n",
    )
    said = gert("exec", "book.yaml", "--json", "-vv", TOKEN="8675309421")
    assert said.document["status"] == "completed", said.all
    assert "8675309421" not in said.all.replace(str(tmp_path), "")
    kept = b"".join(file.read_bytes() for file in gert.run().rglob("*") if file.is_file())
    assert b"<REDACTED:TOKEN:int>" in kept
    assert b"8675309421" not in kept


CALLER = """\
apiVersion: kernel/v0
meta: {name: caller, secrets: [{env: TOKEN, required: false}]}
steps:
  - {id: child, type: runbook, runbook: parts/stop.yaml}
  - id: order
    type: dag
    nodes:
      - {name: one, steps: [{id: first, type: assert, assert: [{type: equals, value: 1, expected: 1}]}]}
  - {id: gate, type: approval, message: Go on?}
  - {type: end, outcome: {category: resolved, code: over}}
"""


@pytest.mark.parametrize("word", ["parts", "stop", ".yaml", "parts/stop.yaml"])
def test_a_secret_that_is_part_of_the_name_of_a_document_is_no_drift(gert, word):
    (gert.root / "parts").mkdir()
    (gert.root / "parts/stop.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: child}\ntools: [../tools/act.tool.yaml]\n"
        "steps:\n  - {type: end, outcome: {category: no_action, code: none}}\n"
    )
    gert.write(book=CALLER, tool_act=TOOL)
    gert.environ["TOKEN"] = word
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert).get("status") == "completed"


@pytest.mark.parametrize("word", ["completed", "serialized", "cancelled"])
def test_fields_of_the_events_of_a_step_type_keep_their_names(gert, word):
    gert.write(book=CALLER.replace("  - {id: child, type: runbook, runbook: parts/stop.yaml}\n", ""))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json", TOKEN=word)
    assert said.document["status"] == "approval_pending", said.all
    (begun,), (ended,) = of(gert, "dag_start"), of(gert, "dag_complete")
    assert list(begun) == ["nodes", "max_parallel", "forked_state_hash", "serialized"]
    assert list(ended) == ["completed", "failed", "cancelled", "summary"]
