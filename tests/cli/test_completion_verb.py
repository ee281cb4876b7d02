"""``gert completion`` and the examples in help: every command is there, and nothing that is not."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gert_core.cli import candidates
from gert_core.cli.build import commands
from gert_core.cli.commands.completion import entries
from gert_core.cli.examples import EXAMPLES

ENVIRON = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
ENTRIES = {entry.path: entry for entry in entries()}
LEAVES = [path for path, entry in ENTRIES.items() if path and (not entry.commands or path in ("completion", "schema"))]


def gert(*args):
    done = subprocess.run([sys.executable, "-m", "gert_core", *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    code, text, _ = gert("completion", "bash")
    assert code == 0
    file = tmp_path_factory.mktemp("bash") / "gert"
    file.write_text(text)
    return file


def complete(script, *words, cwd=None):
    quoted = " ".join(shlex.quote(word) for word in words)
    call = f'COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _gert gert; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", f"source {script}; {call}"], capture_output=True, text=True, check=True, cwd=cwd, env=ENVIRON
    )
    assert not done.stderr
    return done.stdout.split()


def test_verbs_and_commands_complete(script):
    assert complete(script, "gert", "exe") == ["exec"]
    assert complete(script, "gert", "new", "") == ["runbook", "tool", "scenario", "plugin"]
    assert complete(script, "gert", "-p", "no:x", "tr") == ["trace"]
    assert complete(script, "gert", "completion", "") == ["bash", "zsh", "fish", "--help"]


def test_options_complete_for_their_command_only(script):
    assert complete(script, "gert", "exec", "test", "--tr") == ["--trace", "--trace-sync"]
    assert complete(script, "gert", "trace", "verify", "--k") == ["--key-id"]
    assert complete(script, "gert", "runs", "list", "--k") == []


def test_values_complete(script):
    assert complete(script, "gert", "exec", "a.yaml", "--mode", "d") == ["dry-run"]
    assert complete(script, "gert", "exec", "a.yaml", "--mode", "=", "d") == ["dry-run"]
    assert complete(script, "gert", "resume", "--fail-on", "e") == ["escalated"]
    assert complete(script, "gert", "exec", "--fail-on", "escalated,n") == [
        "escalated,no_action",
        "escalated,needs_rca",
    ]
    assert complete(script, "gert", "exec", "--mode", "real,d") == []
    assert complete(script, "gert", "schema", "t") == ["tool", "test", "trace"]
    assert complete(script, "gert", "schema", "b") == ["behaviour"]


def test_every_command_for_one_run_completes_run_ids():
    taking = {
        path
        for path, _, command in commands()
        if any(param.param_type_name == "argument" and param.metavar == "ID" for param in command.params)
    }
    assert taking
    assert {path: candidates.ARGUMENTS.get(path) for path in taking} == dict.fromkeys(taking, "runs")


BOOK = """\
apiVersion: kernel/v0
meta:
  name: book
  inputs: { host: { type: string, default: a }, hour: { type: int, default: 1 }, zone: { type: string } }
  governance: { rules: [ { effects: [network], action: require-approval } ] }
tools: [look]
steps:
  - { id: look, type: tool, tool: look }
  - { id: done, type: end, outcome: { category: resolved } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: look, transport: stdio }
