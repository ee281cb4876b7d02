"""How failures, output, values and items look on the screen, during a run and afterwards."""

from __future__ import annotations

import re

import pytest
from gertproc import Gert

from gert_core.testing.fake_dist import FakeDist

FAILS = """\
apiVersion: tool/v0
meta: { name: fails, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: {} } }
actions: { do: { argv: [sh, -c, 'seq "$1"; echo broken >&2; exit 3', x, "{{ .n }}"] } }
"""
STEP = "type: tool, tool: fails, inputs: { n: 1 }"
EXPLAINED = [
    "exit_code: sh exited with code 3: broken",
    """command: sh -c 'seq "$1"; echo broken >&2; exit 3' x 1""",
    "exit code: 3",
    "stdout: 1",
    "stderr: broken",
]
CATCHER = """
from gert_core import hookimpl
from gert_core.api import Block, Completed, Flow, StepType
from gert_core.kit.models import StepModel, Steps

class Attempt(StepModel):
    steps: Steps

def blocks(step):
    return [Block(name="steps", steps=step.steps, runs=(1, 1))]

def run(step, ctx):
    ctx.run_block(ctx.blocks[0], catch=True)
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="try", model=Attempt, run=run, flow=Flow.IN_ORDER, blocks=blocks)]
"""


@pytest.fixture
def gert(tmp_path) -> Gert:
    gert = Gert(tmp_path, COLUMNS="80")
    gert.write(tool_fails=FAILS)
    return gert


def book(gert: Gert, *steps: str, meta: str = "", outcome: str = "") -> None:
    listed = "".join(f"  - {step}\n" for step in steps)
    end = f"  - {{ id: done, type: end, outcome: {{ category: resolved{outcome} }} }}\n"
    gert.write(book=f"apiVersion: kernel/v0\nmeta: {{ name: book{meta} }}\ntools: [fails]\nsteps:\n{listed}{end}")


