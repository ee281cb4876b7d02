"""git on a small repository made for the test; where there is no git, the words it gets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import gert_tools_git
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs


class TestPack(ToolPackConformance):
    plugin = gert_tools_git
    books = Path(__file__).parent / "books"
    takes_value = ("-C",)


PERSON = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in {
    "NAME": "Ada", "EMAIL": "ada@example.com", "DATE": "2024-05-01T10:00:00+02:00"}.items()}  # fmt: skip
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"}


@pytest.fixture
def repository(tmp_path):
    """Two commits, a tag on the first, a change that is not committed; hooks that must never run."""
    place = tmp_path / "repo"
    place.mkdir()
    environ = {**os.environ, **PERSON, **ALONE}

    def git(*words):
        subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True, env=environ)

    git("init", "-q", "-b", "main")
    (place / "VERSION").write_text("1.0\n")
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    git("tag", "v1.0")
    (place / "VERSION").write_text("2.0\n")
    (place / ".gitattributes").write_text("* diff=loud\n")
    git("add", ".")
    git("commit", "-q", "-m", "Go on: faster")
    (place / "VERSION").write_text("3.0\n")
    for setting in ("core.fsmonitor", "diff.external", "diff.loud.command", "diff.loud.textconv"):
        git("config", setting, f"touch {tmp_path / 'started'}; cat")
    git("config", "log.showSignature", "true")
    return place


@pytest.fixture
def git(gert_run, tmp_path, repository):
    gert_run.environ = {"PATH": os.environ["PATH"], **ALONE}

    def run(action, **inputs):
        return call(gert_run, "git/git", action, {"path": str(repository), **inputs})

    yield run
    assert not (tmp_path / "started").exists(), "a program named by the repository was started"


if shutil.which("git"):

    def test_what_a_repository_says(git):
        head = outputs(git("head"))
        assert (head["author"], head["subject"]) == ("Ada", "Go on: faster")
        assert head["date"] == "2024-05-01T10:00:00+02:00"
        assert outputs(git("branch")) == {"branch": "main"}
        assert outputs(git("status")) == {"changes": "M VERSION"}
        assert outputs(git("resolve", revision="main")) == {"commit": head["commit"]}
        lines = outputs(git("log", revision="main", count=5))["commits"].splitlines()
        assert [line.partition("Ada: ")[2] for line in lines] == ["Go on: faster", "Start"]
        assert outputs(git("diff", **{"from": "v1.0"}))["files"].splitlines()[-1] == "1\t1\tVERSION"
        assert outputs(git("file", revision="v1.0", file="VERSION")) == {"content": "1.0"}
        assert outputs(git("file", file="VERSION")) == {"content": "2.0"}

    @pytest.mark.parametrize(
        ("action", "inputs"),
        [
            ("log", {"revision": "--output=stolen"}),
            ("resolve", {"revision": "--git-dir"}),
            ("diff", {"from": "--output=stolen"}),
            ("file", {"revision": "--batch", "file": "VERSION"}),
            ("resolve", {"revision": "nothing"}),
            ("head", {"path": "-c"}),
        ],
    )
    def test_a_revision_is_never_an_option(git, repository, action, inputs):
        git(action, **inputs).assert_failed("exit_code")
        assert not (repository / "stolen").exists()
        assert not Path("stolen").exists()


def test_the_words_git_gets(gert_run, tmp_path):
    stand_in = StandIn.make(tmp_path / "bin", "git", stdout="0123abcd\nAda\n2024-05-01\nStart\n")
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    calls = {
        "head": {},
        "branch": {},
        "status": {},
        "log": {"revision": "-x"},
        "diff": {"from": "-a", "to": "-b"},
        "file": {"revision": "-x", "file": "f"},
    }
    for action, inputs in calls.items():
        call(gert_run, "git/git", action, inputs).assert_outcome("resolved")
    words = {action: made["argv"] for action, made in zip(calls, stand_in.calls, strict=True)}
    assert all(argv[:2] == ["-C", "."] for argv in words.values())
    assert "--no-optional-locks" in words["status"]
    assert words["log"][-3:] == ["--end-of-options", "-x", "--"]
    assert words["diff"][-4:] == ["--end-of-options", "-a", "-b", "--"]
    assert words["file"][-2:] == ["--end-of-options", "-x:f"]
