"""Hosts that offer runbooks to others: what there is, cancelling between steps, and runs that agents start."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hosting import Lab, Told, result, until

from gert_core.api import GertError, UsageError
from gert_core.hosting import Host

GATED = """
apiVersion: policy/v0
meta: { name: lab }
rules: [{ writes: [service], action: require-approval APPROVERS }]
"""
FIX = '- { id: fix, type: tool, tool: change, inputs: { what: "disk" } }'
TWO = """
- { id: first, type: tool, tool: hold, inputs: { until: "go" } }
- { id: second, type: tool, tool: say, inputs: { text: "never" } }
"""
ME = "agent:robot@root"


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


def test_runbooks_are_found_by_their_head_below_the_root_only(lab, tmp_path_factory):
    lab.book(FIX, tools="change")
    outside = tmp_path_factory.mktemp("outside") / "other.yaml"
    outside.write_text(lab.path("book.yaml").read_text())
    lab.path("link.yaml").symlink_to(outside)
    lab.path("inside.yaml").symlink_to(lab.path("book.yaml"))
    lab.write(".hidden/book.yaml", lab.path("book.yaml").read_text())
    host = lab.host()
    assert [path.name for path in host.runbooks()] == ["book.yaml", "inside.yaml"]
    assert lab.path("gert-project.yaml") in list(host.documents())


def test_links_to_themselves_and_names_that_are_not_text_are_left_out(lab):
    lab.book(FIX, tools="change")
    text = lab.path("book.yaml").read_text()
    lab.path("loop.yaml").symlink_to("loop.yaml")
    for name in (b"odd\xff.yaml", b"folder\xff/book.yaml", b"tools/odd\xff.tool.yaml"):
        lab.write(os.fsdecode(name), text)
    host = lab.host()
    assert [path.name for path in host.runbooks()] == ["book.yaml"]
    assert all(entry.name.isprintable() for entry in host.tools())


def test_tools_and_schemas_are_those_of_the_commands(lab):
    host = lab.host()
    assert {entry.name for entry in host.tools()} >= {"hold", "say", "change"}
    assert host.schema("tool") == lab.json("schema", "tool")
    with pytest.raises(UsageError, match="no schema for 'tol'") as raised:
        host.schema("tol")
    assert "tool" in raised.value.hint


def test_what_one_host_remembers_another_knows(lab):
    lab.host().remember("ab" * 32, {"run_id": "x"})
    assert lab.host().remembered("ab" * 32) == {"run_id": "x"}
    assert lab.host().remembered("cd" * 32) is None


def test_a_key_is_held_by_one_host_at_a_time(lab):
    host, other, key = lab.host(), lab.host(), "ab" * 32
    with host.exclusive(key) as mine, other.exclusive(key) as theirs:
        assert (mine, theirs) == (True, False)
    with other.exclusive(key) as mine, host.exclusive("cd" * 32) as another:
        assert mine
        assert another


def test_a_host_that_is_closed_gently_lets_the_step_finish_and_begins_no_other(lab):
    lab.book(TWO, tools="hold, say")
    told, host = Told(), lab.host()
    run = host.start("book.yaml", on_notice=told)
    until(lambda: lab.path("go.pid").exists())
    run.cancel("enough", leaves=30)
    assert run.wait(0.3) is None
    lab.path("go").touch()
    assert result(run)["status"] == "cancelled"
    steps = {
        one.data["step_key"]: one.data["data"]["status"]
        for one in told.of("event")
        if one.data["type"] == "step_complete"
    }
    assert steps == {"first": "success"}
    assert "second" not in {one.step_key for one in told.of("event") if one.data["type"] == "step_start"}


def test_a_step_that_does_not_finish_is_cancelled_with_the_host(lab):
    lab.book(TWO, tools="hold, say")
    host = lab.host()
    run = host.start("book.yaml")
    until(lambda: lab.path("go.pid").exists())
    host.close(timeout=12, leaves=0.5)
    assert result(run)["status"] == "cancelled"


def test_a_run_is_cancelled_by_its_id_here_and_elsewhere(lab):
    lab.book(TWO, tools="hold, say")
    host, other = lab.host(), lab.host()
    for asked in (host, other):
        run = host.start("book.yaml")
        until(lambda: lab.path("go.pid").exists())
        assert asked.cancel(run.run_id, by="alice").status == "cancelled"
        lab.path("go.pid").unlink()


@pytest.mark.parametrize("approvers", ["", f", approvers: ['{ME}', zed]", ", exclude_actor: false"])
def test_an_agent_never_approves_the_run_it_started(lab, approvers):
    lab.policy(GATED.replace(" APPROVERS", approvers))
    lab.book(FIX, tools="change")
    host = lab.host()
    run = host.start("book.yaml", approval="inbox", actor="robot@root", actor_kind="agent")
    (ticket,) = result(run)["pending"]
    assert host.ticket(ticket["ticket_id"]).request.exclude_actor
    for name in (ME, ME.upper(), "\uff41gent:robot@root"):
        with suppress(GertError):
            host.decide(ticket["ticket_id"], approved=True, approver=name)
    assert result(host.resume(run.run_id, approval="inbox"))["status"] == "approval_pending"
    assert not lab.path("changed").exists()


def test_a_person_with_the_user_of_the_agent_is_not_another_person(lab):
    lab.policy(GATED.replace(" APPROVERS", ""))
    lab.book(FIX, tools="change")
    host = Host(lab.root, environ=lab.environ)
    run = host.start("book.yaml", approval="inbox", actor="robot@root", actor_kind="agent")
    (ticket,) = result(run)["pending"]
    from gert_core.engine.run import os_user

    host.decide(ticket["ticket_id"], approved=True, approver=os_user())
    assert result(host.resume(run.run_id, approval="inbox"))["status"] == "approval_pending"
    host.decide(ticket["ticket_id"], approved=True, approver="alice")
    assert result(host.resume(run.run_id, approval="inbox"))["status"] == "completed"
    host.close()
