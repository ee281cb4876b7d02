"""``gert new``: what it writes works at once."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from repository import ROOT

from gert_core.testing.receivers import Receiver

KINDS = ["approval", "command", "guard", "input", "notify", "policy", "signature", "step", "tools", "transport"]
K16 = ROOT / "tests" / "data" / "k16"


def gert(*args, cwd):
    return subprocess.run(
        [sys.executable, "-m", "gert_core", *args], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_a_runbook_is_valid_and_its_test_passes(tmp_path):
    done = gert("new", "runbook", "restart-web", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Next: gert test restart-web.yaml"
    assert gert("validate", "--strict", ".", cwd=tmp_path).returncode == 0
    assert "1 passed" in gert("test", "restart-web.yaml", cwd=tmp_path).stdout


def test_a_tool_is_valid_and_goes_where_the_project_wants_it(tmp_path):
    assert gert("new", "tool", "systemctl", cwd=tmp_path).returncode == 0
    (tmp_path / "gert-project.yaml").write_text("tools_dir: shared\n")
    (tmp_path / "deep").mkdir()
    assert gert("new", "tool", "systemctl", cwd=tmp_path / "deep").returncode == 0
    for place in ("tools", "shared"):
        done = gert("validate", "--strict", f"{place}/systemctl.tool.yaml", cwd=tmp_path)
        assert done.returncode == 0, done.stdout


def test_a_scenario_has_an_answer_for_every_tool_and_passes(tmp_path):
    gert("init", cwd=tmp_path)
    done = gert("new", "scenario", "other", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    directory = tmp_path / "scenarios" / "disk-check" / "other"
    assert '"disk:clear":' in (directory / "scenario.yaml").read_text()
    assert 'expected_code: "enough_space"' in (directory / "test.yaml").read_text()
    assert "1 passed" in gert("test", "disk-check.yaml", "--scenario", "other", cwd=tmp_path).stdout


def test_a_scenario_of_a_runbook_with_inputs_and_evidence_passes(tmp_path):
    gert("new", "runbook", "look", cwd=tmp_path)
    done = gert("new", "scenario", "second", "--runbook", "look.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "scenarios" / "look" / "second" / "scenario.yaml").read_text()
    assert 'target: "text"' in text
    assert 'look: {"notes": "text"}' in text
    assert "1 passed" in gert("test", "look.yaml", "--scenario", "second", cwd=tmp_path).stdout


def test_a_scenario_has_secret_outputs_that_can_be_masked(tmp_path):
    (tmp_path / "tools").mkdir()
    contract = "contract: {effects: [x], outputs: {pin: {type: string, secret: true}}}"
    tool = f"apiVersion: tool/v0\nmeta: {{name: t}}\n{contract}\nactions: {{do: {{argv: [echo]}}}}\n"
    (tmp_path / "tools" / "t.tool.yaml").write_text(tool)
    steps = "steps: [{id: a, type: tool, tool: t}, {type: end, outcome: {category: resolved}}]\n"
    (tmp_path / "b.yaml").write_text(f"apiVersion: kernel/v0\nmeta: {{name: b}}\ntools: [t]\n{steps}")
    done = gert("new", "scenario", "first", "--runbook", "b.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 passed" in gert("test", "b.yaml", cwd=tmp_path).stdout


def test_a_scenario_of_the_kernels_example_passes(tmp_path):
    for file in (K16 / "runbook.yaml", *(K16 / "tools").glob("*.yaml")):
        target = tmp_path / file.relative_to(K16)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.read_bytes())
    done = gert("new", "scenario", "sketch", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 passed" in gert("test", "runbook.yaml", cwd=tmp_path).stdout


@pytest.mark.parametrize("hosts", ["{type: list, required: true}", "{type: list, default: []}"])
def test_a_scenario_of_a_loop_passes(tmp_path, hosts):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ping.tool.yaml").write_text(
        "apiVersion: tool/v0\nmeta: {name: ping, transport: stdio}\n"
        "actions: {ask: {argv: [ping, '{{ .host }}'], contract: {inputs: {host: {type: string}}, writes: []}}}\n"
    )
    (tmp_path / "sweep.yaml").write_text(f"""
