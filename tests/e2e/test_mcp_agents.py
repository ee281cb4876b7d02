"""Agents that also have a shell: what only personal keys prevent, tried against a real server."""

from __future__ import annotations

import pytest
from agents import Project, structured
from people import BOOK, TOOL, pair

OPEN = """
apiVersion: policy/v0
meta: { name: open }
rules: [{ writes: [production], action: require-approval }]
"""
PRIVATE, PUBLIC = pair(1)
KEYS = f"""
apiVersion: policy/v0
meta: {{ name: keys }}
people: {{ alice: {{ keys: ["{PUBLIC}"] }} }}
personal_keys: true
require_signed_approvals: true
rules: [{{ writes: [production], action: require-approval, approvers: [alice] }}]
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.write("tools/act.tool.yaml", TOOL)
    made.write("people.yaml", BOOK)
    yield made
    made.close()


def attempt(project, **environ):
    """An agent runs the runbook, claims in its shell to be alice, and resumes."""

    async def talk(client):
        run = structured(await client.call_tool("runbook_people", {}))
        ticket = run["pending"][0]["ticket_id"]
        project.gert("approve", ticket, "--as", "alice", code=None, **environ)
        return structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))["status"]

    return project.talk(talk), project.path("acted").exists()


def test_a_claim_is_enough_where_policies_do_not_ask_for_keys(project):
    project.policy(OPEN)
    assert attempt(project) == ("completed", True)


def test_personal_keys_stop_an_agent_that_has_a_shell_and_no_key(project):
    project.policy(KEYS)
    assert attempt(project) == ("approval_pending", False)


def test_somebody_elses_key_does_not_help(project):
    project.policy(KEYS)
    assert attempt(project, GERT_APPROVAL_SIGNING_KEY=pair(2)[0]) == ("approval_pending", False)


def test_the_persons_own_key_approves(project):
    project.policy(KEYS)
    assert attempt(project, GERT_APPROVAL_SIGNING_KEY=PRIVATE) == ("completed", True)
