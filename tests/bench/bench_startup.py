"""Start-up and discovery as ratios: every contender once per round, in shuffled order, on warm bytecode."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gert_core.testing import FakeDist

PLUGIN = """
from gert_core import hookimpl
from gert_core.api import StepType

@hookimpl
def gert_step_types():
    yield StepType(name="bench{n}", model="bench:Model", run="bench:run")
"""
SCAN = "from gert_core.plugin.discovery import scan; scan()"
SCRIPT = "import sys\nfrom bench_nothing import main\nsys.exit(main())\n"


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        hundred, nothing = Path(place) / "hundred", Path(place) / "nothing"
        fake = FakeDist(directory=hundred)
        for n in range(100):
            fake.add(f"gert-step-bench{n}", PLUGIN.format(n=n))
        nothing.mkdir()
        (nothing / "bench_nothing.py").write_text("def main():\n    return 0\n")
        (nothing / "script").write_text(SCRIPT)
        gert = str(Path(sys.executable).parent / "gert")
        few, many = environ(nothing), environ(hundred)
        contenders = {
            "python -c pass": ([sys.executable, "-c", "pass"], few),
            "do-nothing script": ([sys.executable, str(nothing / "script")], few),
            "gert --version": ([gert, "--version"], few),
            "scan": ([sys.executable, "-c", SCAN], few),
            "scan, 100 more": ([sys.executable, "-c", SCAN], many),
            "plugins list": ([gert, "plugins", "list"], few),
            "plugins list, 100 more": ([gert, "plugins", "list"], many),
        }
        times = measure(contenders, rounds)
    unit = times["python -c pass"]
    for name, seconds in times.items():
        print(f"{name:24} {seconds * 1000:7.1f} ms {seconds / unit:6.2f}x")
    print(f"version / do-nothing     {times['gert --version'] / times['do-nothing script']:18.2f}x (target 1.5)")
    print(f"discovery of 100 more    {(times['scan, 100 more'] - times['scan']) / unit:+18.2f}x (target +1.5)")


def environ(place: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}}
    return kept | {"PYTHONPATH": str(place)}


def measure(contenders: dict[str, tuple[list[str], dict[str, str]]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name in random.sample(list(contenders), len(contenders)):
            argv, env = contenders[name]
            start = time.perf_counter()
            subprocess.run(argv, env=env, check=True, capture_output=True)
            if turn:  # the first round warms the bytecode
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
