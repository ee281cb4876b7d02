"""What others put into a runs directory is read by one reader: named when it cannot be used, never followed or waited for.

The guarantee: one foreign, damaged or hostile run, ticket or answer is one line of a listing, and every other run is
listed, approved and resumed as before; a command ends in bounded time and memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from asking import BOOK, TOOL
from gertproc import Gert
from users import NOBODY, gert_as

from gert_core.approvals.binding import document_hash
from gert_core.approvals.requests import ticket_id
from gert_core.kit.files import MIB, UnreadableError, lines, open_file, read_file

TERABYTE = 1 << 40


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_box=TOOL)
    assert made("exec", "book.yaml", "--approval", "inbox").code == 0
    return made


def bounded(gert, *argv):
    """Run gert with a gigabyte of memory; it must end in time."""
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", *argv],
        cwd=gert.root,
        env=gert.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
    )
    assert "internal error" not in done.stderr + done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    return done


def replaced_by_pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def replaced_by_zeros(path):
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def sparse(path):
    path.touch()
    os.truncate(path, TERABYTE)


def changed(**facts):
    def change(path):
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))

    return change


ANSWER = {
    "ticket_id": "t-1",
    "approved": True,
    "approver_id": "ann",
    "method": "inbox",
    "timestamp": "2026-01-01T00:00:00Z",
}
RUNS = {
    "trace-pipe": ("trace.jsonl", replaced_by_pipe),
    "trace-zeros": ("trace.jsonl", replaced_by_zeros),
    "meta-pipe": ("meta.json", replaced_by_pipe),
    "meta-zeros": ("meta.json", replaced_by_zeros),
    "meta-sparse": ("meta.json", sparse),
    "meta-list": ("meta.json", lambda path: path.write_text("[]")),
    "lock-pipe": ("lock", replaced_by_pipe),
}
"""Runs of which nothing is known: what stands where."""
CACHES = {
    "state-pipe": ("state.json", replaced_by_pipe),
    "state-zeros": ("state.json", replaced_by_zeros),
    "state-sparse": ("state.json", sparse),
    "trace-sparse": ("trace.jsonl", sparse),
}
"""Runs that are read all the same."""
TICKETS = {
    "ticket-pipe": replaced_by_pipe,
    "ticket-sparse": sparse,
    "ticket-text": lambda path: path.write_text("{"),
    "ticket-time": changed(expires_at="soon"),
    "ticket-early": changed(expires_at="0001-01-01T00:00:00+14:00"),
    "ticket-late": changed(created="9999-12-31T23:59:59-14:00"),
    "ticket-number": changed(expires_at=5),
    "ticket-approvers": changed(min_approvers="two"),
    "ticket-contract": changed(contract=[1]),
    "ticket-command": changed(command=[{}]),
    "ticket-name": changed(runbook_name=3),
    "ticket-copy": lambda path: None,
}
ANSWERS = {
    "answer-pipe": os.mkfifo,
    "answer-directory": Path.mkdir,
    "answer-sparse": sparse,
    "answer-person": lambda path: path.write_text(json.dumps(ANSWER | {"approver_id": 5})),
    "answer-word": lambda path: path.write_text(json.dumps(ANSWER | {"approved": "yes"})),
    "answer-list": lambda path: path.write_text("[]"),
    "answer-time": lambda path: path.write_text(json.dumps(ANSWER | {"timestamp": None})),
}


def hostile(gert):
    """Copies of the one good run, each with something that does not belong there; return the good one and its ticket."""
    good = gert.run()
    (ticket,) = (good / "tickets").glob("*.json")
    for number, name in enumerate([*RUNS, *CACHES, *TICKETS, *ANSWERS]):
        run = good.with_name(f"20990101T0000{number:02}Z-{name}")
        shutil.copytree(good, run)
        trace = (run / "trace.jsonl").read_bytes().replace(good.name.encode(), run.name.encode())
        (run / "trace.jsonl").write_bytes(trace)
        run_id = good.name if name == "ticket-copy" else run.name
        document = json.loads(ticket.read_text())["document"] | {"run_id": run_id}
        digest = document_hash(document)
        own_id = ticket_id(run_id, document["step_key"], digest)
        own = (run / "tickets" / ticket.name).rename(run / "tickets" / f"{own_id}.json")
        changed(ticket_id=own_id, run_id=run_id, document=document, request_hash=digest)(own)
        if name in RUNS | CACHES:
            file, spoil = (RUNS | CACHES)[name]
            spoil(run / file)
        elif name in TICKETS:
            TICKETS[name](own)
        else:
            own.with_suffix(".answers").mkdir()
            ANSWERS[name](own.with_suffix(".answers") / "0001-x.json")
    (good.parent / "20990202T000000Z-linked").symlink_to(good)
    return good.name, ticket.stem


def kinds(names):
    """The part of a run's name that says what is wrong with it."""
    return sorted(name.partition("Z-")[2] for name in names)


