"""What step types and providers are given and may return: block results, errors with outputs, sessions, closing."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from types import ModuleType

import pytest
from lab import PLUGINS, Lab, _Plugin
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import (
    PURE,
    ApprovalProvider,
    ApprovalResponse,
    ApprovalSession,
    ApprovalTicket,
    Block,
    BlockStatus,
    Completed,
    Contract,
    Errored,
    Flow,
    Param,
    Reply,
    StepType,
    Transport,
)
from gert_core.kit.models import StepModel, Steps
from gert_core.plugin.registry import Registry

OUTSIDE = Contract(effects=("network",), idempotent=True)


class Leaf(StepModel):
    """A leaf under test."""


class Box(StepModel):
    """A step with a block under test."""

    steps: Steps = Field(description="The block.")


def blocks(step):
    return [Block(name="inside", steps=step.steps)]


def plugin(name, **hooks):
    """A plugin module made of functions named after hooks."""
    module = ModuleType(name)
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(function, specname=hook))
    return module


def leaf(name, run, **more):
    return StepType(name=name, model=Leaf, run=run, **{"contract": OUTSIDE, **more})


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def having(lab, *plugins):
    standard = [import_module(name) for name in PLUGINS]
    lab.runner.registry = Registry.build(scan=(), extra_plugins=[*standard, _Plugin(lab), *plugins])
    return lab


# -- results of blocks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "status", "failed_key"),
    [
        ("{ id: in, type: tool, tool: lab }", BlockStatus.SUCCESS, None),
        ("{ id: in, type: tool, tool: lab, inputs: { exit: 3 } }", BlockStatus.FAILED, "a/in"),
        ("{ id: in, type: tool, tool: lab, inputs: { exit: '{{ .nothing.x }}' } }", BlockStatus.ERROR, "a/in"),
        ("{ id: in, type: end, outcome: { category: resolved } }", BlockStatus.ENDED, None),
    ],
)
def test_a_block_comes_out_with_a_status_and_the_key_that_failed(lab, inside, status, failed_key):
    seen = []

    def run(step, ctx):
        seen.append(ctx.run_block(blocks(step)[0], catch=True))
        return Completed()

    box = StepType(name="box", model=Box, run=run, blocks=blocks, contract=PURE, flow=Flow.IN_ORDER)
    having(lab, plugin("p", gert_step_types=lambda: [box]))(
        f"- {{ id: a, type: box, steps: [ {inside} ] }}",
        meta="inputs: { nothing: { type: object, default: {} } }",
    )
    (result,) = seen
    assert result.status is status
    assert result.failed_key == failed_key


# -- errors with outputs -----------------------------------------------------------------------------------------


def erring(outputs):
    """A step type that ends with an error and what it had until then."""
    return leaf(
        "half",
        lambda step, ctx: Errored(kind="lost", message="the line broke", outputs=outputs),
        requires_contract=True,
        contract=Contract(effects=("network",), outputs={"rows": Param(type="int", required=True)}),
    )


HALF = "- { id: a, type: half, continue_on_fail: true, contract: {} }\n"
LOOK = "- { id: look, type: assert, assert: [ { type: equals, value: '{{ .a.rows }}', expected: 4 } ] }"


def test_an_error_may_carry_outputs(lab):
    ran = having(lab, plugin("p", gert_step_types=lambda: [erring({"rows": 4})]))(HALF + LOOK)
    assert (ran.steps["a"], ran.steps["look"]) == ("error", "success")
    done = ran.of("step_complete", "a")[0]
    assert (done["outputs"], done["failure"]["kind"]) == ({"rows": 4}, "lost")


def test_outputs_of_an_error_are_held_to_the_contract_and_never_hide_it(lab):
    ran = having(lab, plugin("p", gert_step_types=lambda: [erring({"rows": "many", "more": 1})]))(HALF)
    done = ran.of("step_complete", "a")[0]
    assert (done["outputs"], done["failure"]) == ({}, {"kind": "lost", "message": "the line broke"})
    ran = having(lab, plugin("p", gert_step_types=lambda: [erring({"rows": 1, "more": 1})]))(HALF)
    assert ran.of("step_complete", "a")[0]["outputs"] == {"rows": 1}
    assert [event["kind"] for event in ran.of("contract_violation")] == ["undeclared_output"]


# -- sessions ----------------------------------------------------------------------------------------------------


class Peer:
    def __init__(self, opened):
        opened.append(self)
        self.closed = 0

    def close(self):
        self.closed += 1


def test_sessions_are_named_per_plugin(lab):
    opened, used = [], {}

    def user(name):
        def run(step, ctx):
            used[name] = ctx.session("peer", lambda services: Peer(opened))
            return Completed()

        return leaf(name, run)

    def dropper(step, ctx):
        ctx.drop_session("peer")
        return Completed()

    one = plugin("one", gert_step_types=lambda: [user("first"), user("second")])
    two = plugin("two", gert_step_types=lambda: [user("other"), leaf("drop", dropper)])
    ran = having(lab, one, two)("- { type: first }\n- { type: other }\n- { type: drop }\n- { type: second }")
    assert ran.status == "completed"
    assert used["first"] is used["second"], "types of one plugin share their sessions"
    assert used["first"] is not used["other"]
    assert [peer.closed for peer in opened] == [1, 1]


# -- transports --------------------------------------------------------------------------------------------------

TOOL = """
apiVersion: tool/v0
meta: { name: remote, transport: wire, config: { pool: { size: 2 }, kept: "{{ .x }}" } }
contract: { effects: [network], inputs: { id: { type: int } } }
actions:
  get: { config: { path: "/items/{{ .id }}", query: { id: "{{ .id }}" } } }
