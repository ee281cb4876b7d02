"""``gert schema`` prints one JSON Schema on standard output."""

from __future__ import annotations

import json

import pytest

from gert_core.cli import main


@pytest.fixture
def gert(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)

    def run(*args):
        code = main(list(args))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize("kind", ["tool", "scenario", "test", "project", "policy", "trace"])
def test_kinds(gert, kind):
    code, out, _ = gert("schema", kind)
    assert code == 0
    assert json.loads(out)["title"].startswith(f"gert {kind}")


def test_runbook_is_the_default_and_has_the_installed_types(gert):
    _, out, _ = gert("schema")
    schema = json.loads(out)
    assert schema["title"] == "gert runbook (kernel/v0)"
    assert "branch" in schema["$defs"]["step"]["properties"]["type"]["enum"]
    _, out, _ = gert("-p", "no:step-branch", "schema", "--json")
    assert out.count("\n") == 1
    assert "step-branch" not in json.loads(out)["$defs"]


def test_unknown_kind_is_a_usage_error(gert):
    code, out, err = gert("schema", "runbok")
    assert (code, out) == (2, "")
    assert "did you mean `runbook`?" in err
