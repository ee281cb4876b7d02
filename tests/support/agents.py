"""Projects that are served, and real clients of the SDK that talk to a real server process."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import pytest
from hosting import Lab
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation

LEGACY, MODERN = "legacy", "2026-07-28"
BOTH = pytest.mark.parametrize("mode", [LEGACY, MODERN])
GATED = """
apiVersion: policy/v0
meta: { name: lab }
rules: [{ writes: [service], action: require-approval }]
"""
FIX = '- { id: fix, type: tool, tool: change, inputs: { what: "{{ .what }}" } }'


class Project(Lab):
    """A directory with runbooks, and how it is served."""

    def document(self, name: str, steps: str, *, meta: str = "", tools: str = "", more: str = "") -> None:
        """A runbook in a file of its own, called after it."""
        path = self.book(steps, tools=tools, meta=meta)
        text = path.read_text().replace("name: book", f"name: {name}") + more
        path.unlink()
        self.write(f"{name}.yaml", text)

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "gert_core", "mcp", "--root", str(self.root), *words]

    def talk(self, talking: Any, *words: str, mode: str = LEGACY, **client: Any) -> Any:
        """Start a server, connect a client to it, and return what ``talking`` returns."""

        async def session() -> Any:
            async with self.connected(*words, mode=mode, **client) as connected:
                return await talking(connected)

        try:
            return anyio.run(session)
        except ExceptionGroup as group:
            raise _first(group) from None

    @asynccontextmanager
    async def connected(self, *words: str, mode: str = LEGACY, **client: Any) -> Any:
        command, *arguments = self.words(*words)
        parameters = StdioServerParameters(command=command, args=arguments, env=self.environ, cwd=str(self.root))
        client.setdefault("client_info", Implementation(name="tester", version="1"))
        async with Client(stdio_client(parameters, errlog=sys.stderr), mode=mode, cache=None, **client) as connected:
            yield connected

    @contextmanager
    def over_http(self, *words: str, **environ: str) -> Any:
        """Start a server at a free port of loopback, and give its address."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = self.words("--transport", "http", "--bind", f"127.0.0.1:{port}", *words)
        process = subprocess.Popen(command, env=self.environ | environ, cwd=self.root, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with socket.socket() as asked:
                    if asked.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()

    def approve(self, ticket: str, by: str = "alice") -> Any:
        return self.gert("approve", ticket, "--as", by)


class Raw:
    """A server whose input and output are lines, so that it can be left in any way."""

    def __init__(self, project: Project, *words: str, **more: Any) -> None:
        self.process: Any = subprocess.Popen(
            project.words(*words),
            env=project.environ,
            cwd=project.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **more,
        )
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self.send(id=0, method="initialize", params=client)
        self.answer()
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        with suppress(OSError):
            self.process.stdin.close()

    def call(self, name: str, **arguments: Any) -> None:
        self.send(id=1, method="tools/call", params={"name": name, "arguments": arguments})


def _first(group: BaseException) -> BaseException:
    """What really happened: task groups wrap it."""
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def structured(result: Any) -> dict[str, Any]:
    """The document that a call was answered with, which is not an error."""
    assert not result.is_error, result
    return result.structured_content


def refused(result: Any) -> dict[str, Any]:
    """The error object that a call was answered with."""
    assert result.is_error, result
    return result.structured_content["error"]
