"""Inputs from files."""

from __future__ import annotations

import os

import gert_input_file
import pytest

from gert_core.api import InputError, ProjectInfo, Services
from gert_core.documents.runbook import InputModel
from gert_core.engine.cancel import Deadline, Stop
from gert_core.inputs import resolve_inputs


def resolve(root, **declared):
    models = {name: InputModel.model_validate(raw) for name, raw in declared.items()}
    resolvers = {record.name: record for record in gert_input_file.gert_input_resolvers()}
    project = root and ProjectInfo(root=root, tools_dir=root / "tools", runs_dir=root / "runs")
    return resolve_inputs(
        models,
        host_vars={},
        resolvers=resolvers,
        services=lambda _: Services(console=None, project=project),
        deadline=Deadline(Stop()),
    )


@pytest.mark.parametrize(
    ("content", "value"), [("80\n", 80), ("80", 80), ("80\r\n", 80)], ids=["newline", "bare", "crlf"]
)
def test_a_file_is_read_and_coerced(tmp_path, content, value):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "port.txt").write_bytes(content.encode())
    done = resolve(tmp_path, port={"type": "int", "from": "file/conf/port.txt"})
    assert (done.values, done.sources) == ({"port": value}, {"port": "file"})


def test_only_the_last_newline_is_taken_off(tmp_path):
    (tmp_path / "a").write_bytes(b" x \ny\n\n")
    assert resolve(tmp_path, a={"from": "file/a"}).values == {"a": " x \ny\n"}


def test_an_absolute_path_stays_absolute(tmp_path):
    (tmp_path / "a").write_text("x")
    assert resolve(tmp_path / "elsewhere", a={"from": f"file/{tmp_path / 'a'}"}).values == {"a": "x"}


def test_without_a_project_paths_start_at_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert resolve(None, a={"from": "file/a"}).values == {"a": "x"}


def test_a_missing_file_leaves_the_default_or_is_named(tmp_path):
    assert resolve(tmp_path, a={"from": "file/gone", "default": "d"}).values == {"a": "d"}
    assert resolve(tmp_path, a={"from": "file/gone"}).values == {"a": None}
    with pytest.raises(InputError, match=r"'a'.*gone, which does not exist"):
        resolve(tmp_path, a={"from": "file/gone", "required": True})


def test_a_file_that_cannot_be_used_is_an_error(tmp_path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    os.mkfifo(tmp_path / "pipe")
    for name, words in {
        "dir": "not a regular file",
        "pipe": "not a regular file",
        "binary": "not UTF-8",
        "big": "larger than 1 MiB",
    }.items():
        with pytest.raises(InputError, match=words):
            resolve(tmp_path, a={"from": f"file/{name}", "default": "d"})
    with pytest.raises(InputError, match="has no path"):
        resolve(tmp_path, a={"from": "file"})
