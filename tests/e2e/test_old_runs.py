"""Runs that an early gert 0.1 left behind are verified, shown and resumed (tests/data/runs_0_1)."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from shell import Shell, chain_is_whole

OLD = Path(__file__).parents[1] / "data" / "runs_0_1"
PENDING, SIGNED, ELSEWHERE, INTERRUPTED = ("05785144", "10bec743", "d9a98eb3", "d055b5b3")
KEY = {
    "GERT_TRACE_SIGNING_KEY": base64.b64encode(b"an old and public test key, 32b!").decode(),
    "GERT_TRACE_SIGNING_KEY_ID": "desk",
}


class Desk(Shell):
    """The old files in a directory of their own, at a path that they have never seen."""

    def __post_init__(self) -> None:
        Shell.__post_init__(self)
        shutil.copytree(OLD, self.root, dirs_exist_ok=True)
        (self.root / "kept").rename(self.root / "runs")
        for meta in self.root.glob("runs/*/meta.json"):
            meta.write_text(meta.read_text().replace("@HERE@", str(self.root)))
        self.environ["DESK_TOKEN"] = "hunter2hunter2"

    def run(self, end: str) -> Path:
        return next(self.root.glob(f"runs/*-{end}"))

    def approve(self, end: str, **environ: str) -> None:
        """Approve what waits; tickets of 0.1 cover less than tickets do now, so a resume requests it anew."""
        (old,) = (self.run(end) / "tickets").glob("*.json")
        refused = self.gert("approve", old.stem, "--as", "alice", code=1).stderr
        assert "was requested by an earlier version of gert" in refused
        pending = self.json("resume", "--run", self.run(end).name, **environ)["pending"]
        (ticket,) = [one["ticket_id"] for one in pending]
        assert ticket != old.stem
        self.gert("approve", ticket, "--as", "alice")


@pytest.fixture
def desk(tmp_path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("end", "environ", "code", "verdict"),
    [
        (PENDING, {}, 0, "unsigned"),
        (SIGNED, KEY, 0, "valid"),
        (SIGNED, {}, 1, "no_key"),
        (ELSEWHERE, {}, 0, "unsigned"),
        (INTERRUPTED, {}, 1, "truncated"),
    ],
)
def test_an_old_trace_verifies(desk, end, environ, code, verdict):
    trace = desk.root / "desk.jsonl" if end == ELSEWHERE else desk.run(end) / "trace.jsonl"
    assert desk.json("trace", "verify", str(trace), code=code, **environ)["verdict"] == verdict


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (PENDING, "approval_pending"),
        (SIGNED, "approval_pending"),
        (ELSEWHERE, "completed"),
        (INTERRUPTED, "interrupted"),
    ],
)
def test_an_old_run_is_listed_and_shown(desk, end, status):
    run = desk.run(end).name
    shown = desk.json("runs", "show", run)
    assert (shown["run_id"], shown["runbook"], shown["status"]) == (run, "restart-service", status)
    first = {name: shown["steps"][0][name] for name in ("step_key", "step_id", "type", "status", "waited")}
    assert first == {"step_key": "look", "step_id": "look", "type": "tool", "status": "success", "waited": None}
    assert {entry["run_id"]: entry["status"] for entry in desk.json("runs", "list")["runs"]}[run] == status
    assert "restart-service" in desk.gert("runs", "show", run).stdout


@pytest.mark.parametrize(("end", "environ"), [(PENDING, {}), (SIGNED, KEY)])
def test_an_old_pending_run_goes_on_after_its_approval(desk, end, environ):
    run = desk.run(end)
    before = (run / "trace.jsonl").read_bytes()
    desk.approve(end, **environ)
    done = desk.json("resume", "--run", run.name, **environ)
    assert (done["status"], done["outcome"]["code"]) == ("completed", "restarted")
    assert [step["step_key"] for step in done["steps"]] == ["look", "restart", "again", "check", "done"]
    assert (run / "trace.jsonl").read_bytes().startswith(before)
    assert chain_is_whole(run / "trace.jsonl")
    desk.gert("trace", "verify", str(run / "trace.jsonl"), **environ)


def test_an_old_signed_run_does_not_go_on_unsigned(desk):
    said = desk.gert("resume", "--run", desk.run(SIGNED).name, code=1).stderr
    assert "is signed (key desk)" in said


def test_an_old_run_needs_its_meta_file(desk):
    run = desk.run(INTERRUPTED)
    (run / "meta.json").unlink()
    said = desk.gert("resume", "--run", run.name, code=1).stderr
    assert "meta.json is missing or empty; cannot determine the runbook to resume" in said


def test_an_old_interrupted_run_goes_on_where_it_stopped(desk):
    run = desk.run(INTERRUPTED)
    done = desk.json("resume", "--run", run.name)
    assert (done["status"], done["outcome"]["code"]) == ("completed", "restarted")
    attempts = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    assert [e["step_key"] for e in attempts if e["type"] == "step_attempt"] == ["again"]
    assert chain_is_whole(run / "trace.jsonl")


def test_an_old_finished_run_shows_its_result_and_executes_nothing(desk):
    before = (desk.root / "desk.jsonl").read_bytes()
    done = desk.json("resume", "--run", desk.run(ELSEWHERE).name)
    assert (done["status"], done["outcome"]["meta"]) == ("completed", {"host": "web-1"})
    assert done["trace"] == str(desk.root / "desk.jsonl")
    assert (desk.root / "desk.jsonl").read_bytes() == before


def test_an_old_run_keeps_to_the_policies_it_began_with(desk):
    desk.approve(PENDING)
    policy = desk.root / "policy.yaml"
    policy.write_text(policy.read_text().replace("deny", "require-approval"))
    said = desk.gert("resume", "--run", desk.run(PENDING).name, code=1).stderr
    assert "policy.yaml changed since the run started" in said
