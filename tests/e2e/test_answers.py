"""Questions that suspend a run: ``--questions suspend``, ``gert answer``, and the run goes on with the answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from shell import Shell, wait_for

from gert_core import host
from gert_core.testing.fake_dist import FakeDist

LOOK = """
- id: look
  type: manual
  instructions: Look at the rack.
  contract: { effects: [human], writes: [rack] }
  required_evidence:
    - { kind: checklist, name: seen, items: [lamp, fan] }
    - { kind: text, name: cause }
    - { kind: choice, name: colour, options: [red, green] }
"""
CONFIRM = "- { id: sure, type: manual, instructions: Pull the plug. }"
BOTH = """
- id: both
  type: parallel
  branches:
    - { label: one, steps: [{ id: ask_one, type: manual, instructions: one }] }
    - { label: two, steps: [{ id: ask_two, type: manual, instructions: two }] }
    - { label: three, steps: [{ id: gate, type: approval, message: May it go on? }] }
"""


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def suspended(shell: Shell, steps: str, **options: str) -> str:
    """Start a run that is suspended by a question; return its id."""
    shell.book(steps, **options)
    return str(shell.json("exec", "book.yaml", "--questions", "suspend")["run_id"])


def failure(shell: Shell, *args: str, code: int) -> dict[str, str]:
    error: dict[str, str] = shell.json(*args, code=code)["error"]
    return error


def test_a_question_suspends_the_run_until_it_is_answered(shell):
    shell.book(LOOK)
    said = shell.gert("exec", "book.yaml", "--questions", "suspend", "--pending-exit-code", "75", code=75)
    run = shell.trace().parent.name
    assert "seen (checklist: lamp, fan)" in said.stdout
    assert "\nAnswer pending [real]\n" in said.stdout
    assert f"\n  then: gert resume --run {run}  #" in said.stdout
    assert "waits for an answer" in said.stderr
    assert shell.events()[-1]["data"]["status"] == "answer_pending"
    assert shell.events()[-1]["data"]["questions"] == ["look"]
    assert shell.gert("trace", "verify", str(shell.trace())).returncode == 0
    (listed,) = shell.json("runs", "list")["runs"]
    assert (listed["status"], listed["blocked_on"]) == ("answer_pending", [{"kind": "answer", "key": "look"}])
    shown = shell.json("runs", "show", run)
    assert shown["steps"][0]["status"] == "answer_pending"
    assert shown["resume_point"] == {"needs": "answer", "steps": ["look"]}
    assert shown["progress"]["interrupted"] == []
    assert [(q["step_key"], q["name"], q["kind"]) for q in shown["questions"]] == [
        ("look", "seen", "checklist"), ("look", "cause", "text"), ("look", "colour", "choice"),
    ]  # fmt: skip
    first = shell.gert("answer", run, "look", "seen=all", "--as", "alice")
    assert f"Still open: cause, colour.\n  next: gert answer {run} look  # " in first.stdout
    half = shell.gert("runs", "show", run)
    assert "seen of step look was answered by alice" in half.stdout
    told = shell.json("answer", run, "look", "cause=dust", "colour=2")
    assert (told["missing"], [one["by"] for one in told["answers"]]) == ([], ["olga", "olga"])
    assert f"next: gert resume --run {run}" in shell.gert("runs", "show", run).stderr
    done = shell.json("resume", run)
    assert done["outcome"]["code"] == "ok"
    (complete,) = [e for e in shell.events("step_complete") if e["step_key"] == "look"]
    assert complete["data"]["outputs"] == {"seen": {"lamp": True, "fan": True}, "cause": "dust", "colour": "green"}
    answered = [(e["data"]["name"], e["data"]["by"], e["data"]["declined"]) for e in shell.events("question_answered")]
    assert answered == [("seen", "alice", False), ("cause", "olga", False), ("colour", "olga", False)]
    assert [s.get("attempts", 1) for s in done["steps"]] == [1, 1], "waiting for an answer is not another attempt"
    assert shell.gert("trace", "verify", str(shell.trace())).returncode == 0


@pytest.mark.parametrize("steps", [CONFIRM, LOOK.partition("    - { kind: text")[0]], ids=["confirm", "checklist"])
def test_the_commands_on_the_screen_work_as_they_are(shell, steps):
    shell.book(steps)
    shell.program("gert", f'exec {shlex.join(shell.command())} "$@"')
    said = shell.gert("exec", "book.yaml", "--questions", "suspend").stdout
    for lead in ("  next: ", "  then: "):
        (line,) = [line.removeprefix(lead) for line in said.splitlines() if line.startswith(lead)]
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, check=False, cwd=shell.root, env=shell.environ
        )
        assert done.returncode == 0, done.stderr
    assert "resolved (ok)" in done.stdout


def test_what_only_a_person_can_say_is_asked_for_by_the_command_on_the_screen(shell):
    run = suspended(shell, LOOK)
    typed = shell.gert("answer", run, "look", stdin="3\nall\ndust\nblue\nred\n")
    assert "Answer with numbers from 1 to 2" in typed.stderr
    assert "or with one of the answers: red, green." in typed.stderr
    assert f"  next: gert resume --run {run}\n" in typed.stdout
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


@pytest.mark.parametrize(
    ("args", "kind", "says"),
    [
        (("lok", "seen=all"), "answer_unknown", "has no step 'lok' that asks; did you mean look?"),
        (("look", "caus=x"), "answer_unknown", "step look asks for no 'caus'; did you mean cause?"),
        (("look", "cause"), "usage", "an answer takes NAME=VALUE, not a word without `=`, which is not shown here"),
        (("look", "cause=a", "cause=b"), "usage", "an answer gives 'cause' twice"),
        (("look", "seen=3"), "answer_invalid", "Answer with numbers from 1 to 2, `all` or `none`"),
        (("look", "colour=blue"), "answer_invalid", "or with one of the answers: red, green."),
        (("look", "cause= "), "answer_invalid", "An answer is needed."),
        (("look", "seen=all", "cause="), "answer_invalid", "An answer is needed."),
        (("look", "seen=all", "--reject", "no"), "usage", "--reject declines the step, so it takes no answers"),
        (("look", "seen=all", "--as", "agent:bot"), "answer_agent", "agent:bot is an agent"),
        (("look",), "answer_invalid", "the input ended before seen was answered; nothing was stored"),
    ],
)
def test_what_is_not_an_answer_is_refused_and_nothing_is_stored(shell, args, kind, says):
    run = suspended(shell, LOOK)
    error = failure(shell, "answer", run, *args, code=2)
    assert error["kind"] == kind
    assert says in error["message"]
    assert not list(shell.root.glob("runs/*/answers/*"))


def test_an_unknown_run_a_second_answer_and_a_run_that_is_over_are_said(shell):
    run = suspended(shell, CONFIRM)
    assert failure(shell, "answer", "nope", "sure", "confirm=yes", code=2)["kind"] == "run_not_found"
    shell.gert("answer", run, "sure", "confirm=yes", "--as", "alice")
    again = failure(shell, "answer", run, "sure", "confirm=yes", code=1)
    assert again["kind"] == "answer_duplicate"
    assert again["message"].startswith("confirm of step sure was answered already, by alice at 2")
    shell.gert("resume", run)
    over = failure(shell, "answer", run, "sure", "confirm=yes", code=2)
    assert over["message"] == f"run {run} is over (completed), and asks nothing"


def test_an_answer_that_was_given_names_what_is_still_open(shell):
    run = suspended(shell, LOOK)
    shell.gert("answer", run, "look", "cause=dust", "--as", "alice")
    again = failure(shell, "answer", run, "look", "cause=dust", code=1)
    assert (again["kind"], again["hint"]) == (
        "answer_duplicate",
        "answer what is still open: seen, colour of step look",
    )
    shell.gert("answer", run, "look", "seen=all", "colour=red", "--as", "alice")
    assert failure(shell, "answer", run, "look", "cause=dust", code=1)["hint"] == (
        f"a resumed run uses it: gert resume --run {run}"
    )


def test_a_run_that_is_being_executed_asks_by_itself(shell):
    shell.book(CONFIRM)
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, cwd=shell.root, env=shell.environ,
    )  # fmt: skip
    wait_for(lambda: list(shell.root.glob("runs/2*/trace.jsonl")) and shell.events("question_asked"))
    run = shell.trace().parent.name
    error = failure(shell, "answer", run, "sure", "confirm=yes", code=1)
    assert (error["kind"], error["message"]) == (
        "run_locked",
        f"run {run} is being executed, and asks its questions itself",
    )
    running.kill()
    running.communicate(timeout=20)
    shell.gert("answer", run, "sure", "confirm=yes")  # what was asked when it was killed can be answered
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


@pytest.mark.parametrize("how", [("--reject", "wrong rack"), ("confirm=reject wrong rack",)])
def test_a_person_who_declines_fails_the_step(shell, how):
    run = suspended(shell, CONFIRM)
    said = shell.gert("answer", run, "sure", *how, "--as", "alice")
    assert "Declined confirm of step sure as alice." in said.stdout
    done = shell.json("resume", run, code=1)
    assert (done["failure"]["kind"], done["failure"]["message"]) == ("rejected", "wrong rack")
    (answered,) = shell.events("question_answered")
    assert (answered["data"]["declined"], answered["principal"]["id"]) == (True, "alice")
    (complete,) = shell.events("step_complete")
    assert complete["principal"] == {"kind": "human", "id": "alice"}
    again = shell.json("resume", run, "--retry-failed")
    assert again["status"] == "answer_pending", "an answer serves one execution"
    shell.gert("answer", run, "sure", "confirm=y")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_an_incomplete_checklist_is_asked_about_once_more(shell):
    run = suspended(shell, LOOK.partition("    - { kind: text")[0])
    shell.gert("answer", run, "look", "seen=1")
    assert [q["items"] for q in shell.json("resume", run)["questions"]] == [["fan"]]
    shell.gert("answer", run, "look", "seen=yes")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"
    (complete,) = [e for e in shell.events("step_complete") if e["step_key"] == "look"]
    assert complete["data"]["outputs"] == {"seen": {"lamp": True, "fan": True}}


def test_a_file_is_copied_when_it_is_given(shell):
    steps = "- { id: m, type: manual, instructions: x, required_evidence: [{ kind: attachment, name: photo }] }"
    run = suspended(shell, steps)
    error = failure(shell, "answer", run, "m", "photo=none.png", code=2)
    assert "There is no such file, or it cannot be read." in error["message"]
    shell.write("rack.png", "picture")
    shell.gert("answer", run, "m", "photo=rack.png")
    (shell.root / "rack.png").unlink()
    shell.json("resume", run)
    (complete,) = [e for e in shell.events("step_complete") if e["step_key"] == "m"]
    assert complete["data"]["outputs"]["photo"]["name"] == "rack.png"
    assert (shell.root / "runs" / run / "attachments" / "rack.png").read_text() == "picture"


FILES = """
- id: m
  type: manual
  instructions: x
  required_evidence:
    - { kind: text, name: cause }
    - { kind: attachment, name: photo }
    - { kind: attachment, name: log }
