"""Hosts: what a listener raises, or does with what it is told, disturbs neither the run nor other listeners."""

from __future__ import annotations

import pytest
from hosting import APPROVE, Lab, Told, result, takes
from shell import wait_for


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


def test_one_that_cannot_say_what_it_raises_silences_no_other(lab):
    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

        __repr__ = __str__

    def broken(notice):
        raise OddError

    told = Told()
    lab.book("- { id: a, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    run = lab.host().start("book.yaml", on_notice=broken)
    run.subscribe(told)
    assert told.wait("warning").data["message"] == "a subscriber failed and was dropped: OddError"
    lab.path("go").touch()
    assert result(run)["status"] == "completed"
    told.wait("end")


def spoil(value):
    """Replace everything in a value that can be replaced, wherever it is nested."""
    if isinstance(value, dict):
        for inner in list(value.values()):
            spoil(inner)
        value.clear()
        value["spoilt"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value[:] = ["spoilt"]


def test_one_that_alters_what_it_is_told_disturbs_no_approval(lab):
    seen = []

    def altering(notice):
        if notice.kind == "approval":
            seen.append(notice.data["request"]["ticket_id"])
        if notice.kind != "end":  # that is the result itself
            spoil(dict(notice.data))

    lab.policy(APPROVE)
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))
    lab.book('- { id: restart, type: tool, tool: change, inputs: { what: "web" } }', tools="change")
    host = lab.host()
    run = host.start("book.yaml", on_notice=altering)
    wait_for(lambda: seen)
    host.decide(seen[0], approved=True, approver="alice")
    assert result(run)["status"] == "completed"
    assert lab.path("changed").read_text() == "web\n"
    assert lab.json("runs", "show", "latest")["status"] == "completed"
