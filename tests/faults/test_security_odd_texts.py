"""Texts and names of unusual kinds forge no line, stand for nobody else, and end with a sentence."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from binding import acted, bound_gert, pending
from forging import chain
from gertproc import COMMAND, Gert

from gert_core.testing.fake_dist import FakeDist

FORGED = "| command    rm -rf /"
PLAIN = """\
apiVersion: kernel/v0
meta: { name: plain }
steps:
  - { type: end, outcome: { category: resolved, code: done } }
"""
MUTE = """
    from gert_core import hookimpl
    from gert_core.api import StepType
    from gert_core.kit.models import StepModel


    class Mute(Exception):
        def __str__(self):
            raise ValueError


    class Model(StepModel):
        pass


    def run(step, ctx):
        raise Mute


    @hookimpl
    def gert_step_types():
        return [StepType(name="mute", model=Model, run=run, summary="Fails.")]
"""


@pytest.fixture
def gert(tmp_path):
    made = bound_gert(tmp_path)
    made.write(plain=PLAIN)
    return made


@pytest.mark.parametrize("who", ["agent:bot", "AGENT:bot: looks good", "group:ops"])
def test_an_agent_that_answers_through_a_pipe_is_not_a_person_called_agent(gert, who):
    said = gert("exec", "book.yaml", "--as", "olga", answers=f"y {who}\n")
    assert (said.code, acted(gert)) == (1, []), said.all
    (given,) = [event["data"] for event in gert.events() if event["type"] == "approval_response"]
    assert (given["result"], given["approver_id"]) == ("set_aside", who.partition(": ")[0])


def test_an_empty_list_of_approvers_is_not_everybody(gert):
    gate = "  - { id: gate, type: approval, message: go, approvers: [] }\n"
    gert.write(gate=PLAIN.replace("steps:\n", f"steps:\n{gate}"))
    said = gert("exec", "gate.yaml", "--approval", "inbox")
    assert (said.code, "`approvers`" in said.err, "nothing was run" in said.err) == (1, True, True), said.all


def test_no_line_end_in_a_document_begins_a_line_of_what_validate_says(gert):
    gert.write(odd=PLAIN.replace("name: plain", f'name: "a\\n{FORGED}", "k\\n{FORGED}": 1'))
    for command in (("validate", "odd.yaml"), ("exec", "odd.yaml")):
        said = gert(*command)
        assert (said.code, FORGED in said.all) == (1, True), said.all
        assert not any(line.startswith("|") for line in said.all.splitlines()), said.all


def test_no_line_end_in_the_name_of_a_file_begins_a_line(gert, tmp_path):
    (tmp_path / f"a\n{FORGED.replace('/', '')}.yaml").write_text(PLAIN)
    (tmp_path / f"b\n{FORGED.replace('/', '')}.yaml").write_text("a: [")
    for command in (("validate", "."), ("exec", f"b\n{FORGED.replace('/', '')}.yaml"), ("exec", f"nope\n{FORGED}")):
        said = gert(*command)
        assert "| command    rm" in said.all
        assert not any(line.startswith("|") for line in said.all.splitlines()), said.all


def test_a_kept_file_whose_name_is_not_text_is_kept_under_one_that_is(gert, tmp_path):
    (tmp_path / os.fsdecode(b"\xff\xfe.txt")).write_text("seen")
    gert.write(
        keep=PLAIN.replace(
            "steps:\n",
            "steps:\n  - { id: m, type: manual, instructions: do, required_evidence: [{ kind: attachment, name: f }] }\n",
        )
    )
    done = subprocess.run(
        [*COMMAND, "exec", "keep.yaml"],
        cwd=tmp_path,
        env=gert.environ,
        input=b"\xff\xfe.txt\n",
        capture_output=True,
        check=False,
    )
    named = gert("exec", "keep.yaml", "--questions", "suspend", "--json").document["run_id"]
    given = subprocess.run(
        [*COMMAND, "answer", named, "m", b"f=\xff\xfe.txt"],
        cwd=tmp_path,
        env=gert.environ,
        capture_output=True,
        check=False,
    )
    assert (done.returncode in (0, 1), given.returncode, gert("resume", named).code) == (True, 0, 0), given.stderr
    copied = gert("store", "copy", "file:runs", "sqlite:kept.db", "--run", named)
    assert (copied.code, [one.name for one in (tmp_path / "runs" / named / "attachments").iterdir()]) == (0, ["??.txt"])


def test_no_line_end_in_data_begins_a_line_of_a_question(gert):
    """Descriptions, defaults, options and items are shown in front of a prompt, where a request would be."""
    odd = f'"x\\n{FORGED}"'
    evidence = f"{{ kind: choice, name: c, description: {odd}, options: [{odd}, b] }}"
    more = f"{{ kind: checklist, name: d, items: [{odd}] }}"
    steps = f"  - {{ id: m, type: manual, instructions: do it, required_evidence: [{evidence}, {more}] }}\n"
    inputs = f"name: plain, inputs: {{ x: {{ from: prompt, default: {odd}, description: {odd} }} }}"
    gert.write(ask=PLAIN.replace("name: plain", inputs).replace("steps:\n", f"steps:\n{steps}"))
    said = gert("exec", "ask.yaml", answers="\nb\nall\n")
    assert (said.code, said.err.count(FORGED) >= 4) == (0, True), said.all
    assert not any(line.startswith("|") for line in said.err.splitlines()), said.all


def test_a_path_that_is_not_text_is_refused_before_anything_is_made(tmp_path):
    odd = os.fsdecode(b"d\xffr")
    (tmp_path / odd).mkdir()
    for folder in (tmp_path, tmp_path / odd):
        (folder / "plain.yaml").write_text(PLAIN)
    (tmp_path / os.fsdecode(b"b\xffk.yaml")).write_text(PLAIN)
    gert = Gert(tmp_path)
    cases = [(odd, "plain.yaml"), (".", os.fsdecode(b"b\xffk.yaml")), (".", "plain.yaml", "--trace", f"{odd}t.jsonl")]
    for where, *argv in cases:
        done = subprocess.run(
            [*COMMAND, "exec", *argv], cwd=tmp_path / where, env=gert.environ, capture_output=True, check=False
        )
        said = done.stderr.decode()
        assert (done.returncode, "has bytes that are not UTF-8" in said, "internal" in said) == (2, True, False), said
    assert [*tmp_path.glob("**/runs")] == []


@pytest.mark.parametrize("event", [{"step_key": 7}, {"data": None}, {"data": []}, {"type": 5}])
def test_a_trace_with_senseless_events_is_refused_by_the_store_it_is_copied_to(gert, event):
    pending(gert)
    run = gert.run()
    events = [one for one in gert.events() if one["type"] != "run_suspended"]
    (run / "trace.jsonl").write_text(chain([events[0], *({**one, **event} for one in events[1:])]))
    said = gert("store", "copy", "file:runs", "sqlite:kept.db", "--move")
    assert (said.code, "internal" in said.err, str(run) in said.err) == (1, False, True), said.all


def test_a_pipe_that_nobody_reads_does_not_hold_up_a_report(gert, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    scenario = tmp_path / "scenarios" / "plain" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("inputs: {}\n")
    (scenario / "test.yaml").write_text("expected_status: completed\n")
    for command in (("validate", "plain.yaml", "--sarif", "pipe"), ("test", "plain.yaml", "--junit", "pipe")):
        said = gert(*command)
        assert (said.code, "cannot write pipe" in said.err) == (2, True), said.all


def test_an_exception_of_a_plugin_that_cannot_say_what_it_is_ends_with_a_sentence(tmp_path):
    """Its text is asked for when the step has failed already, so that must not fail as well."""
    made = FakeDist(directory=tmp_path / "site")
    made.add("gert-step-mute", MUTE)
    gert = Gert(tmp_path, PYTHONPATH=str(tmp_path / "site"))
    gert.write(mute=PLAIN.replace("steps:\n", "steps:\n  - { id: m, type: mute }\n"))
    said = gert("exec", "mute.yaml")
    assert (said.code, "`run` of step type 'mute': Mute" in said.err, "internal" in said.err) == (1, True, False)


ODD = """
    import datetime
    import sys

    from gert_core import hookimpl
    from gert_core.api import *
    from gert_core.kit.models import StepModel


    class Exits(BaseException):
        def __str__(self):
            sys.exit(0)


    def raises(step, ctx):
        raise Exits


    class Session:
        def submit(self, request):
            return ApprovalTicket(ticket_id=request.ticket_id)

        def wait(self, ticket, deadline):
            now = datetime.datetime.now(datetime.UTC).isoformat()
            given = dict(ticket_id=ticket.ticket_id, approved=True, approver_id="ann", method="odd", timestamp=now)
            return ApprovalResponse(**given | MORE)

        def close(self):
            pass


    MORE = {}


    @hookimpl
    def gert_step_types():
        return [StepType(name="odd", model=StepModel, GIVEN, outputs=lambda step: {"x": "any"}, summary="Odd.")]


    @hookimpl
    def gert_approval_providers():
        return [ApprovalProvider(name="odd", open=lambda services: Session(), blocking=True)]