def lines(text: str) -> list[str]:
    """The lines, without times and colours."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text)
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", shown)  # a line that was drawn over
    plain = re.sub(r"\x1b\[[0-9;]*K|\r", "", shown)
    return [re.sub(r"\d+\.\d+s", "T", line) for line in plain.splitlines()]


def below(indent: str) -> list[str]:
    return [f"{indent}{line}" for line in EXPLAINED]


def test_a_failure_after_which_the_run_continues_is_yellow_and_a_fatal_one_red(gert):
    book(gert, f"{{ id: soft, {STEP}, continue_on_fail: true }}", f"{{ id: hard, {STEP} }}")
    seen = gert.on_terminal("exec", "book.yaml")
    assert "\x1b[33m!\x1b[0m soft  tool" in seen
    assert "\x1b[31m✗\x1b[0m hard  tool" in seen
    assert seen.count("\x1b[31m✗") == 2, "the fatal step and the run"
    shown = lines(seen)
    assert "! soft  tool  T  failed, continues" in shown
    assert "✗ hard  tool  T" in shown


def test_the_same_failure_is_explained_once(gert):
    book(
        gert,
        f"{{ id: each, {STEP}, continue_on_fail: true, for_each: {{ as: x, over: [a, b, c], key: '{{{{ .x }}}}' }} }}",
        f"{{ id: again, {STEP}, continue_on_fail: true, next: {{ step: again, max: 2 }} }}",
    )
    said = gert("exec", "book.yaml")
    assert said.code == 0
    assert lines(said.err) == [
        "▸ each  tool",
        "  ! each[a]  tool  T  failed, continues",
        *below("      "),
        "  ! each[b]  tool  T  failed as before, continues",
        "  ! each[c]  tool  T  failed as before, continues",
        "! each  tool  T  failed, continues",
        "! again  tool  T  failed, continues",
        *below("    "),
        "! again#2  tool  T  failed as before, continues",
        "! again#3  tool  T  failed as before, continues",
        "✓ done  end  T",
    ]


def test_another_failure_of_the_same_step_is_explained_too(gert):
    over = "for_each: { as: x, over: ['1', '2'] }"
    gert.write(tool_fails=FAILS.replace("echo broken", 'echo "broken $1"'))
    book(
        gert,
        f"{{ id: each, type: tool, tool: fails, inputs: {{ n: '{{{{ .x }}}}' }}, continue_on_fail: true, {over} }}",
    )
    shown = lines(gert("exec", "book.yaml").err)
    assert "      exit_code: sh exited with code 3: broken 1" in shown
    assert "      exit_code: sh exited with code 3: broken 2" in shown
    assert not any("as before" in line for line in shown)


def test_a_step_below_one_that_continues_or_catches_is_not_fatal(gert, tmp_path):
    FakeDist(directory=tmp_path / "site").add("gert-step-try", CATCHER)
    gert.environ["PYTHONPATH"] = str(tmp_path / "site")
    arm = f"branches: [ {{ condition: default, steps: [ {{ id: inner, {STEP} }} ] }} ]"
    book(
        gert,
        f"{{ id: which, type: branch, continue_on_fail: true, {arm} }}",
        f"{{ id: attempt, type: try, steps: [ {{ id: tried, {STEP} }} ] }}",
    )
    shown = lines(gert("exec", "book.yaml").err)
    assert "  ! inner  tool  T  failed, continues" in shown
    assert "! which  branch  T  failed, continues" in shown
    assert "  ! tried  tool  T  failed, caught" in shown
    assert not any("✗" in line for line in shown)


def test_runs_show_and_trace_show_tell_the_two_apart(gert):
    arm = f"branches: [ {{ condition: default, steps: [ {{ id: hard, {STEP} }} ] }} ]"
    book(
        gert,
        f"{{ id: soft, {STEP}, continue_on_fail: true, next: {{ step: soft, max: 1 }} }}",
        f"{{ id: which, type: branch, {arm} }}",
    )
    gert("exec", "book.yaml")
    shown = lines(gert("runs", "show", gert.run().name).out)
    start = shown.index("  steps:")
    told = [line for line in shown[start:] if line.startswith("    ") and not line.startswith("     ")]
    assert told == [
        "    soft (tool): failed, continued T",
        "    soft#2 (tool): failed, continued T",
        "    which (branch): failed T",
        "    which/0/hard (tool): failed T",
    ]
    assert shown.count("      exit_code: sh exited with code 3: broken") == 2, "soft once, hard once"
    seen = gert.on_terminal("trace", "show", f"runs/{gert.run().name}/trace.jsonl")
    assert "\x1b[33m! soft\x1b[0m" in seen
    assert "\x1b[31m✗ which\x1b[0m" in seen
    assert "\x1b[31m✗ which/0/hard\x1b[0m" in seen


def test_shortened_output_states_how_many_lines_came_before(gert):
    book(gert, "{ id: one, type: tool, tool: fails, inputs: { n: 2000 } }")
    said = gert("exec", "book.yaml")
    start = lines(said.err).index("    stdout: … 1992 lines before")
    assert lines(said.err)[start + 1 : start + 9] == [f"    stdout: {n}" for n in range(1993, 2001)]
    shown = lines(gert("runs", "show", gert.run().name).out)
    assert shown[shown.index("      stdout:") + 1] == "        … 1990 lines before"


def test_values_of_several_lines_are_shown_line_by_line(gert):
    text, pairs = "first\\n  run: forged\\nlast", ", ".join(f"key{n}: value number {n}" for n in range(6))
    inputs = (
        f', inputs: {{ note: {{ type: string, default: "{text}" }}, some: {{ type: object, default: {{ {pairs} }} }} }}'
    )
    book(gert, meta=inputs, outcome=", meta: { note: '{{ .note }}', some: '{{ .some }}', short: [1, 2] }")
    said = gert("exec", "book.yaml")
    assert lines(said.out)[:13] == [
        "✓ Outcome: resolved [real]",
        "  note:",
        "    | first",
        "    |   run: forged",
        "    | last",
        "  some:",
        "    | {",
        *[f'    |   "key{n}": "value number {n}",' for n in range(5)],
        '    |   "key5": "value number 5"',
    ]
    assert "  short: [1,2]" in lines(said.out)
    shown = lines(gert("runs", "show", gert.run().name).out)
    at = shown.index("  inputs:")
    assert shown[at + 1 : at + 5] == ["    note:", "      | first", "      |   run: forged", "      | last"]


def test_a_dry_run_shows_inputs_of_several_lines_line_by_line(gert):
    book(gert, '{ id: one, type: tool, tool: fails, inputs: { n: "a\\nb" } }')
    shown = lines(gert("exec", "book.yaml", "--mode", "dry-run").out)
    at = shown.index("    input n =")
    assert shown[at + 1 : at + 3] == ["      | a", "      | b"]


def test_items_and_masks_in_keys_are_spelled_as_they_were_given(gert):
    over = "for_each: { as: x, over: ['web/1 ü', '{{ .word }}', \"a\\x07b\"], key: '{{ .x }}' }"
    book(gert, f"{{ id: each, {STEP}, {over} , continue_on_fail: true }}", meta=", inputs: { word: { secret: true } }")
    said = gert("exec", "book.yaml", "--var", "word=geheimnis")
    titles = [line.split("  tool")[0] for line in lines(said.err) if "each[" in line]
    assert titles == ["  ! each[web/1 ü]", "  ! each[<REDACTED:word>]", "  ! each[a\\u0007b]"]
    run = gert.run().name
    shown = gert("runs", "show", run).out
    assert "    each[web/1 ü] (tool): failed, continued" in shown
    assert "    each[<REDACTED:word>] (tool): failed, continued" in shown
    only = gert("trace", "show", f"runs/{run}/trace.jsonl", "--step", "each[web/1 ü]", "--type", "step_complete").out
    assert [line.split("  ", 3)[-1].strip() for line in lines(only)][:1] == ["! each[web/1 ü]  failed in T"]


def test_the_failing_item_is_named_in_the_result(gert):
    book(gert, f"{{ id: each, {STEP}, for_each: {{ as: x, over: ['b c'], key: '{{{{ .x }}}}' }} }}")
    said = gert("exec", "book.yaml")
    assert "  step each[b c] (book.yaml:5): sh exited with code 3: broken (exit_code)" in lines(said.out)
