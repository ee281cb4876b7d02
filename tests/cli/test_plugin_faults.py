"""Plugins that raise, exit or give something unusable: the step errors, the plugin is named, the run is sealed."""

from __future__ import annotations

import json

import pytest

HEAD = """
import datetime, sys
from typing import Annotated
from pydantic import BeforeValidator, Field, model_validator
from gert_core import hookimpl
from gert_core.api import *
from gert_core.kit.models import InputsModel, StepModel, Templated
"""
STEP = """
class Odd(StepModel):
    value: str = Field(default="", description="A value.")

def run(step, ctx):
    %s

@hookimpl
def gert_step_types():
    return [StepType(name="odd", model=Odd, run=run, summary="Odd.")]
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: book }
steps:
  - { id: a, type: odd }
  - { id: done, type: end, outcome: { category: resolved, code: ok } }
"""
LABEL = "step-odd (gert-step-odd 1.0)"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GERT_DEBUG", "GERT_LOG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "book.yaml").write_text(BOOK)
    return tmp_path


def sealed(here):
    """The failure of the only run, read from its trace, whose last event seals it."""
    (trace,) = here.glob("runs/*/trace.jsonl")
    last = json.loads(trace.read_text().splitlines()[-1])
    assert last["type"] == "run_complete"
    assert last["data"]["chain_hash"]
    return last["data"]


RUNS = {
    "emits what JSON cannot hold": ("ctx.emit('odd_event', {'at': object()}); return Completed()", "plugin_failed"),
    "emits a list": ("ctx.emit('odd_event', [1]); return Completed()", "plugin_failed"),
    "emits a number as name": ("ctx.emit(5, {}); return Completed()", "plugin_failed"),
    "emits an event of the core": ("ctx.emit('run_complete', {}); return Completed()", "event_reserved"),
    "raises an error of the run": ("raise RunError('nonsense')", "run"),
    "raises an error of the trace": ("raise TraceError('nonsense')", "trace"),
    "exits": ("sys.exit(7)", "plugin_failed"),
    "exits in silence": ("raise SystemExit", "plugin_failed"),
    "raises what is no Exception": ("raise BaseException('nonsense')", "plugin_failed"),
    "raises a bug": ("return {}['nothing']", "plugin_failed"),
    "returns details that JSON cannot hold": ("return Completed(detail={'at': object()})", "plugin_failed"),
    "returns details that are no map": ("return Completed(detail=['at'])", "plugin_failed"),
    "returns outputs that are no map": ("return Completed(outputs=['x'])", "plugin_failed"),
    "returns fields that are no map": ("return Completed(fields=None)", "plugin_failed"),
    "returns outputs that JSON cannot hold": ("return Completed(outputs={'x': object()})", "output_type"),
    "returns a message that is no text": ("return Failed(kind='bad', message=None)", "plugin_failed"),
    "returns a kind that is no text": ("return Errored(kind=5, message='bad')", "plugin_failed"),
    "returns a principal that is none": ("return Completed(principal='me')", "plugin_failed"),
    "returns nothing": ("return None", "plugin_failed"),
    "ends the run": ("return Ended(outcome=Outcome(category='resolved'))", "plugin_failed"),
}


@pytest.mark.parametrize("what", RUNS)
def test_a_step_type_that(gert, fake_dist, here, what):
    code, kind = RUNS[what]
    fake_dist.add("gert-step-odd", HEAD + STEP % code)
    status, out, err = gert("exec", "book.yaml", "--json")
    assert (status, "internal" in err + out) == (1, False), err
    told = json.loads(out)
    assert (told["status"], told["failure"]["step_key"], told["failure"]["kind"]) == ("error", "a", kind)
    assert LABEL in told["failure"]["message"]
    assert sealed(here)["failure"] == told["failure"]


OUTCOMES = {
    "has no outcome": ("return Ended(outcome=None)", "return Outcome(category='resolved')"),
    "has a category of its own": (
        "return Ended(outcome=Outcome(category='fine'))",
        "return Outcome(category='resolved')",
    ),
    "has a meta that JSON cannot hold": (
        "return Ended(outcome=Outcome(category='resolved', meta={'at': object()}))",
        "return Outcome(category='resolved')",
    ),
    "cannot tell its outcome": ("return Ended(outcome=Outcome(category='resolved'))", "raise KeyError('x')"),
    "tells nothing": ("return Ended(outcome=Outcome(category='resolved'))", "return None"),
}


