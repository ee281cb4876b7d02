"""Findings that those see who bring runbooks from elsewhere: the hint, followed to the letter, mends the document."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: ship, transport: stdio }
contract:
  effects: [network]
  idempotent: true
  inputs: { n: { required: false, default: "" } }
  outputs: { release: { type: string } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { release: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { release: { type: string } } }\ntools: [ship]\nsteps:\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"


@pytest.fixture
def validate(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ship.tool.yaml").write_text(TOOL)

    def findings(steps):
        (tmp_path / "book.yaml").write_text(HEAD + steps + END, encoding="utf-8")
        command = [sys.executable, "-m", "gert_core", "validate", "book.yaml", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        found = json.loads(done.stdout)["diagnostics"]
        return [(one["rule"], one["line"], one["message"], one["hint"]) for one in found]

    return findings


# -- an output that hides an input -----------------------------------------------------------------------------


def test_an_output_that_hides_an_input_is_reported_at_its_step_if_the_name_is_read(validate):
    look = '  - { id: look, type: tool, tool: ship, inputs: { n: "{{ .release }}" } }\n'
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert validate(look) == []
    assert validate(look + read + read.replace("use", "more")) == [
        (
            "input-shadowed",
            5,
            "the output `release` of step `look` hides the input `release`: `.release` in line 6 is the output",
            "with `scope: look` `.release` stays the input and the output is `.look.release`; or rename the input",
        )
    ]
    apart = look.replace("tool: ship", "tool: ship, scope: look")
    assert validate(apart + read) == []
    assert validate(look + read.replace(".release", ".look.release")) == []
    both = read.replace("{{ .release }}", "{{ .release }} {{ .look.release }}")
    assert validate(apart + both) == []


def test_the_hint_about_a_step_without_an_id_gives_it_one(validate):
    look = "  - { type: tool, tool: ship }\n"
    read = '  - { id: use, type: tool, tool: ship, when: "{{ eq .release `x` }}", scope: use }\n'
    ((rule, line, _, hint),) = validate(look + read)
    assert (rule, line) == ("input-shadowed", 5)
    assert hint.startswith("with `id: tool_1` and `scope: tool_1` ")
    assert validate(look.replace("type:", "id: tool_1, scope: tool_1, type:", 1) + read) == []
    assert validate(look + read.replace("{ id: use", "{ # gert: ignore[input-shadowed]\n    id: use")) != []
    assert validate(look.rstrip("\n") + " # gert: ignore[input-shadowed]\n" + read) == []


def test_an_output_of_some_paths_and_one_inside_a_block_hide_an_input_too(validate):
    look = '  - { id: look, type: tool, tool: ship, when: "{{ eq .release `x` }}" }\n'
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert [one[:2] for one in validate(look + read)] == [("input-shadowed", 5)]
    inside = (
        "  - type: block\n    id: work\n    steps:\n"
        "      - { id: look, type: tool, tool: ship }\n"
        '      - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    )
    assert [one[:2] for one in validate(inside)] == [("input-shadowed", 8)]


def test_an_output_in_a_loop_hides_an_input_inside_it_only(validate):
    loop = "  - { id: each, type: tool, tool: ship, for_each: { as: x, over: [1] } }\n"
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert validate(loop + read) == []
