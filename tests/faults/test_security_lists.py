"""What a planted index can make of the list of runs: rows of wrong types are dropped, and nothing but lists believes the others."""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: { name: fix }
steps:
  - { type: end, outcome: { category: resolved, code: fixed } }
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK)
    with made:
        assert made("exec", "book.yaml").code == 0
        time.sleep(0.12)  # what was written only now is not remembered
        yield made


def plant(gert, **changes):
    """Change the one row of the index; the stamp of its files and the digest stay right."""
    index = gert.root / "runs" / ".index.jsonl"
    index.unlink(missing_ok=True)
    assert gert("runs", "list").code == 0
    stamp, row = json.loads(index.read_text().splitlines()[1])
    line = json.dumps([stamp, row | changes]) + "\n"
    head = {"format": 1, "size": len(line), "digest": sha256(line.encode()).hexdigest()}
    index.write_text(json.dumps(head) + "\n" + line)


@pytest.mark.parametrize(
    "changes",
    [
        {"blocked_on": [{}]},
        {"blocked_on": [{"kind": "answer"}]},
        {"blocked_on": [{"key": "k"}]},
        {"blocked_on": [{"kind": "answer", "key": "k", "more": "x"}]},
        {"blocked_on": [{"kind": 5, "key": "k"}]},
        {"blocked_on": 5},
        {"status": None},
        {"last_seq": "x"},
        {"mode": ["real"]},
    ],
)
def test_a_planted_row_of_a_wrong_type_is_dropped_and_made_anew(gert, changes):
    plant(gert, **changes)
    said = gert("runs", "list")
    assert (said.code, said.err) == (0, "")
    assert "resolved" in said.out
    (row,) = gert("runs", "list", "--json").document["runs"]
    assert (row["status"], row["blocked_on"], row["mode"]) == ("completed", [], "real")
    again = json.loads((gert.root / "runs" / ".index.jsonl").read_text().splitlines()[1])[1]
    assert again["status"] == "completed", "and it is written anew"
    assert not again["blocked_on"]


def test_an_index_of_the_same_user_lies_to_lists_only(gert):
    plant(gert, status="failed", outcome=None, finished="2020-01-01T00:00:00Z")
    (row,) = gert("runs", "list", "--json").document["runs"]
    assert row["status"] == "failed", "the page says that it can"
    run = gert.run()
    assert gert("runs", "status", run.name, "--json").document["status"] == "completed"
    assert gert("runs", "show", run.name, "--json").document["status"] == "completed"
    assert "resolved" in gert("trace", "show", os.fspath(run / "trace.jsonl")).out
    assert gert("runs", "prune", "--older-than", "30d").code == 0
    assert run.exists(), "its trace says when it ended"
    (run.parent / ".index.jsonl").unlink()
    (row,) = gert("runs", "list", "--json").document["runs"]
    assert row["status"] == "completed"
