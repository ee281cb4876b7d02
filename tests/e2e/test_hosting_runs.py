"""Hosts: runs in this process, what is told of them, and what is done with them from other threads."""

from __future__ import annotations

import os
import threading
import time

import pytest
from hosting import APPROVE, Lab, Told, result, takes
from shell import alive, wait_for

from gert_core.api import GertError, UsageError
from gert_core.hosting import Deadline, Host, RunFinished, Stop
from gert_core.hosting.listener import HostProgress
from gert_core.testing.conformance import HostConformance


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


MANUAL = """
- id: look
  type: manual
  instructions: Look at the rack.
  required_evidence: [{ kind: text, name: notes, description: What you saw }]
"""


class TestConformance(HostConformance):
    runbook = """
apiVersion: kernel/v0
meta: { name: book }
steps: [{ id: done, type: end, outcome: { category: resolved, code: ok } }]
"""


def test_a_run_is_told_from_its_first_event_to_its_end(lab):
    told = Told()
    lab.book('- { id: one, type: tool, tool: say, inputs: { text: "hello" } }', tools="say")
    run = lab.host().start("book.yaml", on_notice=told)
    assert run.run_id
    assert result(run)["status"] == "completed"
    told.wait("end")
    assert [notice.number for notice in told.notices] == list(range(1, len(told.notices) + 1))
    assert {notice.run_id for notice in told.notices} == {run.run_id}
    kinds = [notice.data["type"] if notice.kind == "event" else notice.kind for notice in told.notices]
    assert kinds.index("step_start") < kinds.index("command") < kinds.index("output") < kinds.index("step_complete")
    assert kinds[0] == "run_start"
    assert kinds[-2:] == ["run_complete", "end"]
    assert told.of("command")[0].data == {"tool": "say", "action": "do", "command": ["say", "hello"]}
    assert told.of("output")[0].data == {"stream": "stdout", "text": "hello", "partial": True, "dropped": 0}
    trace = [event.seq for event in lab.host().follow(run.run_id)]
    assert [one.data["seq"] for one in told.of("event")] == trace
    assert told.of("end")[0].data["result"]["next"] == []
    assert run.view.to_json()["status"] == "completed"


