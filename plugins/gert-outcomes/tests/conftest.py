"""A directory with runs that the tests write, in which ``gert outcomes`` is called."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from gert_core.cli import main

NUMBERS = count(1)


class Said:
    """What a call printed, and its exit code."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def document(self):
        assert self.code == 0, self.err
        return json.loads(self.out)


class Project:
    """A directory; ``project("--json")`` calls ``gert outcomes --json`` there."""

    def __init__(self, root, capsys):
        self.root, self._capsys = root, capsys

    def __call__(self, *words, verb="outcomes"):
        self._capsys.readouterr()
        code = main([verb, *words])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(code, said.out, said.err)

    def run(
        self,
        outcome="resolved",
        code="",
        *,
        status="completed",
        runbook="health",
        ago=timedelta(minutes=5),
        began=None,
        duration=1.0,
        waited=None,
        actor="alice",
        mode="real",
        steps=(),
        to=None,
    ):
        """Write a run; return its id."""
        began = began or datetime.now(UTC) - ago
        run_id = f"{began:%Y%m%dT%H%M%SZ}-book-{next(NUMBERS):08x}"
        events = [("run_start", None, {"runbook": runbook, "mode": mode, "actor": actor, "inputs": {}})]
        for key, type_, result, taken, asked in steps:
            named = {"step_id": key.rpartition("/")[2].partition("[")[0], "type": type_}
            summary = {"effects": ["host"], "writes": [], "writing": False, "idempotent": True}
            more = {} if result != "failed" else {"failure": {"kind": "exit_code", "message": "boom"}}
            more |= {} if asked is None else {"waited": f"{asked:.3f}s"}
            if result != "skipped":
                events.append(("step_start", key, {**named, "idempotency_key": key, "contract_summary": summary}))
            done = {**named, "status": result, "outputs": {}, "duration": f"{taken:.3f}s", **more}
            events.append(("step_complete", key, done))
        end = {"status": status, "duration": f"{duration:.3f}s"}
        end |= {} if waited is None else {"waited": f"{waited:.3f}s"}
        if status == "completed" and outcome is not None:
            end["outcome"] = {"category": outcome, "code": code, "meta": {}}
        if status == "failed":
            failure = {"step_key": "a", "step_id": "a", "status": "failed", "kind": "exit_code", "message": "boom"}
            end |= {"failure": failure, "failing": ["a"]}
        if status == "approval_pending":
            events.append(("run_suspended", None, {**end, "tickets": ["t1"]}))
        elif status != "running":
            events.append(("run_complete", None, end))
        lines = [
            json.dumps(
                {
                    "type": type_,
                    "timestamp": f"{began:%Y-%m-%dT%H:%M:%S.%fZ}",
                    "run_id": run_id,
                    "seq": number,
                    **({} if key is None else {"step_key": key}),
                    "data": data,
                    "prev_hash": "0" * 64,
                },
                separators=(",", ":"),
            )
            for number, (type_, key, data) in enumerate(events, 1)
        ]
        text = "\n".join(lines) + "\n"
        if to is not None:
            to.parent.mkdir(exist_ok=True)
            to.write_text(text)
            return run_id
        path = self.root / "runs" / run_id
        path.mkdir(mode=0o700, parents=True)
        (path / "meta.json").write_text("{}\n")
        (path / "trace.jsonl").write_text(text)
        return run_id


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("GERT_STORE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Project(tmp_path, capsys)
