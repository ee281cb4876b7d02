"""The page *Plugin functions* is true: what each function of a plugin raises becomes what the page says."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys

import pytest
from repository import ROOT

PAGE = ROOT / "docs" / "reference" / "plugin-functions.md"
LABEL = "odd-one (gert-odd-one 1.0)"
HEAD = """
import asyncio, sys
from pydantic import model_validator
from gert_core import hookimpl
from gert_core.api import *
from gert_core.kit.models import StepModel, Steps
from pydantic import Field

def fault(*_, **__):
    {fault}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {{ name: book{meta} }}
tools: [{tools}]
steps:
{steps}  - {{ id: done, type: end, outcome: {{ category: resolved, code: ok }} }}
"""
ODD = "  - { id: a, type: odd }\n"
TOOL = """\
apiVersion: tool/v0
meta: { name: t, transport: odd }
actions: { go: { method: go, contract: { effects: [network], writes: [] } } }
"""
FAULTS = ["raise KeyError('x')", "sys.exit(7)", "raise asyncio.CancelledError"]


def hook(name, body):
    return f"@hookimpl\ndef {name}():\n    {body}\n"


def step_type(**functions):
    given = {"name": "'odd'", "model": "StepModel", "run": "lambda step, ctx: Completed()", **functions}
    return hook("gert_step_types", f"return [StepType({', '.join(f'{k}={v}' for k, v in given.items())})]")


def transport(**functions):
    given = {"call": "return Reply(exit_code=0)", "close": "pass", "open": "return Session()", **functions}
    return (
        f"class Session:\n    def call(self, *_):\n        {given['call']}\n    def close(self):\n        {given['close']}\n"
        f"def open_(target, services):\n    {given['open']}\n"
        + hook("gert_transports", "return [Transport(name='odd', open=open_)]")
    )


def provider(**functions):
    ticket = "return ApprovalTicket(ticket_id=request.ticket_id)"
    given = {"submit": ticket, "wait": "return None", "close": "pass", "open": "return Session()", **functions}
    return (
        f"class Session:\n    def submit(self, request):\n        {given['submit']}\n"
        f"    def wait(self, *_):\n        {given['wait']}\n    def close(self):\n        {given['close']}\n"
        f"def open_(services):\n    {given['open']}\n"
        + hook("gert_approval_providers", "return [ApprovalProvider(name='odd', open=open_)]")
    )


def resolver(**functions):
    given = {"resolve": "lambda b, d, s: {}", "names": "lambda p: ['x']", **functions}
    return hook(
        "gert_input_resolvers",
        f"return [InputResolver(name='odd', resolve={given['resolve']}, names={given['names']})]",
    )


def scheme(**functions):
    given = {"sign": "lambda k, m: 'ab' * 32", "verify": "lambda k, m, s: True", **functions}
    return hook(
        "gert_signature_schemes",
        f"return [SignatureScheme(algorithm='odd', sign={given['sign']}, verify={given['verify']})]",
    )


STEP, CALL, APPROVE = (
    {"steps": ODD},
    {"steps": "  - { id: a, type: tool, tool: t }\n", "tools": "t"},
    {"meta": ", governance: { rules: [{ default: require-approval }] }"},
)
INPUT = {"meta": ", inputs: { host: { type: string, from: odd/x } }"}
EXEC, ASK = ("exec", "book.yaml"), ("exec", "book.yaml", "--approval", "odd")
MODEL = "class Odd(StepModel):\n    @model_validator(mode='after')\n    def look(self):\n        return fault()\n"
BLOCKS = "class Odd(StepModel):\n    steps: Steps = Field(description='x')\n"
# By function: the source of a plugin that calls fault() there, the runbook, the command, and a word of what is said.
CASES = {
    **{
        name: (hook(name, "return fault()"), {}, EXEC, "is broken")
        for name in (
            "gert_step_types",
            "gert_transports",
            "gert_approval_providers",
            "gert_input_resolvers",
            "gert_signature_schemes",
            "gert_tool_packs",
        )
    },
    "gert_policies": (hook("gert_policies", "return fault()"), {}, EXEC, "cannot provide its policies"),
    "gert_diagnostics": (hook("gert_diagnostics", "return fault()"), {}, EXEC, "[plugin-failed]"),
    "gert_commands": (hook("gert_commands", "return fault()"), {}, EXEC, "its commands are left out"),
    "StepType.model": (MODEL + step_type(model="Odd"), STEP, EXEC, "book.yaml:5"),
    "StepType.contract": (step_type(contract="fault"), STEP, EXEC, "book.yaml:5"),
    "StepType.blocks": (
        BLOCKS + step_type(model="Odd", flow="Flow.ALL_OF", blocks="fault"),
        {"steps": "  - { id: a, type: odd, steps: [] }\n"},
        EXEC,
        "book.yaml:5",
    ),
    "StepType.outputs": (step_type(outputs="fault"), STEP, EXEC, "book.yaml:5"),
    "StepType.tool_use": (step_type(tool_use="fault"), STEP, EXEC, "book.yaml:5"),
    "StepType.detail": (step_type(detail="fault"), STEP, ("explain", "book.yaml"), "book.yaml:5"),
    "StepType.check": (step_type(check="fault"), STEP, EXEC, "book.yaml:5"),
    "StepType.outcome": (step_type(outcome="fault", flow="Flow.TERMINAL"), STEP, EXEC, "plugin_failed"),
    "StepType.run": (step_type(run="fault"), STEP, EXEC, "plugin_failed"),
    "Transport.open": (transport(open="fault()"), CALL, EXEC, "plugin_failed"),
    "TransportSession.call": (transport(call="fault()"), CALL, EXEC, "plugin_failed"),
    "TransportSession.close": (transport(close="fault()"), CALL, EXEC, ""),
    "ApprovalProvider.open": (provider(open="fault()"), APPROVE, ASK, "approval_provider"),
    "ApprovalSession.submit": (provider(submit="fault()"), APPROVE, ASK, "approval_provider"),
    "ApprovalSession.wait": (provider(wait="fault()"), APPROVE, ASK, "approval_provider"),
    "ApprovalSession.close": (provider(close="fault()"), APPROVE, ASK, ""),
    "InputResolver.resolve": (resolver(resolve="fault"), INPUT, EXEC, "'host'"),
    "InputResolver.names": (resolver(names="fault"), INPUT, EXEC, "`names`"),
    "SignatureScheme.sign": (scheme(sign="fault"), {}, EXEC, "`sign`"),
    "SignatureScheme.verify": (scheme(verify="fault"), {}, ("trace", "verify"), "`verify`"),
    "Command.target": (
        hook("gert_commands", "return [Command(name='odd', summary='Odd.', target=fault)]"),
        {},
        ("odd",),
        "command 'odd'",
    ),
}
ELSEWHERE = {"gert_trace_event", "StepType.gate", "gert_checks", "Check.run", "Notifier.send"}
"""Those with tests of their own: observers, gates in `test_approval_step.py`, checks in `test_doctor_checks.py`, and
notifiers in `test_notifications.py`."""
QUIET = {"TransportSession.close", "ApprovalSession.close"}


def table():
    """The exit code of every function in the page."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            names, *_, code = [cell.strip() for cell in line.strip("|").split("|")]
            found.update(dict.fromkeys(re.findall(r"`([^`]+)`", names), int(code)))
    return found


