"""Files of a run that somebody exchanged: no export or copy takes them for what was recorded, and none takes all memory."""

from __future__ import annotations

import json
import os
import tarfile

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: sh, transport: stdio }
contract: { effects: [filesystem], idempotent: true, inputs: { do: {} } }
actions: { do: { argv: ["sh", "-c", "{{ .do }}"] } }
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: keeping }
tools: [sh]
steps:
  - { id: a, type: tool, tool: sh, inputs: { do: 'printf 1 > art.txt' }, artifacts: [art.txt] }
  - { id: look, type: manual, instructions: Look, required_evidence: [{ kind: attachment, name: shot }] }
  - { type: end, outcome: { category: resolved, code: kept } }
"""
HUGE = 40 * 1024**3


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_sh=TOOL, book=BOOK)
    (tmp_path / "shot.txt").write_text("seen")
    said = made("exec", "book.yaml", answers="shot.txt\n")
    assert said.code == 0, said.all
    return made


def members(archive):
    """The files of a run in an archive with their sizes; none when there is no archive."""
    if not archive.exists():
        return {}
    with tarfile.open(archive) as opened:
        return {one.name.partition("/")[2]: one.size for one in opened.getmembers()}


def given_out(gert):
    """What exporting and copying say, each with the names of the files that came out."""
    said = gert("runs", "export", "latest", "--out", "x.tar")
    yield said, set(members(gert.root / "x.tar"))
    for url, move in (("sqlite:x.db", []), ("file:copied", []), ("file:moved", ["--move"])):
        said = gert("store", "copy", "file:runs", url, "--run", "latest", *move)
        archive = gert.root / "again.tar"
        gert("runs", "export", "latest", "--out", archive.name, "--store", url)
        yield said, set(members(archive))
        archive.unlink(missing_ok=True)


KEPT = {"attachments/art.txt", "attachments/shot.txt"}


def test_what_was_recorded_is_given_out(gert):
    for said, names in given_out(gert):
        assert (said.code, said.err) == (0, "")
        assert names >= KEPT


@pytest.mark.parametrize("name", ["art.txt", "shot.txt"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_is_not_what_was_recorded_is_named(gert, name, gone):
    file = gert.run() / "attachments" / name
    file.unlink() if gone else file.write_text("other")
    for said, names in given_out(gert):
        assert said.code == 1
        assert f"changed: attachments/{name} of run {gert.run().name} is missing or not what its trace" in said.err
        assert names >= KEPT - ({f"attachments/{name}"} if gone else set())
        assert said.err.count("changed: ") == 1


def test_json_names_a_file_that_is_not_what_was_recorded(gert):
    (gert.run() / "attachments" / "art.txt").write_text("other")
    said = gert("runs", "export", "latest", "--out", "x.tar", "--json")
    assert (said.code, said.document["changed"]) == (1, ["attachments/art.txt"])
    said = gert("store", "copy", "file:runs", "sqlite:x.db", "--json")
    assert (said.code, said.document["runs"][0]["changed"]) == (1, ["attachments/art.txt"])


def test_what_a_tool_writes_about_a_file_is_no_record_of_it(gert):
    tool = TOOL.replace("inputs: { do: {} }", "inputs: { do: {} }, outputs: { shot: { type: object } }")
    tool = tool.replace('"{{ .do }}"] }', '"{{ .do }}"], extract: { shot: { from: json, path: $ } } }')
    lie = json.dumps({"name": "shot.txt", "sha256": "0" * 64, "size": 4})
    book = BOOK.replace("printf 1 > art.txt", f"printf 1 > art.txt; echo {json.dumps(lie)}".replace("'", "''"))
    gert.write(tool_sh=tool, book=book)
    said = gert("exec", "book.yaml", answers="shot.txt\n")
    assert said.code == 0, said.all
    assert "0" * 64 in (gert.runs()[-1] / "trace.jsonl").read_text()
    for run in gert.runs():
        said = gert("runs", "export", run.name, "--out", "x.tar")
        assert (said.code, said.err) == (0, "")


@pytest.mark.parametrize("place", ["attachments/art.txt", "output/a-ca978112ca1b.1.log"])
def test_a_second_name_of_a_file_elsewhere_is_not_given_out(gert, place):
    file = gert.run() / place
    (gert.root / "elsewhere").write_bytes(file.read_bytes() if file.exists() else b"private")
    file.unlink(missing_ok=True)
    file.parent.mkdir(exist_ok=True)
    os.link(gert.root / "elsewhere", file)
    for said, names in given_out(gert):
        assert said.code == 1
        assert "is a hard link" in said.err
        assert names == set()


@pytest.mark.parametrize("place", ["attachments/art.txt", "output/a-ca978112ca1b.1.log", "odd"])
def test_a_sparse_file_takes_no_memory_and_no_other_run_with_it(gert, place):
    broken = gert.run()
    (broken / place).parent.mkdir(exist_ok=True)
    with (broken / place).open("wb") as file:
        file.truncate(HUGE)
    assert gert("exec", "book.yaml", answers="shot.txt\n").code == 0
    said = gert("runs", "export", broken.name, "--out", "x.tar")
    assert said.code == 1
    assert f"{place} is larger than 64 MiB" in said.err
    assert not (gert.root / "x.tar").exists()
    for url in ("sqlite:x.db", "file:copied"):
        said = gert("store", "copy", "file:runs", url)
        assert said.code == 1
        assert f"left out: {broken / place} is larger than 64 MiB" in said.err
        assert f"copied to {url.partition(':')[0]}:" in said.out
        assert broken.name not in gert("runs", "list", "--ids", "--store", url).out


def test_a_large_file_that_was_recorded_is_exported(gert):
    with (gert.root / "large.bin").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    said = gert("exec", "book.yaml", answers="large.bin\n")
    assert said.code == 0, said.all
    said = gert("runs", "export", "latest", "--out", "x.tar")
    assert (said.code, said.err) == (0, "")
    assert members(gert.root / "x.tar")["attachments/large.bin"] == 65 * 1024 * 1024
