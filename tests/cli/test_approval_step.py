"""Approval steps from the command line: explained, asked by inbox, answered elsewhere, resumed; and gates of plugins."""

from __future__ import annotations

import json
import sys

import pytest
from gertproc import Gert

RUNBOOK = """\
apiVersion: kernel/v0
meta:
  name: gate
  governance: {rules: [{effects: [human], action: require-approval}]}
steps:
  - {id: ok, type: approval, message: "Delete everything?", min_approvers: 2, approvers: [alice, bob], on_reject: fail}
  - {type: end, outcome: {category: resolved, meta: {by: "{{ .ok.approvers }}"}}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.yaml").write_text(RUNBOOK)
    return tmp_path


@pytest.mark.parametrize(("approvers", "valid"), [("[alice, alice]", False), ('[alice, "group:oncall"]', True)])
def test_more_approvals_than_people_who_may_give_them_are_refused(here, gert, approvers, valid):
    (here / "gate.yaml").write_text(RUNBOOK.replace("[alice, bob]", approvers))
    code, out, err = gert("validate", "gate.yaml")
    told = "6:5  error  `min_approvers` is 2, but `approvers` names only 1: it could never be approved"
    assert (code == 0, told in out + err) == (valid, not valid), out + err


def test_a_dry_run_shows_what_approvers_are_going_to_be_asked(here, gert):
    (here / "gate.yaml").write_text(RUNBOOK.replace("everything?", "{{ .run.runbook }}?"))
    code, out, _ = gert("exec", "gate.yaml", "--mode", "dry-run")
    assert code == 0
    assert "    asks: Delete gate?\n" in out


def test_policy_explain_has_the_step_beside_the_policies(here, gert):
    code, out, _ = gert("policy", "explain", "gate.yaml")
    assert code == 0
    assert "  runbook: rule 1: require-approval\n  step: require-approval\n" in out
    code, out, _ = gert("policy", "explain", "gate.yaml", "--json")
    (step, _end) = json.loads(out)["steps"]
    assert (step["rule"], step["min_approvers"], step["approvers"]) == (1, 2, ["alice", "bob"])
    assert step["opinions"][1] == {
        "source": "step",
        "rule": None,
        "action": "require-approval",
        "min_approvers": 2,
        "exclude_actor": False,
        "approvers": ["alice", "bob"],
        "serialize": False,
        "reason": "The step demands it: require-approval by 2 approvers among alice, bob.",
    }


def test_it_is_answered_elsewhere_and_resumed(here, gert):
    code, out, _ = gert("exec", "gate.yaml", "--approval", "inbox", "--json")
    assert code == 0
    pending = json.loads(out)
    assert pending["status"] == "approval_pending"
    (ticket,) = [ticket["ticket_id"] for ticket in pending["pending"]]
    code, out, err = gert("approvals", "show", ticket)
    assert code == 0, err
    assert "message = Delete everything?" in out
    assert gert("approve", ticket, "--as", "alice")[0] == 0
    assert gert("resume", "--run", pending["run_id"])[0] == 0
    assert "approval_pending" in gert("runs", "list")[1], "one approver is not enough"
    assert gert("approve", ticket, "--as", "bob")[0] == 0
    code, out, _ = gert("resume", "--run", pending["run_id"], "--json")
    assert code == 0
    assert json.loads(out)["outcome"]["meta"] == {"by": ["alice", "bob"]}


def test_a_rejection_ends_the_run_because_a_policy_asks_too(here, gert):
    pending = json.loads(gert("exec", "gate.yaml", "--approval", "inbox", "--json")[1])
    (ticket,) = [ticket["ticket_id"] for ticket in pending["pending"]]
    assert gert("reject", ticket, "--as", "bob", "--reason", "no")[0] == 0
    code, out, _ = gert("resume", "--run", pending["run_id"], "--json")
    assert code == 1
    assert json.loads(out)["steps"][0]["status"] == "skipped"


WIPES = """
from gert_core import hookimpl
from gert_core.api import Completed, Gate, StepType
from gert_core.kit.models import StepModel
from pydantic import Field

class Wipe(StepModel):
    what: str = Field(description="What is wiped.")

def gate(step):
    %s

