"""Draws a run as it looks in a terminal: an SVG made from what gert really printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Final

COMMAND: Final = ["exec", "disk-check.yaml", "--var", "limit=0", "--as", "bob"]
ANSWER: Final = "y alice: only old files"
STEADY: Final = (
    (re.compile(r"\| program .*\n(\|  .*\n)*"), "| program    /usr/bin/find\n"),
    (re.compile(r"\| cwd .*\n(\|  .*\n)*"), "| cwd        /home/bob/demo\n"),
    (re.compile(r"\d{8}T\d{6}Z-disk-check-[0-9a-f]{8}"), "20260301T120000Z-disk-check-1f2e3d4c"),
    (re.compile(r"trace: .*/runs/"), "trace: runs/"),
    (re.compile(r"expires +.*"), "expires    in 30 minutes, at 12:30 UTC"),
    (re.compile(r"\b\d+\.\d{2}s"), "0.01s"),
    (re.compile(r"\b\d+\.\d{3}s"), "0.024s"),
)
COLOURS: Final = {"✓": "#3fb950", "▸": "#39c5cf", "✗": "#f85149", "$": "#8b949e"}
SIZE: Final = 14
LINE: Final = 20


def page() -> str:
    """The picture; what differs from run to run is made the same."""
    lines = [f"$ gert {' '.join(COMMAND)}", *run()]
    width = max(map(len, lines)) * SIZE * 0.605 + 40
    height = len(lines) * LINE + 40
    rows = "\n".join(_row(line, 34 + number * LINE) for number, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" '
        f'role="img" aria-label="A run of a runbook that asks for approval before it writes">\n'
        "<!-- Written by docs/generate.py from a real run. -->\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="{SIZE}" fill="#e6edf3" '
        f'xml:space="preserve">\n{rows}\n</g>\n</svg>\n'
    )


def run() -> list[str]:
    """What gert prints for the project of ``gert init``, with the answer typed where it is asked for."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
    environ |= {"NO_COLOR": "1", "COLUMNS": "80"}
    with tempfile.TemporaryDirectory() as folder:
        _gert(["init", "."], folder, environ, "")
        said = _gert(COMMAND, folder, environ, ANSWER)
    said = re.sub(r"(Approve .*?\[: reason\]) ?\n?", rf"\1 {ANSWER}\n", said)
    for pattern, text in STEADY:
        said = pattern.sub(text, said)
    return said.rstrip().splitlines()


def _gert(words: list[str], folder: str, environ: dict[str, str], answer: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", *words],
        cwd=Path(folder),
        env=environ,
        input=answer,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def _row(line: str, y: int) -> str:
    shown = re.sub(
        r"[✓▸✗$](?= )", lambda mark: f'<tspan fill="{COLOURS[mark[0]]}">{mark[0]}</tspan>', escape(line), count=1
    )
    return f'<text x="20" y="{y}">{shown}</text>'


__all__ = ["page"]
