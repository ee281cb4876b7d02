"""Trace observers of other distributions: told as soon as an event is written, in which mode, whatever others do."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

from gert_core.testing.fake_dist import FakeDist

OBSERVER = """
import json
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event, mode):
    with open("seen", "a") as file:
        file.write(json.dumps([event.type, event.step_key, mode]) + "\\n")
"""
PLAIN = """
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event):
    with open("plain", "a") as file:
        file.write(event.type + "\\n")
"""
LEAF = """
import time
from pathlib import Path
from pydantic import Field
from gert_core import hookimpl
from gert_core.api import PURE, Completed, Contract, StepType
from gert_core.kit.models import StepModel

class Wait(StepModel):
    pass

def look():
    return "step_start" in Path("seen").read_text() if Path("seen").exists() else False

def run(step, ctx):
    for _ in range(500):
        if look():
            break
        time.sleep(0.01)
    return Completed(outputs={"told": look()})

def rest(step, ctx):
    for _ in range(100):
        ctx.sleep(0.05)
        if look():
            break
    return Completed(outputs={"told": look()})

@hookimpl
def gert_step_types():
    told = lambda step: {"told": "bool"}
    return [
        StepType(name="acts", model=Wait, run=run, contract=Contract(effects=("network",)), outputs=told, summary="Acts."),
        StepType(name="thinks", model=Wait, run=run, contract=PURE, outputs=told, summary="Thinks."),
        StepType(name="rests", model=Wait, run=rest, contract=PURE, outputs=told, summary="Rests."),
    ]
"""
BOOK = """\
apiVersion: kernel/v0
meta: {{ name: book }}
steps:
  - {{ id: a, type: {type} }}
  - {{ id: done, type: end, outcome: {{ category: resolved, code: ok, meta: {{ told: "{{{{ .told }}}}" }} }} }}
"""
EXITS = """
import sys
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event):
    sys.exit(3)
"""


@pytest.fixture
def gert(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    made = Gert(tmp_path, PYTHONPATH=str(site))
    made.dist = FakeDist(directory=site)
    made.dist.add("gert-watch-seen", OBSERVER)
    return made


def seen(gert):
    return [json.loads(line) for line in (gert.root / "seen").read_text().splitlines()]


@pytest.mark.parametrize("type_", ["acts", "thinks", "rests"])
def test_the_start_of_a_step_is_told_while_the_step_runs(gert, type_):
    gert.dist.add("gert-step-leaf", LEAF)
    gert.write(book=BOOK.format(type=type_))
    said = gert("exec", "book.yaml", "--json")
    assert said.document["outcome"]["meta"] == {"told": True}


def test_observers_are_told_the_mode_if_they_ask_for_it(gert):
    gert.dist.add("gert-watch-plain", PLAIN)
    gert.dist.add("gert-step-leaf", LEAF)
    gert.write(book=BOOK.format(type="acts").replace("{{ .told }}", "1"))
    for mode in ("real", "dry-run"):
        (gert.root / "seen").unlink(missing_ok=True)
        assert gert("exec", "book.yaml", "--mode", mode).code == 0
        assert {told for _, _, told in seen(gert)} == {mode}
        assert seen(gert)[-1][0] == "run_complete"
    assert (gert.root / "plain").read_text().count("run_complete") == 2


def test_observers_are_told_of_the_replays_of_gert_test(gert):
    gert.write(book=BOOK.format(type="assert, assert: [{ type: exists, value: 1 }]").replace("{{ .told }}", "1"))
    scenario = gert.root / "scenarios" / "book" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("inputs: {}\n")
    (scenario / "test.yaml").write_text("expected_status: completed\n")
    said = gert("test", "book.yaml")
    assert said.code == 0, said.err
    assert {told for _, _, told in seen(gert)} == {"replay"}
    assert (seen(gert)[0][0], seen(gert)[-1][0]) == ("run_start", "run_complete")
    (gert.root / "seen").unlink()
    assert gert("new", "scenario", "two", "--runbook", "book.yaml").code == 0
    assert not (gert.root / "seen").exists()


def test_an_observer_that_exits_is_dropped_and_the_others_are_told_everything(gert):
    gert.dist.add("gert-watch-exits", EXITS)
    gert.dist.add("gert-watch-plain", PLAIN)
    gert.write(book=BOOK.format(type="assert, assert: [{ type: exists, value: 1 }]").replace("{{ .told }}", "1"))
    said = gert("exec", "book.yaml")
    assert said.code == 0
    assert "watch-exits (gert-watch-exits 1.0) failed and was dropped: SystemExit(3)" in said.err
    assert [type_ for type_, _, _ in seen(gert)] == (gert.root / "plain").read_text().split()
    assert seen(gert)[-1][0] == "run_complete"