def test_one_bad_run_is_one_line_of_every_listing(gert):
    good, ticket = hostile(gert)
    runs = json.loads(bounded(gert, "runs", "list", "--json").stdout)["runs"]
    status = {run["run_id"]: run["status"] for run in runs}
    assert status[good] == "approval_pending"
    assert kinds(name for name in status if status[name] == "unreadable") == sorted(RUNS)
    assert all(run["problem"] for run in runs if run["status"] == "unreadable")

    listed = json.loads(bounded(gert, "approvals", "list", "--json").stdout)
    unlocked = RUNS.keys() - {"lock-pipe"}
    named = {entry["run_id"]: entry for entry in listed["unreadable"]}
    assert kinds(named) == sorted(unlocked | TICKETS.keys() | ANSWERS.keys())
    assert good in [entry["request"]["run_id"] for entry in listed["approvals"]]
    for entry in named.values():
        assert entry["run_id"] in entry["problem"]
    text = bounded(gert, "approvals", "list").stdout.splitlines()
    assert len([line for line in text if "unreadable" in line]) == len(named)

    assert f"gert resume --run {good}" in bounded(gert, "approve", ticket, "--as", "bob").stdout
    done = bounded(gert, "resume", "--run", good)
    assert (done.returncode, (gert.root / "done").exists()) == (0, True), done.stderr


def answered(**facts):
    def answer(run):
        (ticket,) = (run / "tickets").glob("*.json")
        given = ANSWER | {"ticket_id": ticket.stem} | facts
        ticket.with_suffix(".answers").mkdir()
        (ticket.with_suffix(".answers") / "0001-x.json").write_text(json.dumps(given))

    return answer


def lines_of(kind, **fields):
    """Fields of other types in the lines of one kind; the chain is sound."""

    def write(run):
        events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
        (run / "trace.jsonl").write_text(chained([one | fields if one["type"] == kind else one for one in events]))
        (run / "state.json").unlink(missing_ok=True)

    return write


