"""Draws pictures of real runs in a real terminal for README and docs: ``python scripts/screenshots.py [--check]``.

gert runs on a pseudo-terminal, an emulator reads the screen, and what differs from run to run (times, ids, paths) is
made the same. A test compares the pictures with those that are kept.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from html import escape
from importlib import import_module
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
OnScreen: Any = import_module("screens").OnScreen  # the same terminal that tests look at
picture_of: Any = import_module("docs.generator.picture").drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLUMNS: Final = 96
ROWS: Final = 30
STEADY: Final = (
    (re.compile(r"\d{8}T\d{6}Z-rollout-[0-9a-f]{8}"), "20260301T120000Z-rollout-1f2e3d4c"),
    (re.compile(r"\d{8}T\d{6}Z-incident-triage-[0-9a-f]{8}"), "20260301T120000Z-incident-triage-1f2e3d4c"),
    (re.compile(r"(?<=Duration: )\d+s"), "4s"),
    (re.compile(r"trace: \S*/runs/\S*"), "trace: runs/20260301T120000Z-rollout-1f2e3d4c/trace.jsonl"),
    (re.compile(r"\b\d+\.\d{3}s"), "4.218s"),
    (re.compile(r"\b\d+\.\d{2}s"), "0.31s"),
    (re.compile(r"\b\d+\.\ds"), "2.4s"),
    (re.compile(r"(?<=rollout  )\d+s"), "4s"),
)
SETTLED: Final = 2.5
"""Seconds in which a screen is drawn whole."""
TUI_COLUMNS: Final = 116
TUI_ROWS: Final = 26
INCIDENT: Final = {
    "curl": "printf 'oops[HTTP 500 0.050000s]'",
    "journalctl": "echo 'shop[12]: KeyError: cart'",
    "git": "printf '9fceb02d0ae5\\nAda\\n2024-05-01T10:00:00+02:00\\nFaster checkout\\n'",
}
"""What the programs of the incident say."""
COLOURS: Final = {"green": "#3fb950", "cyan": "#39c5cf", "red": "#f85149", "brown": "#d29922"}
TOOL: Final = """\
apiVersion: tool/v0
meta: {name: cluster}
contract: {effects: [network], idempotent: true, inputs: {verb: {type: string}, what: {type: string}}}
actions: {run: {argv: [cluster, "{{ .verb }}", "{{ .what }}"]}}
"""
BOOK: Final = """\
apiVersion: kernel/v0
meta: {name: rollout}
tools: [cluster]
steps:
  - {id: build, type: tool, tool: cluster, inputs: {verb: build, what: web}}
  - id: prepare
    type: parallel
    branches:
      - {label: images, steps: [{id: pull, type: tool, tool: cluster, inputs: {verb: pull, what: web}}]}
      - label: traffic
        steps:
          - {id: count, type: tool, tool: cluster, inputs: {verb: count, what: web}}
          - {id: drain, type: tool, tool: cluster, inputs: {verb: drain, what: web}}
  - id: node
    type: tool
    tool: cluster
    inputs: {verb: restart, what: "{{ .n }}"}
    for_each: {as: n, over: [web-1, web-2, web-3, web-4, web-5, web-6], key: "{{ .n }}"}
  - {type: end, outcome: {category: resolved, code: rolled_out}}
"""
PROGRAM: Final = """\
#!/bin/sh
held() { while ! test -e "$1"; do sleep 0.05; done; }
case "$1 $2" in
  "count web") held pulling ;;
  "pull web") touch pulling; echo "layer 3 of 7"; held pull ;;
  "drain web") echo "12 connections"; held drain ;;
  "restart web-4") echo "waiting for /healthz"; held restart ;;
  "restart web-6") for n in $(seq 1 20); do echo "attempt $n: connection refused" >&2; done; exit 3 ;;
