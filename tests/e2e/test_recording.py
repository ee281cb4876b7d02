"""``--record``: a run kept as a scenario that replays to the same, and what becomes of it when that cannot be."""

from __future__ import annotations

import json
import shutil
import time

import pytest
from faulty import Faulty
from shell import Shell

LOOK = 'extract: { word: { from: stdout, pattern: "word=(\\\\w+)" } }'
CONTRACT = (
    "{ effects: [network], idempotent: true, inputs: { item: { type: string } }, outputs: { word: { type: string } } }"
)
WRITES = "{ effects: [network], writes: [host], outputs: { said: { type: string } } }"
APPROVAL = (
    "governance: { rules: [{ writes: [host], action: require-approval, min_approvers: 2, exclude_actor: true }] }"
)


MODULES = ("gert_core.scenarios.diffing.diff", "gert_core.scenarios.recording.wanted", "gert_core.scenarios.run")


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    with Faulty(tmp_path_factory.mktemp("warm"), modules=MODULES) as server:
        yield server


@pytest.fixture
def shell(tmp_path, warm) -> Shell:
    made = Shell(tmp_path, server=warm)
    made.program("look", 'echo "word=$1"; echo "looked at $1" >&2')
    made.program("change", "echo changed")
    made.tool("look", '["look", "{{ .item }}"]', contract=CONTRACT, more=LOOK)
    made.tool("change", '["change"]', contract=WRITES, more="extract: { said: { from: stdout } }")
    return made


def scenario_of(shell: Shell, name: str, file: str = "scenario.yaml") -> str:
    return (shell.root / "scenarios" / "book" / name / file).read_text()


def replayed(shell: Shell, name: str) -> dict:
    (book,) = shell.json("test", "book.yaml", "--scenario", name)["runbooks"]
    (result,) = book["scenarios"]
    assert result["status"] == "passed", result
    return result


ONE = "- { id: first, type: tool, tool: look, inputs: { item: red } }"


def test_a_recorded_run_replays_to_the_same(shell):
    shell.book(ONE, tools="look")
    ran = shell.json("exec", "book.yaml", "--record", "one")
    target = shell.root / "scenarios" / "book" / "one"
    assert ran["record"] == {"written": True, "path": str(target), "problem": None}
    assert sorted(path.name for path in target.iterdir()) == ["scenario.yaml", "test.yaml", "trace.jsonl"]
    assert (target / "trace.jsonl").read_bytes() == shell.trace().read_bytes()
    assert "stdout: |\n        word=red\n" in scenario_of(shell, "one")
    assert "looked at red" in scenario_of(shell, "one")
    assert "outputs" not in scenario_of(shell, "one")  # so that changed rules of `extract` are tested too
    replayed(shell, "one")
    shell.program("look", "exit 9")
    replayed(shell, "one")


def test_changed_rules_of_extract_are_tested_by_a_recording(shell):
    shell.book(ONE, tools="look")
    shell.gert("exec", "book.yaml", "--record", "one")
    shell.tool("look", '["look", "{{ .item }}"]', contract=CONTRACT, more=LOOK.replace("word=", "words="))
    done = shell.gert("test", "book.yaml", "--scenario", "one", code=1)
    assert "does not match stdout" in done.stdout


def test_a_directory_that_is_not_empty_is_refused_before_anything_runs(shell):
    shell.book(ONE, tools="look")
    shell.write("kept/file", "mine")
    done = shell.gert("exec", "book.yaml", "--record", "kept/", code=2)
    assert "kept exists and is not empty; nothing was run" in done.stderr
    assert shell.runs() == []
    (shell.root / "empty").mkdir()
    assert shell.json("exec", "book.yaml", "--record", "./empty")["record"]["written"] is True
    assert 'runbook: "../book.yaml"' in (shell.root / "empty" / "scenario.yaml").read_text()


def test_a_directory_that_cannot_be_made_is_refused_before_anything_runs(shell):
    shell.book(ONE, tools="look")
    done = shell.gert("exec", "book.yaml", "--record", "book.yaml/x", code=2)
    assert "cannot be written: " in done.stderr
    assert "book.yaml is not a directory; nothing was run" in done.stderr
    assert shell.runs() == []


