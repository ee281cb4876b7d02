"""What is not served stays so: under an empty name, with an error in it, in errors about it, and in lists of runs."""

from __future__ import annotations

import json

import pytest
from agents import BOTH, GATED, refused, structured
from mcp.shared.exceptions import MCPError

DARK = "extensions: { x-mcp: { opaque: true } }\n"
CLOSED = "extensions: { x-mcp: { expose: false } }\n"
INNER = '- { id: inner_step, type: tool, tool: change, inputs: { what: "inner_words" } }'
TAKEN = '\n- { id: inner_step, type: tool, tool: change, inputs: { what: "inner_words" } }'
UNKNOWN = '- { id: inner_step, type: tool, tool: inner_tool, inputs: { what: "inner_words" } }'
VARIABLE = '- { id: inner_step, type: tool, tool: change, inputs: { what: "inner_words {{ .inner_name }}" } }'
NOT_YAML = "inner_words: [\n"
READS = ("gert_validate", "gert_explain", "gert_exec", "gert_test")


def silent(document):
    assert "inner_" not in json.dumps(document), document


async def told(client, name):
    """Everything that is said about a runbook, by whatever names it."""
    found = [structured(await client.call_tool("gert_list_runbooks", {}))]
    for verb in READS:
        result = await client.call_tool(verb, {"path": f"{name}.yaml"})
        found.append(result.structured_content)
    contract = await client.call_tool("gert_step_contract", {"path": f"{name}.yaml", "step_id": "x"})
    found.append(contract.structured_content)
    for uri in (f"runbooks/{name}", f"runbooks/{name}.yaml", f"runbooks/runbook_{name}", f"scenarios/{name}/one"):
        try:
            read = await client.read_resource(f"gert://{uri}")
            found.append([one.text for one in read.contents])
        except MCPError as error:
            found.append(error.error.data)
    return found


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


@pytest.mark.parametrize("fault", ["schema", "tool", "variable", "policy", "project"])
def test_a_runbook_with_an_error_is_served_as_it_says(project, fault):
    steps = {"schema": "- { id: inner_step, type: inner_type }", "tool": UNKNOWN, "variable": VARIABLE}.get(
        fault, INNER
    )
    tools = "inner_tool" if fault == "tool" else "change"
    project.document("dark", steps, tools=tools, more=DARK)
    project.document("closed", steps, tools=tools, more=CLOSED)
    project.document("open", steps, tools=tools)
    if fault == "policy":
        project.policy("apiVersion: policy/v0\nrules: [{ odd: [1] }]\n")

    async def talk(client):
        if fault == "project":  # a server does not begin with it
            project.write("gert-project.yaml", "name: lab\nodd: 7\n")
        for name in ("dark", "closed"):
            found = await told(client, name)
            silent([one for one in found if not isinstance(one, dict) or "runbooks" not in one])
            books = {one["path"]: one for one in found[0]["runbooks"]}
            assert "closed.yaml" not in books
            silent(books.get("dark.yaml"))
            assert books["open.yaml"]["valid"] is False
        assert refused(await client.call_tool("gert_validate", {"path": "closed.yaml"}))
        if fault in ("schema", "tool", "variable"):
            checked = structured(await client.call_tool("gert_validate", {"path": "dark.yaml"}))
            assert (checked["valid"], checked["kind"], checked["name"]) == (False, "runbook", "dark")
            assert {"rule", "severity", "message"} == set(checked["diagnostics"][0])
            assert "inner_" in json.dumps(await told(client, "open"))

    project.talk(talk)


def test_what_cannot_be_read_is_not_served(project):
    """Where the text has nothing of the setting in it, it cannot have said it: agents may mend such a runbook."""
    for name, more in (
        ("closed", CLOSED + NOT_YAML),
        ("dark", DARK + NOT_YAML),
        ("spelled", 'extensions: { "x-\\x6dcp": { expose: false } }\n' + NOT_YAML),
        ("twice", CLOSED + "extensions: {}\n"),
        ("other", "extensions: {}\n" + CLOSED),
        ("listed", "extensions: [x-mcp]\n"),
        ("second", "---\n" + CLOSED),
        ("utf", NOT_YAML + "# \udcff\n"),
        ("open", NOT_YAML),
    ):
        project.document(name, INNER, tools="change", more="")
        path = project.path(f"{name}.yaml")
        path.write_bytes((path.read_text() + more).encode(errors="surrogateescape"))

    async def talk(client):
        (listed,) = structured(await client.call_tool("gert_list_runbooks", {}))["runbooks"]
        assert listed["path"] == "open.yaml"
        for name in ("closed", "dark", "spelled", "twice", "other", "listed", "second", "utf"):
            silent(await told_but_list(client, name))
            error = refused(await client.call_tool("gert_validate", {"path": f"{name}.yaml"}))
            assert error["kind"] == "not_served"
            assert "it is not known whether it is served" in error["message"]
        assert structured(await client.call_tool("gert_validate", {"path": "open.yaml"}))["valid"] is False

    async def told_but_list(client, name):
        return (await told(client, name))[1:]

    project.talk(talk)