esac
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every picture."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GERT_", "GITHUB_"))}
    environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (("tools/cluster.tool.yaml", TOOL), ("rollout.yaml", BOOK), ("bin/cluster", PROGRAM)):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / "bin" / "cluster").chmod(0o755)
        environ["PATH"] = f"{root / 'bin'}{os.pathsep}{environ['PATH']}"
        command = [sys.executable, "-m", "gert_core", "exec", "rollout.yaml"]
        with OnScreen(command, cwd=root, environ=environ, columns=COLUMNS, rows=ROWS) as seen:
            seen.until(_shows("→ pull", "layer 3", "→ drain", "12 connections"))
            yield "live.svg", picture(seen, "What runs now stands below the steps that are over")
            (root / "pull").touch()
            seen.until(lambda now: any("✓ pull" in line for line in now.lines))
            (root / "drain").touch()
            seen.until(_shows("3/6", "waiting for /healthz"))
            yield "loop.svg", picture(seen, "A loop with a bar, and the item that runs")
            (root / "restart").touch()
            seen.end()
            yield "failed.svg", picture(seen, "A run that failed ends with what to do next", start="✗ Run failed")
    yield from incident(environ)


def incident(environ: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the picture of ``gert tui`` with the incident of the examples, where it asks a person."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copytree(ROOT / "examples" / "runbooks" / "incident-triage", root / "incident-triage")
        (root / "bin").mkdir()
        for name, text in INCIDENT.items():
            (root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (root / "bin" / name).chmod(0o755)
        given = ("incident_id=INC-1003", "severity=sev2", "url=https://shop.example.com/healthz", "unit=shop")
        words = [word for one in given for word in ("--var", one)]
        command = [sys.executable, "-m", "gert_core", "tui", "incident-triage/incident-triage.runbook.yaml", *words]
        environ = {**environ, "PATH": f"{root / 'bin'}{os.pathsep}{environ['PATH']}", "GERT_ACTOR": "olga"}
        with OnScreen(command, cwd=root, environ=environ, columns=TUI_COLUMNS, rows=TUI_ROWS) as seen:
            _settle(seen, "investigate asks: press Enter")
            seen.type("o")  # of this step alone: what branches write comes in any order
            _settle(seen, "Find out what is")
            label = "gert tui: the steps of an incident, what its tools wrote, and a question"
            yield "tui.svg", picture(seen, label, columns=TUI_COLUMNS)


def _settle(seen: Any, text: str) -> None:
    """Wait until the screen has a text, and then until everything around it is drawn."""
    seen.until(lambda now: any(text in line for line in now.lines))
    until = time.monotonic() + SETTLED
    seen.until(lambda now: time.monotonic() > until and any(text in line for line in now.lines))


def _shows(*texts: str) -> Callable[[Any], bool]:
    return lambda seen: all(text in str(seen.block) for text in texts)


def picture(seen: Any, label: str, *, start: str = "", columns: int = COLUMNS) -> str:
    """Return the screen as SVG, from the line that begins with ``start`` on."""
    rows = [number for number, line in enumerate(seen.screen.display) if line.strip()]
    first = next(number for number in rows if seen.screen.display[number].startswith(start))
    drawn = [_row(seen, number) for number in rows if number >= first]
    return str(picture_of(drawn, columns, label=label, writer="scripts/screenshots.py"))


def _row(seen: Any, number: int) -> str:
    """Return a row with its colours; what varies is replaced in the plain parts, which are all that has it."""
    parts: list[tuple[str, str]] = []
    for x in range(seen.screen.columns):
        char = seen.screen.buffer[number][x]
        style = f' fill="{COLOURS[char.fg]}"' if char.fg in COLOURS else ""
        style += ' font-weight="bold"' if char.bold else ""
        if parts and parts[-1][1] == style:
            parts[-1] = parts[-1][0] + char.data, style
        else:
            parts.append((char.data, style))
    parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
    return "".join(f"<tspan{style}>{_steady(text)}</tspan>" if style else _steady(text) for text, style in parts)


def _steady(text: str) -> str:
    for pattern, replacement in STEADY:
        text = pattern.sub(replacement, text)
    return escape(text)


def main(arguments: list[str]) -> int:
    """Write every picture, or with ``--check`` only compare; the exit code tells whether one was stale."""
    stale = []
    for name, text in pages():
        file = ROOT / "docs" / "screens" / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/screens/{name} {'is stale' if '--check' in arguments else 'written'}")
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
