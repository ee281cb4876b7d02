"""What plugins print is on standard error; standard output has results and the protocols of commands, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from gertproc import Gert

from gert_core.testing.fake_dist import FakeDist

STEP = """
import os, subprocess, sys, threading
from pydantic import Field, model_validator
from gert_core import hookimpl
from gert_core.api import *
from gert_core.kit.models import StepModel

print("NOISE in import")

class Noisy(StepModel):
    how: str = Field(default="print", description="How it prints.")

    @model_validator(mode="after")
    def look(self):
        print("NOISE in model")
        return self

def contract(step, tools):
    print("NOISE in contract")
    return Contract(effects=("network",))

def outputs(step):
    print("NOISE in outputs")
    return {"word": "string"}

def check(step):
    print("NOISE in check")
    return []

def run(step, ctx):
    if step.how == "print":
        print("NOISE in run")
        sys.stdout.write("NOISE in write\\n")
        sys.stdout.flush()
    elif step.how == "buffer":
        sys.stdout.buffer.write(b"NOISE in buffer\\n")
        sys.stdout.buffer.flush()
    elif step.how == "descriptor":
        os.write(1, b"NOISE in descriptor\\n")
    elif step.how == "process":
        subprocess.run(["echo", "NOISE in process"], check=True)
    elif step.how == "thread":
        thread = threading.Thread(target=print, args=("NOISE in thread",))
        thread.start()
        thread.join()
    return Completed(outputs={"word": "said"})

@hookimpl
def gert_step_types():
    print("NOISE in hook")
    return [StepType(name="noisy", model=Noisy, run=run, contract=contract, outputs=outputs, check=check, summary="Noisy.")]

@hookimpl
def gert_diagnostics(runbook, project):
    print("NOISE in diagnostics")
    return []

@hookimpl
def gert_policies(project):
    print("NOISE in policies")
    return []

@hookimpl
def gert_trace_event(event):
    print("NOISE in observer")
"""
PEERS = """
from gert_core import hookimpl
from gert_core.api import *

class Session:
    def __init__(self):
        print("NOISE in open")
    def call(self, action, inputs, deadline):
        print("NOISE in call")
        return Reply(exit_code=0)
    def submit(self, request):
        print("NOISE in submit")
        return ApprovalTicket(ticket_id=request.ticket_id)
    def wait(self, ticket, deadline):
        print("NOISE in wait")
        return None
    def close(self):
        print("NOISE in close")

@hookimpl
def gert_transports():
    return [Transport(name="noisy", open=lambda target, services: Session())]

@hookimpl
def gert_approval_providers():
    return [ApprovalProvider(name="noisy", open=lambda services: Session())]

def resolve(bindings, deadline, services):
    print("NOISE in resolve")
    return {binding.name: "x" for binding in bindings}

def names(project):
    print("NOISE in names")
    return ["one"]

@hookimpl
def gert_input_resolvers():
    return [InputResolver(name="noisy", resolve=resolve, names=names)]
"""
COMMAND = """
import sys, threading
from gert_core import hookimpl, run
from gert_core.api import Command

def main(args, host):
    results = []
    worker = threading.Thread(target=lambda: results.append(run(args[0], registry=host.registry)))
    worker.start()
    beats = 0
    while worker.is_alive() or beats < 3:
        print("beat", flush=True)
        beats += 1
        worker.join(0.02)
    print("result", results[0].status, flush=True)

@hookimpl
def gert_commands():
    return [Command(name="serve", summary="Serves.", target="gert_command_serve:main")]
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: book }\n"
END = "  - { id: done, type: end, outcome: { category: resolved, code: ok } }\n"
NOISY = f"{HEAD}steps:\n  - {{ id: a, type: noisy }}\n{END}"
TOOL = """\
apiVersion: tool/v0
meta: { name: t, transport: noisy }
contract: { effects: [network], writes: [] }
actions: { go: { method: go } }
"""


