"""What a step is going to do stands in one line each of a dry-run, ``gert explain`` and ``gert graph``."""

from __future__ import annotations

import re
from html import unescape

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: box, cwd: tool, retry: { max: 4, delay: 1s } }
contract: { effects: [host], writes: [], idempotent: true }
actions:
  read:
    argv: [echo, "{{ .name }}"]
    exit_codes: [0, 3]
    contract:
      inputs: { name: { type: string } }
      outputs: { out: { type: string }, pass: { type: string, secret: true } }
    extract: { out: { from: stdout }, pass: { from: stdout } }
"""
CHILD = """\
apiVersion: kernel/v0
meta: { name: child, inputs: { size: { type: int, default: 2, min: 1, max: 5 } } }
steps: [{ id: fin, type: end, outcome: { category: resolved } }]
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: book, inputs: { host: { type: string, default: web-1 }, pause: { type: string, default: 5s } } }
tools: [box]
steps:
%s
  - { id: fin, type: end, outcome: { category: resolved, code: fine } }
"""
READ = "type: tool, tool: box, action: read, inputs: { name: x }, scope: s"

# A step, and what every surface has to say about it: first as it is written, then (if that differs) as it is rendered.
STEPS = {
    "wait-for": ("{ id: it, type: wait, for: '{{ .pause }}' }", "for .pause", "for 5s"),
    "wait-until": (
        ("{ id: it, type: wait, until: '{{ .in.exit_code }}', every: 4s, timeout: '{{ .pause }}',"
        f" steps: [{{ id: in, {READ} }}] }}"),
        "every 4s, at most .pause, until .in.exit_code",
        "every 4s, at most 5s, until {{ .in.exit_code }}",
    ),
    "approval": (
        ("{ id: it, type: approval, message: 'Drop {{ .host }}?', min_approvers: 2, approvers: [ann, '{{ .host }}'],"
        " timeout: 1h, on_reject: fail }"),
        "by 2 people among ann, .host, within 1h; a rejection fails the step",
        "by 2 people among ann, web-1, within 1h; a rejection fails the step",
    ),
    "approval-message": ("{ id: it, type: approval, message: 'Drop {{ .host }}?' }", "Drop .host?", "Drop web-1?"),
    "approval-alone": ("{ id: it, type: approval, message: m }", "by 1 person; a rejection ends the run", ""),
    "repeat": (
        f"{{ id: it, type: repeat, repeat: {{ max: 3, until: '{{{{ true }}}}' }}, steps: [{{ id: in, {READ} }}] }}",
        "max 3, until true",
        "max 3, until {{ true }}",
    ),
    "runbook": ("{ id: it, type: runbook, runbook: ./child.yaml, accept: [resolved, no_action] }", "./child.yaml", ""),
    "runbook-accept": (
        "{ id: it, type: runbook, runbook: ./child.yaml, accept: [resolved, no_action] }",
        "accepts resolved or no_action",
        "",
    ),
    "dag": (
        (f"{{ id: it, type: dag, nodes: [{{ name: a, steps: [{{ id: in, {READ} }}] }},"
        f" {{ name: b, depends_on: [a], steps: [{{ id: out, {READ} }}] }}] }}"),
        "b: after a",
        "",
    ),
    "dag-limit": (
        f"{{ id: it, type: dag, max_parallel: 2, nodes: [{{ name: a, steps: [{{ id: in, {READ} }}] }}] }}",
        "at most 2 at a time",
        "",
    ),
    "parallel": (
        f"{{ id: it, type: parallel, max_parallel: 3, branches: [{{ steps: [{{ id: in, {READ} }}] }}] }}",
        "at most 3 at a time",
        "",
    ),
    "cleanup": (
        (f"{{ id: it, type: block, cleanup_timeout: 90s, steps: [{{ id: in, {READ} }}],"
        f" finally: [{{ id: out, {READ} }}] }}"),
        "within 1m30s",
        "",
    ),
    "manual": (
        ("{ id: it, type: manual, instructions: 'Look at {{ .host }}',"
        " required_evidence: [{ kind: choice, name: light, options: [green, red] }] }"),
        "Look at .host; evidence: light (choice: green, red)",
        "Look at web-1; evidence: light (choice: green, red)",
    ),
    "assert": (
        "{ id: it, type: assert, assert: [{ type: not_equals, value: '{{ .host }}', expected: web-2 }] }",
        '.host is not "web-2"',
        'web-1 is not "web-2"',
    ),
    "for_each": (
        f"{{ id: it, {READ}, for_each: {{ as: n, over: [1, 2], until: '{{{{ true }}}}' }} }}",
        "for each n in 2 items, until true",
        "",
    ),
    "retry": (
        f"{{ id: it, {READ}, retry: {{ max: 3, delay: 2s, on: [timeout] }} }}",
        "up to 3 attempts, after 2s, 4s, on timeout",
        "",
    ),
    "tool-retry": (f"{{ id: it, {READ} }}", "up to 4 attempts, after 1s, 2s, 4s", ""),
    "timeout": (f"{{ id: it, {READ}, timeout: 7s }}", "timeout 7s", "timeout: 7s"),
    "exit-codes": (f"{{ id: it, {READ} }}", "exit codes 0, 3 are answers", "exit codes: 0, 3 are answers"),
    "secret-outputs": (f"{{ id: it, {READ} }}", "secret outputs pass", "secret outputs: pass"),
    "cwd": (f"{{ id: it, {READ} }}", "runs in the tool's directory", "runs in: the tool's directory"),
    "export": (f"{{ id: it, {READ}, export: {{ seen: out }} }}", "exports seen = out", "exports: seen = out"),
    "principal": (
        f"{{ id: it, {READ}, principal: {{ kind: agent, id: checker, role: second }} }}",
        "acts as agent checker (second)",
        "acts as: agent checker (second)",
    ),
    "artifacts": (
        f"{{ id: it, {READ}, artifacts: {{ log: {{ path: a.log }}, seen: {{ value: 1 }} }} }}",
        "artifacts log (a.log), seen (value)",
        "artifacts: log (a.log), seen (value)",
    ),
    "artifacts-of-a-block": (
        f"{{ id: it, type: block, artifacts: [a.log], steps: [{{ id: in, {READ} }}] }}",
        "artifacts a.log",
        "artifacts: a.log",
    ),
    "artifacts-of-items": (
        f"{{ id: it, type: block, for_each: {{ as: n, over: [1] }}, artifacts: [a.log], steps: [{{ id: in, {READ} }}] }}",
        "artifacts a.log",
        "artifacts: a.log",
    ),
}  # fmt: skip


def joined(text):
    """A text as one line, without the lines that a tree and a box are drawn with."""
    return re.sub(r"[\s│├└─‖▣]+", " ", text)


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, COLUMNS="200")
    made.write(tool_box=TOOL, child=CHILD)
    return made


@pytest.mark.parametrize("name", STEPS)
def test_a_dry_run_shows_what_a_step_is_going_to_do(gert, name):
    step, written, rendered = STEPS[name]
    gert.write(book=BOOK % f"  - {step}")
    said = gert("exec", "book.yaml", "--mode", "dry-run")
    assert said.code == 0, said.all
    assert (rendered or written) in joined(said.out), said.out


@pytest.mark.parametrize("name", STEPS)
def test_explain_shows_what_a_step_is_going_to_do(gert, name):
    step, written, _ = STEPS[name]
    gert.write(book=BOOK % f"  - {step}")
    said = gert("explain", "book.yaml", "it")
    assert said.code == 0, said.all
    blank = re.compile(r"[\s:]+")
    assert blank.sub("", written) in blank.sub("", said.out.replace("{{ .host }}", ".host")), said.out
    (found,) = gert("explain", "book.yaml", "it", "--json").document["steps"]
    told = " ".join([found["detail"], *(f"{note['name']} {note['text']}" for note in found["notes"])])
    assert written in told.replace("{{ .host }}", ".host")


@pytest.mark.parametrize("form", ["text", "svg", "mermaid", "dot"])
@pytest.mark.parametrize("name", STEPS)
def test_the_graph_shows_what_a_step_is_going_to_do(gert, name, form):
    step, written, _ = STEPS[name]
    gert.write(book=BOOK % f"  - {step}")
    said = gert("graph", "book.yaml", "--format", form)
    assert said.code == 0, said.all
    letters = re.compile(r"[^\w.?=]+")
    shown = unescape(re.sub(r"<[^>]*>|#\d+;|\\", " ", said.out))
    assert letters.sub(" ", written) in letters.sub(" ", shown), said.out


def test_explain_shows_the_limits_of_inputs_and_which_outputs_are_secret(gert):
    inputs = "host: { type: string, default: a, enum: [a, b] }, n: { type: int, default: 2, min: 1 }, m: { type: list, default: [], max: 3 }"
    step = "{ id: it, type: tool, tool: box, action: read, inputs: { name: '{{ .host }} {{ .n }} {{ .m }}' }, export: { key: pass } }"
    gert.write(book=BOOK.replace("host: { type: string, default: web-1 }", inputs) % f"  - {step}")
    out = gert("explain", "book.yaml", "it").out
    for line in (
        "needs:          .host (string, one of: a, b) from input",
        "needs:          .n (int, at least 1) from input",
        "needs:          .m (list, of length at most 3) from input",
        "sets:           .out (string)",
        "sets:           .pass (string, secret)",
        "sets:           .key (string, secret)",
    ):
        assert f"  {line}\n" in out, out
    gert.write(book=BOOK % "  - { id: it, type: runbook, runbook: ./child.yaml }")
    assert "  input:          size (int, from 1 to 5) = 2 by default\n" in gert("explain", "book.yaml", "it").out


def test_what_a_step_says_is_masked_and_escaped(gert):
    said = "'Type {{ .token }} \\e[31m'".replace("'", '"')
    step = f"{{ id: it, type: manual, instructions: {said} }}"
    head = BOOK.replace("pause:", "token: { type: string, secret: true, required: true }, pause:")
    gert.write(book=head % f"  - {step}")
    planned = gert("exec", "book.yaml", "--mode", "dry-run", "--var", "token=hunter2-hunter2").out
    assert "hunter2" not in planned
    assert "detail: Type <REDACTED:token> \\u001b[31m\n" in planned, planned
    for form in ("text", "svg", "mermaid", "dot"):
        assert "\x1b" not in gert("graph", "book.yaml", "--format", form).out
    assert "\x1b" not in gert("explain", "book.yaml").out


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_secrets_with_blanks_and_lines_are_masked_in_what_steps_say(gert, mode):
    head = BOOK.replace("pause:", "token: { type: string, secret: true, required: true }, pause:")
    steps = [
        '{ id: ask, type: manual, instructions: "Type {{ .token }} now", required_evidence: [{ kind: choice, name: c, options: ["a {{ .token }}", b] }] }',
        '{ id: check, type: assert, continue_on_fail: true, assert: [{ type: equals, value: "{{ .token }}", expected: "z{{ .token }}" }] }',
    ]
    gert.write(book=head % "\n".join(f"  - {step}" for step in steps))
    planned = gert("exec", "book.yaml", "--mode", mode, "--no-input", "--var", "token=quartz  Lamp\tSilver\nMoon 42")
    assert "<REDACTED:token>" in planned.out, planned.all
    assert not [word for word in ("quartz", "Lamp", "Silver", "Moon") if word in planned.all], planned.all


def test_a_step_that_is_skipped_or_cannot_be_rendered_says_nothing_of_itself(gert):
    gert.write(book=BOOK % "  - { id: it, type: wait, for: 5s, when: false }")
    assert "detail: for" not in gert("exec", "book.yaml", "--mode", "dry-run").out
    gert.write(book=BOOK % "  - { id: it, type: wait, for: '{{ .host }}' }")
    said = gert("exec", "book.yaml", "--mode", "dry-run")
    assert (said.code, "detail: for" in said.out) == (1, False), said.all
