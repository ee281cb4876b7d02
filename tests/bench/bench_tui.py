"""Measures ``gert tui``: processor time to its first frame after the core, processor time while nothing happens, and how
late a line that a tool writes is on the screen: ``bench_tui.py [--rounds N] [--seconds N]``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from hosting import Lab
from many_runs import write_runs
from screens import OnScreen
from tuis import OnTui, on_tui

FIRST = """\
import asyncio, resource
from gert_core.hosting import Host
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
host = Host(".")
list(host.rows())
began = spent()
from gert_tui.app import GertApp
from gert_tui.command import read
from gert_tui.look import UNICODE
async def main():
    async with GertApp(host, read([]), look=UNICODE).run_test(size=(120, 32)) as pilot:
        await pilot.pause()
        print(spent() - began)
asyncio.run(main())
"""
DRIP = f"""\
#!{sys.executable}
import sys, time
for n in range(20):
    sys.stdout.write(f"drop {{n}} at {{time.time():.4f}}\\n")
    sys.stdout.flush()
    time.sleep(0.3)
"""


def first_frame(place: Path) -> float:
    """Return the processor time from the core to the first frame of the list of runs, in seconds."""
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=place, check=True, capture_output=True, text=True)
    return float(done.stdout)


def idle(lab: Lab, seconds: float) -> float:
    """Return the part of a processor that the screen of a run takes that waits for a person."""
    lab.book('- { id: look, type: manual, instructions: "Look at it." }')
    with OnScreen(lab.command("tui", "book.yaml"), cwd=lab.root, environ=lab.environ, columns=120, rows=32) as seen:
        seen.until(lambda now: any("look asks" in line for line in now.lines))
        before, began = _spent(seen.process.pid), time.monotonic()
        while time.monotonic() - began < seconds:
            seen._read()
        return (_spent(seen.process.pid) - before) / (time.monotonic() - began)


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def late(lab: Lab) -> list[float]:
    """Return how many seconds after a tool wrote them its lines were on the screen."""
    lab.program("drip", DRIP)
    lab.tool("drip", '["drip"]')
    lab.book("- { id: drip, type: tool, tool: drip }", tools="drip")
    found: dict[str, float] = {}

    async def script(seen: OnTui) -> None:
        while len(found) < 20:
            for number, moment in re.findall(r"drop (\d+) at ([\d.]+)", seen.text):
                found.setdefault(number, time.time() - float(moment))
            await asyncio.sleep(0.005)

    on_tui(lab, "book.yaml", script=script)
    return list(found.values())


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10.0)
    options, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as directory:
        place = Path(directory)
        write_runs(place / "runs", 100)
        taken = [first_frame(place) for _ in range(options.rounds)]
        print(f"first frame: {median(taken):.2f} s of a processor after the core, best {min(taken):.2f} (at most 0.8)")
        os.chdir(place)
        (place / "lab").mkdir()
        lab = Lab(place / "lab")
        os.chdir(lab.root)
        print(f"idle: {idle(lab, options.seconds):.1%} of a processor (at most 2 %)")
        lags = late(lab)
        print(
            f"a line on the screen: {median(lags) * 1000:.0f} ms, the worst of {len(lags)} {max(lags) * 1000:.0f} (at most 200)"
        )
        lab.close()


if __name__ == "__main__":
    main()
