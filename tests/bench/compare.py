"""Compares two states of gert: every row of the speed table in both, in one shuffled, interleaved run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_speed import arguments, heading
from engine import Engine
from harness import Command, Contender, Figure, Samples, Worker, clean_environ, measure, progress, ratio, show
from rows import SCAN
from workloads import Workloads, assert_step, mixed_steps, tool_step

from gert_core.plugin.registry import Registry

MOST = 1.03
"""No row may take longer than this times what it took before."""
LONG, SHORT = "10,000 assert steps", "1,000 assert steps"
SYNCS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from engine import Engine
from gert_core.plugin.registry import Registry
many, few = (Engine(Path(book), Registry.build()).syncs() for book in sys.argv[2:])
print((many - few) / 100)
"""


def main() -> int:
    """Measure both states and print one ratio per row."""
    options = arguments(__doc__)
    here, other = Path(__file__).parents[2], options.other.resolve()
    now = here / ".venv" if options.installed is None else options.installed.resolve()
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as place:
        work = Workloads(Path(place))
        jobs = _jobs(work)
        if options.only:
            jobs = {name: job for name, job in jobs.items() if any(word in name for word in options.only)}
        contenders: dict[str, Contender] = {}
        for name, job in jobs.items():
            contenders[name] = _contender(job, here, now, Path(place))
            contenders[f"{name}, before"] = _contender(job, other, other / ".venv", Path(place))
        samples, failed = measure(contenders, rounds=options.rounds, seed=options.seed, cpu=options.cpu, say=progress)
        progress("")
        books = [work.book(f"nothing{count}", "".join(map(tool_step, range(count)))) for count in (200, 100)]
        syncs = [_syncs(here, now, books), _syncs(other, other / ".venv", books)]
    rows = {
        name: ratio(samples, name, f"{name}, before") for name in jobs if not failed.keys() & {name, f"{name}, before"}
    }
    if {LONG, SHORT} <= rows.keys():
        rows["cost per step at 10,000 steps"] = _growth(samples)
    if options.json:
        print(json.dumps({name: [row.median, row.low, row.high] for name, row in rows.items()}, indent=1))
    else:
        print(heading(options))
        print("| what | now, as a ratio of before | quartiles | at most 1.03 |\n|---|---:|---:|---|")
        for name, row in rows.items():
            held = "yes" if row.median <= MOST else "no"
            print(f"| {name} | {row.median:.3f} | {show(row.low)} to {show(row.high)} | {held} |")
        print(f"\nDisk syncs per read-only tool step: {syncs[0]:g}, before {syncs[1]:g}.")
    for name, why in failed.items():
        print(f"not measured: {name}: {why}", file=sys.stderr)
    return 1 if failed else 0


def _jobs(work: Workloads) -> dict[str, list[str]]:
    """Return what each row does: a job of ``worker.py``, or words of the command line after ``gert``."""
    ten, one = work.book("ten", mixed_steps(2)), work.book("one", tool_step(1))
    tools = str(work.book("nothing200", "".join(tool_step(n) for n in range(200))))
    thousand = str(work.book("thousand", mixed_steps(200)))
    checks = work.book("checks10000", "".join(assert_step(n) for n in range(10_000)))
    fewer = work.book("checks1000", "".join(assert_step(n) for n in range(1_000)))
    traced = Engine(work.book("traced", "".join(assert_step(n) for n in range(5_000))), Registry.build()).trace()
    return {
        "python -c pass": ["python", "-c", "pass"],  # longer where an environment has more members to find
        "gert --version": ["gert", "--version"],
        "gert validate, 10 steps": ["gert", "validate", str(ten)],
        "gert exec, one tool step": ["gert", "exec", str(one)],
        "tool steps": ["engine", tools, "group"],
        "tool steps, no sync": ["engine", tools, "none"],
        "100 parallel steps": ["engine", str(work.parallel(100)), "group"],
        LONG: ["engine", str(checks), "group"],
        SHORT: ["engine", str(fewer), "group"],
        "load 1,000 steps": ["load", thousand],
        "validate 1,000 steps": ["validate", thousand],
        "gert test, 100 scenarios": ["gert", "test", str(work.scenarios(100))],
        "trace verify": ["verify", str(traced)],
        "discovery of 100 installed plugins": ["scan", str(work.hundred_plugins())],
    }


def _contender(job: list[str], checkout: Path, environment: Path, place: Path) -> Contender:
    """Return the job as the gert of a checkout does it, with the programs of an environment."""
    programs = environment / "bin"
    if job[0] in ("gert", "python"):
        return Command(argv=[str(programs / job[0]), *job[1:]], cwd=place)
    if job[0] == "scan":
        argv = [str(programs / "python"), "-c", SCAN]
        return Command(argv=argv, cwd=place, environ=clean_environ(PYTHONPATH=job[1]))
    return Worker(job=job, cwd=place, program=(programs / "python", checkout / "tests" / "bench" / "worker.py"))


def _growth(samples: Samples) -> Figure:
    """Return what a step costs more in a long run than in a short one, as a ratio of what it cost more before."""
    names = (LONG, f"{SHORT}, before", SHORT, f"{LONG}, before")
    rounds = zip(*(samples[name] for name in names), strict=True)
    return Figure.of([a * b / (c * d) for a, b, c, d in rounds])


def _syncs(checkout: Path, environment: Path, books: list[Path]) -> float:
    """Return how often the gert of a checkout waits for the disk in one step that calls a tool."""
    argv = [environment / "bin" / "python", "-c", SYNCS, checkout / "tests" / "bench", *books]
    done = subprocess.run(list(map(str, argv)), cwd=books[0].parent, capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
