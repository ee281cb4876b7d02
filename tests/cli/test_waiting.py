"""Waiting for something: rounds that look, what is shown of them, modes, and a run that is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from jsonschema import Draft202012Validator

TOOL = """\
apiVersion: tool/v0
meta: { name: look, binary: ./look }
contract: { effects: [], reads: [db], idempotent: true, deterministic: false }
actions:
  state:
    argv: [look]
    extract: { state: { from: stdout, pattern: "state=(\\\\w+)" } }
    contract: { outputs: { state: { type: string } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: waits }
tools: [./look.tool.yaml]
steps:
  - id: wait_db
    type: wait
    until: '{{ eq .look.state "ready" }}'
    every: 50ms
    timeout: 20s
    steps:
      - { id: look, type: tool, tool: ./look.tool.yaml, action: state }
  - { id: done, type: end, outcome: { category: resolved, code: ok, meta: { state: "{{ .look.state }}", rounds: "{{ .wait_db.rounds }}" } } }
"""
LOOK = """\
#!/bin/sh
echo x >> looks
n=$(wc -l < looks)
if [ -e fail ] && [ "$n" -lt 3 ]; then echo broken >&2; exit 3; fi
if [ "$n" -ge "$(cat enough)" ]; then echo state=ready; else echo state=starting; fi
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "look.tool.yaml").write_text(TOOL)
    (tmp_path / "look").write_text(LOOK)
    (tmp_path / "look").chmod(0o755)
    (tmp_path / "enough").write_text("3")
    (tmp_path / "book.yaml").write_text(BOOK)
    return tmp_path


def looks(here):
    return (here / "looks").read_text().count("x")


def events(here):
    (trace,) = here.glob("runs/*/trace.jsonl")
    return [json.loads(line) for line in trace.read_text().splitlines()]


def test_a_wait_is_one_line_and_its_last_look_stays_readable(gert, here):
    code, out, err = gert("exec", "book.yaml", "--json")
    assert code == 0, err
    outcome = json.loads(out)["outcome"]
    assert (outcome["meta"]["state"], int(outcome["meta"]["rounds"])) == ("ready", 3)
    lines = [line for line in err.splitlines() if "look" in line or "wait_db" in line]
    assert len(lines) == 1, err
    assert lines[0].strip().startswith("✓ wait_db")
    assert "round 3" in lines[0]
    assert [e["data"]["result"] for e in events(here) if e["type"] == "wait_round"] == [False, False, True]


def test_a_failed_look_means_not_yet_and_is_never_shown_as_a_failure(gert, here):
    (here / "fail").touch()
    code, _, err = gert("exec", "book.yaml")
    assert code == 0, err
    assert looks(here) == 3
    assert "✗" not in err
    assert "broken" not in err


def test_when_the_time_is_up_the_last_failure_is_told(gert, here):
    (here / "fail").touch()
    book = BOOK.replace("    until: '{{ eq .look.state \"ready\" }}'\n", "")
    (here / "book.yaml").write_text(book.replace("every: 50ms", "every: 9s").replace("timeout: 20s", "timeout: 1s"))
    code, _, err = gert("exec", "book.yaml")
    assert code == 1
    assert looks(here) == 2
    assert "wait_timeout: the last look failed after 2 rounds: wait_db/1/look: " in err


def test_without_a_condition_it_waits_until_all_steps_succeed(gert, here):
    (here / "fail").touch()
    (here / "book.yaml").write_text(BOOK.replace("    until: '{{ eq .look.state \"ready\" }}'\n", ""))
    code, _, err = gert("exec", "book.yaml")
    assert code == 0, err
    assert looks(here) == 3


def test_an_undefined_name_in_the_condition_means_not_yet(gert, here):
    settle = "      - { id: settle, type: wait, for: 1ms }\n"
    guarded = BOOK.replace(
        "action: state }\n", "action: state, when: '{{ ge (.settle.waited | default 0) 0.001 }}' }\n" + settle
    )
    (here / "book.yaml").write_text(guarded)
    code, _, err = gert("exec", "book.yaml")
    assert code == 0, err
    assert looks(here) == 3
    assert len([e for e in events(here) if e["type"] == "wait_round"]) == 4


def test_a_look_is_cut_by_its_own_timeout_not_by_that_of_the_wait(gert, here):
    (here / "enough").write_text("1")
    (here / "look").write_text(LOOK.replace("#!/bin/sh\n", "#!/bin/sh\nsleep 0.4\n"))
    (here / "book.yaml").write_text(BOOK.replace("timeout: 20s", "timeout: 10ms"))
    code, _, err = gert("exec", "book.yaml")
    assert code == 0, err


