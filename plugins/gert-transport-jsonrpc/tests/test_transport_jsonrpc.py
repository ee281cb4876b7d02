"""The jsonrpc transport against servers written without the library."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import ClassVar

import gert_transport_jsonrpc
import pytest
from gert_transport_jsonrpc.session import JsonRpcSession

from gert_core.api import Action, Services, StepProblem, Target
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit.processes import group
from gert_core.testing.conformance import TransportConformance

SERVER = """#!{python}
import json, os, sys, time
calls = 0
for line in sys.stdin:
    calls += 1
    request = json.loads(line)
    method, params = request["method"], request["params"]
    reply = {{"jsonrpc": "2.0", "id": request["id"]}}
    if method == "fail":
        reply["error"] = {{"code": 7, "message": "no such host", "data": params}}
    elif method == "crash":
        print("boom", file=sys.stderr)
        os._exit(9)
    elif method == "hang":
        time.sleep(60)
    elif method == "tell":
        print("telling", params["n"], file=sys.stderr, flush=True)
        time.sleep(0.3)
        reply["result"] = None
    elif method == "value":
        reply["result"] = params["value"]
    else:
        reply["result"] = {{"pid": os.getpid(), "calls": calls, "params": params, "token": os.environ.get("TOKEN"),
                           "argv": sys.argv[1:]}}
    print(json.dumps(reply), flush=True)
    if method == "chatty":
        print("debug: answered", flush=True)
    if method == "last":
        sys.exit(0)
"""


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "server"
    path.write_text(SERVER.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def deadline():
    switch = Stop()
    yield lambda seconds=20: Deadline(switch, seconds)
    switch.close()


@pytest.fixture
def session(server):
    target = Target(tool="demo", binary=server, environ={"PATH": os.environ["PATH"], "TOKEN": "t"})
    opened = JsonRpcSession(target, Services(console=SimpleNamespace()))
    yield opened
    opened.close()
    assert not group.running()


class TestConformance(TransportConformance):
    plugin = gert_transport_jsonrpc
    argv = (sys.executable, "-c", SERVER.format(python=sys.executable))
    action: ClassVar = {"name": "go", "method": "look", "argv": argv}
    slow: ClassVar = {"name": "slow", "method": "hang", "argv": argv}


def action(method: str | None, **fields) -> Action:
    return Action(name="act", method=method, idempotency_key="key-1", **fields)


def test_it_registers_itself(gert_registry):
    assert gert_registry(gert_transport_jsonrpc).transport("jsonrpc").summary


def test_inputs_are_parameters_and_the_result_is_the_outputs(session, deadline, server):
    reply = session.call(action("look"), {"host": "srv1", "n": 2}, deadline())
    assert reply.outputs["params"] == {"host": "srv1", "n": 2}
    assert reply.outputs["token"] == "t"
    assert reply.command == (server, "look")
    assert not reply.failed


def test_what_it_writes_to_standard_error_is_shown_to_who_watches_the_call(session, deadline):
    seen = []
    for number in (1, 2):
        watched = action("tell", output=lambda *given, number=number: seen.append((number, *given)))
        session.call(watched, {"n": number}, deadline())
    session.call(action("tell"), {"n": 3}, deadline())
    assert seen == [(1, "stderr", b"telling 1\n"), (2, "stderr", b"telling 2\n")]


def test_one_process_serves_the_run(session, deadline):
    first, second = (session.call(action("look"), {}, deadline()).outputs for _ in range(2))
    assert (first["pid"], second["calls"]) == (second["pid"], 2)


def test_opening_starts_nothing(server):
    JsonRpcSession(Target(tool="demo", binary=server), Services(console=SimpleNamespace())).close()
    assert not group.running()


def test_an_error_answer_is_a_failed_reply(session, deadline):
    reply = session.call(action("fail"), {"host": "x"}, deadline())
    assert reply.failed
    assert reply.message == "demo fail: no such host (code 7)"
    assert '"host":"x"' in reply.stderr
    assert session.call(action("look"), {}, deadline()).outputs["calls"] == 2


def test_a_crash_is_one_error_and_the_next_call_starts_anew(session, deadline):
    first = session.call(action("look"), {}, deadline()).outputs["pid"]
    with pytest.raises(StepProblem) as caught:
        session.call(action("crash"), {}, deadline())
    assert caught.value.kind == "crashed"
    assert "exit code 9 before it answered 'crash'; last line on stderr: boom" in caught.value.message
    again = session.call(action("look"), {}, deadline()).outputs
    assert again["pid"] != first
    assert again["calls"] == 1


def test_an_end_between_calls_loses_nothing(session, deadline):
    session.call(action("last"), {}, deadline())
    time.sleep(0.3)
    assert session.call(action("look"), {}, deadline()).outputs["calls"] == 1


def test_a_stray_line_is_told_once_even_after_the_answer(session, deadline):
    session.call(action("chatty"), {}, deadline())
    time.sleep(0.3)
    with pytest.raises(StepProblem) as caught:
        session.call(action("look"), {}, deadline())
    assert caught.value.kind == "protocol"
    assert "debug: answered" in caught.value.message
    assert session.call(action("look"), {}, deadline()).outputs["calls"] == 1


def test_no_answer_is_a_timeout(session, deadline):
    with pytest.raises(StepProblem) as caught:
        session.call(action("hang"), {}, deadline(0.3))
    assert caught.value.kind == "timeout"
    assert not group.running()
    assert session.call(action("look"), {}, deadline()).outputs["calls"] == 1


@pytest.mark.parametrize(
    ("value", "stdout"), [("text", "text"), (5, "5"), ([1, {"a": None}], '[1,{"a":null}]'), (True, "true")]
)
def test_a_result_that_is_no_object_is_text_for_extract(session, deadline, value, stdout):
    reply = session.call(action("value"), {"value": value}, deadline())
    assert (reply.outputs, reply.stdout) == (None, stdout)


def test_a_null_result_has_no_outputs(session, deadline):
    assert session.call(action("value"), {"value": None}, deadline()).outputs == {}


def test_arguments_and_environment_of_an_action_start_its_process(session, deadline):
    reply = session.call(action("look", argv=("server", "--fast"), env={"TOKEN": "other"}), {}, deadline())
    assert (reply.outputs["argv"], reply.outputs["token"]) == (["--fast"], "other")


def test_calls_from_many_threads_share_the_process(session, deadline):
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda n: session.call(action("look"), {"n": n}, deadline()).outputs, range(64)))
    assert [reply["params"]["n"] for reply in replies] == list(range(64))
    assert len({reply["pid"] for reply in replies}) == 1


def test_what_cannot_be_called_is_said(session, deadline):
    with pytest.raises(StepProblem, match="has no method"):
        session.call(action(None), {}, deadline())
    nothing = JsonRpcSession(Target(tool="demo"), Services(console=SimpleNamespace()))
    with pytest.raises(StepProblem, match="has no program"):
        nothing.call(action("look"), {}, deadline())
    missing = JsonRpcSession(Target(tool="demo", binary="gert-no-such"), Services(console=SimpleNamespace()))
    with pytest.raises(StepProblem) as caught:
        missing.call(action("look"), {}, deadline())
    assert caught.value.kind == "not_found"