@pytest.mark.parametrize("what", OUTCOMES)
def test_a_terminal_type_that(gert, fake_dist, here, what):
    run, outcome = OUTCOMES[what]
    source = (STEP % run).replace("run=run,", "run=run, flow=Flow.TERMINAL, outcome=outcome,")
    fake_dist.add("gert-step-odd", HEAD + f"def outcome(step):\n    {outcome}\n" + source)
    (here / "book.yaml").write_text(
        BOOK.replace("  - { id: done, type: end, outcome: { category: resolved, code: ok } }\n", "")
    )
    status, out, err = gert("exec", "book.yaml", "--json")
    assert (status, "internal" in err + out) == (1, False), err
    told = json.loads(out)
    assert (told["status"], told["failure"]["kind"]) == ("error", "plugin_failed")
    assert LABEL in told["failure"]["message"]
    assert sealed(here)["failure"] == told["failure"]


TRANSPORT = """
class Session:
    def call(self, action, inputs, deadline):
        %s
    def close(self):
        %s

def open_(target, services):
    %s
    return Session()

@hookimpl
def gert_transports():
    return [Transport(name="odd", open=open_)]
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: t, transport: odd }
contract: { effects: [network], writes: [] }
actions: { go: { method: go } }
"""
CALLS = {
    "replies with a map": "return {'exit_code': 0}",
    "replies with nothing": "return None",
    "replies with bytes": "return Reply(exit_code=0, stdout=b'out')",
    "replies with outputs that are no map": "return Reply(exit_code=0, outputs=['x'])",
    "replies with an exit code that is text": "return Reply(exit_code='0')",
    "replies with a command that is text": "return Reply(exit_code=0, command='ls -l')",
    "raises a bug in call": "return {}['nothing']",
    "exits in call": "sys.exit(4)",
}


@pytest.mark.parametrize("what", [*CALLS, "raises in open", "exits in open", "opens nothing", "exits in close"])
def test_a_transport_that(gert, fake_dist, here, what):
    call = CALLS.get(what, "return Reply(exit_code=0)")
    opening = {"raises in open": "raise KeyError('x')", "exits in open": "sys.exit(1)", "opens nothing": "return None"}
    closing = "sys.exit(3)" if what == "exits in close" else "pass"
    fake_dist.add("gert-transport-odd", HEAD + TRANSPORT % (call, closing, opening.get(what, "pass")))
    (here / "tools").mkdir()
    (here / "tools" / "t.tool.yaml").write_text(TOOL)
    (here / "book.yaml").write_text(
        BOOK.replace("type: odd", "type: tool, tool: t").replace("steps:", "tools: [t]\nsteps:")
    )
    status, out, err = gert("exec", "book.yaml", "--json")
    told = json.loads(out)
    if what == "exits in close":
        assert (status, told["status"]) == (0, "completed")
        return
    assert (status, "internal" in err + out) == (1, False), err
    assert (told["status"], told["failure"]["step_key"], told["failure"]["kind"]) == ("error", "a", "plugin_failed")
    assert "transport-odd (gert-transport-odd 1.0)" in told["failure"]["message"]
    assert sealed(here)["failure"] == told["failure"]


PROVIDER = """
class Session:
    def submit(self, request):
        %s
        return ApprovalTicket(ticket_id=request.ticket_id)
    def wait(self, ticket, deadline):
        return None
    def close(self):
        pass

def open_(services):
    %s
    return Session()

@hookimpl
def gert_approval_providers():
    return [ApprovalProvider(name="odd", open=open_)]
"""


