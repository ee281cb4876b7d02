"""What a dry-run and a probe say of steps that depend on how steps came out that were not run: nothing is invented."""

from __future__ import annotations

import pytest

TOOL = """\
apiVersion: tool/v0
meta: {name: t}
contract: {effects: [network], writes: [host], inputs: {w: {}}}
actions: {do: {argv: [echo, "{{ .w }}"]}}
"""
HEAD = "apiVersion: kernel/v0\nmeta: {name: book}\ntools: [t]\nsteps:\n"
END = "  - {id: done, type: end, outcome: {category: resolved}}\n"


def step(name, word="x", when=""):
    guard = f", when: '{{{{ {when} }}}}'" if when else ""
    return f"{{id: {name}, type: tool, tool: t, inputs: {{w: '{word}'}}{guard}}}"


@pytest.fixture(params=["dry-run", "probe"])
def plan(gert, tmp_path, monkeypatch, request):
    """Runs a book; returns the steps it shows: by id, the inputs of those that may run, and None of those skipped."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL)

    def run(steps, after=""):
        (tmp_path / "book.yaml").write_text(HEAD + steps + END + after)
        code, out, err = gert("exec", "book.yaml", "--mode", request.param)
        assert code == 0, err
        shown, current = {}, ""
        for line in (out + err).splitlines():
            words = line.split()
            if words[:1] in (["·"], ["○"], ["✓"], ["▸"]):
                current = words[1]
                shown[current] = None if words[0] == "○" else ""
            elif words[:2] == ["input", "w"]:
                shown[current] = " ".join(words[3:])
        return shown

    return run


def test_cleanup_of_a_block_does_not_know_what_became_of_its_steps(plan):
    shown = plan(
        f"""\
  - id: b
    type: block
    steps: [{step("s1")}, {step("s2")}]
    on_failure: [{step("o1", when='eq .s1.status "failed"')}, {step("o2", "{{ .s2.status }}", 'ne .s2.status "success"')}]
    finally: [{step("f1", when='eq .o1.status "success"')}, {step("f2", "{{ .s1.status }}")}]
  - {step("z", "{{ .s1.status }} {{ .o1.status }}")}
"""
    )
    assert [shown[name] for name in ("o1", "o2", "f1", "f2")] == ["x", "{{ .s2.status }}", "x", "{{ .s1.status }}"]
    assert shown["z"] == "{{ .s1.status }} {{ .o1.status }}"


def test_after_a_block_that_handles_nothing_its_steps_have_succeeded(plan):
    shown = plan(
        f"""\
  - id: b
    type: block
    steps: [{step("s1")}]
    finally: [{step("f1", "{{ .s1.status }}", 'eq .s1.status "failed"')}]
  - {step("z", "{{ .s1.status }} {{ .f1.status }}")}
"""
    )
    assert shown["f1"] == "{{ .s1.status }}"
    assert shown["z"] == "success {{ .f1.status }}", "the run gets there only so; whether f1 is skipped is not known"


def test_cleanup_of_the_run_does_not_know_what_became_of_its_steps(plan):
    shown = plan(
        f"  - {step('s1')}\n",
        f"""\
on_failure: [{step("p1", when='eq .s1.status "failed"')}]
finally: [{step("q1", "{{ .p1.status }}", 'ne .p1.status "not_run"')}, {step("q2", when='ne .s1.status "success"')}]
""",
    )
    assert [shown[name] for name in ("p1", "q1", "q2")] == ["x", "{{ .p1.status }}", "x"]


def test_what_is_known_stays_known(plan):
    shown = plan(
        f"""\
  - id: b
    type: block
    steps: [{{id: a, type: assert, assert: [{{type: equals, value: x, expected: x}}]}}]
    on_failure: [{step("o1")}]
    finally: [{step("f1", "{{ .a.status }}")}]
"""
    )
    assert "o1" not in shown
    assert shown["f1"] == "success"


def test_fields_of_a_dag_are_not_known_when_the_run_continues_after_a_failure(plan):
    dag = f"""\
  - id: g
    type: dag
    continue_on_fail: true
    nodes: [{{name: one, steps: [{step("s1")}]}}, {{name: two, depends_on: [one], steps: [{step("s2")}]}}]
  - {step("z", "{{ .g.summary }}", 'ne (.g.failed | toJson) "[]"')}
