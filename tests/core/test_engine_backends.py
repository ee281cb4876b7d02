"""Backends: each mode on its own, and what one and the same step comes to in every one of them."""

from __future__ import annotations

import time
from importlib import import_module

import pytest
from lab import PLUGINS, Lab, _Plugin

from gert_core import hookimpl
from gert_core.api import PURE, Completed, Question, StepType
from gert_core.documents.scenario import ScenarioModel
from gert_core.engine.modes.base import Backend
from gert_core.engine.modes.dry_run import DryRunBackend
from gert_core.engine.modes.probe import ProbeBackend
from gert_core.engine.modes.real import RealBackend
from gert_core.engine.modes.replay import ReplayBackend
from gert_core.kit.models import StepModel
from gert_core.plugin.registry import Registry

BACKENDS = [RealBackend, DryRunBackend, ProbeBackend, ReplayBackend]
MEMBERS = [name for name in vars(Backend) if not name.startswith("_")]


class Leaf(StepModel):
    """A leaf under test."""


@pytest.fixture
def leaf(tmp_path):
    """Runs a pure leaf whose type has the given ``run``."""
    lab = Lab(tmp_path)

    def go(run, **options):
        class Types:
            @hookimpl
            def gert_step_types(self):
                yield StepType(name="leaf", model=Leaf, run=run, contract=PURE, fields={"seen": "any"})

        plugins = [*(import_module(name) for name in PLUGINS), _Plugin(lab), Types()]
        lab.runner.registry = Registry.build(scan=(), extra_plugins=plugins)
        ran = lab("- { id: a, type: leaf }", **options)
        return ran, ran.of("step_complete", "a")[0]

    return go


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_has_all_of_its_own_and_inherits_nothing(backend):
    assert backend.__mro__ == (backend, object)
    assert [name for name in MEMBERS if name not in vars(backend)] == []


CALLS = {
    "session": lambda ctx: ctx.session("peer", lambda services: None),
    "ask": lambda ctx: ctx.ask(Question(name="why", prompt="why?")),
    "attach": lambda ctx: ctx.attach(__file__),
}


@pytest.mark.parametrize("call", CALLS)
def test_in_a_dry_run_every_call_to_the_outside_is_left_open(leaf, call, tmp_path):
    def run(step, ctx):
        CALLS[call](ctx)
        raise AssertionError("the call came back")

    ran, complete = leaf(run, mode="dry-run")
    assert ran.status == "completed"
    assert "symbolic" in complete["detail"]
    assert complete["status"] == "success"
    assert list(tmp_path.rglob("attachments/*")) == []


def test_a_probe_attaches_what_a_step_gives_it(leaf, tmp_path):
    def run(step, ctx):
        return Completed(fields={"seen": ctx.attach(__file__)["name"]})

    _, complete = leaf(run, mode="probe")
    assert complete["fields"] == {"seen": "test_engine_backends.py"}
    assert [file.name for file in tmp_path.rglob("attachments/*")] == ["test_engine_backends.py"]


def test_a_replay_attaches_nothing(leaf, tmp_path):
    def run(step, ctx):
        return Completed(fields={"seen": ctx.attach("/nowhere/at/all")})

    _, complete = leaf(run, mode="replay", scenario=ScenarioModel())
    assert complete["fields"]["seen"] == {"name": "/nowhere/at/all", "sha256": None, "size": None}
    assert list(tmp_path.rglob("attachments/*")) == []


@pytest.mark.parametrize(("mode", "waits"), [("real", True), ("probe", True), ("dry-run", False), ("replay", False)])
def test_sleep_takes_time_only_where_things_happen(leaf, mode, waits):
    took = []

    def run(step, ctx):
        began = time.perf_counter()
        ctx.sleep(0.3)
        took.append(time.perf_counter() - began)
        return Completed()

    leaf(run, mode=mode, **({"scenario": ScenarioModel()} if mode == "replay" else {}))
    assert (took[0] >= 0.3) is waits


APPROVE = "governance: { rules: [ { effects: [network], action: require-approval }, { default: allow } ] }"


@pytest.mark.parametrize(
    ("mode", "status"), [("real", "approval_pending"), ("probe", "approval_pending"), ("dry-run", "completed")]
)
def test_approvals_are_asked_for_where_steps_are_executed(tmp_path, mode, status):
    lab = Lab(tmp_path)
    ran = lab("- { id: a, type: tool, tool: lab }", meta=APPROVE, mode=mode, approval="inbox")
    assert ran.status == status
    assert len(ran.of("approval_submitted")) == (status == "approval_pending")
    assert lab.calls == []
