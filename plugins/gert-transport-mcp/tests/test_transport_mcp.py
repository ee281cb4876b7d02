"""The transport against real servers: the SDK's over both ways, and one that dies, lies, floods and hangs."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

import gert_transport_mcp
import pytest
from gert_transport_mcp.session import McpSession

from gert_core.api import Action, Services, StepProblem, Target
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit.processes import group
from gert_core.testing.conformance import TransportConformance

if TYPE_CHECKING:
    from collections.abc import Iterator


SERVERS = Path(__file__).parent / "servers"
SDK, PLAIN = str(SERVERS / "sdk.py"), str(SERVERS / "plain.py")


@contextmanager
def over_http() -> Iterator[str]:
    """Start the SDK's server on loopback; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, SDK, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return lambda: path.read_text().split("\n")[:-1]


@pytest.fixture
def deadline():
    switch = Stop()
    yield lambda seconds=120: Deadline(switch, seconds)
    switch.close()


@pytest.fixture
def opened(tmp_path):
    sessions = []

    def open_session(**fields) -> McpSession:
        environ = {"PATH": os.environ["PATH"], "LOG": str(tmp_path / "log"), "TOKEN": "t"}
        given = {"tool": "demo", "environ": environ, **fields}
        sessions.append(McpSession(Target(**given), Services(console=SimpleNamespace())))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
    assert not group.running()


def act(tool: str, *words: str, **fields) -> Action:
    return Action(name="act", argv=(sys.executable, *words), config={"mcp_tool": tool}, **fields)


def sdk(tool: str, **fields) -> Action:
    return act(tool, SDK, **fields)


def plain(tool: str, *words: str, **fields) -> Action:
    return act(tool, PLAIN, *words, **fields)


class TestConformance(TransportConformance):
    plugin = gert_transport_mcp
    environ: ClassVar = {"LOG": os.devnull}
    program = (sys.executable, PLAIN)
    action: ClassVar = {"name": "go", "config": {"mcp_tool": "look"}, "argv": program}
    slow: ClassVar = {"name": "slow", "config": {"mcp_tool": "hang"}, "argv": program}


# -- the SDK's own server, both protocols, both ways -----------------------------------------------------------


@pytest.mark.parametrize("protocol", ["auto", "legacy", "2026-07-28"])
def test_every_protocol_carries_typed_arguments_and_structured_results(opened, deadline, protocol):
    session = opened(config={"protocol": protocol})
    reply = session.call(sdk("add", outputs=("total", "kinds")), {"a": 2, "b": 3}, deadline())
    assert reply.outputs == {"total": 5, "kinds": ["int", "int"]}
    assert reply.command == (sys.executable, SDK, "add")
    assert session.call(sdk("greet", outputs=("said",)), {"name": "ann"}, deadline()).outputs == {"said": "hello ann"}
    failed = session.call(sdk("refuse"), {"why": "not today"}, deadline())
    assert failed.failed
    assert "not today" in failed.message


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_an_address_is_used_like_a_program(opened, deadline, protocol):
    with over_http() as url:
        session = opened(connect=url, config={"protocol": protocol})
        reply = session.call(sdk("add", outputs=("total",)), {"a": 2, "b": 3}, deadline())
        assert (reply.outputs, reply.command) == ({"total": 5}, (url, "add"))
        assert session.call(sdk("refuse"), {"why": "no"}, deadline()).failed


def test_progress_and_standard_error_are_live_output(opened, deadline):
    seen = []
    watched = sdk("work", output=lambda stream, data: seen.append((stream, data)), outputs=("said",))
    assert opened().call(watched, {}, deadline()).outputs == {"said": "worked"}
    assert [data for stream, data in seen if stream == "progress"] == [b"half way\n", b"2 of 2\n"]
    assert b"on stderr" in b"".join(data for stream, data in seen if stream == "stderr")


@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
def test_a_server_that_asks_its_client_is_refused(opened, deadline, protocol):
    reply = opened(config={"protocol": protocol}).call(sdk("question"), {}, deadline())
    assert reply.failed
    assert "answered" not in reply.message


def test_an_unknown_tool_is_named_with_the_nearest_ones(opened, deadline):
    with pytest.raises(StepProblem) as caught:
        opened().call(sdk("great"), {}, deadline())
    assert caught.value.kind == "action_unknown"
    assert caught.value.message.endswith("has no tool 'great'; the nearest are greet")
    assert (caught.value.acted, caught.value.retryable) == (False, False)


