"""Nothing leads to an approval but the one function that checks answers: where code says so, there is no other place."""

from __future__ import annotations

import ast

import pytest
from repository import CORE, ROOT, core_modules, module_name

DECIDE, CHECKS = "gert_core.approvals.decide", "gert_core.approvals.checks"
RESUMED, GATES = "gert_core.engine.steps.approval", "gert_core.engine.steps.gates"
TREES = {module_name(file): ast.parse(file.read_text(encoding="utf-8")) for file in core_modules()}


def places(found) -> set[tuple[str, str]]:
    """Return module and innermost function of every node for which ``found`` holds."""
    result = set()
    for name, tree in TREES.items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for node in ast.walk(tree):
            if found(node):
                around = [one for one in functions if one.lineno <= node.lineno <= (one.end_lineno or 0)]
                result.add((name, max(around, key=lambda one: one.lineno).name if around else ""))
    return result


def is_call(node, name: str, **named: str) -> bool:
    """Return whether a node calls a function or method of this name, with these arguments as they are written."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] != name:
        return False
    given = {one.arg: ast.unparse(one.value) for one in node.keywords}
    return all(given.get(word) == text for word, text in named.items())


def test_one_place_writes_how_a_ticket_was_resolved():
    emits = places(lambda n: isinstance(n, ast.Call) and any("APPROVAL_RESOLVED" in ast.unparse(a) for a in n.args[:1]))
    assert emits == {(DECIDE, "_resolve")}
    words = places(lambda n: isinstance(n, ast.Constant) and n.value == "approval_resolved")
    assert words == {("gert_core.api.events", "")}


def test_a_ticket_is_approved_only_by_enough_answers_that_count():
    """Each call that approves stands behind the number of those who were counted."""
    assert places(lambda n: is_call(n, "_resolve", approved="True")) == {(DECIDE, "decide"), (DECIDE, "_add_answer")}
    enough = "len(state.tally.approvers) >= request.min_approvers"
    guarded = [
        node for node in ast.walk(TREES[DECIDE]) if isinstance(node, ast.If) and ast.unparse(node.test) == enough
    ]
    calls = [node for node in ast.walk(TREES[DECIDE]) if is_call(node, "_resolve", approved="True")]
    assert len(calls) == len(guarded) == 2
    resolved = [node for node in ast.walk(TREES[DECIDE]) if is_call(node, "_resolve")]
    assert {next(ast.unparse(one.value) for one in call.keywords if one.arg == "approved") for call in resolved} == {
        "True",
        "False",
    }, "written out at every call, never by something that is given"
    for call, guard in zip(calls, guarded, strict=True):
        assert ast.unparse(guard.body[0]) == f"return {ast.unparse(call)}"


def test_an_answer_counts_by_one_function_only():
    assert places(lambda n: is_call(n, "AnswerAssessment", result="AnswerResult.COUNTED")) == {(CHECKS, "assess")}
    added = places(lambda n: is_call(n, "add") and "tally" in ast.unparse(n.func))
    assert added == {
        (DECIDE, "_add_recorded"),
        (DECIDE, "_add_answer"),
        (CHECKS, "recount"),
        ("gert_core.approvals.standing", "_counted"),
    }
    judged = places(lambda n: is_call(n, "assess"))
    assert added <= judged


def test_a_decision_is_an_approval_only_where_answers_were_counted():
    """Its status is written out wherever one is made; none is changed later, and only ``approved`` lets a step run."""
    made = {
        (name, status_of(node))
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if is_call(node, "ApprovalDecision")
    }
    assert made == {
        (DECIDE, "'approved' if approved else 'rejected'"),
        (DECIDE, "'pending'"),
        (RESUMED, "'rejected'"),
        (RESUMED, "'pending'"),
        (RESUMED, "'approved'"),
    }
    approving = places(lambda n: is_call(n, "ApprovalDecision") and "'approved'" in ast.unparse(n))
    assert approving == {(DECIDE, "_resolve"), (RESUMED, "_asked_or_recorded")}
    (recorded,) = [n for n in ast.walk(TREES[RESUMED]) if is_call(n, "ApprovalDecision", status="'approved'")]
    assert ast.unparse(recorded) == (
        "ApprovalDecision(status='approved', approvers=_verified(execution, request, recorded))"
    )
    assert places(lambda n: is_call(n, "recount")) == {(RESUMED, "_verified"), (GATES, "_fault")}
    compared = [
        ast.unparse(node)
        for node in ast.walk(TREES[RESUMED])
        if isinstance(node, ast.Compare) and "decision.status" in ast.unparse(node)
    ]
    words = [f"decision.status == {word!r}" for word in ("approved", "approved", "pending", "rejected")]
    assert sorted(compared) == words
    read = [node for node in ast.walk(TREES[RESUMED]) if ast.unparse(node) == "decision.status"]
    assert len(read) == len(compared)
    (settled,) = [n for n in ast.walk(TREES[RESUMED]) if isinstance(n, ast.FunctionDef) and n.name == "_settled"]
    none = [ast.unparse(n.test) for n in settled.body if isinstance(n, ast.If) and "return None" in ast.unparse(n)]
    assert none == ["decision.status == 'approved'"]
    assert ast.unparse(settled.body[-1]) == "return _rejected(execution, decision)"


def status_of(call: ast.Call) -> str:
    """Return the status that a decision is made with, as it is written."""
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == "status"), "")


def test_a_recount_behind_a_finished_step_only_refuses():
    """It returns the reason why a recorded result does not count, and no approvers."""
    (fault,) = [n for n in ast.walk(TREES[GATES]) if isinstance(n, ast.FunctionDef) and n.name == "_fault"]
    assert ast.unparse(fault.returns) == "str | None"
    assert ast.unparse(fault.body[-1]) == "return recount(approval.responses, request, known)[1]"


def test_only_hosts_and_the_doctor_know_the_secrets_of_programs_that_answer_for_people():
    """Where runs are executed nothing reads them: ``gert doctor`` finds that they are set."""
    words = ("GERT_BRIDGE", "GERT_LINK", "GERT_CALLBACK", "SIGNING_SECRET", "(?:BRIDGE|LINK|CALLBACK)")
    found = places(lambda n: isinstance(n, ast.Constant) and any(word in str(n.value) for word in words))
    assert {name for name, _ in found} == {"gert_core.cli.doctor.trust", "gert_core.hosting.bridges"}
    users = places(lambda n: isinstance(n, ast.ImportFrom) and n.module == "gert_core.hosting.bridges")
    assert {name for name, _ in users} == {
        "gert_core.cli.commands.keys",
        "gert_core.hosting.deciding",
        "gert_core.hosting.personal_links",
    }


def only_reads(text):
    """Return whether a source names the event only as a key of what it does with each event that it reads."""
    if "approval_resolved" not in text.lower():
        return True
    tree = ast.parse(text)
    keys = {ast.unparse(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if key}
    named = "EventType.APPROVAL_RESOLVED"
    return named in keys and text.lower().count("approval_resolved") == 1


@pytest.mark.parametrize("folder", ["plugins", "tool_packs", "examples"])
def test_no_plugin_writes_it(folder):
    sources = [
        file for file in (ROOT / folder).rglob("*.py") if "tests" not in file.parts and ".venv" not in file.parts
    ]
    wrong = [str(file) for file in sources if not only_reads(file.read_text(encoding="utf-8"))]
    assert not wrong
    assert CORE.is_dir()
