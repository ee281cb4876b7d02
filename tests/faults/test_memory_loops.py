"""Memory: a loop of a hundred thousand items is run, listed and resumed within 200 MB, and read once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

MEGABYTE = 1024 * 1024
PER_ITEM = 1_600
"""What an item may cost in bytes, so that a hundred thousand of them fit into 200 MB beside gert itself."""
BOOK = """\
apiVersion: kernel/v0
meta: { name: many, inputs: { hosts: { type: list } } }
steps:
  - id: check
    type: assert
    for_each: { over: "{{ .hosts }}", as: host MORE }
    assert: [ { type: matches, value: "{{ .host }}", pattern: "^web" } ]
  - { id: done, type: end, outcome: { category: resolved, code: ok } }
"""
MEASURED = """\
import sys
from gert_core.cli import main
code = main(sys.argv[2:])
with open("/proc/self/status") as status, open("/proc/self/io") as io, open(sys.argv[1], "w") as out:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    read = next(line.split()[1] for line in io if line.startswith("rchar"))
    print(code, peak, read, file=out)
"""
"""The process asks for itself: what its parent hears of it includes the parent's own memory."""


class Used(NamedTuple):
    """What one process needed, in bytes: memory at its peak, and what it read from files."""

    peak: int
    read: int


class Loop:
    """A directory with one run over many items."""

    def __init__(self, root: Path, items: int, more: str = "") -> None:
        root.mkdir()
        self.root = root
        (root / "book.yaml").write_text(BOOK.replace("MORE", more))
        (root / "inputs.json").write_text(json.dumps({"hosts": [f"web-{n}" for n in range(items)]}))

    def gert(self, *argv: str) -> Used:
        said = subprocess.run(
            [sys.executable, "-c", MEASURED, "used", *argv],
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            timeout=600,
        )
        code, peak, read = (self.root / "used").read_text().split()
        assert code == "0", said.stderr[-2000:]
        return Used(int(peak) * 1024, int(read))

    @property
    def trace(self) -> Path:
        (run,) = (self.root / "runs").glob("[!.]*")
        return run / "trace.jsonl"

    def lives(self) -> dict[str, Used]:
        """Run it, list it twice, resume it when it is finished and when it was interrupted before its last step."""
        used = {"exec": self.gert("exec", "book.yaml", "--input", "inputs.json")}
        used["list"] = self.gert("runs", "list")
        used["list again"] = self.gert("runs", "list")
        used["resume finished"] = self.gert("resume", "--run", self.trace.parent.name)
        lines = self.trace.read_bytes().splitlines(keepends=True)
        loop = next(n for n, line in enumerate(lines) if b'"step_key":"check",' in line and b'"items":' in line)
        self.trace.write_bytes(b"".join(lines[:loop]))
        used["list interrupted"] = self.gert("runs", "list", "--json")
        used["resume"] = self.gert("resume", "--run", self.trace.parent.name)
        return used


def test_an_item_of_a_loop_costs_little_memory(tmp_path):
    """Measured as the difference between two loops, so that the modules of gert do not count."""
    few, many = 100, 8_000
    small, large = Loop(tmp_path / "small", few), Loop(tmp_path / "large", many)
    before, after = small.lives(), large.lives()
    cost = {verb: (after[verb].peak - before[verb].peak) // (many - few) for verb in after}
    assert {verb: bytes_ for verb, bytes_ in cost.items() if bytes_ > PER_ITEM} == {}, cost
    more = after["resume finished"].read - before["resume finished"].read
    assert more < large.trace.stat().st_size * 1.2, "a finished run is read once"


@pytest.mark.skipif(not os.environ.get("GERT_FUZZ"), reason="takes minutes: set GERT_FUZZ=1")
@pytest.mark.parametrize("more", ["", ", parallel: true, max_parallel: 8, key: '{{ .host }}'"], ids=["row", "parallel"])
def test_a_loop_of_a_hundred_thousand_items_takes_less_than_200_megabytes(tmp_path, more):
    loop = Loop(tmp_path / "loop", 100_000, more)
    peaks = {verb: used.peak / MEGABYTE for verb, used in loop.lives().items()}
    assert {verb: peak for verb, peak in peaks.items() if peak > 200} == {}, peaks
