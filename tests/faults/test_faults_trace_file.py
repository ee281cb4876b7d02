"""The file of a trace that is deleted, moved or replaced while its run writes it: the run stops and says so."""

from __future__ import annotations

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: { name: robbed }
tools: [shell]
steps:
  - { id: rob, type: tool, tool: shell, action: rob }
  - { id: act, type: tool, tool: shell, action: act }
  - { type: end, outcome: { category: resolved } }
"""
TOOL = """\
apiVersion: tool/v0
meta: {{ name: shell }}
contract: {{ effects: [host], writes: [file], idempotent: {idempotent} }}
actions:
  rob: {{ argv: [sh, -c, "{command}"] }}
  act: {{ argv: [touch, acted] }}
"""
GONE = "was deleted, moved or replaced while the run wrote it"


def robbed(gert: Gert, command: str, *more: str, idempotent: str = "false"):
    gert.write(book=BOOK, tool_shell=TOOL.format(command=command, idempotent=idempotent))
    return gert("exec", "book.yaml", *more)


@pytest.mark.parametrize("idempotent", ["false", "true"])
@pytest.mark.parametrize("command", ["rm runs/*/trace.jsonl", "rm -r runs"])
def test_a_deleted_trace_stops_the_run_before_the_next_effect(tmp_path, command, idempotent):
    gert = Gert(tmp_path)
    said = robbed(gert, command, idempotent=idempotent)
    assert (said.code, GONE in said.err) == (1, True), said.err
    assert "internal" not in said.err
    assert "Outcome" not in said.out
    assert not (tmp_path / "acted").exists()


@pytest.mark.parametrize("sync", ["group", "none"])
@pytest.mark.parametrize(
    "command", ["mv runs/*/trace.jsonl kept", "cd runs/*; cp trace.jsonl other; mv other trace.jsonl", "mv runs gone"]
)
def test_a_trace_that_is_not_in_its_place_at_the_end_is_an_error(tmp_path, command, sync):
    gert = Gert(tmp_path)
    said = robbed(gert, command, "--trace-sync", sync)
    assert (said.code, GONE in said.err) == (1, True), said.err
    assert "Outcome" not in said.out


def test_a_link_to_the_trace_is_its_place(tmp_path):
    gert = Gert(tmp_path)
    (tmp_path / "real.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    said = robbed(gert, "ln real.jsonl more.jsonl", "--trace", "link.jsonl")
    assert said.code == 0, said.err
    assert (tmp_path / "acted").exists()
