"""What is seen while a run goes on: nested lines in a pipe, a live line and colours on a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from shell import Shell, chain_is_whole, wait_for

from gert_core.cli.render.progress import TerminalProgress


@pytest.fixture
def shell(tmp_path) -> Shell:
    shell = Shell(tmp_path)
    shell.program("nap", 'sleep "$1"')
    shell.tool("nap", '["nap", "{{ .s }}"]', contract="{ effects: [network], idempotent: true, inputs: { s: {} } }")
    return shell


BOOK = """
- { id: one, type: tool, tool: nap, inputs: { s: 0 }, for_each: { as: n, over: [a, b], key: "{{ .n }}" } }
- id: fork
  type: parallel
  branches:
    - { label: left, steps: [ { id: two, type: tool, tool: nap, inputs: { s: 0 } } ] }
- { id: never, type: tool, tool: nap, inputs: { s: 0 }, when: false }
"""


def test_one_line_per_step_nested_by_block(shell):
    shell.book(BOOK, tools="nap")
    done = shell.gert("exec", "book.yaml")
    lines = [re.sub(r"\d+\.\d\ds$", "T", line) for line in done.stderr.splitlines()]
    assert lines == [
        "▸ one  tool",
        "  ✓ one[a]  tool  T",
        "  ✓ one[b]  tool  T",
        "▸ fork  parallel",
        "  ✓ two  tool [left]  T",
        "○ never  tool  skipped (when)",
        "✓ done  end  T",
    ]


def on_a_terminal(shell: Shell, **environ: str) -> str:
    """What gert shows on a terminal."""
    main, side = pty.openpty()
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"),
        stdin=side,
        stdout=side,
        stderr=side,
        cwd=shell.root,
        env={**shell.environ, "TERM": "xterm", **environ},
    )
    os.close(side)
    seen = b""
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(main)
    assert running.wait(10) == 0, seen
    return seen.decode()


def test_a_terminal_gets_colours_and_a_live_line_with_the_time_so_far(shell):
    shell.book("- { id: slow, type: tool, tool: nap, inputs: { s: 0.7 } }", tools="nap")
    seen = on_a_terminal(shell)
    assert re.search(r"→\x1b\[0m slow  tool  0\.\ds", seen)
    assert "\x1b[32m✓\x1b[0m" in seen


def test_no_color_is_about_colour_only(shell):
    shell.book("- { id: slow, type: tool, tool: nap, inputs: { s: 0.7 } }", tools="nap")
    seen = on_a_terminal(shell, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*m", seen)
    assert re.search(r"→ slow  tool  0\.\ds", seen)


def test_a_terminal_that_cannot_move_up_gets_lines(shell):
    shell.book("- { id: slow, type: tool, tool: nap, inputs: { s: 0.7 } }", tools="nap")
    assert "\x1b" not in on_a_terminal(shell, TERM="dumb")


def test_nothing_is_written_into_a_dialogue():
    stream = io.StringIO()
    progress = TerminalProgress(stream)
    progress.warn("before")
    progress.hold(True)
    progress.hold(True)
    progress.warn("meanwhile")
    progress.hold(False)
    assert stream.getvalue() == "warning: before\n"
    progress.hold(False)
    assert stream.getvalue() == "warning: before\nwarning: meanwhile\n"
    progress.hold(True)
    progress.warn("left over")
    progress.close()
    progress.warn("late")
    assert stream.getvalue().endswith("warning: left over\nwarning: late\n")


FORK = """
- id: fork
  type: parallel
  branches:
    - { steps: [ { id: left, type: tool, tool: nap, inputs: { s: 0 } } ] }
    - { steps: [ { id: right, type: tool, tool: nap, inputs: { s: 0 } } ] }
"""


def test_parallel_branches_are_asked_about_one_at_a_time_and_undisturbed(shell):
    """The second question stands alone on the screen until it is answered, though the first step has finished."""
    shell.book(FORK, tools="nap", meta="governance: { rules: [ { effects: [network], action: require-approval } ] }")
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=shell.root,
        env=shell.environ,
    )
    assert running.stdin is not None
    assert running.stderr is not None
    seen = ""
    for number in (1, 2):
        while seen.count("? y|n [approver-id][: reason] ") < number:
            seen += os.read(running.stderr.fileno(), 65536).decode()
        assert seen.count("Approval needed") == number
        if number == 2:
            wait_for(lambda: "step_complete" in next(shell.root.glob("runs/*/trace.jsonl")).read_text())
            assert select.select([running.stderr], [], [], 0.3)[0] == []
        running.stdin.write(b"y ann\n")
        running.stdin.flush()
    seen += running.communicate()[1].decode()
    assert running.returncode == 0
    assert len(re.findall("✓ (left|right)", seen)) == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_nobody_opened_do_not_harm_a_run(shell, closed):
    shell.book(BOOK, tools="nap")
    command = shlex.join(shell.command("exec", "book.yaml"))
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], cwd=shell.root, env=shell.environ, check=False)
    assert done.returncode == 0
    assert chain_is_whole(shell.trace())
    assert shell.events()[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_standard_output_is_said_in_a_sentence(shell, more):
    shell.book(BOOK, tools="nap")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            shell.command("exec", "book.yaml", *more),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=shell.root,
            env=shell.environ,
            check=False,
        )
    assert done.returncode == 1
    assert "error: the output cannot be written: No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
    assert shell.events()[-1]["data"]["status"] == "completed"


def test_a_probe_says_why_it_leaves_a_step_out(shell):
    shell.tool("put", '["nap", "0"]', contract="{ effects: [network], writes: [db] }")
    shell.book("- { id: a, type: tool, tool: put }", tools="put")
    assert "· a  tool  (probe: it writes)\n" in shell.gert("exec", "book.yaml", "--mode", "probe").stdout
    assert "· a  tool\n" in shell.gert("exec", "book.yaml", "--mode", "dry-run").stdout


def test_every_cancelled_item_has_its_line(shell):
    shell.program("nap", "touch began.$$; sleep 30")
    shell.book(
        "- { id: a, type: tool, tool: nap, inputs: { s: 9 }, for_each: { as: n, over: [x, y], parallel: true } }",
        tools="nap",
    )
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: len(list(shell.root.glob("began.*"))) == 2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=15)
    assert running.returncode == 130
    assert sorted(said.splitlines()) == ["  ✗ a[0]  tool  cancelled", "  ✗ a[1]  tool  cancelled", "▸ a  tool"]