"""


def kept(shell: Shell) -> list[str]:
    """Return the names of the answers and files that wait for a run."""
    return sorted(file.name for kind in ("answers", "uploads") for file in shell.root.glob(f"runs/*/{kind}/*"))


@pytest.mark.parametrize("given", ["/proc/self/environ", "token.txt"])
def test_a_file_that_is_refused_stores_none_of_the_answers(shell, given):
    shell.environ["TOKEN"] = "hunter2-value"
    run = suspended(shell, FILES, meta="secrets: [{ env: TOKEN }]")
    shell.write("token.txt", "hunter2-value")
    shell.write("rack.png", "picture")
    error = failure(shell, "answer", run, "m", "cause=tpyo", "photo=rack.png", f"log={given}", code=2)
    assert error["kind"] == "attachment"
    assert kept(shell) == []
    shell.gert("answer", run, "m", "cause=typo", "photo=rack.png", "log=rack.png")
    shell.json("resume", run)
    (complete,) = [e for e in shell.events("step_complete") if e["step_key"] == "m"]
    assert complete["data"]["outputs"]["cause"] == "typo"
    assert complete["data"]["outputs"]["photo"]["name"] == "rack.png"


def test_of_answers_that_come_too_late_for_one_question_none_is_stored(shell):
    run = suspended(shell, FILES)
    shell.write("rack.png", "picture")
    typing = subprocess.Popen(
        shell.command("answer", run, "m"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, cwd=shell.root, env=shell.environ,
    )  # fmt: skip
    assert typing.stderr is not None
    assert typing.stderr.readline()  # it knows what is open, and asks
    shell.gert("answer", run, "m", "log=rack.png", "--as", "alice")
    before = kept(shell)
    _, said = typing.communicate("dust\nrack.png\nrack.png\n", timeout=20)
    assert "log of step m was answered already" in said
    assert typing.returncode == 1
    assert kept(shell) == before


def test_questions_of_branches_and_an_approval_beside_them_are_all_listed(shell):
    shell.book(BOTH)
    args = ("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", "--pending-exit-code", "9")
    said = shell.gert(*args, code=9).stdout
    run = shell.trace().parent.name
    assert "Approval pending [real]\n" in said
    assert f"gert answer {run} both/0/ask_one confirm=yes" in said
    assert f"gert answer {run} both/1/ask_two confirm=yes" in said
    (listed,) = shell.json("runs", "list")["runs"]
    waits = [("approval", "both/2/gate"), ("answer", "both/0/ask_one"), ("answer", "both/1/ask_two")]
    assert sorted((one["kind"], one["key"]) for one in listed["blocked_on"]) == sorted(waits)
    shown = shell.gert("runs", "list").stdout
    assert re.search(r"approval: both/2/gate; answer: both/./ask_..., both/./ask_...\n", shown)
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("answer", run, "ask_one", "confirm=yes")
    shell.gert("approve", ticket["ticket_id"], "--as", "alice")
    left = shell.json("resume", run)
    assert (left["status"], [q["step_key"] for q in left["questions"]]) == ("answer_pending", ["both/1/ask_two"])
    shell.gert("answer", run, "both/1/ask_two", "confirm=yes")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_items_of_a_loop_and_steps_in_blocks_ask_by_their_keys(shell):
    steps = """
    - id: each
      type: block
      for_each: { over: [web/1, db 2], as: host, key: "{{ .host }}", parallel: true }
      steps: [{ id: ask, type: manual, instructions: "{{ .host }}" }]
    """
    shell.book(steps)
    shell.program("gert", f'exec {shlex.join(shell.command())} "$@"')
    said = shell.gert("exec", "book.yaml", "--questions", "suspend").stdout
    run = shell.trace().parent.name
    error = failure(shell, "answer", run, "ask", "confirm=yes", code=2)
    assert error["message"] == f"2 steps 'ask' of run {run} ask"
    commands = [line.partition(": ")[2] for line in said.splitlines() if line.startswith(("  next: ", "   and: "))]
    assert len(commands) == 2
    for command in commands:
        subprocess.run(command, shell=True, check=True, capture_output=True, cwd=shell.root, env=shell.environ)
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_a_step_that_asks_inside_a_suspended_block_runs_no_cleanup(shell):
    steps = """
    - id: outer
      type: block
      steps: [{ id: ask, type: manual, instructions: x }]
      finally: [{ id: tidy, type: manual, instructions: tidy up }]
    """
    run = suspended(shell, steps)
    assert [q["step_key"] for q in shell.json("runs", "show", run)["questions"]] == ["outer/0/ask"]
    shell.gert("answer", run, "ask", "confirm=yes")
    assert [q["step_key"] for q in shell.json("resume", run)["questions"]] == ["outer/2/tidy"]
    shell.gert("answer", run, "tidy", "confirm=yes")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


@pytest.mark.parametrize("first", range(1, 5) if os.environ.get("GERT_FUZZ") else [2])  # every fourth event, or all
def test_killed_at_each_event_the_run_asks_what_is_open_and_ends_the_same(shell, first):
    run = suspended(shell, LOOK.replace("  contract: { effects: [human], writes: [rack] }\n", "") + CONFIRM)
    shell.gert("answer", run, "look", "seen=all", "cause=dust", "colour=red")
    shell.gert("resume", run)
    shell.gert("answer", run, "sure", "confirm=yes")
    shell.gert("resume", run)
    lines = shell.trace().read_bytes().splitlines(keepends=True)
    types = [json.loads(line)["type"] for line in lines]
    pauses = [number for number, name in enumerate(types, 1) if name == "run_suspended"]
    whole = shell.root / "whole"
    shutil.move(shell.root / "runs" / run, whole)
    for number in range(first, len(lines), 4):
        directory = shell.root / "runs" / run
        shutil.copytree(whole, directory)
        (directory / "trace.jsonl").write_bytes(b"".join(lines[:number]))
        (directory / "state.json").unlink(missing_ok=True)
        for file in (directory / "answers").iterdir():  # given while the run was suspended, so not before that
            if min(pause for pause in pauses if pause > int(file.stem)) > number:
                file.unlink()
        answers = {"look": ["seen=all", "cause=dust", "colour=red"], "sure": ["confirm=yes"]}
        for _ in range(4):
            told = shell.json("resume", run)
            if told["status"] == "completed":
                break
            assert told["status"] == "answer_pending", number
            step = told["questions"][0]["step_key"]
            names = {question["name"] for question in told["questions"]}
            shell.gert("answer", run, step, *[pair for pair in answers[step] if pair.partition("=")[0] in names])
        assert (told["status"], told["outcome"]["code"]) == ("completed", "ok"), number
        assert shell.gert("trace", "verify", str(shell.trace())).returncode == 0
        shutil.rmtree(directory)


def test_secrets_in_answers_are_masked_on_disk_and_put_back_for_the_tool(shell):
    shell.environ["TOKEN"] = "hunter2-hunter2"
    shell.program("keep", 'printf %s "$1" > kept\n')
    contract = "{ effects: [network], idempotent: true, inputs: { text: { type: string } } }"
    shell.tool("keep", '["keep", "{{ .text }}"]', contract=contract)
    steps = """
    - id: ask
      type: manual
      instructions: What was typed?
      required_evidence: [{ kind: text, name: said }]
    - { id: use, type: tool, tool: keep, action: do, inputs: { text: "{{ .ask.said }}" } }
    """
    run = suspended(shell, steps, tools="keep", meta="secrets: [{ env: TOKEN }]")
    shell.gert("answer", run, "ask", "said=it is hunter2-hunter2 <REDACTED:TOKEN>")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"
    assert (shell.root / "kept").read_text() == "it is hunter2-hunter2 <REDACTED:TOKEN>"
    for file in (shell.root / "runs").rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes(), file


@pytest.mark.parametrize("damage", ["broken", "link", "name", "pipe", "large"])
def test_a_damaged_answer_is_left_out_and_the_question_is_asked_again(shell, damage):
    run = suspended(shell, CONFIRM)
    shell.gert("answer", run, "sure", "confirm=yes")
    (file,) = shell.root.glob("runs/*/answers/*.json")
    if damage == "broken":
        file.write_text('{"run_id": 1}')
    elif damage == "link":
        file.rename(shell.root / "elsewhere")
        file.symlink_to(shell.root / "elsewhere")
    elif damage == "name":
        os.link(file, shell.root / "second")
    elif damage == "pipe":
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(b" " * (1024 * 1024 + 1))
    said = shell.gert("resume", run)
    assert "an answer is left out" in said.stderr
    assert "Answer pending [real]\n" in said.stdout
    shell.gert("answer", run, "sure", "confirm=yes")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_an_answer_to_a_question_that_was_worded_otherwise_does_not_count(shell):
    run = suspended(shell, CONFIRM)
    shell.gert("answer", run, "sure", "confirm=yes")
    shell.book(CONFIRM.replace("Pull the plug", "Cut the cable"))
    said = shell.gert("resume", run, "--on-drift", "allow")
    assert "the answer to confirm of step sure was given to another question; it is asked again" in said.stderr
    assert "step sure: Cut the cable." in said.stdout


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("--questions", "perhaps"), 2, "--questions takes ask, suspend or fail, not 'perhaps'"),
        (("--questions", "ask", "--no-input"), 2, "--questions ask asks, and --no-input never does"),
        (("--questions", "fail"), 1, "confirm was asked for, but questions cannot be asked here"),
        (("--no-input",), 1, "confirm was asked for, but questions cannot be asked here"),
        ((), 1, "the input ended before confirm was answered"),
    ],
)
def test_what_is_chosen_about_questions(shell, flags, code, says):
    shell.book(CONFIRM)
    said = shell.gert("exec", "book.yaml", *flags, code=code)
    assert says in said.stdout + said.stderr
    if code == 1:
        run = shell.trace().parent.name
        over = failure(shell, "answer", run, "sure", "confirm=yes", code=2)
        command = over["hint"].partition(" asks a failed")[0]
        pending = shell.json(*shlex.split(command)[1:])
        assert pending["status"] == "answer_pending"


def test_a_run_that_was_started_to_suspend_does_so_when_it_is_resumed(shell):
    run = suspended(shell, CONFIRM)
    assert shell.json("resume", run)["status"] == "answer_pending"
    assert shell.json("resume", run, "--no-input")["status"] == "answer_pending"
    assert shell.json("resume", run, "--questions", "ask", stdin="yes\n")["outcome"]["code"] == "ok"


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_other_modes_are_not_suspended(shell, mode):
    shell.book(CONFIRM)
    before = shell.gert("exec", "book.yaml", "--mode", mode, "--json", code=None)
    after = shell.gert("exec", "book.yaml", "--mode", mode, "--questions", "suspend", "--json", code=None)
    assert before.returncode == after.returncode
    assert json.loads(before.stdout)["status"] == json.loads(after.stdout)["status"] != "answer_pending"


ACTS = """
from gert_core import hookimpl
from gert_core.api import Completed, Contract, Question, StepType
from gert_core.kit.models import StepModel