apiVersion: kernel/v0
meta: {{name: sweep, inputs: {{hosts: {hosts}}}}}
tools: [ping]
steps:
  - {{id: ask, type: tool, tool: ping, for_each: {{as: host, over: "{{{{ .hosts }}}}"}}, inputs: {{host: "{{{{ .host }}}}"}}}}
  - {{type: end, outcome: {{category: resolved}}}}
""")
    done = gert("new", "scenario", "some", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 passed" in gert("test", "sweep.yaml", cwd=tmp_path).stdout


PING = (
    "apiVersion: tool/v0\nmeta: {name: ping, transport: stdio}\n"
    "actions: {ask: {argv: [ping, '{{ .host }}'], contract: {inputs: {host: {type: string}}, writes: [],"
    " outputs: {ms: {type: int}}}}}\n"
)


def sketch(tmp_path, steps, *, meta="", tools="[ping]"):
    """Write a runbook and draft a scenario for it; return what the command, the two files and the test say."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ping.tool.yaml").write_text(PING)
    (tmp_path / "book.yaml").write_text(
        f"apiVersion: kernel/v0\nmeta: {{name: book{meta}}}\ntools: {tools}\nsteps:\n{steps}"
        "  - {id: done, type: end, outcome: {category: resolved}}\n"
    )
    done = gert("new", "scenario", "some", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    directory = tmp_path / "scenarios" / "book" / "some"
    texts = [(directory / name).read_text() for name in ("scenario.yaml", "test.yaml")]
    return done, *texts, gert("test", "book.yaml", "--scenario", "some", cwd=tmp_path)


ASK = '{id: ask, type: tool, tool: ping, for_each: {as: host, over: [a, b, c]}, inputs: {host: "{{ .host }}"}}'


@pytest.mark.parametrize(
    "steps",
    [
        f"  - {ASK}\n",
        f"  - {ASK[:-1]}, continue_on_fail: true}}\n",
        f"  - {{id: twice, type: repeat, repeat: {{max: 3}}, steps: [{ASK.replace('[a, b, c]', '[a]')}]}}\n",
        f"  - {{id: both, type: parallel, for_each: {{as: x, over: [1, 2, 3]}}, branches: [{{steps: [{ASK.replace('[a, b, c]', '[a]')}]}}]}}\n",
    ],
)
def test_a_scenario_has_one_answer_for_every_call_of_a_loop(tmp_path, steps):
    _, scenario, test, tried = sketch(tmp_path, steps)
    assert scenario.count("{outputs: ") == 3
    assert "expected_status: completed" in test
    assert "1 passed" in tried.stdout
    assert "not used" not in tried.stdout + tried.stderr


def test_a_scenario_has_one_result_for_every_item_of_an_extension(tmp_path):
    steps = (
        "  - id: out\n    type: extension\n    extension: other\n    for_each: {as: x, key: '{{ .x }}', over: [a, b]}\n"
        "    contract: {effects: [network], writes: [], outputs: {n: {type: int}}}\n"
        "  - id: deep\n    type: branch\n    branches:\n      - condition: default\n        steps:\n"
        "          - {id: inner, type: extension, extension: other, contract: {effects: [network], writes: []}}\n"
    )
    _, scenario, test, tried = sketch(tmp_path, steps)
    for key in ('"out[a]"', '"out[b]"', '"deep/0/inner"'):
        assert f"{key}: " in scenario
    assert "expected_status: completed" in test
    assert "1 passed" in tried.stdout
    assert "not used" not in tried.stdout + tried.stderr


def test_a_scenario_ticks_checklists(tmp_path):
    steps = "  - {id: look, type: manual, instructions: look, required_evidence: [{kind: checklist, name: points, items: [a, b]}]}\n"
    _, scenario, test, tried = sketch(tmp_path, steps)
    assert 'look: {"points": {"a": true, "b": true}}' in scenario
    assert "expected_status: completed" in test
    assert "1 passed" in tried.stdout


def test_a_scenario_has_no_evidence_for_an_approval_that_its_replay_does_not_reach(tmp_path):
    guarded = 'when: "{{ .on }}"'
    steps = f"  - {{id: ok, type: approval, {guarded}, message: Go on?}}\n"
    steps += f"  - {{id: look, type: manual, {guarded}, instructions: look, required_evidence: [{{kind: text, name: seen}}]}}\n"
    _, scenario, _, tried = sketch(tmp_path, steps, meta=", inputs: {on: {type: bool, default: false}}")
    assert 'look: {"seen": "text"}' in scenario
    assert "approver" not in scenario + tried.stdout + tried.stderr
    assert "1 passed" in tried.stdout


def test_a_scenario_has_evidence_for_steps_that_its_replay_does_not_reach_as_a_comment(tmp_path):
    evidence = "{kind: text, name: seen}, {kind: checklist, name: ticked, items: [a, b]}, {kind: choice, name: way, options: [x, y]}"
    steps = f"  - {{id: look, type: manual, when: '{{{{ .on }}}}', instructions: i, required_evidence: [{evidence}]}}\n"
    steps += "  - {type: manual, when: '{{ .on }}', instructions: i, required_evidence: [{kind: text, name: more}]}\n"
    _, scenario, _, tried = sketch(tmp_path, steps, meta=", inputs: {on: {type: bool, default: false}}")
    assert '#   look: {"seen": "text", "ticked": {"a": true, "b": true}, "way": "x"}\n' in scenario
    assert "1 passed" in tried.stdout
    assert "warning" not in tried.stdout + tried.stderr
    (path,) = tmp_path.rglob("scenario.yaml")
    path.write_text(scenario.replace("# evidence: #", "evidence: #").replace("#   ", "  ") + "inputs: {on: true}\n")
    tried = gert("test", "book.yaml", "--all", cwd=tmp_path)
    assert "1 passed" in tried.stdout, tried.stdout
    assert "warning" not in tried.stdout + tried.stderr


def test_an_error_of_the_draft_is_told_and_never_expected(tmp_path):
    steps = (
        '  - {id: ask, type: tool, tool: ping, for_each: {as: host, over: "{{ .many.hosts }}"}, inputs: {host: x}}\n'
    )
    done, _, test, tried = sketch(tmp_path, steps, meta=", inputs: {many: {type: object, required: true}}")
    assert "expected_status" not in test
    assert "must_reach" not in test
    assert "ends in an error" in done.stderr
    assert "`.many.hosts`" in done.stderr
    assert tried.returncode == 1
    assert "the run ended in error" in tried.stdout


def test_without_a_runbook_a_scenario_asks_which(tmp_path):
    done = gert("new", "scenario", "x", cwd=tmp_path)
    assert done.returncode == 2
    assert "add --runbook FILE" in done.stderr


def test_nothing_is_overwritten(tmp_path):
    assert gert("new", "runbook", "a", cwd=tmp_path).returncode == 0
    done = gert("new", "runbook", "a.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "a.yaml already exists" in done.stderr


@pytest.mark.parametrize("name", ["../out", "Web", "a b", "", "-x", "a/b", "é"])
def test_names_that_would_lead_elsewhere_are_refused(tmp_path, name):
    done = gert("new", "runbook", "--", name, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert not list(tmp_path.rglob("*.yaml"))


@pytest.mark.parametrize("name", ["wait", "step", "step-", "hat-wait"])
def test_a_plugin_says_its_kind(tmp_path, name):
    done = gert("new", "plugin", name, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A virtual environment with a plugin of every kind, written by ``gert new plugin`` and installed by its own build.

    It sees this environment too, so that nothing is fetched.
    """
    if find_spec("uv") is None:
        pytest.skip("uv is not installed here; the development environment has it")
    place = tmp_path_factory.mktemp("scaffolds")
    for kind in KINDS:
        assert gert("new", "plugin", f"{kind}-acme-two", cwd=place).returncode == 0
    uv = [sys.executable, "-m", "uv", "--quiet", "--offline"]
    subprocess.run([*uv, "venv", "--python", sys.executable, "venv"], cwd=place, check=True)
    (site,) = (place / "venv" / "lib").glob("python*/site-packages")
    (site / "outer.pth").write_text("".join(f"{entry}\n" for entry in (ROOT, *sys.path[1:])))
    install = ["pip", "install", "--python", "venv", "--no-deps", "--no-build-isolation"]
    editable = [word for kind in KINDS for word in ("--editable", f"./gert-{kind}-acme-two")]
    subprocess.run([*uv, *install, *editable], cwd=place, check=True)
    return place


def inside(place, *args, **environ):
    """Run a module with Python of the virtual environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GERT_", "PYTEST_", "PYTHON"))}
    return subprocess.run(
        [place / "venv" / "bin" / "python", "-m", *args],
        cwd=place,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_installed_plugins_own_tests_pass(installed, kind):
    done = inside(installed, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", f"gert-{kind}-acme-two")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* passed", done.stdout)


def test_gert_finds_every_installed_plugin(installed):
    done = inside(installed, "gert_core", "plugins", "list", "--json")
    found = {p["name"]: p for p in json.loads(done.stdout)["plugins"]}
    for kind in KINDS:
        plugin = found[f"{kind}-acme-two"]
        assert (plugin["state"], plugin["notes"]) == ("active", []), plugin
        assert plugin["provides"], plugin
    assert inside(installed, "gert_core", "acme-two", "acme-two").stdout == "acme-two/say\n"


BOOK = """
apiVersion: kernel/v0
meta: {name: all, inputs: {owner: {type: string, from: acme-two/owner}}}
tools: [%s]
steps:
  - {id: greet, type: acme_two, text: "{{ .owner }}"}
  - {id: line, type: tool, tool: %s, inputs: {text: "{{ .greet.said }}"}}
  - {type: end, outcome: {category: resolved, code: done, meta: {line: "{{ .line.said }}"}}}
"""
TOOL = """
apiVersion: tool/v0
meta: {name: inner, transport: acme-two, config: {inside: [env, PREFIX=by]}}
actions:
  line:
    argv: [sh, -c, 'echo "$PREFIX $0"', "{{ .text }}"]
    contract: {effects: [process], inputs: {text: {type: string}}, outputs: {said: {type: string}}, writes: [%s]}
    extract: {said: {from: stdout}}
"""


def test_the_installed_plugins_work_together(installed, monkeypatch):
    """Input, step, transport, signature, guard, policy, approval provider and notifier in runs of the command line."""
    monkeypatch.setenv("ACME_TWO_OWNER", "Ada")
    (installed / "tools").mkdir(exist_ok=True)
    (installed / "tools" / "inner.tool.yaml").write_text(TOOL % "")
    (installed / "all.yaml").write_text(BOOK % ("inner", "inner"))
    key = f"acme-two:{base64.b64encode(b'k' * 32).decode()}"
    signing = {"GERT_TRACE_SIGNING_KEY": key, "GERT_TRACE_VERIFY_KEY": key}
    done = inside(installed, "gert_core", "exec", "all.yaml", "--json", **signing)
    result = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert result["outcome"]["meta"] == {"line": "by Ada"}
    verified = inside(installed, "gert_core", "trace", "verify", result["trace"], "--json", **signing)
    assert (verified.returncode, json.loads(verified.stdout)["verdict"]) == (0, "valid")

    (installed / "tools" / "inner.tool.yaml").write_text(TOOL % "production")
    done = inside(installed, "gert_core", "exec", "all.yaml")
    assert done.returncode == 1
    assert "[acme-two-owner]" in done.stdout + done.stderr
    (installed / "all.yaml").write_text(BOOK % ("inner", "inner") + "extensions: {owner: platform}\n")
    done = inside(installed, "gert_core", "exec", "all.yaml", "--approval", "acme-two")
    assert "Approval pending" in done.stdout + done.stderr, done.stderr
    (installed / "gert-project.yaml").write_text("notify: [{on: approval_pending, acme-two: env/ADDRESS}]\n")
    with Receiver() as receiver:
        done = inside(installed, "gert_core", "exec", "all.yaml", "--approval", "acme-two", ADDRESS=receiver.url())
    (installed / "gert-project.yaml").unlink()
    assert receiver.got[0].document["line"] == "all waits for approval: step line", done.stderr
    ticket, *_ = installed.glob("runs/*/acme-two/*.json")
    assert json.loads(ticket.read_text())["step_id"] == "line"