PLANTED = {
    "trace-sparse": lambda run: sparse(run / "trace.jsonl"),
    "trace-list": lambda run: (run / "trace.jsonl").write_text("[]\n"),
    "line-type": lines_of("contract_evaluated", type=[]),
    "line-key": lines_of("governance_decision", step_key=5),
    "line-data": lines_of("approval_submitted", data=None),
    "first-line-data": lines_of("run_start", data="x"),
    "answer-person": answered(approver_id=5),
    "answer-word": answered(approved="yes"),
    "answer-time": answered(timestamp=None),
    "ticket-list": lambda run: next((run / "tickets").glob("*.json")).write_text("[]"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_planted_in_one_run_takes_another_out_of_a_listing(gert, name):
    """One answer or one line of a wrong type, or a trace of a terabyte without content; made without knowing gert."""
    bad = gert.run()
    PLANTED[name](bad)
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    (good,) = (run.name for run in gert.runs() if run != bad)
    (ticket,) = (gert.root / "runs" / good / "tickets").glob("*.json")
    runs = json.loads(bounded(gert, "runs", "list", "--json").stdout)["runs"]
    assert {"run_id": good, "status": "approval_pending"}.items() <= next(
        r for r in runs if r["run_id"] == good
    ).items()
    assert bad.name in [run["run_id"] for run in runs]
    listed = bounded(gert, "approvals", "list")
    assert (listed.returncode, ticket.stem in listed.stdout) == (0, True), listed.stderr
    assert bounded(gert, "approve", ticket.stem, "--as", "bob").returncode == 0
    done = bounded(gert, "resume", "--run", good)
    assert (done.returncode, (gert.root / "done").exists()) == (0, True), done.stderr


FAR = "0001-01-01T00:00:00+14:00"


@pytest.mark.parametrize("time", [FAR, "9999-12-31T23:59:59-14:00"])
@pytest.mark.parametrize("place", ["trace", "answer"])
def test_a_time_that_no_clock_can_show_ends_no_command(gert, place, time):
    run = gert.run()
    (ticket,) = (run / "tickets").glob("*.json")
    if place == "trace":
        lines = (run / "trace.jsonl").read_text().splitlines()
        changed_lines = [line.replace('"expires_at":"2', f'"expires_at":"{time}","was":"2') for line in lines]
        (run / "trace.jsonl").write_text("\n".join(changed_lines) + "\n")
        (run / "state.json").unlink(missing_ok=True)
    else:
        ticket.with_suffix(".answers").mkdir()
        answer = ANSWER | {"ticket_id": ticket.stem, "timestamp": time}
        (ticket.with_suffix(".answers") / "0001-x.json").write_text(json.dumps(answer))
    for argv in (("runs", "list"), ("runs", "show", run.name), ("approvals", "list"), ("resume", "--run", run.name)):
        bounded(gert, *argv)
    assert not (gert.root / "done").exists()


@pytest.mark.parametrize("name", ["trace-pipe", "meta-pipe", "lock-pipe", "meta-sparse", "trace-sparse"])
def test_a_hostile_run_is_shown_and_resumed_with_a_sentence(gert, name):
    hostile(gert)
    (run,) = (run.name for run in gert.runs() if run.name.endswith(name))
    shown = bounded(gert, "runs", "show", run)
    assert shown.returncode == (name != "trace-sparse")
    trace = gert.root / "runs" / run / "trace.jsonl"
    before = trace.lstat()
    done = bounded(gert, "resume", "--run", run)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert (trace.lstat().st_size, trace.lstat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def chained(events):
    """The events as a trace whose chain is sound."""
    previous, text = "0" * 64, []
    for event in events:
        raw = {**event, "data": event["data"], "prev_hash": previous}
        seal = raw["data"].pop("chain_hash", None) if isinstance(raw["data"], dict) else None
        line = json.dumps({**raw, "prev_hash": raw.pop("prev_hash")}, separators=(",", ":"), ensure_ascii=False)
        if seal is not None:
            cut = len(line) - len('},"prev_hash":""}') - 64
            line = f'{line[:cut]},"chain_hash":"{hashlib.sha256(line.encode()).hexdigest()}"{line[cut:]}'
        previous = hashlib.sha256(line.encode()).hexdigest()
        text.append(line)
    return "\n".join(text) + "\n"


SENSELESS = [
    ("run_start", "runbook", 5),
    ("run_start", "inputs", "none"),
    ("run_start", "tool_hashes", [1]),
    ("run_start", "policies", [1]),
    ("run_resumed", "void", 7),
    ("run_complete", "failing", 7),
    ("run_complete", "failure", {"kind": []}),
    ("run_complete", "outcome", [1]),
    ("run_complete", "outputs", "x"),
    ("contract_evaluated", "resolved_contract", [1]),
    ("governance_decision", "risk_level", [1]),
    ("approval_submitted", "expires_at", "soon"),
    ("approval_submitted", "ticket_id", None),
    ("approval_response", "approver_id", 5),
    ("approval_resolved", "status", {}),
    ("step_start", "inputs", 7),
    ("step_start", "step_id", []),
    ("step_complete", "outputs", [1]),
    ("step_complete", "detail", "x"),
    ("step_complete", "status", "odd"),
    ("step_complete", "failure", {"kind": "x"}),
    ("step_complete", "outcome", {"category": "resolved", "more": 1}),
]


def test_events_with_a_sound_chain_and_senseless_content(gert):
    """They are refused where they are read, by every command; shapes are not checked again anywhere else."""
    good = gert.run()
    (ticket,) = (good / "tickets").glob("*.json")
    assert gert("approve", ticket.stem, "--as", "bob").code == 0
    assert gert("resume", "--run", good.name).code == 0
    whole = gert.events()
    assert_listed(gert, good, chained(json.loads(json.dumps(whole))), "completed")
    for kind, field, value in SENSELESS:
        events = json.loads(json.dumps(whole))
        for event in events:
            if event["type"] == kind:
                event["data"][field] = value
        assert_listed(gert, good, chained(events), "unreadable")
    for field, value in (("data", []), ("step_key", 5), ("timestamp", None), ("principal", "me"), ("seq", "1")):
        events = json.loads(json.dumps(whole))
        events[-2][field] = value
        assert_listed(gert, good, chained(events), "unreadable")


def assert_listed(gert, run, trace, status):
    (run / "trace.jsonl").write_text(trace)
    assert [found["status"] for found in gert("runs", "list", "--json").document["runs"]] == [status]
    for argv in (
        ("runs", "show", run.name),
        ("trace", "show", f"runs/{run.name}/trace.jsonl"),
        ("resume", "--run", run.name),
    ):
        said = gert(*argv)
        assert "internal error" not in said.err, (argv, said.err)
        assert said.code == (status == "unreadable"), (argv, said.all)
    listed = gert("approvals", "list", "--json")  # a run that its last line ends is not read for tickets
    assert "internal error" not in listed.err, listed.err
    assert listed.document["approvals"] == []


def test_a_deleted_working_directory_is_a_sentence(gert, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os, sys\nos.rmdir(os.getcwd())\nfrom gert_core.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    book = str(tmp_path / "book.yaml")
    for argv, code in (
        (["runs", "list"], 2),
        (["approvals", "list"], 2),
        (["approve", "t-1"], 2),
        (["resume", "--run", "r"], 2),
        (["exec", book, "--mode", "dry-run", "--keep"], 2),
        (["plugins", "list"], 0),
        (["--help"], 0),
    ):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", script, *argv],
            cwd=gone,
            env=gert.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "internal error" in done.stderr) == (code, False), (argv, done.stderr)
        assert "working directory does not exist any more" in done.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ("validate", "pipe.yaml"),
        ("exec", "book.yaml", "--policy", "pipe.yaml"),
        ("exec", "book.yaml", "--input", "pipe.yaml"),
        ("trace", "verify", "pipe.yaml"),
        ("trace", "verify", "/dev/zero"),
        ("validate", "/dev/zero"),
    ],
)
def test_a_pipe_that_nobody_writes_to_is_empty(gert, argv):
    os.mkfifo(gert.root / "pipe.yaml")
    assert bounded(gert, *argv).returncode in (1, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can see how much it has read")
def test_what_is_too_large_is_not_read_at_all(tmp_path):
    """Nothing of a file whose size is above the limit is read, so that none can take memory or time."""
    with (tmp_path / "state.json").open("wb") as file:
        file.truncate(1024**4)

    def read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = read()
    with pytest.raises(UnreadableError, match="is larger than 64 MiB"):
        read_file(tmp_path / "state.json", limit=64 * MIB)
    assert read() - before < MIB


def test_a_line_of_any_length_is_read_up_to_a_limit(tmp_path):
    file = tmp_path / "trace.jsonl"
    file.write_bytes(b"short\n" + b"x" * (3 * MIB) + b"\nshort\n")
    with open_file(file) as opened:
        assert [len(line) for line in lines(opened, file)] == [6, 3 * MIB + 1, 6]
    with open_file(file) as opened:
        found = lines(opened, file, limit=2 * MIB)
        assert next(found) == b"short\n"
        with pytest.raises(UnreadableError, match="line of more than 2 MiB"):
            next(found)


def test_zeros_end_a_part_of_a_line_and_holes_are_left_out(tmp_path):
    """What follows zeros is whole, also when it begins at the end of a part that is read at once."""
    file = tmp_path / "trace.jsonl"
    event = b'{"an": "event"}\n'
    with file.open("wb") as out:
        out.write(b"one\n")
        out.truncate(TERABYTE)
        out.seek(TERABYTE + MIB - 5)
        out.write(event)
    with open_file(file) as opened:
        found = list(lines(opened, file))
    assert found[0] == b"one\n"
    assert found[-1].rpartition(b"\0")[2] == event
    assert sum(map(len, found)) < 4 * MIB


@pytest.fixture
def public():
    """A project in a directory that every user can reach, which pytest's own are not."""
    root = Path(tempfile.mkdtemp(prefix="gert-"))
    root.chmod(0o755)
    yield Gert(root)
    shutil.rmtree(root)


@pytest.mark.skipif(os.getuid() != 0, reason="root can run gert as another user")
def test_a_run_directory_of_another_user_takes_nothing_away(public):
    public.write(book=BOOK, tool_box=TOOL)
    assert public("exec", "book.yaml", "--approval", "inbox").code == 0
    for path in (public.root, *public.root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    good = public.run()
    ticket = next((good / "tickets").glob("*.json")).stem
    foreign = good.with_name("20990101T000000Z-foreign")
    foreign.mkdir(mode=0o700)

    def gert(*argv, code=0):
        done = gert_as(NOBODY, *argv, cwd=public.root)
        assert (done.returncode, "internal error" in done.stderr) == (code, False), done.stdout + done.stderr
        return done

    runs = json.loads(gert("runs", "list", "--json").stdout)["runs"]
    assert {run["run_id"]: run["status"] for run in runs} == {
        foreign.name: "unreadable",
        good.name: "approval_pending",
    }
    listed = json.loads(gert("approvals", "list", "--json").stdout)
    assert [entry["ticket_id"] for entry in listed["approvals"]] == [ticket]
    assert [entry["run_id"] for entry in listed["unreadable"]] == [foreign.name]
    gert("approve", ticket, "--as", "bob")
    assert foreign.name in gert("approve", "t-none", "--as", "bob", code=1).stderr
    (public.root / "runs").chmod(0)
    os.chown(public.root / "runs", 0, 0)
    assert "cannot be read: Permission denied" in gert("runs", "list", code=1).stderr
    assert "cannot be read: Permission denied" in gert("approvals", "list", code=1).stderr
