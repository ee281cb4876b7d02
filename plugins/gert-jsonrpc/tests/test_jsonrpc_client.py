"""The JSON-RPC client against peers written without it, good ones and every kind of bad one."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from gert_jsonrpc import Client, PeerError, PeerFault, RpcError

from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit import processes
from gert_core.kit.processes import group

ENVIRON = {"PATH": os.environ["PATH"]}

GOOD = """
import json, sys, time, threading
lock = threading.Lock()
def answer(**message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def serve(request):
    number, method, params = request["id"], request["method"], request["params"]
    if method == "fail":
        answer(id=number, error={"code": 42, "message": "cannot", "data": {"why": params}})
    elif method == "sleep":
        time.sleep(params)
        answer(id=number, result=params)
    else:
        answer(id=number, result={"method": method, "params": params})
for line in sys.stdin:
    threading.Thread(target=serve, args=(json.loads(line),)).start()
"""


@pytest.fixture
def stop():
    switch = Stop()
    yield switch
    switch.close()


@pytest.fixture
def peer():
    clients = []

    def begin(script: str, **options) -> Client:
        argv = [sys.executable, "-c", textwrap.dedent(script)]
        clients.append(Client(processes.start(argv, environ=ENVIRON), **options))
        return clients[-1]

    yield begin
    for client in clients:
        client.close(0)
    assert not group.running()
    assert not [t for t in threading.enumerate() if t.name.startswith("jsonrpc")]


def replying(*lines: str) -> str:
    """A peer that writes these lines once it was asked."""
    return f"import sys, time\nsys.stdin.readline()\nfor l in {list(lines)!r}: print(l, flush=True)\ntime.sleep(60)"


def test_a_call_gives_the_result(peer, stop):
    client = peer(GOOD)
    params = {"text": "zwei\nZeilen \u2603 \U0001f600", "n": [1, None, True, 0.5]}
    assert client.call("echo", params, Deadline(stop, 10)) == {"method": "echo", "params": params}
    assert client.failure is None


def test_an_error_answer_is_no_end(peer, stop):
    client = peer(GOOD)
    with pytest.raises(RpcError) as caught:
        client.call("fail", "because", Deadline(stop, 10))
    assert (caught.value.code, caught.value.message, caught.value.data) == (42, "cannot", {"why": "because"})
    assert client.call("echo", 1, Deadline(stop, 10))["params"] == 1


def test_answers_find_their_callers_in_any_order(peer, stop):
    client = peer(GOOD)
    times = [0.4, 0.3, 0.2, 0.1, 0.0] * 4
    with ThreadPoolExecutor(20) as pool:
        began = time.monotonic()
        assert list(pool.map(lambda t: client.call("sleep", t, Deadline(stop, 20)), times)) == times
    assert time.monotonic() - began < 3


def test_large_messages_both_ways(peer, stop):
    text = "x" * 3_000_000
    assert peer(GOOD).call("echo", text, Deadline(stop, 20))["params"] == text


def test_a_shell_script_can_be_a_peer(stop):
    script = r"""
    while read -r line; do
      id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
      printf '{"jsonrpc":"2.0","id":%s,"result":"hello"}\n' "$id"
    done"""
    client = Client(processes.start(["sh", "-c", script], environ=ENVIRON))
    assert [client.call("x", {}, Deadline(stop, 10)) for _ in range(3)] == ["hello"] * 3
    client.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("starting up...", ["not valid JSON", "'starting up...'", "stderr"]),
        ('{"jsonrpc": "2.0", "id": 1, "result": NaN}', ["not valid JSON", "NaN"]),
        ('{"id": 1, "result": 2}', ["not a JSON-RPC 2.0 message"]),
        ("[1, 2]", ["not a JSON-RPC 2.0 message"]),
        ('{"jsonrpc": "2.0", "id": 99, "result": 2}', ["id 99", "not the id of an open request"]),
        ('{"jsonrpc": "2.0", "id": "1", "result": 2}', ["without the id of a request", "'1'"]),
        ('{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}', ["Parse error"]),
        ('{"jsonrpc": "2.0", "id": 1}', ["exactly one of"]),
        ('{"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}', ["exactly one of"]),
        ('{"jsonrpc": "2.0", "id": 1, "error": "bad"}', ["an error that is not"]),
        ('{"jsonrpc": "2.0", "id": 1, "method": "gert/do"}', ["request of its own", "'gert/do'"]),
        ('{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 5000 + "]" * 5000 + "}", ["nested deeper"]),
        ("x" * 60_000, ["more than 50000 bytes"]),
    ],
)
def test_a_peer_that_breaks_the_protocol_is_named_and_ended(peer, stop, line, words):
    client = peer(replying(line), limit=50_000)
    with pytest.raises(PeerError) as caught:
        client.call("ask", {}, Deadline(stop, 10))
    assert caught.value.fault is PeerFault.PROTOCOL
    for word in [repr(sys.executable), *words]:
        assert word in caught.value.message
    assert len(caught.value.message) < 400
    with pytest.raises(PeerError) as again:
        client.call("ask", {}, Deadline(stop, 10))
    assert again.value.message == caught.value.message


def test_blank_lines_and_notifications_are_passed_over(peer, stop):
    lines = ["", '{"jsonrpc": "2.0", "method": "log", "params": ["hi"]}', '{"jsonrpc": "2.0", "id": 1, "result": 5}']
    assert peer(replying(*lines)).call("ask", {}, Deadline(stop, 10)) == 5


def test_half_of_a_surrogate_pair_becomes_a_replacement(peer, stop):
    client = peer(replying('{"jsonrpc": "2.0", "id": 1, "result": ["a\\ud800b", "\\ud83d\\ude00"]}'))
    assert client.call("ask", {}, Deadline(stop, 10)) == ["a\ufffdb", "\U0001f600"]


def test_death_in_the_middle_of_a_call(peer, stop):
    client = peer("import sys; sys.stdin.readline(); print('out of luck', file=sys.stderr); sys.exit(3)")
    with pytest.raises(PeerError) as caught:
        client.call("ask", {}, Deadline(stop, 10))
    assert caught.value.fault is PeerFault.CRASHED
    assert "ended with exit code 3 before it answered 'ask'; last line on stderr: out of luck" in caught.value.message
    assert caught.value.stderr == "out of luck\n"


def test_death_reaches_every_open_call(peer, stop):
    client = peer("import sys, os\nfor _ in range(8): sys.stdin.readline()\nos.kill(os.getpid(), 9)")

    def ask(number: int) -> str:
        with pytest.raises(PeerError) as caught:
            client.call(f"m{number}", {}, Deadline(stop, 10))
        return caught.value.message

    with ThreadPoolExecutor(8) as pool:
        messages = list(pool.map(ask, range(8)))
    assert all(f"exit code 137 before it answered 'm{n}'" in text for n, text in enumerate(messages))


def test_closed_output_is_as_good_as_dead(peer, stop):
    client = peer("import os, sys, time; sys.stdin.readline(); os.close(1); time.sleep(60)")
    with pytest.raises(PeerError, match="closed its output before it answered 'ask'"):
        client.call("ask", {}, Deadline(stop, 10))


def test_no_answer(peer, stop):
    client = peer("import time; time.sleep(60)")
    began = time.monotonic()
    with pytest.raises(PeerError) as caught:
        client.call("ask", {}, Deadline(stop, 0.3))
    assert caught.value.fault is PeerFault.TIMEOUT
    assert "did not answer 'ask' in time" in caught.value.message
    assert time.monotonic() - began < 3
    assert client.failure is not None


def test_no_reading_either(peer, stop):
    client = peer("import time; time.sleep(60)")
    with pytest.raises(PeerError, match="did not answer 'ask' in time"):
        client.call("ask", "x" * 1_000_000, Deadline(stop, 0.3))


def test_cancel(peer, stop):
    client = peer("import time; time.sleep(60)")
    threading.Timer(0.2, stop.throw, ("test",)).start()
    began = time.monotonic()
    with pytest.raises(PeerError) as caught:
        client.call("ask", {}, Deadline(stop))
    assert caught.value.fault is PeerFault.CANCELLED
    assert time.monotonic() - began < 3


def test_a_deadline_that_has_passed_costs_nothing(peer, stop):
    client = peer(GOOD)
    with pytest.raises(PeerError, match="was not sent"):
        client.call("echo", 1, Deadline(stop, 0))
    assert client.call("echo", 1, Deadline(stop, 10))["params"] == 1


def test_a_flood_on_stderr_does_not_block(peer, stop):
    client = peer("import sys\nsys.stderr.write('noise\\n' * 2_000_000)\n" + GOOD)
    assert client.call("echo", 1, Deadline(stop, 30))["params"] == 1


def test_what_json_cannot_say_is_not_sent(peer, stop):
    client = peer(GOOD)
    with pytest.raises(RpcError, match="cannot be sent as JSON"):
        client.call("echo", float("nan"), Deadline(stop, 10))
    with pytest.raises(RpcError, match="cannot be sent as JSON"):
        client.call("echo", {"x": object()}, Deadline(stop, 10))
    assert client.call("echo", 1, Deadline(stop, 10))["params"] == 1


def test_closing_fails_open_calls(peer, stop):
    client = peer(GOOD)
    threading.Timer(0.3, client.close, (0,)).start()
    with pytest.raises(PeerError, match="was ended"):
        client.call("sleep", 30, Deadline(stop, 40))


def test_closing_lets_a_peer_end_by_itself(tmp_path, stop):
    script = f"import sys\nfor line in sys.stdin: pass\nopen({str(tmp_path / 'mark')!r}, 'w').write('clean')"
    Client(processes.start([sys.executable, "-c", script], environ=ENVIRON)).close(5)
    assert (tmp_path / "mark").read_text() == "clean"
