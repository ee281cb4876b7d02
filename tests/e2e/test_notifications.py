"""People are told how runs end and what they wait for: through real servers on loopback, in every store."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

from gert_core.testing.receivers import Receiver

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


@pytest.fixture
def gert(tmp_path):
    with Gert(tmp_path) as made:
        made.write(book=BOOK)
        (tmp_path / "gert-project.yaml").write_text(PROJECT)
        yield made


@pytest.mark.parametrize("store", ["file:runs", "sqlite:runs.db"])
def test_the_outcome_is_posted_after_the_result_is_printed(gert, store):
    with Receiver() as receiver:
        said = gert("exec", "book.yaml", "--json", "--store", store, HOOK=receiver.url("/in?token=s3cr3t-token"))
    assert said.code == 0, said.all
    (got,) = receiver.got
    result = said.document
    assert got.document == {
        "runbook": "disk-check",
        "run_id": result["run_id"],
        "outcome": {"category": "escalated", "code": "disk_full", "meta": {"host": "web-1"}},
        "duration": result["duration"],
        "trace": got.document["trace"],
        "timestamp": got.document["timestamp"],
        "event": "escalated",
        "status": "completed",
        "failure": None,
        "pending": [],
        "next": [],
        "url": None,
        "text": f"disk-check: escalated (disk_full)\nrun {result['run_id']}, {result['duration']}",
    }
    assert got.headers["content-type"] == "application/json"
    start = json.loads(gert("runs", "tail", result["run_id"], "--json", "--store", store).out.splitlines()[0])
    (rule,) = start["data"]["notify"]
    source = f"{gert.root / 'gert-project.yaml'}#notify/0/webhook"
    assert {**rule, "sha256": ""} == {
        "on": ["escalated", "failed", "error", "approval_pending"],
        "notifier": "webhook",
        "source": source,
        "sha256": "",
    }
