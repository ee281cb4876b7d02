"""Events whose chain is sound and whose values have wrong types, at every depth: a sentence, never an internal error."""

from __future__ import annotations

import json
import os
import shutil
from itertools import cycle, islice

import pytest
from forging import chain

from gert_core.cli import main

BOOK = """\
apiVersion: kernel/v0
meta:
  name: fix
  inputs: { who: { type: string, default: me } }
  secrets: [{ env: TOKEN, required: false }]
  governance: { rules: [{ effects: [network], action: require-approval, min_approvers: 1, approvers: [bob] }] }
tools: [box]
steps:
  - { id: try, type: tool, tool: box, action: fail, continue_on_fail: true, retry: { max: 2, delay: 1ms } }
  - id: both
    type: parallel
    branches:
      - steps:
          - { id: one, type: tool, tool: box, action: look }
      - steps:
          - id: look
            type: manual
            instructions: Look at it.
            required_evidence:
              - { name: what, kind: choice, options: [good, bad] }
              - { name: note, kind: text }
      - steps:
          - { id: act, type: tool, tool: box, action: act }
  - { type: end, outcome: { category: resolved, code: acted } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: box, transport: stdio }
contract: { effects: [process], writes: [box], idempotent: true }
actions:
  look: { argv: [echo, ok] }
  fail: { argv: ["false"] }
  act: { argv: [echo, done], contract: { effects: [process, network] } }
"""
WRONG = (5, True, [{"a": 1}], {"a": None}, "x", None, [5], [[]])
COMMANDS = (
    ("runs", "list"),
    ("runs", "show", "RUN"),
    ("runs", "show", "RUN", "--json"),
    ("runs", "status", "RUN"),
    ("runs", "logs", "RUN"),
    ("trace", "show", "runs/RUN/trace.jsonl"),
    ("approvals", "list"),
    ("answer", "RUN", "look", "note=x"),
    ("runs", "block", "RUN", "--key", "hold"),
    ("runs", "unblock", "RUN", "--key", "hold"),
    ("resume", "--run", "RUN", "--questions", "suspend"),
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The directory of a run that retried, forked, asks and waits for an approval; the working directory is above it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "tools" / "box.tool.yaml").write_text(TOOL)
    main(["exec", "book.yaml", "--approval", "inbox", "--questions", "suspend"])
    (found,) = (tmp_path / "runs").glob("[!.]*")
    assert main(["runs", "block", found.name, "--key", "before", "--reason", "wait"]) == 0
    assert main(["runs", "unblock", found.name, "--key", "before"]) == 0
    capsys.readouterr()
    return found


def places(value, path=()):
    """Every place in a value, by its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def put(events, path, value):
    for key in path[:-1]:
        events = events[key]
    before, events[path[-1]] = events[path[-1]], value
    return type(before) is not type(value) and not (path[1:] == ("data",) and type(value) is not dict)


def distinct(events):
    """Every place in the events, once for each type of event: what is in lists and below names is alike."""
    found = {}
    for path in places(events):
        if len(path) > 1 and path[1] not in ("seq", "prev_hash", "run_id"):
            shape = (events[path[0]]["type"], *("*" if isinstance(key, int) else key for key in path[1:]))
            found.setdefault(shape, path)
    return list(found.values())


PARTS = 4
"""What one run of the test takes is a fourth of the places; all of them with ``GERT_FUZZ``."""


@pytest.mark.parametrize("part", range(PARTS) if os.environ.get("GERT_FUZZ") else [1])
def test_no_value_of_a_wrong_type_is_an_internal_error(run, capsys, part):
    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    types = {event["type"] for event in events}
    assert {"step_attempt", "question_asked", "approval_submitted", "contract_evaluated", "run_resumed"} <= types
    for event in events:
        event["data"].pop("chain_hash", None)
    saved = run.parent.parent / "saved"
    shutil.copytree(run, saved)
    tried = 0
    for number, path in enumerate(distinct(events)[part::PARTS]):
        for value in islice(cycle(WRONG), number, number + 3):
            changed = json.loads(json.dumps(events))
            if not put(changed, path, value):
                continue
            tried += 1
            shutil.rmtree(run)
            shutil.copytree(saved, run)
            (run / "state.json").unlink(missing_ok=True)
            (run / "trace.jsonl").write_text(chain(changed))
            for command in COMMANDS:
                code = main([word.replace("RUN", run.name) for word in command])
                said = capsys.readouterr()
                assert "internal error" not in said.err, (events[path[0]]["type"], path, value, command, said.err)
                assert code in (0, 1, 2, 3), (path, value, command, said)
    assert tried > 40
