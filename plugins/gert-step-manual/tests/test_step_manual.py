"""The manual step: confirmations, evidence of every kind, rejection, and nobody there."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import gert_step_manual
import pytest

from gert_core.documents.scenario import ScenarioModel
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance
from gert_core.validation import validate_file

if TYPE_CHECKING:
    from pathlib import Path

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: people, inputs: { host: { type: string, default: srv1 } } }
steps:
  - id: look
    type: manual
    instructions: "Look at {{ .host }}."
    required_evidence:
      - { kind: text, name: notes }
      - { kind: checklist, name: done, items: [ first, second ] }
  - id: confirm
    type: manual
    instructions: Are we good?
    contract: { effects: [] }
  - type: finish
"""


class TestManualConformance(StepTypeConformance):
    plugin = gert_step_manual
    runbook = RUNBOOK
    slow = RUNBOOK
    answers = {"notes (text": "saw it", "done (numbers": "1 2", "Are we good?": ""}
    scenario = {"evidence": {"look": {"notes": "saw it", "done": {"first": True, "second": True}}}}


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_manual, finish]))


def book(evidence: str) -> str:
    return (
        "apiVersion: kernel/v0\nmeta: { name: p }\nsteps:\n"
        f"  - {{ id: look, type: manual, instructions: Do it., required_evidence: [{evidence}] }}\n"
        "  - { type: finish }\n"
    )


def test_evidence_becomes_outputs_given_by_a_human(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, answers=["saw it", "all", ""], inputs={"host": "db7"})
    ran.assert_outcome("resolved")
    assert ran.of("step_complete", "look")[0]["outputs"] == {
        "notes": "saw it",
        "done": {"first": True, "second": True},
    }
    assert ran.console.asked[0].startswith("Look at db7.\n")
    complete = next(e for e in ran.events if e.type == "step_complete" and e.step_key == "look")
    assert complete.principal == {"kind": "human", "id": "tester"}


def test_an_unusable_answer_is_asked_again(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, answers=["", "notes", "9", "third", "2,1", ""])
    ran.assert_outcome("resolved")
    assert "An answer is needed." in ran.console.asked[1]
    assert "numbers from 1 to 2" in ran.console.asked[3]


def test_an_incomplete_checklist_fails_and_names_what_is_missing(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, answers=["notes", "1"])
    ran.assert_failed("checklist_incomplete")
    assert ran.result.failures[0].message == "not done: done: second"


def test_what_is_missing_from_a_checklist_is_asked_about_once_more(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, answers=["notes", "1", "all", ""])
    ran.assert_outcome("resolved")
    assert "Not everything is done. Once more" in ran.console.asked[2]
    assert "1. second" in ran.console.asked[2]
    assert "first" not in ran.console.asked[2]
    assert ran.of("step_complete", "look")[0]["outputs"]["done"] == {"first": True, "second": True}
    ran = runner(RUNBOOK, answers=["notes", "none", "2"])
    ran.assert_failed("checklist_incomplete")
    assert ran.result.failures[0].message == "not done: done: first"
    assert len(ran.console.asked) == 3


@pytest.mark.parametrize(
    ("items", "line", "done"),
    [
        ("[dust, cables]", "cables", "cables"),
        ("[dust, cables]", " CABLES ,dust", "dust cables"),
        ("[dust, cables]", "1, Cables", "dust cables"),
        ("[dust, cables, fans]", "1 2, fans", "dust cables fans"),
        ("['fans on, dust off', cables]", "fans on,  Dust off", "fans on, dust off"),
        ("['a, b', cables, fans]", "1, 2, fans", "a, b cables fans"),
        ("['10', dust]", "10", "10"),
        ("[Dust, dust]", "dust", "dust"),
    ],
)
def test_items_of_a_checklist_are_given_by_their_words_too(
    runner: GertRunner, items: str, line: str, done: str
) -> None:
    ran = runner(book(f"{{kind: checklist, name: seen, items: {items}}}"), answers=[line, "none"])
    seen = next(event["outputs"]["seen"] for event in ran.of("step_complete", "look"))
    assert " ".join(item for item, ticked in seen.items() if ticked) == done


@pytest.mark.parametrize(
    ("items", "line"),
    [
        ("[Dust, dust]", "DUST"),
        ("['a, b', a, b]", "a, b"),
        ("[dust, cables]", "dust, moths"),
        ("[dust, cables]", "dus"),
        ("[dust, cables]", "dust cables"),
    ],
)
def test_words_that_mean_no_item_or_several_are_asked_about_again(runner: GertRunner, items: str, line: str) -> None:
    ran = runner(book(f"{{kind: checklist, name: seen, items: {items}}}"), answers=[line, "all"])
    ran.assert_outcome("resolved")
    assert "Answer with numbers from 1 to" in ran.console.asked[1]
    assert "or with the items themselves." in ran.console.asked[1]


