"""Runbooks from other tools in their natural spelling: valid without a finding, rehearsed, and right in every scenario."""

from __future__ import annotations

import json

import pytest
from repository import ROOT

from gert_core.cli import main
from gert_core.validation.rules import MACHINE

PORTS = ROOT / "tests" / "data" / "ports"
BOOKS = sorted(PORTS.glob("*.runbook.yaml"))
INPUTS = {
    "ansible-reboot": ["hosts=[a]"],
    "ansible-rolling-update": ["hosts=[a]", "release=2.1", "previous=2.0"],
    "ansible-postgres-upgrade": ["nodes=[a]"],
    "gitlab-postgres-failover": ["candidate=pg-2"],
    "gitlab-redis-password": [],
    "rundeck-refresh-database": ["node=db-1", "token=not-a-token"],
    "rundeck-restart-service": ["nodes=[a]"],
    "ssm-golden-image": ["base=img-0"],
    "ssm-resize-instance": ["instance=i-1", "size=large"],
    "ssm-restart-instance": ["instance=i-0123abcd"],
    "stackstorm-deploy": ["hosts=[a]", "release=7"],
    "stackstorm-disk": ["host=a"],
}
books = pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.name.removesuffix(".runbook.yaml"))


@pytest.fixture
def gert(capsys):
    """Runs gert in this process and reads its JSON."""

    def run(*words):
        code = main([*map(str, words), "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return run


def test_there_are_twelve():
    assert sorted(INPUTS) == [book.name.removesuffix(".runbook.yaml") for book in BOOKS]
    assert len(BOOKS) == 12


@books
def test_it_is_valid_without_a_finding(gert, book):
    code, told, _ = gert("validate", book)
    assert (code, [one for one in told["diagnostics"] if one["rule"] not in MACHINE]) == (0, [])


@books
def test_it_is_rehearsed(gert, book, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = [word for pair in INPUTS[book.name.removesuffix(".runbook.yaml")] for word in ("--var", pair)]
    code, told, said = gert("exec", book, "--mode", "dry-run", *values)
    assert (code, told["status"]) == (0, "completed"), said
    assert list(tmp_path.iterdir()) == []


@books
def test_its_scenarios_pass_and_use_everything_they_have(gert, book):
    code, told, said = gert("test", book, "--all")
    assert (code, told["summary"]["passed"], said) == (0, 2, ""), told
