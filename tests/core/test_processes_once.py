"""``processes.call``: what a program sees, what comes back, and that nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gert_core.api import StepProblem
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit import processes
from gert_core.kit.children import Children
from gert_core.kit.processes import group, once, spawn

ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture
def stop():
    switch = Stop()
    yield switch
    switch.close()


@pytest.fixture(params=["alone", "among others"])
def start(request, monkeypatch):
    """Both ways of starting a program must behave the same."""
    monkeypatch.setattr(spawn, "running", lambda: request.param == "among others")


@pytest.fixture
def quick_grace(monkeypatch):
    monkeypatch.setattr(once, "GRACE", 0.3)


def run(*argv: str, stop: Stop, seconds: float | None = 20, environ=ENVIRON, **options):
    return processes.call(argv, environ=environ, deadline=Deadline(stop, seconds), **options)


def sh(script: str, *args: str, stop: Stop, **options):
    return run("sh", "-c", script, "sh", *args, stop=stop, **options)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def gone(pid: int, seconds: float = 3) -> bool:
    """Whether a process is no more (or only a zombie somebody else has to collect)."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def written_pid(path: Path) -> int:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):
            if text := path.read_text().strip():
                return int(text)
        time.sleep(0.01)
    raise AssertionError(f"nothing wrote {path.name}")


def test_a_file_that_took_the_number_of_the_null_device_is_no_input(stop, tmp_path):
    """A host that closes descriptors which are not its own gives no program a file of its own to read."""
    assert run("cat", stop=stop).stdout == ""
    null = [fd for fd, _, _ in spawn._null]
    assert len(null) == 1
    os.close(null[0])
    (tmp_path / "private").write_text("private")
    mine = os.open(tmp_path / "private", os.O_RDONLY)
    os.dup2(mine, null[0])
    try:
        assert run("cat", stop=stop).stdout == ""
        assert os.read(null[0], 100) == b"private", "it is still the host's"
    finally:
        os.close(mine)
        os.close(null[0])


