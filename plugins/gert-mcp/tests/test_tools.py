"""What clients can list, call and read; runbooks as typed tools, hidden and opaque ones, changes on disk."""

from __future__ import annotations

import json
import re

import anyio
import pytest
from agents import BOTH, FIX, GATED, LEGACY, MODERN, refused, structured
from mcp.shared.exceptions import MCPError
from mcp_types import ToolListChangedNotification

NAMES = {
    *("gert_validate", "gert_exec", "gert_test", "gert_list_tools", "gert_schema", "gert_step_contract"),
    *("gert_list_runbooks", "gert_explain", "gert_runs", "gert_run", "gert_resume", "gert_cancel"),
}
WHAT = "inputs: { what: { type: string, required: true }, key: { type: string, secret: true, default: none-at-all } }"
SAY = '- { id: say, type: tool, tool: say, inputs: { text: "hello\\\\n" } }'


def served(project, name, setting):
    project.document(name, SAY, tools="say", more=f"extensions: {{ x-mcp: {setting} }}\n")


@BOTH
def test_each_tool_and_resource_of_the_design(project, mode):
    project.policy(GATED)
    project.document("repair", FIX, tools="change", meta=f"description: Repair it.\n{WHAT}")
    project.write(
        "scenarios/repair/one/scenario.yaml", 'inputs: { what: disk }\ntool_responses: { "change:do": [{}] }\n'
    )
    project.write("scenarios/repair/one/test.yaml", "expected_status: completed\n")
    project.write("broken.yaml", "apiVersion: kernel/v0\nmeta: { name: broken }\nsteps: [{ type: nothing }]\n")

    async def talk(client):
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {*NAMES, "runbook_repair"}
        tool = listed["runbook_repair"]
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint) == (
            *(False, True, False, True),
        )
        assert tool.input_schema["required"] == ["what"]
        assert "key" not in tool.input_schema["properties"]
        told = tool.meta["gert"]
        assert (told["risk"], told["effects"], told["writes"], told["path"]) == (
            *("critical", ["network"], ["service"], "repair.yaml"),
        )
        assert [one["step_id"] for one in told["approvals"]] == ["fix"]
        assert told["outcomes"] == ["resolved"]
        assert told["digest"].startswith("sha256:")

        async def call(name, **given):
            return structured(await client.call_tool(name, given))

        for name in ("gert_test", "gert/test"):
            assert (await call(name, path="repair.yaml", scenario="one"))["summary"]["passed"] == 1
        assert {one["name"] for one in (await call("gert/list-tools", dir="."))["tools"]} >= {"change", "say"}
        assert "steps" in (await call("gert_schema", type="runbook"))["properties"]
        contract = await call("gert/step-contract", path="repair.yaml", step_id="fix")
        assert (contract["contract"]["writes"], contract["decision"]["decision"]) == (["service"], "require-approval")
        assert [one["step_id"] for one in (await call("gert_explain", path="repair.yaml"))["steps"]] == ["fix", "done"]
        books = {one["path"]: one for one in (await call("gert_list_runbooks"))["runbooks"]}
        assert (books["repair.yaml"]["tool"], books["broken.yaml"]["valid"]) == ("runbook_repair", False)
        run = await call("runbook_repair", what="disk")
        assert run["status"] == "approval_pending"
        dry = await call("runbook_repair", what="disk", mode="dry-run")
        assert (dry["mode"], dry["status"]) == ("dry-run", "completed")
        assert [one["run_id"] for one in (await call("gert_runs"))["runs"]] == [run["run_id"]]
        shown = await call("gert_run", run_id=run["run_id"], after=0)
        assert (shown["events"][0]["type"], shown["status"]) == ("run_start", "approval_pending")

        async def read(uri):
            return [one.text for one in (await client.read_resource(uri)).contents]

        text, checked = await read("gert://runbooks/repair")
        assert "name: repair" in text
        assert json.loads(checked)["valid"] is True
        text, entry = await read("gert://tools/change")
        assert "apiVersion: tool/v0" in text
        assert json.loads(entry)["actions"]["do"]["risk"] == "critical"
        text, tested = await read("gert://scenarios/repair/one")
        assert "what: disk" in text
        assert json.loads(tested)["summary"]["passed"] == 1
        (lines,) = await read(f"gert://traces/{run['run_id']}")
        assert json.loads(lines.splitlines()[0])["type"] == "run_start"
        (document,) = await read(f"gert://runs/{run['run_id']}")
        assert json.loads(document)["run_id"] == run["run_id"]
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["gert://runbooks/runbook_repair"]
        assert len((await client.list_resource_templates()).resource_templates) == 5

    project.talk(talk, mode=mode)


