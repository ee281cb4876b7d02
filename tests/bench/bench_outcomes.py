"""Measures ``gert outcomes`` over many runs of a directory: the first time, again, with its steps, and as a page.

Runs are written without the engine; each has one step. Wall time and processor time of whole commands, the best and the
median of several rounds: ``bench_outcomes.py [--runs N] [--rounds N]``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from many_runs import write_runs

LIMITS = {"the first time": 3.0, "again": 0.3}


def command(place: Path, *words: str) -> tuple[float, float]:
    """Run ``gert outcomes``; return its wall time and its processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    argv = [sys.executable, "-m", "gert_core", "outcomes", *words]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forget(root: Path, *, states: bool) -> None:
    """Delete what gert remembers of runs."""
    (root / ".index.jsonl").unlink(missing_ok=True)
    for path in root.glob("*/state.json") if states else ():
        path.unlink()


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as directory:
        place = Path(directory)
        root = place / "runs"
        write_runs(root, options.runs)
        command(place)
        taken: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.rounds):
            forget(root, states=False)
            for what, words in (
                ("the first time", []),
                ("again", []),
                ("again, --since 7d", ["--since", "7d"]),
                ("again, --html", ["--html", "page.html"]),
            ):
                taken.setdefault(what, []).append(command(place, *words))
        forget(root, states=True)
        for what in ("--steps, the first time", "--steps, again"):
            taken[what] = [command(place, "--steps")]
        for what, found in taken.items():
            limit = f" (at most {LIMITS[what]} s)" if what in LIMITS else ""
            walls, cpus = ([one[index] for one in found] for index in (0, 1))
            print(
                f"gert outcomes of {options.runs} runs, {what}: {min(walls):.2f} s{limit}, median {median(walls):.2f} s; "
                f"processor {min(cpus):.2f} s, median {median(cpus):.2f} s"
            )


if __name__ == "__main__":
    main()
