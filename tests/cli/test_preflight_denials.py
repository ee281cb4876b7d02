"""Before a real run: a step that is certainly denied ends the run before anything is executed."""

from __future__ import annotations

import pytest
from shell import Shell, chain_is_whole

END = "{ type: end, outcome: { category: resolved, code: ok } }"
LOOK = "{ id: look, type: tool, tool: look }"
DROP = "{ id: drop, type: tool, tool: drop }"
DENY = "apiVersion: policy/v0\nmeta: { name: no }\nrules: [{ writes: [db], action: deny }]\n"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "touch looked\n")
    made.tool("look", "[look]", contract="{ effects: [network], writes: [] }")
    made.tool("drop", "[look]", contract="{ effects: [db], writes: [db] }")
    made.write("no.yaml", DENY)
    return made


def book(shell, *steps, meta="", more=""):
    path = shell.book("\n".join(f"- {step}" for step in steps), tools="look, drop", meta=meta)
    path.write_text(path.read_text() + more)


def denied(shell, key="drop"):
    """Run it: the trace tells of the denied step and of no other, and no program was started."""
    result = shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "governance_denied")
    assert result["failure"]["step_key"] == key
    assert not (shell.root / "looked").exists()
    (run,) = shell.runs()
    assert chain_is_whole(run / "trace.jsonl")
    types = [event["type"] for event in shell.events()]
    assert types == ["run_start", "contract_evaluated", "governance_decision", "step_complete", "run_complete"]
    (decision,) = shell.events("governance_decision")
    assert (decision["step_key"], decision["data"]["decision"]) == (key, "deny")
    (ended,) = shell.events("step_complete")
    assert float(ended["data"]["duration"].removesuffix("s")) < 10  # not the time since the machine was started
    return result


def goes_as_far_as_it_can(shell, *args):
    result = shell.json("exec", "book.yaml", "--policy", "no.yaml", *args, code=1)
    assert (result["failure"]["kind"], (shell.root / "looked").exists()) == ("governance_denied", True)


def test_nothing_is_executed_before_a_step_that_is_certainly_denied(shell):
    book(shell, LOOK, LOOK.replace("id: look", "id: again"), DROP)
    denied(shell)
    said = shell.gert("exec", "book.yaml", "--policy", "no.yaml", code=1).stderr
    assert "warning: step drop is certainly denied, so no step is run" in said
    assert not (shell.root / "looked").exists()


def test_cleanup_has_nothing_to_do(shell):
    book(shell, LOOK, DROP, more=f"finally: [{LOOK.replace('id: look', 'id: tidy')}]\n")
    denied(shell)


@pytest.mark.parametrize(
    ("step", "key"),
    [
        (f"{{ id: both, type: parallel, branches: [{{ label: a, steps: [{LOOK}] }}, {{ label: b, steps: [{DROP}] }}] }}", "both/1/drop"),
        ("{ id: drop, type: tool, tool: drop, continue_on_fail: true }", "drop"),
    ],
    ids=["in parallel", "a denial is not caught"],
)  # fmt: skip
def test_steps_that_are_reached_in_any_case(shell, step, key):
    book(shell, step)
    denied(shell, key)
    (shell.runs()[0] / "trace.jsonl").unlink()
    result = shell.json("exec", "book.yaml", "--policy", "no.yaml", "--no-preflight", code=1)
    assert result["failure"]["step_key"] == key


def test_an_outcome_that_is_denied(shell):
    shell.write("no.yaml", DENY.replace("writes: [db]", "outcome: [resolved]"))
    shell.book(f"- {LOOK}\n- {END.replace('{ type', '{ id: done, type')}", tools="look")
    denied(shell, "done")


@pytest.mark.parametrize(
    "steps",
    [
        (LOOK, '{ id: drop, type: tool, tool: drop, when: "{{ true }}" }'),
        (LOOK, "{ id: drop, type: tool, tool: drop, for_each: { over: [1], as: x } }"),
        (LOOK, f'{{ id: pick, type: branch, branches: [{{ condition: "{{{{ true }}}}", steps: [{DROP}] }}] }}'),
    ],
    ids=["guarded", "in a loop", "in an arm"],
)
def test_a_step_that_may_not_be_reached_does_not_stop_the_run(shell, steps):
    book(shell, *steps)
    goes_as_far_as_it_can(shell)


def test_where_a_failure_before_it_may_be_handled_the_run_begins(shell):
    book(shell, LOOK, DROP, more=f"on_failure: [{LOOK.replace('id: look', 'id: tidy')}]\n")
    goes_as_far_as_it_can(shell)


def test_without_preflight_the_run_goes_as_far_as_it_can(shell):
    book(shell, LOOK, DROP)
    goes_as_far_as_it_can(shell, "--no-preflight")


def test_what_is_missing_comes_first_and_creates_nothing(shell):
    shell.tool("look", "[no-such-program]", contract="{ effects: [network], writes: [] }")
    book(shell, LOOK, DROP)
    assert shell.json("exec", "book.yaml", "--policy", "no.yaml", code=2)["error"]["kind"] == "preflight"
    assert shell.runs() == []