def test_a_runbook_says_how_it_is_served_and_the_server_what_it_serves(project):
    served(project, "open", "{}")
    served(project, "closed", "{ expose: false }")
    served(project, "odd", "{ exposed: false }")
    served(project, "dark", "{ opaque: true }")
    project.json("exec", "closed.yaml")

    async def talk(client):
        names = {tool.name for tool in (await client.list_tools()).tools} - NAMES
        assert names == {"runbook_open", "runbook_dark"}
        for name in ("closed", "odd"):
            for tool in ("gert_exec", "gert_explain", "gert_test"):
                assert refused(await client.call_tool(tool, {"path": f"{name}.yaml"}))["kind"] == "not_served"
            assert refused(await client.call_tool(f"runbook_{name}", {}))["kind"] == "not_served"
            with pytest.raises(MCPError, match="no runbook"):
                await client.read_resource(f"gert://runbooks/{name}")
            assert refused(await client.call_tool("gert_validate", {"path": f"{name}.yaml"}))["kind"] == "not_served"
        none = refused(await client.call_tool("gert_test", {"path": "."}))
        assert none["message"] == "there are no scenarios here that are served to MCP clients"
        assert structured(await client.call_tool("gert_runs", {}))["runs"] == []
        (hidden,) = project.path("runs").glob("*-closed-*")
        assert refused(await client.call_tool("gert_run", {"run_id": hidden.name}))["kind"] == "run_not_found"
        dark = structured(await client.call_tool("runbook_dark", {}))
        assert dark["status"] == "completed"
        assert not {"steps", "outputs", "trace", "inputs"} & set(dark)
        shown = structured(await client.call_tool("gert_run", {"run_id": dark["run_id"], "after": 0}))
        assert not {"steps", "outputs", "trace", "events"} & set(shown)
        for uri in (f"gert://traces/{dark['run_id']}", "gert://scenarios/dark/one"):
            with pytest.raises(MCPError, match="not shown"):
                await client.read_resource(uri)
        (only,) = (await client.read_resource("gert://runbooks/dark")).contents
        assert "hello" not in only.text
        assert refused(await client.call_tool("gert_explain", {"path": "dark.yaml"}))["kind"] == "not_served"

    project.talk(talk)

    async def limited(client):
        names = {tool.name for tool in (await client.list_tools()).tools} - NAMES
        assert names == {"runbook_dark"}
        assert refused(await client.call_tool("gert_exec", {"path": "open.yaml"}))["kind"] == "not_served"
        told = refused(await client.call_tool("runbook_dark", {"mode": "real"}))
        assert (told["kind"], told["hint"]) == ("not_served", "there is dry-run, probe")
        assert structured(await client.call_tool("runbook_dark", {}))["mode"] == "dry-run"

    project.talk(limited, "--only", "dark", "--modes", "probe,dry-run", mode=MODERN)


def test_the_same_key_gives_the_same_run_also_from_another_server(project):
    project.document(
        "note", '- { id: fix, type: tool, tool: change, inputs: { what: "{{ .what }}" } }', tools="change", meta=WHAT
    )

    async def talk(client):
        given = {"what": "disk", "request_key": "k1"}
        both: list[str] = []

        async def one():
            both.append(structured(await client.call_tool("runbook_note", given))["run_id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)
        assert len(set(both)) == 1
        found = structured(await client.call_tool("runbook_note", given))
        again = structured(await client.call_tool("runbook_note", given))
        other = refused(await client.call_tool("runbook_note", {"what": "cpu", "request_key": "k1"}))
        assert "request_key" in other["message"]
        return found["run_id"], again["run_id"]

    first, second = project.talk(talk)
    assert first == second == project.talk(talk)[0]
    assert project.path("changed").read_text() == "disk\n"


@pytest.mark.parametrize(("was", "planted"), [(r'"at": ?[\d.]+', '"at":"soon"'), (r'"run_id": ?"[^"]+"', '"run_id":7')])
def test_what_no_call_has_left_under_a_key_is_unknown(project, was, planted):
    step = '- { id: fix, type: tool, tool: change, inputs: { what: "{{ .what }}" } }'
    project.document("note", step, tools="change", meta=WHAT)

    async def talk(client):
        return structured(await client.call_tool("runbook_note", {"what": "disk", "request_key": "k1"}))["run_id"]

    first = project.talk(talk)
    (file,) = [one for one in project.path("runs").rglob("*") if one.is_file() and '"asked"' in one.read_text()]
    text, count = re.subn(was, planted, file.read_text())
    assert count == 1
    file.write_text(text)
    assert project.talk(talk) != first


@BOTH
def test_clients_are_told_when_runbooks_change(project, mode):
    project.document("one", SAY, tools="say")

    async def talk(client):
        changed = anyio.Event()
        told.append(changed)

        async def listen():
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    changed.set()
                    return

        async with anyio.create_task_group() as tasks:
            await client.list_tools()
            if mode == MODERN:
                tasks.start_soon(listen)
                await anyio.sleep(0.5)
            project.document("two", SAY, tools="say")
            with anyio.fail_after(60):
                await changed.wait()
            return {tool.name for tool in (await client.list_tools()).tools} - NAMES

    told: list[anyio.Event] = []

    async def handle(message):
        if isinstance(message, ToolListChangedNotification) and told:
            told[0].set()

    more = {"message_handler": handle} if mode == LEGACY else {}
    assert project.talk(talk, mode=mode, **more) == {"runbook_one", "runbook_two"}


@BOTH
def test_progress_has_finished_steps_and_lines_of_output(project, mode):
    project.document("talk", SAY + '\n- { id: again, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    heard: list[tuple[float, str]] = []

    async def on_progress(progress, total, message):
        heard.append((progress, message))

    async def talk(client):
        return structured(await client.call_tool("runbook_talk", {}, progress_callback=on_progress))

    assert project.talk(talk, mode=mode)["status"] == "completed"
    messages = [message for _, message in heard]
    assert "say: success" in messages
    assert "say | hello" in messages
    assert [number for number, _ in heard] == sorted({number for number, _ in heard})
