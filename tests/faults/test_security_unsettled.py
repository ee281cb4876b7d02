"""An approval that was asked for, a rejection and a denial stay in a run, whatever its documents and secret inputs become."""

from __future__ import annotations

import pytest
from gertproc import Gert
from people import TOOL

HEAD = "apiVersion: kernel/v0\nmeta: {name: gate}\ntools: [act]\nsteps:\n"
GOVERNED = "meta: {name: gate, governance: {rules: [{effects: [danger], action: RULE}]}}"
LISTED = HEAD.replace("{name: gate}", "{name: gate, constants: {lst: [1]}}")
ACT = "{id: act, type: tool, tool: act}"
GATE = "{id: gate, type: approval, message: m}"
OK = "{id: ok, type: assert, assert: [{type: equals, value: 1, expected: 1}]}"
END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"
PAIR = f"  - {{id: b, type: block, steps: [{GATE}, {ACT}]}}\n"
BRANCHES = f"  - {{id: b, type: parallel, branches: [{{steps: [{GATE}]}}, {{steps: [{ACT}]}}]}}\n"
DAG = "  - {id: d, type: dag, nodes: [{name: g, steps: [%s]}, {name: a, %ssteps: [%s]}]}\n"
BEHIND = "  - {id: p, type: parallel, branches: [{steps: [%s]}, {steps: [%s%s]}]}\n%s"
ITEMS = "  - {id: l, type: block, for_each: {over: [one, two], as: it}, steps: [%s]}\n"
LATER = 'when: "{{ ne .it \\"one\\" }}"'
SKIPPED = f'{{id: b, type: block, when: "{{{{ eq .flag \\"yes-please\\" }}}}", steps: [{GATE}]}}'
IN_DAG = (DAG % (SKIPPED, "depends_on: [g], ", ACT.replace("id: act", "id: first"))).strip(" -\n")


def project(root, steps: str, head: str = HEAD) -> Gert:
    made = Gert(root)
    made.write(tool_act=TOOL, gate=head + steps + ("" if END in steps else END))
    return made


def waiting(gert: Gert, *more: str) -> str:
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json", *more)
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def changed(gert: Gert, *more: str):
    return gert("resume", "--run", gert.run().name, "--on-drift", "allow", "--json", *more)


def acted(gert: Gert) -> bool:
    return (gert.root / "acted").exists()


EMPTY = f"  - {{id: gate, %s}}\n  - {ACT}\n"
MOVED = {
    "it is an empty parallel now": (f"  - {GATE}\n  - {ACT}\n", EMPTY % "type: parallel, branches: [{steps: []}]"),
    "it is asked of no item now": (
        f"  - {GATE}\n  - {ACT}\n",
        EMPTY % "type: approval, message: m, for_each: {over: [], as: it}",
    ),
    "behind it, in the cleanup": (f"  - {GATE}\n  - {ACT}\n", f"  - {GATE}\n{END}finally:\n  - {ACT}\n"),
    "in its block's cleanup": (PAIR, f"  - {{id: b, type: block, steps: [{GATE}], finally: [{ACT}]}}\n"),
    "its block is a tool now": (PAIR, f"  - {ACT.replace('id: act', 'id: b')}\n"),
    "its block is a parallel now": (PAIR, BRANCHES),
    "a node of a dag depends on it no longer": (DAG % (GATE, "depends_on: [g], ", ACT), DAG % (GATE, "", ACT)),
    "behind it, in another branch": (BEHIND % (GATE, OK, "", f"  - {ACT}\n"), BEHIND % (GATE, OK, f", {ACT}", "")),
    "skipped for its item": (
        ITEMS % f"{GATE}, {ACT}",
        ITEMS.replace("id: l", f"id: l, {LATER}") % ACT,
    ),
}


@pytest.mark.parametrize("rejected", [False, True], ids=["open", "rejected"])
@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED)
def test_no_changed_runbook_puts_a_step_beside_the_approval_it_stood_behind(tmp_path, before, after, rejected):
    gert = project(tmp_path, before)
    ticket = waiting(gert)
    if rejected:
        assert gert("reject", ticket, "--as", "ann").code == 0
    project(tmp_path, after)
    for _ in range(2):
        said = changed(gert)
        assert said.document.get("status") == "approval_pending" or said.document["error"]["kind"] == "drift", said.all
        assert not acted(gert)


