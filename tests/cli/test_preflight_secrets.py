"""Before a real run: required secrets that are not set are named with everything else that is missing."""

from __future__ import annotations

import pytest
from shell import Shell

READING = "{ effects: [network], writes: [] }"
LOOK = "{ id: look, type: tool, tool: look }"
ASK = "{ id: ask, type: tool, tool: ask }"
SECRET = ("secret_missing", "step ask: tool `ask` requires secret `ASK_TOKEN`, which is not set")


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "touch looked\n")
    made.tool("look", "[look]", contract=READING)
    made.tool("ask", "[look]", contract=READING)
    path = made.root / "tools" / "ask.tool.yaml"
    path.write_text(path.read_text() + "secrets: [{ env: ASK_TOKEN }, { env: OPTIONAL, required: false }]\n")
    return made


def book(shell, *steps, meta=""):
    shell.book("\n".join(f"- {step}" for step in steps), tools="look, ask", meta=meta)


def refused(shell, *args, **environ):
    """Run it and return the findings; nothing was executed and nothing is left on disk."""
    before = sorted(path.name for path in shell.root.iterdir())
    error = shell.json("exec", "book.yaml", *args, code=2, **environ)["error"]
    assert error["kind"] == "preflight"
    assert sorted(path.name for path in shell.root.iterdir()) == before
    return [(finding["rule"], finding["message"]) for finding in error["diagnostics"]]


def test_a_required_secret_of_a_tool(shell):
    """Also behind a step that changes things: no step can set a variable of gert."""
    shell.tool("look", "[look]", contract="{ effects: [network], writes: [host] }")
    book(shell, LOOK, ASK)
    assert refused(shell) == [SECRET]
    assert refused(shell, ASK_TOKEN="") == [SECRET]
    (found,) = shell.json("exec", "book.yaml", code=2)["error"]["diagnostics"]
    assert found["file"].endswith("ask.tool.yaml")
    assert (found["line"], found["hint"]) == (8, "set it in the environment of gert")
    assert shell.json("exec", "book.yaml", ASK_TOKEN="long-enough")["status"] == "completed"


def test_a_step_that_needs_no_secret_runs_without_it(shell):
    book(shell, LOOK)
    done = shell.gert("exec", "book.yaml")
    assert "ASK_TOKEN" not in done.stderr


def test_a_required_secret_of_the_runbook_is_named_once(shell):
    book(shell, LOOK, LOOK.replace("id: look", "id: again"), meta="secrets: [{ env: NEEDED }, { env: OTHER }]")
    message = "step look: the runbook requires secrets `NEEDED` and `OTHER`, which are not set"
    assert refused(shell) == [("secret_missing", message)]
    (found,) = shell.json("exec", "book.yaml", code=2)["error"]["diagnostics"]
    assert (found["file"].endswith("book.yaml"), found["line"]) == (True, 4)


def test_a_secret_that_several_steps_need_is_named_once(shell):
    again = ASK.replace("id: ask", "id: again")
    book(shell, LOOK, ASK, again, meta="secrets: [{ env: NEEDED }]")
    runbook = ("secret_missing", "step look: the runbook requires secret `NEEDED`, which is not set")
    assert refused(shell) == [runbook, SECRET]
    book(shell, ASK, LOOK, again, meta="secrets: [{ env: NEEDED }]")
    both = "step ask: the runbook and tool `ask` require secrets `NEEDED` and `ASK_TOKEN`, which are not set"
    assert [finding[1] for finding in refused(shell)] in (
        [both],
        [both.replace("`NEEDED` and `ASK_TOKEN`", "`ASK_TOKEN` and `NEEDED`")],
    )


def test_programs_of_extensions_need_the_secrets_of_the_runbook(shell):
    shell.program("gert-ext-own", "touch looked\n")
    step = "- { id: own, type: extension, extension: own, contract: { effects: [network] } }"
    shell.book(step, meta="secrets: [{ env: NEEDED }]")
    assert refused(shell) == [("secret_missing", "step own: the runbook requires secret `NEEDED`, which is not set")]


def test_secrets_programs_and_the_approval_provider_are_refused_together(shell):
    shell.tool("look", "[no-such-program]", contract=READING)
    book(shell, LOOK, ASK)
    found = refused(shell, "--approval", "pigeon")
    assert [rule for rule, _ in found] == ["unknown_name", "not_found", "secret_missing"]
    said = shell.gert("exec", "book.yaml", code=2).stderr
    assert said.startswith("error: book.yaml cannot be run here, so nothing was run\n")
    assert SECRET[1] in said


@pytest.mark.parametrize(
    "step",
    [
        '{ id: ask, type: tool, tool: ask, when: "{{ false }}" }',
        "{ id: ask, type: tool, tool: ask, for_each: { over: [], as: x } }",
        "{ id: ask, type: tool, tool: ask, continue_on_fail: true }",
    ],
    ids=["guarded", "in a loop", "caught"],
)
def test_what_only_some_paths_need_is_a_warning(shell, step):
    book(shell, step)
    done = shell.gert("exec", "book.yaml")
    assert (
        "warning: step ask may fail if it is reached: tool `ask` requires secret `ASK_TOKEN`, which is not set"
        in done.stderr
    )


def test_a_step_that_may_be_reached_does_not_hide_one_that_certainly_is(shell):
    book(shell, '{ id: first, type: tool, tool: ask, when: "{{ false }}" }', ASK)
    assert refused(shell) == [SECRET]


def test_without_preflight_the_run_goes_as_far_as_it_can(shell):
    book(shell, LOOK, ASK)
    result = shell.json("exec", "book.yaml", "--no-preflight", code=1)
    assert (result["failure"]["kind"], (shell.root / "looked").exists()) == ("secret_missing", True)


def test_a_dry_run_needs_no_secrets(shell):
    book(shell, ASK)
    assert shell.json("exec", "book.yaml", "--mode", "dry-run")["status"] == "completed"


def test_tools_of_included_runbooks_are_looked_at_with_the_secrets_of_their_runbook(shell):
    shell.write(
        "sub/child.yaml",
        f"""\
        apiVersion: kernel/v0
        meta: {{ name: child, secrets: [{{ env: CHILD_TOKEN }}] }}
        tools: [look]
        steps:
          - {LOOK}
          - {{ type: end, outcome: {{ category: resolved }} }}
        """,
    )
    shell.write("sub/tools/look.tool.yaml", (shell.root / "tools" / "look.tool.yaml").read_text())
    book(shell, LOOK, "{ id: call, type: runbook, runbook: sub/child.yaml }")
    message = "step call/0/look: the runbook requires secret `CHILD_TOKEN`, which is not set"
    assert refused(shell) == [("secret_missing", message)]
    assert shell.json("exec", "book.yaml", CHILD_TOKEN="long-enough")["status"] == "completed"


@pytest.mark.parametrize("handling", ["", f"on_failure: [{LOOK.replace('id: look', 'id: mend')}]"])
def test_what_runs_last_certainly_runs(shell, handling):
    book(shell, LOOK)
    path = shell.root / "book.yaml"
    path.write_text(f"{path.read_text()}{handling}\nfinally: [{ASK}]\n")
    assert refused(shell) == [SECRET]
    inside = f"steps: [{LOOK}], finally: [{ASK}]{handling and f', {handling}'}"
    book(shell, f"{{ id: work, type: block, {inside} }}")
    assert refused(shell) == [SECRET]
