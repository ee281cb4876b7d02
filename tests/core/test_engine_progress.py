"""Progress: what listeners are told about the steps of a run, and that it is nothing but plain records."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.engine.cancel import Stop
from gert_core.engine.progress import Progress, StepInfo


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


class Listener(Progress):
    """Writes down every call in order."""

    def __init__(self):
        self.calls: list[tuple] = []

    def started(self, step):
        self.calls.append(("started", step))

    def finished(self, step, status, data, duration):
        self.calls.append(("finished", step, str(status)))

    def evaluated(self, step, evaluation):
        self.calls.append(("evaluated", step, evaluation))

    def recorded(self, step):
        self.calls.append(("recorded", step))

    def left_open(self, step, *, cancelled):
        self.calls.append(("left_open", step, cancelled))

    def pending(self, step, request):
        self.calls.append(("pending", step, request.ticket_id))

    def of(self, name):
        return [call for call in self.calls if call[0] == name]

    def infos(self, name="started"):
        return {call[1].key: call[1] for call in self.of(name)}


BOOK = """
- id: pick
  type: branch
  branches:
    - condition: default
      steps:
        - { id: each, type: tool, tool: lab, for_each: { over: [x, y], as: one, key: "{{ .one }}" }, inputs: { value: "{{ .one }}" } }
- { id: never, type: tool, tool: lab, when: false }
"""


def test_a_listener_is_told_where_every_step_stands(lab):
    seen = Listener()
    lab(BOOK, progress=seen)
    assert [(call[0], call[1].key) for call in seen.calls] == [
        ("started", "pick"),
        ("started", "pick/0/each"),
        ("started", "pick/0/each[x]"),
        ("finished", "pick/0/each[x]"),
        ("started", "pick/0/each[y]"),
        ("finished", "pick/0/each[y]"),
        ("finished", "pick/0/each"),
        ("finished", "pick"),
        ("started", "never"),
        ("finished", "never"),
        ("started", "done"),
        ("finished", "done"),
    ]
    infos = seen.infos()
    assert infos["pick"] == StepInfo(key="pick", step_id="pick", type="branch", depth=0, leaf=False)
    each = {"step_id": "each", "type": "tool", "leaf": True}
    assert infos["pick/0/each"] == StepInfo(key="pick/0/each", depth=1, loop=True, **each)
    assert infos["pick/0/each[x]"] == StepInfo(key="pick/0/each[x]", depth=2, item=0, **each)
    assert infos["pick/0/each[y]"] == StepInfo(key="pick/0/each[y]", depth=2, item=1, **each)
    assert seen.infos("finished") == infos
    assert {call[1].key: call[2] for call in seen.of("finished")}["never"] == "skipped"
    assert seen.of("evaluated") == []


def test_what_a_listener_is_given_leads_nowhere_else(lab):
    seen = Listener()
    lab(BOOK, progress=seen)
    values = [getattr(info, name) for info in seen.infos().values() for name in StepInfo.__struct_fields__]
    assert {type(value) for value in values} <= {str, int, bool, type(None)}
    with pytest.raises(AttributeError):
        seen.infos()["pick"].key = "other"


def test_recorded_results_are_told_as_such(lab):
    text = """
        - { id: first, type: tool, tool: lab }
        - { id: second, type: tool, tool: lab, inputs: { exit: 1 } }
    """
    ran, seen = lab(text), Listener()
    lab.runner.resume(ran.result.run_id, retry_failed=True, progress=seen)
    assert list(seen.infos("recorded")) == ["first"]
    assert list(seen.infos("finished")) == ["second"]


def test_a_step_that_was_cancelled_or_suspended_is_left_open(lab):
    seen, stop = Listener(), Stop()
    lab.on_call = lambda call: stop.throw("SIGINT")
    lab(BOOK, progress=seen, stop=stop)
    left = {call[1].key: call[2] for call in seen.of("left_open")}
    assert left == {"pick/0/each[x]": True, "pick/0/each": True, "pick": True}
    lab.on_call = None
    seen = Listener()
    governance = "governance: { rules: [ { effects: [network], action: require-approval }, { default: allow } ] }"
    ran = lab(BOOK, meta=governance, progress=seen, approval="inbox")
    assert ran.status == "approval_pending"
    assert [call[1].key for call in seen.of("pending")] == ["pick/0/each[x]"]
    left = {call[1].key: call[2] for call in seen.of("left_open")}
    assert left == {"pick/0/each": False, "pick": False}


def test_a_dry_run_tells_what_it_found_out(lab):
    seen = Listener()
    made = tool("made")
    made["tools/made.tool.yaml"] = made["tools/made.tool.yaml"].replace(
        "meta: { name: made, transport: lab }",
        "meta: { name: made, transport: lab, platform: [linux], secrets: [ { env: PRESENT }, { env: ABSENT } ] }",
    )
    lab(
        """
        - { id: a, type: tool, tool: lab }
        - { id: b, type: tool, tool: made, when: "{{ eq .a.value 1 }}", inputs: { value: 3 } }
        - { id: c, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] }
        """,
        tools=made,
        mode="dry-run",
        progress=seen,
        environ={"PRESENT": "long enough"},
    )
    found = {call[1].key: call[2] for call in seen.of("evaluated")}
    assert list(found) == ["a", "b", "c", "done"]
    b = found["b"]
    assert b.contract.effects == ("network",)
    assert (b.decision.action, dict(b.inputs)) == ("allow", {"value": 3})
    assert (dict(b.secrets), b.platforms) == ({"PRESENT": True, "ABSENT": False}, ("linux",))
    assert (dict(found["c"].inputs), dict(found["c"].secrets), found["c"].platforms) == ({}, {}, ())
    assert {key: info.maybe for key, info in seen.infos().items()} == {"a": False, "b": True, "c": True, "done": True}


class Broken(Progress):
    """Raises whatever it is told."""

    def __init__(self, error):
        self.error = error

    def _raise(self, *_, **__):
        raise self.error

    started = finished = evaluated = recorded = left_open = pending = possible = arm = warn = _raise


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ValueError("a bug of the host")])
def test_a_listener_that_raises_does_not_reach_the_run(lab, error):
    ran = lab(BOOK, progress=Broken(error))
    ran.assert_outcome("resolved")
    assert {key: str(status) for key, status in ran.steps.items()} == {
        **dict.fromkeys(("pick", "pick/0/each", "pick/0/each[x]", "pick/0/each[y]", "done"), "success"),
        "never": "skipped",
    }
    failed = lab("- { id: first, type: tool, tool: lab, inputs: { exit: 1 } }", progress=Broken(error))
    again = lab.runner.resume(failed.result.run_id, retry_failed=True, progress=Broken(error))
    assert again.status == "failed"
    lab(BOOK, mode="dry-run", progress=Broken(error)).assert_outcome("resolved")
