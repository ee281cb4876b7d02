"""df and ps for real, systemctl and journalctl with whatever the machine has, and the words they all get."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import gert_tools_system
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs, path_with


class TestPack(ToolPackConformance):
    plugin = gert_tools_system
    books = Path(__file__).parent / "books"


@pytest.fixture
def run(gert_run):
    gert_run.environ = {"PATH": os.environ["PATH"], "LC_ALL": "de_DE.UTF-8"}
    return gert_run


@pytest.fixture
def instead(gert_run, tmp_path):
    """Calls a stand-in of the program and returns the words it got."""

    def words(tool, action, inputs=None, stdout=""):
        stand_in = StandIn.make(tmp_path / "bin", tool, stdout=stdout)
        gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        ran = call(gert_run, f"system/{tool}", action, inputs)
        ran.assert_outcome("resolved")
        return ran, stand_in.calls[-1]["argv"]

    return words


def test_how_full_a_file_system_is(run, tmp_path):
    ran = call(run, "system/df", "usage", {"path": str(tmp_path)})
    ran.assert_outcome("resolved")
    got, real = outputs(ran), shutil.disk_usage(tmp_path)
    assert abs(got["size_kb"] * 1024 - real.total) < max(real.total * 0.02, 2**20)
    assert 0 <= got["used_percent"] <= 100
    assert str(tmp_path.resolve()).startswith(got["mount"].rstrip("/"))


def test_a_path_that_is_not_there_or_looks_like_an_option(run):
    call(run, "system/df", "usage", {"path": "/no/such/path"}).assert_failed("exit_code")
    call(run, "system/df", "usage", {"path": "--help"}).assert_failed("exit_code")


def test_this_very_process(run, tmp_path):
    line = f"{os.getpid()} {os.getppid()} me 0.0 0.1 00:01 python\n"
    run.environ["PATH"] = path_with(tmp_path / "bin", "ps", stdout=line)
    got = outputs(call(run, "system/ps", "show", {"pid": os.getpid()}))
    assert got["ppid"] == os.getppid()
    assert "python" in got["program"].lower() or "pytest" in got["program"].lower()
    assert 0 <= got["memory_percent"] <= 100
    everybody = outputs(call(run, "system/ps", "list"))["processes"]
    assert any(row.split()[0] == str(os.getpid()) for row in everybody.splitlines())


def test_a_process_that_is_not_there(run, tmp_path):
    run.environ["PATH"] = path_with(tmp_path / "bin", "ps", exit_code=1)
    call(run, "system/ps", "show", {"pid": 999_999_999}).assert_failed("exit_code")


def test_a_unit_that_is_not_there_is_an_answer_where_systemd_runs(run, tmp_path):
    told = "LoadState=not-found\nActiveState=inactive\nSubState=dead\nResult=success\nMainPID=0\n"
    run.environ["PATH"] = path_with(tmp_path / "bin", "systemctl", stdout=told)
    ran = call(run, "system/systemctl", "show", {"unit": "no-such-unit-here.service"})
    if ran.status == "completed":
        assert (outputs(ran)["load_state"], outputs(ran)["active_state"]) == ("not-found", "inactive")
    else:
        ran.assert_failed("exit_code")


def test_the_journal_can_be_asked(run, tmp_path):
    run.environ["PATH"] = path_with(tmp_path / "bin", "journalctl")
    ran = call(run, "system/journalctl", "errors", {"lines": 5})
    assert ran.status in ("completed", "failed")
    if ran.status == "completed":
        assert len(outputs(ran)["log"].splitlines()) <= 5


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_changing_a_service(instead, action):
    ran, words = instead("systemctl", action, {"unit": "--now"})
    assert words == [action, "--no-ask-password", "--", "--now"]
    decision = ran.of("governance_decision", "call")[0]
    assert decision["risk_level"] == ("critical" if action == "restart" else "medium")


def test_looking_at_services(instead):
    state = "LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nMainPID=0\n"
    ran, words = instead("systemctl", "show", {"unit": "-H"}, stdout=state)
    assert words[-2:] == ["--", "-H"]
    assert outputs(ran)["result"] == "exit-code"
    ran, words = instead("systemctl", "failed", stdout="a.service loaded failed failed A\n")
    assert words == ["list-units", "--state=failed", "--plain", "--no-legend", "--no-pager", "--full"]
    assert outputs(ran)["units"].startswith("a.service")


def test_reading_the_journal(instead):
    _, words = instead("journalctl", "unit", {"unit": "--rotate", "since": "-5min"}, stdout="a line\n")
    assert words[-3:] == ["--unit=--rotate", "--since=-5min", "--lines=200"]
    _, words = instead("journalctl", "errors", {"since": "--vacuum-size=1"})
    assert words[-3:] == ["--priority=err", "--since=--vacuum-size=1", "--lines=200"]


def test_the_words_df_and_ps_get_are_posix(instead):
    table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 10 5 5 50% /\n"
    _, words = instead("df", "usage", {"path": "/"}, stdout=table)
    assert words == ["-P", "-k", "--", "/"]
    _, words = instead("ps", "list")
    assert words[:3] == ["-A", "-o", "pid="]
    _, words = instead("ps", "show", {"pid": 7}, stdout="7 1 root 0.0 0.1 00:01 init\n")
    assert words[-2:] == ["-p", "7"]
