"""What a tool that takes long writes is in a file of the run while it runs, for ``gert runs logs`` and after a kill."""

from __future__ import annotations

import os
import signal
import stat

import pytest
from shell import Shell, wait_for

from gert_core.runs.outputs import file_name

TOKEN = "h5Kq-Zw82-Lr01"
READS = "{ effects: [network], idempotent: true }"
WRITES = "{ effects: [network], writes: [host], idempotent: false }"
SLOW = 'echo "begun with $SLOW_TOKEN"\necho complaint >&2\n%s\necho "last $SLOW_TOKEN"\n'


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.environ["SLOW_TOKEN"] = TOKEN
    made.book("- { id: a, type: tool, tool: slow }", tools="slow")
    tool(made)
    return made


def tool(shell: Shell, *, contract: str = READS, more: str = "") -> None:
    shell.tool("slow", '["slow"]', contract=contract, more=more)
    file = shell.root / "tools/slow.tool.yaml"
    file.write_text(file.read_text() + "secrets: [{ env: SLOW_TOKEN }]\n")


def logs(shell: Shell) -> list:
    return sorted(shell.root.glob("runs/*/output/*.log"))


def run_id(shell: Shell) -> str:
    return shell.trace().parent.name


def killed(shell: Shell) -> None:
    """Kill gert when its tool has written for more than a second."""
    shell.program("slow", SLOW % "sleep 1.5; echo more; touch going; exec sleep 60")
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: (shell.root / "going").exists() and logs(shell) and "more" in logs(shell)[0].read_text(), 20)
    children = (shell.trace().parent / "children").read_text()
    running.kill()
    running.communicate(timeout=10)
    for part in children.split('"pid":')[1:]:
        os.kill(int(part.split(",")[0]), signal.SIGKILL)


def test_a_call_that_takes_more_than_a_second_is_kept_masked_for_its_owner(shell):
    shell.program("slow", SLOW % "sleep 1.3")
    shell.gert("exec", "book.yaml")
    (log,) = logs(shell)
    assert log.name.startswith("a-")
    assert log.name.endswith(".1.log")
    assert sorted(log.read_text().splitlines()) == [
        "begun with <REDACTED:SLOW_TOKEN>",
        "complaint",
        "last <REDACTED:SLOW_TOKEN>",
    ]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    said = shell.gert("runs", "logs", run_id(shell)).stdout.splitlines()
    assert said[0] == "▸ a"
    assert "  last <REDACTED:SLOW_TOKEN>" in said
    (row,) = shell.json("runs", "logs", run_id(shell), "a")["logs"]
    assert (row["step_key"], row["attempt"], row["call"]) == ("a", 1, 1)


def test_a_short_call_makes_no_file_and_is_shown_from_the_trace(shell):
    shell.program("slow", SLOW % "true")
    shell.gert("exec", "book.yaml")
    assert not (shell.trace().parent / "output").exists()
    assert "  last <REDACTED:SLOW_TOKEN>" in shell.gert("runs", "logs", run_id(shell)).stdout.splitlines()


@pytest.mark.parametrize("plant", ["link", "pipe", "directory", "large"])
def test_a_planted_file_is_named_and_left_out(shell, plant):
    """What the trace has of the call is shown, and every other call."""
    shell.program("slow", SLOW % "true")
    shell.gert("exec", "book.yaml")
    folder = shell.trace().parent / "output"
    folder.mkdir(mode=0o700)
    planted = folder / file_name("a", attempt=1)
    if plant == "link":
        planted.symlink_to("/etc/passwd")
    elif plant == "pipe":
        os.mkfifo(planted)
    elif plant == "directory":
        planted.mkdir()
    else:
        with planted.open("wb") as file:
            file.truncate(1 << 40)
    said = shell.gert("runs", "logs", run_id(shell))
    assert "  last <REDACTED:SLOW_TOKEN>" in said.stdout.splitlines()
    (told,) = said.stderr.splitlines()
    assert told.startswith("left out: ")
    assert str(planted.relative_to(shell.root)) in told
    found = shell.json("runs", "logs", run_id(shell))
    assert (len(found["logs"]), len(found["unreadable"])) == (1, 1)


def test_output_is_there_after_a_kill(shell):
    killed(shell)
    said = shell.gert("runs", "logs", run_id(shell), "a").stdout
    assert said.splitlines()[0] == "▸ a"
    assert "  begun with <REDACTED:SLOW_TOKEN>" in said
    assert "  more" in said
    assert TOKEN not in said


