"""Draws a run as it looks in a terminal: an SVG made from what gert really printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

COMMAND: Final = ["exec", "disk-check.yaml", "--var", "limit=0", "--as", "bob"]
ANSWER: Final = "y alice: only old files"
STEADY: Final = (
    (re.compile(r"\| program .*\n(\|  .*\n)*"), "| program    /usr/bin/find\n"),
    (re.compile(r"\| cwd .*\n(\|  .*\n)*"), "| cwd        /home/bob/demo\n"),
    (re.compile(r"\d{8}T\d{6}Z-disk-check-[0-9a-f]{8}"), "20260301T120000Z-disk-check-1f2e3d4c"),
    (re.compile(r"trace: .*/runs/"), "trace: runs/"),
    (re.compile(r"expires +.*"), "expires    in 30 minutes, at 12:30 UTC"),
    (re.compile(r" \(waited [^)]*\)"), ""),  # on a machine that is busy with other things
    (re.compile(r"\b\d+\.\d{2}s"), "0.01s"),
    (re.compile(r"\b\d+\.\d{3}s"), "0.024s"),
)
COLOURS: Final = {"✓": "#3fb950", "▸": "#39c5cf", "✗": "#f85149", "$": "#8b949e"}
SIZE: Final = 14
LINE: Final = 20


def page() -> str:
    """The picture; what differs from run to run is made the same."""
    lines = [f"$ gert {' '.join(COMMAND)}", *run()]
    label = "A run of a runbook that asks for approval before it writes"
    return drawn(map(_marked, lines), max(map(len, lines)), label=label, writer="docs/generate.py")


def drawn(rows: Iterable[str], columns: int, *, label: str, writer: str) -> str:
    """Return rows of marked-up text as a picture of a terminal of so many columns."""
    placed = [f'<text x="20" y="{34 + number * LINE}">{row}</text>' for number, row in enumerate(rows)]
    width, height, body = columns * SIZE * 0.605 + 40, len(placed) * LINE + 40, "\n".join(placed)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-label="{escape(label)}">\n'
        f"<!-- Written by {writer} from a real run. -->\n"
        # Browsers differ in which of the two keeps spaces.
        "<style>text, tspan { white-space: pre }</style>\n"
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" '
        f'font-size="{SIZE}" fill="#e6edf3" xml:space="preserve">\n{body}\n</g>\n</svg>\n'
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


def _marked(line: str) -> str:
    return re.sub(
        r"[✓▸✗$](?= )", lambda mark: f'<tspan fill="{COLOURS[mark[0]]}">{mark[0]}</tspan>', escape(line), count=1
    )