"""


def odd(root, given: str, more: str = "{}") -> Gert:
    FakeDist(directory=root / "site").add(
        "gert-odd", ODD.replace("GIVEN", given).replace("MORE = {}", f"MORE = {more}")
    )
    gert = Gert(root, PYTHONPATH=str(root / "site"))
    gert.write(odd=PLAIN.replace("steps:\n", "steps:\n  - { id: o, type: odd }\n"))
    return gert


@pytest.mark.parametrize(
    ("given", "kind"),
    [("run=raises", "plugin_failed"), ("run=lambda step, ctx: Completed(outputs={'x': 10**5000})", "output_type")],
    ids=["an exception that exits when its text is asked for", "a number that JSON cannot be written with"],
)
def test_a_plugin_that_raises_or_returns_what_cannot_be_written_ends_with_a_sentence(tmp_path, given, kind):
    gert = odd(tmp_path, given)
    said = gert("exec", "odd.yaml", "--json")
    assert (said.code, said.document["failure"]["kind"]) == (1, kind), said.all
    assert gert.events()[-1]["type"] == "run_complete"


@pytest.mark.parametrize("timeout", ["float('inf')", "1e300"])
def test_a_gate_of_a_plugin_with_an_impossible_timeout_is_a_fault_of_the_plugin(tmp_path, timeout):
    gert = odd(tmp_path, f"run=lambda step, ctx: Completed(), gate=lambda step: Gate(timeout={timeout})")
    said = gert("exec", "odd.yaml", "--approval", "inbox")
    assert (said.code, "the timeout of its Gate is not a positive number" in said.err) == (3, True), said.all


@pytest.mark.parametrize(
    "more", ["{'identity': {'provider': ['x'], 'user': 5}}", "{'method': object()}", "{'key_id': 5}"]
)
def test_an_answer_of_a_provider_with_values_of_other_types_approves_nothing(tmp_path, more):
    run = "run=lambda step, ctx: Completed(outputs={'x': open('acted', 'w').close()}), gate=lambda step: Gate()"
    gert = odd(tmp_path, run, more)
    said = gert("exec", "odd.yaml", "--approval", "odd", "--json")
    assert (said.code, said.document["failure"]["kind"]) == (1, "approval_malformed"), said.all
    assert gert.events()[-1]["type"] == "run_complete"
    assert not (tmp_path / "acted").exists()


def test_a_project_file_of_another_ending_stops_every_command(gert, tmp_path):
    (tmp_path / "gert-project.yml").write_text("name: floor\n")
    said = gert("exec", "plain.yaml")
    assert (said.code, "gert-project.yml is not read" in said.err) == (2, True), said.all


DETAILS = """
    from gert_core import hookimpl
    from gert_core.api import Completed, StepType
    from gert_core.kit.models import StepModel


    class Odd(str):
        def raises(self, *args, **kwargs):
            raise ValueError
        split = strip = translate = find = encode = isprintable = __len__ = __str__ = __getitem__ = __iter__ = raises


    class Model(StepModel):
        pass


    @hookimpl
    def gert_step_types():
        return [
            StepType(
                name="told", model=Model, run=lambda step, ctx: Completed(), summary="Tells.", detail=lambda step: GIVEN
            )
        ]
