"""The security page names tests; they exist, and every test of the security suites is on it or needs no place there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
SUITES = sorted(Path(__file__).parent.glob("test_security_*.py"))


def names_of(*files: Path) -> set[str]:
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_test_the_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    places = [ROOT / "tests", ROOT / "plugins", ROOT / "tool_packs", ROOT / "gert_core" / "testing"]
    known = names_of(*(file for place in places for file in place.rglob("*.py")))
    assert len(named) > 40
    assert named <= known, sorted(named - known)


def test_every_row_of_threats_has_a_guarantee_and_a_test():
    rows = []
    for title, least in (("## Threats", 30), ("## The inbox on the web", 20)):
        table = PAGE.partition(title)[2].partition("\n## ")[0]
        found = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
        assert len(found) > least
        rows += found
    for row in rows:
        threat, guarantee, test = (cell.strip() for cell in row.strip("|").split(" | "))
        assert threat, row
        assert guarantee, row
        assert "`test_" in test, row


BREACHES = {
    "a key id that is the name of another variable": [
        "test_an_answer_under_a_key_id_that_names_another_variable_is_refused"
    ],
    "changed input or tool behind an approval": ["test_allowed_drift_executes_nothing_under_an_old_approval"],
    "a softened policy behind a ticket": ["test_a_softened_policy_does_not_run_what_waits_for_an_approval"],
    "an answer of the own actor in the trace": ["test_the_own_actor_cannot_be_written_into_an_unsigned_trace"],
    "ids with invisible characters": ["test_ids_that_look_like_another_are_refused"],
    "the signer removed": ["test_no_key_signs_what_was_written_without_one"],
    "a copied run": ["test_a_copied_run_does_not_reuse_the_approval_of_the_other"],
    "lines typed or pushed into the terminal before the question": [
        "test_what_was_typed_before_the_question_is_no_answer",
        "test_a_tool_has_no_terminal_to_type_into",
    ],
    "a value that looks like a request": ["test_no_value_imitates_an_approval_request"],
    "a secret in the error of a constant": ["test_no_constant_tells_a_secret_in_its_error"],
    "quoting before masking": ["test_quoting_does_not_undo_the_mask"],
    "inputs from /proc": ["test_files_of_the_system_are_no_inputs"],
    "wrapped base64": ["test_wrapped_encodings_are_masked_and_restored"],
    "a secret that is a word of the trace": ["test_a_secret_that_is_a_word_of_the_trace"],
    "tokens of providers": ["test_tokens_of_providers_reach_no_tool"],
    "an effect or a tag that a step adds": ["test_nothing_a_step_declares_leads_to_a_milder_decision"],
    "a policy that validation refuses": ["test_a_policy_that_validate_refuses_stops_every_run"],
    "a project file that is none": ["test_a_project_file_that_is_no_readable_file_stops_every_command"],
    "a pointer to somebody's file": ["test_a_pointer_to_a_file_that_is_no_trace_of_the_run"],
    "a linked directory of tickets": ["test_a_linked_tickets_directory_is_not_followed"],
    "pipes and sparse files in a run directory": [
        "test_a_pipe_in_place_of_any_file_of_a_run_ends_with_a_sentence",
        "test_nothing_planted_in_one_run_takes_another_out_of_a_listing",
    ],
    "an answer or a line of a wrong type": ["test_nothing_planted_in_one_run_takes_another_out_of_a_listing"],
    "catastrophic patterns": [
        "test_extracting_ends_at_once",
        "test_a_signal_ends_gert_between_and_inside_long_searches",
    ],
    "a second default transport": ["test_two_default_transports_are_a_conflict"],
    "a policy plugin that exits": ["test_a_plugin_that_exits_is_broken_and_nothing_runs"],
}
"""What once got through, and the tests that go through the command line and fail without the defence."""


def test_what_once_got_through_is_on_the_page():
    missing = {words: [test for test in tests if f"`{test}`" not in PAGE] for words, tests in BREACHES.items()}
    assert [words for words, tests in missing.items() if tests] == []
    assert len(BREACHES) == 25
    assert all(BREACHES.values())


def test_the_numbers_of_the_limits_are_those_of_the_code():
    from gert_core.approvals.decide import MAX_SET_ASIDE
    from gert_core.documents import compose, yaml
    from gert_core.engine.modes.real import DEFAULT_TOOL_TIMEOUT
    from gert_core.engine.steps.exports import DETAIL_LIMIT
    from gert_core.kit import processes, tickets
    from gert_core.template import data, parse, scan
    from gert_core.trace import writer

    mebi = 1024 * 1024
    assert (4 * mebi, 100, 500_000) == (yaml.MAX_BYTES, compose.MAX_DEPTH, compose.MAX_VALUES)
    assert 4 * mebi == compose.MAX_EXPANSION
    assert (8 * 1024, 50, mebi) == (scan.MAX_EXPRESSION, parse.MAX_DEPTH, data.MAX_RESULT)
    assert (10 * mebi, 16 * mebi, 8 * mebi) == (processes.OUTPUT_LIMIT, tickets._LIMIT, writer._VALVE)
    assert (DETAIL_LIMIT, DEFAULT_TOOL_TIMEOUT, MAX_SET_ASIDE) == (16 * 1024, 60.0, 100)
