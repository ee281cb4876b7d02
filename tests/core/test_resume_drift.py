"""What a resumed run is held to: its files, its policies, its secrets, the way it took, and the time it was told."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lab import Lab, tool

from gert_core import hookimpl
from gert_core.api import PURE, Block, Completed, Flow, GertError, InputError, RunError, StepType, UsageError
from gert_core.engine.cancel import Stop
from gert_core.kit.models import StepModel, Steps
from gert_core.plugin.registry import Registry
from gert_core.trace.verify import verify

STEPS = """
- { id: a, type: tool, tool: lab, inputs: { value: 1 } }
- { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.value }}" } }
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def cut(ran, type="step_start", key="b"):  # noqa: A002
    """Lose everything behind an event."""
    at = next(n for n, e in enumerate(ran.events) if (e.type, e.step_key) == (type, key))
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    ran.result.trace.write_bytes(b"".join(lines[: at + 1]))
    return ran


@pytest.fixture
def crashed(lab):
    """A run that was interrupted in its second step."""
    ran = cut(lab(STEPS))
    lab.calls.clear()
    return ran


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def refused(lab, ran, words, **options):
    size = ran.result.trace.stat().st_size
    with pytest.raises(RunError, match=words) as caught:
        lab.runner.resume(ran.result.run_id, **options)
    assert caught.value.kind == "drift"
    assert lab.calls == []
    assert ran.result.trace.stat().st_size == size
    return caught.value


# -- drift -------------------------------------------------------------------------------------------------------------


def test_a_changed_runbook_is_refused_by_name_and_allowed_on_request(lab, crashed):
    edit(lab.directory / "runbook.yaml", "value: 1", "value: 5")
    error = refused(lab, crashed, r"runbook .*runbook\.yaml changed since the run started")
    assert "--on-drift allow" in error.hint
    ran = lab.runner.resume(crashed.result.run_id, allow_drift=True)
    assert ran.status == "completed"
    assert lab.values() == [1], "the recorded result is reused, whatever the file says now"
    assert ran.of("run_resumed")[0]["drift"] == [f"runbook {lab.directory / 'runbook.yaml'}"]
    verdict = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verdict.status) == "unsigned"


def test_a_runbook_that_cannot_even_be_read_any_more_is_refused_as_changed(lab, crashed):
    (lab.directory / "runbook.yaml").write_text("steps: [")
    refused(lab, crashed, r"runbook\.yaml changed")
    with pytest.raises(GertError, match="not valid"):
        lab.runner.resume(crashed.result.run_id, allow_drift=True)
    (lab.directory / "runbook.yaml").unlink()
    refused(
        lab,
        crashed,
        r"cannot read .*runbook\.yaml: No such file or directory; a run is resumed only with its runbook",
        allow_drift=True,
    )


def test_a_changed_tool_is_refused_by_name(lab, crashed):
    edit(lab.directory / "tools/lab.tool.yaml", "effects: [network]", "effects: [network, disk]")
    refused(lab, crashed, r"tool .*lab\.tool\.yaml changed")
    ran = lab.runner.resume(crashed.result.run_id, allow_drift=True)
    assert ran.status == "completed"
    assert "lab.tool.yaml" in ran.of("run_resumed")[0]["drift"][0]


def test_a_removed_tool_is_refused_by_name(lab, crashed):
    (lab.directory / "tools/lab.tool.yaml").unlink()
    error = refused(lab, crashed, "something that .* needs changed since the run started.*lab")
    assert error.diagnostics
    refused(lab, crashed, "needs changed", allow_drift=True)


@pytest.mark.parametrize("place", ["runbook", "tool"])
def test_a_pattern_that_is_refused_now_is_named_as_drift(lab, place, monkeypatch):
    """A run of a version that took look-around, interrupted, and resumed with this one."""
    when = "- { id: c, type: tool, tool: lab, when: '{{ matches `a(?=c)` `ac` }}', inputs: { value: 3 } }"
    (spare,) = tool("spare").values()
    spare = spare.replace("method: do", "method: do, extract: { value: { pattern: 'a(?=c)' } }")
    steps, tools = (STEPS + when, {}) if place == "runbook" else (STEPS, {"tools/spare.tool.yaml": spare})
    with monkeypatch.context() as before:
        before.setattr("gert_core.template.regex._compile", re.compile)
        before.setattr("gert_core.template.functions.matches", re.search)
        ran = cut(lab(steps, tools=tools))
    lab.calls.clear()
    name = "runbook.yaml" if place == "runbook" else "spare.tool.yaml"
    for allowed in (False, True):
        error = refused(lab, ran, rf"{name}, line \d+, has a pattern that this version", allow_drift=allowed)
        assert "look-around (`(?=` at character 2), which is not supported" in error.message
        assert "--on-drift allow" in error.hint
        assert "pattern-unsupported" in {finding.rule for finding in error.diagnostics}
    edit(lab.directory / ("runbook.yaml" if place == "runbook" else f"tools/{name}"), "(?=c)", "c")
    assert lab.runner.resume(ran.result.run_id, allow_drift=True).status == "completed"