def test_the_place_of_a_recording_may_be_taken_while_the_run_is_under_way(shell):
    shell.program("look", "mkdir -p scenarios/book/one; touch scenarios/book/one/mine; echo word=red")
    shell.book(ONE, tools="look")
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert ran["record"]["problem"].endswith("scenarios/book/one exists and is not empty")
    assert [path.name for path in (shell.root / "scenarios" / "book" / "one").iterdir()] == ["mine"]


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_other_modes_are_not_recorded(shell, mode):
    shell.book(ONE, tools="look")
    done = shell.gert("exec", "book.yaml", "--record", "one", "--mode", mode, code=2)
    assert "is not recorded; nothing was run" in done.stderr


def test_parallel_looped_and_retried_steps_are_recorded_in_the_order_of_replays(shell):
    shell.program(
        "look",
        'sleep 0.$2; n=$(ls | grep -c "^try-$1"); touch "try-$1-$n"; [ "$1$n" = bad0 ] && exit 3; echo "word=$1$n"',
    )
    shell.tool(
        "look",
        '["look", "{{ .item }}", "{{ .wait }}"]',
        contract=CONTRACT.replace("inputs: { ", "inputs: { wait: { type: int, default: 0 }, "),
        more=LOOK,
    )
    shell.book(
        """
        - id: both
          type: parallel
          branches:
            - steps: [{ id: slow, type: tool, tool: look, scope: s, inputs: { item: slow, wait: 3 } }]
            - steps: [{ id: fast, type: tool, tool: look, scope: f, inputs: { item: fast, wait: 0 } }]
        - id: each
          type: tool
          tool: look
          for_each: { as: n, over: ["3", "1", "2"], key: "{{ .n }}", parallel: true }
          inputs: { item: "{{ .n }}", wait: "{{ .n | int }}" }
        - { id: again, type: tool, tool: look, inputs: { item: bad }, retry: { max: 2, delay: 1ms } }
        - id: rounds
          type: repeat
          repeat: { max: 2 }
          steps: [{ id: same, type: tool, tool: change }]
        - { type: end, outcome: { category: resolved, code: "{{ .both.status }}-{{ .again.word }}" } }
        """,
        tools="look, change",
    )
    ran = shell.json("exec", "book.yaml", "--record", "one", "--no-input")
    assert ran["record"]["written"] is True, ran["record"]
    test = scenario_of(shell, "one", "test.yaml")
    assert "unfaithful" not in test
    for name in ('"each[0]"', "both/0/slow", "rounds/1/same", "again"):
        assert name in test
    assert "times: 2" in scenario_of(shell, "one")
    replayed(shell, "one")


def test_approvals_by_two_people_are_recorded_with_the_actor(shell):
    shell.book("- { id: change, type: tool, tool: change }", tools="change", meta=APPROVAL)
    pending = shell.json("exec", "book.yaml", "--record", "one", "--approval", "inbox")
    assert pending["record"]["written"] is False
    assert pending["record"]["problem"] is None
    assert not (shell.root / "scenarios").exists()
    (ticket,) = pending["pending"]
    for person in ("alice", "bob"):
        shell.gert("approve", ticket["ticket_id"], "--as", person, "--reason", "change 4711")
    ran = shell.json("resume", "latest")
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert "actor: olga" in text
    assert "approver_id: alice" in text
    assert "approver_id: bob" in text
    assert "change 4711" in text
    replayed(shell, "one")
    file = shell.root / "scenarios" / "book" / "one" / "scenario.yaml"
    file.write_text(text.replace("actor: olga", "actor: alice"))
    shell.gert("test", "book.yaml", "--scenario", "one", code=1)  # she started it, so her approval does not count


def test_a_rejected_run_is_recorded(shell):
    shell.book("- { id: change, type: tool, tool: change }", tools="change", meta=APPROVAL)
    ran = shell.json("exec", "book.yaml", "--record", "one", stdin="n alice: not today\n", code=1)
    assert ran["record"]["written"] is True, ran["record"]
    assert "expected_status: failed" in scenario_of(shell, "one", "test.yaml")
    replayed(shell, "one")