def test_an_address_where_nothing_listens_is_one_sentence(opened, deadline):
    with pytest.raises(StepProblem) as caught:
        opened(connect="http://127.0.0.1:9/mcp").call(act("look"), {}, deadline())
    assert caught.value.kind == "crashed"
    assert caught.value.message.startswith("the connection to http://127.0.0.1:9/mcp was lost: ")
    assert not caught.value.acted


# -- one written without it ------------------------------------------------------------------------------------


def test_one_process_serves_the_run_and_has_the_environment(opened, deadline, log):
    session = opened()
    first, second = (session.call(plain("look"), {"n": 1}, deadline()).outputs for _ in range(2))
    assert first == second
    assert first["arguments"] == {"n": 1}
    assert session.call(plain("token", outputs=("value",)), {}, deadline()).outputs == {"value": "t"}
    assert [line for line in log() if line.startswith("start")] == ["start "]


def test_without_mcp_tool_the_action_names_the_tool(opened, deadline):
    assert opened().call(Action(name="look", argv=(sys.executable, PLAIN)), {}, deadline()).outputs["arguments"] == {}


@pytest.mark.parametrize(
    ("tool", "outputs", "found"),
    [
        ("both", ("seen",), {"seen": 1}),
        ("both", (), {}),
        ("both", None, {"seen": 1, "more": 2}),
        ("both", ("other",), {"other": "as text"}),
        ("look", ("arguments",), {"arguments": {}}),
        ("two", ("one",), {}),
        ("two", None, None),
    ],
)
def test_outputs_are_taken_by_name_then_from_the_text(opened, deadline, tool, outputs, found):
    assert opened().call(plain(tool, outputs=outputs), {}, deadline()).outputs == found


def test_an_error_answer_is_a_failure_of_the_tool(opened, deadline):
    session = opened()
    reply = session.call(plain("raise"), {}, deadline())
    assert (reply.failed, reply.message) == (True, "demo raise: no such host (code 7)")
    assert not session.call(plain("look"), {}, deadline()).failed


def test_a_server_that_cannot_start_is_started_once_more_and_then_an_error(opened, deadline, log):
    with pytest.raises(StepProblem) as caught:
        opened().call(plain("look", "dead"), {}, deadline())
    assert caught.value.kind == "crashed"
    assert caught.value.message == f"{sys.executable!r} ended with exit code 3; last line on stderr: no licence"
    assert not caught.value.acted
    assert log() == ["start dead", "start dead"]


def test_a_call_that_was_not_sent_is_made_by_the_next_process(opened, deadline, log):
    session = opened()
    assert not session.call(plain("look", "dead-once"), {}, deadline()).failed
    assert log() == ["start dead-once", "start dead-once", "call look"]


def test_a_server_that_ends_between_calls_is_started_again(opened, deadline, log):
    session = opened()
    session.call(plain("after"), {}, deadline())
    time.sleep(0.3)
    assert not session.call(plain("look"), {}, deadline()).failed
    assert log() == ["start ", "call after", "start ", "call look"]


def test_a_call_that_may_not_be_repeated_has_an_unknown_outcome(opened, deadline, log):
    with pytest.raises(StepProblem) as caught:
        opened().call(plain("die-once"), {}, deadline())
    assert caught.value.kind == "unknown_outcome"
    assert caught.value.message == (
        f"{sys.executable!r} ended with exit code 9; last line on stderr: out of memory; "
        "whether 'die-once' took effect is unknown, and it may not be repeated (`idempotent`)"
    )
    assert log() == ["start ", "call die-once"]


def test_a_call_that_may_be_repeated_is_repeated_once(opened, deadline, log):
    session = opened()
    assert not session.call(plain("die-once", repeatable=True), {}, deadline()).failed
    assert log() == ["start ", "call die-once", "start ", "call die-once"]
    with pytest.raises(StepProblem) as caught:
        session.call(plain("die", repeatable=True), {}, deadline())
    assert caught.value.kind == "crashed"
    assert log().count("call die") == 2


def test_a_call_without_an_answer_ends_the_server(opened, deadline, log):
    session = opened()
    with pytest.raises(StepProblem) as caught:
        session.call(plain("hang"), {}, deadline(1.5))
    assert (caught.value.kind, caught.value.message) == ("timeout", "demo hang did not answer in time and was ended")
    assert not group.running()
    assert not session.call(plain("look"), {}, deadline()).failed


