"""The seam of cleanup blocks: what a step type may still do while a failure, denial, end, suspension or cancel is kept."""

from __future__ import annotations

import threading

import pytest
from lab import Lab, tool
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, BlockStatus, Branch, Completed, DocumentError, Flow, PluginError, StepType
from gert_core.approvals.inbox import entries, respond
from gert_core.engine.cancel import Stop
from gert_core.kit.models import StepModel, Steps
from gert_core.stores.directory import DirectoryStore

RULES = """
governance:
  rules:
    - { effects: [forbidden], action: deny }
    - { effects: [asked], action: require-approval }
"""
TOOLS = {**tool("bad", effects="forbidden"), **tool("gated", effects="asked")}


class Janitor(StepModel):
    """Steps and cleanup, in whatever order a test runs them."""

    steps: Steps = Field(description="The steps.")
    more: Steps = Field(default=[], description="More steps.")
    clean: Steps = Field(default=[], description="Cleanup.")


def janitor_blocks(step: Janitor) -> list[Block]:
    return [
        Block(name="steps", steps=step.steps),
        Block(name="more", steps=step.more, runs=(0, 1)),
        Block(name="clean", steps=step.clean, cleanup=True),
    ]


class Types:
    """Registers ``janitor`` with the ``run`` of a test."""

    def __init__(self, run, blocks=janitor_blocks, flow=Flow.IN_ORDER):
        self.run, self.blocks, self.flow = run, blocks, flow

    @hookimpl
    def gert_step_types(self):
        fields = {"done": "bool"}
        return [
            StepType(
                name="janitor",
                model=Janitor,
                run=self.run,
                blocks=self.blocks,
                contract=PURE,
                flow=self.flow,
                fields=fields,
            )
        ]


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def book(first: str) -> str:
    return f"""
- id: j
  type: janitor
  steps: [ {first} ]
  more: [ {{ id: more, type: tool, tool: lab, inputs: {{ value: more }} }} ]
  clean: [ {{ id: clean, type: tool, tool: lab, inputs: {{ value: clean }} }} ]
"""


def play(lab, first, run, **options):
    lab.runner.registry = lab.registry_with(Types(run))
    return lab(book(first), meta=RULES, tools=TOOLS, **options)


