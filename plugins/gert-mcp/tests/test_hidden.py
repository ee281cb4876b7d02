"""What is not served and what is opaque: nothing of it is told, by no tool, result, progress, form or resource."""

from __future__ import annotations

import json

import anyio
import pytest
from agents import BOTH, GATED, LEGACY, MODERN, refused, structured
from hosting import until
from mcp_types import ElicitResult

DARK = "extensions: { x-mcp: { opaque: true } }\n"
CLOSED = "extensions: { x-mcp: { expose: false } }\n"
TALK = """
- { id: inner_step, type: tool, tool: say, inputs: { text: "inner_words\\\\n" } }
- { id: inner_hold, type: tool, tool: hold, inputs: { until: "go" } }
"""
ASK = """
- id: inner_step
  type: manual
  instructions: inner_words
  required_evidence: [{ kind: text, name: inner_name, description: inner_words }]
- id: inner_next
  type: manual
  instructions: inner_words
  required_evidence: [{ kind: text, name: inner_name, description: inner_words }]
"""
INNER_FIX = '- { id: inner_step, type: tool, tool: change, inputs: { what: "inner_words" } }'
INNER_FAIL = '- { id: inner_step, type: assert, assert: [{ type: equals, value: "inner_words", expected: "x" }] }'


def silent(document):
    assert "inner_" not in json.dumps(document), document


def test_of_two_settings_the_stricter_counts(project):
    step = '- { id: say, type: tool, tool: say, inputs: { text: "x" } }'
    for name, above, below in (
        ("closed", "{ expose: false }", "{ opaque: true }"),
        ("shut", "{ opaque: true }", "{ expose: false }"),
        ("odd", "{ exposed: false }", "{ expose: true }"),
        ("dark", "{ opaque: true }", "{ opaque: false }"),
    ):
        meta, more = f"extensions: {{ x-mcp: {below} }}", f"extensions: {{ x-mcp: {above} }}\n"
        project.document(name, step, tools="say", meta=meta, more=more)

    async def talk(client):
        named = {tool.name for tool in (await client.list_tools()).tools if tool.name.startswith("runbook_")}
        return named, (await client.read_resource("gert://runbooks/runbook_dark")).contents[0].text

    named, dark = project.talk(talk)
    assert named == {"runbook_dark"}
    assert "its steps are not shown" in dark


@pytest.mark.parametrize(("above", "below"), [("true", "false"), ("false", "true")])
def test_of_two_settings_a_run_keeps_the_stricter_without_its_runbook(project, above, below):
    step = '- { id: inner_step, type: tool, tool: say, inputs: { text: "inner_words" } }'
    meta, more = f"extensions: {{ x-mcp: {{ opaque: {below} }} }}", f"extensions: {{ x-mcp: {{ opaque: {above} }} }}\n"
    project.document("dark", step, tools="say", meta=meta, more=more)

    async def talk(client):
        run = structured(await client.call_tool("runbook_dark", {}))
        project.document("dark", step, tools="say")
        return structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))

    silent(project.talk(talk))


@BOTH
def test_an_opaque_run_tells_no_step_and_no_output_as_progress(project, mode):
    project.document("dark", TALK, tools="say, hold", more=DARK)
    project.document("light", TALK.replace("go", "went"), tools="say, hold")
    heard: list[str] = []

    async def on_progress(progress, total, message):
        heard.append(message)

    async def talk(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.call_tool("runbook_dark", {}, progress_callback=on_progress))
            await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
            (run,) = structured(await client.call_tool("gert_runs", {}))["runs"]
            silent(run)
            given = {"run_id": run["run_id"], "wait": 1, "after": 0}
            silent(structured(await client.call_tool("gert_run", given, progress_callback=on_progress)))
            project.path("go").touch()
            given = {"run_id": run["run_id"], "wait": 20}
            last = structured(await client.call_tool("gert_run", given, progress_callback=on_progress))
        silent(last)
        assert last["status"] == "completed"
        assert heard == []
        project.path("went").touch()
        await client.call_tool("runbook_light", {}, progress_callback=on_progress)
        assert any("inner_words" in one for one in heard), "the same steps are told where nothing hides them"

    project.talk(talk, mode=mode)


@BOTH
def test_what_an_opaque_run_waits_for_names_no_step(project, mode):
    project.policy(GATED)
    project.document("dark", INNER_FIX, tools="change", more=DARK)
    project.document("asks", ASK, more=DARK)
    project.document("fails", INNER_FAIL, more=DARK)
    asked = []

    async def elicited(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept")

    async def talk(client):
        run = structured(await client.call_tool("runbook_dark", {}))
        again = structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
        shown = structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))
        read = await client.read_resource(f"gert://runs/{run['run_id']}")
        question = structured(await client.call_tool("runbook_asks", {}))
        failed = await client.call_tool("runbook_fails", {})
        assert failed.is_error
        for one in (run, again, shown, question, failed.structured_content):
            silent(one)
        silent([one.text for one in read.contents])
        ticket = run["pending"][0]["ticket_id"]
        assert run["pending"][0]["url"] == f"https://gert.example.com/tickets/{ticket}"
        assert shown["next"][0]["command"] == ["gert", "approve", ticket]
        assert question["status"] == "answer_pending"
        project.approve(ticket)
        return structured(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))

    words = ("--human-client", "--approve-url", "https://gert.example.com/")
    done = project.talk(talk, *words, mode=mode, elicitation_callback=elicited)
    assert done["status"] == "completed"
    silent(done)
    assert asked
    silent(asked)


