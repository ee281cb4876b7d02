"""Who a run says it was started by: names that are none."""

from __future__ import annotations

import pytest

BOOK = "apiVersion: kernel/v0\nmeta: {name: b}\nsteps:\n  - {type: end, outcome: {category: resolved}}\n"


@pytest.mark.parametrize("given", ["--as", "GERT_ACTOR"])
def test_an_agent_without_an_id_is_refused_before_the_run(gert, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.yaml").write_text(BOOK)
    if given == "GERT_ACTOR":
        monkeypatch.setenv(given, "agent:")
    code, out, err = gert("exec", "b.yaml", *(["--as", "agent:"] if given == "--as" else []))
    assert (code, out, err) == (
        2,
        "",
        "error: 'agent:' names no agent\n  hint: write its id behind it: --as agent:ID\n",
    )
    assert not (tmp_path / "runs").exists()
    assert gert("exec", "b.yaml", "--as", "agent:bot")[0] == 0


@pytest.mark.parametrize("command", [("exec", "b.yaml"), ("store", "copy", "file:runs", "sqlite:there.db", "--move")])
def test_an_empty_name_is_not_taken_for_none(gert, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.yaml").write_text(BOOK)
    if command[0] != "exec":
        assert gert("exec", "b.yaml")[0] == 0
    code, out, err = gert(*command, "--as", "")
    assert (code, out, err) == (
        2,
        "",
        "error: '' cannot be the id of an actor: it is empty\n  hint: give another with --as ID\n",
    )
    assert (tmp_path / "runs").exists() == (command[0] != "exec")
