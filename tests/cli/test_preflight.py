"""Before a real run: what it would certainly fail for is named at once, and nothing is created."""

from __future__ import annotations

import json

import pytest
from shell import Shell

READING = "{ effects: [network], writes: [] }"
WRITING = "{ effects: [network], writes: [host] }"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "touch looked\n")
    made.tool("look", "[look]", contract=READING)
    made.tool("change", "[look]", contract=WRITING)
    made.tool("gone", "[no-such-program, x]", contract=READING)
    return made


def book(shell, *steps, meta=""):
    shell.book("\n".join(f"- {step}" for step in steps), tools="look, change, gone", meta=meta)


def refused(shell, *args, code=2):
    """Run it and return the findings; nothing was executed and nothing is left on disk."""
    before = sorted(path.name for path in shell.root.iterdir())
    error = shell.json("exec", "book.yaml", *args, code=code)["error"]
    assert error["kind"] == "preflight"
    assert sorted(path.name for path in shell.root.iterdir()) == before
    return [(finding["rule"], finding["message"]) for finding in error["diagnostics"]]


LOOK = "{ id: look, type: tool, tool: look }"
CHANGE = "{ id: change, type: tool, tool: change }"
GONE = "{ id: gone, type: tool, tool: gone }"
MISSING = ("not_found", "step gone: tool 'gone' needs program 'no-such-program', which is not on PATH")


def test_an_unknown_approval_provider(shell):
    book(shell, LOOK)
    ((rule, message),) = refused(shell, "--approval", "pigeon")
    assert (rule, "approval provider 'pigeon'" in message) == ("unknown_name", True)
    shell.write("gert-project.yaml", "approvals: {provider: pigeon}\n")
    assert len(refused(shell)) == 1
    said = shell.gert("exec", "book.yaml", code=2)
    assert said.stderr.startswith("error: book.yaml cannot be run here, so nothing was run\n")
    assert "no installed plugin provides approval provider 'pigeon'" in said.stderr


def test_a_missing_and_a_blocked_transport(shell):
    shell.write(
        "tools/gone.tool.yaml",
        f"apiVersion: tool/v0\nmeta: {{ name: gone, transport: pigeon }}\ncontract: {READING}\nactions: {{ do: {{ argv: [x] }} }}\n",
    )
    book(shell, CHANGE, GONE)
    message = "step gone: tool 'gone' needs transport 'pigeon', which no active plugin provides"
    assert refused(shell) == [("transport_missing", message)]
    found = shell.json("exec", "book.yaml", "-p", "no:transport-stdio", code=2)["error"]["diagnostics"]
    assert [finding["rule"] for finding in found] == ["transport_missing"] * 2
    assert "is blocked" in found[0]["hint"]
    assert not (shell.root / "looked").exists()


def test_no_default_transport(shell):
    tool = shell.root / "tools" / "look.tool.yaml"
    tool.write_text(tool.read_text().replace(", transport: stdio", ""))
    book(shell, LOOK)
    ((rule, message),) = refused(shell, "-p", "no:transport-stdio")
    assert (rule, "needs a default transport" in message) == ("transport_missing", True)


def test_an_address_with_a_template(shell):
    shell.write(
        "tools/gone.tool.yaml",
        'apiVersion: tool/v0\nmeta: { name: gone, transport: stdio, connect: "{{ .host }}" }\n'
        f"contract: {READING}\nactions: {{ do: {{ argv: [look] }} }}\n",
    )
    book(shell, GONE)
    message = "step gone: `connect` of tool 'gone' is used as it is written, and it has a template"
    assert refused(shell) == [("template", message)]
    assert (
        "`meta.connect` is handed to the transport as written" in shell.gert("validate", "tools/gone.tool.yaml").stdout
    )


@pytest.mark.parametrize(
    "steps",
    [
        [GONE],
        [LOOK, GONE],
        [
            f"{{ id: both, type: parallel, branches: [{{ label: a, steps: [{LOOK}] }}, {{ label: b, steps: [{GONE}] }}] }}"
        ],
    ],
    ids=["alone", "behind a reading step", "in parallel"],
)
def test_a_program_that_is_not_on_the_path(shell, steps):
    book(shell, *steps)
    assert refused(shell) == [MISSING]


def test_a_program_that_is_not_an_executable_file(shell):
    shell.write("bin/plain", "echo\n")
    shell.tool("gone", '["./bin/plain"]', contract=READING)
    book(shell, GONE)
    message = "step gone: tool 'gone' needs program './bin/plain', which is not an executable file"
    assert refused(shell) == [("not_found", message)]


