"""Help in terminals of any width: nothing runs over the edge, nothing is squeezed into a corner, nothing is missing."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from gert_core.cli.commands.completion import entries

ENTRIES = {entry.path: entry for entry in entries()}


def shown(*args, columns):
    """What help prints into a pipe; COLUMNS says how wide the terminal is."""
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", *args, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    assert not done.stderr
    return done.stdout.splitlines()


def too_long(lines, columns):
    """The lines that could be shorter: of a single word nothing can be put on the next line."""
    return [line for line in lines if len(line) > columns and len(line.removesuffix(" \\").split()) > 1]


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path or "gert")
def test_help_fits_into_40_columns(path):
    lines = shown(*path.split(), columns=40)
    assert too_long(lines, 40) == []
    assert [line for line in lines if len(line) - len(line.lstrip()) > 8] == [], "an empty corner"
    assert [line for line in lines if line != line.rstrip()] == []
    entry = ENTRIES[path]
    start = lines.index("Options:" if path else "Commands:")
    for name, text in entry.options if path else entry.commands:
        names = [line.replace(",", "").split() if line[:3].strip() else [] for line in lines]
        at = next(n for n, words in enumerate(names) if n > start and name in words)
        below = " ".join(line.strip() for line in lines[at + 1 : at + 12])
        assert lines[at + 1].startswith("      "), (name, lines[at + 1])
        assert name == "--help" or below.startswith(" ".join(text.split())[:30]), (name, below)


def test_help_of_gert_at_40_columns_to_the_letter():
    lines = shown(columns=40)
    assert lines[:9] == [
        "Usage: gert [-p NAME] COMMAND [ARGS]...",
        "",
        "Governed, replayable runbooks.",
        "",
        "Commands:",
        "  validate",
        "      Check runbooks, tools and other",
        "      documents.",
        "  exec",
    ]


def test_help_of_a_verb_at_40_columns_to_the_letter():
    first, argument, *lines = shown("validate", columns=40)
    assert first == "Usage: gert validate [OPTIONS]"
    assert argument.strip() in ("{FILE}...", "FILE...", "FILE"), "as the version of Typer writes it"
    assert lines == [
        "",
        "  Check runbooks, tools, policies,",
        "  projects and scenarios without",
        "  running anything.",
        "",
        "  Examples:",
        "    # one document",
        "    gert validate disk-check.yaml",
        "    # everything below a directory",
        "    gert validate .",
        "    # in CI, warnings included",
        "    gert validate . --strict --sarif \\",
        "      findings.sarif",
        "",
        "Arguments:",
        "  FILE",
        "      Documents, or directories of them.",
        "      [required]",
        "",
        "Options:",
        "  --json",
        "      Print one JSON document.",
        "  --sarif FILE",
        "      Also write the findings as SARIF",
        "      2.1.0.",
        "  --strict",
        "      Let warnings fail too, except",
        "      those about this machine.",
        "  --help",
        "      Show this message and exit.",
    ]


@pytest.mark.parametrize("columns", [36, 59, 60, 80, 200])
def test_other_widths_hold_too(columns):
    lines = [line for line in shown("resume", columns=columns) if " # " not in line]
    assert too_long(lines, columns) == []
    usage, _, *rest = shown(columns=columns)
    assert usage == "Usage: gert [-p NAME] COMMAND [ARGS]..."
    assert too_long(rest, columns) == []


def test_a_terminal_of_40_columns_is_recognised():
    """Without COLUMNS, the terminal itself is asked."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    running = subprocess.Popen(
        [sys.executable, "-m", "gert_core", "approve", "--help"], stdout=theirs, stderr=theirs, env=environ
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert running.wait(10) == 0
    lines = seen.decode().replace("\r\n", "\n").splitlines()
    assert "  --as ID" in lines
    assert too_long(lines, 40) == []
