"""Over HTTP: both protocols, the checks of Host, Origin and token, many calls at once, runs that outlive a client."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request

import anyio
import httpx2
import pytest
from agents import BOTH, FIX, GATED, refused, structured
from hosting import until
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "a-token-that-is-long-enough"
HOLD = '- { id: hold, type: tool, tool: hold, inputs: { until: "{{ .file }}" } }'
SAY = '- { id: say, type: tool, tool: say, inputs: { text: "hi" } }'


def post(url, **headers):
    """The status of a plain request."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), given)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_websocket_is_answered_like_any_request(project):
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    with project.over_http(GERT_MCP_KEY=TOKEN) as url:
        host = url.removeprefix("http://").partition("/")[0]
        connection = http.client.HTTPConnection(host, timeout=20)
        connection.request("GET", "/mcp", headers={**asked, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert connection.getresponse().status == 401
        connection.close()


@BOTH
def test_a_run_waits_for_a_person_and_goes_on(project, mode):
    project.policy(GATED)
    project.document("repair", FIX, tools="change", meta="inputs: { what: { type: string, default: disk } }")

    async def talk(url):
        async with Client(url, mode=mode, cache=None) as client:
            assert "runbook_repair" in {tool.name for tool in (await client.list_tools()).tools}
            run = structured(await client.call_tool("runbook_repair", {}))
            project.approve(run["pending"][0]["ticket_id"])
            return structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))["status"]

    with project.over_http() as url:
        assert anyio.run(talk, url) == "completed"
    assert project.path("changed").read_text() == "disk\n"


def test_web_pages_and_foreign_names_are_refused_on_loopback(project):
    with project.over_http() as url:
        assert post(url) not in (401, 403, 421)
        assert post(url, Host="evil.example.com") == 421
        assert post(url, Origin="https://evil.example.com") == 403
        assert post(url, Origin="http://127.0.0.1.evil.example.com") == 403


def test_a_token_is_asked_for_and_is_the_caller(project):
    project.policy(GATED)
    project.document("repair", FIX, tools="change", meta="inputs: { what: { type: string, default: disk } }")

    async def talk(url):
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as sender,
            Client(streamable_http_client(url, http_client=sender), mode="legacy", cache=None) as client,
        ):
            run = structured(await client.call_tool("runbook_repair", {}))
            return structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))

    with project.over_http(GERT_MCP_KEY=TOKEN) as url:
        assert post(url) == 401
        assert post(url, Authorization=f"Bearer {TOKEN}x") == 401
        assert post(url, Authorization=f"Basic {TOKEN}") == 401
        run = anyio.run(talk, url)
    assert "@token-" in run["actor"]

    async def other(client):  # on stdio the caller is the user, who is not the holder of the token
        return refused(await client.call_tool("gert_cancel", {"run_id": run["run_id"]}))["kind"]

    assert project.talk(other) == "run_not_own"