def test_an_answered_form_of_an_opaque_run_shows_nothing(project):
    """A client makes up the call that follows a form, with an answer to a question that it guesses."""
    project.document("asks", ASK, more=DARK)

    async def talk(client):
        run = structured(await client.call_tool("runbook_asks", {}))
        given = ElicitResult(action="accept", content={"inner_name": "x"})
        result = await client.session.call_tool(
            "runbook_asks",
            {},
            request_state=run["run_id"],
            input_responses={"answers": given},
            allow_input_required=True,
        )
        silent(result.model_dump(mode="json"))
        return structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))["status"]

    async def elicited(context, params):
        raise AssertionError("nothing is asked")

    assert project.talk(talk, "--human-client", mode=MODERN, elicitation_callback=elicited) == "answer_pending"


def test_an_answered_form_gives_the_address_of_the_ticket_that_follows(project):
    project.policy(GATED)
    project.document(
        "asks",
        "- { id: look, type: manual, instructions: Look., required_evidence: [{ kind: text, name: notes }] }\n"
        '- { id: fix, type: tool, tool: change, inputs: { what: "x" } }',
        tools="change",
    )

    async def elicited(context, params):
        return ElicitResult(action="accept", content={"notes": "fine"} if params.mode == "form" else None)

    async def talk(client):
        return structured(await client.call_tool("runbook_asks", {}))

    words = ("--human-client", "--approve-url", "https://gert.example.com")
    for mode in (LEGACY, MODERN):
        run = project.talk(talk, *words, mode=mode, elicitation_callback=elicited)
        assert run["status"] == "approval_pending"
        ticket = run["pending"][0]["ticket_id"]
        assert run["pending"][0]["url"] == f"https://gert.example.com/tickets/{ticket}"
        assert "gert_resume" in run["message"]


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (("--modes", "dry-run"), "not_served", "the run is real, and this server serves dry-run only"),
        (("--only", "other"), "run_not_found", "there is no run"),
    ],
)
def test_a_server_that_does_not_serve_a_run_does_not_resume_it(project, words, kind, told):
    project.policy(GATED)
    project.document("repair", INNER_FIX, tools="change")
    project.document("other", INNER_FIX, tools="change")

    async def begin(client):
        return structured(await client.call_tool("runbook_repair", {}))

    async def go_on(client):
        error = refused(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
        assert error["kind"] == kind
        assert told in error["message"]

    run = project.talk(begin)
    project.approve(run["pending"][0]["ticket_id"])
    project.talk(go_on, *words)
    project.talk(go_on, *words, "--manage", "all", mode=MODERN)
    assert not project.path("changed").exists()


def test_a_runbook_that_was_closed_after_its_run_began_is_not_resumed_and_not_shown(project):
    project.policy(GATED)
    project.document("repair", INNER_FIX, tools="change")

    async def talk(client):
        run = structured(await client.call_tool("runbook_repair", {}))
        project.approve(run["pending"][0]["ticket_id"])
        project.document("repair", INNER_FIX, tools="change", more=CLOSED)
        for verb in ("gert_resume", "gert_cancel", "gert_run"):
            assert refused(await client.call_tool(verb, {"run_id": run["run_id"]}))["kind"] == "run_not_found"
        assert structured(await client.call_tool("gert_runs", {}))["runs"] == []
        project.path("repair.yaml").unlink()
        return structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))["status"]

    assert project.talk(talk) == "approval_pending", "the caller still sees its run of a runbook that is gone"
    assert not project.path("changed").exists()


@BOTH
def test_a_look_at_a_run_that_is_cancelled_does_not_cancel_the_run(project, mode):
    project.document("wait", '- { id: hold, type: tool, tool: hold, inputs: { until: "go" } }', tools="hold")

    async def talk(client):
        found = {}

        async def begin():
            found["end"] = structured(await client.call_tool("runbook_wait", {}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin)
            await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
            (run,) = structured(await client.call_tool("gert_runs", {}))["runs"]
            for _ in range(2):
                with anyio.move_on_after(0.5):
                    await client.call_tool("gert_run", {"run_id": run["run_id"], "wait": 20})
            await anyio.sleep(0.5)
            now = structured(await client.call_tool("gert_run", {"run_id": run["run_id"]}))
            assert now["status"] == "running"
            project.path("go").touch()
        return found["end"]["status"]

    assert project.talk(talk, mode=mode) == "completed"
