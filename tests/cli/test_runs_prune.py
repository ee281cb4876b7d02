"""``gert runs prune`` deletes runs that ended, ``gert runs cleanup`` ends runs that nothing executes any more."""

from __future__ import annotations

import fcntl
import json
import os
import time
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pytest
from forging import SEED
from gertproc import Gert
from many_runs import ENDINGS, write_run

NOW = datetime.now(UTC)


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


def make(gert: Gert, ending: str | None, *, days: float, **more: object) -> str:
    began = datetime.now(UTC) - timedelta(days=days)  # not when the module was imported: suites take minutes
    run_id = f"{began:%Y%m%dT%H%M%SZ}-{ending or 'killed'}-{len(gert.runs())}"
    write_run(gert.root / "runs", run_id, began=began, ending=ending, **more)
    return run_id


@pytest.fixture
def kept(gert):
    """By ending and age the ids of runs of 1, 10 and 100 days."""
    return {(ending, days): make(gert, ending, days=days) for days in (1, 10, 100) for ending in (*ENDINGS, None)}


def left(gert: Gert) -> set[str]:
    return {path.name for path in gert.runs()}


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        (["--older-than", "5d"], lambda ending, days: ending and days > 5),
        (["--older-than", "50d"], lambda ending, days: ending and days > 50),
        (
            ["--older-than", "5d", "--status", "failed,cancelled"],
            lambda e, days: e in ("failed", "cancelled") and days > 5,
        ),
        (["--older-than", f"{NOW - timedelta(days=50):%Y-%m-%d}"], lambda ending, days: ending and days > 50),
        (["--older-than", "5d", "--keep", "10"], lambda ending, days: ending and days > 50),
        (["--older-than", "1000d"], lambda ending, days: False),
    ],
)
def test_runs_that_ended_are_deleted_and_no_others(gert, kept, words, gone):
    wanted = {run for (ending, days), run in kept.items() if gone(ending, days)}
    said = gert("runs", "prune", *words, "--dry-run")
    assert (said.code, set(said.out.split())) == (0, wanted)
    assert said.err == f"{len(wanted)} runs would be deleted\n"
    assert left(gert) == set(kept.values())
    said = gert("runs", "prune", *words, "--json")
    assert (said.code, set(said.document.pop("pruned"))) == (0, wanted)
    assert left(gert) == set(kept.values()) - wanted
    assert gert("runs", "prune", *words).err == "0 runs deleted\n" or "--keep" in words
    assert not list((gert.root / "runs").glob(".removed-*"))


def test_how_prune_is_called(gert):
    for words, message in (
        ([], "error: --older-than is missing\n  hint: say which runs to delete, for example --older-than 30d\n"),
        (["--older-than", "old"], "error: --older-than takes a time or a moment, not 'old'\n"),
        (
            ["--older-than", "1d", "--status", "running"],
            "error: 'running' is not a list of statuses of runs that ended\n",
        ),
        (["--older-than", "1d", "--status", "interrupted"], "error: 'interrupted' is not a list of statuses"),
    ):
        said = gert("runs", "prune", *words)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith(message)
    said = gert("runs", "prune", "--older-than", "1d")
    assert (said.code, said.out, said.err) == (0, "", "0 runs deleted\n")
    document = gert("runs", "prune", "--older-than", "1d", "--json").document
    assert document == {"pruned": [], "skipped": [], "dry_run": False}


def test_a_run_that_is_resumed_is_not_deleted(gert):
    run = gert.root / "runs" / make(gert, "failed", days=9)
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert gert("runs", "prune", "--older-than", "1d").err == "0 runs deleted\n"
    assert gert("runs", "prune", "--older-than", "1d").err == "1 run deleted\n"
    assert not run.exists()


