"""References with words of other tools in them, or to outputs that are no names of their own: the hint, followed, mends them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: web, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: { type: string } }, outputs: { state: { type: string } } }
actions: { ask: { argv: ["echo", "{{ .n }}"], extract: { state: { from: stdout } } } }
"""
HEAD = """\
apiVersion: kernel/v0
meta: { name: b, inputs: { release: { type: string }, hosts: { type: list, default: [a] } }, constants: { kept: CONSTANT } }
tools: [web]
steps:
"""
ASK = "  - { id: ask, type: tool, tool: web, inputs: { n: x }%s }\n"
USE = "  - { id: use, type: end, outcome: { category: resolved, meta: { value: '{{ %s }}' } } }\n"
LOOP = ", for_each: { as: h, over: '{{ .hosts }}' }"


@pytest.fixture
def hints(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "web.tool.yaml").write_text(TOOL)

    def found(steps, constant="1"):
        (tmp_path / "book.yaml").write_text(HEAD.replace("CONSTANT", constant) + steps)
        command = [sys.executable, "-m", "gert_core", "validate", "book.yaml", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return [(one["message"], one["hint"]) for one in json.loads(done.stdout)["diagnostics"]]

    return found


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        (".inputs.release", ".release"),
        ("vars.release", ".release"),
        (".steps.ask.outputs.state", ".ask.state"),
        ("steps.ask.status", ".ask.status"),
        (".ask.outputs.state", ".ask.state"),
        ("ask.result.state", ".ask.state"),
    ],
)
def test_words_around_a_name_are_left_out(hints, read, meant):
    ((_, hint),) = hints(ASK % "" + USE % read)
    assert hint == f"did you mean `{meant}`?"
    assert hints(ASK % "" + USE % meant) == []


def test_a_similar_name_is_meant_where_a_word_is_none_of_other_tools(hints):
    ((_, hint),) = hints(ASK % "" + USE % ".aks.state")
    assert hint == "did you mean `.ask`?"


def test_an_output_in_a_scope_is_read_by_its_step_or_exported(hints):
    ((message, hint),) = hints(ASK % ", scope: s" + USE % ".state")
    assert message == "`.state` is not defined"
    read, export = re.fullmatch("read `(.*)`, or add `(.*)` to `ask`", hint).groups()
    assert hints(ASK % ", scope: s" + USE % read) == []
    assert hints(ASK % f", scope: s, {export}" + USE % ".state") == []


@pytest.mark.parametrize("read", [".state", "state | length"])
def test_an_output_of_items_is_exported(hints, read):
    ((_, hint),) = hints(ASK % LOOP + USE % read)
    export = re.fullmatch("add `(.*)` to `ask`: `.state` is then what each of its items has", hint)[1]
    assert hints(ASK % f"{LOOP}, {export}" + USE % read) == []


def test_no_step_is_named_for_an_output_of_several_or_of_a_later_one(hints):
    kept = ASK % ", scope: s"
    ((_, hint),) = hints(kept + kept.replace("id: ask", "id: again") + USE % ".state")
    assert hint is None
    end = USE.replace("id: use", "id: over") % "1"
    ((_, hint),) = hints(USE.replace("type: end", "type: end, when: '{{ true }}'") % ".state" + kept + end)
    assert hint is None


@pytest.mark.parametrize("read", [".ask.state", ".state", ".step.ask.status"])
def test_constants_have_their_values_before_the_first_step(hints, read):
    found = hints(ASK % "" + USE % read, constant=f"'{{{{ {read} }}}}'")
    why = "is set by `ask`, and constants have their values before the first step"
    assert found == [(f"`{read}` {why}", "read it in the steps that need it")]
