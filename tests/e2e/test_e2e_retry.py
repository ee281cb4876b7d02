"""``retry`` end to end: a real program that fails a few times, and everything that may come between two attempts."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest
from gertproc import Gert
from shell import Shell, wait_for

from gert_core.testing.fake_dist import FakeDist

READS = "{ effects: [network], idempotent: true, inputs: { idempotency_key: { type: string } } }"
WRITES = "{ effects: [network], writes: [host], idempotent: false, inputs: { idempotency_key: { type: string } } }"
FLAKY = """
echo "$KEY" >> tries
echo "try $(wc -l < tries)"
echo "line of try $(wc -l < tries)" >&2
[ $(wc -l < tries) -ge ${NEEDED:-3} ] || exit ${CODE:-7}
"""
END = (
    "- { id: done, type: end, outcome: { category: resolved, code: ok, "
    "meta: { attempts: '{{ .get.attempts }}', own: '{{ .step.get.attempts }}', retries: '{{ .get.retry_count }}' } } }"
)


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("flaky", FLAKY)
    tool(made)
    return made


def tool(shell: Shell, *, contract: str = READS, more: str = "") -> None:
    shell.tool("flaky", '["flaky"]', contract=contract, more='env: { KEY: "{{ .idempotency_key }}" }\n' + more)


def book(shell: Shell, retry: str = "{ max: 3, delay: 10ms }", *, more: str = "", end: str = END) -> None:
    shell.book(f"- {{ id: get, type: tool, tool: flaky, retry: {retry}{more and ', '}{more} }}\n{end}", tools="flaky")


def tries(shell: Shell) -> list[str]:
    file = shell.root / "tries"
    return file.read_text().splitlines() if file.exists() else []


def attempts(shell: Shell) -> list[tuple[int, str]]:
    return [(e["data"]["attempt"], e["data"]["reason"]) for e in shell.events("step_attempt")]


def only_run(shell: Shell) -> str:
    (run,) = (path for path in shell.runs() if path.name[0] != ".")
    return run.name


# -- the loop -----------------------------------------------------------------------------------------------------


def test_a_step_is_attempted_until_it_succeeds_under_one_key(shell):
    book(shell)
    said = shell.gert("exec", "book.yaml")
    assert len(tries(shell)) == 3
    assert len(set(tries(shell))) == 1, "the idempotency key stays"
    assert tries(shell)[0]
    assert "↻ get  tool  attempt 2 of 3 in 10ms  exit_code: flaky exited with code 7" in said.stderr
    assert "↻ get  tool  attempt 3 of 3 in 20ms" in said.stderr
    assert [e["type"] for e in shell.events() if e.get("step_key") == "get"] == [
        "contract_evaluated", "governance_decision", "step_start", "step_attempt", "step_attempt", "step_complete",
    ]  # fmt: skip
    first, second = (e["data"] for e in shell.events("step_attempt"))
    assert (first["attempt"], first["reason"], first["delay"]) == (2, "retry", "0.010s")
    assert (second["attempt"], second["reason"], second["delay"]) == (3, "retry", "0.020s")
    previous = first["previous"]
    assert previous.pop("duration").endswith("s")
    assert previous == {
        "status": "failed",
        "kind": "exit_code",
        "message": "flaky exited with code 7: line of try 1",
        "detail": {"command": ["flaky"], "exit_code": 7, "stdout": "try 1\n", "stderr": "line of try 1\n"},
    }


def test_templates_and_results_know_the_number_of_attempts(shell):
    book(shell)
    result = shell.json("exec", "book.yaml")
    assert result["outcome"]["meta"] == {"attempts": 3, "own": 3, "retries": 2}
    assert [step.get("attempts") for step in result["steps"]] == [3, None]
    shown = shell.json("runs", "show", only_run(shell))
    assert [step.get("attempts") for step in shown["steps"]] == [3, None]
    assert ", 3 attempts\n" in shell.gert("runs", "show", only_run(shell)).stdout
    timeline = shell.gert("trace", "show", str(shell.trace())).stdout
    assert "↻ get  attempt 2 (retry) in 0.010s" in timeline
    assert "exit_code: flaky exited with code 7" in timeline


def test_a_step_without_retry_has_one_attempt(shell):
    book(shell, "none", more="continue_on_fail: true")
    assert shell.json("exec", "book.yaml")["outcome"]["meta"] == {"attempts": 1, "own": 1, "retries": 0}
    assert len(tries(shell)) == 1
    assert attempts(shell) == []


def test_the_last_failure_is_the_result(shell):
    book(shell, "{ max: 2, delay: 10ms }")
    failure = shell.json("exec", "book.yaml", code=1)["failure"]
    assert (failure["status"], failure["kind"]) == ("failed", "exit_code")
    assert len(tries(shell)) == 2
    (complete,) = shell.events("step_complete")
    assert complete["data"]["detail"]["stdout"] == "try 2\n"


def test_continue_on_fail_continues_after_the_last_attempt(shell):
    book(shell, more="continue_on_fail: true")
    assert shell.json("exec", "book.yaml", NEEDED="9")["outcome"]["meta"] == {"attempts": 3, "own": 3, "retries": 2}


@pytest.mark.parametrize(("kinds", "tried"), [("[timeout, exit_code]", 3), ("[timeout]", 1)])
def test_only_the_kinds_under_on_lead_to_another_attempt(shell, kinds, tried):
    book(shell, f"{{ max: 3, delay: 10ms, on: {kinds} }}")
    shell.gert("exec", "book.yaml", code=0 if tried == 3 else 1)
    assert len(tries(shell)) == tried


def test_what_another_attempt_cannot_change_is_not_attempted_again(shell):
    tool(shell, more="timeout: 5s")
    text = (shell.root / "tools/flaky.tool.yaml").read_text()
    shell.write("tools/flaky.tool.yaml", text + "secrets: [{ env: FLAKY_TOKEN }]\n")
    book(shell, more="when: '{{ .go }}'")
    book_text = (shell.root / "book.yaml").read_text()
    shell.write(
        "book.yaml", book_text.replace("name: book", "name: book\n  inputs: { go: { type: bool, default: true } }")
    )
    assert shell.json("exec", "book.yaml", code=1)["failure"]["kind"] == "secret_missing"
    assert attempts(shell) == []


def test_a_policy_denial_is_not_attempted_again(shell):
    shell.write("no.yaml", ASK.replace("require-approval", "deny"))
    book(shell)
    failure = shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)["failure"]
    assert failure["kind"] == "governance_denied"
    assert (tries(shell), attempts(shell)) == ([], [])


def test_outputs_that_violate_the_contract_are_not_attempted_again(shell):
    contract = READS.replace("idempotent", "outputs: { n: { type: int } }, idempotent")
    tool(shell, contract=contract, more="extract: { n: { pattern: '(.*)' } }")
    book(shell)
    assert shell.json("exec", "book.yaml", code=1, NEEDED="1")["failure"]["kind"] == "output_type"
    assert len(tries(shell)) == 1


def test_what_writes_and_is_not_idempotent_is_attempted_once(shell):
    tool(shell, contract=WRITES)
    book(shell)
    assert "retry-not-repeatable" in shell.gert("validate", "book.yaml").stdout
    shell.gert("exec", "book.yaml", code=1)
    assert len(tries(shell)) == 1


# -- whose policy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "own", "tried"),
    [
        ("{ max: 2, delay: 10ms }", None, 2),
        ("{ max: 2, delay: 10ms }", "aggressive", 2),
        ("{ max: 4, delay: 10ms }", "{ max: 2 }", 2),
        ("{ max: 4, delay: 10ms }", "none", 1),
        ("none", "{ max: 3, delay: 10ms }", 1),
        ("{ max: 4, delay: 10ms, on: [timeout] }", "{ max: 4, on: [exit_code] }", 1),
    ],
)
def test_a_step_only_lowers_the_policy_of_its_tool(shell, action, own, tried):
    tool(shell, more=f"retry: {action}")
    shell.book(f"- {{ id: get, type: tool, tool: flaky{'' if own is None else f', retry: {own}'} }}\n", tools="flaky")
    shell.gert("exec", "book.yaml", code=1, NEEDED="9")
    assert len(tries(shell)) == tried


def test_the_policy_of_an_action_replaces_that_of_its_tool(shell):
    text = (
        (shell.root / "tools/flaky.tool.yaml").read_text().replace("transport: stdio", "transport: stdio, retry: none")
    )
    shell.write("tools/flaky.tool.yaml", text.replace("argv:", "retry: { max: 2, delay: 10ms }\n    argv:"))
    shell.book("- { id: get, type: tool, tool: flaky }\n", tools="flaky")
    shell.gert("exec", "book.yaml", code=1, NEEDED="9")
    assert len(tries(shell)) == 2


# -- time ---------------------------------------------------------------------------------------------------------


def test_the_timeout_of_a_step_holds_for_each_attempt(shell):
    shell.program("flaky", "echo x >> tries\n[ $(wc -l < tries) -ge 3 ] || exec sleep 30")
    book(shell, more="timeout: 300ms")
    began = time.monotonic()
    assert shell.json("exec", "book.yaml")["status"] == "completed"
    assert time.monotonic() - began < 15
    assert [e["data"]["previous"]["kind"] for e in shell.events("step_attempt")] == ["timeout", "timeout"]


def test_the_deadline_of_the_block_ends_the_attempts(shell):
    shell.book(
        """\
        - id: both
          type: parallel
          timeout: 2s
          branches:
            - { label: only, steps: [{ id: get, type: tool, tool: flaky, retry: { max: 9, delay: 400ms, backoff: 1 } }] }
        """,
        tools="flaky",
    )
    began = time.monotonic()
    failure = shell.json("exec", "book.yaml", code=1, NEEDED="99")["failure"]
    assert time.monotonic() - began < 10
    assert 2 <= len(tries(shell)) <= 6
    assert failure["kind"] == "exit_code", "no attempt was begun that could not have begun in time"


def test_a_cancel_during_the_pause_ends_the_run_within_a_second(shell):
    book(shell, "{ max: 3, delay: 60s }")
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: any(b'"step_attempt"' in file.read_bytes() for file in shell.root.glob("runs/*/trace.jsonl")))
    began = time.monotonic()
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=15)
    assert running.returncode == 143
    assert time.monotonic() - began < 1.5
    assert attempts(shell) == [(2, "retry"), (2, "not_started")]
    assert shell.json("resume", "--run", only_run(shell), NEEDED="2")["outcome"]["meta"]["attempts"] == 2
    assert attempts(shell)[2:] == [(2, "resumed")]
    assert len(tries(shell)) == 2


# -- approvals ----------------------------------------------------------------------------------------------------

ASK = "apiVersion: policy/v0\nmeta: { name: ask }\nrules: [{ effects: [network], action: require-approval }]\n"


def test_an_approval_is_asked_for_once_for_all_attempts(shell):
    shell.write("ask.yaml", ASK)
    book(shell)
    shell.gert("exec", "book.yaml", "--policy", "ask.yaml", stdin="y ann\n")
    assert len(tries(shell)) == 3
    assert len(shell.events("approval_submitted")) == len(shell.events("approval_resolved")) == 1


def test_a_rejected_step_is_not_attempted(shell):
    shell.write("ask.yaml", ASK)
    book(shell)
    shell.gert("exec", "book.yaml", "--policy", "ask.yaml", stdin="n ann\ny bob\ny bob\n", code=1)
    assert (tries(shell), attempts(shell)) == ([], [])
    assert len(shell.events("approval_submitted")) == 1


def test_a_program_that_changes_between_attempts_must_be_approved_again(shell):
    shell.program("flaky", 'echo x >> tries\necho "exit 0" >> "$0"\nexit 7')
    shell.write("ask.yaml", ASK)
    book(shell)
    said = shell.gert("exec", "book.yaml", "--policy", "ask.yaml", stdin="y ann\nn ann\n", code=1)
    assert "the approval request changed (command.program_sha256) and must be approved again" in said.stderr
    assert len(tries(shell)) == 1
    assert [e["data"]["changed"] for e in shell.events("approval_void")] == [["command.program_sha256"]]
    assert shell.events("step_complete")[0]["data"]["reason"] == "approval_rejected"


def test_a_run_that_waits_for_the_approval_of_another_attempt_makes_it_when_it_is_resumed(shell):
    shell.program("flaky", 'echo x >> tries\n[ $(wc -l < tries) -ge 2 ] && exit 0\necho "# more" >> "$0"\nexit 7')
    shell.write("ask.yaml", ASK)
    book(shell)
    shell.gert("exec", "book.yaml", "--policy", "ask.yaml", "--approval", "inbox")
    approve(shell)
    shell.gert("resume", "--run", only_run(shell))
    assert len(tries(shell)) == 1
    assert attempts(shell) == [(2, "retry"), (2, "not_started")]
    approve(shell)
    result = shell.json("resume", "--run", only_run(shell))
    assert result["outcome"]["meta"]["attempts"] == 2
    assert attempts(shell)[2:] == [(2, "resumed")]
    assert len(tries(shell)) == 2


def test_an_attempt_that_was_approved_again_is_made(shell):
    shell.program("flaky", 'echo x >> tries\n[ $(wc -l < tries) -ge 2 ] && exit 0\necho "# more" >> "$0"\nexit 7')
    shell.write("ask.yaml", ASK)
    book(shell)
    shell.gert("exec", "book.yaml", "--policy", "ask.yaml", stdin="y ann\ny ann\n")
    assert len(tries(shell)) == 2
    assert len(shell.events("approval_resolved")) == 2
    (ledger,) = {path.parent.parent for path in shell.root.glob("runs/.ledger/*/*")}
    claims = [line for file in sorted(ledger.glob("*/*")) for line in file.read_text().splitlines()]
    used = {json.loads(line)["owner"] for line in claims if '"unknown"' in line}
    assert len(used) == 2, "each approval was used for one execution"


def approve(shell: Shell) -> None:
    (pending,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", pending["ticket_id"], "--as", "ann")


# -- loops, branches, observers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", ["false", "true"])
def test_each_item_of_a_loop_has_its_own_attempts(shell, parallel):
    shell.program("flaky", 'echo x >> "tries-$1"\n[ $(wc -l < "tries-$1") -ge "$1" ] || exit 7')
    shell.tool(
        "flaky",
        '["flaky", "{{ .n }}"]',
        contract="{ effects: [network], idempotent: true, inputs: { n: { type: int } } }",
    )
    shell.book(
        f"""\
        - id: get
          type: tool
          tool: flaky
          for_each: {{ as: n, over: [1, 2, 3], parallel: {parallel} }}
          inputs: {{ n: "{{{{ .n }}}}" }}
          retry: {{ max: 3, delay: 10ms }}
        """,
        tools="flaky",
    )
    result = shell.json("exec", "book.yaml")
    assert {step["step_key"]: step.get("attempts") for step in result["steps"] if "[" in step["step_key"]} == {
        "get[0]": None,
        "get[1]": 2,
        "get[2]": 3,
    }
    assert sorted((e["step_key"], e["data"]["attempt"]) for e in shell.events("step_attempt")) == [
        ("get[1]", 2), ("get[2]", 2), ("get[2]", 3),
    ]  # fmt: skip


def test_a_jump_and_the_retries_of_a_step_count_together(shell):
    shell.book(
        """\
        - { id: get, type: tool, tool: flaky, retry: { max: 3, delay: 10ms } }
        - { id: again, type: tool, tool: flaky, next: { step: get, max: 1 } }
        - id: done
          type: end
          outcome:
            category: resolved
            code: ok
            meta: { attempts: "{{ .get.attempts }}", retries: "{{ .get.retry_count }}" }
        """,
        tools="flaky",
    )
    meta = shell.json("exec", "book.yaml", NEEDED="2")["outcome"]["meta"]
    assert meta == {"attempts": 1, "retries": 2}, "one retry of the first visit, and one jump"


OBSERVER = """
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event):
    with open("seen", "a") as file:
        file.write(event.type + "\\n")
