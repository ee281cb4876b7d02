"""``gert plugins show`` and ``why`` tell of policies, findings, observers, commands and the tools of packs."""

from __future__ import annotations

import json

import pytest

GUARD = """
from pathlib import Path
from gert_core import hookimpl
from gert_core.api import Command, Diagnostic, PolicyPack, ToolPack

@hookimpl
def gert_policies(project):
    if project is not None and project.config.get("broken"):
        raise RuntimeError("the rules are not readable")
    yield PolicyPack(name="zoo-floor", document={"apiVersion": "policy/v0", "meta": {"name": "zoo"}, "rules": []})

@hookimpl
def gert_diagnostics(runbook):
    yield Diagnostic(rule="zoo-rule", message="no")

@hookimpl
def gert_trace_event(event):
    pass

@hookimpl
def gert_commands():
    yield Command(name="zoo-feed", summary="Feeds.", target="nowhere:main")

@hookimpl
def gert_tool_packs():
    yield ToolPack(name="zoo", directory=Path(__file__).parent / "zoo_tools")
"""


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)
    return here


@pytest.fixture
def guard(fake_dist):
    tools = {f"zoo_tools/{name}.tool.yaml": "apiVersion: tool/v0\n" for name in ("broom", "lamp")}
    fake_dist.add("gert-guard-zoo", GUARD, version="1.2", files=tools)
    return fake_dist


def test_show_names_everything_a_plugin_does(gert, guard):
    code, out, _ = gert("plugins", "show", "guard-zoo")
    assert code == 0
    assert [line.strip() for line in out.splitlines()[3:]] == [
        "tools: zoo",
        "tool: zoo/broom, zoo/lamp",
        "command: zoo-feed",
        "policy: zoo-floor",
        "diagnostics: checks every runbook",
        "observer: is told every trace event",
    ]
    code, out, _ = gert("plugins", "show", "guard-zoo", "--json")
    assert json.loads(out)["provides"] == {
        "tools": ["zoo"],
        "tool": ["zoo/broom", "zoo/lamp"],
        "command": ["zoo-feed"],
        "policy": ["zoo-floor"],
        "diagnostics": ["guard-zoo"],
        "observer": ["guard-zoo"],
    }
    assert json.loads(out)["notes"] == []


def test_show_says_that_policies_cannot_be_provided(gert, guard, outside_of_a_project):
    (outside_of_a_project / "gert-project.yaml").write_text("plugins: {config: {guard-zoo: {broken: true}}}\n")
    code, out, _ = gert("plugins", "show", "guard-zoo")
    assert code == 0
    assert "note: plugin guard-zoo (gert-guard-zoo 1.2) cannot provide its policies: RuntimeError: the rules are" in out
    code, out, _ = gert("plugins", "why", "policy:zoo-floor")
    assert code == 1
    assert "cannot provide its policies: RuntimeError: the rules are not readable" in out


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("policy:zoo-floor", "policy 'zoo-floor' is provided by plugin guard-zoo (gert-guard-zoo 1.2)"),
        ("policy", "policy 'zoo-floor' is provided by plugin guard-zoo (gert-guard-zoo 1.2)"),
        ("diagnostics", "plugin guard-zoo (gert-guard-zoo 1.2) checks every runbook"),
        ("diagnostics:guard-zoo", "plugin guard-zoo (gert-guard-zoo 1.2) checks every runbook"),
        ("observer:gert-guard-zoo", "plugin guard-zoo (gert-guard-zoo 1.2) is told every trace event"),
        ("observer", "plugin guard-zoo (gert-guard-zoo 1.2) is told every trace event"),
        ("command:zoo-feed", "command 'zoo-feed' is provided by plugin guard-zoo (gert-guard-zoo 1.2)"),
        ("command:exec", "command 'exec' is one of gert itself"),
        ("tool:zoo/broom", "tool 'zoo/broom' is provided by plugin guard-zoo (gert-guard-zoo 1.2)"),
        ("tool:broom", "tool 'broom' is provided by plugin guard-zoo (gert-guard-zoo 1.2)"),
    ],
)
def test_why_says_who_does_it(gert, guard, what, said):
    code, out, err = gert("plugins", "why", what)
    assert code == 0, err
    assert said in out


def test_why_shows_the_file_of_a_tool(gert, guard):
    _, out, _ = gert("plugins", "why", "tool:zoo/broom")
    assert str(guard.directory / "zoo_tools" / "broom.tool.yaml") in out
    code, out, _ = gert("plugins", "why", "tool:zoo/broom", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["file"] == str(guard.directory / "zoo_tools" / "broom.tool.yaml")
    assert [info["name"] for info in answer["provided_by"]] == ["guard-zoo"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("policy:zoo-flor", "no installed plugin provides policy 'zoo-flor'; did you mean 'zoo-floor'?"),
        ("tool:zoo/brom", "tool pack 'zoo' of plugin guard-zoo (gert-guard-zoo 1.2) does not have a tool 'brom'"),
        ("tool:zoo/brom", "did you mean 'zoo/broom'?"),
        ("tool:barn/fork", "no installed plugin provides tool pack 'barn'"),
        ("tool:fork", "no installed tool pack has a tool 'fork'"),
        ("diagnostics:step-tool", "plugin step-tool"),
        ("observer:nobody", "no installed plugin has the name 'nobody'"),
    ],
)
def test_why_says_what_is_missing(gert, guard, what, said):
    code, out, err = gert("plugins", "why", what)
    assert code in (1, 2)
    assert said in out + err


def test_a_tool_of_the_project_is_not_a_plugins(gert, guard, outside_of_a_project):
    own = outside_of_a_project / "tools"
    own.mkdir()
    (own / "broom.tool.yaml").write_text("apiVersion: tool/v0\n")
    code, out, _ = gert("plugins", "why", "tool:broom")
    assert code == 0
    assert "tool 'broom' is a file, not a plugin's: tools/broom.tool.yaml" in out


def test_a_tool_in_two_packs_needs_the_name_of_one(gert, guard):
    guard.add("gert-tools-yard", GUARD.replace('name="zoo"', 'name="yard"').replace("zoo-feed", "yard-feed"))
    code, out, _ = gert("plugins", "why", "tool:broom")
    assert code == 1
    assert "several packs have it: write one of yard/broom, zoo/broom" in out
    code, out, _ = gert("plugins", "why", "policy:zoo-floor")
    assert code == 0
    assert out.count("policy 'zoo-floor' is provided by plugin") == 2, "the most restrictive wins: both apply"


def test_list_as_json_says_the_same(gert, guard):
    _, out, _ = gert("plugins", "list", "--json")
    (found,) = [p for p in json.loads(out)["plugins"] if p["name"] == "guard-zoo"]
    assert found["provides"]["policy"] == ["zoo-floor"]


def test_without_such_plugins_why_says_so(gert, monkeypatch):
    monkeypatch.setattr("gert_core.plugin.registry.scan_installed", lambda: ())
    for what, said in (
        ("policy", "no installed plugin provides a policy"),
        ("diagnostics", "no installed plugin checks runbooks"),
        ("observer", "no installed plugin observes trace events"),
    ):
        code, out, _ = gert("plugins", "why", what)
        assert code == 1
        assert said in out
