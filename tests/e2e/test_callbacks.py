"""What a provider that answers over HTTP is given: callbacks, messages that are rewritten, and what a policy refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from people import BOOK, TOOL, pair

from gert_core.api import CallbackRequest, GertError
from gert_core.hosting import Host

PAGER = """
import json
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, ApprovalTicket, CallbackReply, GertError
from gert_core.kit.tickets import AnswerReader, TicketStore


class Session:
    def __init__(self, services):
        self.services, self.store = services, TicketStore(services.run)
        self.answers = AnswerReader(self.store)

    def submit(self, request):
        self.store.put(request)
        if self.store.sent(request.ticket_id) is None:
            since = self.services.since_last(request)
            self.store.keep_sent(request.ticket_id, {"provider": "pager", "since": since, "board": "waiting"})
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        return self.answers.next(ticket.ticket_id)

    def close(self):
        pass


def callback(request, services):
    if request.body == b"raise":
        raise RuntimeError("broken")
    who, ticket = request.header("x-user"), request.path.strip("/")
    try:
        state = services.tickets.decide(
            ticket, approved=request.body == b"yes", identity={"provider": "pager", "user": who}, evidence="e"
        )
    except GertError as error:
        return CallbackReply(status=403, body=error.kind.encode())
    return CallbackReply(body=f"{state.status} {services.config.get('channel')}".encode())


def update(state, sent, services):
    with Path("board.txt").open("a") as board:
        board.write(f"{state.status} {','.join(state.approvers)} {state.run_status}\\n")
    over = state.run_status in ("completed", "failed")
    return {**sent, "board": state.status, "settled": over}


@hookimpl
def gert_approval_providers():
    return [ApprovalProvider(name="pager", open=Session, callback=callback, update=update, bridge="pager")]
"""
PEOPLE = {"alice": {"login": "a@corp"}, "olga": {"login": "o@corp", "os": "olga"}}


@pytest.fixture
def place(tmp_path, monkeypatch, fake_dist):
    monkeypatch.chdir(tmp_path)
    fake_dist.add("gert-approval-pager", PAGER)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "act.tool.yaml").write_text(TOOL)
    (tmp_path / "book.yaml").write_text(BOOK)
    _project(tmp_path)
    return tmp_path


def _project(root, config=None, **more):
    policy = {
        "apiVersion": "policy/v0",
        "meta": {"name": "house"},
        "rules": [{"effects": ["danger"], "action": "require-approval"}],
        "people": PEOPLE,
        **more,
    }
    (root / "house.yaml").write_text(json.dumps(policy))
    project = {"policies": ["house.yaml"], "approvals": {"provider": "pager", "config": config or {"channel": "ops"}}}
    (root / "gert-project.yaml").write_text(json.dumps(project))


def request(ticket: str, body: bytes, *headers: tuple[str, str]) -> CallbackRequest:
    return CallbackRequest(method="POST", path=f"/{ticket}", headers=headers, body=body, now=datetime.now(UTC))


def pending(host) -> tuple[str, str]:
    run = host.start("book.yaml", actor="olga")
    assert run.wait(20) is not None
    (ticket,) = host.tickets()
    return run.run_id, ticket.ticket_id


def test_a_callback_decides_and_messages_follow(place):
    with Host(place) as host:
        assert "pager" in host.callbacks()
        run_id, ticket = pending(host)
        host.update_messages()
        host.update_messages()  # nothing has changed
        said = host.callback("pager", request(ticket, b"yes", ("x-user", "eve@corp")))
        assert (said.status, said.body) == (403, b"approver_unknown")
        said = host.callback("pager", request(ticket, b"yes", ("x-user", "a@corp")))
        assert (said.status, said.body) == (200, b"answered ops")
        host.update_messages()
        resumed = host.resume(run_id, actor="olga")
        assert resumed.wait(20)["result"]["status"] == "completed"
        host.update_messages()
        host.update_messages()
        assert (place / "board.txt").read_text().splitlines() == [
            "pending  approval_pending",
            "answered alice approval_pending",
            "approved alice completed",
        ]
        assert pending(host)[0] != run_id
        sent = next((place / "runs").glob("*/tickets/*.sent.json"))
        kept = [json.loads(file.read_text()) for file in (place / "runs").glob("*/tickets/*.sent.json")]
        assert sent is not None
        assert sorted(one["board"] for one in kept) == ["approved", "waiting"]
        (second,) = [one for one in kept if one["board"] == "waiting"]
        assert (second["since"]["approvers"], second["since"]["changed"]) == (["alice"], [])


def test_another_process_rewrites_what_a_former_one_left(place):
    with Host(place) as host:
        _, ticket = pending(host)
        host.decide(ticket, approved=False, identity={"provider": "web", "user": "a@corp"})
    with Host(place) as host:
        host.update_messages()
    assert (place / "board.txt").read_text() == "answered  approval_pending\n"


def test_bad_callbacks(place):
    with Host(place) as host:
        _, ticket = pending(host)
        for provider in ("nobody", "inbox", "../x"):
            with pytest.raises(GertError, match="takes callbacks here"):
                host.callback(provider, request(ticket, b"yes"))
        twice = (("x-user", "a@corp"), ("x-user", "o@corp"))
        with pytest.raises(GertError, match="2 times"):
            host.callback("pager", request(ticket, b"yes", *twice))
        with pytest.raises(GertError, match="approval-pager") as caught:
            host.callback("pager", request(ticket, b"raise"))
        assert caught.value.kind == "approval_provider"
        assert host.ticket(ticket).status == "pending"


def test_personal_keys_refuse_a_provider_with_a_bridge_before_the_run(place):
    _, key = pair(1)
    _project(place, personal_keys=True, people={**PEOPLE, "alice": {"login": "a@corp", "keys": [key]}})
    with Host(place) as host:
        with pytest.raises(GertError, match="personal_keys") as caught:
            host.start("book.yaml", actor="olga")
        assert caught.value.kind == "key_not_personal"
        assert list(host.runs()) == []
        run = host.start("book.yaml", actor="olga", approval="inbox")
        assert run.wait(20)["result"]["status"] == "approval_pending"


@pytest.mark.parametrize("name", ["GERT_TRACE_SIGNING_KEY", "GERT_BRIDGE_SIGNING_KEY_WEB", "GERT_STORE"])
@pytest.mark.parametrize("field", ["token_env", "deep"])
def test_no_provider_is_given_a_key_of_gert_by_the_project(place, name, field):
    config = {"token_env": name} if field == "token_env" else {"a": [{"b": f"env/{name}"}]}
    _project(place, config)
    with Host(place) as host:
        with pytest.raises(GertError, match=f"approvals.config names {name}"):
            host.start("book.yaml", actor="olga")
        with pytest.raises(GertError, match=f"approvals.config names {name}"):
            host.callback("pager", request("t-1", b"yes", ("x-user", "a@corp")))
        assert list(host.runs()) == []
    _project(place, {"token_env": "GERT_PAGER_KEY"})
    with Host(place) as host:
        assert pending(host)