NOT_APPROVED = """
- id: gated
  type: block
  steps: [{ id: change, type: tool, tool: change }]
  on_failure:
    - { id: late, type: tool, tool: look, inputs: { item: a }, when: '{{ eq .failure.kind "approval_timeout" }}' }
    - { id: alone, type: tool, tool: look, inputs: { item: b }, when: '{{ eq .failure.kind "approval_no_answer" }}' }
    - { id: no, type: tool, tool: look, inputs: { item: c }, when: '{{ eq .failure.kind "approval_rejected" }}' }
"""


def not_approved(shell: Shell, reached: str) -> str:
    """Hold a recording of a run without an approval against what it was; return its scenario."""
    test = scenario_of(shell, "one", "test.yaml")
    assert "unfaithful" not in test
    assert [name for name in ("late", "alone", "no") if f"gated/1/{name}" in test] == [reached]
    replayed(shell, "one")
    return scenario_of(shell, "one")


def test_an_approval_that_expired_is_recorded_as_that(shell):
    gate = APPROVAL.replace("{ rules", "{ approval_timeout: 1s, rules")
    shell.book(NOT_APPROVED, tools="change, look", meta=gate)
    shell.gert("exec", "book.yaml", "--record", "one", "--approval", "inbox", code=None)  # on a busy machine it is over
    time.sleep(1.1)
    shell.gert("resume", "latest", code=1)
    text = not_approved(shell, "late")
    assert "kind: approval_timeout" in text
    assert "without a decision" in text
    assert "approver_id" not in text


def test_the_end_of_input_at_an_approval_is_recorded_as_that(shell):
    shell.book(NOT_APPROVED, tools="change, look", meta=APPROVAL)
    ran = shell.json("exec", "book.yaml", "--record", "one", "--approval", "stdin", stdin="\n", code=1)
    assert ran["record"]["written"] is True, ran["record"]
    assert "kind: approval_no_answer" in not_approved(shell, "alone")


def test_a_rejection_is_recorded_with_who_rejected(shell):
    shell.book(NOT_APPROVED, tools="change, look", meta=APPROVAL)
    shell.json("exec", "book.yaml", "--record", "one", stdin="n alice: not today\n", code=1)
    text = not_approved(shell, "no")
    assert "approver_id: alice" in text
    assert "not today" in text
    assert "kind:" not in text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("{ approved: true, kind: approval_timeout }", "`kind: approval_timeout` tells why it was not approved"),
        ("{ approved: false, kind: too_late }", "approval_timeout"),
    ],
)
def test_a_kind_of_refusal_that_makes_no_sense_is_an_error(shell, answer, told):
    shell.book("- { id: change, type: tool, tool: change }", tools="change", meta=APPROVAL)
    shell.write("scenarios/book/one/scenario.yaml", f"approvals: {{ change: [{answer}] }}\n")
    shell.write("scenarios/book/one/test.yaml", "expected_status: failed\n")
    assert told in shell.gert("test", "book.yaml", code=1).stdout


EVIDENCE = """
- id: look
  type: manual
  instructions: Look at the rack.
  required_evidence:
    - { kind: text, name: notes }
    - { kind: checklist, name: ticked, items: [power, fans] }
    - { kind: attachment, name: photo }
- { id: sure, type: manual, instructions: Are you sure? }
"""


def test_evidence_and_attachments_are_recorded_by_step_key(shell):
    shell.book(EVIDENCE)
    shell.write("photo.txt", "a picture")
    answers = "it: hums\nall\nphoto.txt\n\n"
    ran = shell.json("exec", "book.yaml", "--record", "one", stdin=answers)
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert 'notes: "it: hums"' in text
    assert "sha256" in text
    assert "principals" in text
    assert "steps:" not in text
    replayed(shell, "one")


def test_evidence_that_was_refused_is_recorded_as_a_whole_result(shell):
    shell.book(EVIDENCE)
    ran = shell.json("exec", "book.yaml", "--record", "one", stdin="reject wrong rack\n", code=1)
    assert ran["record"]["written"] is True, ran["record"]
    assert "kind: rejected" in scenario_of(shell, "one")
    replayed(shell, "one")