def test_the_page_has_every_function():
    assert set(table()) == set(CASES) | ELSEWHERE


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GERT_DEBUG", "GERT_LOG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "t.tool.yaml").write_text(TOOL)
    return tmp_path


def use(fake_dist, here, function, fault):
    source, book, command, said = CASES[function]
    fake_dist.add("gert-odd-one", HEAD.format(fault=fault) + source)
    (here / "book.yaml").write_text(BOOK.format(**{"meta": "", "tools": "", "steps": "", **book}))
    return command, said


@pytest.fixture
def sign_by(monkeypatch):
    key = f"odd:{base64.b64encode(b'k' * 32).decode()}"
    monkeypatch.setenv("GERT_TRACE_SIGNING_KEY", key)
    monkeypatch.setenv("GERT_TRACE_VERIFY_KEY", key)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("function", CASES)
def test_all_others_become_what_the_page_says(gert, fake_dist, here, request, function, fault):
    if function.startswith("SignatureScheme"):
        request.getfixturevalue("sign_by")
    if function == "Command.target" and "exit" in fault:
        fault = "raise GeneratorExit"  # a command may exit
    command, said = use(fake_dist, here, function, fault)
    if command[0] == "trace":
        assert gert(*EXEC)[0] == 0
        (trace,) = here.glob("runs/*/trace.jsonl")
        command = (*command, str(trace))
    code, out, err = gert(*command)
    told = " ".join((out + err).split())
    assert code == table()[function], told
    assert said in told
    assert (LABEL in told) != (function in QUIET), told
    assert "internal error" not in told
    for trace in here.glob("runs/*/trace.jsonl"):
        assert json.loads(trace.read_text().splitlines()[-1])["type"] in ("run_complete", "run_suspended")


