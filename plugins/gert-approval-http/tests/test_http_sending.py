"""When the service is away or refuses, and settings that are wrong."""

from __future__ import annotations

import json
import time

import pytest

from gert_core.testing.receivers import DRIBBLE, RESET


def pending(project):
    done = project.gert("exec", "book.yaml", code=None)
    assert "Approval pending" in done.stdout, done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize("fault", [503, RESET])
def test_three_tries_that_fail_leave_a_ticket_that_is_sent_again(project, service, fault):
    service.answers = [fault] * 3 + [200]
    assert "no person was told about ticket t-" in pending(project)
    assert len(service.got) == 3
    (run,) = project.runs()
    for _ in range(2):
        project.gert("resume", "--run", run.name, code=None)
    assert [got.document["repeat"] for got in service.got] == [False, True, True, True]
    tokens = [got.document["callback"]["token"] for got in service.got]
    assert len(set(tokens[:3])) == 1
    assert tokens[3] != tokens[0], "only the hash of a token is kept"


def test_a_slow_service_holds_a_run_for_ten_seconds_at_most(project, service):
    service.answers = [DRIBBLE]
    began = time.monotonic()
    assert "no person was told" in pending(project)
    assert time.monotonic() - began < 20


def test_what_is_refused_is_said_at_once(project, service):
    service.answers = [403]
    assert "the service answered with 403 (the service refuses" in pending(project)
    assert len(service.got) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": None}, "approvals.config.url is missing"),
        ({"url": "ftp://x/y"}, "approvals.config.url must begin with https://"),
        ({"url": "http://example.com/x"}, "approvals.config.url must begin with https://"),
        ({"url_env": "X"}, "approvals.config has both url and url_env"),
        ({"url": None, "url_env": "NOT_SET"}, "approvals.config.url_env names NOT_SET, which is not set"),
        ({"base_url": None}, "approvals.config.base_url is missing"),
        ({"poll": {"url": "https://x/y"}}, "approvals.config has both base_url and poll"),
        ({"base_url": None, "poll": "https://x/y"}, "approvals.config.poll takes one field, url"),
        ({"base_url": None, "poll": {"url": "x"}}, "approvals.config.poll.url is not an address"),
        ({"token": "x"}, "approvals.config has 'token', which the provider http does not know"),
    ],
)
def test_a_mistake_is_one_sentence_before_the_run_and_in_doctor(project, service, change, said):
    project.config.update(change)
    for name in [name for name, value in change.items() if value is None]:
        del project.config[name]
    project.settle()
    done = project.gert("exec", "book.yaml", code=2)
    assert (said in done.stderr, project.runs(), service.got) == (True, [], [])
    assert (doctor(project)["status"], said in doctor(project)["message"]) == ("fail", True)


def test_a_key_that_is_none_is_said_before_the_run(project, service):
    done = project.gert("exec", "book.yaml", code=2, GERT_WEBHOOK_SIGNING_KEY="x")
    assert "GERT_WEBHOOK_SIGNING_KEY cannot be used" in done.stderr


def doctor(project, **environ):
    found = json.loads(project.gert("doctor", "--json", code=None, **environ).stdout)
    return next(one for one in found["checks"] if one["check"] == "approval-http/settings")


def test_doctor_sends_nothing_and_fails_where_runs_could_answer(project, service):
    assert doctor(project)["status"] == "ok"
    assert doctor(project, GERT_WEBHOOK_SIGNING_KEY="")["status"] == "warn"
    found = doctor(project, GERT_CALLBACK_VERIFY_KEY="x" * 24)
    assert (found["status"], "can be read here" in found["message"]) == ("fail", True)
    assert service.got == []


def test_a_setting_of_the_web_inbox_is_no_mistake(project, service):
    project.config["allow_self"] = True
    project.settle()
    pending(project)
    assert len(service.got) == 1