def test_the_decision_about_an_unknown_outcome_is_asked_for_with_the_last_line(shell):
    tool(shell, contract=WRITES)
    killed(shell)
    said = shell.gert("resume", "--run", run_id(shell), code=1).stderr
    assert "cannot determine whether a took effect" in said
    assert "the last line a wrote: more" in said
    assert f"gert runs logs {run_id(shell)} shows what it wrote; look, then: gert resume" in said


def test_an_action_with_secret_outputs_is_not_kept(shell):
    contract = READS.replace("idempotent", "outputs: { word: { type: string, secret: true } }, idempotent")
    tool(shell, contract=contract, more="extract: { word: { pattern: '(.+)' } }")
    shell.program("slow", "sleep 1.3; echo some-secret-word")
    shell.gert("exec", "book.yaml")
    assert logs(shell) == []


def test_each_attempt_has_a_log(shell):
    shell.program("slow", 'echo x >> tries\necho "try $(wc -l < tries)"\nsleep 1.2\n[ $(wc -l < tries) -ge 2 ]')
    shell.book("- { id: a, type: tool, tool: slow, retry: { max: 2, delay: 10ms } }", tools="slow")
    shell.gert("exec", "book.yaml")
    assert shell.gert("runs", "logs", run_id(shell)).stdout.splitlines() == [
        "▸ a",
        "  try 1",
        "▸ a  attempt 2",
        "  try 2",
    ]


def test_a_step_that_the_run_does_not_have_is_named(shell):
    shell.program("slow", "true")
    shell.gert("exec", "book.yaml")
    said = shell.gert("runs", "logs", run_id(shell), "b", code=1).stderr
    assert "has no step 'b'" in said
    assert f"gert runs show {run_id(shell)} lists its steps" in said
    assert "nothing that its tools wrote is kept" in shell.gert("runs", "logs", run_id(shell)).stderr


def test_a_directory_that_cannot_be_written_is_one_warning(shell):
    shell.program("slow", SLOW % "ln -s /tmp runs/$(ls runs)/output; sleep 1.3")
    said = shell.gert("exec", "book.yaml")
    assert said.stderr.count("what tools write is not kept in") == 1
    assert not list(shell.root.glob("runs/*/output/a-*"))


def test_logs_and_steps_are_followed_until_the_run_ends(shell):
    shell.program("slow", SLOW % "sleep 1.2; echo more; touch going; while [ ! -e go ]; do sleep 0.02; done")
    shell.program("quick", "echo at once; exit 3")
    shell.tool("quick", '["quick"]')
    shell.book("- { id: a, type: tool, tool: slow }\n- { id: b, type: tool, tool: quick }", tools="slow, quick")
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "going").exists, 20)
    following = [shell.start("runs", *words, "-f") for words in (("logs", "latest"), ("show", "latest"))]
    assert following[0].stdout.readline() == "▸ a\n"
    assert sorted(following[0].stdout.readline() for _ in range(3)) == [
        "  begun with <REDACTED:SLOW_TOKEN>\n",
        "  complaint\n",
        "  more\n",
    ]
    assert "run_start" in following[1].stdout.readline()
    (shell.root / "go").touch()
    running.communicate(timeout=20)
    logged, shown = (process.communicate(timeout=20)[0] for process in following)
    assert logged == "  last <REDACTED:SLOW_TOKEN>\n▸ b\n  at once\n"
    assert "run_complete" in shown.partition("\n\n")[0]
    assert "status:   failed" in shown.partition("\n\n")[2]
    assert [process.returncode for process in following] == [0, 1]
    assert shell.gert("runs", "show", "latest", "--follow", "--json", code=1).stdout.startswith('{"run_id"')


def test_one_stream_of_calls_that_have_ended(shell):
    shell.program("slow", "echo out; echo bad >&2")
    shell.gert("exec", "book.yaml")
    assert shell.gert("runs", "logs", "latest", "--stream", "stderr").stdout == "▸ a\n  bad\n"
    assert shell.gert("runs", "logs", "latest", "a", "--stream=stdout").stdout == "▸ a\n  out\n"
    assert "--stream takes stdout or stderr" in shell.gert("runs", "logs", "latest", "--stream", "x", code=2).stderr
    assert "leave one out" in shell.gert("runs", "logs", "latest", "-f", "--json", code=2).stdout
