"""Conformance tests of plugins; a plugin's tests subclass them and give an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import EventType, Flow
from gert_core.documents.scenario import ScenarioModel
from gert_core.engine.request import PROBE_EFFECTS
from gert_core.kit.models import StepModel
from gert_core.plugin.lazy import load_target
from gert_core.testing.cases import PluginConformance
from gert_core.testing.checks import CheckConformance
from gert_core.testing.effects import forbid_outside_effects
from gert_core.testing.guards import CommandConformance, RuleConformance
from gert_core.testing.hosts import HostConformance
from gert_core.testing.notifiers import NotifierConformance
from gert_core.testing.peers import (
    ApprovalProviderConformance,
    InputResolverConformance,
    SignatureSchemeConformance,
    TransportConformance,
)
from gert_core.testing.step_cases import StepTypeCase, assert_intact
from gert_core.testing.step_loops import LoopConformance
from gert_core.testing.step_stops import StopConformance
from gert_core.testing.store_case import StoreCase
from gert_core.testing.store_ledgers import LedgerConformance
from gert_core.testing.store_lists import ListsConformance
from gert_core.testing.store_traces import LinesConformance
from gert_core.testing.stores import DatabaseStoreConformance, StoreConformance

if TYPE_CHECKING:
    import pytest

    from gert_core.testing.running import GertRunner

_WITH_BLOCKS: Final = (Flow.ONE_OF, Flow.ALL_OF, Flow.IN_ORDER)


class StepTypeConformance(LoopConformance, StopConformance):
    """The tests every step type must pass, in every mode; subclass it and set ``plugin`` and ``runbook``."""

    def test_the_records_are_complete(self) -> None:
        for step_type in self.types():
            assert step_type.name.isidentifier(), step_type.name
            assert step_type.summary, "say in one line what the type does"
            assert issubclass(load_target(step_type.model), StepModel)
            assert callable(load_target(step_type.run))
            has_blocks = step_type.flow in _WITH_BLOCKS
            lists = step_type.blocks is not None or step_type.includes is not None
            assert has_blocks == lists, "flow and blocks must agree"

    def test_every_field_is_described(self) -> None:
        for step_type in self.types():
            for name, field in load_target(step_type.model).model_fields.items():
                assert field.description, f"{step_type.name}.{name} has no description"

    def test_a_real_run_comes_out_as_promised(self, runner: GertRunner) -> None:
        ran = self._real(runner)
        assert ran.status == self.status, [failure.message for failure in ran.result.failures]
        assert_intact(ran.result.trace)

    def test_a_dry_run_touches_nothing(self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch) -> None:
        forbid_outside_effects(monkeypatch)
        ran = self._real(runner, mode="dry-run", answers=())
        assert ran.status == "completed", [failure.message for failure in ran.result.failures]

    def test_a_probe_executes_only_what_changes_nothing(
        self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned = self._real(runner, mode="dry-run", answers=())
        contracts = [start.get("contract_summary") for start in planned.of(EventType.STEP_START)]
        effects = [set(contract["effects"]) for contract in contracts if contract and not contract["writing"]]
        if not any(found and found <= PROBE_EFFECTS for found in effects):
            forbid_outside_effects(monkeypatch)
        ran = self._real(runner, mode="probe")
        assert ran.status in ("completed", self.status), [failure.message for failure in ran.result.failures]
        for event in ran.events:
            if event.type == EventType.STEP_START and event.data.get("contract_summary", {}).get("writing"):
                (complete,) = ran.of(EventType.STEP_COMPLETE, event.step_key)
                assert "symbolic" in complete.get("detail", {}), f"{event.step_key} writes and was executed"
        assert_intact(ran.result.trace)

    def test_a_replay_touches_nothing_and_comes_out_the_same(
        self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forbid_outside_effects(monkeypatch)
        scenario = ScenarioModel.model_validate({"inputs": dict(self.inputs), **self.scenario})
        ran = runner(self.runbook, files=self.files, mode="replay", scenario=scenario)
        assert ran.status == self.status, [failure.message for failure in ran.result.failures]


__all__ = [
    "ApprovalProviderConformance",
    "CheckConformance",
    "CommandConformance",
    "DatabaseStoreConformance",
    "HostConformance",
    "InputResolverConformance",
    "LedgerConformance",
    "LinesConformance",
    "ListsConformance",
    "LoopConformance",
    "NotifierConformance",
    "PluginConformance",
    "RuleConformance",
    "SignatureSchemeConformance",
    "StepTypeCase",
    "StepTypeConformance",
    "StopConformance",
    "StoreCase",
    "StoreConformance",
    "TransportConformance",
    "forbid_outside_effects",
]
