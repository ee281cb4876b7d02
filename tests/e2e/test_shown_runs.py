"""What is shown of a run without a terminal: -v, -vv, -q, --progress, long steps, failures for GitHub, totals."""

from __future__ import annotations

import io
import json
import re
import threading

import pytest
from gertproc import Gert

from gert_core.cli.render.progress import TerminalProgress
from gert_core.engine.progress import StepInfo

TOOL = """\
apiVersion: tool/v0
meta: { name: sh, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { s: {} } }
actions: { do: { argv: [sh, -c, "{{ .s }}"] } }
"""
END = "  - { id: done, type: end, outcome: { category: resolved, code: fine } }\n"
TALK = '  - { id: talk, type: tool, tool: sh, inputs: { s: "echo out; echo err >&2; printf half" } }\n'
FAIL = "  - { id: fail, type: tool, tool: sh, inputs: { s: \"seq 120 >&2; echo '::error::100%' >&2; exit 3\" } }\n"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GERT_ACTOR="olga")
    made.write(tool_sh=TOOL)
    return made


def book(gert: Gert, steps: str, meta: str = "") -> None:
    gert.write(book=f"apiVersion: kernel/v0\nmeta: {{ name: book{meta} }}\ntools: [sh]\nsteps:\n{steps}{END}")


def lines(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d+s", "T", line) for line in text.splitlines()]


def test_v_prints_what_tools_write_behind_the_name_of_the_step(gert):
    book(gert, TALK)
    said = gert("exec", "book.yaml", "-v")
    assert sorted(lines(said.err)) == ["talk ! err", "talk | half", "talk | out", "✓ done  end  T", "✓ talk  tool  T"]
    assert lines(said.err).index("talk | out") < lines(said.err).index("✓ talk  tool  T")


def test_vv_prints_the_types_of_events_too(gert):
    book(gert, TALK)
    for words in (["-vv"], ["-v", "-v"], ["--verbose", "--verbose"]):
        shown = lines(gert("exec", "book.yaml", *words).err)
        assert "· run_start" in shown
        assert "· step_complete  talk" in shown
        assert "talk | out" in shown
    assert "· run_start" not in lines(gert("exec", "book.yaml", "-v").err)


def test_marks_are_ascii_where_the_encoding_has_no_others(gert):
    book(gert, TALK)
    said = gert("exec", "book.yaml", answers="\n", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert lines(said.err) == ["+ talk  tool  T", "+ done  end  T"]
    assert said.out.startswith("+ Outcome: resolved (fine) [real]\n")


def test_q_shows_only_the_result(gert):
    book(gert, TALK)
    said = gert("exec", "book.yaml", "-q")
    assert (said.code, said.err) == (0, "")
    assert lines(said.out)[0] == "✓ Outcome: resolved (fine) [real]"
    book(gert, FAIL)
    said = gert("exec", "book.yaml", "--quiet")
    assert (said.code, said.err) == (1, "")
    assert "✗ Run failed [real]" in said.out
    asked = gert("exec", "book.yaml", "-q", "--json")
    assert (asked.err, asked.document["status"]) == ("", "failed")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--progress", "loud"], "--progress takes auto, live, plain, json, not 'loud'; nothing was run"),
        (["-q", "-v"], "-q shows only the result, and -v more than that; nothing was run"),
        (["-q", "--progress", "json"], "-q shows only the result, and --progress json more than that; nothing was run"),
        (["--progress", "live"], "--progress live draws on a terminal, and there is none; nothing was run"),
    ],
)
@pytest.mark.parametrize("verb", [["exec", "book.yaml"], ["resume", "--run", "RUN"]], ids=["exec", "resume"])
def test_what_does_not_go_together_is_refused_before_anything_runs(gert, words, message, verb):
    book(gert, TALK)
    run = ""
    if verb[0] == "resume":
        book(gert, FAIL)
        gert("exec", "book.yaml")
        run, words = gert.run().name, [*words, "--retry-failed"]
    before = len(gert.runs())
    said = gert(*[word.replace("RUN", run) for word in verb], *words)
    assert (said.code, message in said.err) == (2, True), said.all
    assert len(gert.runs()) == before


