"""An approval step that a run has passed is asked for again in changed documents, and nothing in them gets around it."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"
GATE = "  - {id: gate, type: approval, message: go}\n"
ACT = "  - {id: act, type: tool, tool: act, inputs: {word: one}}\n"
EVIL = ACT.replace("one", "evil")
FREE = "  - {id: before, type: tool, tool: act, inputs: {word: free}}\n"
DRIFT = ("--retry-failed", "--yes", "--on-drift", "allow")
TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act}
contract: {effects: [danger], writes: [production], idempotent: true, inputs: {word: {type: string, required: true}}}
actions: {run: {argv: [act, "{{ .word }}"]}}
"""
ASKS = "apiVersion: policy/v0\nmeta: {name: p}\nrules: [{effects: [danger], action: require-approval}]\n"


def book(steps: str, *, more: str = "", name: str = "book") -> str:
    return f"apiVersion: kernel/v0\nmeta: {{name: {name}}}\ntools: [act]\nsteps:\n{steps}{END}{more}"


def inside(steps: str, head: str = "id: all, type: block") -> str:
    """Put steps into another one."""
    body = "".join(f"    {line}\n" for line in steps.splitlines())
    return f"  - {{{head}, steps: [\n{body.replace('  - {', '{').replace('}}', '}},').replace('go}', 'go},')}    ]}}\n"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL)
    failing(made, "exit 3")
    return made


def failing(gert, end: str) -> None:
    (gert.root / "act").write_text(f'#!/bin/sh\necho "$1" >> acted\n[ "$1" = free ] || {end}\n')
    (gert.root / "act").chmod(0o755)


def acted(gert) -> list[str]:
    file = gert.root / "acted"
    return file.read_text().split() if file.exists() else []


def resume(gert, *more: str, stdin: str | None = None) -> dict:
    given = {} if stdin is None else {"stdin": stdin}
    said = gert("resume", "--run", gert.run().name, "--json", *more, **given)
    return json.loads(said.out)


def approve(gert, ticket: str, who: str = "ann") -> None:
    said = gert("approve", ticket, "--as", who)
    assert said.code == 0, said.all


def passed(gert, steps: str, **documents: str) -> None:
    """Start a runbook, approve what it asks, and let the step behind the approval fail."""
    gert.write(book=steps, **documents)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert)["status"] == "failed"
    failing(gert, "exit 0")


SKIPPED = GATE.replace("go}", "go, when: false}")
WAYS = {
    "skipped": (book(GATE + ACT), book(SKIPPED + EVIL)),
    "moved in front": (book(GATE + ACT), book(EVIL + GATE)),
    "moved in front and renamed": (book(GATE + ACT), book(EVIL.replace("id: act", "id: other") + GATE)),
    "jumped over": (book(GATE + ACT), book(FREE.replace("}}", "}, next: act}") + GATE + EVIL)),
    "in no item of a loop": (
        book(GATE + ACT),
        book(GATE.replace("go}", "go, for_each: {as: x, over: []}}") + EVIL),
    ),
    "in a block that is skipped": (
        book(inside(GATE) + ACT),
        book(inside(GATE, "id: all, type: block, when: false") + EVIL),
    ),
}


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(("before", "after"), WAYS.values(), ids=WAYS)
def test_nothing_gets_around_an_approval_that_was_passed(gert, before, after, times):
    """Not in the first resume, and not in the ones behind it, when what is to be executed again is on record."""
    passed(gert, before)
    gert.write(book=after)
    for _ in range(times):
        refused = resume(gert, *DRIFT)
        assert (refused["error"]["kind"], acted(gert)) == ("drift", ["one"]), refused
    assert resume(gert, "--on-drift", "allow")["error"]["kind"] == "drift"
    assert acted(gert) == ["one"]


def test_what_was_asked_for_again_is_not_skipped_by_another_change(gert):
    passed(gert, book(GATE + ACT))
    gert.write(book=book(GATE + ACT) + "# other\n")
    assert resume(gert, *DRIFT)["status"] == "approval_pending"
    gert.write(book=book(SKIPPED + EVIL))
    assert resume(gert, "--on-drift", "allow")["error"]["kind"] == "drift"
    assert acted(gert) == ["one"]


