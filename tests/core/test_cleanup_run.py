"""The cleanup of a whole run: ``on_failure`` and ``finally`` of a runbook."""

from __future__ import annotations

import pytest
from judging import compare
from lab import Lab, tool

from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore

RULES = (
    "governance: { rules: [ { effects: [forbidden], action: deny }, { effects: [asked], action: require-approval } ] }"
)
TOOLS = {**tool("bad", effects="forbidden"), **tool("gated", effects="asked")}


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def step(name: str, value: str = "", **inputs: object) -> str:
    given = ", ".join(f"{key}: {one}" for key, one in inputs.items())
    more = f", {given}" if given else ""
    return f"{{ id: {name}, type: tool, tool: lab, inputs: {{ value: '{value or name}'{more} }} }}"


END = "{ id: escalate, type: end, outcome: { category: escalated, code: told } }"
BAD, GATED = "{ id: bad, type: tool, tool: bad }", "{ id: gated, type: tool, tool: gated }"
FAIL = step("two", exit=3)


def play(lab, *steps, on_failure="", last="", **options):
    lines = "\n".join(f"- {one}" for one in steps)
    book = lab.book(lines, meta=RULES, tools=TOOLS)
    book += f"on_failure: [ {on_failure} ]\n" if on_failure else ""
    book += f"finally: [ {last} ]\n" if last else ""
    return lab.runner(book, files=TOOLS, **options)


STATUS = "{{ .run.status }} {{ .failure.step }}"
LAST = step("last", '{{ .run.status }} {{ .failure.kind | default "none" }}')


def test_a_run_that_completes_runs_finally_only(lab):
    ran = play(lab, step("one"), on_failure=step("undo"), last=LAST)
    assert (ran.status, ran.result.outcome.code) == ("completed", "ok")
    assert lab.values() == ["one", "completed none"]
    assert list(ran.steps) == ["one", "done", "@finally/last"]


def test_a_failed_run_stays_failed_with_its_first_failure(lab):
    ran = play(lab, step("one"), FAIL, on_failure=step("undo", STATUS), last=LAST)
    ran.assert_failed("exit_code")
    assert lab.values() == ["one", "two", "failed two", "failed exit_code"]
    assert list(ran.steps) == ["one", "two", "@on_failure/undo", "@finally/last"]
    assert ran.of("run_complete")[-1]["failing"] == ["two"]


def test_an_end_in_on_failure_gives_the_outcome(lab):
    ran = play(lab, FAIL, on_failure=f"{step('undo')}, {END}", last=LAST)
    assert (ran.status, ran.result.outcome.code) == ("completed", "told")
    assert lab.values() == ["two", "undo", "completed exit_code"]
    assert ran.of("outcome_resolved") == [
        {
            "step_id": "escalate",
            "step_key": "@on_failure/escalate",
            "outcome": {"category": "escalated", "code": "told", "meta": {}},
        }
    ]


def test_after_a_denial_an_end_ends_the_cleanup_only(lab):
    ran = play(lab, BAD, on_failure=f"{step('undo', STATUS)}, {END}", last=LAST)
    ran.assert_failed("governance_denied")
    assert lab.values() == ["failed bad", "failed governance_denied"]
    assert ran.result.outcome is None


def test_a_failing_cleanup_is_named_behind_the_first_failure(lab):
    ran = play(lab, FAIL, on_failure=step("undo", exit=1), last=step("last", exit=2))
    assert ran.of("run_complete")[-1]["failing"] == ["two", "@on_failure/undo", "@finally/last"]
    assert ran.of("run_complete")[-1]["failure"]["step_key"] == "two"


def test_a_finally_that_fails_after_the_outcome_takes_it_away(lab):
    ran = play(lab, step("one"), last=step("last", exit=2))
    ran.assert_failed("exit_code")
    assert ran.result.failures[0].message.endswith("(the run had reached the outcome resolved (ok))")
    assert not ran.of("outcome_resolved")