@hookimpl
def gert_step_types():
    return [
        StepType(
            name="wipe",
            model=Wipe,
            run=lambda step, ctx: Completed(outputs={"by": list(ctx.approvers)}),
            outputs=lambda step: {"by": "list"},
            gate=gate,
            summary="Wipes.",
        )
    ]
"""
WIPE = """\
apiVersion: kernel/v0
meta: {name: wipe}
steps:
  - {id: wipe, type: wipe, what: disk}
  - {type: end, outcome: {category: resolved, meta: {by: "{{ .wipe.by }}"}}}
"""


def test_the_gate_of_any_type_is_asked_although_its_contract_is_pure(here, gert, fake_dist):
    fake_dist.add("gert-step-wipe", WIPES % "return Gate(message=f'Wipe {step.what}?')")
    (here / "wipe.yaml").write_text(WIPE)
    pending = json.loads(gert("exec", "wipe.yaml", "--approval", "inbox", "--json")[1])
    (ticket,) = [ticket["ticket_id"] for ticket in pending["pending"]]
    assert "message = Wipe disk?" in gert("approvals", "show", ticket)[1]
    assert gert("approve", ticket, "--as", "alice")[0] == 0
    code, out, _ = gert("resume", "--run", pending["run_id"], "--json")
    assert (code, json.loads(out)["outcome"]["meta"]) == (0, {"by": ["alice"]})
    code, out, _ = gert("exec", "wipe.yaml", "--mode", "dry-run", "--json")
    assert (code, json.loads(out)["outcome"]["meta"]) == (0, {"by": "{{ .wipe.by }}"})


def test_a_type_without_a_gate_for_a_step_asks_nothing(here, gert, fake_dist):
    fake_dist.add("gert-step-wipe", WIPES % "return None")
    (here / "wipe.yaml").write_text(WIPE)
    code, out, _ = gert("exec", "wipe.yaml", "--approval", "inbox", "--json")
    assert (code, json.loads(out)["outcome"]["meta"]) == (0, {"by": []})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("return 'yes'", "it gave a str instead of a Gate"),
        ("return Gate(min_approvers=0)", "the min_approvers of its Gate are not a positive integer"),
        ("return Gate(approvers=['alice'])", "the approvers of its Gate are not a tuple of strings"),
        ("return Gate(timeout=-1)", "the timeout of its Gate is not a positive number of seconds"),
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
    ],
)
def test_a_gate_that_cannot_be_used_never_lets_the_step_pass(here, gert, fake_dist, given, said):
    fake_dist.add("gert-step-wipe", WIPES % given)
    (here / "wipe.yaml").write_text(WIPE)
    for verb in ("validate", "exec"):
        code, out, err = gert(verb, "wipe.yaml")
        assert code == 3
        assert said in out + err
        assert "step-wipe (gert-step-wipe 1.0)" in out + err
    assert not (here / "runs").exists()


def test_the_screen_has_nothing_as_the_author_s_that_no_author_wrote(here, gert):
    pending = json.loads(gert("exec", "gate.yaml", "--approval", "inbox", "--json")[1])["pending"]
    shown = gert("approvals", "show", pending[0]["ticket_id"])[1]
    assert "author's   message = Delete everything?" in shown
    assert "description" not in shown


@pytest.mark.parametrize("form", ["text", "mermaid", "dot", "svg"])
def test_the_graph_shows_what_is_to_be_approved(gert, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: book}\nsteps:\n"
        '  - {id: ask, type: approval, message: "Drop {{ .run.runbook }}?"}\n'
        "  - {id: done, type: end, outcome: {category: resolved}}\n"
    )
    code, out, err = gert("graph", "book.yaml", "--format", form)
    assert code == 0, err
    assert "asks: Drop .run.runbook?" in out.replace("\n", " ")


SAY = """\
apiVersion: tool/v0
meta: {name: say, transport: stdio}
contract: {effects: [], idempotent: true, deterministic: true}
actions: {it: {argv: [echo, said]}}
"""
ASKING = """\
apiVersion: kernel/v0
meta: {name: asking, governance: {rules: [{effects: [human], action: require-approval}]}}
tools: [say]
steps:
  - %s
  - {id: used, type: tool, tool: say}
  - {id: done, type: end, outcome: {category: resolved}}
