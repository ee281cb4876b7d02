"""Random runbooks: a valid one never breaks the engine, always comes to one end, and replays to the same one."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, event, given, settings
from random_books import INPUTS, TOOL, runbooks

from gert_core.api import DocumentError
from gert_core.documents.scenario import ScenarioModel
from gert_core.host import run
from gert_core.plugin.registry import Registry
from gert_core.runs.fold import fold
from gert_core.testing import echo
from gert_core.trace.reader import read
from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.runs.result import RunResult

FUZZ = bool(os.environ.get("GERT_FUZZ"))
ENDS = {"completed", "failed", "error"}
LEAVES = ("tool",)


class World:
    """A directory with the tool, and the registry that knows its transport."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = Registry.build(extra_plugins=[echo])
        self.seen: Counter[str] = Counter()
        (root / "tools").mkdir()
        (root / "tools" / "mirror.tool.yaml").write_text(TOOL)

    def run(self, document: dict, name: str, **options) -> RunResult:
        book, trace = self.root / "book.yaml", self.root / f"{name}.jsonl"
        book.write_text(json.dumps(document))
        trace.unlink(missing_ok=True)
        return run(
            book,
            inputs=INPUTS,
            registry=self.registry,
            environ={},
            actor="t",
            trace=trace,
            trace_sync="none",
            keep=False,
            **options,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("random"))
    yield made
    assert made.seen["valid"] > 20, f"most documents must be valid for this to mean anything: {made.seen}"


@settings(
    max_examples=3000 if FUZZ else 70,
    derandomize=not FUZZ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(document=runbooks())
def test_a_valid_runbook_comes_to_one_end_and_replays_to_the_same(world, document):
    """Guarantee: defined status, one outcome iff completed, whole chain, unique keys, the replay agrees."""
    try:
        result = world.run(document, "real")
    except DocumentError as refused:
        world.seen["invalid"] += 1
        event(f"invalid: {refused.diagnostics[0].rule}")
        return
    world.seen["valid"] += 1
    event(f"valid: {result.status}")
    events = list(read(result.trace))
    judge(result, events)
    replayed = world.run(document, "replay", mode="replay", scenario=scenario_of(events))
    assert summary(replayed) == summary(result)


def judge(result: RunResult, events: list) -> None:
    status = str(result.status)
    assert status in ENDS
    assert events[0].type == "run_start"
    assert events[-1].type == "run_complete"
    assert events[-1].data["status"] == status
    outcomes = [e.data["outcome"] for e in events if e.type == "outcome_resolved"]
    assert outcomes == ([result.outcome.to_json()] if status == "completed" else [])
    assert (result.outcome is None) == bool(result.failures)
    kinds = {failure.kind for failure in result.failures}
    assert not kinds & {"plugin_failed", "internal"}, result.failures
    started = Counter(e.step_key for e in events if e.type == "step_start")
    ended = Counter(e.step_key for e in events if e.type == "step_complete")
    assert started == ended
    assert set(started.values()) <= {1}, "no key is used twice"
    assert fold(events).status == status
    verdict = verify(result.trace, key_for=lambda alg, key: None, schemes=lambda alg: None)
    assert verdict.status is TraceStatus.UNSIGNED


def scenario_of(events: list) -> ScenarioModel:
    """The recording: what every tool step came to, by its key."""
    types = {e.step_key: e.data.get("type") for e in events if e.type == "step_start"}
    steps = {}
    for e in events:
        if (
            e.type == "step_complete"
            and types[e.step_key] in LEAVES
            and e.data["status"] != "skipped"
            and "outputs" in e.data
        ):
            failure = e.data.get("failure") or {}
            steps[e.step_key] = {"outputs": e.data["outputs"], "status": e.data["status"], **failure}
    return ScenarioModel.model_validate({"steps": steps})


def summary(result: RunResult) -> dict:
    outcome = result.outcome.to_json() if result.outcome else None
    return {
        "status": str(result.status),
        "outcome": outcome,
        "failures": [(f.key, f.kind) for f in result.failures],
        "steps": {step.key: step.status for step in result.steps},
        "outputs": result.outputs,
    }
