"""A copy that is killed leaves a whole run at the other store or none, and can be repeated; a move goes on in one store."""

from __future__ import annotations

import random
import subprocess
import time

import pytest
from gertproc import COMMAND, Gert

from gert_core.api import StoreServices
from gert_core.plugin.lazy import load_target
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.store_lines import event_lines

RUN = "20260101T000000Z-a-1"
LINES = 6000
STORES = {
    "file:other": "gert_core.stores.directory:open_store",
    "sqlite:other.db": "gert_store_sqlite.store:open_store",
}


@pytest.mark.parametrize("move", [False, True])
@pytest.mark.parametrize("target", STORES)
def test_a_copy_that_is_killed_is_repeated(tmp_path, target, move):
    gert, source = Gert(tmp_path), DirectoryStore(tmp_path / "runs")
    end = "approval_pending" if move else "completed"
    lines = [line + b"\n" for line in event_lines(RUN, LINES, end=end)]
    blobs = [("meta.json", b"{}\n"), ("attachments/a", b"x" * 100_000), ("tickets/t1.json", b"{}")]
    source.import_run(RUN, lines=lambda: lines, blobs=lambda: blobs).close()
    words = [*COMMAND, "store", "copy", "file:runs", target, "--run", RUN, *(["--move"] if move else [])]
    warm = [*COMMAND, "store", "copy", "file:runs", "file:warm", *(["--help"] if move else [])]
    began = time.monotonic()
    subprocess.run(warm, cwd=tmp_path, env=gert.environ, capture_output=True, check=True, timeout=120)
    whole = time.monotonic() - began  # how long a command takes here, of which a copy is the last part
    began = time.monotonic()
    chances, killed = random.Random(f"{target}{move}"), 0
    for _ in range(8):
        process = subprocess.Popen(
            words, cwd=tmp_path, env=gert.environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            process.wait(whole * (0.5 + chances.random() / 2))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += process.wait(30) != 0
        with load_target(STORES[target])(target, StoreServices(root=tmp_path)) as store:
            for run_id in store.run_ids():
                assert list(store.open(run_id).lines()) == lines, "the whole run or none"
        if time.monotonic() - began > 40:
            break
    done = subprocess.run(
        words, cwd=tmp_path, env=gert.environ, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        assert "was moved to" in done.stderr, "an attempt was complete before it could be killed"
    with load_target(STORES[target])(target, StoreServices(root=tmp_path)) as store:
        assert list(store.open(RUN).lines()) == lines
        assert sorted(store.open(RUN).names()) == ["attachments/a", "meta.json", "tickets/t1.json"]
        store.tidy()
        assert list(store.run_ids()) == [RUN]
    assert killed, "none was killed, which shows nothing"
    left = [path.name for path in tmp_path.glob("other/.imported*")]
    assert left == [], "what killed processes left is deleted"
    status = gert("runs", "status", RUN, "--json").document["status"]
    assert status == ("moved" if move else "completed")