def test_timeouts_and_programs_that_are_missing_are_recorded_by_step_key(shell):
    shell.program("look", "sleep 5")
    shell.book(
        """
        - { id: slow, type: tool, tool: look, inputs: { item: a }, timeout: 100ms, continue_on_fail: true }
        - { id: gone, type: tool, tool: gone, continue_on_fail: true }
        """,
        tools="look, gone",
    )
    shell.tool("gone", '["no-such-program"]')
    ran = shell.json("exec", "book.yaml", "--record", "one", "--no-preflight")
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert "kind: timeout" in text
    assert "kind: not_found" in text
    replayed(shell, "one")


def test_a_step_that_was_reconciled_is_recorded_with_who_said_so(shell):
    shell.program("change", "kill -9 $PPID; sleep 1")
    shell.book(
        """
        - { id: change, type: tool, tool: change }
        """,
        tools="change",
    )
    shell.gert("exec", "book.yaml", "--record", "one", code=None)
    shell.program("change", "echo never")
    args = ("--reconcile", "change=done", "--outputs", '{"said": "by hand"}', "--as", "wendy")
    ran = shell.json("resume", "latest", *args)
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert "by hand" in text
    assert "principals: {change: wendy}" in text
    replayed(shell, "one")


def test_a_cancelled_run_is_not_recorded(shell):
    shell.program("look", "kill -TERM $PPID; sleep 2")
    shell.book(ONE, tools="look")
    done = shell.gert("exec", "book.yaml", "--record", "one", code=143)
    assert "the run was not recorded: the run is cancelled" in done.stderr
    assert not (shell.root / "scenarios").exists()


def test_a_run_whose_documents_changed_is_not_recorded(shell):
    shell.book("- { id: change, type: tool, tool: change }", tools="change", meta=APPROVAL)
    shell.gert("exec", "book.yaml", "--record", "one", "--approval", "inbox")
    text = (shell.root / "book.yaml").read_text()
    (shell.root / "book.yaml").write_text(text + "\n# changed\n")
    pending = shell.json("resume", "latest", "--on-drift", "allow")
    for person in ("alice", "bob"):
        shell.gert("approve", pending["pending"][0]["ticket_id"], "--as", person)
    ran = shell.json("resume", "latest", "--on-drift", "allow")
    assert ran["status"] == "completed"
    assert ran["record"]["written"] is False
    assert "documents changed" in ran["record"]["problem"]


def test_a_replay_that_differs_is_tagged_and_told(shell):
    shell.book(
        """
        - { id: look, type: tool, tool: look, inputs: { item: a } }
        - { id: real, type: tool, tool: look, when: '{{ eq .run.mode "real" }}', inputs: { item: b } }
        """,
        tools="look",
    )
    done = shell.gert("exec", "book.yaml", "--record", "one")
    assert "warning: the recording is unfaithful: steps end otherwise: real" in done.stderr
    assert "tags: [recorded, unfaithful]" in scenario_of(shell, "one", "test.yaml")


def test_a_secret_input_becomes_its_mask(shell):
    meta = "inputs: { token: { type: string, secret: true, required: true }, pin: { type: int, secret: true } }"
    shell.book(
        """
        - { id: look, type: tool, tool: look, inputs: { item: "{{ .token }}" } }
        - { id: again, type: assert, assert: [{ type: equals, value: "{{ .word }}", expected: "{{ .token }}" }] }
        """,
        tools="look",
        meta=meta,
    )
    ran = shell.json("exec", "book.yaml", "--record", "one", "--var", "token=geheimes_wort", "--var", "pin=48151623")
    assert ran["record"]["written"] is True, ran["record"]
    directory = shell.root / "scenarios" / "book" / "one"
    for file in directory.iterdir():
        assert "geheimes" not in file.read_text()
        assert "48151623" not in file.read_text()
    assert "<REDACTED:token>" in scenario_of(shell, "one")
    assert "pin: 0" in scenario_of(shell, "one")
    replayed(shell, "one")


def test_a_secret_output_becomes_a_placeholder_of_its_length(shell):
    shell.program("look", 'echo "word=abcdefghij0123456789"')
    contract = CONTRACT.replace("word: { type: string }", "word: { type: string, secret: true }")
    shell.tool("look", '["look", "{{ .item }}"]', contract=contract, more=LOOK)
    shell.book(
        ONE + '\n- { id: long, type: assert, assert: [{ type: equals, value: "{{ len .word }}", expected: 20 }] }',
        tools="look",
    )
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert ran["record"]["written"] is True, ran["record"]
    assert "abcdefghij" not in scenario_of(shell, "one")
    assert "unfaithful" not in scenario_of(shell, "one", "test.yaml")
    replayed(shell, "one")


