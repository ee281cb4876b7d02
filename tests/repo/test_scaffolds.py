"""What ``gert new plugin`` writes has the shape and the style of the plugins in this repository."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest
from repository import ROOT, project_of

KINDS = ["approval", "command", "guard", "input", "notify", "policy", "signature", "step", "tools", "transport"]
# Whose it is and where it is kept is for its author to say.
PERSONAL = {"license-files", "authors", "classifiers", "urls"}


def gert(*args, cwd):
    subprocess.run([sys.executable, "-m", "gert_core", *args], cwd=cwd, capture_output=True, check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plugin_has_the_shape_of_a_member(tmp_path, kind):
    gert("new", "plugin", f"gert-{kind}-acme", cwd=tmp_path)
    directory = tmp_path / f"gert-{kind}-acme"
    data = tomllib.loads((directory / "pyproject.toml").read_text())
    member = project_of(ROOT / "plugins" / ("gert-notify-slack" if kind == "notify" else "gert-step-end"))
    shared = [key for key in data["project"] if key != "optional-dependencies"]
    assert shared == [key for key in member["project"] if key not in PERSONAL]
    assert data["build-system"] == member["build-system"]
    assert data["project"]["dependencies"] == member["project"]["dependencies"]
    assert data["project"]["entry-points"] == {"gert.v0": {f"{kind}-acme": f"gert_{kind}_acme"}}
    assert (directory / "README.md").read_text().startswith(f"# gert-{kind}-acme\n")
    assert (directory / "src" / f"gert_{kind}_acme" / "py.typed").exists()
    assert not [f for f in directory.rglob("*") if f.is_file() and re.search(r"@[A-Za-z]+@", f.read_text())]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plugin_is_clean(tmp_path, kind):
    gert("new", "plugin", f"{kind}-acme", cwd=tmp_path)
    for command in (["check", "--select", "E,F,W,I,UP,B"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", command[0], "--isolated", "--line-length", "120", *command[1:], "."],
            cwd=tmp_path / f"gert-{kind}-acme",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