contract: { effects: [network] }
actions: { do: { argv: ["true"] } }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with a pending run, in a directory below its own."""
    root = tmp_path_factory.mktemp("project")
    (root / "gert-project.yaml").write_text("name: p\nruns_dir: kept/runs\n")
    (root / "tools").mkdir()
    (root / "tools" / "look.tool.yaml").write_text(TOOL)
    (root / "book.yaml").write_text(BOOK)
    for name in ("fine", "full-disk", "$(touch bad)"):
        (root / "scenarios" / "book" / name).mkdir(parents=True)
        (root / "scenarios" / "book" / name / "scenario.yaml").write_text("tool_responses: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "exec", "book.yaml", "--approval", "inbox"],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    (root / "deep").mkdir()
    run, ticket = re.search(r"--run (\S+)", done.stdout)[1], re.search(r"t-[0-9a-f]{20}", done.stdout)[0]
    return root, run, ticket


@pytest.mark.parametrize("below", [".", "deep"])
def test_run_ids_complete_from_the_directory_the_project_keeps_them_in(script, project, below):
    root, run, _ = project
    for words in (
        ["resume", "--run", ""],
        ["resume", "--run", run[:6]],
        ["resume", run[:6]],
        ["runs", "show", ""],
        ["resume", "--run", "="],
    ):
        assert complete(script, "gert", *words, cwd=root / below) == [run]
    assert complete(script, "gert", "resume", "--run", "x", cwd=root) == []


def test_tickets_complete_while_they_are_pending(script, project, tmp_path):
    root, run, ticket = project
    for words in (
        ["approve", ""],
        ["reject", "t-"],
        ["approvals", "show", ""],
        ["resume", "--run", run, "--ticket", ""],
    ):
        assert complete(script, "gert", *words, cwd=root) == [ticket]
    assert complete(script, "gert", "approve", ticket, "--as", "", cwd=root) == []
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    subprocess.run([sys.executable, "-m", "gert_core", "approve", ticket], check=True, cwd=copy, capture_output=True)
    assert complete(script, "gert", "approve", "", cwd=copy) == []


def test_scenarios_of_the_runbook_on_the_command_line_complete(script, project):
    root, _, _ = project
    assert complete(script, "gert", "exec", "book.yaml", "--scenario", "f", cwd=root) == ["fine", "full-disk"]
    assert complete(script, "gert", "test", ".", "--scenario", "full", cwd=root) == ["full-disk"]
    assert complete(script, "gert", "exec", "none.yaml", "--scenario", "", cwd=root) == []


def test_names_are_never_run_by_the_shell(script, project):
    root, _, _ = project
    found = complete(script, "gert", "exec", "book.yaml", "--scenario", "$", cwd=root)
    assert " ".join(found) == "\\$\\(touch\\ bad\\)"
    assert not (root / "bad").exists()


def test_inputs_of_the_runbook_complete(script, project):
    root, _, _ = project
    assert complete(script, "gert", "exec", "book.yaml", "--var", "", cwd=root) == ["host=", "hour=", "zone="]
    assert complete(script, "gert", "exec", "--policy", "x.yaml", "book.yaml", "--var", "ho", cwd=root) == [
        "host=",
        "hour=",
    ]
    assert complete(script, "gert", "exec", "--var", "", cwd=root) == []


def test_the_script_asks_only_for_kinds_there_are(project):
    code, _, said = gert("completion", "--values", "plugins")
    assert code == 2
    assert "the kinds are runs, tickets, scenarios, inputs, steps, tools" in said


def test_steps_of_a_runbook_and_of_a_run_complete(script, project):
    root, run, _ = project
    assert complete(script, "gert", "explain", "book.yaml", "", cwd=root) == ["look", "done"]
    assert complete(script, "gert", "explain", "book.yaml", "look", "d", cwd=root) == ["done"]
    assert complete(script, "gert", "explain", "", cwd=root) == [], "the shell completes the runbook"
    assert complete(script, "gert", "runs", "show", run, "--step", "", cwd=root) == ["look"]
    assert complete(script, "gert", "runs", "logs", "latest", "l", cwd=root) == ["look"]
    assert complete(script, "gert", "runs", "logs", run[:4], cwd=root) == [run]


def test_tools_complete(script, project):
    root, _, _ = project
    found = complete(script, "gert", "tools", "show", "", cwd=root)
    assert {"look", "net/curl"} <= set(found)


def test_tab_in_a_real_shell(script, project):
    """An interactive bash: TAB completes a run id, and an input without a blank behind it."""
    root, run, _ = project
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=root,
        env={**ENVIRON, "TERM": "dumb", "PS1": "", "HISTFILE": ""},
        start_new_session=True,
    )
    os.close(theirs)

    def type_and_wait(text, wanted):
        os.write(ours, text.encode())
        seen, until = "", time.monotonic() + 30
        while wanted not in seen and time.monotonic() < until:
            if select.select([ours], [], [], 0.5)[0]:
                seen += os.read(ours, 65536).decode(errors="replace")
        assert wanted in seen, seen

    try:
        type_and_wait(f"source {script}; echo sour''ced\n", "sourced")
        type_and_wait(f"echo gert; : ; gert runs show {run[:4]}\t", f"gert runs show {run} ")
        type_and_wait("\x15gert exec book.yaml --var z\t", "--var zone=")
        type_and_wait("eu\x01echo [\x05]\n", "[gert exec book.yaml --var zone=eu]")
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def test_files_are_left_to_the_shell(script):
    assert complete(script, "gert", "exec", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_know_every_command(shell, tmp_path):
    code, text, _ = gert("completion", shell)
    assert code == 0
    for path in LEAVES:
        assert path.rpartition(" ")[2] in text
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(text)
        subprocess.run([shell, "-n", str(file)], check=True)


def test_another_shell_is_refused():
    code, _, said = gert("completion", "tcsh")
    assert code == 2
    assert "bash, zsh, fish" in said


def test_every_command_has_examples():
    assert sorted(EXAMPLES) == sorted(LEAVES)


@pytest.mark.parametrize("command", LEAVES)
def test_examples_use_options_that_exist(command):
    known = {name for name, _ in ENTRIES[command].options}
    for typed, why in EXAMPLES[command]:
        words = shlex.split(typed.partition(" > ")[0])
        assert words[: 1 + len(command.split())] == ["gert", *command.split()]
        assert {word for word in words if word.startswith("-")} <= known, typed
        assert why


@pytest.mark.parametrize("command", LEAVES)
def test_help_shows_the_examples_line_by_line(command):
    code, said, _ = gert(*command.split(), "--help")
    assert code == 0
    for typed, _ in EXAMPLES[command]:
        assert any(line.startswith(f"    {typed}  ") for line in said.splitlines()), said
    named_by_type = [line for line in said.splitlines() if line.startswith("  -") and "<" in line]
    assert not named_by_type


@pytest.mark.parametrize("group", [path for path in ENTRIES if path and path not in LEAVES])
def test_help_of_a_group_shows_an_example_of_each_command_and_cuts_nothing_off(group):
    code, said, _ = gert(group, "--help")
    assert code == 0
    for command, _ in ENTRIES[group].commands:
        assert f"    {EXAMPLES[f'{group} {command}'][0][0]}  " in said
    assert not [line for line in said.splitlines() if line.endswith("...") and "[ARGS]" not in line]


def test_a_mistyped_command_is_put_right():
    for wrong, right in (("vaildate", "validate"), ("exce", "exec"), ("inti", "init"), ("resum", "resume")):
        code, _, said = gert(wrong)
        assert code == 2
        assert f"did you mean `gert {right}`?" in said


def test_commands_of_plugins_complete(script):
    assert complete(script, "gert", "watc") == ["watch"]
    assert complete(script, "gert", "watch", "book.yaml", "--fail-on", "e") == ["escalated"]
    assert complete(script, "gert", "watch", "--he") == ["--help"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_of_plugins_that_are_left_out_do_not(shell):
    assert re.search(r"\bwatch\b", gert("completion", shell)[1])
    assert not re.search(r"\bwatch\b", gert("-p", "no:gert-watch", "completion", shell)[1])
