"""Small runbooks of which people are told, and what their runs owe: for tests of notifications and of watched runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from gertproc import COMMAND, Gert

from gert_core.hosting import deliveries, flushing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check, inputs: { host: { type: string, default: web-1 } } }
steps:
  - { type: end, outcome: { category: escalated, code: disk_full, meta: { host: "{{ .host }}" } } }
"""
PROJECT = """\
name: ops
notify:
  - { on: [escalated, failed, error, approval_pending], webhook: env/HOOK }
"""


def script_tool(script: str, *, name: str = "sh") -> str:
    """The file of a tool that runs a shell script."""
    return f"""\
apiVersion: tool/v0
meta: {{ name: {name} }}
contract: {{ effects: [host], idempotent: true }}
actions: {{ run: {{ argv: [sh, -c, "{script}"] }} }}
"""


def looking_book(name: str, *, tool: str = "sh", category: str = "resolved", code: str = "fine", meta: str = "") -> str:
    """A runbook that looks with a tool, and then ends; ``meta`` are further fields of it in flow style."""
    return f"""\
apiVersion: kernel/v0
meta: {{ name: {name}{meta} }}
tools: [{tool}]
steps:
  - {{ id: look, type: tool, tool: {tool} }}
  - {{ type: end, outcome: {{ category: {category}, code: {code} }} }}
"""


def notified(root: Path) -> Gert:
    """A directory with a runbook that escalates, in a project that tells of that."""
    made = Gert(root)
    made.write(book=BOOK)
    (root / "gert-project.yaml").write_text(PROJECT)
    return made


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Deliver at another time of day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deliveries, "now", lambda: moment)
        patch.setattr(flushing, "now", lambda: moment)
        yield


def kill(gert: Gert, *argv: str, when: Callable[[], object], **environ: str) -> None:
    """Start gert and kill it as soon as something is so."""
    process = subprocess.Popen(
        [*COMMAND, *argv],
        cwd=gert.root,
        env=gert.environ | environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 30
        while not when() and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.01)
        assert when()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def owed(gert: Gert, *words: str) -> list[dict[str, Any]]:
    """What `gert notify list` shows."""
    found: list[dict[str, Any]] = gert("notify", "list", *words, "--json").document["notifications"]
    return found


def outbox(gert: Gert, run_id: str) -> dict[str, Any]:
    """By notification what its last record says."""
    place = gert.root / "runs" / run_id / "notifications"
    return {
        path.parent.name: json.loads(path.read_text())
        for path in sorted(place.glob("*/*.json"), key=lambda path: int(path.stem))
    }


__all__ = ["BOOK", "PROJECT", "at", "kill", "looking_book", "notified", "outbox", "owed", "script_tool"]
