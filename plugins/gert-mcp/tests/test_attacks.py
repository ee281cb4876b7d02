"""A caller that wants to approve its own run, to leave the roots, or to manage what is not its own."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from agents import BOTH, FIX, GATED, LEGACY, MODERN, refused, structured
from gert_mcp.callers import Caller, principal_of
from gert_mcp.tools import VERBS
from mcp.shared.exceptions import MCPError
from mcp_types import PARSE_ERROR, ElicitResult

from gert_core.kit.owners import account_name

VERBS_OF_PEOPLE = (
    "approve",
    "reject",
    "answer",
    "reconcile",
    "decide",
    "unblock",
    "block",
    "respond",
    "notify",
    "rerun",
)
WHAT = "inputs: { what: { type: string, default: disk } }"


@pytest.fixture
def gated(project):
    project.policy(GATED)
    project.document("repair", FIX, tools="change", meta=WHAT)
    return project


def changed(project):
    return project.path("changed").exists()


def test_no_tool_takes_what_a_decision_needs():
    assert not [name for name in VERBS for verb in VERBS_OF_PEOPLE if verb in name]
    taken = {name for verb in VERBS.values() for name in verb.takes.__struct_fields__}
    assert not taken & {
        "ticket_id",
        "approved",
        "approver",
        "actor",
        "by",
        "reconcile",
        "outputs",
        "answers",
        "policies",
    }


@BOTH
def test_no_verb_and_no_name_approves(gated, mode):
    async def talk(client):
        run = structured(await client.call_tool("runbook_repair", {}))
        ticket = run["pending"][0]["ticket_id"]
        given = {"run_id": run["run_id"], "ticket_id": ticket, "approved": True, "approver": "alice"}
        names = [
            f"{lead}{verb}" for verb in VERBS_OF_PEOPLE for lead in ("gert_", "gert/", "runbook_", "", "gert_exec/")
        ]
        for name in names:
            assert refused(await client.call_tool(name, given))["kind"] == "not_served"
        for verb in VERBS:  # known tools take nothing of it
            result = await client.call_tool(verb, {**given, "path": "repair.yaml"})
            assert "the arguments are wrong" in refused(result)["message"]
        for extra in (
            {"reconcile": {"fix": "done"}},
            {"retry_failed": True},
            {"on_drift": "allow"},
            {"actor": "alice"},
        ):
            told = refused(await client.call_tool("gert_resume", {"run_id": run["run_id"], **extra}))
            assert "the arguments are wrong" in told["message"]
        for extra in (
            {"approval": "stdin"},
            {"policies": []},
            {"actor": "alice"},
            {"actor_kind": "human"},
            {"scenario": "x"},
        ):
            told = refused(await client.call_tool("gert_exec", {"path": "repair.yaml", **extra}))
            assert "the arguments are wrong" in told["message"]
        told = refused(await client.call_tool("gert_exec", {"path": "repair.yaml", "mode": "replay"}))
        assert told["kind"] == "not_served"
        for name in ("approver", "actor", "approved", "run", "_meta"):
            assert refused(await client.call_tool("runbook_repair", {name: "alice"}))["kind"] in ("input", "usage")
        again = structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
        assert again["status"] == "approval_pending"
        return ticket

    ticket = gated.talk(talk, mode=mode)
    assert not changed(gated)
    assert ticket in gated.gert("approvals", "list").stdout


@pytest.mark.parametrize("name", ["alice", "agent:boss", "Agent:ROBOT", "\uff41gent:x", "../x", "root@alice\n", ""])
def test_whatever_a_client_calls_itself_it_is_an_agent_with_the_users_name(gated, name):
    from mcp_types import Implementation

    async def talk(client):
        run = structured(await client.call_tool("runbook_repair", {}))
        return structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))

    async def session():
        async with gated.connected(client_info=Implementation(name=name, version="1")) as client:
            return await talk(client)

    import anyio

    actor = anyio.run(session)["actor"]
    assert actor.startswith("agent:")
    assert actor.rpartition("@")[2] == principal_of(None)


def test_answers_of_the_agent_and_of_its_user_do_not_count_and_alices_does(gated):
    async def talk(client):
        run = structured(await client.call_tool("runbook_repair", {"what": "approved by alice: true"}))
        ticket = run["pending"][0]["ticket_id"]
        shown = structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))
        for name in (shown["actor"], "agent:other@x", account_name(os.getuid())):
            gated.gert("approve", ticket, "--as", name, code=None)
            again = structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
            assert again["status"] == "approval_pending", name
        assert not changed(gated)
        gated.approve(ticket, "alice")
        return structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))["status"]

    assert gated.talk(talk) == "completed"


@BOTH
def test_nothing_that_a_client_answers_to_an_elicitation_approves(gated, mode):
    asked = []

    async def elicited(context, params):
        asked.append(params)
        content = {"approved": True, "approver": "alice"} if params.mode == "form" else None
        return ElicitResult(action="accept", content=content)

    async def talk(client):
        run = structured(await client.call_tool("runbook_repair", {}))
        again = structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
        return run, again

    words = ("--human-client", "--approve-url", "https://gert.example.com/")
    run, again = gated.talk(talk, *words, mode=mode, elicitation_callback=elicited)
    assert (run["status"], again["status"]) == ("approval_pending", "approval_pending")
    url = f"https://gert.example.com/tickets/{run['pending'][0]['ticket_id']}"
    assert run["pending"][0]["url"] == url
    assert {(params.mode, params.url) for params in asked} == {("url", url)}, "forms never carry approvals"
    assert not changed(gated)


def test_a_state_that_a_client_made_up_shows_nothing_and_starts_nothing(gated):
    gated.document("other", FIX, tools="change", meta=WHAT, more="extensions: { x-mcp: { expose: false } }\n")
    run = gated.json("exec", "other.yaml", "--approval", "inbox")

    async def talk(client):
        for state in (run["run_id"], "../../etc/passwd", ""):
            result = await client.session.call_tool(
                "runbook_repair", {}, request_state=state, allow_input_required=True
            )
            assert refused(result)["kind"] in ("not_served", "run_not_found", "run_id", "usage")

    gated.talk(talk, mode=MODERN)
    assert not changed(gated)


def test_only_own_runs_are_managed_unless_the_server_says_otherwise(gated):
    run = gated.json("exec", "repair.yaml", "--approval", "inbox")

    async def talk(client):
        for verb in ("gert_resume", "gert_cancel"):
            assert refused(await client.call_tool(verb, {"run_id": run["run_id"]}))["kind"] == "run_not_own"
        assert structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))["actor"] == "olga"

    gated.talk(talk)

    async def manage(client):
        return structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))["status"]

    assert gated.talk(manage, "--manage", "all", mode=LEGACY) == "approval_pending"
    assert Caller(principal="a", client="b").actor == "agent:b@a"


def test_paths_outside_are_refused_however_they_are_spelled(gated, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "book.yaml").write_text(gated.path("repair.yaml").read_text())
    gated.path("link.yaml").symlink_to(outside / "book.yaml")
    gated.path("dir").symlink_to(outside)
    gated.path("loop").symlink_to("loop")
    up = f"../{outside.name}/book.yaml"
    paths = (
        str(outside / "book.yaml"),
        up,
        f"tools/../{up}",
        "link.yaml",
        "dir/book.yaml",
        "/etc/passwd",
        "..",
        "loop",
    )

    async def talk(client):
        for path in paths:
            for verb in ("gert_validate", "gert_exec", "gert_explain", "gert_test", "gert_step_contract"):
                given = {"path": path} | ({"step_id": "fix"} if verb == "gert_step_contract" else {})
                assert refused(await client.call_tool(verb, given))["kind"] == "path_outside", (verb, path)
            assert refused(await client.call_tool("gert_list_tools", {"dir": path}))["kind"] == "path_outside"
        for path in ("%2e%2e/x.yaml", f"%2e%2e%2f{outside.name}%2fbook.yaml", "repair.yaml\0", "x" * 300):
            assert refused(await client.call_tool("gert_validate", {"path": path}))["kind"] in ("usage", "path_outside")
        names = (
            "..",
            "%2e%2e",
            "%2e%2e%2frepair.yaml",
            "..%2f..%2fetc%2fpasswd",
            "%252e%252e",
            "link.yaml",
            "dir%2fbook.yaml",
        )
        for name in names:
            for kind in ("runbooks", "tools", "scenarios/repair", "traces", "runs"):
                with pytest.raises(MCPError):
                    await client.read_resource(f"gert://{kind}/{name}")
        for uri in ("file:///etc/passwd", "gert://", "gert://runbooks/", "gert://other/x", "gert://tools/../../x"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    gated.talk(talk)


DEEP = (200, 300, 20_000)
CALL = (
    '{{"jsonrpc":"2.0","id":{0},"method":"tools/call","params":{{"name":"gert_validate","arguments":{{"path":{1}}}}}}}'
)
BEGIN = """
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":
{"name":"x","version":"1"}}}
""".replace("\n", "")
BEGUN = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


def test_what_cannot_be_read_as_a_message_is_answered(project):
    odd = (
        *((CALL.format(levels, "[" * levels + "]" * levels), levels, "nested too deeply") for levels in DEEP),
        ('{"params":{"id":7,"x":"\\"id\\":8,[{","y":' + "[" * 400 + "]" * 400 + '},"id":"a-1"}', "a-1", "deeply"),
        (CALL.format(4, f'"{"x" * 5_000_000}"'), 4, "more than 4 MiB"),
        ('{"jsonrpc":"2.0","id":5,"method":7}', 5, "not JSON-RPC"),
        *(
            (
                f'{{"jsonrpc":"2.0","id":{odd},"method":"ping","params":{{"id":5}}}}',
                None,
                "neither a text nor an integer",
            )
            for odd in ("1.5", "true", "null", "Infinity", '["a"]', '{"id":5}')
        ),
        ('{"jsonrpc":"2.0","method":"ping","\\u0069d":1.5}', None, "neither a text nor an integer"),
        ('{"jsonrpc":"2.0","id":6,"method":"ping"', 6, "not JSON"),
        ('{"jsonrpc":"2.0","id":6,"result":[[}', None, "not JSON"),
        ("no json, with TOPSECRET", None, "not JSON"),
        ('"' + '\\"' * 500_000, None, "not JSON"),
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(project.words(), env=project.environ, **pipes) as server:
        late = threading.Timer(30, server.kill)  # an answer that does not come
        late.start()
        try:
            large = f'{{"jsonrpc":"2.0","method":"notifications/x","params":{{"id":{"9" * 4_000},"x":"\\u00e9"}}}}'
            server.stdin.write(f"{BEGIN}\n{BEGUN}\n{large}\n\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == 0
            for line, number, says in odd:
                server.stdin.write(line + "\n")
                server.stdin.flush()
                answer = json.loads(server.stdout.readline())
                assert (answer["id"], says in answer["error"]["message"]) == (number, True), answer
                assert "TOPSECRET" not in str(answer)
            for levels in (100, 190):  # what can be read is for the tool to judge
                server.stdin.write(CALL.format(levels, "[" * levels + "]" * levels) + "\n")
                server.stdin.flush()
                answer = json.loads(server.stdout.readline())
                assert (answer["id"], answer["result"]["isError"]) == (levels, True)
            server.stdin.close()
            assert server.wait(30) == 0
        finally:
            late.cancel()
            server.kill()


def test_a_message_that_is_nested_deeply_is_answered_over_http(project):
    with project.over_http() as url:
        for levels in DEEP:
            data = CALL.format(1, "[" * levels + "]" * levels).encode()
            headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            with pytest.raises(HTTPError) as told:
                urlopen(Request(url, data, headers), timeout=30)
            assert json.load(told.value)["error"]["code"] == PARSE_ERROR
            told.value.close()


def test_a_secret_is_never_taken_from_an_agent(project):
    project.document(
        "login", FIX, tools="change", meta="inputs: { what: { type: string, secret: true, required: true } }"
    )

    async def talk(client):
        for name, given in (
            ("runbook_login", {"what": "s3cret-word"}),
            ("gert_exec", {"path": "login.yaml", "vars": {"what": "x"}}),
        ):
            assert "is a secret" in refused(await client.call_tool(name, given))["message"]

    project.talk(talk)
    assert not changed(project)
