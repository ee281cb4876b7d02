"""``gert runs list``: filters, ids, JSON, and the index that may be damaged, planted or deleted."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pytest
from gertproc import Gert
from many_runs import ENDINGS, write_run, write_runs

NOW = datetime.now(UTC)
INDEX = ".index.jsonl"


@pytest.fixture
def gert(tmp_path):
    """A directory with one run of each ending, and one that was killed."""
    root = tmp_path / "runs"
    for number, ending in enumerate((*ENDINGS, None)):
        began = NOW - timedelta(days=number, minutes=1)
        run_id = f"{began:%Y%m%dT%H%M%SZ}-{ending or 'killed'}-0000000{number}"
        write_run(root, run_id, runbook=f"book{number % 2}", began=began, ending=ending, tenant=f"t{number % 3}")
    return Gert(tmp_path)


def listed(gert: Gert, *options: str) -> list[str]:
    """The words in the ids of the runs that are listed."""
    said = gert("runs", "list", "--ids", *options)
    assert said.code == 0, said.all
    names = said.out.split()
    rows = gert("runs", "list", "--json", *options).document["runs"]
    assert [row["run_id"] for row in rows] == names
    shown = gert("runs", "list", *options)
    assert [line.split()[0] for line in shown.out.splitlines()[1:]] == names
    return [name.split("-")[1] for name in names]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [*ENDINGS, "killed"]),
        (["-n", "2"], ["resolved", "escalated"]),
        (["--limit", "1"], ["resolved"]),
        (["--active"], ["killed"]),
        (["--status", "completed"], ["resolved", "escalated", "no_action"]),
        (["--status", "failed, cancelled"], ["failed", "cancelled"]),
        (["--status", "interrupted"], ["killed"]),
        (["--runbook", "book1"], ["escalated", "failed", "killed"]),
        (["--runbook", "book"], []),
        (["--outcome", "no_action"], ["no_action"]),
        (["--tenant", "t1"], ["escalated", "cancelled"]),
        (["--since", "36h"], ["resolved", "escalated"]),
        (["--since", "1d12h", "--outcome", "escalated"], ["escalated"]),
        (["--since", f"{NOW - timedelta(days=1, hours=12):%Y-%m-%dT%H:%M:%SZ}"], ["resolved", "escalated"]),
        (["--since", f"{NOW - timedelta(days=1, hours=12):%Y-%m-%dT%H:%M:%S}"], ["resolved", "escalated"]),
        (["--status", "completed", "-n", "1", "--runbook", "book1"], ["escalated"]),
        (["--mode", "replay"], []),
    ],
)
def test_life_active_list_and_other_filters(gert, options, expected):
    assert listed(gert, *options) == expected
    assert listed(gert, *options) == expected, "by the index"


def test_the_filters_are_refused_when_they_cannot_be_meant(gert):
    statuses = "running, completed, failed, error, cancelled, "
    for words, message in (
        (["--status", "done"], f"error: 'done' is not a list of statuses\n  hint: statuses are {statuses}"),
        (["--status", ","], "error: ',' is not a list of statuses\n"),
        (
            ["--since", "yesterday"],
            "error: --since takes a time or a moment, not 'yesterday'\n  hint: write a time such as",
        ),
        (["--since", "-1d"], "error: --since takes a time or a moment, not '-1d'\n"),
        (["-n", "0"], "error: Invalid value for '--limit'"),
    ):
        said = gert("runs", "list", *words)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith(message), said.err


def test_what_is_found_nowhere_is_said(gert, tmp_path):
    said = gert("runs", "list", "--runbook", "x")
    root = tmp_path / "runs"
    assert (said.code, said.out) == (0, "")
    assert said.err == f"no real or probe runs that are as asked for found in {root}\n"
    assert gert("runs", "list", "--runbook", "x", "--json").out == '{"runs": []}\n'
    assert gert("runs", "list", "--runbook", "x", "--ids", "--json").out == '{"ids": []}\n'
    assert gert("runs", "list", "--runbook", "x", "--ids").out == ""


def test_a_row_as_json(gert):
    rows = {row["run_id"].split("-")[1]: row for row in gert("runs", "list", "--json").document["runs"]}
    row = rows["escalated"]
    assert row.pop("age_seconds") > 86400
    assert row.pop("started") < row["updated"]
    assert row.pop("updated") == row.pop("finished")
    assert row.pop("run_id").endswith("-escalated-00000001")
    assert row == {
        "runbook": "book1",
        "mode": "real",
        "status": "completed",
        "outcome": {"category": "escalated", "code": "c-escalated"},
        "tenant": "t1",
        "actor": "alice",
        "duration": "1.000s",
        "last_seq": 4,
        "blocked_on": [],
        "live": False,
        "problem": None,
    }
    assert (rows["killed"]["status"], rows["killed"]["finished"]) == ("interrupted", None)


def test_one_broken_run_does_not_end_the_list(gert, tmp_path):
    broken = [tmp_path / "runs" / f"20300101T00000{n}Z-broken-{n}" for n in range(5)]
    for path in broken:
        path.mkdir()
    (broken[0] / "trace.jsonl").write_text("{\n")
    (broken[1] / "trace.jsonl").mkdir()
    os.mkfifo(broken[2] / "trace.jsonl")
    (broken[3] / "trace.jsonl").symlink_to("/etc/passwd")
    for _ in range(2):
        rows = gert("runs", "list", "--json").document["runs"]
        assert [row["status"] for row in rows[:5]] == ["unreadable"] * 5
        assert all(row["problem"] for row in rows[:5])
        assert [row["problem"] for row in rows[5:]] == [None] * 6


def answers(gert: Gert) -> list[dict]:
    """The rows without what grows; of files that were not written just now."""
    time.sleep(0.11)
    said = gert("runs", "list", "--json")
    assert (said.code, said.err) == (0, "")
    rows = said.document["runs"]
    for row in rows:
        row.pop("age_seconds")
    return rows


def test_the_index_has_the_runs_that_ended_and_may_be_deleted(gert, tmp_path):
    index = tmp_path / "runs" / INDEX
    before = answers(gert)
    assert index.stat().st_mode & 0o777 == 0o600
    head, *lines = index.read_text().splitlines()
    assert (json.loads(head)["format"], json.loads(head)["fields"][0]) == (3, "run_id")
    assert sorted(json.loads(line)[1][0].split("-")[1] for line in lines) == sorted(ENDINGS)
    assert answers(gert) == before
    index.unlink()
    assert answers(gert) == before
    assert index.exists()


def test_a_run_that_ends_later_is_added(gert, tmp_path):
    answers(gert)
    size = (tmp_path / "runs" / INDEX).stat().st_size
    write_run(tmp_path / "runs", "20300101T000000Z-later-1")
    assert answers(gert)[0]["run_id"] == "20300101T000000Z-later-1"
    assert answers(gert)[0]["status"] == "completed"
    assert (tmp_path / "runs" / INDEX).stat().st_size > size


def test_a_row_is_believed_only_while_its_files_are_the_same(gert, tmp_path):
    answers(gert)
    answers(gert)
    run = next((tmp_path / "runs").glob("*-resolved-*"))
    trace = run / "trace.jsonl"
    trace.write_text(trace.read_text().replace('"category":"resolved"', '"category":"needsrca"'))
    assert answers(gert)[0]["outcome"]["category"] == "needsrca", "a trace of the same size"
    trace.write_bytes(b"")
    assert answers(gert)[0]["status"] == "interrupted"
    (run / "meta.json").write_text(json.dumps({"trace": str(tmp_path / "elsewhere")}))
    assert answers(gert)[0]["status"] == "unreadable"


def test_a_run_whose_meta_names_another_trace_is_not_listed_by_the_one_in_its_directory(gert, tmp_path):
    answers(gert)
    run = next((tmp_path / "runs").glob("*-resolved-*"))
    other = next((tmp_path / "runs").glob("*-failed-*")) / "trace.jsonl"
    (tmp_path / "elsewhere").write_text(other.read_text().replace(other.parent.name, run.name))
    (run / "meta.json").write_text(json.dumps({"trace": str(tmp_path / "elsewhere")}))
    for _ in range(2):
        assert answers(gert)[0]["status"] == "failed"


def test_the_index_of_another_directory_is_not_believed(gert, tmp_path):
    before = answers(gert)
    (tmp_path / "runs").rename(tmp_path / "was")
    (tmp_path / "runs").mkdir()
    for path in (tmp_path / "was").glob("[!.]*"):
        write_run(tmp_path / "runs", path.name, runbook="other", ending="needs_rca")
    (tmp_path / "runs" / INDEX).write_bytes((tmp_path / "was" / INDEX).read_bytes())
    assert {row["outcome"]["category"] for row in answers(gert)} == {"needs_rca"}
    assert len(answers(gert)) == len(before)


@pytest.mark.parametrize("kind", ["link", "directory", "pipe", "group", "others", "hard link"])
def test_an_index_that_others_may_have_written_is_not_believed(gert, tmp_path, kind):
    before = answers(gert)
    index = tmp_path / "runs" / INDEX
    head, _, rows = index.read_bytes().partition(b"\n")
    lies = _signed(head, rows.replace(b'"resolved"', b'"rubbish!"'))
    index.unlink()
    if kind == "directory":
        index.mkdir()
    elif kind == "pipe":
        os.mkfifo(index)
    elif kind == "link":
        (tmp_path / "lies").write_bytes(lies)
        index.symlink_to(tmp_path / "lies")
    else:
        index.write_bytes(lies)
        index.chmod({"group": 0o660, "others": 0o606}.get(kind, 0o600))
        if kind == "hard link":
            os.link(index, tmp_path / "second")
    for _ in range(2):
        assert answers(gert) == before
    if kind == "link":
        assert (tmp_path / "lies").read_bytes() == lies, "nothing is written through a link"


def _signed(head: bytes, rows: bytes, **changes: object) -> bytes:
    changed = {**json.loads(head), "size": len(rows), "checksum": crc32(rows), **changes}
    return json.dumps(changed).encode() + b"\n" + rows


def test_an_index_of_another_gert_with_other_fields_is_not_believed(gert, tmp_path):
    before = answers(gert)
    index = tmp_path / "runs" / INDEX
    head, _, rows = index.read_bytes().partition(b"\n")
    names = json.loads(head)["fields"]
    status, outcome = names.index("status"), names.index("outcome")
    names[status], names[outcome] = names[outcome], names[status]
    for changes in ({"fields": names}, {"fields": names[:-1]}, {"format": 2}):
        index.write_bytes(_signed(head, rows.replace(b'"resolved"', b'"rubbish!"'), **changes))
        assert answers(gert) == before
    index.write_bytes(_signed(head, rows.replace(b'"resolved"', b'"rubbish!"')))
    assert answers(gert) != before, "the same with the fields of this one is believed"


def test_a_damaged_index_is_written_anew(gert, tmp_path):
    index = tmp_path / "runs" / INDEX
    before = answers(gert)
    whole = index.read_bytes()
    head = whole.partition(b"\n")[0]
    step = max(1, len(whole) // 25)
    damaged = [whole[:at] for at in range(0, len(whole), step)]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), step)]
    damaged += [
        b"",
        b"\n",
        b"{}\n",
        b"[" * 100_000,
        b"\0" * 10_000,
        whole + b"{",
        whole + whole[:50],
        _signed(head, b"[[]]\n"),
    ]
    damaged += [whole.replace(b'"format":3', b'"format":4'), whole.replace(b'"size":', b'"size":-'), _signed(head, b"")]
    for data in damaged:
        index.write_bytes(data)
        rows = gert("runs", "list", "--json").document["runs"]
        assert [{**row, "age_seconds": 0} for row in rows] == [{**row, "age_seconds": 0} for row in before]
    assert answers(gert) == before
    index.write_bytes(whole + b"torn")
    answers(gert)
    write_run(tmp_path / "runs", "20300101T000000Z-later-1")
    answers(gert)
    assert b"torn" not in index.read_bytes()
    assert len(answers(gert)) == len(before) + 1


def test_a_directory_that_cannot_be_written_is_listed_without_an_index(gert, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root can write everywhere")
    (tmp_path / "runs").chmod(0o500)
    assert len(answers(gert)) == 6
    assert not (tmp_path / "runs" / INDEX).exists()
    (tmp_path / "runs").chmod(0o700)


def test_rows_of_runs_that_are_gone_are_dropped_in_time(tmp_path):
    ids = write_runs(tmp_path / "runs", 1100)
    gert = Gert(tmp_path)
    assert gert("runs", "list", "--ids").out.split() == ids
    assert gert("runs", "list", "--ids").out.split() == ids
    for name in ids[50:]:
        shutil.rmtree(tmp_path / "runs" / name)
    assert gert("runs", "list", "--ids").out.split() == ids[:50]
    write_run(tmp_path / "runs", "20300101T000000Z-later-1")
    assert len(answers(gert)) == 51
    assert len((tmp_path / "runs" / INDEX).read_text().splitlines()) == 52


@pytest.mark.parametrize(
    "words", [("list", "-n"), ("tail", "latest", "-n"), ("prune", "--dry-run", "--older-than", "1d", "--keep")]
)
def test_a_number_of_any_length_is_taken(gert, words):
    said = gert("runs", *words, "9" * 30)
    assert (said.code, "internal error" in said.all) == (0, False), said.all