def test_what_the_index_says_does_not_decide(gert):
    """A trace that was replaced after it was listed: the run is not over any more."""
    run = gert.root / "runs" / make(gert, "failed", days=9)
    time.sleep(0.11)
    gert("runs", "list")
    trace = run / "trace.jsonl"
    before = trace.stat()
    index = gert.root / "runs" / ".index.jsonl"
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:-1]))
    os.utime(trace, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = trace.stat()
    head, line = index.read_text().splitlines()
    old, new = ((s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in (before, after))
    line = line.replace(",".join(map(str, old)), ",".join(map(str, new))) + "\n"
    head = json.loads(head) | {"size": len(line), "checksum": crc32(line.encode())}
    index.write_text(json.dumps(head) + "\n" + line)
    assert gert("runs", "list", "--json").document["runs"][0]["status"] == "failed", "the owner may fool themselves"
    assert gert("runs", "prune", "--older-than", "1d").err == "0 runs deleted\n"
    assert run.exists()


def test_a_broken_run_is_left_and_links_are_not_followed(gert, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("x")
    old = gert.root / "runs" / make(gert, "failed", days=9)
    (old / "attachments").symlink_to(tmp_path / "elsewhere")
    (gert.root / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    (gert.root / "runs" / "broken").mkdir()
    assert gert("runs", "prune", "--older-than", "1d").err == "1 run deleted\n"
    assert left(gert) == {"linked", "broken"}
    assert (tmp_path / "elsewhere" / "precious").exists()


def test_what_a_killed_prune_left_is_deleted(gert):
    rest = gert.root / "runs" / ".removed-x-12345678"
    rest.mkdir(parents=True)
    (rest / "trace.jsonl").write_text("")
    assert gert("runs", "prune", "--older-than", "1d").code == 0
    assert not rest.exists()


def test_life_cleanup_ends_what_nothing_executes_and_skips_leased(gert):
    stale, young = make(gert, None, days=1), make(gert, None, days=0.001)
    leased, over = make(gert, None, days=2), make(gert, "failed", days=2)
    with (gert.root / "runs" / leased / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = gert("runs", "cleanup", "--as", "alice")
    assert (said.code, said.out, said.err) == (0, f"{stale}\n", "1 run ended as stale\n")
    events = [json.loads(line) for line in (gert.root / "runs" / stale / "trace.jsonl").read_text().splitlines()]
    assert [event["type"] for event in events[-2:]] == ["run_resumed", "run_complete"]
    assert (events[-2]["data"]["actor"], events[-2]["data"]["reason"]) == ("alice", "stale")
    assert (events[-1]["data"]["status"], events[-1]["data"]["reason"]) == ("cancelled", "stale")
    assert gert("runs", "verify-ledger", stale).out == "valid\n"
    rows = {row["run_id"]: row["status"] for row in gert("runs", "list", "--json").document["runs"]}
    assert rows == {stale: "cancelled", young: "interrupted", leased: "interrupted", over: "failed"}
    (shown,) = [row for row in gert("runs", "list", "--json").document["runs"] if row["run_id"] == stale]
    assert float(shown["duration"].removesuffix("s")) < 60, "the time without a process is not its"
    document = gert("runs", "cleanup", "--older-than", "1s", "--json").document
    assert (set(document["ended"]), document["skipped"]) == ({young, leased}, [])
    assert gert("runs", "cleanup").err == "0 runs ended as stale\n"
    said = gert("runs", "cleanup", "--older-than", "x")
    assert (said.code, said.err.startswith("error: --older-than: 'x' is not a valid duration")) == (2, True)


def test_life_cleanup_waits_longer_for_a_run_with_an_open_step(gert):
    run = make(gert, None, days=600 / 86400)
    trace = gert.root / "runs" / run / "trace.jsonl"
    whole = trace.read_text()
    trace.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    assert gert("runs", "cleanup").err == "0 runs ended as stale\n"
    trace.write_text(whole)
    assert gert("runs", "cleanup").out == f"{run}\n"


def test_a_torn_end_is_cut_and_counted(gert):
    run = gert.root / "runs" / make(gert, None, days=1)
    with (run / "trace.jsonl").open("a") as trace:
        trace.write('{"type":"step_st')
    assert gert("runs", "cleanup").out == f"{run.name}\n"
    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    assert events[-2]["data"]["torn_bytes"] == 16
    assert gert("runs", "verify-ledger", run.name).code == 0


def test_a_signed_run_without_its_key_is_skipped_and_named(gert):
    signer = {"algorithm": "ed25519", "key_id": "k1", "fingerprint": "f"}
    signed, plain = make(gert, None, days=1, signer=signer), make(gert, None, days=2)
    said = gert("runs", "cleanup")
    assert (said.code, said.out) == (1, f"{plain}\n")
    assert said.err == (
        "1 run ended as stale\n"
        f"skipped: run {signed} is signed (key k1), and no signing key is set now (signing_key_missing)\n"
    )
    document = gert("runs", "cleanup", "--json", GERT_TRACE_SIGNING_KEY=f"ed25519:{SEED}").document
    assert [one["kind"] for one in document["skipped"]] == ["signer_changed"]


def test_a_run_that_was_ended_as_stale_is_resumed(gert):
    gert.write(
        book="apiVersion: kernel/v0\nmeta: {name: b}\ntools: [t]\nsteps:\n"
        "  - {id: a, type: tool, tool: t, action: a}\n  - {type: end, outcome: {category: resolved}}\n",
        tool_t="apiVersion: tool/v0\nmeta: {name: t}\ncontract: {effects: [host], writes: [x], idempotent: true}\n"
        'actions: {a: {argv: [sh, -c, "test -e go || kill -9 $PPID"]}}\n',
    )
    assert gert("exec", "book.yaml").code != 0
    assert gert("runs", "list", "--active", "--ids").out.strip() == gert.run().name
    assert gert("runs", "cleanup", "--older-than", "1ms").out == f"{gert.run().name}\n"
    assert gert("runs", "status", "latest", "--json").document["failure_reason"] == "stale"
    (gert.root / "go").touch()
    assert gert("resume", "latest").code == 0
    assert gert("runs", "verify-ledger", "latest").out == "valid\n"
