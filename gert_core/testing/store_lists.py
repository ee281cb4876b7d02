"""Conformance tests of the lists of runs and tickets of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import RunQuery
from gert_core.testing.store_case import StoreCase
from gert_core.testing.store_lines import write_run

if TYPE_CHECKING:
    from gert_core.api import RunStore


class ListsConformance(StoreCase):
    """The tests of lists of runs and tickets; ``StoreConformance`` has them too."""

    def test_store_queries_list_runs_newest_first_as_their_lines_say(self, store: RunStore) -> None:
        write_run(store, "20260101T000000Z-a-1", end="completed", facts={"runbook": "a", "actor": "ann"})
        write_run(store, "20260102T000000Z-b-1", end="failed", facts={"runbook": "b", "actor": "bob"})
        write_run(store, "20260103T000000Z-a-2", end="approval_pending", facts={"runbook": "a", "mode": "real"})
        live = write_run(store, "20260104T000000Z-a-3", facts={"runbook": "a"}, close=False)
        write_run(store, "20260105T000000Z-a-4", facts={"runbook": "a"})
        rows = list(store.runs(RunQuery()))
        assert [row.run_id[:8] for row in rows] == [f"2026010{day}" for day in (5, 4, 3, 2, 1)]
        assert [row.status for row in rows] == ["interrupted", "running", "approval_pending", "failed", "completed"]
        assert [row.live for row in rows] == [False, True, False, False, False]
        first = rows[-1]
        assert (first.runbook, first.actor, first.outcome, first.code) == ("a", "ann", "resolved", "done")
        assert first.started is not None
        assert first.finished == first.updated != first.started
        assert (first.duration, first.last_seq) == ("1.500s", 4)
        assert list(rows[2].blocked_on) == [{"kind": "approval", "key": "ticket-1"}]
        assert rows[2].finished is None
        assert list(store.run_ids()) == [row.run_id for row in rows]
        self.check_queries(store)
        live.close()

    def check_queries(self, store: RunStore) -> None:
        """Check that each filter gives the runs it should."""

        def days(**query: Any) -> str:
            return "".join(row.run_id[7] for row in store.runs(RunQuery(**query)))

        assert days(status=("failed", "completed")) == "21"
        assert days(status=("running",)) == "4"
        assert days(status=("interrupted",)) == "5"
        assert days(status=("running", "interrupted")) == "54"
        assert days(status=("failed", "interrupted")) == "52"
        assert days(status=("failed", "approval_pending"), active=False) == "32"
        assert days(active=True) == "54"
        assert days(active=False) == "321"
        assert days(runbook="b") == "2"
        assert days(actor="ann") == "1"
        assert days(outcome="resolved", code="done") == "1"
        assert days(code="other") == ""
        assert days(mode="real") == "3"
        assert days(limit=2) == "54"
        assert days(limit=2, before="20260104T000000Z-a-3") == "32"
        assert days(since="2026-01-02T00:00:00.000000Z", until="2026-01-04T00:00:00.000000Z") == "32"

    def test_store_queries_find_tickets(self, store: RunStore) -> None:
        one = write_run(store, "20260101T000000Z-a-1", facts={"runbook": "a"})
        two = write_run(store, "20260102T000000Z-b-1", facts={"runbook": "b"})
        one.put("tickets/t1.json", b'{"ticket_id": "t1", "runbook_name": "a", "step_id": "s1"}')
        two.put("tickets/t2.json", b'{"ticket_id": "t2", "runbook_name": "b", "step_id": "s2"}')
        two.put("tickets/t2.answers/0001-aa.json", b"{}", new=True)
        for name in ("t1.sent.json", "t1.refused/1-aa.json", "t1.comments/1.json"):
            one.put(f"tickets/{name}", b"{}", new=True)
        rows = list(store.tickets())
        assert [(row.ticket_id, row.run_id[:8], row.runbook, row.step_id, row.status) for row in rows] == [
            ("t2", "20260102", "b", "s2", "answered"),
            ("t1", "20260101", "a", "s1", "open"),
        ]
        for query, wanted in (
            ({"status": "open"}, ["t1"]),
            ({"runbook": "b"}, ["t2"]),
            ({"step_id": "s1"}, ["t1"]),
            ({"ticket_id": "t2"}, ["t2"]),
            ({"ticket_id": "none"}, []),
        ):
            assert [row.ticket_id for row in store.tickets(**query)] == wanted


__all__ = ["ListsConformance"]
