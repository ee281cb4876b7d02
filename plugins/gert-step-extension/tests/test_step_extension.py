"""Extension steps end to end, with runners written from the protocol's description alone."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, ClassVar

import gert_step_extension
import pytest
from gert_step_extension.runner import program_of

from gert_core import hookimpl
from gert_core.api import Completed, StepContext, StepType
from gert_core.engine.cancel import Stop
from gert_core.kit.models import StepModel
from gert_core.kit.processes import group
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

if TYPE_CHECKING:
    from pathlib import Path

# A runner in plain shell: reads the method and the id with sed, answers with printf.
SHELL = r"""#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*) say '{"capabilities":{}}' ;;
    *'"method":"execute"'*)
      target=$(printf '%s' "$line" | sed 's/.*"inputs":{"target":"\([^"]*\)".*/\1/')
      say "{\"outputs\":{\"status\":\"$target is up\"},\"exit_code\":0,\"stderr\":\"\"}" ;;
    *'"method":"shutdown"'*) say '{}'; exit 0 ;;
  esac
done
"""

# One in Python, without any library of ours; `mode` says how it misbehaves. It notes its life in a file.
PYTHON = """#!{python}
import json, os, sys, time
log = open({log!r}, "a", buffering=1)
log.write(f"start {{os.getpid()}}\\n")
for line in sys.stdin:
    request = json.loads(line)
    method, params, result = request["method"], request["params"], {{}}
    log.write(json.dumps([method, params]) + "\\n")
    if method == "initialize":
        result = {initialize}
    if method == "execute":
        mode = params["inputs"].get("mode", "")
        result = {{"outputs": {{"status": "fine"}}, "exit_code": 0, "stderr": ""}}
        if mode == "fail":
            result = {{"outputs": {{"status": "down"}}, "exit_code": 3, "stderr": "first\\nno route\\n"}}
        if mode == "extra":
            result["outputs"]["more"] = 1
        if mode == "none":
            result = {{}}
        if mode == "who":
            result["principal"] = {{"kind": "agent", "id": "bot", "role": "checker", "model": "m1"}}
        if mode.startswith("answer "):
            result = json.loads(mode[7:])
        if mode == "refuse":
            print(json.dumps({{"jsonrpc": "2.0", "id": request["id"],
                              "error": {{"code": 5, "message": "not today"}}}}), flush=True)
            continue
        if mode == "crash":
            print("going down", file=sys.stderr, flush=True)
            os._exit(1)
        if mode == "hang":
            time.sleep(60)
        if mode == "garbage":
            print("Traceback (most recent call last):", flush=True)
            time.sleep(60)
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
    if method == "execute" and mode == "leave":
        sys.exit(0)
    if method == "shutdown":
        log.write("clean end\\n")
        sys.exit(0)
"""

STEP = """
  - id: {id}
    type: extension
    extension: {extension}
    contract:
      effects: [network]
      writes: []
      inputs: {{ mode: {{ type: string }}, target: {{ type: string }} }}
      outputs: {{ status: {{ type: string }} }}
    inputs: {inputs}
