"""Recording and comparing from a program: ``Host.start(record=)`` and ``Host.diff``."""

from __future__ import annotations

import pytest
from scenario_books import write_book

from gert_core.api import UsageError
from gert_core.hosting import Host

READ = "- {id: look, type: tool, tool: box, action: read, inputs: {item: a}}"
WRITE = "- {id: change, type: tool, tool: box, action: write, inputs: {item: a}}"
META = "governance: {rules: [{writes: [production], action: require-approval}, {default: allow}]}"


def test_a_run_of_a_host_is_recorded_and_compared(tmp_path):
    book = write_book(tmp_path, READ)
    with Host(tmp_path) as host:
        ended = host.start("book.yaml", record="one").wait(30)
        target = tmp_path / "scenarios" / "book" / "one"
        assert ended["result"]["record"] == {"written": True, "path": str(target), "problem": None}
        with pytest.raises(UsageError, match="is not empty; nothing was run"):
            host.start("book.yaml", record="one")
        assert "record" not in host.start("book.yaml").wait(30)["result"]
        assert host.diff(["book.yaml"]).same
        book.write_text(book.read_text().replace("resolved, code: done", "escalated, code: late"))
        (report,) = host.diff(["book.yaml"], scenario=["one"]).to_json()["runbooks"]
        assert report["summary"] == {"unchanged": 0, "changed": 1, "errors": 0}
        assert report["scenarios"][0]["after"]["outcome"] == "escalated"


def test_a_suspended_run_is_recorded_by_the_host_that_resumes_it(tmp_path):
    write_book(tmp_path, WRITE, meta=META)
    with Host(tmp_path, actor="olga") as host:
        ended = host.start("book.yaml", record="kept/one", approval="inbox").wait(30)
        assert ended["result"]["record"]["written"] is False
        run_id = ended["result"]["run_id"]
    with Host(tmp_path, actor="olga") as host:
        (ticket,) = host.tickets()
        host.decide(ticket.ticket_id, approved=True, approver="alice")
        ended = host.resume(run_id).wait(30)
        assert ended["result"]["record"]["written"] is True, ended["result"]["record"]
        assert host.test(["kept/one"]).summary.passed == 1
