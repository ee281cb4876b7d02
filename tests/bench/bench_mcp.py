"""Measures ``gert mcp``: its start, a warm ``gert_validate`` beside the validation itself, and 50 calls at once.

The client is the SDK's, over standard input and output: ``bench_mcp.py [--rounds N] [--calls N]``.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from gert_core.hosting import Host

LIMITS = {"start, processor time": 2.5, "gert_validate beyond the validation": 0.020}
BOOK = """\
apiVersion: kernel/v0
meta: { name: book }
steps:
"""
STEP = '  - { id: s%d, type: assert, assert: [{ type: equals, value: "a", expected: "a" }] }\n'
END = "  - { type: end, outcome: { category: resolved, code: done } }\n"
COMMAND = [sys.executable, "-m", "gert_core", "mcp"]


def start(place: Path) -> float:
    """Start a server, shake hands, leave; return its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    hello = (
        '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", '
        '"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}\n'
    )
    done = subprocess.run(COMMAND, input=hello, text=True, capture_output=True, check=True, cwd=place)
    if '"serverInfo"' not in done.stdout:
        raise SystemExit(f"the server did not answer: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def calls(place: Path, rounds: int, count: int) -> tuple[list[tuple[float, float]], float]:
    """Return pairs of a round trip and the validation itself, taken in turns, and how long many calls at once took."""
    host = Host(place)
    pairs: list[tuple[float, float]] = []
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=str(place), env=dict(os.environ))
    async with Client(stdio_client(parameters), mode="legacy", cache=None) as client:

        async def call() -> Any:
            found = await client.call_tool("gert_validate", {"path": "book.yaml"})
            if found.is_error:
                raise SystemExit(str(found))
            return found

        for _ in range(5):
            await call()
            host.validate("book.yaml")
        for _ in range(rounds):
            began = time.perf_counter()
            await call()
            between = time.perf_counter()
            host.validate("book.yaml")
            pairs.append((between - began, time.perf_counter() - between))
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(call)
        return pairs, time.perf_counter() - began


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--calls", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as directory:
        place = Path(directory)
        (place / "book.yaml").write_text(BOOK + "".join(STEP % number for number in range(10)) + END)
        start(place)
        started = [start(place) for _ in range(options.starts)]
        pairs, together = anyio.run(calls, place, options.rounds, options.calls)
    beyond = [trip - itself for trip, itself in pairs]
    show("start, processor time", started)
    show("gert_validate, round trip", [trip for trip, _ in pairs])
    show("the validation itself", [itself for _, itself in pairs])
    show("gert_validate beyond the validation", beyond)
    print(f"{options.calls} calls at once: {together:.3f} s, all answered")


def show(what: str, taken: list[float]) -> None:
    """Print a figure beside its limit."""
    limit = f"  (at most {LIMITS[what]} s)" if what in LIMITS else ""
    print(f"{what}: best {min(taken):.4f} s, median {median(taken):.4f} s{limit}")


if __name__ == "__main__":
    main()
