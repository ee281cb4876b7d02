"""The pipeline: all phases collected, sorted, silenced where asked, hooks merged, every kind of document."""

from __future__ import annotations

import json
import time
from importlib import import_module
from types import SimpleNamespace

import pytest
from judging import compare, judged, written

from gert_core import hookimpl
from gert_core.api import Diagnostic, Finding, Flow, PluginError, Severity, StepType
from gert_core.contracts import Contracts
from gert_core.kit.models import StepModel
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file, validate_runbook


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def test_all_phases_are_collected(registry, tmp_path):
    text = """
        meta: {name: x, name: y}  #! duplicate-key
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .nope }}"}, colour: red}  #! unknown-field #! unresolved-variable
          - {type: end, outcome: {category: fixed}}  #! outcome-category
        """
    verdict = compare(tmp_path, text, registry=registry)
    assert {d.phase for d in verdict.diagnostics} == {1, 2, 3}
    assert not verdict.valid
    assert verdict.runbook is None


def test_findings_are_sorted_and_serialise(registry, tmp_path):
    text = """
        tools: [ping, absent]
        steps:
          - {id: b, type: tool, tool: ping, inputs: {hots: 1}}
          - {id: a, type: tool, tool: pong, inputs: {}}
          - {type: end, outcome: {category: resolved}}
        """
    verdict = judged(tmp_path, text, registry=registry)
    keys = [(d.file, d.line, d.column, d.rule) for d in verdict.diagnostics]
    assert keys == sorted(keys)
    data = json.loads(json.dumps(verdict.to_json()))
    assert list(data) == ["file", "kind", "name", "valid", "steps", "diagnostics", "secrets"]
    assert (data["kind"], data["name"], data["steps"], data["valid"]) == ("runbook", "example", 3, False)
    assert list(data["diagnostics"][0]) == [
        "rule",
        "severity",
        "phase",
        "message",
        "path",
        "file",
        "line",
        "column",
        "hint",
    ]
    assert {d["path"] for d in data["diagnostics"]} == {
        "tools[1]",
        "steps[0].inputs.hots",
        "steps[1].tool",
    }


def test_a_comment_silences_warnings_on_its_line_and_never_errors(registry, tmp_path):
    text = """
        meta:
          name: x
          on_outcome: {escalated: {a: 1}}  # gert: ignore[not-acted-on]
        steps:
          - {type: end, outcome: {category: resolved}}
          - {id: a, type: tool, tool: ping}  # gert: ignore[unreachable-step, input-missing]
        """
    verdict = judged(tmp_path, text, registry=registry)
    assert [d.rule for d in verdict.diagnostics] == ["input-missing"]


def test_plugins_add_findings(tmp_path):
    class Watch:
        @staticmethod
        @hookimpl
        def gert_diagnostics(runbook, project):
            return [
                Diagnostic(
                    rule="acme-naming",
                    message=f"{step.id} is not named after acme",
                    severity=Severity.WARNING,
                    file=runbook.file,
                    line=1,
                    column=1,
                )
                for step in runbook.walk()
            ]

    registry = Registry.build(extra_plugins=[Watch()])
    verdict = judged(tmp_path, "meta: {name: x}", registry=registry)
    assert [(d.rule, d.message) for d in verdict.diagnostics] == [("acme-naming", "closing is not named after acme")]


def odd_registry(check):
    class Body(StepModel):
        things: list[str] | None = None

    class Odd:
        @staticmethod
        @hookimpl
        def gert_step_types():
            return [StepType(name="odd", model=Body, run="nowhere:run", check=check, flow=Flow.TERMINAL)]

    return Registry.build(scan=(), extra_plugins=[Odd()])


def test_a_types_own_findings_stand_at_their_place(tmp_path):
    def check(step):
        return [Finding(rule="odd-thing", message="odd", path=("things", 1), hint="even it out")]

    file = tmp_path / "runbook.yaml"
    file.write_text("apiVersion: kernel/v0\nmeta: {name: x}\nsteps:\n  - type: odd\n    things: [a, b]\n")
    (only,) = validate_file(file, registry=odd_registry(check), environ={}).diagnostics
    assert (only.rule, only.line, only.column, only.path, only.hint) == (
        "odd-thing",
        5,
        17,
        "steps[0].things[1]",
        "even it out",
    )


