"""``gert plugins`` explains what is installed, also when all of it is broken."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

STEP = """
from gert_core import hookimpl
from gert_core.api import StepType

@hookimpl
def gert_step_types():
    return [StepType(name={name!r}, model="nowhere:Model", run="nowhere:run")]
"""


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)


@pytest.fixture
def zoo(fake_dist):
    """One plugin in each state (the blocked one is blocked by the command)."""
    fake_dist.add("gert-step-zoo-good", STEP.format(name="zoo-good"), version="1.0")
    fake_dist.add("gert-step-zoo-syntax", "def broken(:\n", version="0.2")
    fake_dist.add("gert-step-zoo-later", "raise AssertionError\n", group="gert.v9", version="9.0")
    fake_dist.add("gert-step-zoo-one", STEP.format(name="zoo-twin"), version="1.1")
    fake_dist.add("gert-step-zoo-two", STEP.format(name="zoo-twin"), version="1.2")
    fake_dist.add("gert-step-zoo-off", "raise AssertionError\n", version="3.0")
    return fake_dist


def zoo_lines(text):
    return {line.split()[0].removeprefix("step-zoo-"): line for line in text.splitlines() if "step-zoo-" in line}


def test_list_shows_every_state_with_its_cause(gert, zoo):
    code, out, err = gert("-p", "no:step-zoo-off", "plugins", "list")
    lines = zoo_lines(out)
    assert code == 0
    assert {name: line.split()[3] for name, line in lines.items()} == {
        "good": "active",
        "syntax": "broken",
        "later": "incompatible",
        "one": "conflicting",
        "two": "conflicting",
        "off": "blocked",
    }
    assert "SyntaxError" in lines["syntax"]
    assert "gert_step_zoo_syntax.py:1" in lines["syntax"]
    assert "made for gert.v9, this gert loads gert.v0" in lines["later"]
    assert "gert-step-zoo-one 1.1 and gert-step-zoo-two 1.2 both provide step type 'zoo-twin'" in lines["one"]
    assert "warning" not in err
    assert not {"gert_step_zoo_off", "gert_step_zoo_later"} & set(sys.modules)


def test_the_option_is_understood_after_the_verb_too(gert, zoo):
    _, out, _ = gert("plugins", "list", "-p", "no:step-zoo-good", "-pno:gert-step-zoo-off")
    assert zoo_lines(out)["good"].split()[3] == zoo_lines(out)["off"].split()[3] == "blocked"


def test_list_as_json_is_one_document(gert, zoo):
    code, out, _ = gert("plugins", "list", "--json")
    plugins = {p["name"]: p for p in json.loads(out)["plugins"]}
    assert code == 0
    assert plugins["step-zoo-good"] == {
        "name": "step-zoo-good",
        "distribution": "gert-step-zoo-good",
        "version": "1.0",
        "entry_point": "gert.v0: step-zoo-good = gert_step_zoo_good",
        "state": "active",
        "cause": "",
        "provides": {"step": ["zoo-good"]},
        "notes": [],
    }
    assert plugins["step-zoo-syntax"]["state"] == "broken"


def test_list_works_with_every_plugin_broken_and_imports_nothing_heavy(tmp_path, fake_dist):
    for name in ("a", "b"):
        fake_dist.add(f"gert-step-{name}", "raise RuntimeError('no')\n")
    place = str(fake_dist.directory)
    code = (
        "import sys; from gert_core.plugin import registry; from gert_core.plugin.discovery import scan;"
        f"registry.scan_installed = lambda: scan([{place!r}]); sys.path.insert(0, {place!r});"
        "from gert_core.cli import main; code = main(['plugins', 'list']);"
        "heavy = {'pydantic', 'yaml', 'jinja2', 'jsonschema', 'asyncio', 'rich', 'importlib_metadata'};"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    *lines, last = done.stdout.splitlines()
    assert last == "0 []"
    assert [line.split()[3] for line in lines] == ["broken", "broken"]


def test_list_without_any_plugin_says_how_to_get_some(gert, monkeypatch):
    monkeypatch.setattr("gert_core.plugin.registry.scan_installed", lambda: ())
    code, out, err = gert("plugins", "list")
    assert (code, out) == (0, "")
    assert "-m pip install gert" in err


@pytest.mark.parametrize("name", ["step-zoo-syntax", "Gert_Step_Zoo.Syntax"])
def test_show_by_either_name_with_the_ways_out(gert, zoo, name):
    code, out, _ = gert("plugins", "show", name)
    assert code == 0
    assert "step-zoo-syntax (gert-step-zoo-syntax 0.2)" in out
    assert "entry point: gert.v0: step-zoo-syntax = gert_step_zoo_syntax" in out
    assert "pip install --upgrade gert-step-zoo-syntax" in out
    assert "-p no:gert-step-zoo-syntax" in out


def test_show_an_unknown_name_suggests_one(gert, zoo):
    code, _, err = gert("plugins", "show", "step-zoo-godo")
    assert code == 2
    assert "did you mean 'step-zoo-good'?" in err


def test_why_says_who_provides_it(gert, zoo):
    code, out, _ = gert("plugins", "why", "step:zoo-good")
    assert code == 0
    assert "step type 'zoo-good' is provided by plugin step-zoo-good (gert-step-zoo-good 1.0)" in out


def test_why_explains_a_conflict(gert, zoo):
    code, out, _ = gert("plugins", "why", "step:zoo-twin")
    assert code == 1
    assert "gert-step-zoo-one 1.1 and gert-step-zoo-two 1.2" in out


def test_why_explains_a_broken_provider(gert, zoo):
    code, out, _ = gert("plugins", "why", "step:zoo-syntax")
    assert code == 1
    assert "plugin step-zoo-syntax (gert-step-zoo-syntax 0.2) is broken: SyntaxError" in out


def test_why_computes_who_would_provide_it(gert):
    code, out, _ = gert("plugins", "why", "transport:carrier_pigeon")
    assert code == 1
    assert "a distribution that provides it would be called gert-transport-carrier-pigeon" in out
    assert "install " not in out
    code, out, _ = gert("plugins", "why", "step:nothing", "--json")
    assert code == 1
    assert json.loads(out) == {"what": "step:nothing", "provided_by": [], "would_provide": "gert-step-nothing"}


@pytest.mark.parametrize("what", ["zoo", "step:", "stepp:zoo"])
def test_why_needs_a_kind_and_a_name(gert, what):
    code, _, err = gert("plugins", "why", what)
    assert code == 2
    assert "KIND:NAME" in err


def test_a_broken_project_file_does_not_stop_the_explanation(gert, tmp_path):
    pytest.importorskip("gert_core.documents.project")
    (tmp_path / "gert-project.yaml").write_text("plugins: [not, a, map]\n")
    code, _, err = gert("plugins", "list", "--json")
    assert code == 0
    assert "continuing without the project" in err


def test_the_project_file_blocks(gert, tmp_path, zoo):
    pytest.importorskip("gert_core.documents.project")
    (tmp_path / "gert-project.yaml").write_text("name: demo\nplugins:\n  block: [step-zoo-good]\n")
    _, out, err = gert("plugins", "list")
    assert "continuing without" not in err
    assert zoo_lines(out)["good"].split()[3] == "blocked"


RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: demo
steps:
  - id: finish
    type: end
    outcome:
      category: resolved
      code: fine
"""


