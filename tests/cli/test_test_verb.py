"""``gert test``: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from scenario_books import write_book, write_scenario

from gert_core.cli import main

K16 = Path(__file__).parents[1] / "data" / "k16"
STEPS = """
- {id: look, type: tool, tool: box, action: read, inputs: {item: a}}
- {id: guarded, type: tool, tool: box, action: read, inputs: {item: a}, when: '{{ eq .word "more" }}'}
"""
GOOD = {"expected_outcome": "resolved", "must_not_reach": ["guarded"]}
BAD = {"expected_code": "other", "must_reach": ["guarded"]}


def says(*words):
    return {"tool_responses": {"box:read": [{"outputs": {"word": word}} for word in words]}}


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return write_book(Path(), STEPS)


def run(capsys, *args):
    code = main(["test", *map(str, args)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, *args):
    code, text, _ = run(capsys, *args, "--json")
    return code, json.loads(text)


def statuses(document):
    return {s["scenario"]: s["status"] for r in document["runbooks"] for s in r["scenarios"]}


def test_the_design_documents_runbook_reaches_every_outcome(capsys):
    code, document = run_json(capsys, K16, "--all")
    assert statuses(document) == dict.fromkeys(
        ["healthy", "nobody_investigates", "restarted", "retries_used_up", "unknown_status", "unreachable"], "passed"
    )
    outcomes = {
        assertion["actual"]
        for scenario in document["runbooks"][0]["scenarios"]
        for assertion in scenario["assertions"]
        if assertion["type"] in ("expected_outcome", "expected_code")
    }
    assert outcomes == {
        "no_action", "service_healthy", "resolved", "service_restarted", "escalated", "unknown_failure",
    }  # fmt: skip
    assert code == 0
    code, document = run_json(capsys, K16)
    assert list(statuses(document)) == ["healthy", "restarted", "retries_used_up", "unknown_status"]
    assert list(statuses(run_json(capsys, K16, "--tag", "smoke")[1])) == ["healthy"]


def test_people_see_a_line_per_scenario_failures_explained_and_a_summary(book, capsys):
    write_scenario(book, "bad", says("less"), BAD)
    write_scenario(book, "bare", says("less"))
    write_scenario(book, "good", says("less"), GOOD)
    code, out, err = run(capsys, book)
    lines = out.splitlines()
    assert code == 1
    assert lines[0] == "book.yaml"
    assert [line.split()[:2] for line in lines[1:4]] == [["✗", "bad"], ["○", "bare"], ["✓", "good"]]
    assert "skipped: it has no test.yaml" in lines[2]
    assert lines[4:13] == [
        "",
        "✗ book.yaml: bad",
        '    expected_code: expected "other", got "done"',
        "    must_reach guarded: expected step guarded to be reached, but it was skipped",
        "    path:",
        "      ✓ look",
        "      ○ guarded  skipped",
        "      ✓ _end_1",
        "    look closer: gert exec book.yaml --mode replay --scenario bad",
    ]
    assert lines[-1] == "1 passed, 1 failed, 1 skipped"
    assert not [line for line in err.splitlines() if "book.yaml" in line]


def test_the_json_document_has_exactly_these_fields(book, capsys):
    write_scenario(book, "bad", says("less"), BAD)
    code, document = run_json(capsys, book)
    assert code == 1
    assert list(document) == ["runbooks", "summary"]
    (report,) = document["runbooks"]
    assert list(report) == ["runbook", "scenarios", "summary"]
    (scenario,) = report["scenarios"]
    assert list(scenario) == ["scenario", "mode", "status", "duration_ms", "assertions", "error"]
    assert scenario["mode"] == "replay"
    assert isinstance(scenario["duration_ms"], int)
    for assertion in scenario["assertions"]:
        assert list(assertion) == ["type", "key", "expected", "actual", "passed", "message"]
    assert (
        "steps of the run: look (success), guarded (skipped), _end_1 (success)" in scenario["assertions"][0]["message"]
    )
    assert document["summary"] == {"total": 1, "passed": 0, "failed": 1, "skipped": 0, "errors": 0}


def test_leftovers_are_warnings_on_stderr_and_fail_nothing(book, capsys):
    write_scenario(book, "much", says("less", "less"), GOOD)
    code, out, err = run(capsys, book, "--json")
    assert code == 0
    assert json.loads(out)["summary"]["passed"] == 1
    assert "warning: book.yaml: much: tool_responses: 1 of 2 responses for 'box:read' not used" in err


def test_only_skipped_is_no_failure(book, capsys):
    write_scenario(book, "bare", says("less"))
    code, out, _ = run(capsys, book)
    assert code == 0
    assert out.splitlines()[-1] == "0 passed, 0 failed, 1 skipped"


def test_golden_tags_names_and_all(book, capsys):
    write_scenario(book, "gold", says("less"), GOOD | {"golden": True})
    write_scenario(book, "old", says("less"), GOOD | {"tags": ["night"]})
    assert list(statuses(run_json(capsys, book)[1])) == ["gold"]
    assert "1 not golden, --all runs them" in run(capsys, book)[1]
    assert list(statuses(run_json(capsys, book, "--all")[1])) == ["gold", "old"]
    assert list(statuses(run_json(capsys, book, "--scenario", "old")[1])) == ["old"]
    assert list(statuses(run_json(capsys, book, "--all", "--tag", "night")[1])) == ["old"]
    code, document = run_json(capsys, book, "--tag", "night")
    assert code == 2
    assert "--all" in document["error"]["hint"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nope.yaml"], "nope.yaml does not exist"),
        (["book.yaml", "--scenario", "nope"], "there is no scenario 'nope'"),
        (["book.yaml", "--tag", "nope"], "no scenario has the tag 'nope'"),
        (["book.yaml", "--timeout", "soon"], "--timeout"),
        (["book.yaml", "-j", "0"], "-j takes"),
        (["bare.yaml"], "no scenarios found"),
        (["tools"], "no runbook with scenarios under tools"),
        (["book.yaml", "--junit", "no/such/dir.xml"], "cannot write no/such/dir.xml"),
    ],
    ids=str,
)
def test_usage_errors(book, capsys, args, said):
    write_book(Path(), STEPS, name="bare")
    write_scenario(book, "good", says("less"), GOOD)
    code, document = run_json(capsys, *args)
    assert code == 2
    assert said in document["error"]["message"]


def test_a_broken_policy_stops_everything(book, capsys):
    Path("gert-project.yaml").write_text("name: p\npolicies: [strict.yaml]\n")
    Path("strict.yaml").write_text("apiVersion: policy/v0\nmeta: {name: x}\nrules: [{action: perhaps}]\n")
    write_scenario(book, "good", says("less"), GOOD)
    code, document = run_json(capsys, book)
    assert code == 2
    assert "strict.yaml" in document["error"]["message"]


def test_the_projects_policies_count(book, capsys):
    Path("gert-project.yaml").write_text("name: p\npolicies: [strict.yaml]\n")
    Path("strict.yaml").write_text(
        "apiVersion: policy/v0\nmeta: {name: x}\nrules: [{reads: [disk], action: deny}, {default: allow}]\n"
    )
    write_scenario(book, "good", says("less"), {"expected_status": "failed", "must_not_reach": ["look"]})
    assert run_json(capsys, book)[0] == 0


def test_a_scenario_has_its_name_however_it_is_given_and_a_link_to_itself_is_none(book, capsys, monkeypatch):
    write_scenario(book, "good", says("less"), GOOD)
    Path("scenarios/book/loop").symlink_to("loop")
    assert statuses(run_json(capsys, book)[1]) == {"good": "passed"}
    monkeypatch.chdir("scenarios/book/good")
    assert statuses(run_json(capsys, ".")[1]) == {"good": "passed"}
    assert statuses(run_json(capsys, "../good/.")[1]) == {"good": "passed"}


def test_broken_documents_are_errors_of_their_scenarios_only(book, capsys):
    write_scenario(book, "good", says("less"), GOOD)
    write_scenario(book, "typo", "tool_respones: {}", GOOD)
    write_scenario(book, "wrong", says("less"), "expected_status: done")
    other = write_book(Path("other"), STEPS.replace("action: read", "action: raed"), name="other")
    write_scenario(other, "any", says("less"), GOOD)
    code, document = run_json(capsys, ".")
    assert code == 1
    assert statuses(document) == {"good": "passed", "typo": "error", "wrong": "error", "any": "error"}
    assert document["summary"] == {"total": 4, "passed": 1, "failed": 0, "skipped": 0, "errors": 3}
    errors = {s["scenario"]: s["error"] for r in document["runbooks"] for s in r["scenarios"]}
    assert "tool_respones" in errors["typo"]
    assert "expected_status" in errors["wrong"]
    assert "action-unknown" in errors["any"]
    assert "2 errors" in run(capsys, book)[1].splitlines()[-1]


@pytest.mark.parametrize("jobs", [1, 3])
def test_fail_fast_stops_at_the_first_failure_in_order(book, capsys, jobs):
    for number in range(6):
        write_scenario(book, f"s{number}", says("less"), BAD if number in (2, 4) else GOOD)
    code, document = run_json(capsys, book, "--fail-fast", "-j", jobs)
    assert code == 1
    assert list(statuses(document).values()) == ["passed", "passed", "failed", "skipped", "skipped", "skipped"]
    assert "--fail-fast" in document["runbooks"][0]["scenarios"][5]["error"]


def test_junit_is_written_beside_the_other_output(book, capsys):
    write_scenario(book, "bad", says("less"), BAD)
    write_scenario(book, "good", says("less"), GOOD)
    code, out, _ = run(capsys, book, "--junit", "out.xml")
    assert (code, out.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    suite = ElementTree.parse("out.xml").getroot().find("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("book.yaml", "2", "1")
    assert [case.get("name") for case in suite.findall("testcase")] == ["bad", "good"]
    assert suite.find("testcase/failure").get("type") == "expected_code"


def test_nothing_is_left_behind_and_nothing_is_spawned(book, capsys):
    marker = Path("spawned")
    tool = Path("tools/box.tool.yaml")
    tool.write_text(tool.read_text().replace('"true"', f'"touch {marker}"'))
    write_scenario(book, "good", says("less"), GOOD)
    before = sorted(Path().rglob("*"))
    assert run(capsys, book)[0] == 0
    assert sorted(Path().rglob("*")) == before


def test_the_console_script_in_its_own_process(book):
    write_scenario(book, "bad", says("less"), BAD)
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "test", "book.yaml", "-j", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    assert "Traceback" not in done.stderr


ASKING = """
- {id: look, type: manual, instructions: Look., required_evidence: [{name: seen, kind: text}]}
- {id: sign, type: manual, instructions: Sign.}
"""


@pytest.mark.parametrize(
    ("evidence", "status", "waits"),
    [
        ({"look": {}}, "answer_pending", "look"),
        ({"look": {"seen": "yes"}, "sign": {}}, "answer_pending", "sign"),
        ({"look": {"seen": "yes"}}, "completed", None),
    ],
)
def test_a_person_whom_the_scenario_gives_no_answer_leaves_the_run_waiting(
    tmp_path, monkeypatch, capsys, evidence, status, waits
):
    monkeypatch.chdir(tmp_path)
    book = write_book(Path(), ASKING)
    write_scenario(book, "right", {"evidence": evidence}, {"expected_status": status})
    other = {"answer_pending": "completed", "completed": "answer_pending"}[status]
    write_scenario(book, "wrong", {"evidence": evidence}, {"expected_status": other})
    code, document = run_json(capsys, book)
    assert (code, statuses(document)) == (1, {"right": "passed", "wrong": "failed"})
    _, wrong = document["runbooks"][0]["scenarios"]
    (said,) = [one["message"] for one in wrong["assertions"]]
    why = f" (step {waits} waits for an answer)" if waits else ""
    assert said.startswith(f'expected "{other}", got "{status}"{why}; steps of the run: look (')


def test_a_step_that_waits_for_an_answer_is_not_reached(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    book = write_book(Path(), ASKING)
    write_scenario(book, "s", {"evidence": {"look": {}}}, {"must_reach": ["look"], "must_not_reach": ["sign"]})
    code, text, _ = run(capsys, book)
    assert code == 1
    assert "expected step look to be reached, but it was not reached: answer_pending" in text
