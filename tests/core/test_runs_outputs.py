"""The files with the output of tools: their names, and how large they may become."""

from __future__ import annotations

import pytest

from gert_core.runs import outputs
from gert_core.runs.outputs import OutputFiles, file_name, kept_outputs, read_output
from gert_core.secrets import Masker
from gert_core.stores.directory import DirectoryRun


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "CALL_LIMIT", 100)
    monkeypatch.setattr(outputs, "RUN_LIMIT", 250)
    return OutputFiles(DirectoryRun(tmp_path), Masker({}), pytest.fail)


def write(files: OutputFiles, key: str, data: bytes, *, attempt: int = 1) -> None:
    call = files.call(key, attempt=attempt, number=1)
    call.write(0, data)
    call.close()


def kept(tmp_path, *keys: str) -> list[tuple[str, int, str]]:
    run = DirectoryRun(tmp_path)
    return [(one.key, one.attempt, read_output(run, one)) for one in kept_outputs(run, keys)]


def test_a_call_is_cut_at_its_limit(files, tmp_path):
    write(files, "a", b"x" * 400)
    assert kept(tmp_path, "a") == [("a", 1, "x" * 100)]


def test_the_oldest_call_that_has_ended_makes_room(files, tmp_path):
    running = files.call("first", attempt=1, number=1)
    running.write(0, b"r" * 90)
    for number in (1, 2, 3):
        write(files, "loop[web/1]", b"x" * 80, attempt=number)
    assert [row[:2] for row in kept(tmp_path, "first", "loop[web/1]")] == [
        ("first", 1),
        ("loop[web/1]", 2),
        ("loop[web/1]", 3),
    ]
    running.close()
    again = OutputFiles(DirectoryRun(tmp_path), Masker({}), pytest.fail)
    write(again, "later", b"y" * 90)
    assert [row[0] for row in kept(tmp_path, "first", "loop[web/1]", "later")] == [
        "loop[web/1]",
        "loop[web/1]",
        "later",
    ], "of another process of the run, too; the oldest by time of writing went"


def test_a_long_key_has_a_name_of_its_own(tmp_path):
    one, other = "deep/" * 60 + "a", "deep/" * 60 + "b"
    names = {file_name(key, attempt=1) for key in (one, other)}
    assert len(names) == 2
    assert max(map(len, names)) < 140
    assert not any("/" in name for name in names)