def as_a_program(fake_dist, *command):
    """The command in a process of its own, whose handlers of signals are those of the command line."""
    environ = {**os.environ, "PYTHONPATH": str(fake_dist.directory)}
    words = [sys.executable, "-m", "gert_core", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environ, timeout=60)


@pytest.mark.parametrize("function", sorted(CASES.keys() - {"Command.target"}))
def test_an_interrupt_that_no_signal_caused_is_a_fault_too(gert, fake_dist, here, request, function):
    if function.startswith("SignatureScheme"):
        request.getfixturevalue("sign_by")
    command, said = use(fake_dist, here, function, "raise KeyboardInterrupt")
    if command[0] == "trace":
        assert gert(*EXEC)[0] == 0
        (trace,) = here.glob("runs/*/trace.jsonl")
        command = (*command, str(trace))
    done = as_a_program(fake_dist, *command)
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == table()[function], told
    assert said in told
    assert (LABEL in told) != (function in QUIET), told
    for trace in here.glob("runs/*/trace.jsonl"):
        assert json.loads(trace.read_text().splitlines()[-1])["type"] in ("run_complete", "run_suspended")


@pytest.mark.parametrize("command", [EXEC, ("validate", "book.yaml"), ("plugins", "list"), ("doctor",)])
def test_a_plugin_whose_import_raises_an_interrupt_is_named(fake_dist, here, command):
    fake_dist.add("gert-odd-one", "raise KeyboardInterrupt")
    (here / "book.yaml").write_text(BOOK.format(meta="", tools="", steps=""))
    done = as_a_program(fake_dist, *command)
    assert done.returncode != 130, done.stderr
    assert "interrupted" not in done.stderr
    assert "odd-one" in done.stdout + done.stderr


@pytest.mark.parametrize("body", ["{signal}", hook("gert_step_types", "{signal}")], ids=["import", "hook"])
@pytest.mark.parametrize("command", [EXEC, ("validate", "book.yaml")])
def test_ctrl_c_in_the_code_of_a_plugin_is_passed_on(fake_dist, here, command, body):
    real = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)"
    fake_dist.add("gert-odd-one", "from gert_core import hookimpl\n" + body.format(signal=real))
    (here / "book.yaml").write_text(BOOK.format(meta="", tools="", steps=""))
    done = as_a_program(fake_dist, *command)
    assert (done.returncode, "odd-one" in done.stdout + done.stderr) == (130, False), done.stderr


MEANT = [
    ("StepType.run", "raise StepProblem('closed_today', 'it is Sunday')", 1, "closed_today: it is Sunday"),
    ("StepType.run", "raise StepProblem('not_yet', 'wait', failed=True)", 1, "not_yet: wait"),
    ("StepType.run", "raise UsageError('no such thing')", 1, "usage: "),
    ("StepType.model", "raise ValueError('an odd step')", 1, "an odd step"),
    ("StepType.contract", "return _[1].contract('nothing', None)", 1, "[tool-undeclared]"),
    ("Transport.open", "raise StepProblem('not_found', 'no such host')", 1, "not_found: no such host"),
    ("TransportSession.call", "raise StepProblem('timeout', 'too slow')", 1, "timeout: too slow"),
    ("ApprovalProvider.open", "raise UsageError('no url', hint='set it')", 1, "no url; set it"),
    ("InputResolver.resolve", "raise InputError('host: no such host', hint='ask')", 2, "host: no such host"),
    ("SignatureScheme.sign", "raise ValueError('too short')", 2, "is not a valid key for odd: too short"),
    ("SignatureScheme.verify", "raise ValueError('too short')", 2, "is not a valid key for odd: too short"),
    ("Command.target", "raise UsageError('no such word')", 2, "no such word"),
    ("Command.target", "sys.exit(5)", 5, ""),
    ("Command.target", "return 'fine'", 3, "it returned a str instead of an exit code"),
]


