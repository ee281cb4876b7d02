"""An incident from start to outcome in ``gert tui``, by keys: in tmux where it is installed, and on a pseudo-terminal."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import uuid

import pytest
from hosting import APPROVE, Lab, takes
from screens import OnScreen

STEPS = """
- { id: check, type: tool, tool: say, inputs: { text: "{{ .host }} answers 500\\n" } }
- id: look
  type: manual
  instructions: "Find out what is wrong with {{ .host }}."
  required_evidence: [{ kind: text, name: finding, description: "What you found" }]
- { id: restart, type: tool, tool: change, inputs: { what: "{{ .host }}" } }
- { id: over, type: end, outcome: { category: resolved, code: restarted, meta: { finding: "{{ .finding }}" } } }
"""
NAMES = {"Enter": "\r", "Escape": "\x1b", "BTab": "\x1b[Z", "C-s": "\x13", "BSpace": "\x7f"}


class InTmux:
    """A command in a session of a tmux server of its own."""

    def __init__(self, lab, command):
        self._socket = f"gert-{uuid.uuid4().hex[:8]}"
        environ = {name: value for name, value in lab.environ.items() if name not in ("TMUX", "NO_COLOR")}
        tmux = ["tmux", "-L", self._socket, "-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "32", *command]
        subprocess.run(tmux, check=True, env={**environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}, cwd=lab.root)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tmux("kill-server", check=False)

    def _tmux(self, *words, check=True):
        argv = ["tmux", "-L", self._socket, *words]
        return subprocess.run(
            argv, check=check, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        ).stdout

    def screen(self):
        return self._tmux("capture-pane", "-p", check=False)

    def key(self, name):
        self._tmux("send-keys", name)

    def type(self, text):
        self._tmux("send-keys", "-l", text)

    def ended(self):
        return subprocess.run(["tmux", "-L", self._socket, "ls"], capture_output=True, check=False).returncode != 0


class OnPseudoTerminal:
    """The same on a pseudo-terminal, with an emulator that reads it."""

    def __init__(self, lab, command):
        environ = {name: value for name, value in lab.environ.items() if name != "NO_COLOR"}
        self._on = OnScreen(command, cwd=lab.root, environ=environ, columns=110, rows=32)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._on.__exit__(*_)

    def screen(self):
        self._on._read()
        return "\n".join(self._on.screen.display)

    def key(self, name):
        self._on.type(NAMES.get(name, name))

    def type(self, text):
        self._on.type(text)

    def ended(self):
        self._on._read()
        return self._on.process.poll() is not None


def until(seen, *texts, seconds=60.0):
    end = time.monotonic() + seconds
    while not all(text in (shown := seen.screen()) for text in texts):
        assert time.monotonic() < end, f"{texts}:\n{shown}"
        time.sleep(0.1)


def gone(seen, text, seconds=60.0):
    end = time.monotonic() + seconds
    while text in seen.screen():
        assert time.monotonic() < end, text
        time.sleep(0.1)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(InTmux, marks=pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")),
        OnPseudoTerminal,
    ],
)
def test_an_incident_is_handled_by_keys_from_start_to_outcome(tmp_path, place):
    lab = Lab(tmp_path)
    lab.policy(APPROVE)
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))
    lab.book(
        STEPS, tools="say, change", meta='inputs: { host: { type: string, required: true, description: "Where" } }'
    )
    with place(lab, lab.command("tui")) as seen:
        until(seen, "No runs yet")
        seen.key("s")
        until(seen, "book.yaml")
        seen.key("Enter")
        until(seen, "host (string, required): Where")
        seen.type("web-1")
        until(seen, "web-1")
        seen.key("C-s")
        until(seen, "check | web-1 answers 500", "look asks: press Enter")
        seen.key("Enter")
        until(seen, "Find out what is wrong with web-1.", "[ Send ]")
        seen.type("the disk is full")
        until(seen, "the disk is full")
        seen.key("Enter")
        until(seen, "restart needs approval: press a")
        seen.key("a")
        until(seen, "Approvals: 1", "change web-1", "critical")
        seen.key("y")
        until(seen, "Approve step restart of book")
        for _ in "olga":
            seen.key("BSpace")
        gone(seen, "┃ olga")  # Textual takes letters that come in one go before the keys that delete
        time.sleep(0.5)
        seen.type("alice")
        until(seen, "alice")
        seen.key("Enter")
        seen.type("space was made")
        until(seen, "space was made")
        seen.key("Enter")
        time.sleep(0.5)
        seen.type("restart")
        until(seen, "┃ restart")
        seen.key("Enter")
        until(seen, "Are you sure?")
        seen.key("j")
        seen.key("Enter")
        until(seen, "Nothing waits for approval.")
        seen.key("q")
        until(seen, "Outcome: resolved (restarted)", "finding: the disk is full", "Status: resolved (restarted)")
        seen.key("q")
        end = time.monotonic() + 30
        while not seen.ended():
            assert time.monotonic() < end
            time.sleep(0.1)
    assert lab.path("changed").read_text() == "web-1\n"
    trace = next(tmp_path.glob("runs/*/trace.jsonl")).read_text().splitlines()
    (answer,) = (event["data"] for event in map(json.loads, trace) if event["type"] == "approval_response")
    assert (answer["approver_id"], answer["reason"], answer["approved"]) == ("alice", "space was made", True)
