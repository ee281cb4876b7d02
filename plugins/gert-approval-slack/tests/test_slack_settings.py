"""Settings: what is wrong is said in one sentence before the run, and by ``gert doctor``."""

from __future__ import annotations

import json

import pytest
from slack_fake import BOT_TOKEN, SECRET, refusal

MISTAKES = [
    ({"channel": None}, "approvals.config.channel is missing"),
    ({"channel": "a b"}, "approvals.config.channel is not a channel of Slack: 'a b'"),
    ({"channel": 7}, "approvals.config.channel is not a channel of Slack: 7"),
    ({"token_env": None}, "approvals.config.token_env is missing"),
    ({"token_env": "NOT_SET"}, "approvals.config.token_env names NOT_SET, which is not set"),
    ({"token_env": "xoxb-1-2"}, "approvals.config.token_env is not the name of a variable"),
    ({"token_env": "WRONG"}, "WRONG does not have a bot token, which begins with xoxb-"),
    ({"base_url": "gert.example.com"}, "approvals.config.base_url is not an address"),
    ({"base_url": "http://gert.example.com"}, "approvals.config.base_url must begin with https://"),
    ({"base_url": "https://u:p@gert.example.com"}, "approvals.config.base_url is not an address"),
    ({"api_url": "http://slack.com/api"}, "approvals.config.api_url must begin with https://"),
    ({"signing_secret_env": ""}, "approvals.config.signing_secret_env is not the name of a variable"),
    ({"wait": "soon"}, "approvals.config.wait must be a number of seconds"),
    ({"chanel": "C1"}, "approvals.config has 'chanel', which the provider slack does not know"),
]


@pytest.mark.parametrize(("change", "said"), MISTAKES)
def test_a_mistake_is_one_sentence_before_the_run(project, slack, change, said):
    project.config.update(change)
    for name in [name for name, value in change.items() if value is None]:
        del project.config[name]
    project.settle()
    done = project.gert("exec", "book.yaml", code=None, WRONG="xapp-1")
    assert done.returncode == 2
    assert said in done.stderr
    assert "nothing was run" in done.stderr
    assert (project.runs(), slack.calls) == ([], [])
    found = doctor(project, WRONG="xapp-1")
    assert (found["status"], said in found["message"]) == ("fail", True)


def test_a_setting_of_the_web_inbox_is_no_mistake(project, slack):
    project.config["allow_self"] = True
    project.settle()
    assert "Approval pending" in project.gert("exec", "book.yaml", code=None).stdout
    assert doctor(project)["status"] != "fail"


def test_a_run_that_needs_no_approval_runs_all_the_same(project, slack):
    del project.config["channel"]
    project.settle()
    project.book("- { id: done, type: end, outcome: { category: resolved, code: ok } }")
    project.gert("exec", "book.yaml")


def test_personal_keys_refuse_the_provider_before_the_run(project, slack):
    from people import pair

    project.people["alice"]["keys"] = [pair(3)[1]]
    project.settle(personal_keys=True)
    done = project.gert("exec", "book.yaml", code=None)
    assert done.returncode == 2
    assert "approval provider 'slack' cannot be used here" in done.stderr
    assert (project.runs(), slack.calls) == ([], [])


def doctor(project, **environ):
    found = json.loads(project.gert("doctor", "--json", code=None, **environ).stdout)
    return next((one for one in found["checks"] if one["check"] == "approval-slack/workspace"), None)


def test_doctor_says_as_whom_it_asks(project, slack):
    found = doctor(project)
    assert (found["status"], found["message"]) == ("ok", "asks in C0CHANGES1 as gert of Acme (T0ACME01)")
    assert slack.calls == [("auth.test", {})]


def test_doctor_fails_where_runs_could_answer_for_people(project, slack):
    found = doctor(project, SLACK_SIGNING_SECRET=SECRET)
    assert (found["status"], "SLACK_SIGNING_SECRET can be read here" in found["message"]) == ("fail", True)


def test_doctor_tells_a_token_that_does_not_work(project, slack):
    slack.mischief["auth.test"] = [refusal("account_inactive")]
    found = doctor(project)
    assert (found["status"], found["message"]) == ("fail", "Slack answered account_inactive")
    assert "install the app again" in found["hint"]


def test_doctor_warns_when_no_click_can_be_received(project, slack):
    del project.config["signing_secret_env"], project.config["app_token_env"]
    project.settle()
    assert doctor(project)["status"] == "warn"


def test_doctor_does_not_look_where_another_provider_is_used(project, slack):
    project.provider = "inbox"
    project.config.clear()
    project.settle()
    assert doctor(project) is None
    assert slack.calls == []
    assert BOT_TOKEN not in project.gert("doctor", code=None).stdout
