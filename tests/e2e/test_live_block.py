"""What is seen on a real terminal while a run happens: finished steps scroll, below them a block shows what runs now."""

from __future__ import annotations

import io
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from screens import OnScreen
from shell import Shell, wait_for

from gert_core.cli.render.caught import Caught
from gert_core.cli.render.progress import TerminalProgress
from gert_core.engine.progress import StepInfo

INPUTS = "{ effects: [network], idempotent: true, inputs: { s: {} } }"


@pytest.fixture
def shell(tmp_path) -> Shell:
    shell = Shell(tmp_path)
    shell.program("script", 'eval "$1"')
    shell.tool("script", '["script", "{{ .s }}"]', contract=INPUTS)
    return shell


def on_screen(shell: Shell, *words: str, columns: int = 80, rows: int = 24, **environ: str) -> OnScreen:
    return OnScreen(
        shell.command("exec", "book.yaml", *words),
        cwd=shell.root,
        environ={**shell.environ, "NO_COLOR": "1", **environ},
        columns=columns,
        rows=rows,
    )


def step(name: str, script: str, more: str = "") -> str:
    return f'{{ id: {name}, type: tool, tool: script, inputs: {{ s: "{script}" }}{more} }}'


def held(text: str, number: int = 0) -> str:
    """A script that writes a text and waits until it may go on."""
    file = f"go{number or ''}"
    return f"echo {text}; {until(file)}"


def until(file: str) -> str:
    """Wait for a file, half a minute at most: whoever should make it may have been killed."""
    return f"for _ in $(seq 600); do test -e {file} && break; sleep 0.05; done"


def timeless(lines: list[str]) -> list[str]:
    return [re.sub(r"\b\d+(\.\d+)?s\b", "T", line) for line in lines]


def branches(count: int) -> str:
    made = "\n".join(f"    - {{ steps: [ {step(f's{n}', held(f'line {n}'))} ] }}" for n in range(count))
    return f"- id: fork\n  type: parallel\n  max_parallel: {count}\n  branches:\n{made}\n"


SHOWN = f"""
- {step("first", "true")}
- id: fork
  type: parallel
  branches:
    - {{ label: left, steps: [ {step("pull", held("layer 3"))} ] }}
    - {{ label: right, steps: [ {step("drain", held("connections 12"))} ] }}
- {
    step(
        "each",
        "test {{ .n }} != b || exit 1; test {{ .n }} != d || " + until("go2"),
        ', continue_on_fail: true, for_each: { as: n, over: [a, b, c, d, e, f], key: "{{ .n }}" }',
    )
}
"""


def test_what_runs_stands_below_what_is_over(shell):
    shell.book(SHOWN, tools="script")
    with on_screen(shell) as seen:
        seen.until(lambda s: "layer 3" in str(s.block) and "connections" in str(s.block))
        assert timeless(seen.lines)[:2] == ["✓ first  tool  T", "▸ fork  parallel"]
        assert timeless(seen.block) == [
            "book  T  1 done, 2 running",
            "→ pull  tool [left]  T  layer 3",
            "→ drain  tool [right]  T  connections 12",
        ]
        (shell.root / "go").touch()
        seen.until(lambda s: "3/6" in str(s.block))
        assert timeless(seen.block) == [
            "book  T  5 done, 1 failed, 1 running",
            "→ each  ███░░░ 3/6  1 failed  T",
            "→ each[d]  tool  T",
        ]
        (shell.root / "go2").touch()
        seen.end()
    assert seen.code == 0
    assert seen.screen.wrapped == sum(len(line) > 80 for line in seen.raw.decode().splitlines())
    shown = timeless(seen.everything)
    assert sum(line.startswith("→") or "running" in line for line in shown) == 0, "the block is gone"
    assert shown.count("✓ first  tool  T") == 1
    assert "  ✓ pull  tool [left]  T" in shown
    assert "  steps: 9 done, 1 failed and continued" in shown


@pytest.mark.parametrize(("columns", "rows", "most"), [(20, 5, 1), (80, 24, 8), (200, 50, 10)])
def test_a_hundred_steps_take_a_third_of_the_height_at_most(shell, columns, rows, most):
    shell.book(branches(100), tools="script")
    with on_screen(shell, columns=columns, rows=rows) as seen:
        seen.until(lambda s: len(s.block) == most and ("running" in str(s.block) or columns == 20))
        seen.until(lambda s: f"+{100 - (most - 2)} more" in s.block or most == 1).frames(2)
        assert len(seen.block) == most
        assert all(len(line) < columns for line in seen.block)
        assert seen.screen.wrapped == 0
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0
    assert b"101 done" in seen.raw, "a hundred and the end"
    assert len(re.findall(r"✓ s\d+ ", "\n".join(seen.everything))) == 100


def test_the_block_follows_the_size_of_the_terminal(shell):
    shell.book(f"- {step('first', 'true')}\n{branches(12)}", tools="script")
    with on_screen(shell) as seen:
        seen.until(lambda s: "+6 more" in s.block)
        for columns, rows, most in ((40, 12, 4), (100, 30, 10), (30, 9, 3), (80, 24, 8)):
            seen.resize(columns, rows)
            fits = lambda s, most=most, columns=columns: len(s.block) == most and max(map(len, s.block)) < columns  # noqa: E731
            wrapped = seen.until(fits).screen.wrapped  # what was drawn before may still be on its way
            assert fits(seen.frames(3))
            assert seen.screen.wrapped == wrapped
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0
    assert sum("running" in line for line in seen.everything) == 0


