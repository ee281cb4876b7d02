"""What callers are told: in words of tools and arguments, without options of a shell, secrets and names of others."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from agents import BOTH, FIX, refused, structured
from gert_mcp.arguments import ListRuns, OfKind, schema_of
from mcp.shared.exceptions import MCPError

from gert_core.api import RunStatus
from gert_core.documents.schema import KINDS

INPUTS = (
    "inputs: { what: { type: string, required: true, max: 5 }, count: { type: int, default: 1 }, "
    "key: { type: string, secret: true, default: none-at-all } }"
)


@BOTH
def test_wrong_inputs_are_told_as_arguments(project, mode):
    project.document("repair", FIX, tools="change", meta=INPUTS)

    async def talk(client):
        given = (
            {},
            {"what": None},
            {"other": "x", "what": "x"},
            {"what": "x", "count": "many"},
            {"what": "much too long"},
        )
        found = []
        for one in given:
            for name, arguments in (("runbook_repair", one), ("gert_exec", {"path": "repair.yaml", "vars": one})):
                error = refused(await client.call_tool(name, arguments))
                text = json.dumps(error)
                for word in ("--var", "--input", "cli", "'key'", "key,", str(project.root)):
                    assert word not in text, (arguments, text)
                assert error["kind"] == "input"
            found.append(error)
        return found

    missing, null, unknown, wrong, long = project.talk(talk, mode=mode)
    assert missing["message"] == null["message"] == "an input is missing: 'what' (string)"
    assert (unknown["message"], unknown["hint"]) == ("the runbook takes no input 'other'", "it takes what, count")
    assert "'count' must be int" in wrong["message"]
    assert "'what' is not accepted" in long["message"]


def test_unknown_runs_and_tools_are_told_with_what_to_do(project):
    async def talk(client):
        absent = refused(await client.call_tool("gert_run", {"run_id": "20260101T000000Z-x-00000000"}))
        assert absent["hint"] == "gert_runs lists the runs"
        for verb in ("approve", "reject", "answer", "reconcile"):
            for lead in ("gert_", "gert/", "", "runbook_"):
                hint = refused(await client.call_tool(f"{lead}{verb}", {}))["hint"]
                assert hint.startswith("people do that, with gert "), hint
        assert refused(await client.call_tool("gert_frobnicate", {}))["hint"] == "tools/list has all of them"
        assert refused(await client.call_tool("gert_resum", {}))["hint"] == "the nearest is gert_resume"
        assert "'later'" in refused(await client.call_tool("gert_runs", {"status": "later"}))["message"]

    project.talk(talk)
    assert set(schema_of(OfKind)["properties"]["type"]["enum"]) == set(KINDS)
    statuses = json.dumps(schema_of(ListRuns)["properties"]["status"])
    assert all(f'"{status}"' in statuses for status in RunStatus)


def test_the_file_of_a_tool_that_is_a_link_to_outside_is_not_read(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "far.tool.yaml"
    outside.write_text(project.path("tools/say.tool.yaml").read_text().replace("name: say", "name: far"))
    project.path("tools/far.tool.yaml").symlink_to(outside)
    project.document("far", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say")

    async def talk(client):
        assert "name: say" in (await client.read_resource("gert://tools/say")).contents[0].text
        with pytest.raises(MCPError) as raised:
            await client.read_resource("gert://tools/far")
        return raised.value.error.data["error"]["kind"]

    assert project.talk(talk) == "path_outside"


def test_the_file_of_a_scenario_that_is_a_link_to_outside_is_not_read(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "far.yaml"
    outside.write_text("password: TOPSECRET\n")
    project.document("repair", FIX, tools="change")
    for name in ("near", "far", "round"):
        project.path(f"scenarios/repair/{name}").mkdir(parents=True)
    project.path("scenarios/repair/near/scenario.yaml").write_text("{}\n")
    project.path("scenarios/repair/far/scenario.yaml").symlink_to(outside)
    project.path("scenarios/repair/round/scenario.yaml").symlink_to("scenario.yaml")

    async def talk(client):
        assert (await client.read_resource("gert://scenarios/repair/near")).contents[0].text == "{}\n"
        for name in ("far", "round"):
            with pytest.raises(MCPError) as raised:
                await client.read_resource(f"gert://scenarios/repair/{name}")
            assert "TOPSECRET" not in str(raised.value.error)
        with pytest.raises(MCPError) as raised:
            await client.read_resource("gert://scenarios/repair/far")
        return raised.value.error.data["error"]["kind"]

    assert project.talk(talk) == "path_outside"


@pytest.mark.parametrize(
    "link", ["scenario.yaml", "test.yaml", "trace.jsonl", "", ".."], ids=lambda link: link or "directory"
)
def test_scenarios_behind_links_to_outside_are_not_replayed(project, tmp_path_factory, link):
    far = tmp_path_factory.mktemp("outside")
    project.document("repair", FIX, tools="change", meta="inputs: { what: { type: string } }")
    place = project.path("scenarios/repair/link")
    for folder in (far / "link", place):
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text('inputs: { what: TOPSECRET }\ntool_responses: { "change:do": [{}] }\n')
        (folder / "test.yaml").write_text("expected_outputs: { fix.TOPSECRET: TOPSECRET }\n")
        (folder / "trace.jsonl").write_text("")
    replaced = (place / link).resolve()
    shutil.rmtree(replaced) if replaced.is_dir() else replaced.unlink()
    replaced.symlink_to(far if link == ".." else far / "link" / link)
    project.document("plain", FIX, tools="change", meta="inputs: { what: { type: string } }")
    project.write("scenarios/plain/one/scenario.yaml", 'inputs: { what: x }\ntool_responses: { "change:do": [{}] }\n')
    project.write("scenarios/plain/one/test.yaml", "expected_status: completed\n")

    async def talk(client):
        for given in (
            {"path": "repair.yaml"},
            {"path": "repair.yaml", "scenario": "link"},
            {"path": "."},
            {"path": "scenarios/repair"},
            {"path": "scenarios/repair/link"},
        ):
            error = refused(await client.call_tool("gert_test", given))
            assert (error["kind"], "TOPSECRET" in json.dumps(error)) == ("path_outside", False), given
        with pytest.raises(MCPError) as raised:
            await client.read_resource("gert://scenarios/repair/link")
        assert raised.value.error.data["error"]["kind"] == "path_outside"
        for given in ({"path": "plain.yaml"}, {"path": "scenarios/plain/one"}, {"path": ".", "scenario": "one"}):
            assert structured(await client.call_tool("gert_test", given))["summary"]["passed"] == 1, given

    project.talk(talk)


def test_a_tool_without_a_contract_is_said_to_touch_anything(project):
    project.program("any", "true")
    project.tool("any", '["any"]', contract="{}")
    project.document("loose", "- { id: any, type: tool, tool: any }", tools="any")
    project.document("tight", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say")

    async def talk(client):
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = project.talk(talk)
    loose, tight = tools["runbook_loose"], tools["runbook_tight"]
    assert (loose.annotations.open_world_hint, loose.annotations.read_only_hint) == (True, False)
    assert (loose.meta["gert"]["undeclared"], tight.meta["gert"]["undeclared"]) == (True, False)


def test_tests_of_a_directory_leave_out_what_is_not_served(project):
    for name, setting in (("open", "{}"), ("closed", "{ expose: false }"), ("dark", "{ opaque: true }")):
        more = f"extensions: {{ x-mcp: {setting} }}\n"
        project.document(
            name, '- { id: fix, type: tool, tool: change, inputs: { what: "x" } }', tools="change", more=more
        )
        project.write(f"scenarios/{name}/one/scenario.yaml", 'inputs: {}\ntool_responses: { "change:do": [{}] }\n')
        project.write(f"scenarios/{name}/one/test.yaml", "expected_status: completed\n")

    async def talk(client):
        for path in ("dark.yaml", "scenarios/dark", "scenarios/dark/one", "scenarios/closed/one"):
            assert refused(await client.call_tool("gert_test", {"path": path}))["kind"] == "not_served", path
        return structured(await client.call_tool("gert_test", {"path": "."}))

    found = project.talk(talk)
    assert found["summary"]["passed"] == 1
    assert "closed" not in json.dumps(found)
    assert "dark" not in json.dumps(found)


def test_a_name_that_only_does_not_find_is_said_and_a_short_token_stops_no_stdio_server(project):
    project.document("one", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    words = project.words("--only", "one", "nothing-like-it")
    environ = project.environ | {"GERT_MCP_KEY": "short"}
    ended = subprocess.run(words, env=environ, input="", capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    told = "gert mcp: --only nothing-like-it: no runbook below the roots has this name or path\n"
    assert ended.stderr == told


def test_much_output_that_cannot_be_shown_does_not_hold_the_call_up(project):
    project.program("flood", "head -c 3000000 /dev/zero")
    project.tool("flood", '["flood"]', contract="{ effects: [process] }")
    project.document("flood", "- { id: flood, type: tool, tool: flood }", tools="flood")

    async def heard(progress, total, message):
        assert len(message) <= 200

    async def talk(client):
        return structured(await client.call_tool("runbook_flood", {}, progress_callback=heard))

    assert project.talk(talk)["status"] == "completed"