@pytest.mark.parametrize(
    ("opening", "submitting"),
    [
        ("raise KeyError('x')", "pass"),
        ("sys.exit(2)", "pass"),
        ("return None", "pass"),
        ("pass", "raise KeyError('x')"),
        ("pass", "raise RunError('no connection')"),
        ("pass", "sys.exit(2)"),
        ("raise UsageError('approvals.config.url is missing')", "pass"),
    ],
)
def test_an_approval_provider_that_fails(gert, fake_dist, here, opening, submitting):
    fake_dist.add("gert-approval-odd", HEAD + PROVIDER % (submitting, opening))
    (here / "book.yaml").write_text(
        BOOK.replace(
            "{ name: book }", "{ name: book, governance: { rules: [{ default: require-approval }] } }"
        ).replace("{ id: a, type: odd }", "{ id: a, type: assert, assert: [{ type: exists, value: 1 }] }")
    )
    status, out, err = gert("exec", "book.yaml", "--json", "--approval", "odd")
    assert (status, "internal" in err + out) == (1, False), err
    told = json.loads(out)
    assert (told["status"], told["failure"]["kind"]) == ("error", "approval_provider")
    assert "approval-odd (gert-approval-odd 1.0)" in told["failure"]["message"]
    assert sealed(here)["failure"] == told["failure"]


FUNCTIONS = {
    "contract raises": ("contract", "return {}['nothing']"),
    "contract exits": ("contract", "sys.exit(2)"),
    "contract gives a map": ("contract", "return {'effects': []}"),
    "outputs raises": ("outputs", "return {}['nothing']"),
    "outputs gives a list": ("outputs", "return ['x']"),
    "outputs gives unknown types": ("outputs", "return {'x': 'text'}"),
    "tool_use raises": ("tool_use", "return {}['nothing']"),
    "tool_use gives text": ("tool_use", "return 'curl'"),
    "check raises": ("check", "return {}['nothing']"),
    "check exits": ("check", "sys.exit(2)"),
    "check gives text": ("check", "return ['bad']"),
    "check gives nothing": ("check", "return None"),
    "check raises while it is listed": ("check", "yield Finding(rule='x', message='y'); raise KeyError('x')"),
}


@pytest.mark.parametrize("verb", ["validate", "exec", "test"])
@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_step_type_whose(gert, fake_dist, here, what, verb):
    name, code = FUNCTIONS[what]
    source = (STEP % "return Completed()").replace("run=run,", f"run=run, {name}=given,")
    fake_dist.add("gert-step-odd", HEAD + f"def given(step, *rest):\n    {code}\n" + source)
    scenario = here / "scenarios" / "book" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("inputs: {}\n")
    (scenario / "test.yaml").write_text("expected_status: completed\n")
    status, out, err = gert(verb, "book.yaml")
    told = " ".join((out + err).split())
    assert (status, "internal" in told) == (3, False), told
    assert f"plugin {LABEL}" in told
    assert f"`{name}` of step type 'odd'" in told
    assert "book.yaml:4" in told
    assert not (here / "runs").exists()


@pytest.mark.parametrize("call", ["tools.contract('gone', None)", "tools.contract('t', 'gone')"])
def test_a_contract_that_asks_for_a_tool_that_is_not_there_is_a_finding_at_the_step(gert, fake_dist, here, call):
    source = (STEP % "return Completed()").replace("run=run,", "run=run, contract=given,")
    fake_dist.add("gert-step-odd", HEAD + f"def given(step, tools):\n    return {call}\n" + source)
    (here / "tools").mkdir()
    (here / "tools" / "t.tool.yaml").write_text(TOOL.replace("odd", "stdio").replace("method: go", "argv: [true]"))
    (here / "book.yaml").write_text(BOOK.replace("steps:", "tools: [t]\nsteps:"))
    for verb in ("validate", "exec"):
        status, out, err = gert(verb, "book.yaml")
        told = " ".join((out + err).split())
        assert (status, "internal" in told) == (1, False), told
        assert "5:5" in told
        assert "tool-undeclared" in told or "action-unknown" in told
        assert LABEL in told


def test_a_model_whose_validator_has_a_bug_names_its_plugin(gert, fake_dist, here):
    bug = "    @model_validator(mode='after')\n    def look(self):\n        return {}['nothing']\n"
    source = (STEP % "return Completed()").replace('A value.")\n', f'A value.")\n{bug}')
    fake_dist.add("gert-step-odd", HEAD + source)
    status, out, err = gert("validate", "book.yaml")
    assert (status, "internal" in out + err) == (3, False), err
    assert f"plugin {LABEL}" in " ".join(err.split())


