"""Repositories that are made to harm who compares with one of their revisions: `gert diff --against`."""

from __future__ import annotations

import base64
import os
import subprocess

import pytest
from gertproc import Gert

from gert_core.hosting import Host

BOOK = """\
apiVersion: kernel/v0
meta: { name: b }
steps:
  - { type: end, outcome: { category: resolved, code: ok } }
"""
WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
KEY = "hmac-sha256:" + base64.b64encode(b"0123456789abcdef" * 2).decode()


class Repository:
    """A repository with a runbook, its golden scenario, and revisions that git itself would not make."""

    def __init__(self, gert: Gert) -> None:
        self.gert = gert
        gert.write(book=BOOK)
        scenario = gert.root / "scenarios/book/one"
        scenario.mkdir(parents=True)
        (scenario / "scenario.yaml").write_text("{}\n")
        (scenario / "test.yaml").write_text("expected_status: completed\ngolden: true\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "one")

    def git(self, *argv: str, given: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *argv], cwd=self.gert.root, env=os.environ | WHO, input=given, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=data)

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        data = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_) for mode, name, object_ in entries)
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=data)

    def revision(self, *entries: tuple[str, bytes, str]) -> str:
        return self.git("commit-tree", self.tree(*entries), "-m", "two")


@pytest.fixture
def repository(tmp_path):
    return Repository(Gert(tmp_path))


def test_a_document_whose_content_is_missing(repository):
    revision = repository.revision(("100644", b"book.yaml", "a" * 40))
    said = repository.gert("diff", "book.yaml", "--against", revision)
    assert said.code == 2
    assert said.err.startswith(f"error: {repository.gert.root} does not have the content of 'book.yaml'\n")


def test_a_document_that_is_a_directory_too(repository):
    blob = repository.blob(b"a: 1\n")
    inside = repository.tree(("100644", b"x.yaml", blob))
    revision = repository.revision(("100644", b"a.yaml", blob), ("40000", b"a.yaml", inside))
    said = repository.gert("diff", "book.yaml", "--against", revision)
    assert said.code == 2
    assert said.err == f"error: 'a.yaml/x.yaml' of revision {revision!r} cannot be written: File exists\n"


def test_a_name_that_no_directory_can_have(repository):
    revision = repository.revision(("100644", b"a" * 400 + b".yaml", repository.blob(b"a: 1\n")))
    said = repository.gert("diff", "book.yaml", "--against", revision)
    assert said.code == 2
    assert said.err.endswith("cannot be written: File name too long\n")


def test_files_that_the_repository_says_are_elsewhere(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.yaml").write_text("{}\n")
    repository.git("config", "core.worktree", str(other))
    said = repository.gert("diff", "book.yaml", "--against", "HEAD")
    assert said.code == 1
    assert f"book.yaml is not in {other}, where its repository has its files" in " ".join(said.all.split())


def test_no_program_of_the_configuration_is_started_for_what_is_missing(repository, tmp_path):
    """A part of a repository asks its remote for the rest, whose address may be a command."""
    revision = repository.revision(("100644", b"book.yaml", "b" * 40))
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path),
        "remote.origin.uploadpack": f"touch {tmp_path}/started; false",
        "protocol.ext.allow": "always",
        "protocol.file.allow": "always",
    }.items():
        repository.git("config", name, value)
    for address in (str(tmp_path), f"ext::sh -c touch% {tmp_path}/started"):
        repository.git("config", "remote.origin.url", address)
        said = repository.gert("diff", "book.yaml", "--against", revision)
        assert said.code == 2
        assert not (tmp_path / "started").exists()


@pytest.fixture
def spied(repository, tmp_path):
    """A directory of programs whose git writes down its environment."""
    programs = tmp_path / "programs"
    programs.mkdir()
    spy = programs / "git"
    real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, check=True, text=True).stdout.strip()
    spy.write_text(f'#!/bin/sh\nenv >> {tmp_path}/environment\nexec {real} "$@"\n')
    spy.chmod(0o755)
    return f"{programs}:{repository.gert.environ['PATH']}"


def test_git_gets_no_key_and_no_address_of_a_store(repository, spied, tmp_path):
    given = {"GERT_TRACE_SIGNING_KEY": KEY, "GERT_STORE": "sqlite:runs.db"}
    assert repository.gert("diff", "book.yaml", "--against", "HEAD", PATH=spied, **given).code == 0
    assert not [line for line in (tmp_path / "environment").read_text().splitlines() if line.startswith("GERT_")]


def test_git_gets_no_key_of_a_host_either(repository, spied, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", spied)
    monkeypatch.setenv("GERT_TRACE_SIGNING_KEY", KEY)
    with Host(repository.gert.root) as host:
        assert host.diff(["book.yaml"], against="HEAD").same
    assert KEY not in (tmp_path / "environment").read_text()
