"""What is not served stays so: under an empty name, and in lists of runs."""

from __future__ import annotations

import json

import pytest
from agents import BOTH, refused, structured
from mcp.shared.exceptions import MCPError

DARK = "extensions: { x-mcp: { opaque: true } }\n"
CLOSED = "extensions: { x-mcp: { expose: false } }\n"
INNER = '- { id: inner_step, type: tool, tool: change, inputs: { what: "inner_words" } }'
UNKNOWN = '- { id: inner_step, type: tool, tool: inner_tool, inputs: { what: "inner_words" } }'


def silent(document):
    assert "inner_" not in json.dumps(document), document


@BOTH
def test_no_name_that_is_none_runs_what_is_not_served(project, mode):
    project.document("closed", INNER, tools="change", more=CLOSED)
    project.document("dark", UNKNOWN, tools="inner_tool", more=DARK)
    project.document("open", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say")

    async def talk(client):
        for name in ("", " ", "\u200b", "runbook_", "RUNBOOK_CLOSED", "None", "null"):
            error = refused(await client.call_tool(name, {}))
            assert error["message"] == f"there is no tool {name!a}"
            silent(error)
        for uri in ("runbooks/%20", "runbooks/", "scenarios//x", "scenarios/%20/x", "traces/%20", "runs/%20"):
            with pytest.raises(MCPError):
                await client.read_resource(f"gert://{uri}")
        for verb in ("gert_run", "gert_resume", "gert_cancel"):
            for run_id in ("", " ", "%"):
                refused(await client.call_tool(verb, {"run_id": run_id}))
        assert structured(await client.call_tool("gert_runs", {}))["runs"] == []

    project.talk(talk, mode=mode)
    project.talk(talk, "--only", "open", mode=mode)
    assert not project.path("changed").exists()
    assert project.json("runs", "list")["runs"] == []


@BOTH
def test_runs_that_are_not_shown_are_neither_counted_nor_named(project, mode):
    say = '- { id: say, type: tool, tool: say, inputs: { text: "x" } }'
    project.document("closed", say, tools="say", more=CLOSED)
    project.document("open", say, tools="say")
    hidden = [project.json("exec", "closed.yaml")["run_id"] for _ in range(2)]
    shown = project.json("exec", "open.yaml")["run_id"]
    hidden.append(project.json("exec", "closed.yaml")["run_id"])
    absent = shown[:-1] + ("0" if shown[-1] != "0" else "1")

    async def one(client, run_id):
        found = [
            await client.call_tool(verb, {"run_id": run_id}) for verb in ("gert_run", "gert_resume", "gert_cancel")
        ]
        answers = [result.structured_content for result in found]
        for kind in ("traces", "runs"):
            try:
                answers.append([item.text for item in (await client.read_resource(f"gert://{kind}/{run_id}")).contents])
            except MCPError as error:
                answers.append(error.error.data)
        return json.dumps(answers)

    async def talk(client):
        first = await one(client, absent)
        for run_id in hidden:
            assert (await one(client, run_id)).replace(run_id, absent) == first
        for run_id in ("20", shown[:10], "latest"):
            assert "closed" not in await one(client, run_id)
            assert structured(await client.call_tool("gert_run", {"run_id": run_id}))["run_id"] == shown
        second = structured(await client.call_tool("runbook_open", {}))["run_id"]
        error = refused(await client.call_tool("gert_run", {"run_id": "20"}))
        assert error["kind"] == "run_id"
        assert {shown, second} == set(error["message"].rpartition(": ")[2].split(", "))
        assert structured(await client.call_tool("gert_run", {"run_id": "latest"}))["run_id"] == second

    project.talk(talk, mode=mode)
