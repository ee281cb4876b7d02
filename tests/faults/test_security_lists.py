"""What a planted index or cache can make of lists of runs: rows of wrong types are dropped, and nothing but lists believes others."""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256
from zlib import crc32

import msgspec
import pytest
from forging import rewrite
from gertproc import Gert
from msgspec.structs import replace
from people import BOOK as ASKING
from people import TOOL
from users import NOBODY

from gert_core.api.store_records import RunQuery
from gert_core.stores.directory import DirectoryStore
from gert_core.stores.index import Index, stamp_of

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
    assert made("exec", "book.yaml").code == 0
    time.sleep(0.12)  # what was written only now is not remembered
    return made


def plant(gert, **changes):
    """Change the one row of the index; the stamp of its files and the checksum stay right."""
    index = gert.root / "runs" / ".index.jsonl"
    index.unlink(missing_ok=True)
    assert gert("runs", "list").code == 0
    head, (stamp, values) = map(json.loads, index.read_text().splitlines())
    row = dict(zip(head["fields"], values, strict=True)) | changes
    line = json.dumps([stamp, list(row.values())]) + "\n"
    head |= {"size": len(line), "checksum": crc32(line.encode())}
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
    head, (_, values) = map(json.loads, (gert.root / "runs" / ".index.jsonl").read_text().splitlines())
    again = dict(zip(head["fields"], values, strict=True))
    assert (again["status"], again["blocked_on"]) == ("completed", []), "and it is written anew"


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


def plant_cache(gert, edit):
    """Change the cached state of the one run; its stamp and digest stay right."""
    file = gert.run() / "state.json"
    cache = msgspec.json.decode(file.read_bytes())
    edit(cache)
    parts = {name: msgspec.Raw(msgspec.json.encode(cache[name])) for name in ("state", "steps", "void")}
    digest = sha256(b"".join(bytes(part) + b"\n" for part in parts.values())).hexdigest()
    file.write_bytes(msgspec.json.encode({**cache, "digest": digest, **parts}))


def test_a_cache_of_the_same_user_lies_to_lists_only(tmp_path):
    gert = Gert(tmp_path)
    rules = "governance: {rules: [{effects: [danger], action: require-approval}]}"
    gert.write(tool_act=TOOL, book=ASKING.replace("meta: {name: people}", f"meta: {{name: people, {rules}}}"))
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    run = gert.run()

    def over(cache):
        outcome = {"category": "resolved", "code": "acted", "meta": {}}
        cache["state"] |= {"status": "completed", "outcome": outcome, "finished": "2020-01-01T00:00:00Z", "holds": []}
        cache["steps"][0]["status"] = "success"

    plant_cache(gert, over)
    (row,) = gert("runs", "list", "--json").document["runs"]
    assert row["status"] == "completed", "the page says that it can"
    assert gert("runs", "status", run.name, "--json").document["status"] == "approval_pending"
    assert gert("runs", "progress", run.name, "--json").document["status"] != "completed"
    shown = gert("runs", "show", run.name, "--json").document
    assert (shown["status"], shown["outcome"]) == ("approval_pending", None)
    assert [step["status"] for step in shown["steps"]] != ["success"]
    assert gert("runs", "prune", "--older-than", "30d").code == 0
    assert run.exists(), "its trace says that it waits"
    (run.parent / ".index.jsonl").unlink(missing_ok=True)
    (run / "state.json").unlink()
    (row,) = gert("runs", "list", "--json").document["runs"]
    assert row["status"] == "approval_pending"


def plant_waiting(gert, **changes):
    """Write an index with a row for a run that waits, as gert itself never does."""
    (gert.root / "runs" / ".index.jsonl").unlink(missing_ok=True)
    (row,) = DirectoryStore(gert.root / "runs").runs(RunQuery())
    index = Index(gert.root / "runs")
    place = os.open(gert.root / "runs", os.O_RDONLY)
    index.add(replace(row, **changes), stamp_of(gert.run().name, place))
    os.close(place)
    index.save(complete=True)
    (listed,) = gert("runs", "list", "--mode", "real,dry-run", "--json").document["runs"]
    assert {name: listed[name] for name in changes if name in ("status", "mode")} == {
        name: value for name, value in changes.items() if name in ("status", "mode")
    }, "the list believes it"


@pytest.mark.parametrize(
    "lie",
    [
        {"status": "completed", "blocked_on": (), "finished": "2020-01-01T00:00:00Z"},
        {"status": "interrupted", "blocked_on": ()},
        {"status": "running"},
        {"mode": "dry-run"},
    ],
)
def test_nothing_is_answered_resumed_or_verified_by_the_index(tmp_path, lie):
    gert = Gert(tmp_path)
    rules = "governance: {rules: [{effects: [danger], action: require-approval, exclude_actor: false}]}"
    gert.write(tool_act=TOOL, book=ASKING.replace("meta: {name: people}", f"meta: {{name: people, {rules}}}"))
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    run = gert.run()
    time.sleep(0.12)
    plant_waiting(gert, **lie)
    (entry,) = gert("approvals", "list", "--json").document["approvals"]
    ticket = entry["request"]
    assert ticket["run_id"] == run.name
    assert gert("runs", "status", run.name, "--json").document["status"] == "approval_pending"
    assert gert("runs", "verify-ledger", run.name).out == "valid\n"
    assert gert("trace", "verify", os.fspath(run / "trace.jsonl")).code == 0
    assert gert("runs", "prune", "--older-than", "1d").code == 0
    gert("runs", "cleanup", "--older-than", "1s")
    assert gert("runs", "show", run.name, "--json").document["status"] == "approval_pending"
    assert gert("resume", "--run", run.name, "--json").document["status"] == "approval_pending"
    assert not (gert.root / "acted").exists()
    plant_waiting(gert, **lie)
    assert gert("approve", ticket["ticket_id"], "--as", "ann").code == 0
    assert gert("resume", "latest", "--json").document["status"] == "completed"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_deletes_no_rest_of_a_run_of_another_user(gert):
    """Anybody could call a directory of theirs like one that is being deleted; in a link's place it stays as well."""
    runs = gert.root / "runs"
    theirs, ours = runs / ".removed-x-12345678", runs / ".removed-y-12345678"
    for rest in (theirs, ours):
        rest.mkdir()
        (rest / "kept").write_text("x")
    for path in (theirs, theirs / "kept"):
        os.chown(path, NOBODY, NOBODY)
    assert gert("runs", "prune", "--older-than", "30d").code == 0
    assert (theirs / "kept").exists()
    assert not ours.exists()


@pytest.mark.parametrize("time", ["infs", "nans", "1e308s"])
def test_a_time_without_an_end_in_a_trace_ends_no_command(gert, time):
    def edit(events):
        for event in events:
            if event["type"] in ("run_complete", "step_complete"):
                event["data"] |= {"duration": time, "waited": time, "active": time}
        return events

    rewrite(gert, edit)
    run = gert.run().name
    for words in (["runs", "show", run], ["runs", "show", run, "--json"], ["runs", "list"], ["runs", "status", run]):
        said = gert(*words)
        assert (said.code, "internal" in said.all, "Infinity" in said.out, "NaN" in said.out) == (0, *[False] * 3), (
            said.all
        )