def test_a_step_of_an_included_runbook_that_its_own_policy_denies(shell):
    shell.write(
        "sub/child.yaml",
        f"""\
        apiVersion: kernel/v0
        meta: {{ name: child, governance: {{ rules: [{{ writes: [db], action: deny }}] }} }}
        tools: [drop]
        steps:
          - {DROP}
          - {END}
        """,
    )
    shell.write("sub/tools/drop.tool.yaml", (shell.root / "tools" / "drop.tool.yaml").read_text())
    shell.write("no.yaml", "apiVersion: policy/v0\nmeta: { name: no }\nrules: [{ default: allow }]\n")
    book(shell, LOOK, "{ id: call, type: runbook, runbook: sub/child.yaml }")
    denied(shell, "call/0/drop")


def test_retried_after_the_policy_was_softened_the_denial_that_is_recorded_holds(shell):
    book(shell, LOOK, DROP)
    run = denied(shell)["run_id"]
    shell.write("no.yaml", DENY.replace("deny", "allow"))
    result = shell.json("resume", "--run", run, "--retry-failed", "--on-drift", "allow", code=1)
    assert result["error"]["kind"] == "drift"
    assert "step look would run without the approval of step drop, which was denied" in result["error"]["message"]
    assert not shell.events("step_start"), "nothing was executed"


ASKED = """\
inputs:
  host: { type: string, from: prompt }
  word: { type: string, from: prompt, secret: true }
  size: { type: int, default: 3 }
constants: { name: "{{ .host }}-{{ .size }}" }
"""


def test_no_person_is_asked_for_inputs_of_a_run_that_is_denied(shell):
    book(shell, LOOK, DROP, meta=ASKED)
    done = shell.gert("exec", "book.yaml", "--policy", "no.yaml", code=1, stdin="web-1\nlong-enough\n")
    assert "host" not in done.stdout + done.stderr
    (start,) = shell.events("run_start")
    assert (start["data"]["inputs"], start["data"]["constants"]) == ({"size": 3}, {})
    assert [event["data"]["input"] for event in shell.events("input_resolved")] == ["size"]
    run = shell.trace().parent.name
    again = shell.gert("resume", run, "--retry-failed", code=1, stdin="web-1\nlong-enough\n")
    assert "host" not in again.stdout + again.stderr
    shell.gert("trace", "verify", str(shell.trace()))
    shell.gert("runs", "show", run)


def test_inputs_that_are_given_are_recorded_and_checked(shell):
    book(shell, LOOK, DROP, meta=ASKED)
    given = ("--var", "host=web-1", "--var", "word=long-enough")
    shell.json("exec", "book.yaml", "--policy", "no.yaml", *given, code=1)
    (start,) = shell.events("run_start")
    assert start["data"]["inputs"] == {"host": "web-1", "word": "<REDACTED:word>", "size": 3}
    assert start["data"]["constants"] == {"name": "web-1-3"}
    error = shell.json("exec", "book.yaml", "--policy", "no.yaml", "--var", "size=many", code=2)["error"]
    assert "the input 'size' from --var must be int" in error["message"]


def test_a_run_that_was_denied_before_it_asked_cannot_be_taken_further(shell):
    book(shell, LOOK, DROP, meta=ASKED)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    shell.write("no.yaml", DENY.replace("deny", "allow"))
    before = shell.trace().read_bytes()
    error = shell.json("resume", "latest", "--retry-failed", "--on-drift", "allow", code=1)["error"]
    assert error["kind"] == "not_resumable"
    assert "was denied before its inputs host, word were asked for" in error["message"]
    assert error["hint"] == "start a new run"
    assert shell.trace().read_bytes() == before


@pytest.mark.parametrize(
    "step",
    [
        '{ id: drop, type: tool, tool: drop, when: "{{ false }}" }',
        "{ id: drop, type: tool, tool: drop, for_each: { over: [], as: x } }",
        f'{{ id: pick, type: branch, branches: [{{ condition: "{{{{ false }}}}", steps: [{DROP}] }}, {{ condition: "{{{{ true }}}}", steps: [] }}] }}',
    ],
    ids=["guarded", "in a loop", "in an arm"],
)  # fmt: skip
def test_a_denial_that_only_some_paths_reach_is_a_warning(shell, step):
    book(shell, LOOK, step)
    done = shell.gert("exec", "book.yaml", "--policy", "no.yaml")
    why = "Rule 1 of the policy no.yaml applies: deny for writes db."
    assert done.stderr.count(f"warning: step drop may be denied if it is reached: {why}\n") == 1
    assert "look may be" not in done.stderr
    assert "may be denied" not in shell.gert("exec", "book.yaml", "--policy", "no.yaml", "--no-preflight").stderr
    assert "may be denied" not in shell.gert("exec", "book.yaml").stderr
