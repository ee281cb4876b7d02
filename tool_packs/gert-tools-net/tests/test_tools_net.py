"""curl against a server on the loopback; ping and dig with whatever the machine has, and always with stand-ins."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gert_tools_net
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs, path_with

NO_CURL = "[HTTP 000 0.1s]"


class TestPack(ToolPackConformance):
    plugin = gert_tools_net
    books = Path(__file__).parent / "books"
    # curl and dig take the word after these as it is; the tests below show it.
    takes_value = ("--output", "-t", "-q")


class Handler(BaseHTTPRequestHandler):
    """Answers by path, and with what it received where that is asked for."""

    def do_GET(self) -> None:
        if self.path == "/hop":
            self._answer(302, b"", Location="/fine")
        elif self.path == "/mirror":
            self._answer(200, json.dumps({k.lower(): v for k, v in self.headers.items()}).encode())
        elif self.path == "/empty":
            self._answer(204, b"")
        elif self.path == "/large":
            self._answer(200, b"x" * 3_000_000 + b"[HTTP 404 1.0s]")
        elif self.path in ("/fine", "/a{b}[1-2]"):
            self._answer(200, b"  fine\n")
        else:
            self._answer(404, b"no such thing")

    do_HEAD = do_GET  # noqa: N815 - the name the base class looks for

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"body": body.decode(), "headers": {k.lower(): v for k, v in self.headers.items()}}
        self._answer(201, json.dumps(told).encode())

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


class Curl:
    """Calls curl; where there is none, the argument list is looked at instead of the answer."""

    def __init__(self, run, directory):
        self.run = run
        path = path_with(directory, "curl", stdout=NO_CURL, exit_code=7)
        self.real = not (directory / "curl").exists()
        run.environ = {"PATH": path, "HOME": str(directory)}

    def __call__(self, action, **inputs):
        ran = call(self.run, "net/curl", action, inputs)
        return ran, outputs(ran)


@pytest.fixture
def curl(gert_run, tmp_path):
    return Curl(gert_run, tmp_path / "bin")


def test_get_returns_status_body_and_time(curl, server):
    ran, got = curl("get", url=f"{server}/fine")
    if curl.real:
        ran.assert_outcome("resolved")
        assert (got["status_code"], got["body"]) == (200, "fine\n")
        assert got["time_total"] >= 0


def test_get_of_something_that_is_not_there_is_an_answer(curl, server):
    ran, got = curl("get", url=f"{server}/nothing")
    if curl.real:
        ran.assert_outcome("resolved")
        assert (got["status_code"], got["body"]) == (404, "no such thing")


def test_an_empty_body_and_one_with_our_mark_in_it(curl, server):
    _, empty = curl("get", url=f"{server}/empty")
    _, large = curl("get", url=f"{server}/large")
    if curl.real:
        assert (empty["status_code"], empty["body"]) == (204, "")
        assert (large["status_code"], len(large["body"])) == (200, 3_000_015)


def test_redirects_are_followed_when_asked(curl, server):
    _, stays = curl("get", url=f"{server}/hop")
    _, goes = curl("get", url=f"{server}/hop", follow=True)
    if curl.real:
        assert (stays["status_code"], goes["status_code"]) == (302, 200)


def test_headers_are_sent_and_secrets_among_them_stay_out_of_the_command(curl, server):
    ran, got = curl("get", url=f"{server}/mirror", headers=["X-One: 1", "Authorization: Bearer hush-hush"])
    assert "hush-hush" not in str(ran.of("step_complete", "call")[0].get("command", ""))
    if curl.real:
        seen = json.loads(got["body"])
        assert (seen["x-one"], seen["authorization"]) == ("1", "Bearer hush-hush")


def test_an_address_is_never_a_pattern_a_file_or_an_option(curl, server, tmp_path):
    (tmp_path / "secret").write_text("hush")
    _, pattern = curl("get", url=f"{server}/a{{b}}[1-2]")
    file, _ = curl("get", url=f"file://{tmp_path}/secret")
    option, _ = curl("get", url="--version")
    if curl.real:
        assert pattern["status_code"] == 200
    file.assert_failed("exit_code")
    option.assert_failed("exit_code")
    assert "hush" not in file.result.trace.read_text()


def test_curlrc_is_not_read(curl, server, tmp_path):
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / ".curlrc").write_text("include\n")
    _, got = curl("get", url=f"{server}/fine")
    if curl.real:
        assert got["body"] == "fine\n"


def test_nobody_listens(curl):
    ran, got = curl("get", url="http://127.0.0.1:9/", timeout=5)
    ran.assert_failed("exit_code")
    assert (got["status_code"], got["body"]) == (0, "")


def test_head_returns_the_headers(curl, server):
    _, got = curl("head", url=f"{server}/hop")
    if curl.real:
        assert got["status_code"] == 302
        assert "Location: /fine" in got["response_headers"]


@pytest.mark.parametrize(
    "body",
    ["", 'a "quoted" \\ text', "two\nlines\tand a tab", "@/etc/passwd", "größer", '{"a": "\\u0007"}', "x" * 50_000],
)
def test_post_sends_the_body_as_it_is(curl, server, body):
    ran, got = curl("post", url=f"{server}/", body=body, content_type="text/plain", authorization="Basic abcd")
    assert "Basic" not in str(ran.of("step_complete", "call")[0].get("command", ""))
    if curl.real:
        told = json.loads(got["body"])
        assert got["status_code"] == 201
        assert told["body"] == body
        assert told["headers"]["content-type"] == "text/plain"
        assert told["headers"]["authorization"] == "Basic abcd"


def test_post_sends_a_map_as_json_and_no_empty_headers(curl, server):
    _, got = curl("post", url=f"{server}/", body={"n": [1, 2]}, header='X-Odd: "\noutput = "/tmp/x')
    if curl.real:
        told = json.loads(got["body"])
        assert json.loads(told["body"]) == {"n": [1, 2]}
        assert told["headers"]["content-type"] == "application/json"
        assert told["headers"]["x-odd"] == '" output = "/tmp/x'
        assert "authorization" not in told["headers"]


def test_download_writes_a_file_and_nothing_on_an_error(curl, server, tmp_path):
    target, missing = tmp_path / "-o", tmp_path / "missing"
    done, got = curl("download", url=f"{server}/fine", path=str(target))
    failed, _ = curl("download", url=f"{server}/nothing", path=str(missing))
    failed.assert_failed("exit_code")
    assert not missing.exists()
    if curl.real:
        done.assert_outcome("resolved")
        assert target.read_bytes() == b"  fine\n"
        assert (got["status_code"], got["bytes"]) == (200, 7)


def test_the_words_curl_gets(gert_run, tmp_path):
    stand_in = StandIn.make(tmp_path / "bin", "curl", stdout="[HTTP 200 0.1s]")
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    call(gert_run, "net/curl", "get", {"url": "--upload-file"}).assert_outcome("resolved")
    argv = stand_in.calls[0]["argv"]
    assert argv[0] == "-q", "only as the first word does it keep ~/.curlrc out"
    assert argv[-2:] == ["--", "--upload-file"]


LINUX_PING = "2 packets transmitted, 2 received, 0% packet loss, time 1001ms\nrtt min/avg/max/mdev = 1/2.5/3/0.1 ms\n"


def test_ping_this_machine(gert_run, tmp_path):
    path = path_with(tmp_path / "bin", "ping", stdout=LINUX_PING)
    gert_run.environ = {"PATH": path}
    ran = call(gert_run, "net/ping", "ping", {"host": "127.0.0.1", "count": 2})
    if ran.status == "completed":
        assert outputs(ran)["transmitted"] == outputs(ran)["received"] == 2
        assert outputs(ran)["loss_percent"] == 0
    else:  # a container that may not send echo requests
        ran.assert_failed("exit_code")


def test_the_words_ping_gets(gert_run, tmp_path):
    stand_in = StandIn.make(tmp_path / "bin", "ping", stdout=LINUX_PING)
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    ran = call(gert_run, "net/ping", "ping", {"host": "-f"})
    ran.assert_outcome("resolved")
    assert outputs(ran)["rtt_avg_ms"] == 2.5
    assert stand_in.calls[0]["argv"] == ["-n", "-c", "3", "--", "-f"]
    assert stand_in.calls[0]["environ"]["LC_ALL"] == "C"


def test_the_words_dig_gets(gert_run, tmp_path):
    answer = ";; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr; QUERY: 1, ANSWER: 1, AUTHORITY: 0\n"
    answer += "\n;; ANSWER SECTION:\nlocalhost.\t10\tIN\tA\t127.0.0.1\n"
    stand_in = StandIn.make(tmp_path / "bin", "dig", stdout=answer)
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    ran = call(gert_run, "net/dig", "lookup_at", {"name": "-f", "server": "127.0.0.1"})
    ran.assert_outcome("resolved")
    assert outputs(ran) == {
        "rcode": "NOERROR",
        "answers": 1,
        "address": "127.0.0.1",
        "records": "localhost.\t10\tIN\tA\t127.0.0.1",
    }
    assert stand_in.calls[0]["argv"][-5:] == ["@127.0.0.1", "-t", "A", "-q", "-f"]


def test_dig_at_a_server_that_is_not_there(gert_run, tmp_path):
    path = path_with(tmp_path / "bin", "dig", stdout=";; no servers could be reached\n", exit_code=9)
    gert_run.environ = {"PATH": path}
    call(gert_run, "net/dig", "lookup_at", {"name": "-f", "server": "127.0.0.1#9"}).assert_failed("exit_code")
