"""Projects with a real ``gert web`` process on loopback, and browsers without a screen that talk to it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx2
from hosting import Lab
from shell import wait_for

from gert_core.kit.owners import account_name

ME = account_name(os.getuid())
"""Who people are with ``--auth token``: the user of this process."""
GATED = """
apiVersion: policy/v0
meta: { name: lab }
rules: [{ writes: [service], action: require-approval }]
"""
FIX = '- { id: fix, type: tool, tool: change, description: Change the disk, inputs: { what: "{{ .what }}" } }'
INPUTS = "inputs: { what: { type: string, default: disk } }"


class Browser(httpx2.Client):
    """Keeps cookies and says where a request comes from, as browsers do; redirects are not followed."""

    def __init__(self, base: str, **headers: str) -> None:
        super().__init__(base_url=base, headers=headers, timeout=60.0, trust_env=False)
        self.base = base

    def follow(self, path: str) -> httpx2.Response:
        """Open an address, and where it leads."""
        return self.get(path, follow_redirects=True)

    def form(self, path: str) -> dict[str, str]:
        """The hidden fields of the forms on a page."""
        page = self.get(path)
        assert page.status_code == 200, page.text
        found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page.text)
        return {unescape(name): unescape(value) for name, value in found}

    def submit(self, path: str, fields: dict[str, Any], **headers: str) -> httpx2.Response:
        """Send a form from a page of this server."""
        return self.post(path, data=fields, headers={"Origin": self.base, "Sec-Fetch-Site": "same-origin", **headers})

    def decide(self, ticket: str, decision: str = "approve", **fields: str) -> httpx2.Response:
        """Approve or reject a ticket by its page."""
        hidden = self.form(f"/tickets/{ticket}")
        return self.submit(f"/tickets/{ticket}/decide", hidden | {"decision": decision, "read": "yes"} | fields)


class Served:
    """A server while a test talks to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.browsers: list[Browser] = []
        self._seen = threading.Thread(target=self._read, daemon=True)
        self._seen.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def said(self, pattern: str, count: int = 1) -> str:
        """The group of the n-th line that it printed of a kind."""

        def found() -> list[str]:
            assert self.process.poll() is None or re.search(pattern, "".join(self.lines)), self.lines
            return re.findall(pattern, "".join(self.lines))

        return wait_for(lambda: found()[count - 1] if len(found()) >= count else None)

    def close(self) -> None:
        """Let go of what was opened."""
        for browser in self.browsers:
            browser.close()
        self._seen.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()

    @property
    def base(self) -> str:
        """Its address."""
        return self.said(r"serving \S+ at (http://\S+)")

    @property
    def login(self) -> str:
        """The path of the newest address that opens a session."""
        self.said(r"open (http://\S+)")
        return re.findall(r"open http://[^/]+(/login/\S+)", "".join(self.lines))[-1]

    def browser(self, *, login: bool = True, **headers: str) -> Browser:
        """A browser, which has a session unless it is to have none."""
        made = Browser(self.base, **headers)
        self.browsers.append(made)
        if login:
            count = len(re.findall("/login/", "".join(self.lines)))
            opened = made.get(self.login)
            assert opened.status_code == 303, opened.text
            self.said(r"open (http://\S+)", max(count, 1) + 1)
        return made


def proxied(server: Served, user: str, **more: str) -> Browser:
    """A browser behind the proxy, which says who it is."""
    return server.browser(login=False, **{"X-User": user, "Gert-Proxy-Secret": PROXY_SECRET, **more})


class WebLab(Lab):
    """A directory whose runs wait for people on the web."""

    def gated(self, policy: str = GATED, *, project: str = "") -> None:
        """A runbook whose step needs an approval."""
        self.policy(policy)
        text = (self.root / "gert-project.yaml").read_text()
        self.write("gert-project.yaml", text + "approvals: { provider: inbox }\n" + project)
        self.book(FIX, tools="change", meta=INPUTS)

    def pending(self, *words: str, **environ: str) -> str:
        """Start a run that waits for an approval, and give its ticket."""
        self.gert("exec", "book.yaml", *words, code=None, **environ)
        return self.json("approvals", "list")["approvals"][0]["ticket_id"]

    def status(self, ticket: str) -> str:
        """Where a ticket stands."""
        return self.json("approvals", "show", ticket)["status"]

    @contextmanager
    def web(self, *words: str, files: int | None = None, **environ: str) -> Any:
        """Serve the directory at a free port of loopback, with at most so many open files."""
        command = [sys.executable, "-m", "gert_core", "web", "--root", str(self.root)]
        if "--bind" not in words:
            command += ["--bind", "127.0.0.1:0"]
        limit = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        process = subprocess.Popen(
            [*limit, *command, *words],
            env=self.environ | environ,
            cwd=self.root,
            stderr=subprocess.PIPE,
            text=True,
        )
        served = Served(process)
        try:
            yield served
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()
                served.close()


PEOPLE = {
    "alice": {"login": "alice@corp"},
    "bob": {"login": "bob@corp"},
    "olga": {"login": "olga@corp", "os": [ME, "olga"]},
}
PROXY_SECRET = "a-secret-of-the-proxy-that-is-long"
BEHIND = ("--auth", "header", "--trust-header", "X-User", "--trusted-proxy", "127.0.0.1/32", "--proxy-secret-env", "PS")
"""How a server is started behind a proxy on loopback."""


def policy(**rule: Any) -> str:
    """A policy with people, as JSON."""
    rules = [{"writes": ["service"], "action": "require-approval", **rule}]
    return json.dumps({"apiVersion": "policy/v0", "meta": {"name": "lab"}, "rules": rules, "people": PEOPLE})


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def in_pieces(base: str, path: str, headers: dict[str, str]) -> int:
    """The status of a POST that never says how long it is, and sends more than a server reads."""
    name = base.removeprefix("http://")
    host, _, port = name.partition(":")
    lines = [f"POST {path} HTTP/1.1", f"Host: {name}", *(f"{key}: {text}" for key, text in headers.items())]
    with socket.create_connection((host, int(port)), timeout=30) as sent:
        sent.sendall("\r\n".join([*lines, "Transfer-Encoding: chunked", "", ""]).encode())
        for _ in range(5):
            sent.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        return int(sent.recv(64).split()[1])