"""


def asking(here, step):
    (here / "tools").mkdir(exist_ok=True)
    (here / "tools" / "say.tool.yaml").write_text(SAY)
    (here / "asking.yaml").write_text(ASKING % step)
    return "asking.yaml"


@pytest.mark.parametrize(
    "step", ["{id: a, type: approval, message: Go on?}", "{id: a, type: manual, instructions: Look.}"]
)
def test_a_step_that_calls_nothing_is_not_said_to_call_anything(here, gert, step):
    pending = json.loads(gert("exec", asking(here, step), "--approval", "inbox", "--json")[1])["pending"]
    shown = gert("approvals", "show", pending[0]["ticket_id"])[1]
    assert "may call" not in shown
    assert "starts no program" in shown


CALLS = WIPES.replace(
    "lambda step, ctx: Completed(outputs={", "lambda step, ctx: act(ctx) or Completed(outputs={"
).replace("def gate(step):\n    %s", "def gate(step):\n    return Gate(message='Go on?')\n\ndef act(ctx):\n    %s")
QUIET = CALLS.replace("gate=gate,", "gate=gate,\n            calls_tools=False,")


@pytest.mark.parametrize(("plugin", "code"), [(CALLS, 0), (QUIET, 1)], ids=["may", "declares that it does not"])
def test_a_type_that_declares_to_call_nothing_cannot_call_a_tool(here, gert, fake_dist, plugin, code):
    fake_dist.add("gert-step-wipe", plugin % "ctx.call_tool('say', None, {})")
    pending = json.loads(gert("exec", asking(here, "{id: a, type: wipe, what: x}"), "--approval", "inbox", "--json")[1])
    (ticket,) = [ticket["ticket_id"] for ticket in pending["pending"]]
    assert ("may call" in gert("approvals", "show", ticket)[1]) == (code == 0)
    assert gert("approve", ticket, "--as", "alice")[0] == 0
    ended, out, _ = gert("resume", "--run", pending["run_id"], "--json")
    assert ended == code, out
    if code:
        failure = json.loads(out)["failure"]
        assert (failure["kind"], failure["message"]) == (
            "contract_exceeded",
            "steps of type wipe declare that they call no tool, and step a called say",
        )


def test_an_approval_of_a_request_that_listed_what_may_be_called_still_counts(here, gert, fake_dist):
    fake_dist.add("gert-step-wipe", CALLS % "return None")
    pending = json.loads(gert("exec", asking(here, "{id: a, type: wipe, what: x}"), "--approval", "inbox", "--json")[1])
    (ticket,) = [ticket["ticket_id"] for ticket in pending["pending"]]
    assert gert("approve", ticket, "--as", "alice")[0] == 0
    fake_dist.add("gert-step-wipe", QUIET % "return None  # it is another text")
    for name in [name for name, module in sys.modules.items() if str(here) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]
    new = json.loads(gert("exec", "asking.yaml", "--approval", "inbox", "--json")[1])["pending"]
    assert "may call" not in gert("approvals", "show", new[0]["ticket_id"])[1], "the type is the new one"
    code, out, err = gert("resume", "--run", pending["run_id"], "--json")
    assert (code, json.loads(out)["status"]) == (0, "completed"), err


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("y alice\nn bob: no\n", "approvals: ok rejected by bob"),
        ("n bob: no\n", "approvals: ok rejected by bob"),
        ("y alice\ny bob\n", "approvals: ok by alice and bob"),
        ("y alice\n", "approvals: ok rejected"),
    ],
    ids=["second", "alone", "nobody", "no-answer"],
)
def test_the_result_names_who_rejected(here, answers, told):
    (here / "gate.yaml").write_text(RUNBOOK.replace("on_reject: fail", "on_reject: fail, continue_on_fail: true"))
    (here / "gate.yaml").write_text((here / "gate.yaml").read_text().replace("{{ .ok.approvers }}", "x"))
    done = Gert(here)("exec", "gate.yaml", answers=answers)
    (line,) = [line for line in done.all.splitlines() if "approvals:" in line]
    assert line.split(" (waited")[0].strip() == told