def test_steps_that_write_are_warned_about(gert, here):
    (here / "look.tool.yaml").write_text(TOOL.replace("reads: [db]", "writes: [db]"))
    code, out, err = gert("validate", "book.yaml")
    assert code == 0
    assert "11:9  warning  `look` writes, and `wait_db` runs it once per round  [wait-look-writes]" in out + err


def test_a_dry_run_shows_one_look_and_a_probe_does_not_wait(gert, here):
    code, out, err = gert("exec", "book.yaml", "--mode", "dry-run")
    assert code == 0, err
    assert not (here / "looks").exists()
    assert "wait_db" in out
    assert "  · look  tool\n      contract: " in out, "what is told about the look stands under its name"
    began = time.monotonic()
    code, out, err = gert("exec", "book.yaml", "--mode", "probe")
    assert code == 0, err
    assert looks(here) == 1
    assert time.monotonic() - began < 5


def test_a_scenario_gives_one_answer_per_look_and_nothing_waits(gert, here):
    scenario = here / "scenarios" / "book" / "third"
    scenario.mkdir(parents=True)
    answers = "".join(f'    - {{ stdout: "state={state}" }}\n' for state in ("starting", "starting", "ready"))
    (scenario / "scenario.yaml").write_text(f"tool_responses:\n  look:state:\n{answers}")
    (scenario / "test.yaml").write_text("expected_outcome: resolved\n")
    (here / "book.yaml").write_text(BOOK.replace("every: 50ms", "every: 1h").replace("timeout: 20s", "timeout: 5h"))
    began = time.monotonic()
    code, out, err = gert("test", "book.yaml")
    assert code == 0, out + err
    assert time.monotonic() - began < 5


def test_a_killed_run_looks_at_least_once_more(here):
    (here / "enough").write_text("1000")
    (here / "book.yaml").write_text(BOOK.replace("every: 50ms", "every: 400ms").replace("timeout: 20s", "timeout: 1s"))
    gert = [sys.executable, "-m", "gert_core"]
    process = subprocess.Popen([*gert, "exec", "book.yaml"], stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 30
    while not (here / "looks").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = looks(here)
    time.sleep(1.2)  # its time is up by now
    (here / "enough").write_text("1")
    (run,) = (here / "runs").iterdir()
    done = subprocess.run(
        [*gert, "resume", "--run", run.name, "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"]["code"] == "ok"
    assert looks(here) > before


def test_the_times_of_a_wait_take_templates(here, gert):
    """The schema allows what a run accepts; a value that is not a time is an error with the name of its field."""
    book = BOOK.replace(
        "meta: { name: waits }", "meta: { name: waits, inputs: { long: { type: string, default: 20s } } }"
    )
    book = book.replace("timeout: 20s", 'timeout: "{{ .long }}"').replace("every: 50ms", 'every: "{{ 50 }}ms"')
    (here / "book.yaml").write_text(book)
    assert gert("validate", "--strict", "book.yaml")[0] == 0
    code, out, _ = gert("schema", "runbook")
    assert (code, errors_of(json.loads(out), book)) == (0, [])
    assert errors_of(json.loads(out), book.replace("type: wait", "type: block")) != []
    assert gert("exec", "book.yaml")[0] == 0
    assert looks(here) == 3
    code, _, said = gert("exec", "book.yaml", "--var", "long=soon")
    assert (code, looks(here)) == (1, 3)
    assert "wrong_type: timeout: 'soon' is not a valid duration; write one like 30s" in said
    (here / "enough").write_text("99")
    code, _, said = gert("exec", "book.yaml", "--var", "long=60ms")
    assert (code, "wait_timeout: not true after" in said) == (1, True)


def errors_of(schema, book):
    return [error.message for error in Draft202012Validator(schema).iter_errors(yaml.safe_load(book))]


@pytest.mark.parametrize("expected", ["20", "20.0"])
def test_a_replay_waits_exactly_as_long_as_its_rounds_say(gert, here, expected):
    (here / "book.yaml").write_text(BOOK.replace("every: 50ms", "every: 10s").replace("timeout: 20s", "timeout: 1m"))
    scenario = here / "scenarios/book/slow"
    scenario.mkdir(parents=True)
    states = [{"stdout": "state=starting", "times": 2}, {"stdout": "state=ready"}]
    (scenario / "scenario.yaml").write_text(yaml.safe_dump({"tool_responses": {"look:state": states}}))
    (scenario / "test.yaml").write_text(f"expected_outputs: {{ wait_db.waited: {expected}, wait_db.rounds: 3 }}\n")
    code, out, err = gert("test", "book.yaml")
    assert (code, "1 passed" in out) == (0, True), out + err
