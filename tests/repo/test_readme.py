"""The README's two lines: one line each, the same set-up, and the second is what CI runs."""

from __future__ import annotations

import os
import re

from repository import ROOT

SETUP = "python3 -m venv .venv && .venv/bin/pip install uv && .venv/bin/uv pip install -p .venv "


def shell_blocks():
    return re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_two_lines_and_either_can_come_first():
    first, second = shell_blocks()[:2]
    assert first.count("\n") == second.count("\n") == 1
    assert first.startswith(SETUP)
    assert second.startswith(SETUP)


def test_ci_runs_the_second_line():
    script = ROOT / ".ci" / "run"
    assert script.read_text(encoding="utf-8").splitlines()[-1] == shell_blocks()[1].strip()
    assert os.access(script, os.X_OK)


def test_the_hooks_in_the_changelog_exist():
    from gert_core import hookspecs

    said = set(re.findall(r"`(gert_[a-z_]+)`", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    hooks = {name for name in vars(hookspecs) if name.startswith("gert_")}
    assert hooks <= said
    assert said <= hooks | {"gert_registry", "gert_run"}
