"""Make runs of the present version in ``tests/data/kept_runs/VERSION``, which every later version verifies and resumes.

``nox -s keep_runs`` calls it once per release. A trace is a chain of hashes and names the directory it was made in, so
the runs are made in the directory that the tests put them back into, and are never edited afterwards.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from gert_core import __version__

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "data" / "kept_runs"
PLACE = Path("/tmp/gert-kept-runs")  # noqa: S108 - the same on every machine, as it stands in the traces
KEY = {
    "GERT_TRACE_SIGNING_KEY": base64.b64encode(b"a public key for the tests, 32 b").decode(),
    "GERT_TRACE_SIGNING_KEY_ID": "kept",
}
SECRET = {"KEPT_TOKEN": "hunter2hunter2"}
FILES = {
    "gert-project.yaml": "name: kept\npolicies: [policy.yaml]\napprovals: { provider: inbox }\n",
    "policy.yaml": """\
apiVersion: policy/v0
meta: { name: floor, version: "1" }
rules: [ { writes: [deployment], action: require-approval } ]
""",
    "runbook.yaml": """\
apiVersion: kernel/v0
meta:
  name: kept
  inputs: { host: { type: string, default: web-1 } }
  constants: { nodes: [ { id: n-1 }, { id: n/2 } ] }
  secrets: [ { env: KEPT_TOKEN } ]
  governance: { approval_timeout: 876000h }
tools: [probe, push, deploy]
steps:
  - { id: look, type: tool, tool: probe, inputs: { what: "{{ .host }}" } }
  - { id: sane, type: assert, assert: [ { type: equals, value: "{{ .look.said }}", expected: "probe web-1" } ] }
  - id: ask
    type: manual
    instructions: "Look at {{ .host }}."
    required_evidence: [ { kind: text, name: notes } ]
  - id: both
    type: parallel
    branches:
      - steps: [ { id: left, type: tool, tool: push, scope: left, inputs: { what: left } } ]
      - steps: [ { id: right, type: tool, tool: probe, scope: right, inputs: { what: right } } ]
  - id: each
    type: tool
    tool: push
    for_each: { as: node, over: "{{ .nodes }}", key: "{{ .node.id }}" }
    inputs: { what: "{{ .node.id }}" }
  - id: turns
    type: repeat
    repeat: { max: 3, until: "{{ ge .repeat.index 1 }}" }
    steps: [ { id: turn, type: tool, tool: probe, scope: turn, inputs: { what: "{{ .repeat.index }}" } } ]
  - id: which
    type: branch
    branches:
      - condition: '{{ eq .notes "fine" }}'
        steps: [ { id: ship, type: tool, tool: deploy, inputs: { what: "{{ .host }}" } } ]
      - { condition: default, steps: [ { id: never, type: end, outcome: { category: escalated } } ] }
  - { id: last, type: tool, tool: push, scope: last, inputs: { what: last } }
  - { id: done, type: end, outcome: { category: resolved, code: shipped, meta: { turns: "{{ .turns.iterations }}" } } }
""",
}
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
    argv: [sh, mark, NAME, "{{ .what }}"]
    extract: { said: { from: stdout } }
"""
MARK = """\
# Leaves a mark per execution; a file kill-WHAT or fail-WHAT decides that gert is killed or the program fails.
if test -e "fail-$2"; then exit 3; fi
echo "$GERT_IDEMPOTENCY_KEY" >> effects
if test -e "kill-$2"; then kill -9 $PPID; sleep 5; fi
echo "$1 $2"
"""
TOOLS = {"probe": "", "push": "registry", "deploy": "deployment"}


