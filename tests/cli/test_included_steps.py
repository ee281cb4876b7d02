"""Steps of included runbooks as people meet them: their results stated, their secret outputs, their scenarios drafted."""

from __future__ import annotations

import os
import signal

import pytest
from shell import Shell, wait_for

END = "- { type: end, outcome: { category: resolved, code: ok } }"
CALL = (
    "- { id: call, type: runbook, runbook: sub/child.yaml, for_each: { as: host, over: [a, b], key: '{{ .host }}' } }"
)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def child(shell, *steps, tools, meta="", more=""):
    lines = "\n".join(f"  {step}" for step in (*steps, END))
    shell.write(
        "sub/child.yaml",
        f"apiVersion: kernel/v0\nmeta: {{ name: child{meta} }}\ntools: [{tools}]\nsteps:\n{lines}\n{more}",
    )
    (shell.root / "sub" / "tools").mkdir(exist_ok=True)
    for name in filter(None, tools.split(", ")):
        tool = shell.root / "tools" / f"{name}.tool.yaml"
        (shell.root / "sub" / "tools" / tool.name).write_text(tool.read_text())


def log(shell):
    path = shell.root / "log"
    return path.read_text().split() if path.exists() else []


# -- stated results ----------------------------------------------------------------------------------------------------

WRITING = "{ effects: [disk], writes: [log], outputs: { word: { type: string } } }"


@pytest.fixture
def interrupted(shell):
    """A run that was killed while a step that writes ran, in the second of two executions of the included runbook."""
    shell.program(
        "write", "echo write >> log\necho written\nif test $(wc -l < log) = 3; then echo $$ > pid; exec sleep 60; fi\n"
    )
    shell.program("tell", 'echo "told:$1" >> log\n')
    shell.tool("write", "[write]", contract=WRITING, more="extract: { word: { from: stdout } }")
    tell = "{ effects: [disk], writes: [], inputs: { word: { type: string } } }"
    shell.tool("tell", '[tell, "{{ .word }}"]', contract=tell)
    child(
        shell,
        "- { id: write, type: tool, tool: write }",
        '- { id: tell, type: tool, tool: tell, inputs: { word: "{{ .write.word }}" } }',
        tools="write, tell",
    )
    shell.book(CALL)
    process = shell.start("exec", "book.yaml")
    pid = int(wait_for(lambda: (shell.root / "pid").exists() and (shell.root / "pid").read_text()))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    os.kill(pid, signal.SIGKILL)
    assert log(shell) == ["write", "told:written", "write"]
    return shell


def test_a_step_inside_is_not_repeated_without_a_decision(interrupted):
    before = interrupted.trace().read_bytes()
    error = interrupted.json("resume", "latest", code=1)["error"]
    assert error["kind"] == "unknown_outcome"
    assert "call[b]/0/write" in error["message"]
    assert "--reconcile 'call[b]/0/write=done|redo|failed'" in error["hint"]
    wrong = interrupted.json("resume", "latest", "--reconcile", "write=done", code=2)["error"]
    assert "write" in wrong["message"]
    assert interrupted.trace().read_bytes() == before


@pytest.mark.parametrize(
    ("words", "status", "more"),
    [
        (("=done", "--outputs", '{"word": "stated"}'), "completed", ["told:stated"]),
        (("=redo",), "completed", ["write", "told:written"]),
        (("=failed",), "failed", []),
    ],
    ids=["done", "redo", "failed"],
)
def test_a_step_inside_is_reconciled_by_its_key(interrupted, words, status, more):
    before, (end, *rest) = log(interrupted), words
    result = interrupted.json("resume", "latest", "--reconcile", f"call[b]/0/write{end}", *rest, code=None)
    assert (result["status"], log(interrupted)) == (status, before + more)
    interrupted.gert("trace", "verify", str(interrupted.trace()))


def test_outputs_that_are_stated_for_a_step_inside_are_checked(interrupted):
    words = ("--reconcile", "call[b]/0/write=done", "--outputs", '{"wrong": 1}')
    error = interrupted.json("resume", "latest", *words, code=2)["error"]
    assert "wrong" in error["message"]


# -- secret outputs ----------------------------------------------------------------------------------------------------

PASSWORD = "pass-word-0123"
SECRET = "{ effects: [vault], writes: [], outputs: { password: { type: string, secret: true } } }"


