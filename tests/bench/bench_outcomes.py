"""Measures ``gert outcomes`` and ``gert runs list`` over many runs of a directory.

Runs are written without the engine; each has one step. Wall time and processor time of whole commands, the best and the
median of several rounds: ``bench_outcomes.py [--runs N] [--rounds N] [--installed DIR]``. A checkout that is installed
in place starts slower than what users have: ``--installed`` measures the gert of a virtual environment.
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
from workloads import gert_script

LIMITS = {"outcomes of {} runs, the first time": 3.0, "outcomes of {} runs, again": 0.3}


def command(gert: Path, place: Path, *words: str) -> tuple[float, float]:
    """Run ``gert`` with words; return its wall time and its processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([gert, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
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
    parser.add_argument("--installed", type=Path, metavar="DIR", help="the gert of this virtual environment")
    options = parser.parse_args()
    gert = gert_script() if options.installed is None else options.installed.resolve() / "bin" / "gert"
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as directory:
        place = Path(directory)
        root = place / "runs"
        write_runs(root, options.runs)
        command(gert, place, "outcomes")
        taken: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.rounds):
            forget(root, states=False)
            for what, words in (
                ("outcomes of {} runs, the first time", ["outcomes"]),
                ("outcomes of {} runs, again", ["outcomes"]),
                ("outcomes of {} runs, again, --since 7d", ["outcomes", "--since", "7d"]),
                ("outcomes of {} runs, again, --html", ["outcomes", "--html", "page.html"]),
                ("runs list of {} runs, again", ["runs", "list"]),
            ):
                taken.setdefault(what, []).append(command(gert, place, *words))
        forget(root, states=True)
        for what in ("outcomes of {} runs, --steps, the first time", "outcomes of {} runs, --steps, again"):
            taken[what] = [command(gert, place, "outcomes", "--steps")]
        for what, found in taken.items():
            limit = f" (at most {LIMITS[what]} s)" if what in LIMITS else ""
            walls, cpus = ([one[index] for one in found] for index in (0, 1))
            print(
                f"gert {what.format(options.runs)}: {min(walls):.2f} s{limit}, median {median(walls):.2f} s; "
                f"processor {min(cpus):.2f} s, median {median(cpus):.2f} s"
            )


if __name__ == "__main__":
    main()