def test_a_model_whose_validator_has_a_bug_only_for_what_is_rendered_makes_the_step_an_error(gert, fake_dist, here):
    bug = "    @model_validator(mode='after')\n    def look(self):\n        return self if '{{' in self.value else {}['nothing']\n"
    source = (STEP % "return Completed()").replace('A value.")\n', f'A value.")\n{bug}')
    fake_dist.add("gert-step-odd", HEAD + source)
    (here / "book.yaml").write_text(BOOK.replace("type: odd", "type: odd, value: '{{ .run.id }}'"))
    status, out, err = gert("exec", "book.yaml", "--json")
    assert (status, "internal" in out + err) == (1, False), err
    told = json.loads(out)["failure"]
    assert (told["step_key"], told["kind"], LABEL in told["message"]) == ("a", "plugin_failed", True)
    assert sealed(here)["failure"] == told


def test_a_run_that_cannot_be_imported_makes_the_step_an_error(gert, fake_dist, here):
    fake_dist.add("gert-step-odd", HEAD + (STEP % "pass").replace("run=run", "run='nowhere_at_all:run'"))
    status, out, err = gert("exec", "book.yaml", "--json")
    assert (status, "internal" in out + err) == (1, False), err
    told = json.loads(out)["failure"]
    assert (told["step_key"], told["kind"], LABEL in told["message"]) == ("a", "plugin", True)
    assert sealed(here)["failure"] == told


def test_a_contract_that_fails_only_once_the_run_has_begun_is_an_error_of_the_run(gert, fake_dist, here):
    asked = "asked = []\n\ndef given(step, tools):\n    asked.append(1)\n    return Contract() if not list(__import__('pathlib').Path('.').glob('runs/*')) else {}['x']\n"
    source = (STEP % "return Completed()").replace("run=run,", "run=run, contract=given,")
    fake_dist.add("gert-step-odd", HEAD + asked + source)
    status, out, err = gert("exec", "book.yaml", "--json")
    assert (status, "internal" in out + err) == (1, False), err
    told = json.loads(out)
    assert (told["status"], told["failure"]["kind"], LABEL in told["failure"]["message"]) == (
        "error",
        "plugin_failed",
        True,
    )
    assert sealed(here)["failure"] == told["failure"]


RESOLVER = """
def names(project):
    %s

def resolve(bindings, deadline, services):
    %s

@hookimpl
def gert_input_resolvers():
    return [InputResolver(name="odd", resolve=resolve, names=names)]
"""


@pytest.mark.parametrize(
    ("names", "resolving", "code"),
    [
        ("return ['x']", "return {}['nothing']", 2),
        ("return ['x']", "sys.exit(9)", 2),
        ("return ['x']", "return 5", 2),
        ("return {}['nothing']", "return {}", 3),
        ("sys.exit(9)", "return {}", 3),
    ],
)
def test_an_input_resolver_that_fails(gert, fake_dist, here, names, resolving, code):
    fake_dist.add("gert-input-odd", HEAD + RESOLVER % (names, resolving))
    inputs = "{ name: book, inputs: { host: { type: string, from: odd/x } } }"
    (here / "book.yaml").write_text(BOOK.replace("{ name: book }", inputs).replace("  - { id: a, type: odd }\n", ""))
    status, out, err = gert("exec", "book.yaml")
    told = " ".join((out + err).split())
    assert (status, "internal" in told) == (code, False), told
    assert "plugin input-odd (gert-input-odd 1.0)" in told
    assert not (here / "runs").exists()


def test_fields_that_are_no_json_are_written_as_text(gert, fake_dist, here):
    source = (STEP % "return Completed()").replace(
        'value: str = Field(default="", description="A value.")',
        'at: datetime.date = Field(description="A day.", strict=False)\n'
        '    names: Annotated[set[str], BeforeValidator(set)] = Field(description="Names.")',
    )
    fake_dist.add("gert-step-odd", HEAD + source)
    (here / "book.yaml").write_text(BOOK.replace("type: odd", 'type: odd, at: "2026-02-03", names: [c, a, b]'))
    status, _, err = gert("exec", "book.yaml", "--json")
    assert status == 0, err
    (trace,) = here.glob("runs/*/trace.jsonl")
    (start,) = [
        e for e in map(json.loads, trace.read_text().splitlines()) if e["type"] == "step_start" and e["step_key"] == "a"
    ]
    assert start["data"]["inputs"] == {"at": "2026-02-03", "names": ["a", "b", "c"]}