def test_a_server_that_does_not_shake_hands_is_a_timeout(opened, deadline):
    with pytest.raises(StepProblem) as caught:
        opened(config={"protocol": "legacy"}).call(plain("look", "mute"), {}, deadline(1))
    assert caught.value.kind == "timeout"


def test_a_flood_is_a_violation_of_the_protocol(opened, deadline):
    with pytest.raises(StepProblem) as caught:
        opened().call(plain("flood"), {}, deadline())
    assert caught.value.kind == "protocol"
    assert "wrote a message of more than 10485760 bytes" in caught.value.message


def test_a_result_against_the_announced_schema_is_refused(opened, deadline):
    with pytest.raises(StepProblem) as caught:
        opened().call(plain("lie"), {}, deadline())
    assert caught.value.kind == "protocol"
    assert "gave no valid result" in caught.value.message


@pytest.mark.parametrize("tool", ["slow-pattern", "slow-references"])
def test_no_schema_of_a_server_makes_a_check_take_for_ever(tmp_path, tool):
    """In a process of its own, because nothing else would end it."""
    script = (
        "import sys\nfrom types import SimpleNamespace\n"
        "from gert_core.api import Action, Services, Target\nfrom gert_core.engine.cancel import Deadline, Stop\n"
        "from gert_transport_mcp.session import McpSession\n"
        "given, switch = {'PATH': '/usr/bin:/bin', 'LOG': sys.argv[2]}, Stop()\n"
        "session = McpSession(Target(tool='demo', environ=given), Services(console=SimpleNamespace()))\n"
        "action = Action(name='act', argv=(sys.executable, sys.argv[1]), config={'mcp_tool': sys.argv[3]}, outputs=('a',))\n"
        "reply = session.call(action, {}, Deadline(switch, 60))\nsession.close()\nswitch.close()\nprint(len(reply.outputs['a']))\n"
    )
    words = [sys.executable, "-c", script, PLAIN, str(tmp_path / "log"), tool]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=90)
    assert done.stdout.strip() == "60", done.stderr


def test_other_lines_are_live_output(opened, deadline):
    seen = []
    watched = plain("look", "chatty", output=lambda stream, data: seen.append((stream, data)))
    assert not opened().call(watched, {}, deadline()).failed
    assert ("stdout", b"Welcome to the server\n") in seen


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "tool 'demo' has no program; set meta.binary, or meta.connect to an address"),
        (
            {"connect": "ftp://host"},
            "meta.connect of tool 'demo' is `stdio` or an address that begins with http:// or https://",
        ),
        (
            {"connect": "http://127.0.0.1:9", "config": {"tokens": "x"}},
            "meta.config.tokens of tool 'demo': there is no such setting; it takes token_env, protocol",
        ),
        (
            {"connect": "http://127.0.0.1:9", "config": {"token_env": "NOT_SET"}},
            "tool 'demo' needs NOT_SET, which is not set; list it under `secrets` of the tool",
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_is_started(opened, deadline, fields, message):
    with pytest.raises(StepProblem) as caught:
        opened(**fields).call(Action(name="look"), {}, deadline())
    assert caught.value.message == message
    assert not caught.value.acted


def test_opening_starts_nothing(opened, log):
    opened().close()
    assert log() == []


class Answering(BaseHTTPRequestHandler):
    """Answers every request with what the server has, whatever was asked."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.headers["Accept-Encoding"])
        headers, body = self.server.given
        self.send_response(200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def answering(body: bytes, **headers: str):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.given, server.asked = (headers, body), []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_compressed_answer_is_not_unpacked(opened, deadline):
    """A small one could be a large one."""
    with answering(gzip.compress(b" " * 50_000_000), **{"Content-Encoding": "gzip"}) as server:
        session = opened(connect=f"http://127.0.0.1:{server.server_port}/mcp")
        with pytest.raises(StepProblem, match="compressed"):
            session.call(Action(name="add", config={"mcp_tool": "add"}), {}, deadline(30))
    assert set(server.asked) == {"identity"}


def test_what_the_sdk_logs_about_an_answer_reaches_no_terminal(opened, deadline, capfd):
    with answering(b"hunter2 {") as server:
        session = opened(connect=f"http://127.0.0.1:{server.server_port}/mcp")
        with suppress(StepProblem):
            session.call(Action(name="add", config={"mcp_tool": "add"}), {}, deadline(30))
    assert capfd.readouterr().err == ""
