"""The stdio transport: what a tool's process gets and what its reply says."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import gert_transport_stdio
import pytest
from gert_transport_stdio.session import StdioSession

from gert_core.api import Action, Services, StepProblem, Target
from gert_core.engine.cancel import Deadline, Stop

PATH = os.environ["PATH"]


@pytest.fixture
def deadline():
    switch = Stop()
    yield lambda seconds=20: Deadline(switch, seconds)
    switch.close()


def open_session(**target) -> StdioSession:
    target.setdefault("environ", {"PATH": PATH, "TOKEN": "t"})
    return StdioSession(Target(tool="demo", **target), Services(console=SimpleNamespace()))


def action(*argv: str, **fields) -> Action:
    return Action(name="act", argv=argv, idempotency_key="key-1", **fields)


def test_it_registers_itself(gert_registry):
    assert gert_registry(gert_transport_stdio).transport("stdio").summary


def test_a_reply_says_everything(deadline):
    reply = open_session().call(action("sh", "-c", "echo out; echo err >&2"), {}, deadline())
    assert (reply.exit_code, reply.stdout, reply.stderr, reply.failed) == (0, "out\n", "err\n", False)
    assert reply.command == ("sh", "-c", "echo out; echo err >&2")
    assert reply.outputs is None


def test_the_binary_always_replaces_the_first_word(deadline):
    reply = open_session(binary="echo").call(action("anything", "a", "b"), {}, deadline())
    assert (reply.stdout, reply.command) == ("a b\n", ("echo", "a", "b"))
    assert open_session(binary="pwd").call(action(), {}, deadline()).exit_code == 0


def test_a_relative_binary_starts_where_gert_was_started(deadline, tmp_path, monkeypatch):
    script = tmp_path / "bin" / "tool"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert open_session(binary="bin/tool").call(action("x"), {}, deadline()).stdout == "here\n"


def test_its_environment(deadline, monkeypatch):
    monkeypatch.setenv("NOT_FOR_TOOLS", "1")
    reply = open_session().call(action("env", env={"TOKEN": "mine", "MORE": "x"}), {}, deadline())
    assert sorted(reply.stdout.splitlines()) == sorted(
        ["GERT_IDEMPOTENCY_KEY=key-1", "MORE=x", f"PATH={PATH}", "TOKEN=mine"]
    )


def test_its_standard_input(deadline):
    assert open_session().call(action("cat", stdin="zwei\n\u2603"), {}, deadline()).stdout == "zwei\n\u2603"
    assert open_session().call(action("cat"), {}, deadline()).stdout == ""


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("exit 3", 3, "sh exited with code 3"),
        ("echo one >&2; echo two >&2; exit 1", 1, "sh exited with code 1: two"),
        ("kill -TERM $$", 143, "sh exited with code 143 (SIGTERM)"),
    ],
)
def test_a_non_zero_exit_is_the_tools_own_failure(deadline, script, code, message):
    reply = open_session().call(action("sh", "-c", script), {}, deadline())
    assert (reply.failed, reply.exit_code, reply.message) == (True, code, message)


def test_problems_carry_the_command(deadline):
    began = time.monotonic()
    with pytest.raises(StepProblem) as caught:
        open_session().call(action("sleep", "60"), {}, deadline(0.2))
    assert time.monotonic() - began < 3
    assert (caught.value.kind, caught.value.detail["command"]) == ("timeout", ["sleep", "60"])
    with pytest.raises(StepProblem) as caught:
        open_session(binary="gert-no-such").call(action("x", "y"), {}, deadline())
    assert (caught.value.kind, caught.value.detail["command"]) == ("not_found", ["gert-no-such", "y"])


def test_no_command_is_said(deadline):
    with pytest.raises(StepProblem, match="action 'act' of tool 'demo' has no argv"):
        open_session().call(action(), {}, deadline())