@pytest.fixture
def gert(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    made = Gert(tmp_path, PYTHONPATH=str(site))
    made.dist = FakeDist(directory=site)
    made.dist.add("gert-step-noisy", STEP)
    made.write(book=NOISY)
    return made


def told(said, *places):
    """Standard output is one JSON document, and each place printed on standard error."""
    assert said.document
    assert "NOISE" not in said.out
    # Without the line's end: print writes it separately, and an observer may print in between.
    missing = [place for place in places if f"NOISE in {place}" not in said.err]
    assert not missing, (missing, said.err)


def test_an_execution(gert):
    said = gert("exec", "book.yaml", "--json")
    everywhere = ("import", "hook", "model", "contract", "outputs", "check", "diagnostics", "policies", "observer")
    told(said, *everywhere, "run", "write")
    assert said.document["status"] == "completed"


@pytest.mark.parametrize("how", ["buffer", "descriptor", "process", "thread"])
def test_other_ways_to_print(gert, how):
    gert.write(book=NOISY.replace("type: noisy", f"type: noisy, how: {how}"))
    told(gert("exec", "book.yaml", "--json"), how)


def test_validation(gert):
    told(gert("validate", "book.yaml", "--json"), "import", "model", "contract", "check", "diagnostics")


def test_scenarios(gert):
    scenario = gert.root / "scenarios" / "book" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("inputs: {}\n")
    (scenario / "test.yaml").write_text("expected_status: completed\n")
    told(gert("test", "book.yaml", "--json"), "run", "observer")


def test_branches(gert):
    both = "".join(f"      - {{ steps: [{{ id: {name}, type: noisy, scope: {name} }}] }}\n" for name in "xy")
    gert.write(book=f"{HEAD}steps:\n  - id: both\n    type: parallel\n    branches:\n{both}{END}")
    said = gert("exec", "book.yaml", "--json")
    told(said, "run")
    assert said.err.count("NOISE in run") == 2


def test_transports_providers_and_resolvers(gert):
    gert.dist.add("gert-transport-noisy", PEERS)
    gert.write(tool_t=TOOL)
    inputs = "inputs: { x: { type: string, from: noisy/one } }"
    rules = "governance: { rules: [{ effects: [network], action: require-approval }] }"
    steps = f"tools: [t]\nsteps:\n  - {{ id: a, type: tool, tool: t }}\n{END}"
    gert.write(book=HEAD.replace("name: book", f"name: book, {inputs}") + steps)
    told(gert("exec", "book.yaml", "--json"), "open", "call", "close", "names", "resolve")
    gert.write(book=HEAD.replace("name: book", f"name: book, {rules}") + steps)
    told(gert("exec", "book.yaml", "--json", "--approval", "noisy"), "open", "submit", "wait", "close")


def test_a_plan_for_people(gert):
    said = gert("exec", "book.yaml", "--mode", "dry-run")
    assert "NOISE" not in said.out
    assert "governance: allow" in said.out
    assert "Possible outcome" in said.out or "Outcome" in said.out
    assert "NOISE in contract" in said.err


def test_a_command_that_speaks_a_protocol_while_it_runs_a_runbook(gert):
    gert.dist.add("gert-command-serve", COMMAND)
    gert.write(book=NOISY)
    said = gert("serve", "book.yaml")
    assert said.code == 0, said.err
    assert set(said.out.split("\n")) == {"beat", "result completed", ""}
    assert "NOISE in run" in said.err


def test_what_a_list_prints_stays_on_standard_output(gert):
    assert "NOISE" not in gert("plugins", "list").out
    assert "step-noisy" in gert("plugins", "list").out
    assert json.loads(gert("plugins", "list", "--json").out)


def test_a_thread_may_print_while_another_replaces_standard_output(tmp_path):
    # ``print`` does not hold ``sys.stdout`` while it writes: what is put back must not be freed under it.
    program = tmp_path / "both.py"
    program.write_text(
        "import sys, threading\n"
        "from gert_core.plugin.printing import replaced_stdout\n"
        "sys.setswitchinterval(1e-6)\n"
        "over = threading.Event()\n"
        "def swap():\n"
        "    while not over.is_set():\n"
        "        with replaced_stdout():\n"
        "            pass\n"
        "thread = threading.Thread(target=swap)\n"
        "thread.start()\n"
        "for number in range(20_000):\n"
        "    print(number)\n"
        "over.set()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, str(program)], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.returncode
    assert done.stdout.split() == [str(number) for number in range(20_000)]
