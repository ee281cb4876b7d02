"""Ctrl-C before a run begins, and output that cannot be written: a sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from shell import Shell, wait_for
from unread import full_pipe

FULL = Path("/dev/full")
SLOW_IMPORT = """
import os, sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("SLOW_IMPORT"):
            open("importing", "w").close()
            time.sleep(10)

sys.meta_path.insert(0, Slow())
"""
SWALLOWED = SLOW_IMPORT.replace(
    "            time.sleep(10)", "            try: time.sleep(1)\n            except BaseException: pass"
)

END_ONLY = """
apiVersion: kernel/v0
meta: {name: end}
steps:
  - {type: end, outcome: {category: resolved}}
"""


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.tool("look", '["true"]')
    made.book("- { id: a, type: tool, tool: look }", tools="look")
    return made


def interrupted(shell: Shell, module: str, *args: str, site: str = SLOW_IMPORT) -> tuple[int, str, str]:
    """Send SIGINT while gert imports a module; return exit code, stdout and stderr."""
    shell.write("site/sitecustomize.py", site)
    running = shell.start(*args, PYTHONPATH=str(shell.root / "site"), SLOW_IMPORT=module)
    wait_for((shell.root / "importing").exists)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    return running.returncode, out, err


EARLY = ("gert_core.cli.app", "gert_core.cli.commands.exec", "gert_core.engine.prepare")


@pytest.mark.parametrize("module", EARLY)
def test_an_interrupt_before_the_run_begins_is_one_word(shell, module):
    assert interrupted(shell, module, "exec", "book.yaml") == (130, "", "interrupted\n")
    assert shell.runs() == []


@pytest.mark.parametrize("module", EARLY)
def test_an_interrupt_before_the_run_begins_is_one_json_document(shell, module):
    code, out, err = interrupted(shell, module, "exec", "book.yaml", "--json")
    assert (code, err) == (130, "")
    error = json.loads(out)["error"]
    assert (error["kind"], error["message"]) == ("cancelled", "interrupted")
    assert set(error) == {"kind", "message", "file", "line", "hint", "diagnostics"}


def test_an_interrupt_of_another_command_is_one_json_document_too(shell):
    code, out, err = interrupted(shell, "gert_core.validation.pipeline", "validate", "book.yaml", "--json")
    assert (code, err) == (130, "")
    assert json.loads(out)["error"]["kind"] == "cancelled"


def test_an_import_that_swallows_exceptions_does_not_swallow_the_interrupt(shell):
    """Libraries call callbacks whose exceptions are ignored: the run went on and did everything."""
    assert interrupted(shell, "gert_core.engine.prepare", "exec", "book.yaml", site=SWALLOWED)[0] == 130
    assert shell.runs() == []


@pytest.mark.parametrize(
    "args",
    [
        "schema runbook",
        "runs list",
        "explain end.yaml",
        "validate end.yaml",
        "validate end.yaml --json",
        "exec end.yaml",
    ],
)
def test_a_second_interrupt_ends_a_command_that_nobody_reads(shell, args):
    """What a buffer keeps is written again at every end, and waits for a reader again."""
    shell.write("end.yaml", END_ONLY)
    environ = {name: value for name, value in shell.environ.items() if name != "PYTHONUNBUFFERED"}
    with full_pipe() as full:
        running = subprocess.Popen(
            shell.command(*args.split()),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=full,
            cwd=shell.root,
            env=environ,
        )
        try:
            with suppress(subprocess.TimeoutExpired):
                running.wait(1.5)
            for _ in range(2):
                running.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    running.wait(0.5)
            assert running.wait(10) == 130
        finally:
            running.kill()
            running.wait()


# -- output that cannot be written -----------------------------------------------------------------------------------

needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


@needs_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("exec missing.yaml --json", 2),
        ("validate missing.yaml --json", 2),
        ("exec book.yaml --json", 1),
        ("exec book.yaml", 1),
        ("validate book.yaml", 1),
        ("plugins list", 1),
        ("--help", 1),
        ("--version", 1),
        ("no-such-verb --json", 2),
    ],
)
def test_a_full_standard_output_is_an_error_without_a_traceback(shell, args, code, unbuffered):
    with FULL.open("w") as full:
        done = subprocess.run(
            shell.command(*args.split()),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=shell.root,
            env={**shell.environ, "PYTHONUNBUFFERED": unbuffered},
            timeout=60,
            check=False,
        )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if code == 1:
        assert "cannot be written: No space left on device" in done.stderr


@needs_full
@pytest.mark.parametrize(("args", "code"), [("exec missing.yaml", 2), ("exec book.yaml", 0)])
def test_a_full_standard_error_does_not_change_the_exit_code(shell, args, code):
    with FULL.open("w") as full:
        done = subprocess.run(
            shell.command(*args.split()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full,
            cwd=shell.root,
            env=shell.environ,
            timeout=60,
            check=False,
        )
    assert done.returncode == code


def test_a_result_and_an_error_after_it_are_one_json_document(shell):
    """A tool makes the state cache unreadable; the pending run is reported, and nothing else."""
    shell.tool("break", '["sh", "-c", "cd runs/* && mkdir state.json"]')
    shell.tool("ask", '["true"]', contract="{ writes: [host] }")
    shell.book(
        "- { id: a, type: tool, tool: break }\n- { id: b, type: tool, tool: ask }",
        tools="break, ask",
        meta="governance: { rules: [{ writes: [host], action: require-approval }, { default: allow }] }",
    )
    done = subprocess.run(
        shell.command("exec", "book.yaml", "--approval", "inbox", "--json"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=shell.root,
        env=shell.environ,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout).get("status") == "approval_pending", done.stdout
    assert done.returncode == 0