def test_programs_start_in_the_root_of_the_host_wherever_this_process_is(lab, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    lab.program("where", "pwd > here")
    lab.tool("where", '["where"]')
    lab.book("- { id: one, type: tool, tool: where, inputs: {} }", tools="where")
    assert result(lab.host().start("book.yaml"))["status"] == "completed"
    assert lab.path("here").read_text().strip() == str(lab.root)
    assert lab.gert("runs", "list", "--ids").stdout.strip()


def test_what_is_wrong_before_a_run_is_raised_where_it_is_started(lab):
    host = lab.host()
    with pytest.raises(UsageError, match="does not exist"):
        host.start("nothing.yaml")
    lab.write("book.yaml", "apiVersion: kernel/v0\nmeta: { name: book }\nsteps: [{ id: a, type: nothing }]\n")
    with pytest.raises(GertError) as failed:
        host.start("book.yaml")
    assert failed.value.diagnostics
    lab.book(MANUAL, meta="inputs: { host: { required: true } }")
    with pytest.raises(GertError, match="host"):
        host.start("book.yaml")
    assert not list(host.runs())


def test_a_document_is_validated_as_an_editor_has_it(lab):
    file = lab.book('- { id: one, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    host = lab.host()
    assert host.validate("book.yaml").valid
    found = host.validate("book.yaml", text=file.read_text().replace("tool: say", "tool: shout"))
    assert not found.valid
    assert host.validate("book.yaml").valid


def test_the_environment_is_read_once_and_left_alone(tmp_path, monkeypatch):
    """A program has its own keys: the host takes them when it is made, and removes none."""
    (tmp_path / "book.yaml").write_text(TestConformance.runbook)
    monkeypatch.setenv("GERT_TRACE_SIGNING_KEY", "hmac-sha256:c2lnbmluZy1rZXktMDEyMzQ1Njc4OQ==")
    before = dict(os.environ)
    with Host(tmp_path) as host:
        assert dict(os.environ) == before
        monkeypatch.delenv("GERT_TRACE_SIGNING_KEY")
        monkeypatch.setenv("GERT_TRACE_SIGNING_KEY_ID", "later")
        run = host.start("book.yaml")
        assert result(run)["status"] == "completed"
        start, *_, end = host.follow(run.run_id)
    assert start.data["signer"]["key_id"] == "default"
    assert end.data["signature_alg"] == "hmac-sha256"


def test_no_secret_is_told(lab):
    told = Told()
    lab.environ["TOKEN"] = "h5Kq-Zw82-Lr01"
    lab.program(
        "leak", "printf 'a %s\\n' $TOKEN; printf '%s' h5Kq-; sleep 0.7; printf '%s\\n' Zw82-Lr01; echo $TOKEN >&2"
    )
    lab.tool("leak", '["leak"]', more="")
    text = lab.path("tools/leak.tool.yaml").read_text()
    lab.path("tools/leak.tool.yaml").write_text(text + "secrets: [{ env: TOKEN }]\n")
    lab.book("- { id: one, type: tool, tool: leak, inputs: {} }", tools="leak")
    assert result(lab.host().start("book.yaml", on_notice=told))["status"] == "completed"
    told.wait("end")
    assert told.text() == "a <REDACTED:TOKEN>\n<REDACTED:TOKEN>\n"
    assert told.text("stderr") == "<REDACTED:TOKEN>\n"
    assert not [notice for notice in told.notices if "h5Kq" in str(notice.to_json())]


def test_output_is_told_while_the_tool_runs(lab):
    told = Told()
    lab.program("slow", "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over")
    lab.tool("slow", '["slow"]')
    lab.book("- { id: one, type: tool, tool: slow, inputs: {} }", tools="slow")
    run = lab.host().start("book.yaml", on_notice=told)
    assert told.wait("output").data["text"] == "begun\n"
    assert not run.done
    lab.path("go").touch()
    result(run)
    told.wait("end")
    assert told.text() == "begun\nover\n"


def test_a_loop_is_counted(lab):
    told = Told()
    lab.program("some", '[ "$1" != 3 ]')
    lab.tool("some", '["some", "{{ .n }}"]', contract=takes("n"))
    lab.book(
        """
        - { id: each, type: tool, tool: some, continue_on_fail: true, inputs: { n: "{{ .n }}" },
            for_each: { over: [1, 2, 3, 4], as: n, parallel: true } }
        """,
        tools="some",
    )
    result(lab.host().start("book.yaml", on_notice=told))
    told.wait("end")
    loops = told.of("loop")
    assert loops[0].data == {"done": 0, "failed": 0, "skipped": 0, "total": 4}
    assert loops[-1].data == {"done": 4, "failed": 1, "skipped": 0, "total": 4}
    assert {one.step_key for one in loops} == {"each"}
    started = next(n.number for n in told.of("event") if n.data["type"] == "for_each_start")
    assert started < loops[0].number


def test_two_runs_with_their_answers_crossed(lab):
    lab.book(MANUAL)
    host, first, second = lab.host(), Told(), Told()
    one = host.start("book.yaml", on_notice=first)
    two = host.start("book.yaml", on_notice=second)
    asked = [told.wait("question") for told in (first, second)]
    assert asked[0].data | {"question_id": ""} == {
        "question_id": "",
        "name": "notes",
        "kind": "text",
        "title": "What you saw",
        "instructions": "Look at the rack.",
        "items": [],
        "hidden": False,
        "expires_at": None,
    }
    assert not two.answer(asked[0].data["question_id"], "of one", by="alice")
    assert not one.decline(asked[1].data["question_id"], "no", by="bob")
    assert two.answer(asked[1].data["question_id"], "of two", by="bob")
    assert one.answer(asked[0].data["question_id"], "of one", by="alice")
    assert not one.answer(asked[0].data["question_id"], "again")
    assert result(one)["outputs"] != result(two)["outputs"]
    for run, told, name in ((one, first, "alice"), (two, second, "bob")):
        told.wait("end")
        answered = next(n.data for n in told.of("event") if n.data["type"] == "question_answered")
        assert answered["principal"]["id"] == answered["data"]["by"] == name
        assert told.of("answered")[0].data["by"] == name
        assert run.run_id == told.notices[-1].run_id


def test_questions_of_branches_are_open_at_once_and_answered_in_any_order(lab):
    told = Told()
    lab.book(
        """
        - id: both
          type: parallel
          branches:
            - { label: left, steps: [{ id: l, type: manual, instructions: Left. }] }
            - { label: right, steps: [{ id: r, type: manual, instructions: Right. }] }
        """
    )
    host = lab.host()
    run = host.start("book.yaml", on_notice=told)
    told.wait("question", 2)
    asked = {one.step_key: one.data["question_id"] for one in told.of("question")}
    assert run.waits
    with pytest.raises(UsageError, match="not an answer"):
        run.answer(asked["both/1/r"], "perhaps")
    assert run.answer(asked["both/1/r"], True)
    assert host.answer(run.run_id, "both/0/l", {"confirm": "yes"}, by="alice") == []
    assert result(run)["status"] == "completed"


def test_a_question_may_be_declined(lab):
    told = Told()
    lab.book(MANUAL)
    run = lab.host().start("book.yaml", on_notice=told)
    asked = told.wait("question").data["question_id"]
    with pytest.raises(UsageError, match="is an agent"):
        run.decline(asked, "no", by="agent:claude")
    assert run.decline(asked, "wrong rack", by="alice")
    found = result(run)
    assert (found["status"], found["failure"]["kind"]) == ("failed", "rejected")
    assert "wrong rack" in found["failure"]["message"]


def test_an_attachment_is_below_the_root(lab, tmp_path_factory):
    told = Told()
    lab.book("- { id: look, type: manual, instructions: Look., required_evidence: [{ kind: attachment, name: shot }] }")
    outside = tmp_path_factory.mktemp("outside") / "shot.png"
    outside.write_text("x")
    lab.write("shot.png", "y")
    run = lab.host().start("book.yaml", on_notice=told)
    asked = told.wait("question").data["question_id"]
    for refused in (str(outside), "../outside0/shot.png"):
        with pytest.raises(UsageError, match="is not in"):
            run.answer(asked, refused)
    assert run.answer(asked, "shot.png")
    assert result(run)["status"] == "completed"


def test_an_input_is_asked_for_before_the_run_begins(lab):
    told = Told()
    lab.book(
        '- { id: one, type: tool, tool: say, inputs: { text: "{{ .host }}" } }',
        tools="say",
        meta="inputs: { host: { from: prompt, description: Which one, required: true } }",
    )
    run = lab.host().start("book.yaml", on_notice=told)
    asked = told.wait("question")
    assert run.run_id
    assert (asked.data["kind"], asked.data["name"], asked.data["instructions"]) == ("input", "host", "Which one")
    assert "event" not in [notice.kind for notice in told.notices]
    assert run.answer(asked.data["question_id"], "srv1")
    assert result(run)["status"] == "completed"
    told.wait("end")
    assert told.text() == "srv1"


def test_without_a_listener_questions_suspend_and_are_answered_later(lab):
    lab.book(MANUAL)
    host = lab.host()
    found = result(host.start("book.yaml"))
    assert found["status"] == "answer_pending"
    assert [one["name"] for one in found["questions"]] == ["notes"]
    assert found["next"][0]["command"][:2] == ["gert", "answer"]
    assert host.answer(found["run_id"], "look", {"notes": "seen"}, by="alice") == []
    assert result(host.resume(found["run_id"]))["status"] == "completed"
    with pytest.raises(RunFinished):
        host.resume(found["run_id"])


class TestApprovals:
    @pytest.fixture
    def lab(self, lab):
        lab.policy(APPROVE)
        lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
        return lab

    def test_a_waiting_run_is_decided_here(self, lab):
        told, host = Told(), lab.host()
        run = host.start("book.yaml", on_notice=told)
        ticket = told.wait("approval").data["request"]["ticket_id"]
        assert not lab.path("changed").exists()
        assert [view.ticket_id for view in host.tickets()] == [ticket]
        assert run.waits
        with pytest.raises(GertError, match="started the run"):
            host.decide(ticket, approved=True)
        began = time.monotonic()
        host.decide(ticket, approved=True, approver="alice", reason="fine")
        assert result(run)["status"] == "completed"
        assert time.monotonic() - began < 5
        assert host.ticket(ticket).status == "approved"
        assert not list(host.tickets())

    def test_a_waiting_run_is_decided_by_another_process(self, lab):
        told = Told()
        run = lab.host().start("book.yaml", on_notice=told)
        ticket = told.wait("approval").data["request"]["ticket_id"]
        lab.gert("approve", ticket, "--as", "alice")
        assert result(run)["status"] == "completed"
        resolved = next(n.data for n in told.of("event") if n.data["type"] == "approval_resolved")
        assert resolved["data"]["approvers"] == ["alice"]

    def test_a_suspended_run_goes_on_at_the_command_line(self, lab):
        told = Told()
        run = lab.host().start("book.yaml", on_notice=told)
        ticket = told.wait("approval").data["request"]["ticket_id"]
        run.suspend()
        found = result(run)
        assert found["status"] == "approval_pending"
        commands = [step["command"] for step in found["next"]]
        assert ["gert", "approve", ticket] in commands
        assert commands[-1] == ["gert", "resume", "--run", run.run_id]
        lab.gert("approve", ticket, "--as", "alice")
        assert lab.json("resume", "--run", run.run_id)["status"] == "completed"

    def test_the_inbox_suspends(self, lab):
        assert result(lab.host().start("book.yaml", approval="inbox"))["status"] == "approval_pending"

    def test_a_rejection_ends_the_run(self, lab):
        told, host = Told(), lab.host()
        run = host.start("book.yaml", on_notice=told)
        host.decide(told.wait("approval").data["request"]["ticket_id"], approved=False, approver="alice")
        assert result(run)["failure"]["kind"] == "approval_rejected"


class TestEnding:
    def test_cancel_in_a_tool_ends_only_the_programs_of_that_run(self, lab):
        host = lab.host()
        runs = []
        for name in ("one", "two"):
            lab.book(f"- {{ id: a, type: tool, tool: hold, inputs: {{ until: {name} }} }}", tools="hold")
            runs.append(host.start("book.yaml"))
        pids = [int(wait_for(lambda n=n: lab.path(f"{n}.pid").exists() and lab.path(f"{n}.pid").read_text()))
                for n in ("one", "two")]  # fmt: skip
        runs[0].cancel("enough")
        found = result(runs[0])
        assert (found["status"], alive(pids[0]), alive(pids[1])) == ("cancelled", False, True)
        lab.path("two").touch()
        assert result(runs[1])["status"] == "completed"

    def test_cancel_while_asked(self, lab):
        told = Told()
        lab.book(MANUAL)
        run = lab.host().start("book.yaml", on_notice=told)
        asked = told.wait("question").data["question_id"]
        began = time.monotonic()
        run.cancel("enough")
        assert result(run)["status"] == "cancelled"
        assert time.monotonic() - began < 2
        assert not run.answer(asked, "late")
        assert told.wait("end").data["result"]["next"][0]["command"] == ["gert", "resume", "--run", run.run_id]

    def test_cancel_while_approving(self, lab):
        told = Told()
        lab.policy(APPROVE)
        lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
        run = lab.host().start("book.yaml", on_notice=told)
        told.wait("approval")
        run.cancel("enough")
        assert result(run)["status"] == "cancelled"
        assert not lab.path("changed").exists()

    def test_a_run_that_does_not_stop_is_abandoned_with_its_programs(self, lab, monkeypatch):
        from gert_core.hosting import hosted

        monkeypatch.setattr(hosted, "GRACE", 0.5)
        lab.program("stubborn", "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
        lab.tool("stubborn", '["stubborn"]')
        lab.book("- { id: a, type: tool, tool: stubborn, inputs: {} }", tools="stubborn")
        told = Told()
        run = lab.host().start("book.yaml", on_notice=told)
        pid = int(wait_for(lambda: lab.path("pid").exists() and lab.path("pid").read_text()))
        run.cancel("enough")
        assert result(run, 30)["status"] == "cancelled"
        wait_for(lambda: not alive(pid))
        told.wait("end")
        assert [notice.kind for notice in told.notices].count("end") == 1
        wait_for(lambda: lab.gert("runs", "show", run.run_id, "--json").stdout and True)

    def test_close_suspends_who_waits_and_cancels_who_works(self, lab):
        host, told = lab.host(), Told()
        lab.book(MANUAL)
        waiting = host.start("book.yaml", on_notice=told)
        told.wait("question")
        lab.book("- { id: a, type: tool, tool: hold, inputs: { until: never } }", tools="hold")
        working = host.start("book.yaml")
        wait_for(lambda: lab.path("never.pid").exists())
        host.close()
        assert (result(waiting)["status"], result(working)["status"]) == ("answer_pending", "cancelled")
        with pytest.raises(UsageError, match="closed"):
            host.start("book.yaml")

    def test_the_limit_counts_runs_that_work(self, lab):
        host, told = lab.host(limit=1), Told()
        lab.book(MANUAL)
        host.start("book.yaml", on_notice=told)
        told.wait("question")
        lab.book("- { id: a, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
        run = host.start("book.yaml")
        wait_for(lambda: lab.path("go.pid").exists())
        with pytest.raises(UsageError) as refused:
            host.start("book.yaml")
        assert refused.value.kind == "host_busy"
        lab.path("go").touch()
        assert result(run)["status"] == "completed"
        assert result(host.start("book.yaml"))["status"] == "completed"


class TestSubscribers:
    @pytest.fixture
    def lab(self, lab):
        lab.book('- { id: one, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
        return lab

    def test_one_that_is_slow_delays_nobody_but_itself(self, lab):
        free, told = threading.Event(), Told()

        def slow(notice):
            free.wait(10)
            told(notice)

        run = lab.host().start("book.yaml", on_notice=slow)
        assert result(run, 5)["status"] == "completed"
        assert not told.notices
        free.set()
        told.wait("end")
        assert [notice.number for notice in told.notices] == list(range(1, len(told.notices) + 1))

    def test_one_that_raises_is_dropped_and_the_others_are_told(self, lab):
        told, calls = Told(), []

        def broken(notice):
            calls.append(notice)
            raise ValueError("no more")

        lab.book("- { id: a, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
        run = lab.host().start("book.yaml", on_notice=broken)
        run.subscribe(told)
        assert "no more" in told.wait("warning").data["message"]
        lab.path("go").touch()
        assert result(run)["status"] == "completed"
        told.wait("end")
        assert len(calls) == 1

    def test_one_may_call_everything(self, lab):
        lab.book(MANUAL)
        host, told, runs = lab.host(), Told(), []

        def act(notice):
            if notice.kind == "question":
                wait_for(lambda: runs)
                runs[0].subscribe(told)
                runs[0].answer(notice.data["question_id"], "seen")
                runs[0].wait(5)
                host.close()

        runs.append(host.start("book.yaml", on_notice=act))
        assert result(runs[0])["status"] == "completed"
        told.wait("end")

    def test_one_that_comes_late_is_told_everything_from_where_it_likes(self, lab):
        told = Told()
        run = lab.host().start("book.yaml", on_notice=lambda _: None)
        result(run)
        undo = run.subscribe(told)
        told.wait("end")
        undo()
        numbers = [notice.number for notice in told.notices]
        assert numbers == list(range(1, len(numbers) + 1))
        assert [notice.number for notice in run.notices(after=numbers[-3])] == numbers[-2:]

    def test_old_output_goes_first_and_is_counted(self, lab):
        from gert_core.hosting.notices import Notices

        notices = Notices(lambda: "r", mask=str, again=lambda _: iter(()), kept=100)
        for number in range(10):
            notices.add("output", {"stream": "stdout", "text": f"{number}" * 30, "partial": False, "dropped": 0})
            notices.add("warning", {"message": str(number)})
        notices.add("end", {})
        notices.add("warning", {"message": "too late"})
        found = list(notices.iterate())
        assert len([one for one in found if one.kind == "warning"]) == 10
        kept = [one.data for one in found if one.kind == "output"]
        assert [one["text"][0] for one in kept] == ["7", "8", "9"]
        assert [one["dropped"] for one in kept] == [210, 0, 0], "also over notices of other kinds"
        assert found[-1].kind == "end"

    @pytest.mark.parametrize("listens", [True, False])
    def test_events_are_told_again_from_the_trace_and_not_kept(self, lab, listens):
        each = f"for_each: {{ as: n, over: {list(range(400))} }}"
        lab.book(f"- {{ id: many, type: assert, {each}, assert: [{{ type: equals, value: '{{{{ .n }}}}', expected: '{{{{ .n }}}}' }}] }}")  # fmt: skip
        run = lab.host().start("book.yaml", on_notice=(lambda _: None) if listens else None)
        result(run)
        events = lab.events()
        assert len(events) > 1000
        told = list(run.notices())
        assert [notice.data for notice in told if notice.kind == "event"] == events
        assert [notice.number for notice in told] == list(range(1, len(told) + 1))
        kept = run._notices.kept
        assert kept.held <= (256 if listens else 0) + len([one for one in told if one.kind != "event"])
        assert [notice.number for notice in run.notices(after=500)][:2] == [501, 502]
        for found in lab.runs():
            (found / "trace.jsonl").unlink()
        lost = next(iter(run.notices()))
        assert (lost.kind, lost.data["message"][:29]) == ("warning", "event 1 cannot be told again:")

    def test_nothing_is_watched_when_nobody_listens(self, lab):
        run = lab.host().start("book.yaml")
        result(run)
        kinds = {notice.kind for notice in run.notices()}
        assert kinds == {"event", "end"}

    def test_without_a_listener_a_call_costs_one_question(self, lab, monkeypatch):
        asked = []
        monkeypatch.setattr(HostProgress, "watches", property(lambda self: asked.append(1) or self._notices.watched))
        monkeypatch.setattr(HostProgress, "calling", None)  # nobody is told, so it is not even called
        lab.book('- { id: one, type: tool, tool: say, for_each: { as: n, over: [1, 2, 3, 4, 5] }, inputs: { text: "{{ .n }}" } }', tools="say")  # fmt: skip
        assert result(lab.host().start("book.yaml"))["status"] == "completed"
        assert len(asked) == 5 + 1, "one for each call, and one for the loop"


def test_follow_goes_over_suspension_and_resumption_and_a_torn_line(lab):
    lab.policy(APPROVE)
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    host = lab.host()
    found = result(host.start("book.yaml", approval="inbox"))
    seen, stop = [], Stop()

    def watch():
        for event in host.follow(found["run_id"], deadline=Deadline(stop, 20)):
            seen.append((event.seq, event.type))

    thread = threading.Thread(target=watch)
    thread.start()
    wait_for(lambda: seen and seen[-1][1] == "run_suspended")
    trace = lab.root / "runs" / found["run_id"] / "trace.jsonl"
    with trace.open("ab") as file:
        file.write(b'{"type":"torn"')
    time.sleep(0.2)
    host.decide(next(host.tickets()).ticket_id, approved=True, approver="alice")
    assert result(host.resume(found["run_id"]))["status"] == "completed"
    thread.join(10)
    assert [seq for seq, _ in seen] == list(range(1, len(seen) + 1))
    assert [kind for _, kind in seen][-1] == "run_complete"
    began = time.monotonic()
    lab.book(MANUAL)
    other = result(host.start("book.yaml"))
    list(host.follow(other["run_id"], deadline=Deadline(stop, 0.5)))
    assert time.monotonic() - began < 5
    stop.close()


def test_runs_are_listed_the_newest_first(lab):
    host = lab.host()
    lab.book('- { id: one, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    first = result(host.start("book.yaml"))["run_id"]
    time.sleep(1.1)
    lab.book(MANUAL)
    second = result(host.start("book.yaml"))["run_id"]
    assert [view.run_id for view in host.runs()] == [second, first]
    assert [view.run_id for view in host.runs(status="completed")] == [first]
    assert [view.run_id for view in host.runs(limit=1)] == [second]
    assert host.run("latest").to_json() | {"age_seconds": 0} == lab.json("runs", "show", "latest") | {"age_seconds": 0}


def test_modes_are_told_without_a_directory(lab):
    told = Told()
    lab.book('- { id: one, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    assert result(lab.host().start("book.yaml", mode="dry-run", on_notice=told))["status"] == "completed"
    told.wait("end")
    assert "run_complete" in told.events()
    assert not list(lab.host().runs())


def test_nothing_is_left_of_two_hundred_runs(lab):
    lab.book('- { id: one, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    host = lab.host()

    def left() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    result(host.start("book.yaml", on_notice=lambda _: None))
    time.sleep(0.3)
    before = left()
    for _ in range(200):
        run = host.start("book.yaml", on_notice=lambda _: None)
        assert result(run)["status"] == "completed"
    wait_for(lambda: left()[0] <= before[0] and left()[1] <= before[1], 15)