def test_a_tool_no_longer_listed_is_refused_by_name(lab):
    more = tool("spare")
    ran = cut(lab(STEPS, tools=more))
    lab.calls.clear()
    edit(lab.directory / "runbook.yaml", "tools: [lab, spare]", "tools: [lab]")
    ran = lab.runner.resume(ran.result.run_id, allow_drift=True)
    assert ran.of("run_resumed")[0]["drift"][1] == "tool spare (no longer listed)"


def test_a_changed_policy_is_refused_by_name(lab):
    policy = lab.directory / "strict.policy.yaml"
    text = "apiVersion: policy/v0\nmeta: { name: strict }\nrules: [ { effects: [nothing], action: deny } ]\n"
    policy.write_text(text)
    other = lab.directory / "other.policy.yaml"
    other.write_text(text.replace("strict", "other"))
    ran = cut(lab(STEPS, policies=[other, policy]))
    lab.calls.clear()
    policy.write_text(text.replace("nothing", "network"))
    refused(lab, ran, r"^policy .*strict\.policy\.yaml changed")
    # Going on under another policy is a decision: it is governed by what holds now.
    again = lab.runner.resume(ran.result.run_id, allow_drift=True)
    assert again.of("run_resumed")[0]["drift"] == [f"policy {policy}"]
    again.assert_failed("governance_denied")
    policy.unlink()
    with pytest.raises(GertError, match=r"strict\.policy\.yaml"):
        lab.runner.resume(ran.result.run_id, retry_failed=True)


def test_removed_and_added_steps_under_allowed_drift(lab):
    ran = cut(lab(STEPS + "- { id: c, type: tool, tool: lab, inputs: { value: 3 } }"), "step_complete", "b")
    lab.calls.clear()
    book = lab.directory / "runbook.yaml"
    lines = [line for line in book.read_text().splitlines() if "id: a," not in line]
    text = "\n".join(lines).replace("{{ .a.value }}", "x") + "\n"
    book.write_text(
        text.replace("  - { id: c,", "  - { id: new, type: tool, tool: lab, inputs: { value: new } }\n  - { id: c,")
    )
    again = lab.runner.resume(ran.result.run_id, allow_drift=True)
    assert again.status == "completed"
    assert lab.values() == ["new", 3]


class Plan(StepModel):
    """Runs the steps that a file lists, one block per line."""

    file: str


def _planned(step):
    lines = Path(step.file).read_text().split()
    return [
        Block(name=line, steps=[{"id": f"do_{line}", "type": "tool", "tool": "lab", "inputs": {"value": line}}])
        for line in lines
    ]


def _carry_out(step, ctx):
    for number, block in enumerate(ctx.blocks):
        ctx.run_block(block, key=number)
    return Completed()


class Planning:
    """A type whose blocks come from a file that the runbook only names."""

    @hookimpl
    def gert_step_types(self):
        yield StepType(name="plan", model=Plan, run=_carry_out, blocks=_planned, contract=PURE, flow=Flow.IN_ORDER)


@pytest.fixture
def planned(lab):
    """A run that was interrupted inside generated blocks."""
    lab.runner.registry = lab.registry_with(Planning())
    file = lab.directory / "plan.txt"
    file.write_text("one two")
    ran = cut(lab(f"- {{ id: p, type: plan, file: '{file}' }}"), key="p/1/do_two")
    lab.calls.clear()
    return ran


def test_blocks_that_a_type_reads_from_a_file_are_part_of_the_drift_check(lab, planned):
    assert list(planned.of("run_start")[0]["block_hashes"]) == ["p"]
    file = lab.directory / "plan.txt"
    file.write_text("one three")
    error = refused(lab, planned, "the generated blocks of step p changed since the run started")
    assert "--on-drift allow" in error.hint
    file.write_text("one two")
    again = lab.runner.resume(planned.result.run_id)
    assert again.status == "completed"
    assert lab.values() == ["two"]


def test_changed_generated_blocks_are_allowed_on_request(lab, planned):
    (lab.directory / "plan.txt").write_text("one three")
    again = lab.runner.resume(planned.result.run_id, allow_drift=True)
    assert again.of("run_resumed")[0]["drift"] == ["the generated blocks of step p"]
    assert lab.values() == ["three"]


