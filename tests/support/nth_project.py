"""A project for tests in which calls of the C library fail: its stages, and how a person brings a run to its end."""

from __future__ import annotations

import json
import shlex
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

from crash import idempotency_key

from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from pathlib import Path

    from nth_call import Done, NthCall

PROJECT = """\
name: faults
policies: [policy.yaml]
approvals: { provider: inbox }
"""
POLICY = """\
apiVersion: policy/v0
meta: { name: floor, version: "1" }
rules: [ { writes: [deployment], action: require-approval } ]
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: book, inputs: { host: { type: string, default: web } } }
tools: [probe, push, deploy]
steps:
  - { id: look, type: tool, tool: probe, inputs: { what: "{{ .host }}" } }
  - id: ask
    type: manual
    instructions: "Look at {{ .host }}."
    required_evidence: [ { kind: attachment, name: photo } ]
  - id: both
    type: parallel
    branches:
      - steps: [ { id: left, type: tool, tool: push, scope: left, inputs: { what: left } } ]
      - steps: [ { id: right, type: tool, tool: probe, scope: right, inputs: { what: right } } ]
  - { id: ship, type: tool, tool: deploy, inputs: { what: "{{ .look.said }}" } }
  - { id: done, type: end, outcome: { category: resolved, code: shipped, meta: { shipped: "{{ .ship.said }}" } } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: NAME, binary: sh }
contract:
  effects: [NAME]
  writes: [WRITES]
  idempotent: false
  inputs: { what: { type: any } }
  outputs: { said: { type: string } }
actions:
  do:
    argv: [sh, -c, 'echo $GERT_IDEMPOTENCY_KEY >> effects; echo NAME $0', "{{ .what }}"]
    extract: { said: { from: stdout } }
"""
SCENARIO = """\
inputs: { host: web }
tool_responses:
  probe: [ { exit_code: 0, stdout: "probe web" }, { exit_code: 0, stdout: "probe right" } ]
  push: [ { exit_code: 0, stdout: "push left" } ]
  deploy: [ { exit_code: 0, stdout: "deploy web" } ]
evidence: { ask: { photo: { path: photo.txt, sha256: SHA, size: 5 } } }
"""
WRITING = {"ask": None, "left": "both/0/left", "ship": "ship"}
OUTPUTS = {"both/0/left": {"said": "push left"}, "ship": {"said": "deploy probe web"}}
"""What a person finds out about a step that wrote before its end was recorded."""
ANSWERS = "photo.txt\n" * 8
CODES = (0, 1, 2, 3)