"""


def book(*steps: str) -> str:
    head = "apiVersion: kernel/v0\nmeta: { name: demo, constants: { region: eu, token: hush } }\nsteps:\n"
    return head + "".join(steps) + "  - { type: finish }\n"


def step(mode: str = "", *, id: str = "check", extension: str = "demo", more: str = "") -> str:  # noqa: A002
    inputs = json.dumps({"mode": mode})
    return STEP.format(id=id, extension=extension, inputs=inputs) + more


class Place:
    """A directory on PATH for runners, the log they keep, and a gert that knows extension steps only."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self.log = root / "log"
        environ = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        registry = Registry.build(scan=(), extra_plugins=[gert_step_extension, finish])
        self.run = GertRunner(directory=root, registry=registry, environ=environ)

    def script(self, text: str, name: str = "gert-ext-demo") -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def python(self, name: str = "gert-ext-demo", *, initialize: str = "{'capabilities': {}}") -> Path:
        return self.script(PYTHON.format(python=sys.executable, log=str(self.log), initialize=initialize), name)

    @property
    def life(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def starts(self) -> int:
        return sum(line.startswith("start ") for line in self.life)

    def params(self, method: str) -> list[dict]:
        calls = [json.loads(line) for line in self.life if line.startswith("[")]
        return [params for name, params in calls if name == method]


class Pause(StepModel):
    pass


def pause(step: Pause, ctx: StepContext) -> Completed:
    time.sleep(0.4)
    return Completed()


class Pauses:
    """A step type that gives a runner time to end."""

    @staticmethod
    @hookimpl
    def gert_step_types() -> list[StepType]:
        return [StepType(name="pause", model=Pause, run=pause, summary="Waits.")]


@pytest.fixture
def place(tmp_path):
    yield Place(tmp_path)
    assert not group.running()


class TestConformance(StepTypeConformance):
    plugin = gert_step_extension
    runbook = book(STEP.format(id="look", extension="demo", inputs='{ target: "srv1" }'))
    slow = book(step("hang", extension="slow"))
    scenario: ClassVar = {"steps": {"look": {"outputs": {"status": "srv1 is up"}}}}

    @pytest.fixture
    def runner(self, tmp_path):
        place = Place(tmp_path)
        place.script(SHELL)
        place.python("gert-ext-slow")
        return place.run


def test_a_runner_in_plain_shell(place):
    place.script(SHELL)
    ran = place.run(book(STEP.format(id="look", extension="demo", inputs='{ target: "srv1" }')))
    ran.assert_outcome("resolved")
    assert ran.of("step_complete", "look")[0]["outputs"] == {"status": "srv1 is up"}


def test_what_a_runner_is_told(place):
    place.python()
    place.run(book(step("x", more="    visibility: { allow: [region] }\n"))).assert_outcome("resolved")
    assert place.params("initialize") == [{"protocol_version": "1"}]
    told = place.params("execute")[0]
    assert told["inputs"]["mode"] == "x"
    assert told["vars"] == {"region": "eu"}
    assert told["contract"]["effects"] == ["network"]
    assert told["contract"]["outputs"]["status"]["type"] == "string"
    assert len(told["idempotency_key"]) == 64
    assert place.params("shutdown") == [{}]
    assert place.life[-1] == "clean end"


def test_one_process_for_all_steps_of_a_run(place):
    place.python()
    place.run(book(step(id="a"), step(id="b"), step(id="c", extension="gert-ext-demo"))).assert_outcome("resolved")
    assert place.starts == 1
    assert len(place.params("execute")) == 3


def test_a_path_and_a_full_name_are_taken_as_given(place):
    path = place.python("runner.py")
    place.run(book(step(extension=str(path)))).assert_outcome("resolved")
    assert [program_of(name) for name in ("x", "gert-ext-x", "./x", "/a/x")] == [
        "gert-ext-x",
        "gert-ext-x",
        "./x",
        "/a/x",
    ]


def test_a_reported_failure_fails_the_step_and_keeps_its_outputs(place):
    place.python()
    ran = place.run(book(step("fail")))
    ran.assert_failed("extension_failed")
    assert ran.result.failures[0].message == "gert-ext-demo reports exit code 3: no route"
    complete = ran.of("step_complete", "check")[0]
    assert complete["outputs"] == {"status": "down"}
    assert complete["detail"]["stderr"] == "first\nno route\n"


def test_an_error_answer_fails_the_step(place):
    place.python()
    ran = place.run(book(step("refuse")))
    ran.assert_failed("extension_failed")
    assert ran.result.failures[0].message == "gert-ext-demo: not today (code 5)"


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("crash", "crashed", "'gert-ext-demo' ended with exit code 1 before it answered 'execute'"),
        ("garbage", "protocol", "not valid JSON"),
        ("answer 5", "protocol", "something that is not an object"),
        ('answer {"outputs": []}', "protocol", '"outputs" that is not an object'),
        ('answer {"exit_code": "0"}', "protocol", '"exit_code" that is not an integer'),
        ('answer {"stderr": 4}', "protocol", '"stderr" that is not a string'),
        ('answer {"principal": {"kind": "ghost", "id": "x"}}', "protocol", '"principal" without'),
    ],
)
def test_a_runner_that_is_lost_or_wrong_is_an_error_and_the_next_use_starts_a_new_one(place, mode, kind, words):
    place.python()
    ran = place.run(book(step(mode, id="a", more="    continue_on_fail: true\n"), step(id="b")))
    ran.assert_outcome("resolved")
    failure = ran.of("step_complete", "a")[0]["failure"]
    assert failure["kind"] == kind
    assert words in failure["message"]
    assert ran.steps["a"] == "error"
    assert ran.steps["b"] == "success"
    assert place.starts == 2