@pytest.mark.parametrize("words", [(), ("--token-env", "MCP_CALLERS")])
def test_no_tool_is_given_the_token_and_nothing_shows_it(project, words):
    """Whichever variable has it; beside one that is named, the usual one is hidden too."""
    project.program("tell", "env > told; echo $MCP_CALLERS $GERT_MCP_KEY; cat given")
    project.tool("tell", '["tell"]', contract="{ effects: [] }")
    project.document("tell", "- { id: tell, type: tool, tool: tell }", tools="tell")
    project.path("given").write_text(f"it is {TOKEN}, really")
    other = {"GERT_MCP_KEY": "another-token-of-the-server"} if words else {}

    async def talk(url):
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as sender,
            Client(streamable_http_client(url, http_client=sender), mode="legacy", cache=None) as client,
        ):
            return structured(await client.call_tool("runbook_tell", {}))

    with project.over_http(*words, **{"MCP_CALLERS" if words else "GERT_MCP_KEY": TOKEN}, **other) as url:
        run = anyio.run(talk, url)
    assert run["status"] == "completed", run
    told = project.path("told").read_text()
    assert "PATH=" in told
    kept = "".join(file.read_text() for file in project.root.glob("runs/**/*") if file.is_file())
    assert "REDACTED" in kept
    for text in (told, json.dumps(run), kept):
        for secret in (TOKEN, *other.values()):
            assert secret not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--transport", "http", "--bind", "0.0.0.0:8765"), "can be reached from other machines"),
        (("--transport", "ftp"), "--transport takes stdio or http"),
        (("--bind", "here"), "--bind takes HOST:PORT"),
        (("--modes", "replay"), "--modes takes"),
        (("--root", "missing"), "is not a directory"),
        (("--approve-url", "ftp://x"), "--approve-url takes"),
        (("--token-env", "NOT_SET"), "which is not set"),
        (("--manage", "some"), "--manage takes own or all"),
        (("--frobnicate",), "--frobnicate"),
    ],
)
def test_a_wrong_command_line_is_refused(project, words, message):
    done = project.gert("mcp", *words, code=2)
    assert message in done.stderr


def test_fifty_calls_at_once_are_held(project):
    project.document("say", SAY, tools="say")
    count = 50

    async def talk(url):
        found = []
        async with Client(url, mode="legacy", cache=None, read_timeout_seconds=240) as client:

            async def one(number):
                verb, given = ("runbook_say", {}) if number % 2 else ("gert_validate", {"path": "say.yaml"})
                found.append(structured(await client.call_tool(verb, given)))

            async with anyio.create_task_group() as tasks:
                for number in range(count):
                    tasks.start_soon(one, number)
        return found

    with project.over_http() as url:
        found = anyio.run(talk, url)
    ended = [one["run_id"] for one in found if one.get("status") == "completed"]
    assert len(set(ended)) == count // 2
    assert sum(one.get("valid") is True for one in found) == count // 2


def begin(url, tool):
    """Call a tool as a client that does not wait for the answer."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    connection = http.client.HTTPConnection(url.split("/")[2])
    connection.request("POST", "/mcp", json.dumps(body), headers)
    return connection


def test_a_run_goes_on_when_its_client_goes_away(project):
    project.document("wait", HOLD, tools="hold", meta="inputs: { file: { type: string, default: go } }")

    async def look(url):
        async with Client(url, mode="legacy", cache=None) as client:
            (run,) = structured(await client.call_tool("gert_runs", {}))["runs"]
            first = run["status"]
            project.path("go").touch()
            last = structured(await client.call_tool("gert_run", {"run_id": run["run_id"], "wait": 20}))
            return first, last["status"]

    with project.over_http() as url:
        connection = begin(url, "runbook_wait")
        until(project.path("go.pid").exists)
        connection.close()
        assert anyio.run(look, url) == ("running", "completed")


def test_a_client_that_cancels_its_call_cancels_the_run(project):
    project.document("wait", HOLD, tools="hold", meta="inputs: { file: { type: string, default: go } }")

    async def talk(url):
        async with Client(url, mode="legacy", cache=None) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "runbook_wait", {})
                await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
                tasks.cancel_scope.cancel()
            with anyio.fail_after(60):
                while (run := structured(await client.call_tool("gert_runs", {}))["runs"][0])["status"] == "running":
                    await anyio.sleep(0.1)
            return run["status"]

    with project.over_http() as url:
        assert anyio.run(talk, url) == "cancelled"


def test_a_server_that_is_ended_cancels_what_runs(project):
    project.document("wait", HOLD, tools="hold", meta="inputs: { file: { type: string, default: go } }")
    with project.over_http() as url:
        connection = begin(url, "runbook_wait")
        until(project.path("go.pid").exists)
    connection.close()
    assert [run["status"] for run in project.json("runs", "list")["runs"]] == ["cancelled"]