def test_a_step_beside_an_approval_that_was_passed_waits_for_it(gert):
    nodes = "  - {id: all, type: dag, nodes: [\n    {name: a, steps: [%s]},\n    {name: b, depends_on: [%s], steps: [%s]}]}\n"
    ask, act = GATE.strip().removeprefix("- "), ACT.strip().removeprefix("- ")
    passed(gert, book(nodes % (ask, "a", act)))
    gert.write(book=book(nodes % (ask, "", act.replace("one", "evil"))))
    waiting = resume(gert, *DRIFT)
    assert (waiting["status"], acted(gert)) == ("approval_pending", ["one"]), waiting
    approve(gert, waiting["pending"][0]["ticket_id"])
    done = resume(gert, "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("completed", ["one", "evil"]), done


def test_an_included_runbook_gets_nothing_around_its_approval_either(gert):
    part = "  - {id: part, type: runbook, runbook: ./part.yaml}\n"
    passed(gert, book(part), part=book(GATE + ACT, name="part"))
    gert.write(part=book(SKIPPED + EVIL, name="part"))
    assert (resume(gert, *DRIFT)["error"]["kind"], acted(gert)) == ("drift", ["one"])


@pytest.mark.parametrize("provider", ["stdin", "inbox"])
def test_a_changed_runbook_does_not_go_on_after_a_rejection_of_what_was_passed(gert, provider):
    passed(gert, book(GATE + ACT))
    gert.write(book=book(GATE.replace("go}", "go, on_reject: fail, continue_on_fail: true}") + EVIL))
    if provider == "stdin":
        done = resume(gert, *DRIFT, "--approval", "stdin", stdin="n bob: no\n")
    else:
        ticket = resume(gert, *DRIFT)["pending"][0]["ticket_id"]
        assert gert("reject", ticket, "--as", "bob").code == 0
        done = resume(gert, "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("failed", ["one"]), done


def test_a_step_that_policies_ask_about_too_does_not_go_in_front(gert):
    """Its own approval is asked for again, and given, for what it does now; the other one opened it."""
    (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    gert.write(book=book(GATE + ACT), policy=ASKS)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert)["pending"][0]["step_key"] == "act"
    gert.write(book=book(EVIL + GATE))
    assert resume(gert, "--on-drift", "allow")["error"]["kind"] == "drift"
    assert acted(gert) == []


def test_steps_that_ran_before_the_approval_was_asked_for_run_again(gert):
    """A harmless change, and a retry of the whole run because its cleanup has begun."""
    cleanup = "finally:\n" + FREE.replace("before", "last")
    passed(gert, book(FREE + GATE + ACT, more=cleanup))
    gert.write(book=book(FREE + GATE + ACT, more=cleanup) + "# other\n")
    waiting = resume(gert, *DRIFT)
    assert waiting["status"] == "approval_pending", waiting
    approve(gert, waiting["pending"][0]["ticket_id"])
    done = resume(gert, "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("completed", ["free", "one", "free", "free", "one", "free"]), done


KILLED = '#!/bin/sh\necho "$1" >> acted\n[ "$1" = free ] || kill -9 $PPID\n'


def test_an_aborted_run_asks_again_in_its_cleanup(gert):
    """Cleanup of other documents behind an approval that was passed is not that which was approved."""
    lines = "    finally:\n" + "".join(f"    {line}\n" for line in (GATE + ACT).splitlines())
    steps = (
        "  - id: all\n    type: block\n    steps: [{id: before, type: tool, tool: act, inputs: {word: free}}]\n" + lines
    )
    gert.write(book=book(steps))
    (gert.root / "act").write_text(KILLED)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert gert("resume", "latest").code == -9
    failing(gert, "exit 0")
    gert.write(book=book(steps.replace("one", "evil")))
    waiting = resume(gert, "--abort", "--on-drift", "allow")
    assert (waiting["status"], acted(gert)) == ("approval_pending", ["free", "one"]), waiting
    approve(gert, waiting["pending"][0]["ticket_id"])
    done = resume(gert, "--abort", "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("cancelled", ["free", "one", "evil"]), done


CHECK = "  - {id: %s, type: assert, assert: [{type: equals, value: a, expected: a}]%s}\n"
LAST = "finally:\n" + CHECK % ("last", "")
OTHER = EVIL.replace("id: act", "id: other")
LOOP = ACT.replace("}}", "}, for_each: {as: x, over: [a], key: '{{ .x }}'}}")
MILD = {"policy": ASKS.replace("require-approval", "allow")}
HARMLESS = {"tool_act": TOOL.replace("danger", "reading")}
NAMES = {
    "gone": (book(ACT), book(OTHER), MILD),
    "something else in its place": (book(ACT), book(OTHER + CHECK % ("act", ", when: false")), MILD),
    "in front of it": (book(ACT), book(OTHER + ACT), MILD),
    "jumped over": (book(ACT), book(OTHER.replace("}}", "}, next: last}") + ACT + CHECK % ("last", "")), MILD),
    "a tool that declares less": (book(ACT), book(OTHER + CHECK % ("act", ", when: false")), HARMLESS),
    "another item": (book(LOOP), book(LOOP.replace("[a]", "[b]").replace("one", "evil")), MILD),
    "a block that is skipped": (
        book(inside(ACT)),
        book(OTHER + inside(ACT, "id: all, type: block, when: false")),
        MILD,
    ),
}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("before", "after", "documents"), NAMES.values(), ids=NAMES)
def test_a_step_that_failed_under_its_approval_does_not_run_by_another_name(gert, before, after, documents, times):
    (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    passed(gert, before, policy=ASKS)
    gert.write(book=after, **documents)
    for _ in range(times):
        refused = resume(gert, *DRIFT)
        assert (refused["error"]["kind"], acted(gert)) == ("drift", ["one"]), refused


BARE = """\
apiVersion: tool/v0
meta: {name: bare, transport: stdio, binary: ./act}
contract: {effects: [danger], writes: [production], idempotent: true}
actions: {run: {argv: [act, evil]}}
"""
FRONT = {
    "a step that was skipped": (
        "  - {id: before, type: tool, tool: bare, when: false}\n",
        "  - {id: before, type: tool, tool: bare}\n",
    ),
    "a check": (CHECK % ("before", ""), EVIL.replace("id: act", "id: before")),
    "a block": (inside(CHECK % ("check", ""), "id: before, type: block"), EVIL.replace("id: act", "id: before")),
    "other inputs": (FREE, FREE.replace("free", "evil")),
}


@pytest.mark.parametrize("rule", ["", ASKS.replace("danger", "k8s")], ids=["step", "policy"])
@pytest.mark.parametrize(("before", "after"), FRONT.values(), ids=FRONT)
def test_what_ran_in_front_of_an_approval_runs_again_as_it_was(gert, before, after, rule):
    """The whole run is retried, because its cleanup has begun, and nothing else takes the place of its first steps."""
    asked = GATE
    if rule:
        (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
        gert.write(tool_asked=TOOL.replace("name: act", "name: asked").replace("danger", "k8s"), policy=rule)
        asked = GATE.replace("type: approval, message: go", "type: tool, tool: asked, inputs: {word: free}")
    gert.write(tool_bare=BARE)
    steps = book(before + asked + ACT, more=LAST).replace("[act]", "[act, bare, asked]" if rule else "[act, bare]")
    passed(gert, steps)
    was = acted(gert)
    gert.write(book=steps.replace(before, after))
    refused = resume(gert, *DRIFT)
    assert (refused["error"]["kind"], acted(gert)) == ("drift", was), refused


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_steps_that_policies_ask_about_are_asked_about_again_with_harmless_changes(gert, parallel):
    """The whole run is retried, with a step in front and items of a loop that each were approved."""
    (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    gert.write(tool_free=TOOL.replace("name: act", "name: free").replace("danger", "reading"))
    loop = ACT.replace("}}", "}, for_each: {as: x, over: [a, b], key: '{{ .x }}', parallel: PARALLEL}}").replace(
        "PARALLEL", parallel
    )
    steps = book(FREE.replace("tool: act", "tool: free") + loop, more=LAST).replace("[act]", "[act, free]")
    gert.write(book=steps, policy=ASKS)
    found = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json").document
    while found["status"] == "approval_pending":
        for one in found["pending"]:
            approve(gert, one["ticket_id"])
        found = resume(gert)
    assert found["status"] == "failed"
    failing(gert, "exit 0")
    gert.write(book=steps + "# other\n")
    found = resume(gert, *DRIFT)
    rounds = 0
    while found["status"] == "approval_pending":
        assert found["pending"], found
        for one in found["pending"]:
            approve(gert, one["ticket_id"])
        found, rounds = resume(gert, "--on-drift", "allow"), rounds + 1
    assert found["status"] == "completed", found
    assert rounds <= 2
    assert acted(gert)[-2:] == ["one", "one"]


def test_an_approval_under_changed_policies_is_good_while_nothing_else_changes(gert):
    (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    failing(gert, "exit 0")
    gert.write(book=book(ACT), policy=ASKS.replace("-approval", "-approval, approvers: [ann]"))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    gert.write(policy=ASKS)
    ticket = resume(gert, "--on-drift", "allow")["pending"][0]["ticket_id"]
    approve(gert, ticket)
    done = resume(gert, "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("completed", ["one"]), done


def test_a_run_does_not_go_on_after_an_approval_that_became_void_too_often(gert):
    """The documents are those of the start again, in which the step may fail; nobody has approved what comes behind."""
    failing(gert, "exit 0")
    start = book(GATE.replace("go}", "go, continue_on_fail: true}") + ACT)
    gert.write(book=start)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    for text in (start + "# one\n", start + "# two\n"):
        gert.write(book=text)
        assert resume(gert, "--on-drift", "allow")["status"] == "approval_pending"
    gert.write(book=start)
    done = resume(gert)
    assert (done["status"], done["failure"]["kind"], acted(gert)) == ("failed", "approval_void", [])
    assert (resume(gert)["status"], acted(gert)) == ("failed", [])


def test_an_approval_step_that_cannot_ask_ends_the_run(gert):
    failing(gert, "exit 0")
    gate = '  - {id: gate, type: approval, message: "{{ index .l 3 }}", continue_on_fail: true}\n'
    steps = "  - {id: all, type: block, continue_on_fail: true, steps: [\n" + gate.replace("  - ", "    ") + "    ]}\n"
    gert.write(book=book(steps + ACT).replace("name: book", "name: book, constants: {l: [1]}"))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
    assert (said.document["status"], acted(gert)) == ("failed", []), said.all


@pytest.mark.parametrize("form", ["cleanup itself", "put into it"])
@pytest.mark.parametrize("put_back", [False, True])
def test_an_aborted_run_acts_in_changed_cleanup_behind_no_approval_that_it_passed(gert, form, put_back):
    """What was approved is behind it; with the documents of the start cleanup acts."""
    more = "finally:\n" + FREE.replace("before", "last")
    start = book(GATE + ACT, more=more)
    gert.write(book=start)
    (gert.root / "act").write_text(KILLED)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert gert("resume", "latest").code == -9
    failing(gert, "exit 0")
    changed = more + EVIL if form == "put into it" else more.replace("free", "evil")
    gert.write(book=book(GATE + (ACT if form == "cleanup itself" else ""), more=changed))
    for _ in range(2):
        assert resume(gert, "--abort", "--on-drift", "allow")["error"]["kind"] == "drift"
    assert acted(gert) == ["one"]
    if put_back:
        gert.write(book=start)
        assert (resume(gert, "--abort")["status"], acted(gert)) == ("cancelled", ["one", "free"])
    else:  # nothing but a check is harmless, whatever the documents are
        gert.write(book=book(GATE + ACT, more=LAST))
        assert (resume(gert, "--abort", "--on-drift", "allow")["status"], acted(gert)) == ("cancelled", ["one"])


@pytest.mark.parametrize("new", [EVIL, OTHER])
@pytest.mark.parametrize("stated", [[], ["--outputs", '{"gate": {"approver_id": "ann", "approvers": ["ann"]}}']])
def test_a_person_who_states_that_an_approval_stays_opens_nothing_in_other_documents(gert, new, stated):
    contract = "{effects: [human, k8s], writes: [x], idempotent: false}"
    gate = GATE.replace("go}", f"go, contract: {contract}}}")
    passed(gert, book(gate + ACT, more=LAST))
    gert.write(book=book(gate + new, more=LAST))
    resume(gert, "--retry-failed", "--reconcile", "gate=done", *stated, "--on-drift", "allow")
    resume(gert, "--on-drift", "allow")
    assert acted(gert) == ["one"]


def test_a_tool_that_declares_to_be_harmless_does_not_act_in_cleanup_after_a_rejection(gert):
    failing(gert, "exit 0")
    gert.write(book=book(GATE + EVIL))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert gert("reject", said.document["pending"][0]["ticket_id"], "--as", "ann").code == 0
    harmless = (
        TOOL.replace("[danger]", "[]")
        .replace("[production]", "[]")
        .replace("idempotent", "deterministic: true, idempotent")
    )
    gert.write(book=book(GATE, more="finally:\n" + EVIL), tool_act=harmless)
    for _ in range(2):
        resume(gert, "--on-drift", "allow")
    assert acted(gert) == []
