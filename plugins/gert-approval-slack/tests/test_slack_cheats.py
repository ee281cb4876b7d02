"""Ways to get a step approved that nobody approved: each is refused, and the ticket stays as it was."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from urllib.parse import quote, urlencode

import pytest
from slack_fake import ALICE, BOB, MALLORY, SECRET, click, form, post, signed


@pytest.fixture
def waiting(project, slack):
    """A run that waits, and what a click on its message is."""
    project.run = project.execute()
    return project, click(slack.message())


def untouched(project):
    """Nothing was answered, and the run does not go on."""
    assert list(project.root.glob("runs/*/tickets/*.answers/*.json")) == []
    assert project.json("resume", "--run", project.run["run_id"], code=None)["status"] == "approval_pending"
    assert not project.changed()


def test_a_forged_signature(waiting, door):
    project, payload = waiting
    body = form(payload)
    genuine = signed(body)
    stamp = genuine["X-Slack-Request-Timestamp"]
    bare = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    forged = [
        signed(body, secret="0" * 32),
        {**genuine, "X-Slack-Signature": "v0=" + "0" * 64},
        {**genuine, "X-Slack-Signature": genuine["X-Slack-Signature"].upper()},
        {**genuine, "X-Slack-Signature": genuine["X-Slack-Signature"][:-1]},
        {**genuine, "X-Slack-Signature": f"v0={bare}"},
        {**genuine, "X-Slack-Signature": f"v1={genuine['X-Slack-Signature'][3:]}"},
        {**genuine, "X-Slack-Signature": ""},
        {**genuine, "X-Slack-Signature": "v0=" + "\u0661" * 4},
        {**genuine, "X-Slack-Request-Timestamp": str(int(stamp) + 1)},
        {**genuine, "X-Slack-Request-Timestamp": f"{stamp}.0"},
        {**genuine, "X-Slack-Request-Timestamp": f"+{stamp}"},
        {name: value for name, value in genuine.items() if name != "X-Slack-Signature"},
        {name: value for name, value in genuine.items() if name != "X-Slack-Request-Timestamp"},
        {"Content-Type": genuine["Content-Type"]},
    ]
    for headers in forged:
        ascii_only = {name: value.encode("utf-8").decode("latin-1") for name, value in headers.items()}
        assert post(door, body, ascii_only)[0] == 401, headers
    untouched(project)


def test_a_signature_of_another_time(waiting, door):
    project, payload = waiting
    body = form(payload)
    for away in (-301, -3600, 301, 3600, 10**9):
        assert post(door, body, signed(body, at=time.time() + away))[0] == 401, away
    untouched(project)


def test_a_signature_sent_twice(waiting, project, slack):
    from datetime import UTC, datetime

    from gert_core.api import CallbackRequest

    _, payload = waiting
    body = form(payload)
    pairs = tuple((name.lower(), value) for name, value in signed(body).items())
    with project.host() as host:
        for doubled in ("x-slack-signature", "x-slack-request-timestamp"):
            more = (*pairs, (doubled, dict(pairs)[doubled]))
            request = CallbackRequest(method="POST", path="", headers=more, body=body, now=datetime.now(UTC))
            assert host.callback("slack", request).status == 401
    untouched(project)


def test_a_body_that_was_encoded_anew(waiting, door):
    """It means the same, but it is not what was signed."""
    project, payload = waiting
    body = form(payload)
    headers = signed(body)
    text = json.dumps(payload)
    others = [
        b"payload=" + quote(text, safe="").encode(),
        urlencode({"payload": json.dumps(payload, indent=1)}).encode(),
        body + b"&",
        body.replace(b"%22", b'"'),
        body.replace(b"%7B", b"%7b"),
    ]
    for other in others:
        assert other != body
        assert post(door, other, headers)[0] == 401
    untouched(project)


@pytest.mark.parametrize("where", ["behind", "before", "beside", "none", "json"])
def test_a_form_with_two_payloads_or_another_field(waiting, door, where):
    """Signed as Slack would: which of them is meant is not guessed."""
    project, payload = waiting
    mine, other = json.dumps(payload), json.dumps({**payload, "user": {"id": BOB, "team_id": "T0ACME01"}})
    body = {
        "behind": urlencode([("payload", mine), ("payload", other)]),
        "before": urlencode([("payload", other), ("payload", mine)]),
        "beside": urlencode([("payload", mine), ("user", BOB)]),
        "none": "",
        "json": mine,
    }[where].encode()
    assert post(door, body, signed(body))[0] == 400
    untouched(project)


@pytest.mark.parametrize(
    "change",
    [
        {"actions": []},
        {"actions": None},
        {"actions": "gert_approve"},
        {"user": None},
        {"user": {"name": "alice"}},
        {"user": {"id": {"$ne": ""}, "team_id": "T0ACME01"}},
        {"user": {"id": f"{ALICE}/x", "team_id": "T0ACME01"}},
        {"team": {"id": "T0ACME01/U0ALICE01"}, "user": {"id": "U"}},
    ],
)
def test_a_payload_that_is_not_a_click(waiting, door, change):
    project, payload = waiting
    body = form({**payload, **change})
    assert post(door, body, signed(body))[0] in (200, 400)
    untouched(project)


def test_two_actions_at_once(waiting, door):
    project, payload = waiting
    (action,) = payload["actions"]
    body = form({**payload, "actions": [action, {**action, "action_id": "gert_reject"}]})
    assert post(door, body, signed(body))[0] == 400
    untouched(project)


@pytest.mark.parametrize("value", ["", "t", "x|", "|x", "../../etc|passwd", "a|b|c", "RUN|../TICKET", "RUN", 7])
def test_a_value_that_is_not_of_our_buttons(waiting, door, value):
    project, payload = waiting
    (action,) = payload["actions"]
    body = form({**payload, "actions": [{**action, "value": value}]})
    assert post(door, body, signed(body))[0] == 400
    untouched(project)


def test_the_ticket_of_another_run(waiting, door, project, slack):
    """A button of one run with the ticket of another: the message showed something else."""
    _, payload = waiting
    first = payload["actions"][0]["value"]
    project.runbook("other")
    other = project.execute()
    body = form(
        {**payload, "actions": [{**payload["actions"][0], "value": f"{other['run_id']}|{first.split('|')[1]}"}]}
    )
    assert post(door, body, signed(body))[0] == 200
    assert "another run" in slack.until("chat.postEphemeral")[0]["text"]
    project.runbook("disk")
    untouched(project)


def test_a_user_of_another_team_with_the_same_id(waiting, door, slack):
    """As in a channel that is shared with another organisation."""
    project, payload = waiting
    foreign = [
        {"team": {"id": "T0OTHER01"}, "user": {**payload["user"], "team_id": "T0OTHER01"}},
        {"user": {**payload["user"], "team_id": "T0OTHER01"}},
        {"team": {"id": "T0OTHER01", "domain": "acme"}, "user": {"id": ALICE}},
    ]
    for change in foreign:
        body = form({**payload, **change})
        assert post(door, body, signed(body))[0] == 200
    for told in slack.until("chat.postEphemeral", 3):
        assert "no policy says who slack 'T0OTHER01/U0ALICE01' is" in told["text"]
    untouched(project)


def test_the_display_name_of_somebody_else(waiting, door, slack):
    project, payload = waiting
    user = {"id": "U0NOBODY1", "username": "alice", "name": "alice", "real_name": "alice", "team_id": "T0ACME01"}
    body = form({**payload, "user": user})
    assert post(door, body, signed(body))[0] == 200
    assert "U0NOBODY1" in slack.until("chat.postEphemeral")[0]["text"]
    untouched(project)


def test_an_agent(project, slack, door):
    """Its identity may be declared: an agent is no person all the same."""
    project.people["agent:bot"] = {"slack": "T0ACME01/U0AGENT01"}
    project.settle()
    done = project.gert("exec", "book.yaml", code=None)
    assert done.returncode == 2, done.stdout
    del project.people["agent:bot"]
    project.settle()
    project.run = project.execute()
    body = form(click(slack.message(), user="U0AGENT01"))
    assert post(door, body, signed(body))[0] == 200
    slack.until("chat.postEphemeral")
    untouched(project)


def test_a_click_that_is_sent_again_changes_nothing(project, door, slack):
    """Slack may deliver twice, and somebody may have read a request: the same bytes are the same answer."""
    project.settle(rule={"min_approvers": 2})
    project.execute()
    body = form(click(slack.message()))
    headers = signed(body)
    for _ in range(4):
        assert post(door, body, headers)[0] == 200
    assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1
    slack.until("chat.update", 4)
    assert slack.ephemeral == []


def test_an_approval_does_not_fit_a_later_ticket(waiting, door, project, slack):
    _, payload = waiting
    body = form(payload)
    headers = signed(body)
    assert post(door, body, headers)[0] == 200
    project.program("change", 'echo "$1" more >> changed')
    run = project.run["run_id"]
    assert project.json("resume", "--run", run, code=None)["status"] == "approval_pending"
    assert post(door, body, headers)[0] == 200
    assert project.json("resume", "--run", run, code=None)["status"] == "approval_pending"
    assert not project.changed()


def test_two_clicks_at_once_are_one_answer(waiting, door):
    project, payload = waiting
    bodies = [form({**payload, "trigger_id": str(number)}) for number in range(8)]
    threads = [threading.Thread(target=post, args=(door, body, signed(body))) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1


def test_refused_clicks_do_not_fill_the_disk_nor_use_up_the_ticket(project, door, slack):
    project.settle(rule={"approvers": ["alice"]})
    project.run = project.execute()
    payload = click(slack.message())
    for number in range(30):
        body = form({**payload, "user": {"id": MALLORY, "team_id": "T0ACME01"}, "trigger_id": str(number)})
        assert post(door, body, signed(body))[0] == 200
    assert len(list(project.root.glob("runs/*/tickets/*.refused/**/*.json"))) == 20
    untouched(project)


def test_other_paths_and_methods(waiting, door):
    import urllib.error
    import urllib.request

    project, payload = waiting
    body = form(payload)
    assert post(f"{door}/t-1", body, signed(body))[0] == 404
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(door, timeout=10)
    assert caught.value.code == 405
    caught.value.close()
    assert post(door, b"payload=" + b"x" * 300_000, {})[0] == 413
    untouched(project)


def test_other_things_that_slack_sends_are_taken_and_do_nothing(waiting, door):
    project, payload = waiting
    for other in ({"type": "view_submission"}, {**payload, "actions": [{"action_id": "other", "type": "button"}]}):
        body = form(other)
        assert post(door, body, signed(body)) == (200, b"")
    untouched(project)


def test_without_the_bridges_key_a_click_is_refused_where_signatures_are_wanted(project, slack):
    from callback_server import CallbackServer

    from gert_core.hosting import Host

    project.run = project.execute()
    body = form(click(slack.message()))
    with (
        Host(project.root, environ={**project.environ, **project.secrets}) as host,
        CallbackServer(host) as server,
    ):
        assert post(server.url("slack"), body, signed(body))[0] == 200
        assert "does not count" in slack.until("chat.postEphemeral")[0]["text"]
    untouched(project)


def test_a_run_that_has_the_secrets_cannot_use_them(project, slack, door):
    """A run reads neither the signing secret nor the bridge's key; answers that it writes itself are not signed."""
    from people import pair

    wrong, _ = pair(9)
    project.run = project.execute(GERT_BRIDGE_SIGNING_KEY=wrong, SLACK_SIGNING_SECRET="wrong")
    ticket = project.ticket()
    answer = {
        "ticket_id": ticket,
        "approved": True,
        "approver_id": "alice",
        "method": "slack",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "identity": {"provider": "slack", "tenant": "T0ACME01", "user": ALICE},
    }
    (tickets,) = project.root.glob("runs/*/tickets")
    (tickets / f"{ticket}.answers").mkdir(mode=0o700)
    (tickets / f"{ticket}.answers" / "0001-abc.json").write_text(json.dumps(answer))
    found = project.json("resume", "--run", project.run["run_id"], code=None)
    assert (found["status"], project.changed()) == ("approval_pending", False)