def test_a_step_that_was_put_beside_an_approval_runs_when_that_is_given(tmp_path):
    gert = project(tmp_path, PAIR)
    waiting(gert)
    project(tmp_path, BRANCHES)
    ticket = changed(gert).document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", "ann").code == 0
    for _ in range(2):  # the branches run side by side: this one may come to its step before the other one is approved
        if (said := changed(gert).document)["status"] != "approval_pending":
            break
    assert said["status"] == "completed", said
    assert acted(gert)


def test_a_branch_beside_an_open_approval_goes_on_in_an_unchanged_runbook(tmp_path):
    both = BRANCHES.replace(ACT, f"{{id: other, type: approval, message: o, scope: o}}, {ACT}")
    gert = project(tmp_path, both)
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert "pending" in said.document, said.all
    tickets = {one["step_key"]: one["ticket_id"] for one in said.document["pending"]}
    assert gert("approve", tickets["b/1/other"], "--as", "ann").code == 0
    said = gert("resume", "--run", gert.run().name, "--json")
    assert (said.document["status"], acted(gert)) == ("approval_pending", True), said.all


@pytest.mark.parametrize(
    "guarded",
    [
        GATE.replace("type: approval", 'type: approval, when: "{{ eq .flag \\"yes-please\\" }}"'),
        SKIPPED,
        IN_DAG,
    ],
    ids=["itself", "its block", "a node of a dag"],
)
def test_no_other_value_of_a_secret_input_skips_an_approval_that_was_asked_for(tmp_path, guarded):
    head = HEAD.replace("{name: gate}", "{name: gate, inputs: {flag: {type: string, secret: true, required: true}}}")
    gert = project(tmp_path, f"  - {guarded}\n  - {ACT}\n", head)
    waiting(gert, "--var", "flag=yes-please")
    said = gert("resume", "--run", gert.run().name, "--var", "flag=no-thanks", "--json")
    assert (said.code, said.document["error"]["kind"]) == (1, "resume_diverged"), said.all
    assert "without the approval of step" in said.document["error"]["message"]
    assert not acted(gert)


@pytest.mark.parametrize("rejected", [False, True], ids=["open", "rejected"])
@pytest.mark.parametrize("other", ["act2", "act, for_each: {over: [x], as: it}"], ids=["another name", "a loop"])
def test_no_changed_runbook_takes_a_step_out_of_the_policy_that_asked_about_it(tmp_path, other, rejected):
    gert = project(
        tmp_path, f"  - {ACT}\n", HEAD.replace("meta: {name: gate}", GOVERNED.replace("RULE", "require-approval"))
    )
    ticket = waiting(gert)
    if rejected:
        assert gert("reject", ticket, "--as", "ann").code == 0
    project(tmp_path, f"  - {ACT.replace('id: act', f'id: {other}')}\n")
    said = changed(gert)
    assert said.document.get("status") == "approval_pending" or said.document["error"]["kind"] == "drift", said.all
    assert not acted(gert)


@pytest.mark.parametrize("rejected", [False, True], ids=["open", "rejected"])
def test_no_changed_runbook_gets_past_a_policy_by_an_error(tmp_path, rejected):
    """A step that cannot be rendered is an error before it is decided about, and the run may continue after errors."""
    head = HEAD.replace("meta: {name: gate}", GOVERNED.replace("RULE", "require-approval"))
    gert = project(tmp_path, f"  - {ACT}\n", head)
    ticket = waiting(gert)
    if rejected:
        assert gert("reject", ticket, "--as", "ann").code == 0
    wrong = ACT.replace("id: act", "id: act, continue_on_fail: true, when: '{{ index .lst 7 }}'")
    project(tmp_path, f"  - {wrong}\n  - {ACT.replace('id: act', 'id: act2')}\n", LISTED)
    said = changed(gert)
    assert (said.code, said.document["error"]["kind"]) == (1, "drift"), said.all
    assert not acted(gert)