def test_a_type_whose_check_fails_is_named(tmp_path):
    def check(step):
        raise RuntimeError("boom")

    file = tmp_path / "runbook.yaml"
    file.write_text("apiVersion: kernel/v0\nmeta: {name: x}\nsteps:\n  - type: odd\n")
    with pytest.raises(PluginError, match=r"failed in `check` of step type 'odd': RuntimeError: boom"):
        validate_file(file, registry=odd_registry(check), environ={})


KINDS = {
    "tool": ('apiVersion: tool/v0\nmeta: {name: t}\nactions: {run: {argv: ["true"]}}\n', "any.yaml", "tool", True),
    "policy": ("apiVersion: policy/v0\nmeta: {name: p}\nrules: [{default: allow}]\n", "p.yaml", "policy", True),
    "policy with a default first": (
        "apiVersion: policy/v0\nmeta: {name: p}\nrules: [{default: allow}, {risk: high, action: deny}]\n",
        "p.yaml",
        "policy",
        False,
    ),
    "project": ("name: acme\n", "gert-project.yaml", "project", True),
    "empty project": ("", "gert-project.yaml", "project", True),
    "wrong project": ("nmae: acme\n", "gert-project.yaml", "project", False),
    "scenario": ("inputs: {a: 1}\n", "scenario.yaml", "scenario", True),
    "wrong scenario": ("input: {a: 1}\n", "scenario.yaml", "scenario", False),
    "test": ("expected_status: completed\n", "test.yaml", "test", True),
    "wrong test": ("expected_status: done\n", "test.yaml", "test", False),
    "no version, but steps": ("meta: {name: x}\nsteps: []\n", "x.yaml", "runbook", False),
    "unknown version": ("apiVersion: other/v1\n", "x.yaml", None, False),
    "nothing known": ("a: 1\n", "x.yaml", None, False),
    "a list": ("- 1\n", "x.yaml", None, False),
    "empty": ("", "x.yaml", None, False),
    "empty tool": ("", "x.tool.yaml", "tool", False),
    "empty scenario": ("# only a comment\n", "scenario.yaml", "scenario", True),
    "empty test": ("---\n", "test.yaml", "test", True),
    "test that is a list": ("- 1\n", "test.yaml", "test", False),
    "broken test": ("a: [", "test.yaml", "test", False),
    "no YAML": ("a: [", "x.yaml", None, False),
}