def test_a_runner_that_ends_after_its_answer_is_simply_started_again(place):
    place.python()
    place.run.registry = Registry.build(scan=(), extra_plugins=[gert_step_extension, finish, Pauses()])
    ran = place.run(book(step("leave", id="a"), "  - { id: pause, type: pause }\n", step(id="b")))
    ran.assert_outcome("resolved")
    assert place.starts == 2


def test_no_answer_in_time(place):
    place.python()
    began = time.monotonic()
    ran = place.run(book(step("hang", more="    timeout: 500ms\n")))
    ran.assert_failed("timeout", status="error")
    assert time.monotonic() - began < 4


def test_a_minute_is_the_time_it_has():
    assert gert_step_extension.gert_step_types()[0].timeout == 60.0


def test_cancel_ends_the_runner(place):
    place.python()
    stop = Stop()
    threading.Timer(0.8, stop.throw, ("test",)).start()
    ran = place.run(book(step("hang")), stop=stop)
    assert ran.status == "cancelled"


@pytest.mark.parametrize(
    ("initialize", "words"),
    [
        ("{'protocol_version': '2'}", "has version '2' of the runner protocol, gert has '1'"),
        ("[]", "answered 'initialize' with something that is not an object"),
        ("{'principal': 'me'}", '"principal" that is not an object of strings'),
    ],
)
def test_a_runner_of_another_protocol_is_refused(place, initialize, words):
    place.python(initialize=initialize)
    ran = place.run(book(step()))
    ran.assert_failed("protocol", status="error")
    assert words in ran.result.failures[0].message
    assert place.params("execute") == []


def test_a_runner_that_is_not_there(place):
    """The condition keeps the check before the run from refusing it."""
    ran = place.run(book(step(more="    when: true\n")))
    ran.assert_failed("not_found", status="error")
    message = ran.result.failures[0].message
    assert message == "runner 'gert-ext-demo' was not found on PATH; install it, or give its path in `extension`"


def test_the_principal_is_the_steps_or_the_runners(place):
    place.python(initialize="{'principal': {'kind': 'system', 'id': 'runner-7'}}")
    own = "    principal: { kind: human, id: ann }\n"
    ran = place.run(book(step(id="a"), step("who", id="b"), step("who", id="c", more=own)))
    ran.assert_outcome("resolved")
    who = {e.step_key: e.principal for e in ran.events if e.type == "step_complete"}
    assert who["a"]["id"] == "runner-7"
    assert who["b"] == {"kind": "agent", "id": "bot", "role": "checker", "model": "m1"}
    assert who["c"]["id"] == "ann"


def test_outputs_are_held_to_the_contract(place):
    place.python()
    ran = place.run(book(step("extra", id="a"), step("none", id="b")))
    ran.assert_outcome("resolved")
    assert ran.of("step_complete", "a")[0]["outputs"] == {"status": "fine"}
    kinds = [(e.step_key, e.data["kind"]) for e in ran.events if e.type == "contract_violation"]
    assert kinds == [("a", "undeclared_output"), ("b", "missing_output")]