def test_wide_combining_and_control_characters_stay_in_their_line(shell):
    wide, marks = "中文字符" * 12, "e\\\\314\\\\201" * 40
    scripts = (f"echo {wide}", f"printf '{marks}'", "printf 'a\\\\033[2J\\\\033[31mred\\\\007\\\\tend'")
    listed = "\n".join(
        f"    - {{ steps: [ {step(f's{n}', f'{script}; {held(chr(39) * 2)}')} ] }}" for n, script in enumerate(scripts)
    )
    shell.book(f"- id: fork\n  type: parallel\n  branches:\n{listed}\n", tools="script")
    with on_screen(shell, columns=70) as seen:
        seen.until(lambda s: all(text in str(s.block) for text in ("中文", "é", "red"))).frames(2)
        assert len(seen.block) == 4
        assert seen.screen.wrapped == 0
        assert any(r"a\u001b[2J\u001b[31mred" in line for line in seen.block)
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0
    assert b"\x1b[2J" not in seen.raw
    assert b"\x07" not in seen.raw


def test_secrets_are_masked_while_they_are_written(shell):
    book = shell.book(
        f"- {step('login', 'printf sesame; sleep 0.3; echo -opensesame; ' + held('ready'))}", tools="script"
    )
    book.write_text(book.read_text().replace("  name: book", "  name: book\n  inputs: { pw: { secret: true } }"))
    with on_screen(shell, "-v", "--var", "pw=sesame-opensesame") as seen:
        seen.until(lambda s: "ready" in str(s.block))
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0
    assert "login | <REDACTED:pw>" in seen.everything
    assert b"sesame" not in seen.raw


def test_a_question_is_not_drawn_over(shell):
    steps = f"""
    - id: fork
      type: parallel
      branches:
        - {{ steps: [ {step("slow", held("working"))} ] }}
        - {{ steps: [ {{ id: ask, type: manual, instructions: "Look at the lamp" }} ] }}
    """
    shell.book(steps, tools="script")
    with on_screen(shell) as seen:
        seen.until(lambda s: "lamp" in str(s.lines))
        wait_for(lambda: shell.trace().read_text().count('"step_start"') == 3)
        asked = seen.lines
        assert not seen.block
        seen.type("\n")
        seen.until(lambda s: "working" in str(s.block))
        assert [line for line in asked if line in seen.lines] == asked
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0


def test_a_run_that_is_interrupted_twice_leaves_the_screen_in_order(shell):
    """The second interrupt ends a run whose step does not stop: the block goes, and what to type next is said."""
    shell.book(f"- {step('stuck', 'trap : TERM; ' + held('working'))}", tools="script")
    with on_screen(shell) as seen:
        seen.until(lambda s: "working" in str(s.block))
        seen.process.send_signal(signal.SIGINT)
        seen.frames(2)
        seen.process.send_signal(signal.SIGINT)
        seen.end()
    assert seen.code == 130
    run = shell.runs()[0].name
    shown = "".join(seen.everything)  # a line may be longer than the screen
    assert "running" not in shown
    assert f"cancelled before run {run} stopped by itself; its programs were killed" in shown
    assert f"next: gert resume --run {run}  # resume the run where it stopped" in shown
    (shell.root / "go").touch()
    assert "resolved (ok)" in shell.gert("resume", "--run", run).stdout


def test_the_screen_is_closed_once_by_two_threads(tmp_path):
    """The second interrupt closes it while the run that it ends closes it too; each descriptor is given back once."""
    with (tmp_path / "terminal").open("w", encoding="utf-8") as stream:
        progress = TerminalProgress(io.StringIO())
        progress._caught = Caught([stream.fileno()], lambda _: time.sleep(0.3), str)
        stream.write("something to print\n")
        stream.flush()
        with ThreadPoolExecutor() as pool:
            ends = [pool.submit(progress.close) for _ in range(2)]
            assert [end.result(5) for end in ends] == [None, None]


def test_ten_mebibytes_are_shown_by_their_last_line(shell):
    shell.book(
        f"- {step('much', 'yes 0123456789012345678901234567890 | head -c 10000000; ' + held('finished'))}",
        tools="script",
    )
    with on_screen(shell) as seen:
        seen.until(lambda s: "finished" in str(s.block))
        (shell.root / "go").touch()
        seen.end()
    assert len(seen.raw) < 200_000


def test_drawing_a_hundred_steps_takes_a_small_part_of_a_core():
    """Time of the processor, which does not depend on what else the machine does; it takes a thirtieth of this."""
    stream = io.StringIO()
    progress = TerminalProgress(stream, live=True)
    for number in range(100):
        step = StepInfo(key=f"fork/{number}/s{number}", step_id="s", type="tool", depth=1, leaf=True, label="left")
        progress.started(step)
        progress._live.leaves[step.key].line = "layer 3 of 7 中文 " * 20
    began = time.thread_time()
    for _ in range(50):
        progress._screen.draw(progress._live.lines(200, 50))
    per_frame = (time.thread_time() - began) / 50
    progress.close()
    assert per_frame * 5 < 0.05
