"""Checks that plugins add to ``gert doctor``: their lines, and those of checks that raise, exit, hang or lie."""

from __future__ import annotations

import threading
import time
from types import ModuleType

import pytest
from gertproc import Gert

from gert_core import hookimpl
from gert_core.api import Check, CheckResult
from gert_core.cli.doctor import plugins as runner

PLUGIN = """\
import sys
from gert_core import hookimpl
from gert_core.api import Check, CheckResult

def fine(services):
    print("NOISE")
    return CheckResult(status="ok", message=f"config {dict(services.config)}, store {services.store.url.partition(':')[0]}")

def slow(services):
    return CheckResult(status="warn", message="\\x1b[31mslow", hint="wait")

def nothing(services):
    return None

def leaves(services):
    sys.exit(0)

def raises(services):
    raise KeyError("no token " + services.environ["ACME_TOKEN"])

def lies(services):
    return {"status": "ok"}

@hookimpl
def gert_checks(project):
    found = [fine, slow, nothing]
    if project.config.get("bad"):
        found += [leaves, raises, lies]
    return [Check(name=one.__name__, run=one) for one in found]
"""
PROJECT = "plugins: {config: {check-acme: {bad: %s, token: env/ACME_TOKEN}}}\n"


@pytest.fixture
def gert(tmp_path, fake_dist):
    fake_dist.add("gert-check-acme", PLUGIN)
    return Gert(tmp_path, PYTHONPATH=str(fake_dist.directory), ACME_TOKEN="h5Kq-Zw82-Lr01")


def checks(said) -> dict[str, dict[str, str]]:
    return {one["check"]: one for one in said.document["checks"] if "/" in one["check"]}


def test_checks_of_plugins_stand_among_the_others(gert):
    (gert.root / "gert-project.yaml").write_text(PROJECT % "false")
    said = gert("doctor", "--json")
    assert said.code == 0
    assert checks(said) == {
        "check-acme/fine": {
            "check": "check-acme/fine",
            "status": "ok",
            "message": "config {'bad': False, 'token': 'env/ACME_TOKEN'}, store file",
            "hint": "",
        },
        "check-acme/slow": {
            "check": "check-acme/slow",
            "status": "warn",
            "message": "\x1b[31mslow",
            "hint": "wait",
        },
    }
    assert "NOISE" in said.err
    shown = gert("doctor").out
    assert "\x1b" not in shown
    assert "warn  check-acme/slow  \\u001b[31mslow" in shown
    assert "checks: adds checks to `gert doctor`" in gert("plugins", "show", "check-acme").out
    assert "plugin check-acme (gert-check-acme 1.0) adds checks" in gert("plugins", "why", "checks").out


def test_a_check_that_does_not_answer_has_failed(gert):
    (gert.root / "gert-project.yaml").write_text(PROJECT % "true")
    said = gert("doctor", "--json")
    assert said.code == 1
    assert said.document["level"] is None
    found = checks(said)
    plugin = "plugin check-acme (gert-check-acme 1.0) failed in this check: "
    assert {one["status"] for name, one in found.items() if name[11:] in ("leaves", "raises", "lies")} == {"fail"}
    assert found["check-acme/leaves"]["message"].startswith(f"{plugin}SystemExit: 0 at ")
    assert found["check-acme/lies"]["message"] == f"{plugin}it gave a dict instead of CheckResult"
    assert f"{plugin}KeyError: 'no token <REDACTED:ACME_TOKEN>' at " in found["check-acme/raises"]["message"]
    assert "-p no:gert-check-acme" in found["check-acme/lies"]["hint"]
    assert "Lr01" not in said.all
    assert "Traceback" not in said.all
    assert gert("-p", "no:gert-check-acme", "doctor").code == 0


def test_a_plugin_that_cannot_give_its_checks_has_failed(gert):
    said = gert("doctor", "--json")  # without a project, which it does not expect
    (found,) = [one for one in said.document["checks"] if one["check"] == "check-acme"]
    assert (said.code, found["status"]) == (1, "fail")
    assert "cannot give its checks: AttributeError: 'NoneType' object has no attribute 'config'" in found["message"]


def given(*runs):
    module = ModuleType("hanging")
    module.gert_checks = hookimpl(lambda: [Check(name=f"c{n}", run=run) for n, run in enumerate(runs)])
    module.gert_checks.__name__ = "gert_checks"
    return module


def test_checks_that_hang_are_left_alone(gert_registry, monkeypatch):
    monkeypatch.setattr(runner, "CHECK_SECONDS", 0.3)
    end, told = threading.Event(), []

    def hangs(services):
        while not end.wait(0.05):
            pass

    def stubborn(services):
        while not end.is_set():
            try:
                time.sleep(0.05)
                raise SystemExit
            except BaseException:
                pass

    def waits(services):
        told.append(services.deadline.wait(60))
        return CheckResult(status="ok", message="it was told in time")

    began = time.monotonic()
    found = runner.check_by_plugins(gert_registry(given(hangs, stubborn, waits)), None, {}, None)
    assert time.monotonic() - began < 3, "they wait together"
    end.set()
    assert [one.status for one in found[:2]] == ["fail", "fail"]
    assert found[0].check == "hanging/c0"
    assert "it did not end within 0.3 seconds" in found[0].message
    assert (found[2].status, told) == ("ok", [True]), "the deadline of a check ends with its time"


def test_without_plugins_there_are_none(gert_registry):
    assert runner.check_by_plugins(None, None, {}, None) == []
    assert runner.check_by_plugins(gert_registry(), None, {}, None) == []
