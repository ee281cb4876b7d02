"""Measures what ``--record`` adds to a run, and ``gert diff`` of recorded scenarios against ``gert test`` of the same.

Whole commands, in shuffled order; the least and the median of their wall and processor times:
``bench_scenarios.py [--rounds N] [--scenarios N]``.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from workloads import Workloads, tool_step

STEPS = (10, 100, 400)
"""How many steps the recorded runs have."""
BASE, EACH, RATIO = 0.150, 0.001, 1.2
"""What a recording may add, and for each step; how many times the time of ``gert test`` a comparison may take."""


def command(*words: str) -> tuple[float, float]:
    """Run ``gert``; return its wall time and its processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "gert_core", *words], check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recordings(work: Workloads, rounds: int) -> None:
    """Print what a recording adds to runs of several lengths."""
    for count in STEPS:
        book = str(work.book(f"steps{count}", "".join(map(tool_step, range(count)))))
        added: list[tuple[float, float]] = []
        for number in range(rounds):
            both = {False: (0.0, 0.0), True: (0.0, 0.0)}
            for recorded in random.sample((False, True), 2):
                both[recorded] = command("exec", book, *(["--record", f"r{count}-{number}"] if recorded else []))
            added.append((both[True][0] - both[False][0], both[True][1] - both[False][1]))
        walls, cpus = ([one[index] for one in added] for index in (0, 1))
        most = BASE + EACH * count
        print(
            f"--record, {count} steps: {median(walls) * 1e3:.0f} ms (at most {most * 1e3:.0f}), "
            f"processor {median(cpus) * 1e3:.0f} ms"
        )


def comparisons(work: Workloads, place: Path, rounds: int, number: int) -> None:
    """Print what ``gert diff`` takes of what ``gert test`` takes."""
    book = str(work.book("compared", "".join(map(tool_step, range(10)))))
    command("exec", book, "--record", "first")
    (made,) = place.rglob("first/test.yaml")
    command("scenario", "promote", str(made.parent))
    for copy in range(1, number):
        shutil.copytree(made.parent, made.parent.with_name(f"n{copy}"))
    taken: dict[str, list[tuple[float, float]]] = {"diff": [], "test": []}
    for _ in range(rounds):
        for verb in random.sample(sorted(taken), 2):
            taken[verb].append(command(verb, book))
    for index, what in enumerate(("wall", "processor")):
        pairs = [(a[index], b[index]) for a, b in zip(taken["diff"], taken["test"], strict=True)]
        ratios, least = [a / b for a, b in pairs], [min(pair[side] for pair in pairs) for side in (0, 1)]
        print(
            f"gert diff of {number} scenarios, {what}: x{median(ratios):.2f} of gert test (at most {RATIO}), "
            f"x{least[0] / least[1]:.2f} by the least of each"
        )


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scenarios", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as directory:
        place = Path(directory)
        os.chdir(place)
        work = Workloads(place)
        recordings(work, options.rounds)
        comparisons(work, place, options.rounds, options.scenarios)


if __name__ == "__main__":
    main()
