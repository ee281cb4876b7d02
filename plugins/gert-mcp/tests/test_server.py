"""The server as clients see it: validate, run, wait for people, resume; a real client and a real process."""

from __future__ import annotations

import gert_mcp
from agents import BOTH, FIX, GATED, refused, structured

from gert_core.testing.conformance import CommandConformance


class TestCommand(CommandConformance):
    plugin = gert_mcp
    args = ("--help",)


@BOTH
def test_a_runbook_is_validated_run_approved_by_a_person_and_resumed(project, mode):
    project.policy(GATED)
    project.document("repair", FIX, tools="change", meta="inputs: { what: { type: string, required: true } }")

    async def talk(client):
        checked = structured(await client.call_tool("gert_validate", {"path": "repair.yaml"}))
        first = structured(await client.call_tool("gert_exec", {"path": "repair.yaml", "vars": {"what": "disk"}}))
        project.approve(first["pending"][0]["ticket_id"])
        last = structured(await client.call_tool("gert_resume", {"run_id": first["run_id"]}))
        shown = structured(await client.call_tool("gert_run", {"run_id": first["run_id"]}))
        return checked, first, last, shown

    checked, first, last, shown = project.talk(talk, mode=mode)
    assert (checked["valid"], checked["name"]) == (True, "repair")
    assert first["status"] == "approval_pending"
    assert (first["pending"][0]["step_key"], first["pending"][0]["url"]) == ("fix", None)
    assert first["next"][0]["command"] == ["gert", "approve", first["pending"][0]["ticket_id"]]
    assert (last["run_id"], last["status"]) == (first["run_id"], "completed")
    assert project.path("changed").read_text() == "disk\n"
    assert shown["actor"].startswith("agent:tester@")


@BOTH
def test_what_is_wrong_is_an_error_with_what_to_do(project, mode):
    project.document("repair", FIX, tools="change", meta="inputs: { what: { type: string, required: true } }")

    async def talk(client):
        return [
            refused(await client.call_tool("gert_exec", {"path": "repair.yaml"})),
            refused(await client.call_tool("gert_exec", {"path": "missing.yaml"})),
            refused(await client.call_tool("gert_validate", {})),
            refused(await client.call_tool("gert_valdate", {"path": "x"})),
        ]

    missing, absent, empty, unknown = project.talk(talk, mode=mode)
    assert missing["kind"] == "input"
    assert "what" in missing["message"]
    assert "does not exist" in absent["message"]
    assert "path" in empty["message"]
    assert unknown["hint"] == "the nearest is gert_validate"