def test_no_cleanup_before_the_resume_and_the_approval_in_cleanup_suspends(lab):
    ran = play(lab, GATED, on_failure=step("undo"), last=GATED.replace("id: gated", "id: gated_2"), approval="inbox")
    assert ran.status == "approval_pending"
    assert lab.calls == []
    _answer(lab, ran, approved=False)
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "approval_pending", "the cleanup asks for itself"
    assert lab.values() == ["undo"]
    _answer(lab, again, approved=True)
    last = lab.runner.resume(ran.result.run_id)
    last.assert_failed("approval_rejected")
    assert lab.values() == ["undo", None]


def _answer(lab, ran, *, approved):
    from gert_core.approvals.inbox import entries, respond

    waiting = {ticket["ticket_id"] for ticket in ran.result.pending}
    (entry,) = [entry for entry in entries(DirectoryStore(ran.runs)) if entry.request.ticket_id in waiting]
    schemes = lab.runner.registry.signature_scheme
    respond(entry, approved=approved, approver="bob", reason=None, environ={}, schemes=schemes)


def test_a_crash_in_cleanup_is_resumed_where_it_was(lab):
    ran = play(lab, step("one"), FAIL, on_failure=f"{step('undo')}, {step('more')}", last=LAST)
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(2, len(lines)):
        lab.calls.clear()
        ran.result.trace.write_bytes(b"".join(lines[:count]))
        (ran.result.trace.parent / "state.json").unlink(missing_ok=True)
        again = lab.runner.resume(ran.result.run_id)
        assert (again.status, again.steps) == (ran.status, ran.steps), count
        assert again.of("run_complete")[-1]["failing"] == ["two"]


def test_a_dry_run_shows_both_lists(lab):
    ran = play(lab, step("one"), on_failure=f"{step('undo', STATUS)}, {END}", last=LAST, mode="dry-run")
    assert list(ran.steps) == ["one", "done", "@on_failure/undo", "@on_failure/escalate", "@finally/last"]
    assert ran.status == "completed"
    assert [outcome.code for outcome in ran.result.possible] == ["ok", "told"]
    assert ran.of("step_start", "@on_failure/undo")[0]["inputs"]["value"] == "{{ .run.status }} {{ .failure.step }}"


def test_what_the_steps_and_on_failure_export_is_exclusive(lab):
    one = "{ id: a, type: tool, tool: lab, inputs: { value: first }, export: [value] }"
    two = "{ id: b, type: tool, tool: lab, inputs: { value: second }, export: [value] }"
    ran = play(lab, one, FAIL, on_failure=f"{two}, {step('read', '{{ .value }}')}")
    assert ran.steps["@on_failure/b"] == "success"
    assert lab.values()[-1] == "second"


CASES = {
    "the run has a status in its cleanup only": """
        steps:
          - {type: tool, tool: ping, inputs: {host: "{{ .run.status }}"}}  #! unresolved-variable
          - {type: end, outcome: {category: resolved}}
        on_failure:
          - {type: tool, tool: ping, inputs: {host: "{{ .run.status }} {{ .failure.kind }}"}}
        """,
    "no end in finally": """
        steps:
          - {type: end, outcome: {category: resolved}}
        finally:
          - {type: end, outcome: {category: resolved}}  #! end-in-finally
        """,
    "cleanup sees the steps and has ids of its own": """
        steps:
          - {id: one, type: tool, tool: ping, inputs: {host: a}}
          - {type: end, outcome: {category: resolved}}
        on_failure:
          - {id: two, type: tool, tool: ping, inputs: {host: "{{ .one.status }} {{ .late }}"}}  #! unresolved-variable
        finally:
          - {id: one, type: tool, tool: ping, inputs: {host: "{{ .two.status }}"}}  #! duplicate-step-id
        """,
    "empty lists": """
        steps:
          - {type: end, outcome: {category: resolved}}
        finally: []  #! missing-field
        """,
    "on_failure does not have to end": """
        steps:
          - {type: end, outcome: {category: resolved}}
        on_failure:
          - {type: end, outcome: {category: escalated}}
          - {id: dead, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_validation(name, tmp_path):
    compare(tmp_path, CASES[name], registry=Registry.build())
