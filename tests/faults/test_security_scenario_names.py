"""Names, links, pipes and depths in scenarios and beside them that mislead the commands which show and delete them."""

from __future__ import annotations

import json
import os
from base64 import b64encode, urlsafe_b64encode

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


def test_a_recording_behind_a_link_is_not_deleted(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    assert gert("exec", "book.yaml", "--record", "one").code == 0
    scenarios, elsewhere = tmp_path / "scenarios/book", tmp_path / "elsewhere"
    (scenarios / "one").rename(elsewhere)
    (scenarios / "one").symlink_to(elsewhere)
    said = gert("scenario", "prune", "book.yaml", "--older", "1ms", "--yes")
    assert (said.code, said.err) == (1, "0 recordings deleted\nskipped: scenarios/book/one is a link\n")
    assert (elsewhere / "scenario.yaml").is_file()


def test_a_trace_that_is_nested_too_deeply_is_scanned_as_text(tmp_path):
    gert = Gert(tmp_path)
    (tmp_path / "trace.jsonl").write_text("[" * 100_000 + "AKIAABCDEFGHIJKLMNOP\n")
    said = gert("scenario", "scan", ".")
    assert said.code == 1
    assert "trace.jsonl:1: AWS access key" in said.out


def test_a_token_in_base64_or_utf_16_is_found_when_scenarios_are_scanned(tmp_path):
    gert = Gert(tmp_path)
    token = b"ghp_" + b"A1b2C3d4" * 5
    (tmp_path / "secret.yaml").write_bytes(b"data: {token: " + b64encode(b"user " + token) + b"}\n")
    (tmp_path / "link.txt").write_bytes(urlsafe_b64encode(b"??>" + token) + b"\n")
    (tmp_path / "marked.txt").write_bytes(("\u5927" * 5000 + token.decode()).encode("utf-16"))
    (tmp_path / "turned.txt").write_bytes(("\ufeff" + "\u5927" * 5000 + token.decode()).encode("utf-16-be"))
    (tmp_path / "bare.log").write_bytes(token.decode().encode("utf-16-be"))
    (tmp_path / "little.log").write_bytes(token.decode().encode("utf-16-le"))
    (tmp_path / "plain.md").write_bytes(b64encode(b"nothing of that kind is in this text") + b"\n")
    said = gert("scenario", "scan", ".")
    assert said.code == 1
    found = sorted(line.split(":")[0] for line in said.out.splitlines() if line.endswith("GitHub token"))
    assert found == ["bare.log", "link.txt", "little.log", "marked.txt", "secret.yaml", "turned.txt"], said.all


def test_a_pipe_that_nobody_reads_does_not_hold_up_a_graph(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    os.mkfifo(tmp_path / "pipe.svg")
    said = gert("graph", "book.yaml", "-o", "pipe.svg")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: cannot write pipe.svg: No such device or address")


@pytest.mark.parametrize("name", ["../../outside", "/{root}/outside", "a/b", ".."])
def test_no_name_of_a_promoted_scenario_leads_elsewhere(tmp_path, name):
    gert = Gert(tmp_path / "project")
    gert.root.mkdir()
    gert.write(book=BOOK)
    assert gert("exec", "book.yaml", "--record", "kept/one").code == 0
    said = gert("scenario", "promote", "kept/one/", "--runbook", "book.yaml", "--name", name.format(root=tmp_path))
    assert (said.code, "cannot be the name of a scenario" in said.err) == (2, True), said.all
    assert (gert.root / "kept/one/scenario.yaml").exists()
    assert not (gert.root / "scenarios").exists()