def test_a_run_of_a_version_that_did_not_record_generated_blocks_is_resumed(lab, planned):
    trace = planned.result.trace
    lines = [re.sub(rb'"block_hashes":\{[^}]*\},', b"", line) for line in trace.read_bytes().splitlines()]
    forge(trace, lines)
    assert lab.runner.resume(planned.result.run_id).status == "completed"


def test_blocks_of_the_document_are_covered_by_its_hash_alone(lab, crashed):
    assert crashed.of("run_start")[0]["block_hashes"] == {}


# -- the way it took ---------------------------------------------------------------------------------------------------


def test_a_trace_of_another_way_is_refused_before_anything_executes(lab):
    """The files are the same and the records are not: only a forged trace can do that, and it is noticed."""
    steps = """
- { id: a, type: tool, tool: lab, inputs: { value: 1 } }
- id: pick
  type: branch
  branches:
    - { condition: "{{ eq .a.value 1 }}", steps: [ { id: one, type: tool, tool: lab, inputs: { value: one } } ] }
    - { condition: default, steps: [ { id: two, type: tool, tool: lab, inputs: { value: two } } ] }
"""
    ran = cut(lab(steps), "step_start", "pick/0/one")
    lab.calls.clear()
    trace = ran.result.trace
    lines = trace.read_bytes().splitlines()
    forge(trace, [line.replace(b'"outputs":{"value":1}', b'"outputs":{"value":2}') for line in lines])
    with pytest.raises(RunError, match="does not follow its trace: branch_enter of step pick would differ") as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "resume_diverged"
    assert lab.calls == []


def test_a_new_step_may_not_open_before_recorded_ones(lab):
    ran = cut(lab(STEPS), "step_complete", "b")
    lab.calls.clear()
    trace = ran.result.trace
    lines = [line for line in trace.read_bytes().splitlines() if b'"step_key":"a"' not in line]
    forge(trace, lines)
    with pytest.raises(RunError, match="a would open before b") as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "resume_diverged"
    assert lab.calls == []


def forge(trace: Path, lines: list[bytes]) -> None:
    """Write lines as a chain that holds."""
    import hashlib
    import re

    previous, out = b"0" * 64, []
    for number, line in enumerate(lines, 1):
        line = re.sub(rb'"prev_hash":"[0-9a-f]{64}"\}$', b'"prev_hash":"%b"}' % previous, line)  # noqa: PLW2901
        line = re.sub(rb'"seq":\d+', b'"seq":%d' % number, line, count=1)  # noqa: PLW2901
        previous = hashlib.sha256(line).hexdigest().encode()
        out.append(line + b"\n")
    trace.write_bytes(b"".join(out))


# -- secrets -----------------------------------------------------------------------------------------------------------

SECRET = "constants: { lead: x }\nsecrets: [ { env: API_TOKEN } ]\ninputs: { pass: { type: string, secret: true }, many: { type: list, secret: true } }"
TELL = """
- { id: a, type: tool, tool: lab, inputs: { value: "{{ .pass }}" } }
- { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.value }}-{{ .many }}" } }
"""


def test_secret_inputs_are_given_again_and_recorded_values_get_them_back(lab):
    given = {"pass": "swordfish", "many": ["first-one", "second-one"]}
    ran = cut(lab(TELL, meta=SECRET, inputs=given, environ={"API_TOKEN": "token-1234"}))
    lab.calls.clear()
    text = ran.result.trace.read_text()
    assert "swordfish" not in text
    assert "second-one" not in text
    run_id, environ = ran.result.run_id, {"API_TOKEN": "token-1234"}
    with pytest.raises(InputError, match="secret inputs pass, many must be given again") as caught:
        lab.runner.resume(run_id, environ=environ)
    assert "--var pass=… --var many=…" in caught.value.hint
    with pytest.raises(UsageError, match="takes only its secret inputs again"):
        lab.runner.resume(run_id, environ=environ, host_vars={"lead": "y"})
    assert lab.calls == []
    again = lab.runner.resume(
        run_id, environ=environ, host_vars={"pass": "swordfish", "many": json.dumps(["first-one", "second-one"])}
    )
    assert again.status == "completed"
    assert lab.values() == ['swordfish-["first-one","second-one"]']
    assert "swordfish" not in again.result.trace.read_text()


