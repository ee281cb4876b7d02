"""``nox -s release``: tried on a copy of the repository, whose own tests then say whether everything agrees."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib

import pytest
from repository import ROOT, copy_checkout

CURRENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.fixture
def copy(tmp_path):
    copy = copy_checkout(tmp_path / "gert")
    # Right after a release there is nothing to release yet.
    changelog = copy / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("## Unreleased\n", "## Unreleased\n\n- One change.\n"), encoding="utf-8")
    return copy


def run(copy, *words):
    """Run Python in the copy, with the copy's own core in front of the one that is installed."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "GERT_"))}
    return subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env={**environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )


def release(copy, *words):
    return run(copy, "scripts/release.py", *words)


def fingerprint(copy):
    files = sorted(f for f in copy.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def next_minor():
    major, minor, _ = CURRENT.split(".")
    return f"{major}.{int(minor) + 1}.0"


def test_one_version_reaches_every_distribution_bound_scaffold_and_heading(copy):
    version = next_minor()
    done = run(copy, "-m", "nox", "-s", "release", "--", version)
    assert done.returncode == 0, done.stderr
    # The copy's own tests hold that every project file, the core and the scaffolds agree with each other.
    names = ("test_members.py", "test_scaffolds.py")
    held = run(copy, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/repo/{name}" for name in names))
    assert held.returncode == 0, held.stdout
    project = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == version
    assert run(copy, "-m", "gert_core", "--version").stdout == f"gert {version}\n"
    low, high = version.rpartition(".")[0], f"{version.split('.')[0]}.{int(version.split('.')[1]) + 1}"
    for file in copy.glob("examples/*/pyproject.toml"):
        data = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        before = tomllib.loads((ROOT / file.relative_to(copy)).read_text(encoding="utf-8"))["project"]
        assert data["dependencies"] == [f"gert-core>={low},<{high}"]
        assert data["version"] == before["version"], "an example has a version of its own"
    assert release(copy, "--check", version).returncode == 0


def test_the_changelog_gets_a_dated_heading_and_room_for_what_comes_next(copy):
    before = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    assert release(copy, next_minor()).returncode == 0
    after = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(
        rf"^## Unreleased\n\n(## {re.escape(next_minor())} \(\d{{4}}-\d\d-\d\d\)\n)", after, re.MULTILINE
    )
    assert heading
    assert after.replace(f"## Unreleased\n\n{heading[1]}", "## Unreleased\n") == before


def test_the_current_version_can_be_the_first_to_be_released(copy):
    (copy / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Everything.\n", encoding="utf-8")
    assert release(copy, "--check", CURRENT).returncode == 1
    assert release(copy, CURRENT).returncode == 0
    assert release(copy, "--check", CURRENT).returncode == 0


@pytest.mark.parametrize(
    ("version", "changelog", "said"),
    [
        ("1.0", None, "is not a valid version"),
        ("1.0.0rc1", None, "is not a valid version"),
        ("v1.0.0", None, "is not a valid version"),
        ("01.0.0", None, "is not a valid version"),
        ("0.0.1", None, "is older than the current version"),
        ("9.0.0", "# Changelog\n", "has no heading"),
        ("9.0.0", "## Unreleased\n\n## 8.0.0 (2026-01-01)\n\n- Old.\n", "has no entries"),
        ("9.0.0", "## Unreleased\n\n- New.\n\n## 9.0.0 (2026-01-01)\n\n- Old.\n", "already has a section"),
    ],
)
def test_what_is_no_release_changes_nothing(copy, version, changelog, said):
    if changelog is not None:
        (copy / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    before = fingerprint(copy)
    done = release(copy, version)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert fingerprint(copy) == before


def test_one_file_that_disagrees_is_named(copy):
    assert release(copy, next_minor()).returncode == 0
    file = copy / "plugins" / "gert-step-end" / "pyproject.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(next_minor(), CURRENT), encoding="utf-8")
    done = release(copy, "--check", next_minor())
    assert done.returncode == 1
    assert "plugins/gert-step-end/pyproject.toml; run" in done.stderr
