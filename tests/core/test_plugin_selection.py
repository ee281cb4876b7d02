"""Allow, block and require decide on metadata, before anything is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gert_core.api import PluginError, UsageError
from gert_core.cli.session import Options, registry_for
from gert_core.documents.project import Project, ProjectModel
from gert_core.plugin.registry import Registry

GOOD = """
from gert_core import hookimpl

@hookimpl
def gert_step_types():
    return None
"""


@pytest.fixture
def plugins(fake_dist):
    for name in ("alpha", "beta", "gamma"):
        fake_dist.add(f"gert-step-{name}", GOOD, version="1.5")
    return fake_dist


def states(registry):
    return {i.name.removeprefix("step-"): str(i.state) for i in registry.plugins}


def test_by_default_everything_installed_is_loaded(plugins):
    assert set(states(Registry.build(scan=plugins.scan())).values()) == {"active"}


def test_listed_loads_only_what_is_allowed_or_required(plugins):
    registry = Registry.build(scan=plugins.scan(), load="listed", allow=["step-alpha"], require=["gert-step-beta>=1"])
    assert states(registry) == {"alpha": "active", "beta": "active", "gamma": "blocked"}
    assert "gert_step_gamma" not in sys.modules
    registry.require_healthy()


def test_an_allow_list_does_not_restrict_when_everything_is_loaded(plugins):
    assert states(Registry.build(scan=plugins.scan(), allow=["step-alpha"]))["beta"] == "active"


def test_a_block_wins_over_an_allow(plugins):
    registry = Registry.build(scan=plugins.scan(), allow=["step-alpha"], block=["gert-step-alpha"])
    assert states(registry)["alpha"] == "blocked"


@pytest.mark.parametrize("where", ["allow", "block"])
def test_an_unknown_name_is_an_error_with_a_suggestion(plugins, where):
    with pytest.raises(UsageError) as caught:
        Registry.build(scan=plugins.scan(), **{where: ["step-alhpa"]})
    assert "'step-alhpa'" in caught.value.message
    assert caught.value.hint == "did you mean 'step-alpha'?"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["gert-step-alpha", "gert_step_alpha>=1.5,<2", "gert-step-alpha~=1.4"])
def test_a_met_requirement_is_silent(plugins, text):
    Registry.build(scan=plugins.scan(), require=[text]).require_healthy()


@pytest.mark.parametrize(
    ("text", "why", "install"),
    [
        ("gert-step-alpha>=2", "version 1.5 is active", "'gert-step-alpha>=2'"),
        (
            "step-alpha",
            "it is not installed; the plugin 'step-alpha' is in the distribution 'gert-step-alpha', and requirements name distributions",
            None,
        ),
        ("gert-policy-acme>=2", "it is not installed", "'gert-policy-acme>=2'"),
        ("step-alhpa", "it is not installed; did you mean 'step-alpha'?", None),
        ("gert-step-beta", "it is installed but not active", None),
    ],
)
def test_an_unmet_requirement_stops_runs_and_warns_readers(plugins, text, why, install):
    registry = Registry.build(scan=plugins.scan(), require=[text], block=["step-beta"])
    assert registry.warnings() == [f"the project requires plugin {text!r}, but {why}"]
    with pytest.raises(PluginError) as caught:
        registry.require_healthy()
    assert caught.value.exit_code == 3
    if install is None:
        assert "install" not in (caught.value.hint or "")
    else:
        assert f"-m pip install {install}`" in caught.value.hint


def test_a_malformed_requirement_is_a_usage_error(plugins):
    with pytest.raises(UsageError, match="not a plugin requirement"):
        Registry.build(scan=plugins.scan(), require=["gert-step-alpha >= > 2"]).unmet_requirements()


def project(**plugins):
    return Project(root=Path(), model=ProjectModel.model_validate({"plugins": plugins}))


def ours(registry):
    return {name: state for name, state in states(registry).items() if name in {"alpha", "beta", "gamma"}}


def session(project_=None, *words, environ=None):
    return registry_for(project_, Options(plugins=words), environ=environ or {}, warn=False)


def test_flags_environment_and_project_all_block(plugins):
    registry = session(project(block=["step-gamma"]), "no:step-alpha", environ={"GERT_BLOCK_PLUGINS": " step-beta ,"})
    assert set(ours(registry).values()) == {"blocked"}


def test_a_block_of_what_is_not_installed_is_a_warning_with_a_suggestion(plugins):
    chosen = session(project(block=["step-alhpa"]), environ={"GERT_BLOCK_PLUGINS": "gert-step-beta,zzz"})
    assert ours(chosen) == {"alpha": "active", "beta": "blocked", "gamma": "active"}
    said = [sentence for sentence in chosen.warnings() if "which is blocked" in sentence]
    assert said == [
        "the plugin 'zzz', which is blocked, is not installed",
        "the plugin 'step-alhpa', which is blocked, is not installed; did you mean 'step-alpha'?",
    ]
    with pytest.raises(UsageError, match="no installed plugin has the name 'step-alhpa'"):
        session(None, "no:step-alhpa")


def test_a_project_that_names_its_plugins_means_no_others(plugins):
    chosen = project(allow=["step-alpha"])
    assert ours(session(chosen)) == {"alpha": "active", "beta": "blocked", "gamma": "blocked"}
    assert ours(session(chosen, "step-beta")) == {"alpha": "active", "beta": "active", "gamma": "blocked"}


def test_a_listed_project_without_names_loads_nothing(plugins):
    assert set(ours(session(project(load="listed"))).values()) == {"blocked"}


def test_naming_a_plugin_on_the_command_line_does_not_switch_off_the_others(plugins):
    assert set(ours(session(None, "step-alpha")).values()) == {"active"}


def test_an_executing_command_refuses_and_a_reading_one_warns_once_per_plugin(plugins, capsys):
    plugins.add("gert-step-bad", "def broken(:\n")
    plugins.add("gert-step-worse", "import nothing_like_that\n")
    with pytest.raises(PluginError, match=r"step-bad .*step-worse "):
        registry_for(None, executing=True, environ={})
    capsys.readouterr()
    registry_for(None, environ={})
    captured = capsys.readouterr()
    assert captured.out == ""
    mine = [line for line in captured.err.splitlines() if "gert-step-bad" in line or "gert-step-worse" in line]
    assert len(mine) == 2
    assert all(line.startswith("warning: plugin step-") for line in mine)