def test_the_kinds_are_those_of_the_models():
    from gert_core.documents import kinds, policy, project_file, runbook, scenario, tool

    assert set(kinds.VERSIONS) == {runbook.API_VERSION, tool.API_VERSION, policy.API_VERSION}
    assert set(kinds.NAMES) == {project_file.FILE_NAME, scenario.SCENARIO_FILE, scenario.TEST_FILE}
    for kind in kinds.DocumentKind:
        fields = kinds.model_of(kind).model_fields
        assert ("apiVersion" in fields) == (kind in kinds.VERSIONS.values())
        assert kind in kinds.VERSIONS.values() or not any(field.is_required() for field in fields.values())


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name, registry, tmp_path):
    text, file, kind, valid = KINDS[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    verdict = validate_file(tmp_path / file, registry=registry, environ={})
    assert (verdict.kind, verdict.valid) == (kind, valid)
    assert valid or all(d.line and d.column and d.file for d in verdict.diagnostics)


def test_a_runbook_is_asked_for_by_name(registry, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("apiVersion: tool/v0\nmeta: {name: t}\n", encoding="utf-8")
    verdict = validate_runbook(file, registry=registry, environ={})
    assert "api-version" in {d.rule for d in verdict.diagnostics}


def test_a_tool_listed_twice_or_by_path_is_judged_once(registry, tmp_path):
    text = """
        tools: [odd, ./tools/odd.tool.yaml]
        steps: [{type: end, outcome: {category: resolved}}]
        """
    tool = "apiVersion: tool/v0\nmeta: {name: odd, platform: [openbsd]}\nactions: {run: {argv: [a]}}\n"
    verdict = judged(tmp_path, text, registry=registry, tools={"odd": tool})
    assert [d.rule for d in verdict.diagnostics] == ["platform-mismatch"]


def test_templates_in_the_config_of_a_tool(registry, tmp_path):
    file = tmp_path / "t.tool.yaml"
    file.write_text(
        """
apiVersion: tool/v0
meta: {name: t, config: {pool: 2, host: "{{ .host }}"}}
contract: {effects: [network], writes: [], inputs: {id: {type: int}}}
actions:
  get: {argv: [/bin/sh], config: {path: "/{{ .id }}", query: [{n: "{{ .idd }}"}]}}
  put: {argv: [/bin/sh], config: {path: "/{{ .id"}}
"""
    )
    verdict = validate_file(file, registry=registry, environ={})
    assert [(d.rule, d.path) for d in verdict.diagnostics] == [
        ("not-acted-on", "meta.config.host"),
        ("unresolved-variable", "actions.get.config.query[0].n"),
        ("template-syntax", "actions.put.config.path"),
    ]


def test_plugins_rules_see_steps_with_places_fields_and_contracts(tmp_path, gert_registry):
    seen = []

    class Watching:
        @hookimpl
        def gert_diagnostics(self, runbook, project):
            seen.append((runbook, project, list(runbook.walk())))

    standard = [import_module(f"gert_step_{name}") for name in ("tool", "branch", "end")]
    text = """
        steps:
          - {id: look, type: tool, tool: ping, inputs: {host: a}, extensions: {team: x}}
          - id: pick
            type: branch
            branches:
              - condition: default
                steps: [{id: stop, type: end, outcome: {category: resolved}}]
          - {type: end, outcome: {category: resolved}}
        """
    verdict = judged(tmp_path, text, registry=gert_registry(Watching(), *standard))
    assert verdict.valid
    ((runbook, project, steps),) = seen
    assert (runbook.name, runbook.tools, project) == ("example", ("ping", "service"), None)
    assert runbook.file.endswith("runbook.yaml")
    assert runbook.document["meta"]["name"] == "example"
    assert [(s.id, s.type, s.parent) for s in steps] == [
        ("look", "tool", None),
        ("pick", "branch", None),
        ("stop", "end", "pick"),
        ("_end_1", "end", None),
    ]
    look, _, stop, _ = steps
    assert (look.fields["extensions"], look.fields["tool"]) == ({"team": "x"}, "ping")
    assert look.contract == runbook_contract(verdict, "look")
    assert stop.path == ("steps", 1, "branches", 0, "steps", 0)
    assert (stop.line, stop.column) == runbook.locate(stop.path)
    assert runbook.locate((*look.path, "tool"))[0] == look.line


def runbook_contract(verdict, step):
    return Contracts(verdict.runbook).of(verdict.runbook.by_id[step])


def test_validation_is_linear(registry, tmp_path):
    """Ten times the steps may not cost much more than ten times the work, counted in function calls."""
    import sys

    def calls(count: int, jump: str) -> int:
        steps = "".join(
            f'  - {{id: s{n}, type: tool, tool: ping, inputs: {{host: "{{{{ .s{max(0, n - 1)}.latency }}}}"}}'
            f", when: '{{{{ gt .s0.retry_count 0 }}}}'{jump if n % 3 == 1 else ''}}}\n"
            for n in range(1, count)
        )
        head = "steps:\n  - {id: s0, type: tool, tool: ping, inputs: {host: a}}\n"
        directory = tmp_path / f"{count}{len(jump)}"
        directory.mkdir()
        file = written(directory, head + steps + "  - {id: last, type: end, outcome: {category: resolved}}\n")
        counter = SimpleNamespace(n=0)

        def profile(frame, event, arg):
            counter.n += 1

        sys.setprofile(profile)
        try:
            verdict = validate_file(file, registry=registry, environ={})
        finally:
            sys.setprofile(None)
        assert verdict.valid, verdict.diagnostics
        return counter.n

    for jump in ("", ", next: {step: s0, max: 2}", ", next: last"):
        calls(50, jump + " ")
        assert calls(1000, jump) < 13 * calls(100, jump)


HEADS = {
    "an input of an unknown type keeps its name": (
        "apiVersion: kernel/v0\nmeta: {name: x, inputs: {host: {type: strng}, n: {type: int}}}",
        [("wrong-type", 2), ("unresolved-variable", 4), ("next-unknown", 5)],
    ),
    "no name": (
        "apiVersion: kernel/v0\nmeta: {inputs: {host: {type: string}}}",
        [("missing-field", 2), ("unresolved-variable", 4), ("next-unknown", 5)],
    ),
    "a version nobody knows": (
        "apiVersion: kernel/v9\nmeta: {name: x, inputs: {host: {type: string}}}",
        [("api-version", 1), ("unresolved-variable", 4), ("next-unknown", 5)],
    ),
    "faulty governance": (
        "apiVersion: kernel/v0\nmeta: {name: x, inputs: {host: {type: string}}, governance: {rules: 5}}",
        [("wrong-type", 2), ("unresolved-variable", 4), ("next-unknown", 5)],
    ),
    "inputs that are no map could hold any name": (
        "apiVersion: kernel/v0\nmeta: {name: x, inputs: [host]}",
        [("wrong-type", 2), ("next-unknown", 5)],
    ),
    "no meta at all": ("apiVersion: kernel/v0\nextensions: {}", [("missing-field", 1), ("next-unknown", 5)]),
    "constants that are no map": (
        "apiVersion: kernel/v0\nmeta: {name: x, constants: 3}",
        [("wrong-type", 2), ("next-unknown", 5)],
    ),
    "several": (
        "apiVersion: kernel/v0\nmeta: {name: 5, nmae: x, inputs: {host: string}, secrets: [{env: 1}]}",
        [
            ("unknown-field", 2),
            ("wrong-type", 2),
            ("wrong-type", 2),
            ("wrong-type", 2),
            ("unresolved-variable", 4),
            ("next-unknown", 5),
        ],
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_faulty_head_does_not_hide_what_is_wrong_with_the_steps(name, registry, tmp_path):
    head, expected = HEADS[name]
    file = tmp_path / "x.yaml"
    file.write_text(
        f"{head}\nsteps:\n"
        '  - {type: manual, instructions: "{{ .hots }}", when: "{{ .host | default true }}"}\n'
        "  - {type: manual, instructions: a, next: nowhere}\n"
        "  - {type: end, outcome: {category: resolved}}\n",
        encoding="utf-8",
    )
    verdict = validate_file(file, registry=registry, environ={})
    assert sorted((d.line, d.rule) for d in verdict.diagnostics) == sorted((line, rule) for rule, line in expected)
    assert not verdict.valid
    assert verdict.steps == 3


def test_a_faulty_list_of_tools_says_nothing_about_the_steps_that_use_them(registry, tmp_path):
    text = "tools: ping\nsteps: [{type: tool, tool: ping}, {type: end, outcome: {category: resolved}}]\n"
    verdict = judged(tmp_path, text, registry=registry)
    assert [d.rule for d in verdict.diagnostics] == ["wrong-type"]


def test_steps_that_are_no_list_are_reported_once(registry, tmp_path):
    verdict = judged(tmp_path, "steps: {type: end}\n", registry=registry)
    assert [(d.rule, d.hint) for d in verdict.diagnostics] == [
        ("wrong-type", "begin each item with `- `, or put `[` and `]` around it")
    ]


def test_many_mistakes_do_not_take_long(registry, tmp_path):
    file = tmp_path / "x.yaml"
    steps = "".join(f"  - {{type: manual, instructions: '{{{{ .x{n % 7} }}}}', next: no{n}}}\n" for n in range(8000))
    file.write_text(f"apiVersion: kernel/v0\nmeta: {{name: x}}\nsteps:\n{steps}", encoding="utf-8")
    began = time.process_time()
    verdict = validate_file(file, registry=registry, environ={})
    assert len(verdict.diagnostics) >= 16000
    assert time.process_time() - began < 10