"""
    assert plan(dag)["z"] == "{{ .g.summary }}"
    assert plan(dag.replace("    continue_on_fail: true\n", ""))["z"] is None, "the run gets there only if none failed"


def test_fields_of_a_step_that_may_be_skipped_are_not_known(plan):
    shown = plan(
        f"""\
  - {step("s1")}
  - {{id: a, type: assert, when: '{{{{ eq .s1.exit_code 0 }}}}', assert: [{{type: equals, value: x, expected: x}}]}}
  - {step("z", "{{ .a.passed }}")}
"""
    )
    assert shown["z"] == "{{ .a.passed }}"


def test_the_command_has_inputs_as_the_step_gives_them(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL.replace("argv: [echo,", 'argv: [echo, "{{ upper .w }}",'))
    second = step("s2", "on {{ .s1.exit_code }}")
    (tmp_path / "book.yaml").write_text(f"{HEAD}  - {step('s1')}\n  - {second}\n{END}")
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert code == 0, err
    assert [line.strip() for line in out.splitlines() if "command:" in line] == [
        "command: echo X x",
        "command: echo '{{ upper .w }}' 'on {{ .s1.exit_code }}'",
    ]


@pytest.mark.parametrize("effects", ["effects: [network], idempotent: true", "effects: [], idempotent: true"])
def test_how_often_a_step_is_attempted_is_not_known(gert, tmp_path, monkeypatch, effects):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL.replace("effects: [network], writes: [host]", effects))
    tried = step("s1").replace("}}", "}, retry: standard}")
    end = END.replace("resolved", "resolved, meta: {n: '{{ .s1.attempts }} {{ .s1.retry_count }}'}")
    (tmp_path / "book.yaml").write_text(f"{HEAD}  - {tried}\n{end}")
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert (code, "n: {{ .s1.attempts }} {{ .s1.retry_count }}" in out) == (0, True), out + err


ASK = "{id: ask, type: approval, message: May it?}"
ACT = step("ask")
AROUND = {
    "alone": "{}",
    "block": "{{id: b, type: block, steps: [{}]}}",
    "dag": "{{id: b, type: dag, nodes: [{{name: n, steps: [{}]}}]}}",
    "loop": "{{id: b, type: block, for_each: {{as: i, over: [1, 2]}}, steps: [{{id: c, type: block, steps: [{}]}}]}}",
    "runbook": "{{id: b, type: runbook, runbook: inner.yaml}}",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    ("refused", "rule"), [(ASK, ""), (ACT, "deny"), (ACT, "require-approval")], ids=["gate", "denied", "asked"]
)
def test_a_refusal_may_end_the_run_although_it_would_continue_after_a_failure(
    gert, tmp_path, monkeypatch, refused, rule, around
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL)
    head = HEAD
    if rule:
        head = HEAD.replace(
            "{name: book}", f"{{name: book, governance: {{rules: [{{writes: [host], action: {rule}}}]}}}}"
        )
    (tmp_path / "inner.yaml").write_text(f"{HEAD}  - {refused}\n{END}")
    outer = AROUND[around].format(refused)
    (tmp_path / "book.yaml").write_text(
        f"{head}  - {outer[:-1]}, continue_on_fail: true}}\n{END}on_failure: [{{id: tell, type: wait, for: 1s}}]\n"
    )
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert code == 0, err
    assert "done  end (maybe)" in out + err
    assert "tell  wait (maybe)" in out + err


REFUSE = "type: assert, assert: [{type: equals, value: a, expected: b}]"
WHEN = "'{{ .s1.exit_code }}'"
GUARD = f"when: {WHEN}"
OTHER = "{condition: default, steps: []}"
UNDECIDED = {
    "step": f"{{id: no, {REFUSE}, {GUARD}}}",
    "items": f"{{id: no, {REFUSE}, {GUARD}, for_each: {{as: i, over: [1, 2]}}}}",
    "block": f"{{id: b, type: block, {GUARD}, steps: [{{id: no, {REFUSE}}}]}}",
    "arm": f"{{id: b, type: branch, branches: [{{condition: {WHEN}, steps: [{{id: no, {REFUSE}}}]}}, {OTHER}]}}",
}


@pytest.fixture
def rehearse(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL)

    def run(*steps):
        lines = "".join(f"  - {one}\n" for one in (step("s1"), *steps))
        (tmp_path / "book.yaml").write_text(HEAD + lines + END)
        code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
        return code, out + err

    return run


@pytest.mark.parametrize("kind", UNDECIDED)
def test_what_fails_only_if_it_is_reached_does_not_end_a_dry_run(rehearse, kind):
    code, told = rehearse(UNDECIDED[kind], step("z"))
    assert (code, "✗ no" in told, "Possible outcome: resolved [dry-run]" in told) == (0, True, True), told
    assert "z  tool (maybe)" in told


def test_a_dry_run_fails_where_every_arm_does(rehearse):
    arms = ", ".join(f"{{condition: '{when}', steps: [{{{REFUSE}}}]}}" for when in ("{{ .s1.exit_code }}", "default"))
    code, told = rehearse(f"{{id: b, type: branch, branches: [{arms}]}}")
    assert (code, "Run failed [dry-run]" in told) == (1, True), told


def test_a_dry_run_that_fails_tells_the_ends_that_it_came_by(rehearse):
    end = f"{{type: end, outcome: {{category: no_action, code: idle}}, {GUARD}}}"
    code, told = rehearse(end, f"{{id: no, {REFUSE}}}")
    assert code == 1, told
    assert "Possible outcomes: no_action (idle) [dry-run]" in told
    assert "Run failed [dry-run]" in told


def test_what_a_step_that_may_fail_leads_to_is_explored(rehearse):
    code, told = rehearse(f"{{id: b, type: block, steps: [{UNDECIDED['step']}], on_failure: [{step('undo')}]}}")
    assert (code, "undo  tool (maybe)" in told) == (0, True), told


def test_a_templated_scope_is_shown_as_far_as_it_is_decided(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(
        "apiVersion: tool/v0\nmeta: {name: t}\ncontract: {reads: [host], outputs: {out: {type: string}}}\n"
        "actions: {do: {argv: [echo, x], extract: {out: {from: stdout}}}}\n"
    )
    (tmp_path / "book.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: book, inputs: {site: {type: string, default: rome}}}\ntools: [t]\nsteps:\n"
        "  - {id: a, type: tool, tool: t, scope: 'of_{{ .h }}', for_each: {as: h, over: [web, db]}}\n"
        "  - {id: b, type: block, for_each: {as: h, over: [web]}, steps: [\n"
        "      {id: i, type: tool, tool: t, scope: '{{ .site }}/in_{{ .h }}'}]}\n"
        "  - {id: c, type: tool, tool: t, scope: plain.one}\n"
        "  - {id: d, type: tool, tool: t, scope: '{{ .site }}/{{ .scope.plain.one.out }}'}\n"
        "  - {type: end, outcome: {category: resolved}}\n"
    )
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert code == 0, out + err
    shown = [line.partition("scope: ")[2] for line in out.splitlines() if "scope: " in line]
    assert shown == ["of_web", "of_db", "rome/in_web", "plain.one", "rome/{{ .scope.plain.one.out }}"]


@pytest.mark.parametrize("command", [("exec", "--mode", "dry-run"), ("explain",)])
def test_a_time_limit_that_one_around_it_cuts_short_is_told_so(gert, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    check = "type: assert, assert: [{type: equals, value: x, expected: x}]"
    (tmp_path / "book.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: book}\nsteps:\n"
        f"  - {{id: b, type: block, timeout: 10s, steps: [{{id: i, timeout: 5m, {check}}}, {{id: j, timeout: 5s, {check}}}]}}\n"
        "  - {type: end, outcome: {category: resolved}}\n"
    )
    code, out, err = gert(command[0], "book.yaml", *command[1:])
    assert code == 0, out + err
    shown = [line.partition("timeout:")[2].strip() for line in out.splitlines() if "timeout:" in line]
    assert shown == ["10s", "5m, cut short by the 10s of b", "5s"]


def test_templated_paths_of_artifacts_are_shown_as_far_as_they_are_decided(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(
        "apiVersion: tool/v0\nmeta: {name: t}\ncontract: {reads: [host], outputs: {out: {type: string}}}\n"
        "actions: {do: {argv: [echo, x], extract: {out: {from: stdout}}}}\n"
    )
    (tmp_path / "book.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: book, inputs: {site: {type: string, default: rome}}}\ntools: [t]\nsteps:\n"
        "  - {id: a, type: tool, tool: t, artifacts: ['{{ .h }}.log', x.log], for_each: {as: h, over: [web, db]}}\n"
        "  - {id: b, type: tool, tool: t, artifacts: {log: {path: '{{ .site }}/{{ .out }}'}, out: {value: '{{ .out }}'}}}\n"
        "  - {type: end, outcome: {category: resolved}}\n"
    )
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert code == 0, out + err
    shown = [line.partition("artifacts: ")[2] for line in out.splitlines() if "artifacts: " in line]
    assert shown == ["web.log, x.log", "db.log, x.log", "log (rome/{{ .out }}), out (value)"]