class FaultyProject:
    """A project at one stage of its one run; ``restore`` takes everything back to that stage."""

    def __init__(self, gert: NthCall, root: Path) -> None:
        self.gert = gert
        self.root = root
        self._kept = root.with_name(f"{root.name}.kept")
        files = {
            "gert-project.yaml": PROJECT,
            "policy.yaml": POLICY,
            "book.yaml": BOOK,
            "photo.txt": "photo",
            "tools/probe.tool.yaml": TOOL.replace("NAME", "probe").replace("WRITES", ""),
            "tools/push.tool.yaml": TOOL.replace("NAME", "push").replace("WRITES", "registry"),
            "tools/deploy.tool.yaml": TOOL.replace("NAME", "deploy").replace("WRITES", "deployment"),
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def keep(self) -> FaultyProject:
        """Make this the stage that ``restore`` comes back to."""
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self.root, self._kept)
        return self

    def restore(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self._kept, self.root)

    def __call__(self, *argv: str, answers: str = ANSWERS, **fault: Any) -> Done:
        return self.gert(*argv, cwd=self.root, answers=answers, **fault)

    # -- stages --------------------------------------------------------------------------------------------------

    def to(self, stage: str) -> FaultyProject:
        """Bring the run to a stage: fresh, waiting, approved, killed or finished; then keep it."""
        stages = ("fresh", "waiting", "approved", "finished")
        upto = stages.index("approved" if stage == "killed" else stage)
        if upto >= 1:
            self.good("exec", "book.yaml")
        if upto >= 2:
            self.good("approve", self.ticket(), "--as", "bob")
        if upto >= 3:
            self.good("resume", "--run", self.run.name)
        if stage == "killed":  # between the start of a step and its end
            lines = self.trace.read_bytes().splitlines(keepends=True)
            end = next(n for n, line in enumerate(lines) if b'"step_complete"' in line and b"both/0/left" in line)
            self.trace.write_bytes(b"".join(lines[:end]))
            shutil.rmtree(self.run / "tickets")
        return self.keep()

    def good(self, *argv: str) -> Done:
        done = self(*argv)
        assert done.code == 0, done
        return done

    # -- what is there -------------------------------------------------------------------------------------------

    @property
    def runs(self) -> list[Path]:
        found = self.root / "runs"
        return sorted(run for run in found.iterdir() if run.name[0] != ".") if found.is_dir() else []

    @property
    def run(self) -> Path:
        (only,) = self.runs
        return only

    @property
    def trace(self) -> Path:
        return self.run / "trace.jsonl"

    def ticket(self) -> str:
        found = json.loads(self.good("approvals", "list", "--json").out)
        (ticket,) = found["approvals"]
        return str(ticket["ticket_id"])

    def effects(self) -> Counter[str]:
        """How often each step of the run was executed, by its key."""
        file = self.root / "effects"
        marks = Counter(file.read_text().split() if file.exists() else ())
        found = {key: marks.pop(idempotency_key(run.name, key), 0) for run in self.runs for key in _KEYS}
        assert not marks, "a tool was executed outside of a run"
        return Counter({key: count for key, count in found.items() if count})

    def tree(self) -> dict[str, bytes]:
        """Every file but the cache and the holder of the lock."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.name not in ("state.json", "lock")
        }

    # -- to the end ----------------------------------------------------------------------------------------------

    def assert_sound(self) -> None:
        """Whatever is on disk verifies: whole chains, and whole JSON in every other file that is not temporary."""
        for run in self.runs:
            trace = run / "trace.jsonl"
            if trace.exists() and trace.stat().st_size:
                verdict = verify(trace, key_for=lambda *_: None, schemes=lambda _: None)
                assert verdict.status in (TraceStatus.UNSIGNED, TraceStatus.TRUNCATED), verdict
            for path in run.rglob("*.json"):
                if not path.name.startswith("."):
                    assert isinstance(json.loads(path.read_bytes()), dict), path

    def finish(self) -> None:
        """Without faults, as a person would: approve what waits, look after unknown outcomes, resume until it is over."""
        for run in self.runs:
            self._finish(run)

    def _finish(self, run: Path) -> None:
        for _ in range(8):
            shown = self("runs", "show", run.name, "--json")
            if shown.code:  # it never started, which resume says
                refused = self("resume", "--run", run.name, "--json")
                assert (refused.code in (1, 2), bool(self.effects())) == (True, False), refused
                return
            state = json.loads(shown.out)
            if state["status"] == "completed":
                assert state["outcome"]["code"] == "shipped", state
                return
            arguments = ["--retry-failed"] if state["status"] in ("failed", "error") else []
            for ticket in state["pending"]:
                answered = self("approve", ticket["ticket_id"], "--as", "bob")
                # A ticket that the trace names and that was not written is written when the run is resumed.
                reasons = ("answers it needs", "there is no ticket")
                assert answered.code == 0 or any(reason in answered.err for reason in reasons), answered
            resumed = self("resume", "--run", run.name, "--json", *arguments)
            if resumed.code and (error := json.loads(resumed.out).get("error")):
                if error["kind"] == "not_resumable":
                    assert not self.effects(), error
                    return
                assert error["kind"] == "unknown_outcome", (resumed.out, resumed.err)
                words = shlex.split(error["hint"])
                for key in [word.rpartition("=")[0] for word in words if word.endswith("=done|redo|failed")]:
                    verdict = "done" if self.effects()[key] else "redo"
                    arguments += ["--reconcile", f"{key}={verdict}"]
                    if verdict == "done":
                        arguments += ["--outputs", json.dumps(OUTPUTS[key])]
                resumed = self("resume", "--run", run.name, "--json", *arguments)
            assert resumed.code in (0, 1), resumed
        raise AssertionError(f"no end: {resumed}")

    def assert_once(self) -> None:
        """No step that writes was executed twice, and none that needs an approval without one."""
        twice = {key: count for key, count in self.effects().items() if count > 1 and key in OUTPUTS}
        assert not twice, twice


_KEYS = ("look", "both/0/left", "both/1/right", "ship")

__all__ = ["CODES", "FaultyProject"]
