"""``gert completion`` and the examples in help: every command is there, and nothing that is not."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest

from gert_core.cli.commands.completion import entries
from gert_core.cli.examples import EXAMPLES

ENTRIES = {entry.path: entry for entry in entries()}
LEAVES = [path for path, entry in ENTRIES.items() if path and not (entry.commands and path != "completion")]


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
    code = f'source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _gert; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    assert not done.stderr
    return done.stdout.split()


def test_verbs_and_commands_complete(script):
    assert complete(script, "gert", "ex") == ["exec"]
    assert complete(script, "gert", "new", "") == ["runbook", "tool", "scenario", "plugin"]
    assert complete(script, "gert", "-p", "no:x", "tr") == ["trace"]
    assert complete(script, "gert", "completion", "") == ["bash", "zsh", "fish", "--help"]


def test_options_complete_for_their_command_only(script):
    assert complete(script, "gert", "exec", "test", "--tr") == ["--trace", "--trace-sync"]
    assert complete(script, "gert", "trace", "verify", "--k") == ["--key-id"]
    assert complete(script, "gert", "runs", "list", "--k") == []


def test_values_complete(script, tmp_path):
    (tmp_path / "runs" / "20260301T120000Z-a-1f2e3d4c").mkdir(parents=True)
    assert complete(script, "gert", "exec", "a.yaml", "--mode", "d") == ["dry-run"]
    assert complete(script, "gert", "resume", "--run", "", cwd=tmp_path) == ["20260301T120000Z-a-1f2e3d4c"]


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
