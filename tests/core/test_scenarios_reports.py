"""Verdicts as JSON and as JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from gert_core.scenarios import Assertion, RunbookReport, ScenarioCounts, ScenarioResult, ScenarioStatus
from gert_core.scenarios.junit import junit
from gert_core.scenarios.results import reports_to_json, shortened

GOOD = Assertion(type="expected_code", key=None, expected="a", actual="a", passed=True)
BAD = Assertion(
    type="must_reach", key="b", expected="reached", actual="skipped", passed=False, message='expected "b" <&> more'
)
REPORTS = [
    RunbookReport(
        runbook="one.yaml",
        results=[
            ScenarioResult(scenario="good", status=ScenarioStatus.PASSED, duration=0.0126, assertions=(GOOD,)),
            ScenarioResult(
                scenario="bad",
                status=ScenarioStatus.FAILED,
                duration=0.5,
                assertions=(GOOD, BAD),
                path=(("a", "success"), ("b", "skipped")),
                warnings=("a remark",),
            ),
            ScenarioResult(scenario="bare", status=ScenarioStatus.SKIPPED, error="no test.yaml"),
        ],
    ),
    RunbookReport(
        runbook="two.yaml",
        results=[ScenarioResult(scenario="odd\x00\x1b", status=ScenarioStatus.ERROR, error="cannot \x07 run \ud800")],
    ),
]


def test_the_json_document():
    document = reports_to_json(REPORTS)
    assert list(document) == ["runbooks", "summary"]
    assert document["summary"] == {"total": 4, "passed": 1, "failed": 1, "skipped": 1, "errors": 1}
    one, two = document["runbooks"]
    assert list(one) == ["runbook", "scenarios", "summary"]
    assert one["summary"] == {"total": 3, "passed": 1, "failed": 1, "skipped": 1, "errors": 0}
    assert one["scenarios"][0] == {
        "scenario": "good",
        "mode": "replay",
        "status": "passed",
        "duration_ms": 13,
        "assertions": [
            {"type": "expected_code", "key": None, "expected": "a", "actual": "a", "passed": True, "message": ""}
        ],
        "error": None,
    }
    bad = one["scenarios"][1]["assertions"][1]
    assert bad["message"] == 'expected "b" <&> more; steps of the run: a (success), b (skipped)'
    assert two["scenarios"][0]["status"] == "error"


def test_the_summary_line():
    assert str(ScenarioCounts.of(REPORTS[0].results)) == "1 passed, 1 failed, 1 skipped"
    assert str(ScenarioCounts.of(REPORTS[1].results)) == "0 passed, 0 failed, 0 skipped, 1 error"
    assert ScenarioCounts().ok
    assert not ScenarioCounts(errors=1).ok
    assert not ScenarioCounts(failed=1).ok


def test_junit_is_xml_with_a_suite_per_runbook():
    root = ElementTree.fromstring(junit(REPORTS))
    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    one, two = root.findall("testsuite")
    assert (one.get("name"), one.get("tests"), one.get("failures"), one.get("time")) == ("one.yaml", "3", "1", "0.513")
    good, bad, bare = one.findall("testcase")
    assert (good.get("classname"), good.get("name"), good.get("time"), len(good)) == ("one.yaml", "good", "0.013", 0)
    failure = bad.find("failure")
    assert (failure.get("type"), failure.get("message")) == ("must_reach", 'expected "b" <&> more')
    assert failure.text.splitlines() == [
        'must_reach b: expected "b" <&> more',
        "path:",
        "  a: success",
        "  b: skipped",
    ]
    assert bad.find("system-err").text == "warning: a remark"
    assert bare.find("skipped").get("message") == "no test.yaml"
    error = two.find("testcase/error")
    assert error.get("message") == "cannot \ufffd run \ufffd"
    assert two.find("testcase").get("name") == "odd\ufffd\ufffd"


def test_a_long_path_is_shown_by_its_beginning_and_its_end():
    path = tuple((f"s#{number}", "success") for number in range(1000))
    short = shortened(path)
    assert len(short) < 60
    assert (short[0], short[-1]) == (path[0], path[-1])
    assert ("... 950 more ...", "") in short