@pytest.mark.usefixtures("start")
class TestWhatAProgramGets:
    def test_streams_and_exit_code_come_back_apart(self, stop):
        result = sh("echo out; echo err >&2; exit 7", stop=stop)
        assert (result.exit_code, result.stdout, result.stderr) == (7, "out\n", "err\n")

    def test_input_is_what_was_given_or_empty(self, stop):
        assert run("cat", stop=stop).stdout == ""
        assert run("cat", stop=stop, stdin="héllo".encode()).stdout == "héllo"

    def test_large_input_and_output_pass_at_the_same_time(self, stop):
        data = b"0123456789abcde\n" * 65536
        assert run("cat", stop=stop, stdin=data).stdout.encode() == data

    def test_a_program_need_not_read_its_input(self, stop):
        assert sh("exec 0<&-; sleep 0.1; echo done", stop=stop, stdin=b"x" * 1_000_000).stdout == "done\n"

    def test_its_environment_is_exactly_the_one_given(self, stop, monkeypatch):
        monkeypatch.setenv("GERT_TEST_LEAK", "1")
        assert run("env", stop=stop, environ={"PATH": os.environ["PATH"], "A": "b c"}).stdout.splitlines() == [
            f"PATH={os.environ['PATH']}",
            "A=b c",
        ]

    def test_arguments_never_pass_a_shell(self, stop):
        words = ["$(echo no)", "a b", "*", "", "'\"", ";true", "-n"]
        shown = sh('for w in "$@"; do printf "[%s]" "$w"; done', *words, stop=stop)
        assert shown.stdout == "".join(f"[{word}]" for word in words)

    def test_it_runs_where_gert_runs(self, stop, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert run("pwd", "-P", stop=stop).stdout.strip() == str(tmp_path.resolve())

    def test_it_leads_its_own_process_group(self, stop):
        pid, pgid = sh("echo $$; ps -o pgid= -p $$", stop=stop).stdout.split()
        assert pid == pgid != str(os.getpgrp())

    def test_broken_pipes_end_programs_in_it_as_usual(self, stop):
        assert sh("yes | head -n 1; echo ${PIPESTATUS:-}", stop=stop).stdout.startswith("y")
        # Python ignores SIGPIPE; inherited, `yes` would complain about a write error instead of dying silently.
        assert sh("yes | head -n 1", stop=stop).stderr == ""

    def test_descriptors_inherited_by_gert_do_not_reach_it(self, stop):
        read, write = os.pipe()
        os.set_inheritable(write, True)
        spawn._close_inherited.cache_clear()
        try:
            listed = run("ls", "/proc/self/fd", stop=stop).stdout.split()
        finally:
            os.close(read)
            os.close(write)
            spawn._close_inherited.cache_clear()
        assert listed == ["0", "1", "2", "3"]  # 3 is the listing itself

    def test_bytes_that_are_not_text_are_replaced(self, stop):
        assert sh(r"printf 'a\377\376b'", stop=stop).stdout == "a\ufffd\ufffdb"

    def test_death_by_signal_is_told_as_shells_tell_it(self, stop):
        assert sh("kill -KILL $$", stop=stop).exit_code == 137

    def test_the_path_of_its_own_environment_is_searched(self, stop, tmp_path):
        (tmp_path / "mine").write_text("#!/bin/sh\necho found\n")
        (tmp_path / "mine").chmod(0o755)
        environ = {"PATH": f"/nowhere:{tmp_path}:/usr/bin:/bin"}
        assert run("mine", stop=stop, environ=environ).stdout == "found\n"

    def test_a_directory_of_that_name_on_the_path_is_passed_over(self, stop, tmp_path):
        (tmp_path / "echo").mkdir()
        assert run("echo", "x", stop=stop, environ={"PATH": f"{tmp_path}:/usr/bin:/bin"}).stdout == "x\n"


@pytest.mark.usefixtures("start")
class TestWhatCannotStart:
    def check(self, kind: str, *words: str, argv, stop, **options):
        before = descriptors()
        with pytest.raises(StepProblem) as caught:
            run(*argv, stop=stop, **options)
        assert caught.value.kind == kind
        for word in words:
            assert word in caught.value.message
        assert descriptors() == before
        assert not group.running()

    def test_missing_program(self, stop):
        self.check("not_found", "'gert-no-such'", "PATH", argv=["gert-no-such"], stop=stop)

    def test_missing_path(self, stop):
        self.check("not_found", "'./gone'", "relative", argv=["./gone"], stop=stop)

    def test_not_executable(self, stop, tmp_path):
        (tmp_path / "plain").write_text("text")
        self.check("spawn", "chmod +x", argv=[str(tmp_path / "plain")], stop=stop)

    def test_no_interpreter(self, stop, tmp_path):
        script = tmp_path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.check("spawn", "interpreter", "#!", argv=[str(script)], stop=stop)

    def test_no_program_format(self, stop, tmp_path):
        script = tmp_path / "script"
        script.write_text("echo hi\n")
        script.chmod(0o755)
        self.check("spawn", "'#!'", argv=[str(script)], stop=stop)

    def test_nul_byte(self, stop):
        self.check("spawn", "null byte", argv=["echo", "a\0b"], stop=stop)

    def test_too_long(self, stop):
        self.check("spawn", "too long", "stdin", argv=["echo", "x" * 3_000_000], stop=stop)

    def test_nothing_to_run(self, stop):
        self.check("spawn", "empty", argv=[""], stop=stop)

    def test_bad_environment_name(self, stop):
        self.check("spawn", "echo", argv=["echo"], stop=stop, environ={**ENVIRON, "A=B": "c"})


class TestBeingStopped:
    def test_time_is_up(self, stop, tmp_path):
        began = time.monotonic()
        with pytest.raises(StepProblem) as caught:
            sh("echo $$ > $1; echo partial; sleep 60", str(tmp_path / "pid"), stop=stop, seconds=0.3)
        assert time.monotonic() - began < 3
        assert caught.value.kind == "timeout"
        assert "'sh' did not end within 0.3s" in caught.value.message
        assert caught.value.detail["stdout"] == "partial\n"
        assert gone(written_pid(tmp_path / "pid"))

    def test_cancel_from_another_thread(self, stop, tmp_path):
        threading.Timer(0.2, stop.throw, ("test",)).start()
        began = time.monotonic()
        with pytest.raises(StepProblem) as caught:
            sh("echo $$ > $1; sleep 60", str(tmp_path / "pid"), stop=stop, seconds=None)
        assert caught.value.kind == "cancelled"
        assert time.monotonic() - began < 3
        assert gone(written_pid(tmp_path / "pid"))

    @pytest.mark.parametrize("cancelled", [True, False])
    def test_what_is_stopped_already_never_starts(self, stop, tmp_path, cancelled):
        if cancelled:
            stop.throw("test")
        with pytest.raises(StepProblem) as caught:
            run("touch", str(tmp_path / "ran"), stop=stop, seconds=0)
        assert caught.value.kind == ("cancelled" if cancelled else "timeout")
        assert not (tmp_path / "ran").exists()

    def test_term_first_so_that_it_can_clean_up(self, stop, tmp_path):
        script = 'trap "echo cleaned > $1; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
        with pytest.raises(StepProblem, match="did not end"):
            sh(script, str(tmp_path / "mark"), stop=stop, seconds=0.3)
        assert (tmp_path / "mark").read_text() == "cleaned\n"

    @pytest.mark.usefixtures("quick_grace")
    def test_kill_for_what_ignores_term(self, stop, tmp_path):
        script = 'trap "" TERM; echo $$ > $1; while :; do sleep 0.05; done'
        began = time.monotonic()
        with pytest.raises(StepProblem) as caught:
            sh(script, str(tmp_path / "pid"), stop=stop, seconds=0.3)
        assert caught.value.kind == "timeout"
        assert 0.5 < time.monotonic() - began < 4
        assert gone(written_pid(tmp_path / "pid"))

    def test_the_grace_is_five_seconds(self):
        assert once.GRACE == 5.0

    @pytest.mark.usefixtures("quick_grace")
    def test_the_whole_group_dies(self, stop, tmp_path):
        script = '(trap "" TERM; sh -c "echo \\$PPID" > $1; sleep 60) & sleep 60'
        with pytest.raises(StepProblem):
            sh(script, str(tmp_path / "pid"), stop=stop, seconds=0.4)
        assert gone(written_pid(tmp_path / "pid"))

    def test_a_flood_is_cut_off(self, stop):
        began = time.monotonic()
        with pytest.raises(StepProblem) as caught:
            run("yes", "x" * 1000, stop=stop)
        assert caught.value.kind == "output_too_large"
        assert "10485760 bytes" in caught.value.message
        assert time.monotonic() - began < 5

    @pytest.mark.usefixtures("quick_grace")
    def test_a_flood_that_ignores_term_is_cut_off(self, stop):
        with pytest.raises(StepProblem) as caught:
            sh('trap "" TERM PIPE; yes 2>/dev/null; sleep 60', stop=stop, limit=100_000)
        assert caught.value.kind == "output_too_large"

    def test_the_limit_is_for_both_streams_and_exact(self, stop):
        assert len(sh("printf 12345; printf 67890 >&2", stop=stop, limit=10).stdout) == 5
        with pytest.raises(StepProblem, match="more than 9 bytes"):
            sh("printf 12345; printf 67890 >&2", stop=stop, limit=9)

    def test_an_exception_on_the_way_leaves_nothing(self, stop, tmp_path):
        class Broken(Deadline):
            def fileno(self) -> int:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            processes.call(["sleep", "60"], environ=ENVIRON, deadline=Broken(stop, 9))
        assert not group.running()


class TestWhatItLeavesBehind:
    def test_output_closed_early_is_no_end(self, stop):
        began = time.monotonic()
        assert sh("exec >&- 2>&-; sleep 0.4; exit 3", stop=stop).exit_code == 3
        assert time.monotonic() - began >= 0.4

    def test_a_grandchild_holding_the_output_does_not_hold_us(self, stop, tmp_path):
        began = time.monotonic()
        result = sh("echo first; sleep 60 & echo $! > $1", str(tmp_path / "pid"), stop=stop)
        assert (result.exit_code, result.stdout) == (0, "first\n")
        assert time.monotonic() - began < 4
        assert gone(written_pid(tmp_path / "pid"))

    def test_a_grandchild_may_finish_its_output_soon_after(self, stop):
        assert sh("(sleep 0.1; echo late) & echo first", stop=stop).stdout == "first\nlate\n"

    def test_a_grandchild_with_no_output_does_not_survive(self, stop, tmp_path):
        sh("sleep 60 >/dev/null 2>&1 & echo $! > $1", str(tmp_path / "pid"), stop=stop)
        assert gone(written_pid(tmp_path / "pid"))

    def test_a_grandchild_is_asked_first(self, stop, tmp_path):
        script = '(trap "echo asked > $1; exit" TERM; while :; do sleep 0.02; done) >/dev/null 2>&1 & sleep 0.3'
        sh(script, str(tmp_path / "mark"), stop=stop)
        assert (tmp_path / "mark").read_text() == "asked\n"

    @pytest.mark.usefixtures("quick_grace")
    def test_a_stubborn_grandchild_does_not_survive(self, stop, tmp_path, monkeypatch):
        monkeypatch.setattr(group, "SWEEP", 0.3)
        script = '(trap "" TERM; while :; do sleep 0.05; done) %s & echo $! > $1'
        for number, output in enumerate(("", ">/dev/null 2>&1")):
            pid = tmp_path / str(number)
            assert sh(script % output, str(pid), stop=stop).exit_code == 0
            assert gone(written_pid(pid))

    @pytest.mark.usefixtures("quick_grace")
    def test_a_daemon_that_left_the_group_does_not_hold_us(self, stop, tmp_path):
        script = (
            "import os, sys, time; os.fork() and os._exit(0); os.setsid();"
            "open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
        )
        began = time.monotonic()
        result = run(sys.executable, "-c", script, str(tmp_path / "pid"), stop=stop)
        assert result.exit_code == 0
        assert time.monotonic() - began < 5
        os.kill(written_pid(tmp_path / "pid"), signal.SIGKILL)  # out of reach by design: ours to clean up here

    def test_no_descriptor_and_no_zombie_stays(self, stop):
        before = descriptors()
        stop.fileno()
        for _ in range(20):
            sh("echo x; exit 1", stop=stop, stdin=b"y")
        assert descriptors() <= before + 2
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_kill_all_reaches_what_is_running(self, stop):
        threading.Timer(0.3, processes.kill_all).start()
        assert run("sleep", "60", stop=stop).exit_code == 137

    def test_only_the_programs_of_one_run_are_killed(self, stop):
        def start(children: Children) -> int:
            children.begin("step")
            try:
                return run("sleep", "2", stop=stop).exit_code
            finally:
                children.leave()

        one, other = Children(None), Children(None)
        threading.Timer(0.3, one.kill).start()
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(start, (one, other))) == [137, 0]
        one.kill()  # what was collected is not killed again

    def test_a_lost_exit_status_is_said(self, stop):
        previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            with pytest.raises(StepProblem, match="SIGCHLD"):
                run("true", stop=stop)
        finally:
            signal.signal(signal.SIGCHLD, previous)

    def test_without_process_descriptors(self, stop, monkeypatch, quick_grace):
        """Where the system has none (macOS), ends are found by asking."""
        monkeypatch.delattr(os, "pidfd_open")
        assert sh("echo x; exit 4", stop=stop).exit_code == 4
        assert sh("exec >&- 2>&-; sleep 0.2; exit 5", stop=stop).exit_code == 5
        with pytest.raises(StepProblem, match="did not end"):
            sh("sleep 60", stop=stop, seconds=0.2)