@pytest.fixture
def runbook(tmp_path):
    file = tmp_path / "demo.runbook.yaml"
    file.write_text(RUNBOOK)
    return str(file)


@pytest.mark.parametrize("bad", ["syntax", "one"])
def test_an_unusable_plugin_stops_exec_with_exit_3_and_the_ways_out(gert, zoo, runbook, bad):
    others = [w for n in ("syntax", "later", "one", "two", "off") if n != bad for w in ("-p", f"no:step-zoo-{n}")]
    if bad == "one":
        others = others[:-4] + others[-2:]
    code, out, err = gert(*others, "exec", runbook)
    assert (code, out) == (3, "")
    assert f"step-zoo-{bad} (gert-step-zoo-{bad} " in err
    assert f"pip uninstall gert-step-zoo-{bad}" in err
    assert f"-p no:gert-step-zoo-{bad}" in err
    assert gert(*others, "validate", runbook)[0] == 0


def test_what_was_never_to_be_loaded_is_a_warning_for_every_command(gert, fake_dist, runbook, tmp_path):
    """A plugin of another version of the interface, and a block of something that is not installed."""
    fake_dist.add("gert-step-zoo-later", "raise AssertionError\n", group="gert.v1", version="9.0")
    (tmp_path / "gert-project.yaml").write_text("name: demo\nplugins: {block: [gert-step-zoo-gone]}\n")
    later = "plugin step-zoo-later (gert-step-zoo-later 9.0) is incompatible: made for gert.v1, this gert loads gert.v0"
    gone = "the plugin 'gert-step-zoo-gone', which is blocked, is not installed"
    for argv in (["exec", runbook], ["validate", runbook], ["schema", "runbook"]):
        code, _, err = gert(*argv)
        assert code == 0, err
        assert f"warning: {later}\n" in err
        assert f"warning: {gone}" in err
    code, out, err = gert("plugins", "list")
    assert (code, zoo_lines(out)["later"].split()[3]) == (0, "incompatible")
    assert f"warning: {gone}" in err
    (tmp_path / "gert-project.yaml").write_text("name: demo\nplugins: {require: [step-zoo-later]}\n")
    code, _, err = gert("exec", runbook)
    assert (code, "the project requires plugin 'step-zoo-later'" in err) == (3, True)


def test_exec_works_without_the_faulty_plugins(gert, zoo, runbook):
    words = [w for n in ("syntax", "later", "two", "off") for w in ("-p", f"no:step-zoo-{n}")]
    code, out, err = gert(*words, "exec", runbook)
    assert code == 0, err
    assert "resolved" in out


def test_exec_refuses_as_json_too(gert, zoo, runbook):
    code, out, _ = gert("exec", runbook, "--json", "-p", "no:step-zoo-off")
    assert code == 3
    assert json.loads(out)["error"]["kind"] == "plugin"