def test_a_run_of_a_runbook_that_cannot_be_read_any_more_is_not_shown(project):
    project.document("say", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say", more=DARK)

    async def talk(client):
        run = structured(await client.call_tool("runbook_say", {}))["run_id"]
        path = project.path("say.yaml")
        path.write_text(path.read_text() + NOT_YAML)
        assert refused(await client.call_tool("gert_run", {"run_id": run}))["kind"] == "run_not_found"
        assert structured(await client.call_tool("gert_runs", {}))["runs"] == []

    project.talk(talk)


def test_why_an_opaque_runbook_cannot_be_run_is_not_told(project):
    for name, program in (("needs", "inner_program"), ("gone", "inner_program")):
        project.tool(name, f'["{program}"]', contract="{ effects: [network] }")
    constants = 'inputs: { n: { type: string, default: "1" } }\n  constants: { inner_c: "{{ int .n }}" }'
    needs = "- { id: inner_step, type: tool, tool: needs }"
    project.document("needs", needs, tools="needs", more=DARK)
    project.document("open", needs, tools="needs")
    project.document(
        "constant", INNER.replace("inner_words", "{{ .inner_c }}"), tools="change", meta=constants, more=DARK
    )
    project.document(
        "warns",
        INNER
        + "\n- { type: end, outcome: { category: resolved, code: done } }\n"
        + INNER.replace("inner_step", "inner_after"),
        tools="change",
        more=DARK,
    )

    async def talk(client):
        for verb, given in (("runbook_needs", {}), ("gert_exec", {"path": "needs.yaml"})):
            error = refused(await client.call_tool(verb, given))
            silent(error)
            assert (error["kind"], error["diagnostics"]) == ("preflight", [])
            assert "the runbook is opaque" in error["message"]
            assert "--" not in str(error["hint"])
        seen = refused(await client.call_tool("runbook_open", {}))
        assert "inner_program" in json.dumps(seen)
        bad = await client.call_tool("runbook_constant", {"n": "zz"})
        assert bad.is_error
        silent(bad.structured_content)
        checked = structured(await client.call_tool("gert_validate", {"path": "warns.yaml"}))
        silent(checked)
        assert checked["diagnostics"], "it has findings, of which the rules are told"

    project.talk(talk)


def test_the_findings_of_a_scenario_are_told_where_its_runbook_is_shown(project):
    for name, more in (("dark", DARK), ("closed", CLOSED), ("open", "")):
        project.document(name, INNER, tools="change", more=more)
        for file in ("scenario", "test"):
            project.write(f"scenarios/{name}/one/{file}.yaml", "inner_field: 1\n")
    project.write("elsewhere/scenario.yaml", "runbook: ../closed.yaml\ninner_field: 1\n")
    project.write("alone/scenario.yaml", "inner_field: 1\n")

    async def talk(client):
        for path in ("scenarios/dark/one/scenario", "scenarios/closed/one/test", "elsewhere/scenario"):
            error = refused(await client.call_tool("gert_validate", {"path": f"{path}.yaml"}))
            assert error["kind"] == "not_served"
            silent(error)
        for path in ("scenarios/open/one/scenario", "scenarios/open/one/test", "alone/scenario"):
            checked = structured(await client.call_tool("gert_validate", {"path": f"{path}.yaml"}))
            assert "inner_field" in json.dumps(checked["diagnostics"])

    project.talk(talk)


def test_why_an_opaque_run_cannot_be_resumed_is_not_told(project):
    project.policy(
        "apiVersion: policy/v0\nmeta: { name: lab }\nrules: [{ writes: [service], action: require-approval }]\n"
    )
    project.document("dark", INNER, tools="change", more=DARK)

    async def talk(client):
        run = structured(await client.call_tool("runbook_dark", {}))
        project.approve(run["pending"][0]["ticket_id"])
        project.document(
            "dark",
            '- { id: inner_new, type: tool, tool: say, inputs: { text: "x" } }' + TAKEN,
            tools="change, say",
            more=DARK,
        )
        result = await client.call_tool("gert_resume", {"run_id": run["run_id"]})
        silent(result.structured_content)
        return refused(result)

    error = project.talk(talk)
    assert "--on-drift" not in json.dumps(error)
    assert not project.path("changed").exists()


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


def test_refusals_name_no_directory_of_the_server(project):
    project.document("open", INNER, tools="change")
    project.policy("apiVersion: policy/v0\nrules: [{ odd: [1] }]\n")

    async def talk(client):
        found = [refused(await client.call_tool("gert_exec", {"path": "open.yaml"}))]
        found.append(refused(await client.call_tool("gert_validate", {"path": "/elsewhere/x.yaml"})))
        found.append(refused(await client.call_tool("gert_validate", {"path": "none.yaml"})))
        for run_id in ("20260101T000000Z-x-00000000", "2026"):
            found.append(refused(await client.call_tool("gert_run", {"run_id": run_id})))
        (book,) = structured(await client.call_tool("gert_list_runbooks", {}))["runbooks"]
        found.append(book["problem"])
        assert "policy.yaml" in found[0]["message"]
        assert str(project.root) not in json.dumps(found)

    project.talk(talk)


def test_hints_name_no_option_of_a_command(project):
    project.tool("needs", '["no-such-program"]', contract="{ effects: [network] }")
    project.document("needs", "- { id: needs, type: tool, tool: needs }", tools="needs")
    project.document("say", '- { id: say, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    project.policy(GATED)
    project.document("repair", INNER, tools="change")
    own = project.json("exec", "say.yaml")["run_id"]

    async def talk(client):
        needs = refused(await client.call_tool("runbook_needs", {}))
        assert needs["hint"] == "provide what is missing"
        run = structured(await client.call_tool("runbook_repair", {}))
        project.approve(run["pending"][0]["ticket_id"])
        project.document("repair", INNER + TAKEN.replace("inner_step", "inner_next"), tools="change")
        drift = refused(await client.call_tool("gert_resume", {"run_id": run["run_id"]}))
        others = refused(await client.call_tool("gert_resume", {"run_id": own}))
        people = refused(await client.call_tool("gert_reconcile", {}))
        for error in (needs, drift, others, people):
            assert " --" not in f" {error['hint']}", error
            assert str(project.root) not in json.dumps(error), error

    project.talk(talk)