"""


def test_observers_are_told_of_a_retry_before_the_pause_is_over(shell):
    FakeDist(directory=shell.root / "site").add("gert-watch-seen", OBSERVER)
    book(shell, "{ max: 2, delay: 60s }")
    running = shell.start("exec", "book.yaml", PYTHONPATH=str(shell.root / "site"))
    seen = shell.root / "seen"
    wait_for(lambda: seen.exists() and "step_attempt" in seen.read_text())
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=15)
    assert len(tries(shell)) == 1


def test_the_live_line_shows_the_pause_and_then_the_attempt(shell):
    shell.program("flaky", "echo x >> tries\n[ $(wc -l < tries) -ge 2 ] && sleep 1 || exit 7")
    book(shell, "{ max: 3, delay: 2s }")
    gert = Gert(shell.root, PATH=shell.environ["PATH"])
    shown = gert.on_terminal("exec", "book.yaml", PATH=shell.environ["PATH"])
    assert " get  tool  attempt 2 of 3  in 1s" in shown
    assert re.search(r" get  tool  attempt 2 of 3  0\.\ds", shown)


# -- crash and resume ---------------------------------------------------------------------------------------------


def test_retry_failed_begins_at_the_first_attempt(shell):
    book(shell)
    shell.gert("exec", "book.yaml", code=1, NEEDED="9")
    assert len(tries(shell)) == 3
    result = shell.json("resume", "--run", only_run(shell), "--retry-failed", NEEDED="5")
    assert result["outcome"]["meta"] == {"attempts": 2, "own": 2, "retries": 1}
    assert attempts(shell) == [(2, "retry"), (3, "retry"), (2, "retry")]


def test_a_recorded_step_keeps_its_number_of_attempts(shell):
    shell.program("stop", 'kill -9 "$(ps -o ppid= -p $$ | tr -d " ")"')
    shell.tool("stop", '["stop"]')
    shell.book(
        "- { id: get, type: tool, tool: flaky, retry: { max: 3, delay: 10ms } }\n"
        "- { id: stop, type: tool, tool: stop }\n" + END,
        tools="flaky, stop",
    )
    shell.gert("exec", "book.yaml", code=-signal.SIGKILL)
    shell.program("stop", "exit 0")
    meta = shell.json("resume", "--run", only_run(shell))["outcome"]["meta"]
    assert meta == {"attempts": 3, "own": 3, "retries": 2}
    assert len(tries(shell)) == 3


# -- secrets ------------------------------------------------------------------------------------------------------


def test_what_a_failed_attempt_said_is_masked(shell):
    shell.program("flaky", 'echo x >> tries\necho "token $FLAKY_TOKEN"\n[ $(wc -l < tries) -ge 2 ] || exit 7')
    text = (shell.root / "tools/flaky.tool.yaml").read_text()
    shell.write("tools/flaky.tool.yaml", text + "secrets: [{ env: FLAKY_TOKEN }]\n")
    book(shell)
    said = shell.gert("exec", "book.yaml", FLAKY_TOKEN="h5Kq-Zw82-Lr01")
    assert "h5Kq-Zw82-Lr01" not in said.stderr + shell.trace().read_text()
    (event,) = shell.events("step_attempt")
    assert event["data"]["previous"]["detail"]["stdout"] == "token <REDACTED:FLAKY_TOKEN>\n"


def test_what_an_action_with_secret_outputs_said_is_not_kept_of_a_failed_attempt(shell):
    shell.program(
        "flaky", 'echo x >> tries\necho "h5Kq-Zw82-Lr0$(wc -l < tries)"\n[ $(wc -l < tries) -ge 2 ] || exit 7'
    )
    contract = READS.replace("idempotent", "outputs: { word: { type: string, secret: true } }, idempotent")
    tool(shell, contract=contract, more="extract: { word: { pattern: '(.+)' } }")
    book(shell)
    said = shell.gert("exec", "book.yaml")
    assert "h5Kq-Zw82" not in said.stderr + said.stdout + shell.trace().read_text()
    assert len(tries(shell)) == 2
    assert "detail" not in shell.events("step_attempt")[0]["data"]["previous"]


def test_a_secret_that_is_a_word_of_the_event_does_not_change_it(shell):
    text = (shell.root / "tools/flaky.tool.yaml").read_text()
    shell.write("tools/flaky.tool.yaml", text + "secrets: [{ env: FLAKY_TOKEN }]\n")
    book(shell)
    shell.gert("exec", "book.yaml", FLAKY_TOKEN="exit_code")
    assert attempts(shell) == [(2, "retry"), (3, "retry")]
    assert shell.events("step_attempt")[0]["data"]["previous"]["kind"] == "exit_code"


# -- other modes --------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_policy(shell):
    book(shell, "{ max: 8, delay: 500ms, max_delay: 3s, on: [timeout, exit_code] }")
    said = shell.gert("exec", "book.yaml", "--mode", "dry-run").stdout
    assert "    retry: up to 8 attempts, after 500ms, 1s, 2s, 3s, 3s, …, on exit_code, timeout\n" in said
    assert "attempts: {{ .get.attempts }}" in said.replace('"', "").replace("'", "")
    assert tries(shell) == []


def test_a_dry_run_shows_no_policy_of_what_is_attempted_once(shell):
    tool(shell, contract=WRITES)
    book(shell)
    assert "retry:" not in shell.gert("exec", "book.yaml", "--mode", "dry-run").stdout


def test_a_probe_retries_what_it_executes(shell):
    book(shell)
    shell.gert("exec", "book.yaml", "--mode", "probe", "--probe-allow-effects", "network")
    assert len(tries(shell)) == 3


def test_a_replay_takes_one_response_per_attempt_and_does_not_wait(shell):
    book(shell, "{ max: 3, delay: 60s }")
    scenario(
        shell,
        "tool_responses: { flaky: [{ exit_code: 1 }, { exit_code: 1 }, { exit_code: 0 }] }",
        "expected_outcome: resolved\nexpected_outputs: { get.attempts: 3, get.retry_count: 2 }",
    )
    began = time.monotonic()
    shell.gert("test", "book.yaml")
    assert time.monotonic() - began < 10
    assert tries(shell) == []


def test_a_replay_without_a_response_for_the_next_attempt_says_so(shell):
    book(shell)
    scenario(shell, "tool_responses: { flaky: [{ exit_code: 1 }] }", "expected_outcome: resolved")
    said = shell.gert("test", "book.yaml", code=1)
    assert "no response left for 'flaky:do' after 1" in said.stdout + said.stderr


def test_a_list_of_results_of_a_step_has_one_per_attempt(shell):
    book(shell)
    failed = "{ status: error, kind: timeout, message: too slow }"
    scenario(
        shell,
        f"steps: {{ get: [{failed}, {failed}, {{ status: success }}, {{ status: success }}] }}",
        "expected_outcome: resolved\nexpected_outputs: { get.attempts: 3 }",
    )
    said = shell.gert("test", "book.yaml")
    assert "steps: 1 of 4 results for 'get' not used" in said.stdout + said.stderr


def test_a_single_result_of_a_step_holds_for_every_attempt(shell):
    book(shell, more="continue_on_fail: true")
    scenario(shell, "steps: { get: { status: failed } }", "expected_outputs: { get.attempts: 3, get.status: failed }")
    shell.gert("test", "book.yaml")


def scenario(shell: Shell, given: str, expected: str) -> None:
    shell.write("scenarios/book/one/scenario.yaml", f"{given}\n")
    shell.write("scenarios/book/one/test.yaml", f"{expected}\n")
