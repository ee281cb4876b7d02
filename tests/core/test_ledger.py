"""The ledger: a key is claimed once, whatever processes, crashes and planted files do."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from gert_core.api import Claim, RunError
from gert_core.stores.directory import DirectoryStore
from gert_core.stores.ledger import FileLedger, ledger_key

KEY = ledger_key("approval", "run-1", "act", 0)
RACE = """
import sys
from pathlib import Path
from gert_core.stores.ledger import FileLedger
sys.stdin.read(1)
for number in range(20):
    print(FileLedger(Path(sys.argv[1])).claim(f"{number:02x}" * 32, sys.argv[2], "now").owner == sys.argv[2])
"""


def file(runs, key=KEY):
    return runs / ".ledger" / key[:2] / f"{key}.jsonl"


def test_of_eight_processes_one_wins_each_key(tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), f"p{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(8)
    ]
    for process in started:
        process.stdin.write(b".")
        process.stdin.flush()
    won = [process.communicate(timeout=60)[0].split() for process in started]
    assert [sum(process[number] == b"True" for process in won) for number in range(20)] == [1] * 20


def test_the_owner_claims_again_and_others_do_not(tmp_path):
    ledger = FileLedger(tmp_path)
    assert ledger.claim(KEY, "a", "1") == Claim(owner="a", state="open", at="1")
    assert ledger.claim(KEY, "a", "2").owner == "a"
    assert FileLedger(tmp_path).claim(KEY, "b", "3") == Claim(owner="a", state="open", at="1")
    assert len(file(tmp_path).read_text().splitlines()) == 1, "claiming again writes nothing"


@pytest.mark.parametrize(("state", "next_owner"), [("success", "a"), ("unknown", "a"), ("failed", "b")])
def test_only_what_failed_is_replaced(tmp_path, state, next_owner):
    ledger = FileLedger(tmp_path)
    ledger.claim(KEY, "a", "1")
    assert ledger.settle(KEY, "a", state, "2")
    assert ledger.claim(KEY, "b", "3").owner == next_owner


def test_an_open_claim_is_settled_once_and_by_its_owner(tmp_path):
    ledger = FileLedger(tmp_path)
    assert not ledger.settle(KEY, "a", "success", "1")
    ledger.claim(KEY, "a", "1")
    assert not ledger.settle(KEY, "b", "failed", "2")
    assert ledger.settle(KEY, "a", "failed", "2")
    assert not ledger.settle(KEY, "a", "unknown", "3"), "somebody took it over"
    assert ledger.claim(KEY, "b", "4").owner == "b"
    assert not ledger.settle(KEY, "a", "unknown", "5")
    assert ledger.settle(KEY, "b", "unknown", "6")
    assert not ledger.settle(KEY, "b", "failed", "7"), "it may have been executed, and stays so"


def test_a_line_without_an_end_is_nobodys_claim(tmp_path):
    """Its writer was killed before the claim was on disk, so nothing was done for it."""
    ledger = FileLedger(tmp_path)
    ledger.claim(KEY, "a", "1")
    whole = file(tmp_path).read_bytes()
    for end in range(len(whole)):
        file(tmp_path).write_bytes(whole[:end])
        assert FileLedger(tmp_path).claim(KEY, "b", "2").owner == "b"
        assert [json.loads(line)["owner"] for line in file(tmp_path).read_text().splitlines()] == ["b"]


@pytest.mark.parametrize("damage", ["text", "type", "state", "large", "link", "pipe", "names", "directory", "linked"])
def test_a_damaged_ledger_gives_no_claim(tmp_path, damage):
    ledger = FileLedger(tmp_path)
    ledger.claim(KEY, "a", "1")
    path = file(tmp_path)
    if damage in ("text", "type", "state"):
        path.write_text(
            {"text": "hello\n", "type": '{"owner": 1}\n', "state": '{"owner": "a", "state": "x"}\n'}[damage]
        )
    elif damage == "large":
        os.truncate(path, 1 << 40)
    elif damage == "names":
        os.link(path, tmp_path / "other")
    elif damage == "linked":
        (tmp_path / ".ledger").rename(tmp_path / "moved")
        (tmp_path / ".ledger").symlink_to("moved")
    else:
        path.unlink()
        other = tmp_path / "other"
        other.write_text("")
        {"link": lambda: path.symlink_to(other), "pipe": lambda: os.mkfifo(path), "directory": path.mkdir}[damage]()
    with pytest.raises(RunError, match=r"the ledger of executions cannot be used: .*\.ledger") as caught:
        ledger.claim(KEY, "b", "2")
    assert caught.value.kind == "ledger"
    assert not (tmp_path / "other").exists() or damage == "names" or (tmp_path / "other").read_text() == ""


def test_it_is_private_and_shared_where_the_runs_are(tmp_path):
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir(mode=0o755)
    shared.mkdir()
    shared.chmod(0o2770)
    for runs, modes in ((private, (0o700, 0o700, 0o600)), (shared, (0o2770, 0o2770, 0o660))):
        FileLedger(runs).claim(KEY, "a", "1")
        path = file(runs)
        assert tuple(p.stat().st_mode & 0o7777 for p in (path.parent.parent, path.parent, path)) == modes


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_the_ledger_of_another_user_gives_no_claim(tmp_path):
    FileLedger(tmp_path).claim(KEY, "a", "1")
    os.chown(tmp_path / ".ledger", 65534, 65534)
    with pytest.raises(RunError, match="belongs to user nobody"):
        FileLedger(tmp_path).claim(KEY, "a", "1")


def test_it_is_not_a_run(tmp_path):
    FileLedger(tmp_path).claim(KEY, "a", "1")
    assert list(DirectoryStore(tmp_path).run_ids()) == []
