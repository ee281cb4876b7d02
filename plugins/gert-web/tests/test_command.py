"""The command line: what is refused before anything listens, and what is said at the start."""

from __future__ import annotations

import signal
import subprocess
import sys

import httpx2
import pytest
from shell import wait_for
from unread import full_pipe
from webs import free_port

HEADER = ("--auth", "header", "--trust-header", "X-User")
SECRET = "a-secret-that-is-long-enough"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--bind", "0.0.0.0:8484"), "can be reached from other machines"),
        (("--bind", "here"), "--bind takes HOST:PORT"),
        (("--bind", "127.0.0.1:99999"), "--bind takes HOST:PORT"),
        (("--callbacks-bind", "x"), "--callbacks-bind takes HOST:PORT"),
        (("--auth", "password"), "--auth takes token or header"),
        (("--auth", "header"), "needs --trust-header"),
        (HEADER, "needs the addresses of the proxy"),
        ((*HEADER, "--trusted-proxy", "all"), "--trusted-proxy takes addresses"),
        ((*HEADER, "--trusted-proxy", "10.0.0.7/8"), "--trusted-proxy takes addresses"),
        ((*HEADER, "--trusted-proxy", "127.0.0.1/32"), "has loopback in it"),
        ((*HEADER, "--trusted-proxy", "0.0.0.0/0"), "has loopback in it"),
        ((*HEADER, "--trusted-proxy", "::/0"), "has loopback in it"),
        ((*HEADER, "--trusted-proxy", "127.0.0.1/32", "--proxy-secret-env", "NOT_SET"), "is not set"),
        ((*HEADER, "--trusted-proxy", "127.0.0.1/32", "--proxy-secret-env", "SHORT"), "has fewer than 16"),
        (("--auth", "header", "--trust-header", "a b", "--trusted-proxy", "10.0.0.1/32"), "the name of a header"),
        (("--auth", "header", "--trust-header", "Cookie", "--trusted-proxy", "10.0.0.1/32"), "the name of a header"),
        (("--trust-header", "X-User"), "is for --auth header"),
        (("--trusted-proxy", "10.0.0.1/32"), "is for --auth header"),
        (("--root", "missing"), "is not a directory"),
        (("--base-url", "ftp://x"), "--base-url takes an address"),
        (("--base-url", "https://x/below"), "--base-url takes an address"),
        (("--base-url", "https://me:pw@x"), "--base-url takes an address"),
        (("--frobnicate",), "there is no option --frobnicate"),
        (("extra",), "takes no 'extra'"),
    ],
)
def test_a_wrong_command_line_is_refused(lab, words, message):
    done = lab.gert("web", *words, code=2, SHORT="short")
    assert message in done.stderr


def test_help_names_every_option(lab):
    said = lab.gert("web", "--help").stdout
    for name in ("--bind", "--auth", "--trusted-proxy", "--callbacks-bind", "--resume", "--start"):
        assert name in said


def test_a_port_that_is_taken_is_said(lab):
    with lab.web() as server:
        port = server.base.rpartition(":")[2]
        assert "cannot listen on" in lab.gert("web", "--bind", f"127.0.0.1:{port}", code=2).stderr


def test_the_start_says_whose_runs_are_served(lab):
    with lab.web() as server:
        server.said(r"runs are files here: these are the runs of user (\S+);")
        server.said(r"open (http://127\.0\.0\.1:\d+/login/\S+)")
    with lab.web("--store", f"sqlite:{lab.root}/runs.db") as server:
        server.said(r"open (http://\S+)")
        assert not any("runs are files" in line for line in server.lines)


def test_few_descriptors_are_said_at_the_start(lab):
    with lab.web(files=512) as server:
        server.said(r"at most (256) browsers can follow runs at once")
    with lab.web(files=128) as server:
        server.said(r"(only 128 files may be open)")
        assert server.process.wait(20) == 2


def test_a_signal_ends_it(lab):
    with lab.web() as server:
        assert server.browser(login=False).get("/healthz").text == "ok\n"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) in (-signal.SIGTERM, 128 + signal.SIGTERM)


def test_it_serves_and_ends_where_nobody_reads_what_it_says(lab):
    port = free_port()
    words = [sys.executable, "-m", "gert_core", "web", "--bind", f"127.0.0.1:{port}"]
    with full_pipe() as full:
        server = subprocess.Popen(words, cwd=lab.root, env=lab.environ, stdout=full, stderr=full)
        try:
            wait_for(lambda: answers(port), 30)
            server.send_signal(signal.SIGTERM)
            assert server.wait(14) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        finally:
            server.kill()
            server.wait()


def answers(port):
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=5, trust_env=False).text == "ok\n"
    except httpx2.HTTPError:
        return False


def test_a_fixed_port_works(lab):
    port = free_port()
    with lab.web("--bind", f"127.0.0.1:{port}") as server:
        assert server.base == f"http://127.0.0.1:{port}"
        assert server.browser(login=False).get("/healthz").status_code == 200