class Ask(StepModel):
    pass

def run(step, ctx):
    ctx.call_tool("box", None, {})
    ctx.ask(Question(name="sure", prompt="sure? "))
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="ask", model=Ask, run=run, contract=Contract(effects=("x",), writes=("x",)), summary="Asks.")]
"""


def test_a_step_that_acted_before_it_asks_is_not_left_open(shell):
    FakeDist(directory=shell.root / "site").add("gert-step-ask", ACTS)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.tool("box", '["true"]', contract="{ effects: [x], writes: [x] }")
    shell.book("- { id: a, type: ask }", tools="box")
    done = shell.json("exec", "book.yaml", "--questions", "suspend", code=1)
    assert "sure was asked for after the step had acted, so that the run cannot be suspended" in str(done["failure"])


def test_a_host_suspends_answers_and_resumes(shell, monkeypatch):
    monkeypatch.chdir(shell.root)
    book = shell.book(LOOK)
    result = host.run(book, questions="suspend", environ=shell.environ)
    assert [question["name"] for question in result.questions] == ["seen", "cause", "colour"]
    root = Path("runs").absolute()
    left = host.answer(result.run_id, "look", {"seen": "all"}, root=root, by="alice", environ=shell.environ)
    assert left == ["cause", "colour"]
    host.answer(result.run_id, "look", {}, root=root, by="bob", reject="no time", environ=shell.environ)
    again = host.resume(result.run_id, root=root, environ=shell.environ)
    assert [(one.kind, one.message) for one in again.failures] == [("rejected", "no time")]
