"""Conformance tests of hosts: what every program that shows runs by their notices relies on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from gert_core.api import EventType
from gert_core.hosting import Host
from gert_core.hosting.notices import END as _END

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.hosting import Notice

_LONG: Final = 30.0


class HostConformance:
    """The tests every host must pass; subclass it, and give ``open_host`` where a host is made in another way.

    ``runbook`` is a runbook that comes to its end without people.
    """

    runbook: ClassVar[str]

    def open_host(self, root: Path) -> Host:
        """Return a host of a directory."""
        return Host(root)

    @pytest.fixture
    def host(self, tmp_path: Path) -> Iterator[Host]:
        """Give a host of a directory with the runbook."""
        (tmp_path / "runbook.yaml").write_text(self.runbook, encoding="utf-8")
        with self.open_host(tmp_path) as opened:
            yield opened

    def test_notices_come_in_order_from_the_first_event_to_one_end(self, host: Host) -> None:
        told: list[Notice] = []
        over = threading.Event()

        def take(notice: Notice) -> None:
            told.append(notice)
            if "result" in notice.data or "error" in notice.data:
                over.set()

        run = host.start("runbook.yaml", on_notice=take)
        assert run.run_id
        assert run.wait(_LONG) is not None
        assert over.wait(_LONG)
        assert [notice.number for notice in told] == list(range(1, len(told) + 1))
        assert told[0].data["type"] == EventType.RUN_START
        assert [notice.kind for notice in told].count(_END) == 1
        assert told[-1].data["result"]["status"] == "completed"

    def test_events_are_those_of_the_trace(self, host: Host) -> None:
        run = host.start("runbook.yaml")
        found = [notice.data["seq"] for notice in run.notices() if notice.kind == "event"]
        assert found == [event.seq for event in host.follow(run.run_id)]
        assert host.run(run.run_id).to_json()["status"] == "completed"

    def test_a_subscriber_that_comes_late_or_raises_changes_nothing(self, host: Host) -> None:
        def broken(notice: Notice) -> None:
            raise ValueError(notice.kind)

        run = host.start("runbook.yaml", on_notice=broken)
        assert (run.wait(_LONG) or {})["result"]["status"] == "completed"
        late = list(run.notices())
        assert late[-1].kind == _END
        assert [notice.number for notice in run.notices(after=late[-2].number)] == [late[-1].number]


__all__ = ["HostConformance"]
