"""Which project governs a run, where one lies inside another: only the inner one, and that is told."""

from __future__ import annotations

import shutil

from binding import acted, bound_gert

DENY = "apiVersion: policy/v0\nmeta: {name: outer}\nrules: [{effects: [danger], action: deny}]\n"


def test_a_project_inside_another_one_is_governed_by_its_own_policies_alone_and_that_is_recorded(tmp_path):
    """Not prevented: who may write a project file there could copy the runbook elsewhere; a machine floor holds."""
    gert = bound_gert(tmp_path)
    (tmp_path / "deny.yaml").write_text(DENY)
    (tmp_path / "gert-project.yaml").write_text("policies: [deny.yaml]\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.move(tmp_path / "book.yaml", inner / "book.yaml")
    (inner / "book.yaml").write_text((inner / "book.yaml").read_text().replace("require-approval", "allow"))
    shutil.copytree(tmp_path / "tools", inner / "tools")
    assert gert("exec", "inner/book.yaml").code == 1, "the project is found upward"
    assert acted(gert) == []
    shutil.rmtree(tmp_path / "runs")
    (inner / "gert-project.yaml").write_text("name: inner\nruns_dir: ../runs\n")
    assert gert("exec", "inner/book.yaml").code == 0
    assert acted(gert) == ["one"]
    start = gert.events()[0]["data"]
    assert start["project_file"] == str(inner / "gert-project.yaml")
    assert [one["kind"] for one in start["policies"]] == ["runbook"]
    told = gert("policy", "explain", "inner/book.yaml").out
    assert f"project: {inner / 'gert-project.yaml'}" in told
    assert "policies: runbook" in told
