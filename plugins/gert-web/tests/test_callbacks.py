"""Callbacks of approval providers: handed on as they came, answered as the provider says, and without an identity."""

from __future__ import annotations

import http.client
import socket
import time

import pytest
from shell import wait_for
from webs import WebLab, free_port, in_pieces, policy

PAGER = """
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, ApprovalTicket, CallbackReply, GertError
from gert_core.kit.tickets import AnswerReader, TicketStore


class Session:
    def __init__(self, services):
        self.store = TicketStore(services.run)
        self.answers = AnswerReader(self.store)

    def submit(self, request):
        self.store.put(request)
        self.store.keep_sent(request.ticket_id, {"provider": "pager"})
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        return self.answers.next(ticket.ticket_id)

    def close(self):
        pass


def callback(request, services):
    if request.body == b"raise":
        raise RuntimeError("broken")
    if request.body == b"echo":
        told = f"{request.method} {request.path} {request.header('x-user')}"
        return CallbackReply(status=201, body=told.encode(), content_type="text/x-told")
    if request.body == b"after":
        return CallbackReply(after=lambda: Path("after").touch())
    if request.body == b"fails after":
        return CallbackReply(after=lambda: 1 / 0)
    who = request.header("x-user")
    try:
        services.tickets.decide(
            request.path.strip("/"), approved=True, identity={"provider": "pager", "user": who}, evidence="e" * 64
        )
    except GertError as error:
        return CallbackReply(status=403, body=error.kind.encode())
    return CallbackReply(body=b"noted")


def update(state, sent, services):
    with Path("board").open("a") as board:
        board.write(f"{state.status}\\n")
    return {**sent, "settled": state.run_status == "completed"}


@hookimpl
def gert_approval_providers():
    return [ApprovalProvider(name="pager", open=Session, callback=callback, update=update, bridge="pager")]
"""


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    lab = WebLab(tmp_path_factory.mktemp("paged"))
    lab.write("site/gert_pager.py", PAGER)
    lab.write("site/gert_pager-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: gert-pager\nVersion: 1.0\n")
    lab.write("site/gert_pager-1.0.dist-info/entry_points.txt", "[gert.v0]\npager = gert_pager\n")
    lab.environ["PYTHONPATH"] = str(lab.root / "site")
    lab.cold = True
    lab.gated(policy())
    text = lab.path("gert-project.yaml").read_text()
    lab.write("gert-project.yaml", text.replace("provider: inbox", "provider: pager"))
    lab.gert("exec", "book.yaml", "--as", "olga", code=None)
    with lab.web("--resume") as server:
        yield lab, server
    lab.close()


def call(server, path, body=b"", headers=()):
    host, _, port = server.base.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.putrequest("POST", path)
    for name, value in (*headers, ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text, answer.headers["content-type"]


def test_a_callback_gets_what_came_and_answers_itself(paged):
    _, server = paged
    said = call(server, "/callbacks/pager/t-1", b"echo", [("X-User", "alice")])
    assert said == (201, b"POST /t-1 alice", "text/x-told; charset=utf-8")
    assert call(server, "/callbacks/pager", b"echo")[:2] == (201, b"POST  None")


def test_too_much_in_pieces_is_not_read_for_a_callback(paged):
    _, server = paged
    assert in_pieces(server.base, "/callbacks/pager", {}) == 413


def test_a_callback_does_the_rest_after_its_answer(paged):
    lab, server = paged
    assert call(server, "/callbacks/pager", b"after")[0] == 200
    wait_for(lab.path("after").exists)
    assert call(server, "/callbacks/pager", b"fails after")[0] == 200
    server.said("(division by zero)")
    assert server.browser(login=False).get("/healthz").status_code == 200


def test_what_is_wrong_is_a_sentence(paged):
    _, server = paged
    status, text, _ = call(server, "/callbacks/pager", b"raise")
    assert (status, b"broken" in text, b"Traceback" in text) == (400, True, False)
    twice = [("X-User", "alice"), ("X-User", "bob")]
    status, text, _ = call(server, "/callbacks/pager/t-1", b"yes", twice)
    assert (status, b"2 times" in text) == (400, True)
    assert call(server, "/callbacks/other")[0] == 404


def test_an_answer_decides_the_run_is_resumed_and_messages_are_rewritten(paged):
    lab, server = paged
    (ticket,) = [one["ticket_id"] for one in lab.json("approvals", "list")["approvals"]]
    said = call(server, f"/callbacks/pager/{ticket}", b"yes", [("X-User", "eve@corp")])
    assert said[:2] == (403, b"approver_unknown")
    assert call(server, f"/callbacks/pager/{ticket}", b"yes", [("X-User", "alice@corp")])[:2] == (200, b"noted")
    wait_for(lambda: lab.json("runs", "list")["runs"][0]["status"] == "completed")
    wait_for(lambda: "approved" in lab.path("board").read_text())


@pytest.mark.parametrize("apart", [True, False], ids=["callbacks", "pages"])
def test_half_a_request_does_not_disturb_the_end(paged, apart):
    lab, _ = paged
    port = free_port()
    with lab.web("--callbacks-bind", f"127.0.0.1:{port}") as server:
        base = server.base
        browser = server.browser()
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
        own = int(base.rpartition(":")[2])
        path, to = ("/callbacks/pager", port) if apart else ("/tickets/x/decide", own)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{own}\r\nOrigin: {base}\r\nCookie: {cookies}\r\n"
        with socket.create_connection(("127.0.0.1", to), timeout=20) as sent:
            sent.sendall(f"{head}Content-Length: 1000\r\n\r\nabc".encode())
            time.sleep(0.5)
            server.process.terminate()
            assert server.process.wait(14) in (0, 143, -15)
            assert sent.recv(65536).startswith(b"HTTP/1.1 503 ")
        assert "Traceback" not in "".join(server.lines)
