"""A run: facts that stay as they are, services that are not exchanged, and only the run itself that grows."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from lab import Lab

from gert_core.engine.prepare import prepare
from gert_core.engine.request import Request
from gert_core.engine.run import RunFacts, RunServices
from gert_core.host import SilentConsole


@pytest.fixture
def run(tmp_path):
    lab = Lab(tmp_path)
    lab.runner.write({"runbook.yaml": lab.book("- { id: a, type: tool, tool: lab }")})
    request = Request(
        runbook=tmp_path / "runbook.yaml",
        registry=lab.runner.registry,
        console=SilentConsole(),
        runs=tmp_path / "runs",
        environ={},
        actor="tester",
    )
    with ExitStack() as stack:
        stack.callback(request.stop.close)
        yield prepare(request, stack)


def test_neither_facts_nor_services_can_be_exchanged(run):
    for part in (run.facts, run.services):
        for name in part.__struct_fields__:
            with pytest.raises(AttributeError):
                setattr(part, name, None)


def test_executing_a_run_leaves_its_facts_and_services_as_they_were(run):
    before = {part: [getattr(part, name) for name in part.__struct_fields__] for part in (run.facts, run.services)}
    assert str(run.execute().status) == "completed"
    for part, values in before.items():
        assert all(getattr(part, n) is v for n, v in zip(part.__struct_fields__, values, strict=True))
    assert [outcome.code for outcome in run.possible] == ["ok"]
    assert run.faults == []


def test_facts_name_who_runs_what_and_services_what_it_works_with(run):
    assert (run.facts.actor, run.facts.mode, run.facts.runbook.name) == ("tester", "real", "lab")
    assert run.facts.idempotency_key("a") == run.facts.idempotency_key("a") != run.facts.idempotency_key("b")
    assert set(RunFacts.__struct_fields__).isdisjoint(RunServices.__struct_fields__)
