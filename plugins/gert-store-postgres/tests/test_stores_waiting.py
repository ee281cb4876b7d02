"""What a run waits for is the same in every store, in lists as where one run is shown; blocks do not add up to a stop."""

from __future__ import annotations

from store_shells import RISKY, each, executing, killed

WAITS = "while [ ! -e go ]; do sleep 0.05; i=$((i+1)); test $i -lt 1200 || exit 9; done"


def waits(shell, run):
    """What a list says that a run waits for; ``runs status``, ``show`` and ``resume-point`` say the same."""
    stands = shell.json("runs", "status", run)
    (row,) = (row for row in shell.json("runs", "list")["runs"] if row["run_id"] == run)
    assert row["blocked_on"] == stands["blocked_on"] == shell.json("runs", "show", run)["blocked_on"]
    assert shell.json("runs", "resume-point", run)["blocked_on"] == stands["blocked_on"]
    return [tuple(one.values()) for one in row["blocked_on"]]


def test_life_lists_name_the_steps_to_approve_and_every_key_in_every_store(stores):
    def work(shell):
        shell.book("- { id: gate, type: approval, message: Go on? }")
        run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
        assert waits(shell, run) == [("approval", "gate")]
        assert shell.gert("runs", "list").stdout.splitlines()[1].endswith("approval: gate")
        shell.gert("runs", "block", run, "--key", "a")
        shell.gert("runs", "block", run, "--key", "b")
        assert waits(shell, run) == [("approval", "gate"), ("unblock", "a"), ("unblock", "b")]
        shell.gert("runs", "unblock", run, "--key", "a")
        assert waits(shell, run) == [("approval", "gate"), ("unblock", "b")]

    each(stores, work)


def test_life_lists_name_what_a_killed_or_cancelled_run_left_unknown_in_every_store(stores):
    def work(shell):
        assert waits(shell, killed(shell, RISKY)) == [("reconcile", "slow")]
        for name in ("again", "slow.pid"):
            (shell.root / name).unlink()
        process, _ = executing(shell, RISKY)
        run = shell.json("runs", "list")["runs"][0]["run_id"]
        shell.gert("runs", "cancel", run)
        process.communicate(timeout=30)
        assert waits(shell, run) == [("reconcile", "slow")]
        assert shell.json("resume", run, "--abort", code=1)["status"] == "cancelled"
        assert waits(shell, run) == []

    each(stores, work)


def test_life_block_asked_for_twice_lets_the_step_end_that_is_executed(stores):
    def work(shell):
        process, _ = executing(shell, program=WAITS)
        run = shell.gert("runs", "list", "--ids").stdout.split()[0]
        first, second = (shell.gert("runs", "block", run, "--key", "k").stdout for _ in range(2))
        assert first == second == f"Run {run} is being executed, and will be blocked on k before its next step.\n"
        other = shell.json("runs", "block", run, "--key", "other", code=1)["error"]
        assert (other["kind"], other["hint"]) == ("run_blocked", "block it on other as well when it is")
        (shell.root / "go").touch()
        process.communicate(timeout=30)
        assert (process.returncode, waits(shell, run)) == (0, [("unblock", "k")])

    each(stores, work)