def test_a_recording_that_cannot_be_written_does_not_change_the_exit_code(shell):
    shell.book(ONE, tools="look")
    shell.program("look", "echo word=red; touch scenarios")
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert ran["status"] == "completed"
    assert ran["record"]["written"] is False
    assert "cannot be written" in ran["record"]["problem"]


def test_a_finished_run_is_recorded_by_resume(shell):
    shell.book(ONE, tools="look")
    shell.gert("exec", "book.yaml")
    ran = shell.json("resume", "latest", "--record", "late")
    assert ran["record"]["written"] is True, ran["record"]
    replayed(shell, "late")


def test_every_real_run_is_recorded_under_its_id_on_request(shell):
    shell.book(ONE, tools="look")
    ran = shell.json("exec", "book.yaml", GERT_AUTO_RECORD="true")
    assert ran["record"]["written"] is True
    assert ran["record"]["path"].endswith(f"scenarios/book/{ran['run_id']}")
    same = shell.json("exec", "book.yaml", GERT_AUTO_RECORD="new")
    shown = shell.gert("exec", "book.yaml", GERT_AUTO_RECORD="new")
    assert f"  not recorded: scenario {ran['run_id']} went this way\n" in shown.stdout
    assert "warning" not in shown.stderr
    assert same["record"] == {"written": False, "path": same["record"]["path"], "problem": None}
    shell.program("look", "exit 3")
    other = shell.json("exec", "book.yaml", code=1, GERT_AUTO_RECORD="new")
    assert other["record"]["written"] is True
    assert "record" not in shell.json("exec", "book.yaml", "--mode", "dry-run", GERT_AUTO_RECORD="true")
    assert "record" not in shell.json("exec", "book.yaml", code=1, GERT_AUTO_RECORD="false")
    done = shell.gert("exec", "book.yaml", code=2, GERT_AUTO_RECORD="sometimes")
    assert "GERT_AUTO_RECORD takes true, new or false" in done.stderr


def test_nothing_of_a_recording_is_in_the_result_without_one(shell):
    shell.book(ONE, tools="look")
    assert "record" not in shell.json("exec", "book.yaml")
    assert "record" not in json.loads((shell.runs()[0] / "meta.json").read_text())


def test_a_recorded_scenario_is_tested_only_when_it_is_asked_for(shell):
    shell.book(ONE, tools="look")
    shell.gert("exec", "book.yaml", "--record", "one")
    done = shell.gert("test", "book.yaml", code=2)
    assert "--all also runs scenarios that are not golden" in done.stderr
    for asked in (("--all",), ("--scenario", "one"), ("--tag", "recorded")):
        assert "1 passed" in shell.gert("test", "book.yaml", *asked).stdout
    shell.write("scenarios/book/other/scenario.yaml", "tool_responses: { look: [{ stdout: word=x }] }")
    shell.write("scenarios/book/other/test.yaml", "expected_status: completed")
    assert "1 not golden, --all runs them" in shell.gert("test", "book.yaml").stdout
    file = shell.root / "scenarios/book/one/test.yaml"
    file.write_text(file.read_text() + "golden: true\n")
    done = shell.gert("test", "book.yaml")
    assert "✓ one" in done.stdout
    assert "other" not in done.stdout


