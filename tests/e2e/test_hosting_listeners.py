"""Hosts: what a listener raises, or does with what it is told, disturbs neither the run nor other listeners."""

from __future__ import annotations

import pytest
from hosting import Lab, Told, result


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
