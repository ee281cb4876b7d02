"""The n-th call of the C library fails, for every n and every command: a sentence, and nothing is lost, false or doubled.

The shim that makes calls fail is built here (``tests/support/nth_call.c``). Without GERT_FUZZ some of the calls fail, chosen
anew with each length of the list; with it all of them do, once with each error they can have and once for good.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
from typing import TYPE_CHECKING

import pytest
from nth_call import NthCall, build_shim
from nth_project import CODES, FaultyProject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALL = bool(os.environ.get("GERT_FUZZ"))
SAMPLE = 5
NAMED = tuple(
    os.strerror(code)
    for code in (
        *(errno.EMFILE, errno.EIO, errno.EACCES, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EROFS),
        *(errno.ENOLCK, errno.EINTR, errno.EAGAIN),
    )
)


@pytest.fixture(scope="module")
def gert(tmp_path_factory) -> Iterator[NthCall]:
    place = tmp_path_factory.mktemp("shim")
    shim = build_shim(place)
    if shim is None:
        pytest.skip("there is no C compiler")
    with NthCall(shim, place) as running:
        yield running


@pytest.fixture
def project(gert, tmp_path) -> FaultyProject:
    return FaultyProject(gert, tmp_path / "project")


def faults(calls: list[str], seed: str) -> Iterator[dict[str, int | bool]]:
    """Which calls fail, and how: all of them in each way, or a sample."""
    ways = [(0, False), (1, False), (2, False), (0, True)]
    every = [{"nth": n + 1, "variant": v, "sticky": s} for n in range(len(calls)) for v, s in ways]
    yield from every if ALL else random.Random(f"{seed} {len(calls)}").sample(every, min(SAMPLE, len(every)))


def hold(check: Callable[[dict[str, int | bool]], None], calls: list[str], seed: str) -> None:
    """Check with each fault, and report all that do not hold together."""
    wrong = []
    for fault in faults(calls, seed):
        try:
            check(fault)
        except AssertionError as error:
            wrong.append(f"{fault} {calls[fault['nth'] - 1]}: {str(error)[:1500]}")
    assert not wrong, f"{len(wrong)} faults:\n" + "\n".join(wrong)


def assert_said_well(done) -> None:
    """A known exit code, no traceback, nothing about bugs; with --json one document."""
    assert done.code in CODES, done
    assert "Traceback" not in done.out + done.err, done
    assert "internal error" not in done.out + done.err, done
    if "--json" in done.argv:
        assert '"kind": "internal"' not in done.out, done
        json.loads(done.out)


READING = [
    ("fresh", ("validate", "book.yaml")),
    ("fresh", ("validate", "--json", "book.yaml", "tools/push.tool.yaml", "gert-project.yaml", "policy.yaml")),
    ("fresh", ("test", "book.yaml", "--json")),
    ("fresh", ("policy", "explain", "book.yaml", "--json")),
    ("fresh", ("plugins", "list", "--json")),
    ("fresh", ("plugins", "why", "step:tool")),
    ("fresh", ("schema", "runbook", "--json")),
    ("fresh", ("completion", "bash")),
    ("waiting", ("approvals", "list", "--json")),
    ("waiting", ("approvals", "show", "TICKET", "--json")),
    ("waiting", ("runs", "list")),
    ("waiting", ("runs", "show", "RUN", "--json")),
    ("killed", ("runs", "list", "--json")),
    ("finished", ("runs", "show", "RUN")),
    ("finished", ("trace", "verify", "TRACE", "--json")),
    ("finished", ("trace", "show", "TRACE")),
    ("finished", ("trace", "show", "TRACE", "--json")),
    ("finished", ("resume", "--run", "RUN", "--json")),
]


@pytest.mark.parametrize(
    ("stage", "argv"), READING, ids=lambda value: value if isinstance(value, str) else "_".join(value)
)
def test_a_command_that_reads(project, stage, argv):
    """It says what it says without a fault, or that something could not be read; and it changes nothing."""
    project.to(stage)
    if "good" in argv or "test" in argv:
        scenario(project)
    names = {"RUN": lambda: project.run.name, "TRACE": lambda: str(project.trace), "TICKET": project.ticket}
    argv = [names[word]() if word in names else word for word in argv]
    project(*argv)
    good = project(*argv)  # the caches are warm now
    project.keep()
    before = project.tree()
    assert_said_well(good)
    assert good.code == 0, good

    def check(fault: dict[str, int | bool]) -> None:
        done = project(*argv, **fault)
        assert_said_well(done)
        if done.code == 0 and timeless(done.out) != timeless(good.out):
            assert any(reason in done.out + done.err for reason in NAMED), done
        assert project.tree() == before

    hold(check, good.calls, " ".join(argv))
    again = project(*argv)
    assert (again.code, timeless(again.out)) == (0, timeless(good.out))


PLANNING = [
    ("exec", "book.yaml", "--mode", "dry-run", "--json"),
    ("exec", "book.yaml", "--mode", "probe", "--json"),
    ("exec", "book.yaml", "--mode", "replay", "--scenario", "good", "--json"),
]


@pytest.mark.parametrize("argv", PLANNING, ids=lambda argv: argv[3])
def test_a_command_that_plans(project, argv):
    """It says what it says without a fault, or that something failed; nothing that writes is executed."""
    project.to("fresh")
    scenario(project)
    project.keep()
    good = project(*argv)
    assert good.code == 0, good

    def check(fault: dict[str, int | bool]) -> None:
        project.restore()
        done = project(*argv, **fault)
        assert_said_well(done)
        if done.code == 0:
            assert json.loads(timeless(done.out))["steps"] == json.loads(timeless(good.out))["steps"]
        project.assert_sound()
        assert not project.effects().keys() & {"both/0/left", "ship"}

    hold(check, good.calls, " ".join(argv))


def timeless(text: str) -> str:
    """A text without ages and durations, whatever room they take in a table."""
    text = re.sub(r'"(age_seconds|duration\w*|seconds)": [\d.]+|\b\d+(\.\d+)?s\b|\d+[smh] ago', "", text)
    return " ".join(text.split())


WRITING = [
    ("fresh", ("exec", "book.yaml", "--json")),
    ("fresh", ("exec", "book.yaml")),
    ("waiting", ("resume", "--run", "RUN", "--json")),
    ("approved", ("resume", "--run", "RUN", "--json")),
    ("killed", ("resume", "--run", "RUN", "--reconcile", "both/0/left=done", "--outputs", '{"said": "push left"}')),
    ("waiting", ("approve", "TICKET", "--as", "bob")),
]


@pytest.mark.parametrize(("stage", "argv"), WRITING, ids=lambda value: value if isinstance(value, str) else value[0])
def test_a_command_that_executes_or_decides(project, stage, argv):
    """Whatever it leaves verifies, and is brought to the right end; nothing that writes is executed twice."""
    project.to(stage)
    names = {"RUN": lambda: project.run.name, "TICKET": project.ticket}
    argv = [names[word]() if word in names else word for word in argv]
    good = project(*argv)
    assert good.code == 0, good

    def check(fault: dict[str, int | bool]) -> None:
        project.restore()
        done = project(*argv, **fault)
        assert_said_well(done)
        project.assert_sound()
        if "exec" in argv:
            assert not project.effects()["ship"], "executed without approval"
        project.finish()
        project.assert_once()
        project.assert_sound()

    hold(check, good.calls, " ".join(argv[:2]))


def test_a_rejection(project):
    """A request is rejected, or it is still pending; it is never approved."""
    project.to("waiting")
    ticket = project.ticket()
    good = project("reject", ticket, "--as", "bob", "--reason", "no")
    assert good.code == 0, good

    def check(fault: dict[str, int | bool]) -> None:
        project.restore()
        done = project("reject", ticket, "--as", "bob", "--reason", "no", **fault)
        assert_said_well(done)
        project.assert_sound()
        state = json.loads(project("approvals", "show", ticket, "--json").out)
        assert state["status"] in (("pending", "answered") if done.code else ("answered",)), state
        again = project("reject", ticket, "--as", "bob", "--reason", "no")
        assert again.code == 0 or "answers it needs" in again.err or "already" in again.err, again
        ended = project("resume", "--run", project.run.name, "--json")
        assert json.loads(ended.out)["failure"]["kind"] == "approval_rejected", ended
        assert not project.effects()["ship"]

    hold(check, good.calls, "reject")


NEW = [
    ("init", "demo"),
    ("new", "runbook", "fresh"),
    ("new", "tool", "fresh"),
    ("new", "scenario", "second", "--runbook", "book.yaml"),
    ("new", "plugin", "step-fresh"),
]


@pytest.mark.parametrize("argv", NEW, ids="_".join)
def test_a_command_that_writes_files(project, argv):
    """Each file is there as it should be or not at all, and the next time all of them are written or it says which exist."""
    project.to("fresh")
    good = project(*argv)
    assert good.code == 0, good
    whole = project.tree()

    def check(fault: dict[str, int | bool]) -> None:
        project.restore()
        before = project.tree()
        done = project(*argv, **fault)
        assert_said_well(done)
        there = project.tree()
        assert {name: data for name, data in there.items() if whole.get(name) != data} == {}
        if done.code == 0:
            assert there == whole
        elif there == before:
            again = project(*argv)
            assert (again.code, project.tree()) == (0, whole), again

    hold(check, good.calls, " ".join(argv))


def scenario(project: FaultyProject) -> None:
    """Write the scenario ``good`` of the runbook."""
    made = project("new", "scenario", "good", "--runbook", "book.yaml")
    assert made.code == 0, made
