"""Runs with few descriptors: a branch that cannot have any is an error of its step, and nothing else breaks.

An import needs descriptors, and one that fails for want of them is remembered as a module that does not exist. So
everything that the standard plugins need in a branch is imported before branches start.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from shell import Shell

NO_IMPORTS = """
import sys, _thread
main = _thread.get_ident()

def audit(event, args):
    if event == "import" and _thread.get_ident() != main:
        with open("imported", "a") as file:
            file.write(args[0] + "\\n")
        raise ImportError(f"no descriptor left for {args[0]}")

sys.addaudithook(audit)
"""
BRANCHES = """
- id: all
  type: parallel
  branches:
    - steps: [{ id: first, type: tool, tool: nap, continue_on_fail: true }]
    - steps: [{ id: second, type: tool, tool: nap, continue_on_fail: true }]
    - steps: [{ id: missing, type: tool, tool: missing, continue_on_fail: true }]
    - steps: [{ id: killed, type: tool, tool: killed, continue_on_fail: true }]
    - steps: [{ id: server, type: tool, tool: server, continue_on_fail: true }]
    - steps: [{ id: runner, type: extension, extension: none, contract: { effects: [network] }, continue_on_fail: true }]
    - steps: [{ id: person, type: manual, instructions: look, continue_on_fail: true }]
    - steps: [{ id: kernel, type: assert, assert: [{ type: equals, value: "{{ .host }}", expected: web }] }]
    - steps: [{ id: jinja, type: assert, assert: [{ type: equals, value: "{{ host | upper }}", expected: WEB }] }]
    - steps: [{ id: match, type: assert, assert: [{ type: matches, value: "{{ .host }}", pattern: "w.b" }] }]
    - steps: [{ id: pick, type: branch, branches: [{ condition: default, steps: [{ id: inner, type: tool, tool: nap }] }] }]
- { id: each, type: tool, tool: nap, for_each: { over: [1, 2, 3], as: n, parallel: true } }
"""
TOOLS = "nap, missing, killed, server"


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.tool("nap", '["sleep", "0.2"]')
    made.tool("missing", '["no-such-program"]')
    made.tool("killed", '["sh", "-c", "kill -SEGV $$"]')
    made.write(
        "tools/server.tool.yaml",
        """\
        apiVersion: tool/v0
        meta: { name: server, transport: jsonrpc, binary: "true" }
        contract: { effects: [network], idempotent: true }
        actions: { do: { method: do } }
        """,
    )
    made.book(BRANCHES, tools=TOOLS, meta="inputs: { host: { type: string, default: web } }")
    return made


def failures(shell: Shell) -> dict[str, str]:
    """Return the messages of the leaves that failed, by step id."""
    return {
        event["step_key"].rpartition("/")[2]: event["data"]["failure"]["message"]
        for event in shell.events("step_complete")
        if event["data"].get("failure")
    }


def test_branches_import_nothing(shell):
    shell.write("site/sitecustomize.py", NO_IMPORTS)
    shell.gert("exec", "book.yaml", code=None, PYTHONPATH=str(shell.root / "site"))
    imported = shell.root / "imported"
    assert not imported.exists(), imported.read_text()
    said = failures(shell)
    assert set(said) == {"missing", "killed", "server", "runner", "person"}
    assert "was not found on PATH" in said["missing"]
    assert "SIGSEGV" in said["killed"]


def test_approvals_in_branches_import_nothing(shell):
    shell.tool("change", '["true"]', contract="{ writes: [host] }")
    shell.book(
        """
        - id: all
          type: parallel
          branches:
            - steps: [{ id: look, type: tool, tool: nap }]
            - steps: [{ id: change, type: tool, tool: change }]
        """,
        tools="nap, change",
        meta="governance: { rules: [{ writes: [host], action: require-approval }, { default: allow }] }",
    )
    shell.write("site/sitecustomize.py", NO_IMPORTS)
    shell.gert("exec", "book.yaml", "--approval", "inbox", PYTHONPATH=str(shell.root / "site"))
    imported = shell.root / "imported"
    assert not imported.exists(), imported.read_text()
    assert shell.events()[-1]["data"]["status"] == "approval_pending"


@pytest.mark.parametrize("count", [12, 16, 20, 24, 28])
def test_a_branch_without_descriptors_is_an_error_that_says_so(shell, count):
    limit = "import os, resource, sys; count = int(sys.argv[1]); "
    limit += "resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)); os.execv(sys.argv[2], sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-c", limit, str(count), *shell.command("exec", "book.yaml", "--json")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=shell.root,
        env=shell.environ,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "status" in json.loads(done.stdout)
    for step, message in failures(shell).items():
        assert ".py" not in message, step
        assert "ImportError" not in message, step