def test_no_changed_runbook_makes_a_tool_of_a_step_that_was_open_beside_an_approval(tmp_path):
    open_ = "{id: m, type: manual, instructions: look, scope: o}"
    both = f"  - {{id: p, type: parallel, branches: [{{steps: [{GATE}]}}, {{steps: [%s]}}]}}\n"
    gert = project(tmp_path, both % open_)
    waiting(gert, "--questions", "suspend")
    project(tmp_path, both % ACT.replace("id: act", "id: m"))
    assert changed(gert, "--questions", "suspend").document["status"] == "approval_pending"
    assert not acted(gert)


REPLACED = [
    "type: parallel, branches: [{steps: []}]",
    "type: wait, for: 1ms",
    "type: approval, message: m, for_each: {over: [], as: it}",
]


@pytest.mark.parametrize("rejected", [False, True], ids=["open", "rejected"])
@pytest.mark.parametrize("other", REPLACED, ids=["a parallel", "a wait", "a loop"])
def test_no_change_that_is_undone_again_stands_for_an_approval(tmp_path, other, rejected):
    gert = project(tmp_path, f"  - {GATE}\n  - {ACT}\n")
    ticket = waiting(gert)
    if rejected:
        assert gert("reject", ticket, "--as", "ann").code == 0
    project(tmp_path, EMPTY % other)
    assert changed(gert).document["error"]["kind"] == "drift"
    project(tmp_path, f"  - {GATE}\n  - {ACT}\n")
    said = gert("resume", "--run", gert.run().name, "--json")
    assert said.document["status"] == ("failed" if rejected else "approval_pending"), said.all
    assert not acted(gert)


ERRS = GATE.replace("message: m", 'continue_on_fail: true, message: "ok {{ int .flag }}"')
AROUND = "{id: b, type: block, continue_on_fail: true, %s, steps: [" + GATE + "]}"
BY_CONDITION = AROUND % 'when: "{{ eq (int .flag) 1 }}"'
BY_LOOP = AROUND % 'for_each: {over: "{{ range (int .flag) }}", as: it}'
ERRING = {
    "itself": f"  - {ERRS}\n  - {ACT}\n",
    "its block": DAG % (BY_CONDITION, "depends_on: [g], ", ACT),
    "its loop": DAG % (BY_LOOP, "depends_on: [g], ", ACT),
}


@pytest.mark.parametrize("steps", ERRING.values(), ids=ERRING)
def test_no_other_value_of_a_secret_input_makes_an_error_of_an_approval_that_was_asked_for(tmp_path, steps):
    head = HEAD.replace("{name: gate}", "{name: gate, inputs: {flag: {type: string, secret: true, required: true}}}")
    gert = project(tmp_path, steps, head)
    waiting(gert, "--var", "flag=00001")
    said = gert("resume", "--run", gert.run().name, "--var", "flag=no-thanks", "--json")
    assert (said.code, said.document["error"]["kind"]) == (1, "resume_diverged"), said.all
    assert not acted(gert)


def test_no_changed_runbook_retries_what_was_denied_under_another_name(tmp_path):
    rule = GOVERNED.replace("RULE", "deny")
    gert = project(tmp_path, f"  - {OK}\n  - {ACT}\n", HEAD.replace("meta: {name: gate}", rule))
    assert gert("exec", "gate.yaml", "--as", "olga", "--no-preflight").code == 1
    project(tmp_path, f"  - {OK}\n  - {ACT.replace('id: act', 'id: act2')}\n")
    said = changed(gert, "--retry-failed")
    assert (said.code, said.document["error"]["kind"]) == (1, "drift"), said.all
    assert not acted(gert)


def test_cleanup_runs_after_a_rejection_of_a_changed_runbook(tmp_path):
    head = HEAD.replace("meta: {name: gate}", GOVERNED.replace("RULE", "require-approval"))
    tidy = "finally: [{id: tidy, type: assert, assert: [{type: equals, value: 1, expected: 1}]}]\n"
    gert = project(tmp_path, f"  - {ACT}\n", head)
    ticket = waiting(gert)
    assert gert("reject", ticket, "--as", "ann").code == 0
    gert.write(gate=f"{head}  - {ACT}\n{END}{tidy}")
    said = changed(gert)
    assert "steps" in said.document, said.all
    steps = {one["step_key"]: one["status"] for one in said.document["steps"]}
    assert (said.document["status"], steps["@finally/tidy"]) == ("failed", "success"), said.all
    assert not acted(gert)