"""


@pytest.mark.parametrize("given", ["Odd('for  a while')", "'for  a while ' + 'x ' * 1_000_000"], ids=["odd", "long"])
def test_what_a_step_type_says_of_a_step_is_any_text_and_is_cut(tmp_path, given):
    FakeDist(directory=tmp_path / "site").add("gert-told", DETAILS.replace("GIVEN", given))
    gert = Gert(tmp_path, PYTHONPATH=str(tmp_path / "site"))
    gert.write(told=PLAIN.replace("steps:\n", "steps:\n  - { id: m, type: told }\n"))
    for command in (("explain",), ("explain", "--json"), ("graph",), ("exec", "--mode", "dry-run")):
        said = gert(command[0], "told.yaml", *command[1:])
        assert (said.code, "a while" in said.out, len(said.out) < 10_000) == (0, True, True), said.all[:500]


MAKES = """\
apiVersion: tool/v0
meta: {name: makes, transport: stdio, binary: cat}
contract: {outputs: {v: {}}, effects: [local], writes: []}
actions:
  run: {argv: [cat, made], extract: {v: {from: json, path: v}}}
  deep: {argv: [cat, made], extract: {v: {from: json, path: v.x}}}
"""
LARGE = """\
apiVersion: kernel/v0
meta: {name: large, inputs: {given: {type: any, default: 1}, one: {type: int, default: 1, enum: [1, 2]}}}
tools: [makes]
steps:
  - {id: make, type: tool, tool: makes, action: run}
