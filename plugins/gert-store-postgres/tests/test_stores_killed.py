"""Processes that are killed, connections that are cut, disks that are full: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from datetime import UTC, datetime

import psycopg
import pytest
from faulty import Kill
from shell import alive, wait_for
from store_shells import DATABASES, change, executing, expire, lines

from gert_core.api import StoreServices
from gert_core.approvals.inbox import entries, respond
from gert_core.plugin.lazy import load_target
from gert_core.runs.fold import fold
from gert_core.trace.reader import read
from gert_core.trace.verify import verify

MANY = bool(os.environ.get("GERT_FUZZ"))
STEPS = """
- { id: seen, type: tool, tool: look, action: do }
- { id: write, type: tool, tool: once, action: do }
- { id: each, type: tool, tool: once, action: do, for_each: { as: n, over: [1, 2] } }
- { id: gate, type: approval, message: May it go on? }
- { id: after, type: tool, tool: once, action: do }
"""
EFFECTS = ("write", "each[0]", "each[1]", "after")
LEAST = {"exec": 14, "resume": 6}
"""How many writes each of the two processes makes at least: when the run, the lease and tickets are written is one too."""
SAMPLE = [("exec", 2, "before"), ("exec", 7, "after"), ("exec", 12, "before"), ("resume", 3, "after")]
POINTS = [
    (part, at, when) for part, most in LEAST.items() for at in range(1, most + 12) for when in ("before", "after")
]
OPENERS = {"sqlite": "gert_store_sqlite.store:open_store", "postgres": "gert_store_postgres.store:open_store"}
CLASSES = {
    "sqlite": "gert_store_sqlite.database:SqliteDatabase",
    "postgres": "gert_store_postgres.database:PostgresDatabase",
}


class Trial:
    """One run in a database, which is brought to its end as a person would."""

    def __init__(self, shell, name: str) -> None:
        self.shell = shell
        self.store = load_target(OPENERS[name])(shell.environ["GERT_STORE"], StoreServices(root=shell.root))
        shell.program("once", 'echo "$GERT_IDEMPOTENCY_KEY" >> once')
        shell.tool("once", "[once]", contract="{ effects: [network], writes: [box], idempotent: false }")
        shell.book(STEPS, tools="look, once")

    def gert(self, *words: str, kill: Kill | None = None, **environ: str):
        return self.shell.server(*words, kill=kill, environ=self.shell.environ | environ, cwd=self.shell.root)

    def run(self):
        found = list(self.store.run_ids())
        assert len(found) <= 1
        run = self.store.open(found[0]) if found else None
        return run if run is not None and run.started else None

    def marks(self) -> list[str]:
        file = self.shell.root / "once"
        return file.read_text().split() if file.exists() else []

    def check(self) -> None:
        """Nothing was done that is not in the trace, and the trace is whole."""
        run = self.run()
        started = set()
        if run is not None:
            events = list(read(run))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            verdict = verify(run, key_for=lambda *_: None, schemes=lambda _: None)
            assert str(verdict.status) in ("unsigned", "truncated"), verdict
            started = {mark(run.run_id, event.step_key) for event in events if event.type == "step_start"}
        assert set(self.marks()) <= started, "an effect without its step_start"

    def finish(self) -> None:
        """Go on until the run is over: approve, find out what became of interrupted steps, resume."""
        for _ in range(6):
            run = self.run()
            if run is None:  # it was killed before there was a trace: nothing was done, and it is started anew
                for run_id in list(self.store.run_ids()):
                    self.store.open(run_id).remove()
                assert self.gert("exec", "book.yaml", "--approval", "inbox").code == 0
                continue
            state = fold(read(run))
            if state.over:
                break
            now = datetime.now(UTC)
            for entry in entries(self.store):
                if entry.status(now) == "pending":
                    respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
            expire(self.shell)
            words = []
            for record in state.unknown_outcomes:
                known = mark(run.run_id, record.key) in self.marks()
                words += ["--reconcile", f"{record.key}={'done' if known else 'redo'}"]
            said = self.gert("resume", run.run_id, *words)
            assert said.code == 0, said.err
        self.check()
        run = self.run()
        assert fold(read(run)).status == "completed"
        assert sorted(self.marks()) == sorted(mark(run.run_id, key) for key in EFFECTS), "each effect once"

    def close(self) -> None:
        self.store.close()


def mark(run_id: str, key: str) -> str:
    return hashlib.sha256(f"{run_id}\n{key}".encode()).hexdigest()


@pytest.fixture(params=DATABASES)
def trial(request, stores):
    made = Trial(stores[request.param], request.param)
    made.name = request.param
    yield made
    made.close()


@pytest.mark.parametrize(("part", "at", "when"), POINTS if MANY else SAMPLE)
def test_store_kill_9_at_each_write(trial, part, at, when):
    kill = Kill(cls=CLASSES[trial.name], methods=("add", "change"), at=at, when=when)
    said = trial.gert("exec", "book.yaml", "--approval", "inbox", kill=kill if part == "exec" else None)
    if part == "resume":
        assert said.code == 0, said.err
        (entry,) = entries(trial.store)
        respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
        said = trial.gert("resume", "latest", kill=kill)
    assert said.code == -signal.SIGKILL or (said.code == 0 and at > LEAST[part]), said.err
    trial.check()
    trial.finish()


def fill(url, locked):
    """Have the disk of the server full behind the 20th line of a run, as soon as the run has begun.

    A trigger stands for the disk. It is made while the run waits for its table: gert uses no table that has one.
    """
    with psycopg.connect(url) as connection, psycopg.connect(url, autocommit=True) as other:
        connection.execute("LOCK TABLE gert_events IN SHARE ROW EXCLUSIVE MODE")
        locked.set()
        deadline = time.monotonic() + 20
        while not other.execute("SELECT 1 FROM gert_runs").fetchall() and time.monotonic() < deadline:
            time.sleep(0.02)
        connection.execute(
            "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.seq > 20 THEN "
            "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF; "
            "RETURN NEW; END $$"
        )
        connection.execute("CREATE TRIGGER full_ BEFORE INSERT ON gert_events FOR EACH ROW EXECUTE FUNCTION full_()")


def test_store_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_space(trial):
    steps = "".join(f"- {{ id: s{n}, type: tool, tool: once, action: do }}\n" for n in range(12))
    trial.shell.book(steps, tools="once")
    environ = trial.shell.environ
    if trial.name == "sqlite":
        import resource
        import subprocess

        trial.gert("runs", "list")
        process = subprocess.run(
            trial.shell.command("exec", "book.yaml"),
            cwd=trial.shell.root, env=environ, capture_output=True, text=True, check=False, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, 160_000)),
        )  # fmt: skip
        code, said = process.returncode, process.stderr
        told = ("the disk is full", "the disk reports an error")
    else:
        trial.store.ledger().claim("0" * 64, "x", "2026-01-01T00:00:00.000000Z")  # makes the tables
        locked = threading.Event()
        filling = threading.Thread(target=fill, args=(environ["GERT_STORE"], locked))
        filling.start()
        assert locked.wait(20)
        done = trial.gert("exec", "book.yaml")
        filling.join(20)
        code, said, told = done.code, done.err, ("the disk of the server is full",)
        change(trial.shell, "DROP TRIGGER full_ ON gert_events")
    assert code == 1, said
    (error,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert any(words in error for words in told), said
    assert "free disk space" in said or "look at the disk" in said
    trial.check()
    before = trial.marks()
    assert 0 < len(before) < 12
    run = trial.run()
    expire(trial.shell)
    words = []
    for record in fold(read(run)).unknown_outcomes:
        words += ["--reconcile", f"{record.key}={'done' if mark(run.run_id, record.key) in before else 'redo'}"]
    assert trial.gert("resume", run.run_id, *words).code == 0
    trial.check()
    assert sorted(trial.marks()) == sorted(mark(run.run_id, f"s{n}") for n in range(12)), "each effect once"


def test_store_pg_lost_commit_answer_at_every_other_commit(stores, proxied):
    trial = Trial(stores["postgres"], "postgres")
    proxied.cut_every = 2
    said = trial.gert("exec", "book.yaml", "--approval", "inbox", GERT_STORE=proxied.url)
    assert said.code == 0, said.err
    assert proxied.cuts > 4
    assert "gert connects again" in said.err
    proxied.cut_every = None
    trial.finish()
    trial.close()


OUTAGE = {
    "gert_core.engine.holding:LEASE_TTL": 4.0,
    "gert_core.engine.holding:_MARGIN": 0.5,
    "gert_core.engine.holding:_LONGEST_PAUSE": 0.2,
    "gert_core.kit.tables.run:_MARGIN": 0.5,
    "gert_core.kit.tables.database:_LONGEST_PAUSE": 0.2,
}
"""A lease of 4 s, of which the last half is left alone."""


def away(stores, proxied, program="exec sleep 60"):
    """A run that is being executed when its server goes away; shell, process, program and the lines so far."""
    shell = stores["postgres"]
    direct, shell.environ["GERT_STORE"] = shell.environ["GERT_STORE"], proxied.url
    process, pid = executing(shell, patch=OUTAGE, program=program)
    shell.environ["GERT_STORE"] = direct
    before = lines(shell)
    proxied.down()
    return shell, process, pid, before


def left(shell) -> float:
    """The seconds that the lease still lasts."""
    with psycopg.connect(shell.environ["GERT_STORE"], autocommit=True) as connection:
        sql = "SELECT expires - extract(epoch FROM clock_timestamp())::float8 FROM gert_leases"
        return float(connection.execute(sql).fetchone()[0])


def test_store_pg_outage_until_nearly_the_end_of_the_lease_does_not_end_a_run(stores, proxied):
    shell, process, pid, _ = away(stores, proxied)
    wait_for(lambda: left(shell) < 1.2, 20)
    assert alive(pid), "a program is not disturbed"
    proxied.up()
    wait_for(lambda: left(shell) > 2, 20)
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=30)
    assert "gert connects again" in said
    assert (process.returncode, shell.json("runs", "status", "latest")["status"]) == (1, "failed")
    assert shell.gert("runs", "verify-ledger", "latest").stdout == "valid\n"


def test_store_pg_outage_longer_than_the_lease_ends_programs_and_the_run_is_resumed(stores, proxied):
    shell, process, pid, before = away(stores, proxied, "while true; do echo busy; sleep 0.05; done")
    wait_for(lambda: not alive(pid), 20)
    assert left(shell) > 0, "before its lease ended, when another worker may begin"
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "is not executed by this worker any more: " in said
    assert "the run stops here" in said
    assert "hint: gert runs status " in said
    assert lines(shell) == before
    proxied.up()
    (shell.root / "again").touch()
    expire(shell)
    assert shell.json("resume", "latest")["status"] == "completed"
    assert (shell.root / "changed").read_text() == "one\n"