def test_json_writes_the_notices_of_hosts_line_by_line(gert):
    book(gert, TALK + FAIL)
    said = gert("exec", "book.yaml", "--progress", "json", "--json")
    told = [json.loads(line) for line in said.err.splitlines()]
    assert [one["number"] for one in told] == list(range(1, len(told) + 1))
    assert {one["run_id"] for one in told} == {gert.run().name}
    kinds = [one["kind"] for one in told]
    assert (kinds[0], kinds[-1], kinds.count("end")) == ("event", "end", 1)
    assert told[-1]["data"]["result"] == said.document
    events = [one["data"] for one in told if one["kind"] == "event"]
    assert events == gert.events()
    output = [(one["step_key"], one["data"]["stream"], one["data"]["text"]) for one in told if one["kind"] == "output"]
    assert ("talk", "stdout", "out\nhalf") in output or ("talk", "stdout", "out\n") in output
    assert ("talk", "stderr", "err\n") in output
    (command, _) = [one["data"] for one in told if one["kind"] == "command"]
    assert command["command"][:2] == ["sh", "-c"]


def test_a_question_is_a_notice_and_its_answer_a_line(gert):
    book(gert, "  - { id: ask, type: manual, instructions: Look. }\n")
    said = gert("exec", "book.yaml", "--progress", "json", answers="yes\n")
    assert said.code == 0, said.all
    told = [json.loads(line) for line in said.err.splitlines()]
    (asked,) = [one for one in told if one["kind"] == "question"]
    assert (asked["step_key"], asked["data"]["question_id"], asked["data"]["kind"]) == ("ask", "q1", "confirm")
    assert asked["data"]["instructions"] == "Look."
    (answer,) = [one["data"] for one in told if one["kind"] == "answered"]
    assert answer == {"question_id": "q1", "by": "", "declined": False}


@pytest.mark.parametrize("store", [(), ("--store", "sqlite:runs.db")], ids=["directory", "store"])
def test_an_approval_says_what_changed_since_the_last_one(gert, store):
    rules = ", inputs: { n: { type: string, default: a } }, governance: { rules: [ { effects: [network], RULE } ] }"
    book(gert, TALK, meta=rules.replace("RULE", "action: require-approval, exclude_actor: false"))

    def asked(*words: str) -> dict:
        said = gert("exec", "book.yaml", "--approval", "inbox", "--progress", "json", "--json", *words, *store)
        assert said.code == 0, said.all
        told = [json.loads(line) for line in said.err.splitlines()]
        (one,) = [one for one in told if one["kind"] == "approval"]
        assert one["step_key"] == "talk"
        return one["data"]

    first = asked()
    assert first["since_last"] is None
    ticket = first["request"]["ticket_id"]
    assert gert("approve", ticket, "--as", "ann", *store).code == 0
    assert gert("resume", "latest", *store).code == 0
    again = asked()["since_last"]
    assert (again["ticket_id"], again["approvers"], again["changed"]) == (ticket, ["ann"], [])
    (gert.root / "book.yaml").write_text((gert.root / "book.yaml").read_text() + "# changed\n")
    assert [one["field"] for one in asked()["since_last"]["changed"]] == ["runbook"]


def test_an_error_before_the_run_is_the_end_of_the_notices(gert):
    book(gert, TALK, meta=", inputs: { host: { type: string, required: true } }")
    said = gert("exec", "book.yaml", "--progress", "json", "--no-input", "--json")
    assert said.code == 2
    (told,) = [json.loads(line) for line in said.err.splitlines()]
    assert (told["kind"], told["data"]["error"]["kind"]) == ("end", said.document["error"]["kind"])


