"""``gert init``: a project that works at once, and files of yours that stay as they are."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gert_core.validation import validate_file


def gert(*args, cwd, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "gert_core", *args], cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )


@pytest.fixture
def demo(tmp_path):
    done = gert("init", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "demo"


def test_the_tests_pass_at_once(demo):
    done = gert("test", ".", "--json", cwd=demo)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["summary"] == {"total": 3, "passed": 3, "failed": 0, "skipped": 0, "errors": 0}


def test_everything_is_valid_without_a_warning(demo):
    done = gert("validate", "--strict", ".", cwd=demo)
    assert done.returncode == 0, done.stdout


def test_it_runs_and_asks_for_approval_before_it_writes(demo):
    first = gert("exec", "disk-check.yaml", "--var", "limit=100", cwd=demo)
    assert "✓ Outcome: no_action (enough_space) [real]" in first.stdout
    (demo / "cache" / "keep.txt").write_text("mine")
    refused = gert("exec", "disk-check.yaml", "--var", "limit=-1", cwd=demo, stdin="n alice: still in use\n")
    assert refused.returncode == 1
    assert (demo / "cache" / "old.tmp").exists()
    done = gert("exec", "disk-check.yaml", "--var", "limit=-1", cwd=demo, stdin="y alice\n")
    assert "✓ Outcome: resolved (cache_cleared) [real]" in done.stdout, done.stderr
    assert not (demo / "cache" / "old.tmp").exists()
    assert (demo / "cache" / "keep.txt").exists()


def test_the_next_commands_are_real(demo, tmp_path):
    said = gert("init", "again", cwd=tmp_path).stdout
    lines = said.partition("Next:\n")[2].splitlines()
    commands = [line.partition("#")[0].split() for line in lines]
    assert commands[0] == ["cd", "again"]
    for words in commands[1:]:
        assert words[0] == "gert"
        done = gert(*words[1:], cwd=tmp_path / "again", stdin="y alice\n")
        assert done.returncode == 0, (words, done.stderr)


def test_nothing_is_overwritten_and_nothing_is_half_written(tmp_path):
    (tmp_path / "tools").mkdir()
    mine = tmp_path / "tools" / "disk.tool.yaml"
    mine.write_text("mine")
    done = gert("init", cwd=tmp_path)
    assert done.returncode == 2
    assert "tools/disk.tool.yaml already exists; nothing was written" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "mine"


def test_a_readme_of_your_own_stays(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    assert gert("init", cwd=tmp_path).returncode == 0
    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / ".gitignore").read_text() == "runs/\n"


def test_a_file_is_no_place_for_a_project(tmp_path):
    (tmp_path / "here").write_text("")
    done = gert("init", "here", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: here is a file, not a directory\n")


@pytest.mark.parametrize("name", ["true", "2026", "a: b", 'it\'s "odd" # here', "ünï"])
def test_any_directory_name_makes_a_valid_project(tmp_path, name, gert_registry):
    assert gert("init", name, cwd=tmp_path).returncode == 0
    found = validate_file(tmp_path / name / "gert-project.yaml", registry=gert_registry())
    assert found.valid
    assert found.name == name


def test_json_lists_the_files(tmp_path):
    document = json.loads(gert("init", "demo", "--json", cwd=tmp_path).stdout)
    assert document["directory"] == "demo"
    assert all((tmp_path / name).is_file() for name in document["files"])
    assert "demo/disk-check.yaml" in document["files"]