class Made:
    """The runs of one version while they are made."""

    def __init__(self, place: Path) -> None:
        self.place = place
        files = FILES | {"mark": MARK}
        for name, writes in TOOLS.items():
            files[f"tools/{name}.tool.yaml"] = TOOL.replace("NAME", name).replace("WRITES", writes)
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        self.runs: dict[str, dict[str, Any]] = {}
        self.environ: dict[str, str] = {}

    def gert(self, *argv: str, code: int = 0) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        done = subprocess.run(
            [sys.executable, "-m", "gert_core", *argv],
            cwd=self.place,
            env={**given, "PATH": path, "USER": "alice", **SECRET, **self.environ},
            input="\nfine\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != code:
            raise SystemExit(f"gert {' '.join(argv)} ended with {done.returncode}: {done.stdout} {done.stderr}")
        return done.stdout

    def start(self, *, code: int = 0, trap: str | None = None) -> str:
        """Start a run, with a trap set for one of its steps; return its id."""
        before = set(self._ids())
        if trap is not None:
            (self.place / trap).write_text("")
        self.gert("exec", "runbook.yaml", code=code)
        if trap is not None:
            (self.place / trap).unlink()
        (run,) = set(self._ids()) - before
        return run

    def approve(self, run: str) -> None:
        waiting = json.loads(self.gert("runs", "show", run, "--json"))["pending"]
        self.gert("approve", waiting[0]["ticket_id"], "--as", "bob")

    def keep(self, name: str, run: str, **expected: Any) -> None:
        """Note what later versions must find."""
        self.runs[name] = {"run": run, "environ": sorted(self.environ), **expected}

    def _ids(self) -> list[str]:
        runs = self.place / "runs"
        return [path.name for path in runs.iterdir()] if runs.is_dir() else []


def make(made: Made) -> None:
    """Make one run of each kind."""
    done, waits = {"status": "completed", "code": "shipped"}, {"status": "approval_pending", "code": None}
    run = made.start()
    made.keep("waiting", run, verdict="unsigned", status="approval_pending", resume=[], then=waits)
    run = made.start()
    made.approve(run)
    made.keep("approved", run, verdict="unsigned", status="approval_pending", resume=[], then=done)
    run = made.start()
    made.approve(run)
    made.gert("resume", "--run", run)
    made.keep("finished", run, verdict="unsigned", status="completed", resume=[], then=done)
    stated = ["--reconcile", "both/0/left=done", "--outputs", '{"said": "push left"}']
    run = made.start(code=-9, trap="kill-left")
    made.keep("killed", run, verdict="truncated", status="interrupted", resume=stated, then=waits)
    run = made.start(code=-9, trap="kill-n-1")
    stated = ["--reconcile", "each[n-1]=done", "--outputs", '{"said": "push n-1"}']
    made.keep("killed-in-a-loop", run, verdict="truncated", status="interrupted", resume=stated, then=waits)
    run = made.start(code=-9, trap="kill-0")
    made.keep("killed-reading", run, verdict="truncated", status="interrupted", resume=[], then=waits)
    run = made.start(code=1, trap="fail-left")
    again = ["--retry-failed", "--reconcile", "both/0/left=redo"]
    made.keep("failed", run, verdict="unsigned", status="failed", resume=again, then=waits)
    run = made.start(code=-9, trap="kill-0")
    trace = made.place / "runs" / run / "trace.jsonl"
    trace.write_bytes(trace.read_bytes() + b'{"type":"step_comp')
    made.keep("torn", run, verdict="truncated", status="interrupted", resume=[], then=waits)
    made.environ = dict(KEY)
    run = made.start()
    made.approve(run)
    made.keep("signed", run, verdict="valid", status="approval_pending", resume=[], then=done)
    run = made.start()
    made.approve(run)
    made.gert("resume", "--run", run)
    made.keep("signed-finished", run, verdict="valid", status="completed", resume=[], then=done)


def main() -> int:
    """Make and keep the runs; refuse where a version has some already."""
    target = KEPT / __version__
    if target.exists():
        sys.stderr.write(f"{target} is there already: the runs of a version are made once\n")
        return 1
    place = PLACE / __version__
    place.mkdir(parents=True)
    try:
        made = Made(place)
        make(made)
        (place / "runs.json").write_text(json.dumps(made.runs, indent=2) + "\n", encoding="utf-8")
        shutil.copytree(place, target, ignore=shutil.ignore_patterns("lock", "state.json"))
        (target / "runs").rename(target / "kept")  # a directory named runs is ignored by git
    finally:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