def test_a_failing_run_ends_with_what_failed_where_and_what_to_do(gert):
    book(gert, TALK + FAIL)
    said = gert("exec", "book.yaml")
    run = gert.run().name
    shown = lines(said.out)
    at = shown.index("✗ Run failed [real]")
    assert shown[at - 1] == "  steps: 1 done, 1 failed"
    assert shown[at:] == [
        "✗ Run failed [real]",
        "  step fail (book.yaml:6): sh exited with code 3: ::error::100% (exit_code)",
        """    command: sh -c 'seq 120 >&2; echo '"'"'::error::100%'"'"' >&2; exit …        exit code: 3        attempt: 1""",
        "    stderr, last 8 of 121 lines:",
        *[f"      {number}" for number in range(114, 121)],
        "      | ::error::100%",
        f"  next: gert resume --run {run} --retry-failed",
        f"  more: gert runs show {run} --step fail",
    ]


def test_github_is_told_the_place_of_a_failure(gert):
    book(gert, FAIL)
    assert "::error file" not in gert("exec", "book.yaml").err
    for words in ((), ("-q",), ("--json",)):
        said = gert("exec", "book.yaml", *words, GITHUB_ACTIONS="true")
        message = "step fail: sh exited with code 3: ::error::100%25 (exit_code)"
        assert f"::error file=book.yaml,line=5::{message}" in said.err.splitlines()
        assert not [line for line in said.all.splitlines() if line.strip().startswith("::error::")]


def test_the_result_counts_steps_and_names_who_approved(gert):
    rules = ", governance: { rules: [ { effects: [network], action: require-approval } ] }"
    soft = '  - { id: soft, type: tool, tool: sh, inputs: { s: "exit 1" }, continue_on_fail: true }\n'
    never = '  - { id: never, type: tool, tool: sh, inputs: { s: "exit 1" }, when: false }\n'
    book(gert, TALK + soft + never, meta=rules)
    said = gert("exec", "book.yaml", answers="y ann\ny ben\n")
    assert said.code == 0, said.all
    assert lines(said.out)[-2:] == [
        "  steps: 2 done, 1 skipped, 1 failed and continued",
        "  approvals: talk by ann, soft by ben",
    ]
    said = gert("exec", "book.yaml", answers="n ann: not today\n")
    assert "  approvals: talk rejected" in said.out


def test_failed_looks_of_a_wait_are_no_steps_that_failed(gert):
    look = (
        '      - { id: look, type: tool, tool: sh, inputs: { s: "echo x >> rounds; test $(wc -l < rounds) -gt 2" } }\n'
    )
    book(gert, f"  - id: up\n    type: wait\n    every: 10ms\n    timeout: 1m\n    steps:\n{look}")
    said = gert("exec", "book.yaml")
    assert said.code == 0, said.all
    assert lines(said.out)[-1] == "  steps: 2 done"
    shown = gert("runs", "show", "latest", "--json").document
    assert [step["status"] for step in shown["steps"] if step["step_id"] == "look"] == ["failed", "failed", "success"]
    assert shown["progress"]["failed"] == 0


def test_steps_of_json_results_tell_where_they_stand_and_how_long_they_took(gert):
    book(gert, TALK)
    talk, done = gert("exec", "book.yaml", "--json").document["steps"]
    assert (talk["file"], talk["line"], done["line"], talk["waited"]) == ("book.yaml", 5, 6, None)
    assert re.fullmatch(r"\d+\.\d{3}s", talk["duration"])


class Listening(io.StringIO):
    """A stream that tells when a text has come."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.came = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        if self.text in self.getvalue():
            self.came.set()
        return count


def test_a_step_that_takes_long_gets_a_line_and_then_one_again_and_again():
    stream = Listening("… restart 3s")
    progress = TerminalProgress(stream, start=0.1, again=1.0)
    progress.started(StepInfo(key="restart", step_id="restart", type="tool", depth=1, leaf=True))
    assert stream.came.wait(30)
    progress.close()
    told = ["  → restart  tool", "  … restart 1s", "  … restart 2s", "  … restart 3s"]
    assert stream.getvalue().splitlines()[:4] == told
    assert [thread.name for thread in threading.enumerate() if thread.name == "gert-pulse"] == []
