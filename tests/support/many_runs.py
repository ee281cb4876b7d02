"""Writes directories with many runs quickly: real traces, without the engine and without syncs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from typing import TYPE_CHECKING

from forging import chain

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ENDINGS = ("resolved", "escalated", "no_action", "failed", "cancelled")
"""Categories of outcomes, and statuses of runs that have none."""


def write_run(
    root: Path,
    run_id: str,
    *,
    runbook: str = "many",
    began: datetime | None = None,
    ending: str | None = "resolved",
    steps: int = 1,
    **facts: object,
) -> Path:
    """Write a run that ended (None: one that was killed), and return its directory."""
    began = began or datetime.now(UTC)
    moments = (f"{(began + timedelta(seconds=n)):%Y-%m-%dT%H:%M:%S.%fZ}" for n in range(10_000))

    def event(type_: str, data: dict, key: str | None = None) -> dict:
        named = {} if key is None else {"step_key": key}
        return {"type": type_, "timestamp": next(moments), "run_id": run_id, "seq": 0, **named, "data": data}

    start = {"runbook": runbook, "mode": "real", "actor": "alice", "inputs": {}, **facts}
    events = [event("run_start", start)]
    for number in range(steps):
        key, named = f"s{number}", {"step_id": f"s{number}", "type": "tool"}
        summary = {"effects": ["host"], "writes": [], "writing": False, "idempotent": True}
        events.append(event("step_start", {**named, "idempotency_key": key, "contract_summary": summary}, key))
        events.append(event("step_complete", {**named, "status": "success", "outputs": {}, "duration": "0.001s"}, key))
    if ending in ("failed", "cancelled"):
        failure = {"step_key": "s0", "step_id": "s0", "status": "failed", "kind": "exit_code", "message": "boom"}
        more = {"failure": failure, "failing": ["s0"]} if ending == "failed" else {"reason": "SIGINT"}
        events.append(event("run_complete", {"status": ending, **more, "duration": "1.000s"}))
    elif ending is not None:
        outcome = {"category": ending, "code": f"c-{ending}", "meta": {}}
        events.append(event("run_complete", {"status": "completed", "outcome": outcome, "duration": "1.000s"}))
    path = root / run_id
    path.mkdir(mode=0o700, parents=True)
    (path / "meta.json").write_text(json.dumps({"run_id": run_id, "runbook_path": "/nowhere/many.yaml"}))
    (path / "trace.jsonl").write_text(chain(events))
    return path


def write_runs(root: Path, number: int, *, endings: Iterable[str | None] = ENDINGS) -> list[str]:
    """Write this many runs, a minute apart, the last of them now; return their ids, the newest first."""
    now = datetime.now(UTC).replace(microsecond=0)
    ids = []
    for index, ending in zip(range(number), islice(cycle(endings), number), strict=True):
        began = now - timedelta(minutes=number - index)
        name = f"book{index % 3}"
        run_id = f"{began:%Y%m%dT%H%M%SZ}-{name}-{index:08x}"
        write_run(root, run_id, runbook=name, began=began, ending=ending)
        ids.append(run_id)
    return ids[::-1]


__all__ = ["ENDINGS", "write_run", "write_runs"]
