"""Random runbooks, run and recorded: the replay of each recording comes to what its run came to."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from lab import Lab
from random_books import INPUTS, TOOL, runbooks
from random_lives import GATE, TOOLS, Life, Maker

from gert_core.api import DocumentError
from gert_core.documents.scenario import load_scenario
from gert_core.host import SilentConsole, run
from gert_core.plugin.registry import Registry
from gert_core.scenarios.diffing.before import of_replay, of_scenario
from gert_core.scenarios.diffing.compare import compare
from gert_core.scenarios.find import ScenarioCandidate
from gert_core.scenarios.recording.fold import Taken
from gert_core.scenarios.recording.record import record
from gert_core.scenarios.run import ScenarioRunner
from gert_core.stores.directory import DirectoryStore
from gert_core.testing import echo
from gert_core.trace.reader import read

FUZZ = bool(os.environ.get("GERT_FUZZ"))
REGISTRY = Registry.build(extra_plugins=[echo])


def same_when_replayed(runbook, run_id: str, registry: Registry, target) -> None:
    """Record a run, and replay the recording from its files: everything that the figures of a run are, is the same."""
    runner = ScenarioRunner(runbook=runbook, registry=registry, console=SilentConsole())
    with DirectoryStore(runbook.parent / "runs").open(run_id) as stored:
        taken = Taken(read(stored))
        done = record(stored, target, runner)
    told = f"{done.problem} {done.warnings}\n{runbook.read_text()}"
    assert (done.written, done.warnings) == (True, ()), told
    scenario = load_scenario(target)
    seen = runner.observe(scenario.model)
    state = taken.state
    outcome = None if seen.outcome is None else seen.outcome.to_json()
    assert seen.status == state.status, told
    assert (outcome or {}).get("code") == ((state.outcome or {}).get("code") if state.status == "completed" else None)
    assert dict(seen.statuses) == taken.statuses, told
    assert dict(seen.outputs) == dict(state.outputs), told
    assert dict(seen.decisions) == taken.decisions, told
    before = of_scenario(scenario)  # which reads a part of the events
    assert (before.ended.status, dict(before.outputs)) == (state.status, dict(state.outputs)), told
    assert (dict(before.decisions), before.reached) == (taken.decisions, frozenset(taken.visits.names())), told
    assert compare("one", before, of_replay(seen)).same, told
    result = runner.run(ScenarioCandidate(name="one", directory=target, scenario=scenario))
    assert str(result.status) == "passed", f"{result} {told}"
    left_over = [warning for warning in result.warnings if "not used" in warning or "was not asked" in warning]
    assert not left_over, f"{left_over} {told}"


@settings(
    max_examples=500 if FUZZ else 12,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
@given(document=runbooks())
def test_what_is_recorded_replays_to_the_same(tmp_path_factory, document):
    directory = tmp_path_factory.mktemp("book")
    (directory / "tools").mkdir()
    (directory / "tools" / "mirror.tool.yaml").write_text(TOOL)
    runbook = directory / "book.yaml"
    runbook.write_text(json.dumps(document))
    try:
        result = run(
            runbook, inputs=INPUTS, registry=REGISTRY, runs=directory / "runs", observed=False, trace_sync="none"
        )
    except DocumentError:
        return
    same_when_replayed(runbook, result.run_id, REGISTRY, directory / "recorded")


@pytest.mark.parametrize("seed", range(250 if FUZZ else 4))
def test_runs_with_approvals_rejections_and_suspensions_replay_to_the_same(tmp_path, seed):
    lab = Lab(tmp_path)
    text = "\n".join(Maker(seed).steps(2, "", top=True))
    first = lab(text, tools=TOOLS, meta=GATE, approval="inbox", trace_sync="none")
    whole = Life(lab, rejects=0.3 if seed % 2 else 0.0, seed=seed).to_the_end(first)
    same_when_replayed(tmp_path / "runbook.yaml", whole.result.run_id, lab.runner.registry, tmp_path / "recorded")
