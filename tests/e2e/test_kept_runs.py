"""The runs of every version that was released are verified, shown and resumed (``scripts/keep_runs.py`` makes them)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from crash import idempotency_key
from shell import Shell

import gert_core

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "kept_runs"
PLACE = Path("/tmp/gert-kept-runs")
"""Where the runs were made: a run is resumed in the directory it was started in."""
VERSIONS = sorted(path.name for path in DATA.iterdir() if path.is_dir())
KEPT = [(version, name) for version in VERSIONS for name in json.loads((DATA / version / "runs.json").read_text())]
ENVIRON = {
    "GERT_TRACE_SIGNING_KEY": "YSBwdWJsaWMga2V5IGZvciB0aGUgdGVzdHMsIDMyIGI=",
    "GERT_TRACE_SIGNING_KEY_ID": "kept",
}
WRITING = ("both/0/left", "each[n-1]", "each[n%2F2]", "which/0/ship", "last")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/tmp may be a link elsewhere")


class KeptRun(Shell):
    """One run of an old version, back in its place."""

    def __init__(self, version: str, name: str) -> None:
        Shell.__init__(self, PLACE / version)
        shutil.copytree(DATA / version, self.root, dirs_exist_ok=True)
        (self.root / "kept").rename(self.root / "runs")
        facts: dict[str, Any] = json.loads((self.root / "runs.json").read_text())[name]
        self.facts = facts
        self.environ |= {"KEPT_TOKEN": "hunter2hunter2", "USER": "alice"} | {n: ENVIRON[n] for n in facts["environ"]}
        self.path = self.root / "runs" / facts["run"]
        self.trace = self.path / "trace.jsonl"

    def effects(self) -> Counter[str]:
        marks = Counter((self.root / "effects").read_text().split())
        return Counter({key: marks[idempotency_key(self.path.name, key)] for key in WRITING})


@pytest.fixture
def kept(request) -> Iterator[KeptRun]:
    """The run, while no other test uses the directory."""
    version, name = request.param
    PLACE.mkdir(exist_ok=True)
    if PLACE.stat().st_uid != os.getuid():
        pytest.skip(f"{PLACE} belongs to somebody else")
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(PLACE / version, ignore_errors=True)
        (PLACE / version).mkdir()
        yield KeptRun(version, name)
        shutil.rmtree(PLACE / version)


def test_this_version_and_every_released_one_have_their_runs():
    """``nox -s keep_runs`` makes them once, when a version is released."""
    released = re.findall(r"^## (\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert {*released, gert_core.__version__} <= set(VERSIONS)


@pytest.mark.parametrize("kept", KEPT, ids="-".join, indirect=True)
def test_a_kept_run_verifies_is_shown_and_goes_on(kept):
    facts = kept.facts
    verified = kept.json("trace", "verify", str(kept.trace), code=int(facts["verdict"] == "truncated"))
    assert verified["verdict"] == facts["verdict"]
    assert kept.json("runs", "show", kept.path.name)["status"] == facts["status"]
    before, executed = kept.trace.read_bytes(), kept.effects()
    done = kept.json("resume", "--run", kept.path.name, *facts["resume"])
    assert (done["status"], (done["outcome"] or {}).get("code")) == (facts["then"]["status"], facts["then"]["code"])
    whole = before[: before.rfind(b"\n") + 1]
    assert kept.trace.read_bytes().startswith(whole)
    verdict = kept.json("trace", "verify", str(kept.trace))["verdict"]
    assert verdict == ("valid" if facts["environ"] else "unsigned")
    after = kept.effects()
    assert all(after[key] == 1 for key in executed if executed[key]), "a step that writes was executed again"
    if facts["then"]["status"] == "completed":
        assert set(after.values()) == {1}
