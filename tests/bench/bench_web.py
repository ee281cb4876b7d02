"""Measures ``gert web``: the page of a ticket among many runs, and a thousand browsers that follow one run.

Real server process on loopback, plain sockets as browsers: ``bench_web.py [--rounds N] [--clients N] [--runs N]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from many_runs import write_runs

LIMITS = {"page of a ticket": 0.050, "event to the last of the browsers": 1.0}
TOOL = """\
apiVersion: tool/v0
meta: {{ name: {name}, transport: stdio }}
contract: {{ effects: [network], writes: [{writes}] }}
actions: {{ do: {{ argv: [sh, -c, "{script}"] }} }}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {{ name: {name}, governance: {{ rules: [{{ writes: [service], action: require-approval }}] }} }}
tools: [{tool}]
steps:
  - {{ id: act, type: tool, tool: {tool}, description: Change the service }}
  - {{ type: end, outcome: {{ category: resolved, code: done }} }}
"""
GERT = [sys.executable, "-m", "gert_core"]


class Server:
    """A server, its address, and a browser that has a session."""

    def __init__(self, place: Path) -> None:
        command = [*GERT, "web", "--bind", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = next(line for line in self.process.stderr if "/login/" in line)
        address = re.search(r"(http://[^/]+)(/login/\S+)", found)
        assert address is not None
        self.base = address[1]
        jar = CookieJar()
        self.browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )
        self.browser.open(self.base + address[2]).read()
        self.cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)

    def used(self) -> float:
        """Return the processor time of the server."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)


def ticket_page(server: Server, ticket: str, rounds: int) -> tuple[list[float], float]:
    """Return how long each page took, and the processor time of the server for one."""
    url = f"{server.base}/tickets/{ticket}"
    for _ in range(10):
        server.browser.open(url).read()
    before, took = server.used(), []
    for _ in range(rounds):
        began = time.perf_counter()
        page = server.browser.open(url).read()
        took.append(time.perf_counter() - began)
        if b"Change the service" not in page:
            raise SystemExit("the page of the ticket is not whole")
    return took, (server.used() - before) / rounds


async def followers(server: Server, run: str, clients: int, go: Path) -> list[float]:
    """Follow a run in many browsers, let it go on, and return how late its next event came to each of them."""
    host, _, port = server.base.removeprefix("http://").partition(":")
    head = f"GET /runs/{run}/events HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {server.cookies}\r\n\r\n".encode()
    ready, late = asyncio.Semaphore(0), []

    async def follow() -> None:
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
        writer.write(head)
        joined = False
        async for line in reader:
            if line.startswith(b"HTTP/1.1 ") and b" 200 " not in line:
                raise SystemExit(f"a browser was refused: {line!r}")
            if not line.startswith(b"data: {"):
                continue
            event: dict[str, Any] = json.loads(line[6:])
            if event.get("type") == "step_start" and not joined:
                joined = True
                ready.release()
            if event.get("type") == "step_complete":
                written = datetime.fromisoformat(event["timestamp"])
                late.append((datetime.now(UTC) - written).total_seconds())
                break
        writer.close()

    tasks = []
    for number in range(clients):
        tasks.append(asyncio.create_task(follow()))
        if number % 50 == 49:
            await asyncio.sleep(0.05)
    for _ in range(clients):
        await asyncio.wait_for(ready.acquire(), 120)
    go.touch()
    await asyncio.wait_for(asyncio.gather(*tasks), 120)
    return late


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1000)
    asked = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, asked.clients + 512), hard))
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "tools").mkdir()
        (place / "gert-project.yaml").write_text("name: bench\napprovals: { provider: inbox }\n", encoding="utf-8")
        wait = "while [ ! -e go ]; do sleep 0.05; done"
        for tool, writes, script in (("change", "service", "echo changed"), ("hold", "nothing", wait)):
            text = TOOL.format(name=tool, writes=writes, script=script)
            (place / "tools" / f"{tool}.tool.yaml").write_text(text, encoding="utf-8")
            (place / f"{tool}.yaml").write_text(BOOK.format(name=tool, tool=tool), encoding="utf-8")
        write_runs(place / "runs", asked.runs)
        subprocess.run([*GERT, "exec", "change.yaml", "--as", "olga"], cwd=place, capture_output=True, check=True)
        listed = subprocess.run([*GERT, "approvals", "list", "--json"], cwd=place, capture_output=True, check=True)
        ticket = json.loads(listed.stdout)["approvals"][0]["ticket_id"]
        holding = subprocess.Popen([*GERT, "exec", "hold.yaml"], cwd=place, stdout=-3, stderr=-3)
        server = Server(place)
        try:
            took, used = ticket_page(server, ticket, asked.rounds)
            best, middle = min(took), median(took)
            limit = LIMITS["page of a ticket"]
            print(
                f"page of a ticket, {asked.runs} runs: {middle * 1000:.0f} ms (best {best * 1000:.0f}, limit {limit * 1000:.0f})"
            )
            print(f"processor time of the server for it: {used * 1000:.0f} ms")
            run = json.loads(server.browser.open(f"{server.base}/api/runs").read())["runs"][0]["run_id"]
            before = server.used()
            late = sorted(asyncio.run(followers(server, run, asked.clients, place / "go")))
            cost, limit = server.used() - before, LIMITS["event to the last of the browsers"]
            print(f"event to {len(late)} browsers: median {median(late):.3f} s, last {late[-1]:.3f} s (limit {limit})")
            print(f"processor time of the server for all of it: {cost:.2f} s")
            wrong = [name for name, found in zip(LIMITS, (middle, late[-1]), strict=True) if found > LIMITS[name]]
            if wrong or len(late) != asked.clients:
                raise SystemExit(f"over the limit: {', '.join(wrong)}")
        finally:
            server.close()
            (place / "go").touch()
            holding.wait(30)


if __name__ == "__main__":
    main()