def test_output_is_handed_on_while_the_program_runs(stop):
    seen, shown = [], threading.Event()

    def take(stream, data):
        seen.append((stream, data))
        shown.set()

    def end():
        assert shown.wait(10)
        stop.throw("seen")

    threading.Thread(target=end).start()
    argv, deadline = ["sh", "-c", "echo one; sleep 60"], Deadline(stop)
    with pytest.raises(StepProblem, match="cancelled"):
        processes.call(argv, environ=ENVIRON, deadline=deadline, output=take)
    assert seen == [("stdout", b"one\n")]


def test_both_streams_are_handed_on_as_they_are_returned(stop):
    seen = {"stdout": b"", "stderr": b""}

    def take(stream, data):
        seen[stream] += data

    argv = ["sh", "-c", "for n in 1 2 3; do echo out $n; echo err $n >&2; done"]
    result = processes.call(argv, environ=ENVIRON, deadline=Deadline(stop, 10), output=take)
    assert (seen["stdout"].decode(), seen["stderr"].decode()) == (result.stdout, result.stderr)


def test_many_at_once_do_not_wait_for_each_other(stop):
    with ThreadPoolExecutor(40) as pool:
        began = time.monotonic()
        results = list(pool.map(lambda n: sh(f"sleep 0.3; echo {n}", stop=stop).stdout, range(40)))
    assert results == [f"{n}\n" for n in range(40)]
    assert time.monotonic() - began < 6  # one after another they would take twelve seconds
    assert not group.running()