def test_a_secret_from_the_environment_comes_back_from_the_environment(lab):
    meta = "secrets: [ { env: API_TOKEN } ]"
    lab.scripts["s"] = ["it is token-1234 and <REDACTED:API_TOKEN> is no mask"]
    steps = "- { id: a, type: tool, tool: lab, inputs: { script: s } }\n- { id: b, type: tool, tool: lab, inputs: { value: '{{ .a.value }}' } }"
    ran = cut(lab(steps, meta=meta, environ={"API_TOKEN": "token-1234"}))
    lab.calls.clear()
    assert "token-1234" not in ran.result.trace.read_text()
    with pytest.raises(UsageError, match="requires secret `API_TOKEN`, which is not set"):
        lab.runner.resume(ran.result.run_id, environ={})
    with pytest.raises(RunError, match="secret API_TOKEN is needed") as caught:
        lab.runner.resume(ran.result.run_id, environ={}, preflight=False)
    assert caught.value.kind == "secret_missing"
    assert lab.calls == []
    again = lab.runner.resume(ran.result.run_id, environ={"API_TOKEN": "token-1234"})
    assert again.status == "completed"
    assert lab.values() == ["it is token-1234 and <REDACTED:API_TOKEN> is no mask"]


# -- cancelled runs ----------------------------------------------------------------------------------------------------


def test_a_cancelled_run_resumes_like_a_crashed_one(lab):
    stop = Stop()
    lab.on_call = lambda call: stop.throw("SIGINT") if call.inputs.get("value") == 2 else None
    steps = (
        STEPS
        + "- { id: c, type: tool, tool: lab, inputs: { value: 2 } }\n- { id: d, type: tool, tool: lab, inputs: { value: 4 } }"
    )
    ran = lab(steps, stop=stop)
    assert ran.status == "cancelled"
    lab.on_call = None
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "completed"
    assert lab.values() == [2, 4]


def test_a_cancelled_write_needs_a_decision(lab):
    stop = Stop()
    lab.on_call = lambda call: stop.throw("SIGINT")
    once = tool("once", effects="pushes", writes="registry", idempotent="false")
    ran = lab("- { id: w, type: tool, tool: once, inputs: { value: 2 } }", tools=once, stop=stop)
    assert ran.status == "cancelled"
    lab.on_call = None
    with pytest.raises(RunError, match="cannot determine whether w took effect"):
        lab.runner.resume(ran.result.run_id)
    assert lab.runner.resume(ran.result.run_id, reconcile={"w": "redo"}).status == "completed"


# -- time --------------------------------------------------------------------------------------------------------------


class Patience(StepModel):
    """Waits, then runs its block if it is still early."""

    seconds: float = 0.0
    steps: Steps


def _blocks(step):
    return [Block(name="body", steps=step.steps)]


def _run(step, ctx):
    first = ctx.now()
    ctx.sleep(step.seconds)
    ctx.emit("patience_over", {"first": first.isoformat(), "second": ctx.now().isoformat()})
    ctx.run_block(_blocks(step)[0])
    return Completed()


@hookimpl
def gert_step_types():
    """Register ``patience``."""
    return [
        StepType(name="patience", model=Patience, run=_run, blocks=_blocks, flow=Flow.IN_ORDER, summary="Waits first.")
    ]


PATIENT = """
- id: p
  type: patience
  seconds: {seconds}
  steps: [ {{ id: x, type: tool, tool: lab, inputs: {{ value: 1 }} }} ]
"""


@pytest.fixture
def slow(lab):
    from lab import _Plugin

    lab.runner.registry = Registry.build(extra_plugins=[_Plugin(lab), sys.modules[__name__]])
    return lab


def test_a_step_with_blocks_is_told_the_same_time_after_a_resume(slow):
    ran = slow(PATIENT.format(seconds=0))
    assert ran.status == "completed"
    assert [e.type for e in ran.events if e.step_key == "p"][:5] == [
        "step_start",
        "time_read",
        "sleep_start",
        "time_read",
        "patience_over",
    ]
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines)):
        ran.result.trace.write_bytes(b"".join(lines[:count]))
        again = slow.runner.resume(ran.result.run_id)
        assert again.status == "completed", count
        assert (len(again.of("time_read")), len(again.of("sleep_start"))) == (2, 1), count
        (told,) = again.of("patience_over")
        assert [data["time"].replace("Z", "+00:00") for data in again.of("time_read")] == [
            told["first"],
            told["second"],
        ]


def test_a_wait_that_was_cut_short_ends_when_it_would_have_ended(slow):
    ran = cut(slow(PATIENT.format(seconds=0.3)), "sleep_start", "p")
    until = datetime.fromisoformat(ran.of("sleep_start")[0]["until"])
    assert datetime.now(UTC) >= until
    began = datetime.now(UTC)
    assert slow.runner.resume(ran.result.run_id).status == "completed"
    assert datetime.now(UTC) - began < timedelta(seconds=0.25), "the time was over long ago"


def test_a_step_without_blocks_is_told_the_time_and_nothing_is_written(slow):
    ran = slow(STEPS)
    assert not [e for e in ran.events if e.type in ("time_read", "sleep_start")]