def rotating(shell, *, fails=False):
    shell.program("rotate", f"echo rotate >> ../log\necho {PASSWORD}-$(date +%s%N)\n")
    shell.program("use", 'echo "$1" >> ../got\n' + ("test -e ../ready\n" if fails else ""))
    shell.tool("rotate", "[rotate]", contract=SECRET, more="extract: { password: { from: stdout } }")
    use = "{ effects: [app], writes: [], inputs: { word: { type: string } } }"
    shell.tool("use", '[use, "{{ .word }}"]', contract=use)
    child(
        shell,
        "- { id: rotate, type: tool, tool: rotate }",
        '- { id: use, type: tool, tool: use, inputs: { word: "{{ .rotate.password }}" } }',
        tools="rotate, use",
    )
    shell.book(CALL)


@pytest.fixture
def below(tmp_path):
    """A directory of its own, beside which tools note what they got."""
    (tmp_path / "project").mkdir()
    return Shell(tmp_path / "project")


def everything(shell):
    files = [path for path in shell.root.rglob("*") if path.is_file() and "bin" not in path.parts]
    return "\n".join(path.read_text(errors="replace") for path in files)


def test_a_secret_output_inside_is_masked_by_its_whole_key(below):
    rotating(below)
    done = below.gert("exec", "book.yaml", "-v")
    assert PASSWORD not in everything(below) + done.stdout + done.stderr
    inputs = {
        event["step_key"]: event["data"]["inputs"] for event in below.events("step_start") if "inputs" in event["data"]
    }
    assert inputs["call[a]/0/use"] == {"word": "<REDACTED:call[a]/0/rotate.password>"}
    first, second = (below.root.parent / "got").read_text().split()
    assert first.startswith(PASSWORD)
    assert first != second


def test_a_secret_output_inside_is_made_again_for_a_resumed_run(below):
    """Nothing had used it when the process was killed, so the step that gives it runs again, and only that one."""
    rotating(below)
    below.gert("exec", "book.yaml")
    lines = below.trace().read_bytes().splitlines(keepends=True)
    kept = next(n for n, event in enumerate(below.events()) if event.get("step_key") == "call[b]/0/use")
    below.trace().write_bytes(b"".join(lines[:kept]))
    for name in ("got", "log"):
        (below.root.parent / name).unlink()
    done = below.gert("resume", "latest")
    (again,) = (below.root.parent / "got").read_text().split()
    assert again.startswith(PASSWORD)
    assert (below.root.parent / "log").read_text().split() == ["rotate"]
    assert PASSWORD not in everything(below) + done.stdout + done.stderr


def test_a_secret_output_inside_that_was_used_is_lost(below):
    rotating(below, fails=True)
    below.gert("exec", "book.yaml", code=1)
    (below.root.parent / "ready").touch()
    result = below.json("resume", "latest", "--retry-failed", code=1)
    said = result.get("error") or result["failure"]
    assert said["kind"] == "secret_lost"
    assert "call[a]/0/rotate" in said["message"]
    assert PASSWORD not in everything(below)


# -- drafts of scenarios -----------------------------------------------------------------------------------------------


def test_a_drafted_scenario_covers_the_included_runbook(shell):
    """Also answers for its steps that the draft does not reach, and evidence; its test names its steps."""
    outputs = "{ effects: [disk], writes: [], outputs: { word: { type: string } } }"
    shell.program("look", "echo x\n")
    shell.tool("look", "[look]", contract=outputs, more="extract: { word: { from: stdout } }")
    shell.tool("other", "[look]", contract=outputs, more="extract: { word: { from: stdout } }")
    child(
        shell,
        "- { id: look, type: tool, tool: look }",
        "- { id: ask, type: manual, instructions: Look., required_evidence: [{ name: note, kind: text }] }",
        "- { id: rare, type: tool, tool: other, when: '{{ eq .look.word \"never\" }}' }",
        "- { id: sign, type: manual, when: '{{ eq .look.word \"never\" }}', instructions: Sign., required_evidence: [{ name: by, kind: text }] }",
        tools="look, other",
    )
    shell.book(f"- {{ id: look, type: tool, tool: look }}\n{CALL}", tools="look")
    shell.gert("new", "scenario", "first", "--runbook", "book.yaml")
    scenario = (shell.root / "scenarios" / "book" / "first" / "scenario.yaml").read_text()
    assert '"look:do":' in scenario
    assert '"sub/child.yaml:look:do":' in scenario
    assert '"sub/child.yaml:other:do":' in scenario
    assert 'ask: {"note": "text"}' in scenario
    assert 'sign: {"by": "text"}' in scenario
    test = (shell.root / "scenarios" / "book" / "first" / "test.yaml").read_text()
    assert "must_reach: [look, call, done, call/look, call/ask]" in test
    done = shell.gert("test", "book.yaml")
    assert "1 passed" in done.stdout
