"""Project, policy and scenario files."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gert_core.api import DocumentError, ProjectError, UsageError
from gert_core.documents.policy import API_VERSION, PolicyModel
from gert_core.documents.project import find_project
from gert_core.documents.scenario import load_scenario
from gert_core.documents.standalone import load_strictly


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_project_is_found_upward(tmp_path):
    write(
        tmp_path / "gert-project.yaml",
        """
        name: shop
        tools_dir: shared/tools
        runs_dir: var/runs
        traces: {dir: traces}
        policies: [policies/floor.yaml]
        providers: {cmdb: {transport: jsonrpc, binary: gert-cmdb, config: {endpoint: "https://cmdb"}}}
        approvals: {provider: inbox, config: {a: 1}}
        plugins: {load: listed, allow: [step-wait], block: [step-old], require: ["policy-acme>=2"]}
        """,
    )
    book = write(tmp_path / "a/b/runbook.yaml", "")
    project = find_project(book)
    assert project.root == tmp_path
    assert project.tools_dir == tmp_path / "shared/tools"
    assert project.runs_dir == tmp_path / "var/runs"
    assert project.policy_files == (tmp_path / "policies/floor.yaml",)
    assert project.model.providers["cmdb"].config == {"endpoint": "https://cmdb"}
    assert project.model.plugins.load == "listed"


def test_project_is_found_from_relative_paths(tmp_path, monkeypatch):
    write(tmp_path / "one/gert-project.yaml", "name: one")
    write(tmp_path / "two/books/runbook.yaml", "")
    (tmp_path / "one/sub").mkdir()
    monkeypatch.chdir(tmp_path / "one/sub")
    assert find_project(Path("runbook.yaml")).model.name == "one"
    assert find_project(Path("../sub")).model.name == "one"
    assert find_project(Path("../../two/books/runbook.yaml")) is None


def test_empty_project_file_is_all_defaults(tmp_path):
    write(tmp_path / "gert-project.yaml", "# only a marker\n")
    project = find_project(tmp_path)
    assert (project.model.tools_dir, project.model.runs_dir, project.model.plugins.load) == ("tools", "runs", "auto")


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("tools: x\n", "`tools` is not a field", 1),
        ("plugins: {load: some}\n", "'auto' or 'listed'", 1),
        ("name: a\npolicies: x\n", "should be a list", 2),
        ("name: [\n", "invalid YAML", 2),
        ("- a\n", "a map of fields", 1),
    ],
)
def test_broken_project_stops(tmp_path, text, says, line):
    write(tmp_path / "gert-project.yaml", text)
    with pytest.raises(ProjectError) as caught:
        find_project(tmp_path)
    assert says in caught.value.message
    assert caught.value.line == line
    assert caught.value.diagnostics
    assert caught.value.file.endswith("gert-project.yaml")


def test_policy(tmp_path):
    path = write(
        tmp_path / "p.yaml",
        """
        apiVersion: policy/v0
        meta: {name: floor, version: "1"}
        approval_timeout: 10m
        require_signed_approvals: true
        rules: [{risk: [high, critical], action: require-approval}, {serialize: true, writes: [db]}]
        """,
    )
    policy = load_strictly(path, PolicyModel, what="policy", api_version=API_VERSION)
    assert (policy.meta.name, policy.approval_timeout, policy.require_signed_approvals) == ("floor", 600, True)
    assert policy.rules[0].risk == ["high", "critical"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rules: []\n",
        "apiVersion: policy/v1\nmeta: {name: x}\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nrules: [{}]\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nrequire_signed_approvals: 1\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nrequire_signed_approvals: true\nrequire_verified_approval: false\n",
    ],
)
def test_broken_policy_stops(tmp_path, text):
    with pytest.raises(ProjectError) as caught:
        load_strictly(write(tmp_path / "p.yaml", text), PolicyModel, what="policy", api_version=API_VERSION)
    assert caught.value.diagnostics


def test_missing_policy_stops(tmp_path):
    with pytest.raises(ProjectError):
        load_strictly(tmp_path / "none.yaml", PolicyModel, what="policy", api_version=API_VERSION)


def test_scenario_with_test(tmp_path):
    write(
        tmp_path / "s/scenario.yaml",
        """
        inputs: {hostname: srv1}
        tool_responses:
          "curl:get": [{exit_code: 0, stdout: "200", stderr: "", outputs: {status_code: "200"}}, {stdout: "503"}]
        steps: {"triage/1/restart#2": {outputs: {a: 1}}}
        evidence: {investigate: {notes: "saw it"}}
        approvals: {restart: [{approved: true, approver_id: alice}]}
        """,
    )
    write(
        tmp_path / "s/test.yaml",
        """
        description: text
        expected_status: completed
        expected_outcome: resolved
        expected_code: dns_fixed
        must_reach: [a, "b[0]"]
        must_not_reach: [c]
        expected_outputs: {status_code: "200", "check.body": "/ok.*/"}
        tags: [smoke]
        golden: true
        """,
    )
    scenario = load_scenario(tmp_path / "s")
    assert scenario.name == "s"
    assert scenario.model.tool_responses["curl:get"][1].outputs is None
    assert [one.outputs for one in scenario.model.steps["triage/1/restart#2"]] == [{"a": 1}]
    assert scenario.test.golden is True
    assert scenario.test.expected_outcome == "resolved"


def test_scenario_without_test(tmp_path):
    write(tmp_path / "s/scenario.yaml", "inputs: {}\n")
    assert load_scenario(tmp_path / "s").test is None


def test_scenario_problems(tmp_path):
    with pytest.raises(UsageError):
        load_scenario(tmp_path)
    write(tmp_path / "scenario.yaml", "tool_responses: {a: {}}\n")
    with pytest.raises(DocumentError) as caught:
        load_scenario(tmp_path)
    assert caught.value.diagnostics[0].path == "tool_responses.a"
    write(tmp_path / "scenario.yaml", "inputs: {}\n")
    write(tmp_path / "test.yaml", "expected_outcome: fine\n")
    with pytest.raises(DocumentError) as caught:
        load_scenario(tmp_path)
    assert caught.value.diagnostics[0].rule == "outcome-category"


@pytest.mark.parametrize(
    ("pattern", "rule", "says"),
    [
        ("/(?=o)k/", "pattern-unsupported", "look-around"),
        ("/(/", "wrong-type", "is not a valid regular expression: missing ) at `(`"),
    ],
)
def test_a_pattern_of_a_test_is_checked_when_it_is_read(tmp_path, pattern, rule, says):
    write(tmp_path / "scenario.yaml", "inputs: {}\n")
    write(tmp_path / "test.yaml", f"expected_outputs:\n  path: /etc/\n  check.body: '{pattern}'\n")
    with pytest.raises(DocumentError) as caught:
        load_scenario(tmp_path)
    (found,) = caught.value.diagnostics
    assert (found.rule, found.path, found.line) == (rule, 'expected_outputs["check.body"]', 3)
    assert says in found.message