"""


def test_a_transport_has_the_config_of_the_tool_and_of_the_action(lab):
    seen = []

    class Wire:
        def call(self, action, inputs, deadline):
            seen.append(action.config)
            return Reply(exit_code=0)

        def close(self):
            pass

    def opened(target, services):
        seen.append(target.config)
        return Wire()

    wire = Transport(name="wire", open=opened)
    ran = having(lab, plugin("p", gert_transports=lambda: [wire]))(
        "- { id: a, type: tool, tool: remote, inputs: { id: 7 } }", tools={"tools/remote.tool.yaml": TOOL}
    )
    assert ran.status == "completed"
    assert seen == [
        {"pool": {"size": 2}, "kept": "{{ .x }}"},
        {"path": "/items/7", "query": {"id": 7}},
    ]


# -- approvals ---------------------------------------------------------------------------------------------------


class Session(ApprovalSession):
    def __init__(self, log, *, answers):
        self.log = log
        self.answers = answers

    def submit(self, request):
        return ApprovalTicket(ticket_id=request.ticket_id)

    def wait(self, ticket, deadline):
        if not self.answers:
            return None
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=True,
            approver_id="a",
            method="m",
            timestamp=datetime.now(UTC).isoformat(),
        )


class ClosingSession(Session):
    def close(self):
        self.log.append("closed")


def test_an_approval_provider_has_its_plugins_settings_and_those_of_approvals_on_top(lab):
    seen = []

    def opened(services):
        seen.append(services)
        return Session([], answers=True)

    provider = ApprovalProvider(name="late", open=opened)
    project = """
        approvals: { provider: late, config: { channel: ops, patience: 2 } }
        plugins: { config: { p: { channel: dev, url: u }, other: { secret: x } } }
    """
    lab.runner.write({"gert-project.yaml": project})
    ran = having(lab, plugin("p", gert_approval_providers=lambda: [provider]))(
        "- { id: a, type: tool, tool: lab }", meta=ASKING
    )
    assert ran.status == "completed"
    (services,) = seen
    assert services.config == {"channel": "ops", "patience": 2, "url": "u"}
    assert services.project.config == {"channel": "dev", "url": "u"}
    assert services.run_dir is not None


ASKING = "governance: { rules: [ { effects: [network], action: require-approval } ] }"


@pytest.mark.parametrize("status", ["completed", "approval_pending"])
@pytest.mark.parametrize("session", [Session, ClosingSession])
def test_an_approval_session_is_closed_at_the_end_and_at_suspension(lab, status, session):
    log = []
    provider = ApprovalProvider(
        name="late",
        open=lambda services: session(log, answers=status == "completed"),
        blocking=False,
    )
    ran = having(lab, plugin("p", gert_approval_providers=lambda: [provider]))(
        "- { id: a, type: tool, tool: lab }", meta=ASKING, approval="late"
    )
    assert ran.status == status
    assert log == (["closed"] if session is ClosingSession else [])