KEPT = {
    "failed": ("{ id: s, type: tool, tool: lab, inputs: { exit: 1 } }", "failed", "exit_code"),
    "denied": ("{ id: s, type: tool, tool: bad }", "failed", "governance_denied"),
    "ended": ("{ id: s, type: end, outcome: { category: no_action, code: early } }", "completed", None),
    "suspended": ("{ id: s, type: tool, tool: gated }", "approval_pending", None),
    "cancelled": ("{ id: s, type: tool, tool: lab, inputs: { value: stops } }", "cancelled", None),
}
DENIED, SUSPENDED = KEPT["denied"][0], KEPT["suspended"][0]
CALLS = {
    "vars": lambda ctx: ctx.vars,
    "render": lambda ctx: ctx.render("{{ .run.id }}"),
    "test": lambda ctx: ctx.test("{{ true }}"),
    "now": lambda ctx: ctx.now(),
    "sleep": lambda ctx: ctx.sleep(0),
    "state_hash": lambda ctx: ctx.state_hash(),
    "conflicts": lambda ctx: ctx.conflicts(ctx.blocks[:2]),
    "call_tool": lambda ctx: ctx.call_tool("lab", None, {"value": "called"}),
    "ask": lambda ctx: ctx.ask(None),
    "attach": lambda ctx: ctx.attach("x"),
    "session": lambda ctx: ctx.session("x", lambda _: None),
    "another block": lambda ctx: ctx.run_block(ctx.blocks[1], key=5),
    "a second try": lambda ctx: ctx.run_block(ctx.blocks[0], key=6),
    "a block that claims to be cleanup": lambda ctx: ctx.run_block(
        Block(name="more", steps=ctx.blocks[1].steps, cleanup=True), key=7
    ),
    "a fork": lambda ctx: ctx.fork([Branch(block=ctx.blocks[1], key=8)]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kept", KEPT)
def test_nothing_but_cleanup_runs_while_a_signal_is_kept(lab, kept, call):
    first, status, kind = KEPT[kept]
    reached, stop = [], Stop()
    lab.on_call = lambda call: stop.throw("test") if call.inputs.get("value") == "stops" else None

    def run(step, ctx):
        ctx.run_block(ctx.blocks[0], key=0)
        CALLS[call](ctx)
        reached.append(call)
        return Completed(fields={"done": True})

    ran = play(lab, first, run, approval="inbox", stop=stop)
    assert not reached
    assert not {"called", "more"} & set(lab.values())
    assert ran.status == status
    assert [failure.kind for failure in ran.result.failures] == ([kind] if kind else [])


@pytest.mark.parametrize("kept", ["failed", "denied", "ended"])
def test_cleanup_runs_and_the_signal_stays(lab, kept):
    first, status, kind = KEPT[kept]
    results = []

    def run(step, ctx):
        results.append(ctx.run_block(ctx.blocks[0], key=0).status)
        results.append(ctx.run_block(ctx.blocks[2], key=1).status)
        return Completed(fields={"done": True})

    ran = play(lab, first, run)
    assert results == [kept, "success"]
    assert lab.values()[-1] == "clean"
    assert ran.status == status
    assert [failure.kind for failure in ran.result.failures] == ([kind] if kind else [])
    assert "done" not in ran.steps, "nothing behind the step runs"


def test_cleanup_does_not_make_a_caught_denial_go_away(lab):
    def run(step, ctx):
        try:
            ctx.run_block(ctx.blocks[0], key=0, catch=True)
            ctx.run_block(ctx.blocks[2], key=1, catch=True)
            ctx.run_block(ctx.blocks[1], key=2)
        except BaseException:
            return Completed(fields={"done": True})
        return Completed(fields={"done": True})

    ran = play(lab, DENIED, run)
    ran.assert_failed("governance_denied")
    assert lab.values() == ["clean"]


def test_cleanup_runs_once_only(lab):
    def run(step, ctx):
        ctx.run_block(ctx.blocks[0], key=0)
        ctx.run_block(ctx.blocks[2], key=1)
        ctx.run_block(ctx.blocks[2], key=2)
        return Completed()

    play(lab, DENIED, run).assert_failed("governance_denied")
    assert lab.values() == ["clean"]


def test_no_cleanup_while_suspended_and_after_the_resume_there_is(lab):
    seen = []

    def run(step, ctx):
        seen.append(ctx.run_block(ctx.blocks[0], key=0).status)
        seen.append(ctx.run_block(ctx.blocks[2], key=1).status)
        return Completed(fields={"done": True})

    first = f"""{{ id: p, type: parallel, branches: [ {{ steps: [ {SUSPENDED} ] }},
        {{ steps: [ {{ id: f, type: tool, tool: lab, scope: f, inputs: {{ exit: 1 }} }} ] }} ] }}"""
    ran = play(lab, first, run, approval="inbox")
    assert ran.status == "approval_pending"
    assert seen == [BlockStatus.SUSPENDED]
    assert lab.values() == [None], "a suspended branch beats a failed one: no cleanup before the resume"
    (entry,) = entries(DirectoryStore(ran.runs))
    respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lab.runner.registry.signature_scheme)
    again = lab.runner.resume(ran.result.run_id)
    assert seen[1:] == [BlockStatus.FAILED, BlockStatus.SUCCESS]
    assert lab.values() == [None, None, "clean"]
    assert again.of("run_complete")[-1]["failing"] == ["j/0/p/1/f"]


def test_no_cleanup_while_cancelled(lab):
    stop, seen = Stop(), []
    lab.on_call = lambda call: stop.throw("test") if call.inputs.get("value") == "first" else None

    def run(step, ctx):
        seen.append(ctx.run_block(ctx.blocks[0], key=0).status)
        seen.append(ctx.run_block(ctx.blocks[2], key=1).status)
        return Completed(fields={"done": True})

    first = "{ id: s, type: tool, tool: lab, inputs: { value: first, exit: 1 } }"
    ran = play(lab, first, run, stop=stop)
    assert ran.status == "cancelled"
    assert seen[:1] == [BlockStatus.CANCELLED]
    assert lab.values() == ["first"]
    lab.on_call = None
    again = lab.runner.resume(ran.result.run_id)
    assert lab.values()[-1] == "clean", "the resumed run cleans up"
    assert again.status == "failed"


def test_cleanup_blocks_are_not_forked(lab):
    def run(step, ctx):
        ctx.fork([Branch(block=ctx.blocks[2], key=0)])
        return Completed()

    ran = play(lab, KEPT["failed"][0], run)
    ran.assert_failed("plugin_failed", status="error")
    assert "cleanup blocks run one by one" in ran.result.failures[0].message


@pytest.mark.parametrize(
    ("blocks", "flow", "told"),
    [
        (lambda s: janitor_blocks(s)[::-1], Flow.IN_ORDER, "a cleanup block in front of another block"),
        (janitor_blocks, Flow.ALL_OF, "a cleanup block, but its blocks do not run in order"),
    ],
)
def test_cleanup_stands_last_and_in_order(lab, blocks, flow, told):
    lab.runner.registry = lab.registry_with(Types(lambda s, c: Completed(), blocks, flow))
    with pytest.raises((DocumentError, PluginError), match=told):
        lab(book(KEPT["failed"][0]), meta=RULES, tools=TOOLS)


def test_cleanup_in_a_branch_of_a_fork_runs_in_its_thread(lab):
    threads = []

    def run(step, ctx):
        ctx.run_block(ctx.blocks[0], key=0)
        threads.append(threading.get_ident())
        ctx.run_block(ctx.blocks[2], key=1)
        return Completed()

    lab.runner.registry = lab.registry_with(Types(run))
    one = """{{ steps: [ {{ id: j{0}, type: janitor, steps: [ {{ id: s{0}, type: tool, tool: lab, scope: s{0}, inputs: {{ exit: 1, pause: 0.2 }} }} ],
        clean: [ {{ id: c{0}, type: tool, tool: lab, scope: c{0}, inputs: {{ value: "{{{{ .failure.step }}}}" }} }} ] }} ] }}"""
    ran = lab(f"- {{ id: p, type: parallel, branches: [ {one.format(1)}, {one.format(2)} ] }}")
    assert ran.of("run_complete")[-1]["failing"] == ["p/0/j1/0/s1", "p/1/j2/0/s2"]
    assert sorted(lab.values()[2:]) == ["s1", "s2"]
    assert len(set(threads)) == 2
