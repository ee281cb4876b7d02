"""What a dry-run and a probe know of a name that is exported on a way which need not be taken."""

from __future__ import annotations

import pytest

TOOL = """\
apiVersion: tool/v0
meta: {name: t}
contract: {effects: [], idempotent: true, inputs: {w: {}}, outputs: {out: {type: string}}}
actions:
  do: {argv: [echo, "{{ .w }}"], contract: {effects: [network], writes: [host]}, extract: {out: {from: stdout}}}
  look: {argv: [echo, "{{ .w }}"], contract: {reads: [host]}, extract: {out: {from: stdout}}}
"""
HEAD = "apiVersion: kernel/v0\nmeta: {name: book}\ntools: [t]\nsteps:\n"
ASK = """\
  - {id: m, type: manual, instructions: x, required_evidence: [{kind: choice, name: pick, options: [a, b]}]}
"""
TESTS = """\
  - {id: esc, type: tool, tool: t, action: do, inputs: {w: x}, when: '{{ ne (.got | default "none") "none" }}'}
  - {type: end, outcome: {category: escalated, code: rolled}, when: '{{ ne (.got | default "none") "none" }}'}
  - {type: end, outcome: {category: resolved, code: done, meta: {r: '{{ .got | default "none" }}'}}}
"""
EXPORT = "{id: c, type: tool, tool: t, action: do, inputs: {w: rolled}, export: {got: out}}"
HANDLED = f"""\
{{id: blk, type: block, steps: [{{id: a, type: tool, tool: t, action: do, inputs: {{w: a}}}}], on_failure: [{EXPORT}]}}"""
ARM = f"""{{id: br, type: branch, branches: [{{condition: '{{{{ eq .pick "a" }}}}', steps: [{EXPORT}]}}]}}"""
GUARDED = EXPORT.replace("export:", """when: '{{ eq .pick "a" }}', export:""")
CONTAINERS = {
    "none": "type: block",
    "repeat": "type: repeat, repeat: {max: 2}",
    "for_each": "type: block, for_each: {as: q, over: [1, 2]}",
    "parallel": "type: block, for_each: {as: q, over: [1, 2], parallel: true}",
    "nested": "type: repeat, repeat: {max: 2}",
    "wait": "type: wait, timeout: 2s",
}


@pytest.fixture(params=["dry-run", "probe"])
def plan(gert, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL)

    def run(text):
        (tmp_path / "book.yaml").write_text(HEAD + text)
        code, out, err = gert("exec", "book.yaml", "--mode", request.param, "--no-input")
        assert code == 0, out + err
        return out + err

    return run


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("inner", [HANDLED, ARM, GUARDED], ids=["on_failure", "arm", "when"])
def test_both_outcomes_are_possible(plan, container, inner):
    if container == "nested":
        inner = f"{{id: deep, {CONTAINERS['for_each']}, steps: [{inner}]}}"
    shown = plan(f"{ASK}  - {{id: rp, {CONTAINERS[container]}, steps: [{inner}]}}\n{TESTS}")
    assert "esc  tool (maybe)" in shown
    assert "Possible outcomes: escalated (rolled), resolved (done)" in shown


@pytest.mark.parametrize("container", ["none", "repeat", "for_each", "nested"])
def test_what_was_read_behind_a_step_that_may_fail_is_not_known(plan, container):
    """A probe reads it; a run may fail before it comes to that, and goes on."""
    inner = (
        f"{EXPORT.replace(', export: {got: out}', '')}, {EXPORT.replace('id: c', 'id: d').replace(': do', ': look')}"
    )
    inner = f"{{id: blk, type: block, continue_on_fail: true, steps: [{inner}]}}"
    if container == "nested":
        inner = f"{{id: deep, {CONTAINERS['for_each']}, steps: [{inner}]}}"
    shown = plan(f"  - {{id: rp, {CONTAINERS[container]}, steps: [{inner}]}}\n{TESTS}")
    assert "Possible outcomes: escalated (rolled), resolved (done)" in shown
