"""Runbooks with one tool whose output may be missing, and what validation warns of."""

from __future__ import annotations

from textwrap import dedent

from lab import Lab, tool

from gert_core.validation import validate_runbook

META = "inputs: { on: { type: bool, default: true } }"
WHEN = ", when: '{{ %s }}'"
LOOP = "- { id: l, type: tool, tool: lab, for_each: { as: n, over: [1] }%s }\n"


def doubtful(directory) -> Lab:
    """Return a laboratory with the tool."""
    made = Lab(directory)
    made.runner.write(tool("lab", outputs="{ value: { type: any } }"))
    return made


def warnings(lab, steps):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, meta=META))
    found = validate_runbook(path, registry=lab.runner.registry).diagnostics
    assert {d.rule for d in found} <= {"maybe-undefined", "branch-not-exhaustive"}, found
    return [d for d in found if d.rule == "maybe-undefined"]


def use(expression, more=""):
    quoted = expression.replace("'", "''")
    return f"- {{ id: use, type: tool, tool: lab, scope: u, inputs: {{ value: '{quoted}' }}{more} }}\n"


def block(text, **names):
    return dedent(text).strip("\n") + "\n"
