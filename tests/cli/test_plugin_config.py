"""``plugins.config`` in the project file: each plugin is handed its own settings and never another's."""

from __future__ import annotations

import json

import pytest

ANIMAL = """
import json
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import (
    Command, Completed, Contract, InputResolver, PolicyPack, Reply,
    StepType, Transport,
)

ME = "@name@"


def told(place, config):
    with Path("told.jsonl").open("a") as file:
        file.write(json.dumps([ME, place, config]) + "\\n")


def run(step, ctx):
    told("step", ctx.config)
    ctx.session("peer", lambda services: told("session", services.config) or Peer())
    return Completed()


class Peer:
    def call(self, action, inputs, deadline):
        return Reply(exit_code=0)

    def close(self):
        pass


def open_transport(target, services):
    told("transport", services.config)
    return Peer()


def resolve(bindings, deadline, services):
    told("inputs", services.config)
    return {binding.name: ME for binding in bindings}


def names(project):
    told("names", project.config)
    return (f"{ME}-kept",)


def command(args, host):
    told("command", host.config)
    told("project", host.project.config)
    host.console.say(f"{host.deadline(5).remaining() <= 5} {host.deadline().remaining()}")
    print(host.project.name, sorted(t for t in host.registry.step_types() if t[:3] == "zoo"))
    return 0


@hookimpl
def gert_step_types():
    return [StepType(name=f"zoo_{ME}", model="zoo_model:Model", run=run, contract=Contract(effects=("network",)))]


@hookimpl
def gert_transports():
    return [Transport(name=f"zoo-{ME}", open=open_transport)]


@hookimpl
def gert_input_resolvers():
    return [InputResolver(name=f"zoo-{ME}", resolve=resolve), InputResolver(name=f"{ME}s", resolve=resolve, names=names)]


@hookimpl
def gert_policies(project):
    told("policies", project.config)


@hookimpl
def gert_diagnostics(runbook, project):
    told("diagnostics", project.config)


@hookimpl
def gert_commands():
    return [Command(name=f"feed-{ME}", summary="Feeds it.", target=command)]
"""
MODEL = """
from gert_core.kit.models import StepModel

class Model(StepModel):
    '''Nothing to say.'''
"""
RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: demo
  inputs:
    a: {from: zoo-lion/x}
    b: {from: zoo-bear/x}
tools: [roar]
steps:
  - {type: zoo_lion}
  - {type: zoo_bear}
  - {type: tool, tool: roar}
  - {type: end, outcome: {category: resolved}}
"""
TOOL = """
apiVersion: tool/v0
meta: {name: roar, transport: zoo-lion}
contract: {effects: [network], writes: [], idempotent: true}
actions: {go: {method: go}}
"""
PROJECT = """
name: zoo
plugins:
  config:
    step-zoo-lion: {food: meat, cubs: [1, 2]}
    gert-step-zoo-bear: {food: honey}
"""
LION, BEAR = {"food": "meat", "cubs": [1, 2]}, {"food": "honey"}


@pytest.fixture
def zoo(tmp_path, monkeypatch, fake_dist):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)
    fake_dist.write("zoo_model.py", MODEL)
    for name in ("lion", "bear"):
        fake_dist.add(f"gert-step-zoo-{name}", ANIMAL.replace("@name@", name))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "roar.tool.yaml").write_text(TOOL)
    (tmp_path / "demo.yaml").write_text(RUNBOOK)
    (tmp_path / "gert-project.yaml").write_text(PROJECT)
    return tmp_path


def told(directory):
    """What each plugin was told where, without repetitions."""
    lines = (directory / "told.jsonl").read_text().splitlines()
    found = {}
    for name, place, config in map(json.loads, lines):
        assert found.setdefault((name, place), config) == config
    return found


def test_a_run_hands_every_plugin_its_own_settings(gert, zoo):
    code, _, err = gert("exec", "demo.yaml")
    assert code == 0, err
    places = {"step", "session", "inputs", "names", "policies", "diagnostics"}
    assert told(zoo) == {
        **{("lion", place): LION for place in {*places, "transport"}},
        **{("bear", place): BEAR for place in places},
    }


def test_a_command_is_given_its_plugins_settings_the_project_and_the_registry(gert, zoo):
    code, out, err = gert("feed-bear")
    assert (code, err) == (0, "True None\n")
    assert out == "zoo ['zoo_bear', 'zoo_lion']\n"
    assert told(zoo) == {("bear", "command"): BEAR, ("bear", "project"): BEAR}


def test_a_plugin_without_settings_has_none(gert, zoo):
    (zoo / "gert-project.yaml").write_text("name: zoo\n")
    assert gert("exec", "demo.yaml")[0] == 0
    assert set(map(json.dumps, told(zoo).values())) == {"{}"}


@pytest.mark.parametrize("command", [["exec", "demo.yaml"], ["validate", "demo.yaml"], ["plugins", "list"]])
def test_settings_of_an_unknown_plugin_are_refused_as_an_unknown_name_to_block_is(gert, zoo, command):
    (zoo / "gert-project.yaml").write_text("plugins: {config: {step-zoo-lyon: {food: meat}}}\n")
    code, _, err = gert(*command)
    assert code == 2
    assert "no installed plugin has the name 'step-zoo-lyon'" in err
    assert "step-zoo-lion" in err
    assert not (zoo / "told.jsonl").exists()


def test_settings_of_a_blocked_plugin_are_no_mistake(gert, zoo):
    (zoo / "gert-project.yaml").write_text(PROJECT + "  block: [step-zoo-bear]\n")
    assert gert("validate", "gert-project.yaml")[0] == 0
    assert gert("feed-lion")[0] == 0


def test_the_same_plugin_twice_is_refused(gert, zoo):
    (zoo / "gert-project.yaml").write_text("plugins: {config: {step-zoo-lion: {}, gert-step-zoo-lion: {}}}\n")
    code, _, err = gert("validate", "demo.yaml")
    assert code == 2
    assert "'step-zoo-lion' and 'gert-step-zoo-lion'" in err


@pytest.mark.parametrize("wrong", ["[a]", "{step-zoo-lion: meat}"])
def test_settings_are_a_map_of_maps(gert, zoo, wrong):
    (zoo / "gert-project.yaml").write_text(f"plugins: {{config: {wrong}}}\n")
    code, out, _ = gert("validate", "gert-project.yaml")
    assert code == 1
    assert "wrong-type" in out
