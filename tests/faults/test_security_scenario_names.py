"""Scenarios whose names and tests hold ends of lines and escape sequences, shown by every command that lists them."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

NAME = "x\x1b[2J\nFORGED\u202e"
BOOK = """\
apiVersion: kernel/v0
meta: { name: b }
steps:
  - { type: end, outcome: { category: resolved, code: ok } }
"""


@pytest.mark.parametrize(
    "command",
    ["scenario list book.yaml", "test book.yaml --all", "diff book.yaml --all", "test . --all", "scenario scan ."],
)
def test_no_line_end_in_the_name_of_a_scenario_begins_a_line(tmp_path, command):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    scenario = tmp_path / "scenarios/book" / NAME
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("{}\n")
    # Expects something else, so that failures, paths and hints are shown as well.
    (scenario / "test.yaml").write_text(f"expected_code: {json.dumps(NAME)}\ntags: [{json.dumps(NAME)}, recorded]\n")
    said = gert(*command.split())
    assert "FORGED" in said.all or command.startswith("scenario scan")
    assert not [line for line in said.all.splitlines() if line.lstrip().startswith("FORGED")], said.all
    assert not {"\x1b", "\u202e"} & set(said.all), said.all


def test_a_warning_about_a_scenario_is_one_line(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    (tmp_path / "book\nFORGED.yaml").write_text(BOOK)
    for command in ("test", "diff"):
        said = gert(command, "book\nFORGED.yaml")
        assert "\\u000aFORGED.yaml has no scenarios" in said.err
        assert not [line for line in said.all.splitlines() if line.startswith("FORGED")], said.all