@pytest.mark.parametrize(("function", "fault", "code", "said"), MEANT)
def test_what_is_meant_to_be_raised(gert, fake_dist, here, request, function, fault, code, said):
    if function.startswith("SignatureScheme"):
        request.getfixturevalue("sign_by")
    command, _ = use(fake_dist, here, function, fault)
    if command[0] == "trace":
        gert(*EXEC)
        command = (*command, *map(str, here.glob("runs/*/trace.jsonl")))
    status, out, err = gert(*command)
    told = " ".join((out + err).split())
    assert status == code, told
    assert said in told
    assert "internal error" not in told


@pytest.mark.parametrize("fault", [*FAULTS, "return 7"])
def test_a_step_that_cannot_be_described_is_planned_and_executed(gert, fake_dist, here, fault):
    use(fake_dist, here, "StepType.detail", fault)
    code, out, err = gert(*EXEC, "--mode", "dry-run")
    told = " ".join(out.split())
    assert (code, f"detail: (plugin {LABEL} failed in `detail` of step type 'odd': " in told) == (0, True), out + err
    assert gert(*EXEC)[0] == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_an_observer_that_raises_is_told_nothing_more(fake_dist, here, fault):
    source = hook("gert_trace_event", "open('seen', 'a').write('x'); fault()").replace("event()", "event(event)")
    fake_dist.add("gert-odd-one", HEAD.format(fault=fault) + source)
    (here / "book.yaml").write_text(BOOK.format(meta="", tools="", steps=""))
    done = as_a_program(fake_dist, *EXEC)
    assert done.returncode == table()["gert_trace_event"]
    assert f"trace observer {LABEL} failed and was dropped: " in done.stderr
    assert "Traceback" not in done.stderr
    assert (here / "seen").read_text() == "x"


def test_a_run_that_cannot_be_signed_at_its_end_is_completed_by_resume(gert, fake_dist, here, sign_by):
    flaky = "calls = []\ndef sign(key, message):\n    calls.append(1)\n    if len(calls) == 3:\n        fault()\n    return 'ab' * 32\n"
    source = HEAD.format(fault=FAULTS[0]) + flaky + scheme(sign="sign")
    fake_dist.add("gert-odd-one", source)
    (here / "book.yaml").write_text(BOOK.format(meta="", tools="", steps=""))
    code, _, err = gert(*EXEC)
    assert (code, LABEL in err) == (3, True), err
    (trace,) = here.glob("runs/*/trace.jsonl")
    assert "run_complete" not in trace.read_text()
    assert '"step_complete"' in trace.read_text()
    assert gert("resume", "--run", trace.parent.name)[0] == 0
    last = json.loads(trace.read_text().splitlines()[-1])
    assert (last["type"], last["data"]["signature"]) == ("run_complete", "ab" * 32)


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_cannot_be_verified_approves_nothing(gert, fake_dist, here, monkeypatch, fault):
    answer = (
        "return ApprovalResponse(ticket_id=_[0].ticket_id, approved=True, approver_id='bob', method='odd',"
        " timestamp='2999-01-01T00:00:00Z', signature='ab' * 32, signature_alg='odd')"
    )
    fake_dist.add("gert-odd-one", HEAD.format(fault=fault) + provider(wait=answer) + scheme(verify="fault"))
    demand = ", governance: { rules: [{ default: require-approval }], require_signed_approvals: true }"
    (here / "book.yaml").write_text(BOOK.format(meta=demand, tools="", steps=""))
    monkeypatch.setenv("GERT_APPROVAL_VERIFY_KEY", f"odd:{base64.b64encode(b'k' * 32).decode()}")
    code, out, err = gert(*ASK, "--json")
    told = json.loads(out)
    assert (code, told["status"], told["failure"]["kind"]) == (1, "failed", "plugin_failed"), err
    (trace,) = here.glob("runs/*/trace.jsonl")
    assert f"it cannot be verified: plugin {LABEL}" in trace.read_text()
