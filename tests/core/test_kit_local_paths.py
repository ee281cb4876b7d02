"""Sentences for people elsewhere, without the directories of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from gert_core.kit.local_paths import without_directories


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("there is no ticket 't-1' in /srv/ops/runs", "there is no ticket 't-1' in runs"),
        ("the policy '/srv/ops/house.yaml' is invalid: line 1", "the policy 'house.yaml' is invalid: line 1"),
        ("/srv/ops/house.yaml:3: bad", "house.yaml:3: bad"),
        ("the directory / or ~/x/ is gone", "the directory ... or ... is gone"),
        ("gert approvals list --store sqlite:////srv/ops/runs.db", "gert approvals list --store ..."),
        ("postgresql://user@db.internal/gert does not answer", "... does not answer"),
        ("see https://gert.example.com/tickets/t-1", "see https://gert.example.com/tickets/t-1"),
        ("policies/house.yaml and a/b and 1/2", "policies/house.yaml and a/b and 1/2"),
    ],
)
def test_only_the_last_part_of_a_path_is_told(text, told):
    assert without_directories(text) == told


def test_a_directory_with_a_blank_is_left_out(tmp_path, monkeypatch):
    here = tmp_path / "my ops"
    here.mkdir()
    monkeypatch.chdir(here)
    assert without_directories(f"{Path.cwd()}/runs/x is gone") == "x is gone"
