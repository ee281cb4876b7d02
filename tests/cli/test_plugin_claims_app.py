"""Two installed plugins claim the same field: reading commands warn, executing ones refuse."""

from __future__ import annotations

import pytest

CLAIMANT = """
from gert_core import hookimpl
from gert_core.api import StepType

@hookimpl
def gert_step_types():
    return [StepType(name={name!r}, model="nowhere:Model", run="nowhere:run", claims="zoo.steps")]
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: {name: demo}
steps:
  - {id: finish, type: end, outcome: {category: resolved, code: fine}}
"""


@pytest.fixture
def runbook(tmp_path, monkeypatch, fake_dist):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)
    fake_dist.add("gert-step-zoo-one", CLAIMANT.format(name="zoo-one"), version="1.1")
    fake_dist.add("gert-step-zoo-two", CLAIMANT.format(name="zoo-two"), version="1.2")
    file = tmp_path / "demo.yaml"
    file.write_text(RUNBOOK)
    return str(file)


def test_exec_refuses_and_names_both_and_the_ways_out(gert, runbook):
    code, out, err = gert("exec", runbook)
    assert (code, out) == (3, "")
    assert (
        "'zoo-one' of gert-step-zoo-one 1.1 and 'zoo-two' of gert-step-zoo-two 1.2 claim the field 'zoo.steps'" in err
    )
    assert "-p no:gert-step-zoo-one" in err
    assert "-p no:gert-step-zoo-two" in err


def test_without_one_of_them_everything_works(gert, runbook):
    code, _, err = gert("-p", "no:step-zoo-two", "exec", runbook)
    assert code == 0, err


def test_validate_warns_and_goes_on(gert, runbook):
    code, _, err = gert("validate", runbook)
    assert code == 0
    assert err.count("claim the field 'zoo.steps'") == 2


def test_the_list_shows_both_as_conflicting(gert, runbook):
    _, out, _ = gert("plugins", "list")
    states = [line.split()[3] for line in out.splitlines() if "step-zoo-" in line.split()[0]]
    assert states == ["conflicting", "conflicting"]
