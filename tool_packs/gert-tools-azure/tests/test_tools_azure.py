"""The words az gets, and what is made of its answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import gert_tools_azure
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs

MACHINE = {
    "id": "/subscriptions/0/resourceGroups/prod/providers/Microsoft.Compute/virtualMachines/vm1",
    "name": "vm1",
    "location": "westeurope",
    "powerState": "VM running",
    "provisioningState": "Succeeded",
    "hardwareProfile": {"vmSize": "Standard_B2s"},
}
TAIL = ["--only-show-errors", "--output=json"]


class TestPack(ToolPackConformance):
    plugin = gert_tools_azure
    books = Path(__file__).parent / "books"


@pytest.fixture
def az(gert_run, tmp_path):
    def run(action, answer, **inputs):
        stand_in = StandIn.make(tmp_path / "bin", "az", stdout=json.dumps(answer) if answer is not None else "")
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        gert_run.environ = {"PATH": path, "AZURE_CLIENT_SECRET": "hush-hush-hush", "GERT_TRACE_SIGNING_KEY_X": "k"}
        ran = call(gert_run, "azure/az", action, inputs)
        ran.assert_outcome("resolved")
        return ran, outputs(ran), stand_in.calls[-1]

    return run


def test_list(az):
    _, got, called = az("vm_list", [MACHINE], resource_group="prod")
    assert got["vms"][0]["powerState"] == "VM running"
    assert called["argv"] == ["vm", "list", "--resource-group=prod", "--show-details", *TAIL]


def test_show(az):
    _, got, called = az("vm_show", MACHINE, resource_group="prod", name="--help")
    assert (got["power_state"], got["size"], got["location"]) == ("VM running", "Standard_B2s", "westeurope")
    assert called["argv"] == ["vm", "show", "--resource-group=prod", "--name=--help", "--show-details", *TAIL]


def test_restart_writes_and_is_not_repeated_blindly(az):
    ran, _, called = az("vm_restart", None, resource_group="prod", name="vm1")
    assert called["argv"] == ["vm", "restart", "--resource-group=prod", "--name=vm1", *TAIL]
    assert ran.of("governance_decision", "call")[0]["risk_level"] == "critical"


def test_the_service_principals_secret_reaches_az_and_nothing_else(az):
    ran, _, called = az("vm_list", [{"note": "hush-hush-hush"}], resource_group="prod")
    assert called["environ"]["AZURE_CLIENT_SECRET"] == "hush-hush-hush"
    assert "hush-hush-hush" not in ran.result.trace.read_text()