STEPS
  - {type: end, outcome: {category: resolved, meta: {v: "{{ .v }}"}}}
"""
DIGITS = "9" * 4000
LIST = json.dumps(["x" * 900] * 2000)


def large(gert, value: str, steps: str = "") -> None:
    gert.write(tool_makes=MAKES, large=LARGE.replace("STEPS\n", steps))
    (gert.root / "made").write_text(f'{{"v": {value}}}')


@pytest.mark.parametrize(("value", "told"), [(DIGITS, DIGITS), (LIST, "(1806001 characters)")], ids=len)
def test_a_value_of_any_size_is_shown(gert, value, told):
    """One that is larger than any value of a template is shown too, or its beginning and its length."""
    large(gert, value)
    said = gert("exec", "large.yaml")
    assert (said.code, told in said.out, len(said.out) < 500_000) == (0, True, True), said.all[:500]
    looked = gert("runs", "show", gert.run().name, "--step", "make")
    assert (looked.code, told in looked.out) == (0, True), looked.all[:500]


def test_an_input_of_any_size_is_shown(gert, tmp_path):
    large(gert, "1")
    (tmp_path / "in.json").write_text(f'{{"given": {LIST}}}')
    assert gert("exec", "large.yaml", "--input", "in.json").code == 0
    looked = gert("runs", "show", "latest")
    assert (looked.code, "(1806001 characters)" in looked.out) == (0, True), looked.all[:500]


@pytest.mark.parametrize(
    ("steps", "given", "told"),
    [
        (
            '  - {id: e, type: assert, assert: [CHECK], for_each: {as: i, over: "{{ .v }}"}}\n',
            "1",
            "for_each.over gave '9",
        ),
        ("  - {id: d, type: tool, tool: makes, action: deep}\n", "1", "the value there is '9"),
        ("", DIGITS, "is not one of: 1, 2"),
    ],
    ids=["loop", "path", "enum"],
)
def test_a_message_about_a_number_of_any_length_is_a_sentence(gert, steps, given, told):
    large(gert, DIGITS, steps.replace("CHECK", "{type: equals, value: 1, expected: 1}"))
    said = gert("exec", "large.yaml", "--var", f"one={given}")
    assert (said.code in (1, 2), told in said.all, "internal error" in said.all) == (True, True, False), said.all[:800]


def test_a_path_of_an_artifact_that_is_too_large_is_only_missing(gert):
    large(gert, DIGITS, '  - {id: k, type: tool, tool: makes, action: run, artifacts: {x: {path: "{{ .v }}"}}}\n')
    said = gert("exec", "large.yaml")
    assert (said.code, "artifact 'x' cannot be rendered: the number is too large" in said.err) == (0, True), said.all
