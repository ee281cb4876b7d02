"""What a killed process leaves: a lease that ends by time in databases, and programs that are still running."""

from __future__ import annotations

import os
import re
import signal
import time

from shell import alive, wait_for
from store_shells import DATABASES, RISKY, alike, change, each, executing, expire, lines

ENDS = r"in \d+ s \(at 20\d\d-[^ ]+Z\)"


def left(shell, **options) -> tuple[str, int]:
    """A run whose process was killed while a program of it still runs; its id, and the program."""
    process, pid = executing(shell, **options)
    time.sleep(0.2)  # its line is written right after it has started
    process.kill()
    process.communicate()
    return shell.gert("runs", "list", "--ids").stdout.split()[0], pid


def end(shell, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    (shell.root / "again").touch()


def test_store_lease_expiry_is_told_and_waited_for(stores):
    def work(shell):
        run, pid = left(shell)
        end(shell, pid)
        said = shell.gert("runs", "status", run).stdout
        worker = r"worker [^ ]+:\d+:exec, whose process is gone"
        assert re.search(
            rf"\nstatus: running\n(.*\n)*lease: {worker}; the run can be resumed when its lease ends {ENDS}\n", said
        )
        error = shell.json("runs", "block", run, "--key", "k", code=1)["error"]
        assert error["kind"] == "run_locked"
        assert re.fullmatch(rf"run {run} is held by {worker}, until its lease ends {ENDS}", error["message"])
        assert error["hint"] == f"try again then; gert resume {run} waits for it"
        change(shell, f"UPDATE gert_leases SET expires = {time.time() + 1.5}")
        said = shell.gert("resume", run)
        assert re.search(rf"waiting for the lease of {worker}: it ends {ENDS}", said.stderr)
        assert "resolved" in said.stdout
        assert shell.json("runs", "status", run)["status"] == "completed"

    each(stores, work, DATABASES)


SHORT = {"gert_core.engine.leaseholders:LEASE_TTL": 2.0}


def test_store_lease_that_ends_later_than_any_is_given_up_when_nobody_renews_it(stores):
    """The clock was ahead when the process was killed, and was put back; or somebody changed the row."""

    def work(shell):
        run, pid = left(shell)
        end(shell, pid)
        change(shell, f"UPDATE gert_leases SET expires = {time.time() + 10**8}")
        said = shell.server("resume", run, environ=shell.environ, cwd=shell.root, patch=SHORT)
        assert re.search(r"process is gone: it is given up in 2 s unless it is renewed, because no lease", said.err)
        assert (said.code, "resolved" in said.out) == (0, True), said.err
        assert shell.json("runs", "status", run)["status"] == "completed"

    each(stores, work, DATABASES)


def test_store_lease_that_is_renewed_while_it_is_waited_for_is_left_alone(stores):
    """A process of another container can have the number of one that is gone here."""

    def work(shell):
        run, pid = left(shell)
        end(shell, pid)
        change(shell, f"UPDATE gert_leases SET expires = {time.time() + 10**8}")
        process = shell.start("resume", run)
        assert "waiting for the lease" in process.stderr.readline()
        change(shell, f"UPDATE gert_leases SET expires = {time.time() + 50}")
        _, said = process.communicate(timeout=30)
        assert (process.returncode, f"run {run} is held by worker" in said) == (1, True), said

    each(stores, work, DATABASES)


def test_store_lease_refuse_names_a_worker_of_another_host_and_when_its_lease_ends(stores):
    def work(shell):
        run, pid = left(shell)
        end(shell, pid)
        change(shell, "UPDATE gert_leases SET worker = 'elsewhere:1:exec'")
        before = lines(shell)
        error = shell.json("resume", run, code=1)["error"]
        assert (error["kind"], error["message"]) == (
            "run_locked",
            f"run {run} is being executed by worker elsewhere:1:exec",
        )
        assert re.fullmatch(
            rf"wait until it has finished; if that worker is gone, its lease ends {ENDS}", error["hint"]
        )
        said = shell.gert("runs", "status", run).stdout
        assert re.search(rf"^lease: worker elsewhere:1:exec, until its lease ends {ENDS} or is renewed$", said, re.M)
        assert lines(shell) == before
        expire(shell)
        assert shell.json("resume", run)["status"] == "completed"

    each(stores, work, DATABASES)


def resumed(shell, run: str, pid: int, *options: str, **environ: str) -> tuple[int, str]:
    """Resume a run, and end its program when that is waited for; the exit code, and what was said."""
    process = shell.start("resume", run, *options, **environ)
    first = process.stderr.readline()
    end(shell, pid)
    _, rest = process.communicate(timeout=60)
    return process.returncode, first + rest


def test_store_programs_that_outlive_a_killed_gert_are_waited_for(stores):
    def work(shell):
        run, pid = left(shell)
        expire(shell)
        code, said = resumed(shell, run, pid)
        waiting = f"warning: waiting for what a gert that was killed left running: process {pid} (sleep) of step slow\n"
        assert (code, said.startswith(waiting)) == (0, True), said
        assert shell.json("runs", "status", run)["status"] == "completed"

    each(stores, work)
    alike(stores)


def test_store_programs_are_found_from_an_environment_with_another_place_for_temporary_files(stores, tmp_path):
    def work(shell):
        run, pid = left(shell)
        expire(shell)
        code, said = resumed(shell, run, pid, TMPDIR=str(tmp_path))
        assert code == 0
        assert f"left running: process {pid} (sleep) of step slow\n" in said

    each(stores, work, DATABASES)


def test_store_programs_are_kept_where_the_usual_places_cannot_be_written(stores, tmp_path):
    def work(shell):
        folder = tmp_path / f"own-{shell.root.name}"
        folder.mkdir()
        places = {"gert_core.engine.children_file:PLACES": (str(tmp_path / "none"),), "tempfile:tempdir": str(folder)}
        process, pid = executing(shell, patch=places)
        (kept,) = wait_for(lambda: list(folder.glob("gert-*/children-*")))
        wait_for(lambda: f'"pid":{pid},'.encode() in kept.read_bytes())
        end(shell, pid)
        process.communicate(timeout=30)
        assert not kept.exists()

    each(stores, work, DATABASES)


def test_store_an_unknown_outcome_is_asked_about_when_its_program_has_ended(stores):
    def work(shell):
        run, pid = left(shell, contract=RISKY)
        expire(shell)
        code, said = resumed(shell, run, pid)
        assert code == 1
        assert f"process {pid} (sleep) of step slow" in said
        assert shell.json("resume", run, code=1)["error"]["kind"] == "unknown_outcome"

    each(stores, work)