def test_sub_runbooks_extensions_and_artifacts_are_recorded(shell):
    shell.program(
        "gert-ext-twice",
        """
        #!/usr/bin/env python3
        import json, sys
        for line in sys.stdin:
            call = json.loads(line)
            if "id" not in call:
                continue
            said = {"outputs": {"twice": call["params"]["inputs"]["word"] * 2}} if call["method"] == "execute" else {}
            print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": said}), flush=True)
        """,
    )
    shell.write(
        "sub.yaml",
        """
        apiVersion: kernel/v0
        meta: { name: sub, inputs: { item: { type: string } } }
        tools: [look]
        steps:
          - { id: inner, type: tool, tool: look, inputs: { item: "{{ .item }}" } }
          - { type: end, outcome: { category: resolved, code: "{{ .word }}" } }
        """,
    )
    shell.write("kept.txt", "kept")
    shell.book(
        """
        - { id: first, type: tool, tool: look, inputs: { item: a }, artifacts: [kept.txt] }
        - { id: child, type: runbook, runbook: ./sub.yaml, inputs: { item: b } }
        - id: ext
          type: extension
          extension: twice
          inputs: { word: "{{ .child.outcome.code }}" }
          contract: { effects: [network], inputs: { word: { type: string } }, outputs: { twice: { type: string } } }
        - { type: end, outcome: { category: resolved, code: "{{ .twice }}" } }
        """,
        tools="look",
    )
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert ran["outcome"]["code"] == "bb"
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert "twice: bb" in text
    assert text.count("looked at") == 2
    assert "child/0/inner" in scenario_of(shell, "one", "test.yaml")
    assert "unfaithful" not in scenario_of(shell, "one", "test.yaml")
    replayed(shell, "one")


def test_a_tool_name_that_means_two_documents_is_recorded_by_step_key(shell):
    shell.write(
        "sub/sub.yaml",
        """
        apiVersion: kernel/v0
        meta: { name: sub }
        tools: [look]
        steps:
          - { id: inner, type: tool, tool: look }
          - { type: end, outcome: { category: resolved, code: ok } }
        """,
    )
    other = (shell.root / "tools/look.tool.yaml").read_text().replace('"{{ .item }}"', "other")
    shell.write("sub/tools/look.tool.yaml", other)
    shell.book(ONE + "\n- { id: child, type: runbook, runbook: ./sub/sub.yaml }", tools="look")
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert ran["record"]["written"] is True, ran["record"]
    text = scenario_of(shell, "one")
    assert "tool_responses" not in text
    assert "child/0/inner: {outputs: {word: other}, fields: {exit_code: 0}}" in text
    replayed(shell, "one")


def test_a_full_disk_is_a_warning(shell, warm):
    shell.book(ONE, tools="look")
    environ = dict(shell.environ)
    args = ("exec", "book.yaml", "--record", "one", "--json")
    good = warm(*args, environ=environ, cwd=shell.root)
    assert good.document["record"]["written"] is True
    own = [number for number, call in enumerate(good.calls, 1) if "/scenarios/book/" in call]
    assert len(own) >= 3, good.calls
    failed = 0
    for number in own:
        shutil.rmtree(shell.root / "scenarios")
        done = warm(*args, environ=environ, cwd=shell.root, fail_at=number, once=True)
        assert (done.code, done.document["status"]) == (0, "completed"), done
        record, left = done.document["record"], list(shell.root.glob("scenarios/book/*"))
        assert record["written"] is bool(left), (record, left, good.calls[number - 1])
        assert record["written"] or "No space left on device" in record["problem"]
        failed += not record["written"]
        (shell.root / "scenarios").mkdir(exist_ok=True)
    assert failed >= 3


def test_people_with_keys_need_no_signature_in_a_replay(shell):
    key = json.loads(shell.gert("keys", "new", "alice", "--json").stdout)
    meta = "governance: { rules: [{ writes: [host], action: require-approval }] }"
    shell.book("- { id: change, type: tool, tool: change }", tools="change", meta=meta)
    shell.write(
        "policy.yaml",
        f"""
        apiVersion: policy/v0
        meta: {{ name: people }}
        people: {{ alice: {{ keys: ["{key["public"]}"] }} }}
        rules: [{{ writes: [host], action: require-approval, approvers: [alice] }}]
        """,
    )
    shell.write("gert-project.yaml", "name: book\npolicies: [policy.yaml]\n")
    pending = shell.json("exec", "book.yaml", "--record", "one", "--approval", "inbox")
    ticket = pending["pending"][0]["ticket_id"]
    shell.gert("approve", ticket, "--as", "alice", GERT_APPROVAL_SIGNING_KEY=key["private"])
    ran = shell.json("resume", "latest")
    assert ran["record"]["written"] is True, ran["record"]
    assert "unfaithful" not in scenario_of(shell, "one", "test.yaml")
    replayed(shell, "one")