@pytest.mark.parametrize("kind", ["checklist, items: [a, b]", "choice, options: [a, b]"])
def test_a_number_of_many_digits_is_asked_about_again(runner: GertRunner, kind: str) -> None:
    ran = runner(book(f"{{kind: {kind.replace(',', ', name: seen,', 1)}}}"), answers=["9" * 5000, "1", "1"])
    ran.assert_outcome("resolved")
    assert "1 to 2" in ran.console.asked[1]


def test_a_choice_is_given_by_number_or_by_words(runner: GertRunner) -> None:
    choice = book("{kind: choice, name: way, options: [wait, Roll Back]}")
    for answers in (["2"], ["roll back"], ["5", "forward", "", "2"]):
        ran = runner(choice, answers=answers)
        ran.assert_outcome("resolved")
        assert ran.of("step_complete", "look")[0]["outputs"]["way"] == "Roll Back"
        assert len(ran.console.asked) == len(answers)
    assert "    1. wait\n    2. Roll Back\n" in ran.console.asked[0]
    assert "Answer with a number from 1 to 2, or with one of the answers." in ran.console.asked[1]


def test_a_person_is_not_unknown(runner: GertRunner) -> None:
    contract = runner(RUNBOOK, answers=["notes", "all", ""]).of("contract_evaluated", "look")[0]["resolved_contract"]
    assert (contract["effects"], contract["writes"]) == (["human"], [])
    assert (contract["idempotent"], contract["deterministic"]) == (False, False)


def test_reject_fails_the_step_wherever_it_is_typed(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, answers=["notes", "reject wrong host"])
    ran.assert_failed("rejected")
    assert ran.result.failures[0].message == "wrong host"
    assert runner(RUNBOOK, answers=["notes", "all", "reject"]).result.failures[0].kind == "rejected"


def test_an_attachment_is_copied_and_hashed(runner: GertRunner) -> None:
    shot = runner.directory / "shot.png"
    shot.write_bytes(b"\x89PNG picture")
    ran = runner(book("{kind: attachment, name: shot}"), answers=["/no/such/file", str(shot)])
    ran.assert_outcome("resolved")
    given = ran.of("step_complete", "look")[0]["outputs"]["shot"]
    assert given == {"name": "shot.png", "sha256": hashlib.sha256(b"\x89PNG picture").hexdigest(), "size": 12}
    copy = ran.result.trace.parent / "attachments" / "shot.png"
    assert copy.read_bytes() == b"\x89PNG picture"
    assert copy.stat().st_mode & 0o777 == 0o600


def test_two_attachments_of_the_same_name_do_not_overwrite_each_other(runner: GertRunner) -> None:
    for folder, text in (("a", "one"), ("b", "two")):
        (runner.directory / folder).mkdir()
        (runner.directory / folder / "log.txt").write_text(text)
    paths = [str(runner.directory / folder / "log.txt") for folder in "ab"]
    ran = runner(book("{kind: attachment, name: x}, {kind: attachment, name: y}"), answers=paths)
    kept = ran.result.trace.parent / "attachments"
    assert sorted(f.read_text() for f in kept.iterdir()) == ["one", "two"]


@pytest.mark.parametrize("interactive", [True, False])
def test_nobody_there_is_an_error_not_a_guess(runner: GertRunner, interactive: bool) -> None:
    ran = runner(RUNBOOK, answers=[], interactive=interactive)
    ran.assert_failed("evidence_unavailable", status="error")


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (["first", "second"], None),
        ({"first": True, "second": True}, None),
        (["first"], "not done: done: second"),
        ({"second": True}, "not done: done: first"),
        (["third"], "the scenario answers done with ['third'], not with a list of what is done, of: first, second"),
        ("all", "the scenario answers done with 'all', not with a list of what is done, of: first, second"),
    ],
)
def test_a_checklist_in_a_scenario_lists_what_is_done(runner: GertRunner, done: object, expected: str | None) -> None:
    scenario = {"evidence": {"look": {"notes": "saw it", "done": done}}}
    ran = runner(RUNBOOK, mode="replay", scenario=ScenarioModel.model_validate(scenario))
    told = [failure.message for failure in ran.result.failures]
    assert told == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("kind", "beside", "right"),
    [
        ("boolean", "", "kind: choice, options: [yes, no]"),
        ("Checkbox", "", "kind: choice, options: [yes, no]"),
        ("select", ", options: [a, b]", "kind: choice"),
        ("checkboxes", ", items: [a, b]", "kind: checklist"),
        ("file", "", "kind: attachment"),
        ("string", "", "kind: text"),
    ],
)
def test_a_kind_of_another_tool_is_answered_with_ours(
    runner: GertRunner, tmp_path: Path, kind: str, beside: str, right: str
) -> None:
    written = book(f"{{kind: {kind}, name: seen{beside}}}")
    path = tmp_path / "b.yaml"
    path.write_text(written)
    (found,) = validate_file(path, registry=runner.registry).diagnostics
    assert (found.rule, found.path) == ("wrong-type", "steps[0].required_evidence[0].kind")
    assert found.hint == f"write `{right}`".replace(", options", "` and, beside it, `options")
    path.write_text(written.replace(f"kind: {kind}", right))
    assert validate_file(path, registry=runner.registry).valid