def test_everything_is_named_at_once_before_anything_is_asked(shell):
    book(shell, GONE, "{ id: again, type: tool, tool: gone }", meta="inputs: { name: { type: string, from: prompt } }")
    found = refused(shell, "--approval", "pigeon", code=2)
    assert [rule for rule, _ in found] == ["unknown_name", "not_found", "not_found"]


ARM = '{ condition: "{{ true }}", steps: [] }'
NOT_CERTAIN = {
    "guarded": '{ id: gone, type: tool, tool: gone, when: "{{ false }}" }',
    "in a loop": "{ id: gone, type: tool, tool: gone, for_each: { over: [], as: x } }",
    "in an arm": f'{{ id: pick, type: branch, branches: [{{ condition: "{{{{ false }}}}", steps: [{GONE}] }}, {ARM}] }}',
}


@pytest.mark.parametrize("case", NOT_CERTAIN)
def test_what_only_some_paths_need_is_a_warning(shell, case):
    book(shell, NOT_CERTAIN[case])
    done = shell.gert("exec", "book.yaml")
    assert "warning: step gone may fail if it is reached: " in done.stderr
    assert "needs program 'no-such-program', which is not on PATH" in done.stderr


def test_a_failure_that_does_not_end_the_run_does_not_prevent_it(shell):
    book(shell, "{ id: gone, type: tool, tool: gone, continue_on_fail: true }")
    assert shell.json("exec", "book.yaml")["status"] == "completed"


def test_steps_behind_one_that_may_end_the_run_are_not_certain(shell):
    ends = (
        '{ id: pick, type: branch, branches: [{ condition: "{{ true }}", steps: '
        f"[{{ id: stop, type: end, outcome: {{ category: no_action, code: fine }} }}] }}, {ARM}] }}"
    )
    shell.book(
        f"- {ends}\n- {GONE}\n- {{ id: last, type: end, outcome: {{ category: resolved, code: x }} }}", tools="gone"
    )
    assert shell.json("exec", "book.yaml")["outcome"]["code"] == "fine"


def test_a_step_that_may_install_the_program_lets_the_run_begin(shell):
    book(shell, CHANGE, GONE)
    result = shell.json("exec", "book.yaml", code=1, stdin="\n\n")
    assert (result["status"], result["failure"]["kind"]) == ("error", "not_found")


def test_without_preflight_the_run_goes_as_far_as_it_can(shell):
    book(shell, LOOK, GONE)
    result = shell.json("exec", "book.yaml", "--no-preflight", code=1)
    assert (result["failure"]["kind"], (shell.root / "looked").exists()) == ("not_found", True)


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_other_modes_are_not_refused(shell, mode):
    book(shell, GONE)
    done = shell.gert("exec", "book.yaml", "--mode", mode, "--json", code=None)
    assert "error" not in json.loads(done.stdout)


def test_a_trace_that_cannot_be_written_leaves_no_run(shell):
    book(shell, LOOK)
    shell.gert("exec", "book.yaml", "--trace", "missing/trace.jsonl", code=1)
    assert shell.runs() == []


def test_a_missing_program_is_shown_where_it_is_written(shell):
    book(shell, GONE)
    (found,) = shell.json("exec", "book.yaml", code=2)["error"]["diagnostics"]
    line = (shell.root / found["file"]).read_text().splitlines()[found["line"] - 1]
    assert line[found["column"] - 1 :].lstrip('"').startswith("no-such-program")


RUNNER = "{ id: own, type: extension, extension: absent, contract: { effects: [], writes: [] } }"


def test_a_runner_of_an_extension_that_is_not_there(shell):
    """Also in a runbook without tools; one that may be installed by a step before, or may not run, is not refused."""
    shell.book(f"- {RUNNER}\n- {{ type: end, outcome: {{ category: resolved }} }}", tools="", meta="")
    message = "step own: it needs program 'gert-ext-absent', which is not on PATH"
    assert refused(shell) == [("not_found", message)]
    error = shell.json("exec", "book.yaml", code=2)["error"]["diagnostics"][0]
    assert error["line"] > 1
    assert "install it" in error["hint"]
    shell.book(f"- {RUNNER.replace('absent', './absent')}", tools="", meta="")
    assert "which is not an executable file" in refused(shell)[0][1]
    book(shell, LOOK, RUNNER.replace("{ id", "{ when: true, id"))
    said = shell.gert("exec", "book.yaml", code=1).stderr
    assert "step own may fail if it is reached: it needs program 'gert-ext-absent', which is not on PATH" in said
    book(shell, CHANGE, RUNNER)
    said = shell.gert("exec", "book.yaml", code=1)
    assert "cannot be run here" not in said.stderr
