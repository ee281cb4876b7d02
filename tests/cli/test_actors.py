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
