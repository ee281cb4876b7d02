"""Hosts and documents: explain, draw and test them, read a command line, and say what changed since an approval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosting import APPROVE, Lab, Told, result

from gert_core.api import UsageError
from gert_core.cli.parameters import PARAMETERS
from gert_core.hosting import options

CHANGE = '- { id: fix, type: tool, tool: change, inputs: { what: "{{ .what }}" } }'
WHAT = "inputs: { what: { type: string, default: disk } }"


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


class TestDocuments:
    @pytest.fixture(autouse=True)
    def _book(self, lab):
        lab.policy(APPROVE)
        lab.book(CHANGE, tools="change", meta=WHAT)

    def test_steps_are_explained_as_by_the_command(self, lab):
        (step,) = lab.host().explain("book.yaml", "fix")
        assert step.decision.action == "require-approval"
        (said,) = lab.json("explain", "book.yaml", "fix")["steps"]
        mine = step.to_json()
        assert Path(mine.pop("file")).name == said.pop("file")
        assert json.loads(json.dumps(mine).replace(f"{lab.root}/", "")) == said

    def test_all_steps_and_another_policy(self, lab):
        lab.write(
            "deny.yaml", "apiVersion: policy/v0\nmeta: { name: no }\nrules: [{ writes: [service], action: deny }]\n"
        )
        found = lab.host().explain("book.yaml", policies=["deny.yaml"])
        assert {step.step_id: step.decision.action for step in found} == {"fix": "deny", "done": "allow"}

    def test_an_unknown_step_names_the_nearest(self, lab):
        with pytest.raises(UsageError, match="no step 'fox'") as raised:
            lab.host().explain("book.yaml", "fox")
        assert "fix" in raised.value.hint

    def test_a_graph_with_a_run(self, lab):
        host = lab.host()
        assert "fix" in host.graph("book.yaml").render("mermaid")
        run = host.start("book.yaml", approval="inbox")
        result(run)
        graph = host.graph("book.yaml", run.run_id)
        assert (graph.run_id, {step.key: step.status for step in graph.walk()}["fix"]) == (run.run_id, "waiting")
        assert graph.render("svg").startswith("<svg")
        lab.write("other.yaml", lab.path("book.yaml").read_text().replace("name: book", "name: other"))
        with pytest.raises(UsageError, match="not of 'other'"):
            host.graph("other.yaml", run.run_id)

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_scenarios_are_replayed_as_by_the_command(self, lab, jobs):
        for name, code in (("good", "ok"), ("bad", "nope"), ("other", "ok")):
            folder = lab.path(f"scenarios/book/{name}")
            folder.mkdir(parents=True)
            (folder / "scenario.yaml").write_text("tool_responses: { change: [{ exit_code: 0 }] }\n")
            (folder / "test.yaml").write_text(f"expected_code: {code}\n")
        tested = lab.host().test(["book.yaml"], jobs=jobs)
        statuses = {one.scenario: one.status for one in tested.runbooks[0].results}
        assert (statuses, tested.summary.ok) == ({"good": "passed", "bad": "failed", "other": "passed"}, False)
        assert tested.to_json()["summary"] == lab.json("test", "book.yaml", code=1)["summary"]
        only = lab.host().test([lab.root], scenario=["g*"])
        assert [one.scenario for one in only.runbooks[0].results] == ["good"]
        with pytest.raises(UsageError, match="no scenario 'none'"):
            lab.host().test(["book.yaml"], scenario=["none"])


class TestOptions:
    def test_exec_has_no_option_that_is_neither_taken_nor_refused(self):
        spelled = {name for parameter in PARAMETERS["exec"] for name in parameter[1] if name.startswith("--")}
        about_the_terminal = {"--json", "--verbose", "--progress", "--color", "--quiet"}
        assert spelled - about_the_terminal == {*options.ONCE, *options.MANY, *options.ELSEWHERE} - {"-p"}

    def test_a_command_line_starts_a_run(self, lab):
        lab.book(CHANGE, tools="change", meta=WHAT)
        lab.write("inputs.yaml", "what: file\n")
        words = [
            "book.yaml",
            "--input",
            str(lab.path("inputs.yaml")),
            "--var=what=tape",
            "--as",
            "alice",
            "--top",
            "--run",
            "x",
        ]
        found = options.parse(words, own={"--run": True, "--top": False})
        assert (found.runbook, found.own) == (Path("book.yaml"), {"--run": "x", "--top": True})
        run = lab.host(**found.host).start(found.runbook, **found.start)
        assert result(run)["status"] == "completed"
        assert lab.path("changed").read_text() == "tape\n"
        assert run.view.to_json()["actor"] == "alice"

    def test_stores_and_plugins_are_those_of_the_host(self):
        found = options.parse(["--store", "sqlite:runs.db", "-p", "no:x", "-p", "y", "--mode", "dry-run"])
        assert found.host == {"store": "sqlite:runs.db", "allow": ("y",), "block": ("x",)}
        assert (found.runbook, found.start) == (None, {"mode": "dry-run"})

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--mdoe", "real"], "there is no option --mdoe"),
            (["--mode"], "--mode needs a value"),
            (["--trace", "x"], "--trace is an option of gert exec only"),
            (["--top=1"], "--top takes no value"),
            (["a.yaml", "b.yaml"], "one runbook is run, not 2: a.yaml, b.yaml"),
            (["--var", "secret"], "--var takes NAME=VALUE, not a word without `=`, which is not shown here"),
        ],
    )
    def test_a_mistake_is_said(self, words, said):
        with pytest.raises(UsageError) as raised:
            options.parse(words, own={"--top": False})
        assert raised.value.message == said


class TestSinceLast:
    @pytest.fixture(autouse=True)
    def _book(self, lab):
        lab.policy(APPROVE)
        lab.book(CHANGE, tools="change", meta=WHAT)

    def start(self, lab, host, **inputs):
        told = Told()
        return host.start("book.yaml", inputs=inputs, on_notice=told), told.wait("approval").data, told

    def test_the_first_approval_has_nothing_before_it(self, lab):
        host = lab.host()
        run, data, _ = self.start(lab, host)
        assert data["since_last"] is None
        host.decide(data["request"]["ticket_id"], approved=True, approver="alice")
        assert result(run)["status"] == "completed"

    def test_what_is_different_is_told(self, lab):
        host = lab.host()
        run, first, _ = self.start(lab, host)
        host.decide(first["request"]["ticket_id"], approved=True, approver="alice")
        result(run)
        run, rejected, _ = self.start(lab, host, what="tape")
        host.decide(rejected["request"]["ticket_id"], approved=False, approver="bob")
        result(run)

        _, same, _ = self.start(lab, host)
        found = same["since_last"]
        assert (found["ticket_id"], found["approvers"], found["changed"]) == (
            first["request"]["ticket_id"],
            ["alice"],
            [],
        )
        assert found["at"] > first["request"]["created"]

        text = lab.path("book.yaml").read_text()
        lab.path("book.yaml").write_text(text + "# changed\n")
        lab.policy(APPROVE.replace("}]", "}, { writes: [tape], action: deny }]"))
        again = lab.host()
        _, other, _ = self.start(lab, again, what="cpu")
        changed = {one["field"]: (one["before"], one["after"]) for one in other["since_last"]["changed"]}
        assert set(changed) == {"runbook", "policy", "inputs", "command.argv"}
        assert changed["inputs"] == ({"what": "disk"}, {"what": "cpu"})
        assert changed["command.argv"] == (["change", "disk"], ["change", "cpu"])
        view = again.ticket(other["request"]["ticket_id"])
        assert view.to_json()["since_last"] == other["since_last"]
        assert {ticket.since_last["ticket_id"] for ticket in again.tickets()} == {first["request"]["ticket_id"]}
