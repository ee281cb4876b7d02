"""The rows of the table: what is measured, against what, and what was aimed at."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import Engine
from harness import Command, Contender, Figure, OnTerminal, Samples, Worker, clean_environ, extra, rate, ratio
from workloads import Workloads, assert_step, gert_script, mixed_steps, tool_step

from gert_core.plugin.registry import Registry
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = 200
SCAN = "from gert_core.plugin.discovery import scan; scan()"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table; ``more`` means that more is better."""

    what: str
    unit: str
    target: float
    moonshot: float
    needs: tuple[str, ...]
    figure: Callable[[Samples], Figure]
    more: bool = False

    def reached(self, figure: Figure) -> str:
        """In words."""
        better = (lambda aim: figure.median >= aim) if self.more else (lambda aim: figure.median <= aim)
        return "moonshot" if better(self.moonshot) else "target" if better(self.target) else "missed"


def against(
    what: str, unit: str, aims: tuple[float, float], mine: str, *, theirs: str | None = None, **per: float
) -> Row:
    """A row whose figure is a ratio of two contenders."""
    theirs = theirs or unit
    return Row(
        what=what,
        unit=unit,
        target=aims[0],
        moonshot=aims[1],
        needs=(mine, theirs),
        figure=lambda samples: ratio(samples, mine, theirs, **per),
    )


def build(place: Path) -> tuple[dict[str, Contender], list[Row]]:
    """Everything that runs, by name, and the rows made of it."""
    work, registry = Workloads(place), Registry.build()
    contenders: dict[str, Contender] = {}
    rows = [*_start_up(work, contenders), *_steps(work, registry, contenders), *_documents(work, contenders)]
    rows += [
        *_terminals(work, contenders),
        *_programs(work, contenders),
        *_traces(work, registry, contenders),
        *_discovery(work, contenders),
    ]
    return contenders, rows


def starting(place: Path, environment: Path) -> tuple[dict[str, Contender], list[Row]]:
    """Return the rows about starting, for the gert that is installed in a virtual environment."""
    contenders: dict[str, Contender] = {}
    return contenders, _start_up(Workloads(place), contenders, programs=environment / "bin")


def _start_up(work: Workloads, contenders: dict[str, Contender], *, programs: Path | None = None) -> list[Row]:
    programs = programs or gert_script().parent
    gert = str(programs / "gert")
    script, home = work.nothing_script(programs / "gert")
    ten, one = work.book("ten", mixed_steps(2)), work.book("one", tool_step(1))
    contenders["python -c pass"] = Command(argv=[str(programs / "python"), "-c", "pass"], cwd=work.place)
    contenders["do-nothing script"] = Command(
        argv=[str(script)], cwd=work.place, environ=clean_environ(PYTHONPATH=str(home))
    )
    contenders["gert --version"] = Command(
        argv=[gert, "--version"], cwd=work.place, environ=clean_environ(PYTHONPATH=str(home))
    )
    contenders["validate 10"] = Command(argv=[gert, "validate", str(ten)], cwd=work.place)
    contenders["exec 1"] = Command(argv=[gert, "exec", str(one)], cwd=work.place)
    return [
        against(
            "`gert --version`", "do-nothing console script", (1.5, 1.1), "gert --version", theirs="do-nothing script"
        ),
        against("`gert validate`, 10 steps", "python -c pass", (15, 6), "validate 10"),
        against("`gert exec`, one tool step", "python -c pass", (18, 8), "exec 1"),
    ]


def _steps(work: Workloads, registry: Registry, contenders: dict[str, Contender]) -> list[Row]:
    book = work.book("nothing200", "".join(tool_step(n) for n in range(STEPS)))
    durable = Engine(book, registry)
    parallel = work.parallel(100)
    jobs = {
        "subprocess.run": ["bare_processes", str(STEPS)],
        "true steps": ["engine", str(book), "group"],
        "true steps, no sync": ["engine", str(book), "none"],
        "start all, wait": ["all_at_once", "100"],
        "parallel 100": ["engine", str(parallel), "group"],
    }
    for count in (1_000, 10_000):
        steps = work.book(f"checks{count}", "".join(assert_step(n) for n in range(count)))
        jobs[f"assert {count}"] = ["engine", str(steps), "group"]
    for name, job in jobs.items():
        contenders[name] = Worker(job=job, cwd=work.place)
    half = Engine(work.book("nothing100", "".join(tool_step(n) for n in range(STEPS // 2))), registry)
    syncs = Row(
        what="disk syncs per read-only tool step",
        unit="count",
        target=2,
        moonshot=1,
        needs=(),
        figure=lambda _: Figure.of([(durable.syncs() - half.syncs()) / (STEPS / 2)]),
    )
    return [
        against("a `true` tool step, default durability", "subprocess.run", (2.3, 1.9), "true steps"),
        against("the same, `--trace-sync none`", "subprocess.run", (1.5, 1.35), "true steps, no sync"),
        syncs,
        against("100 parallel 50 ms steps, durable", "start all, wait", (1.35, 1.15), "parallel 100"),
        Row(
            what="in-process steps (assert), traced",
            unit="steps per second",
            target=5_000,
            moonshot=13_000,
            needs=("assert 10000",),
            figure=lambda samples: rate(samples, "assert 10000", things=10_000),
            more=True,
        ),
        against(
            "cost per step at 10,000 steps",
            "cost per step at 1,000",
            (1.1, 1.0),
            "assert 10000",
            theirs="assert 1000",
            per=10_000,
            unit_per=1_000,
        ),
    ]


def _terminals(work: Workloads, contenders: dict[str, Contender]) -> list[Row]:
    """Rows that compare a run on a terminal, where it is drawn while it happens, with the same run without one."""
    books = {
        "one tool step": work.book("shown1", tool_step(1)),
        "200 `true` tool steps": work.book("shown200", "".join(tool_step(n) for n in range(STEPS))),
        "100 parallel 50 ms steps": work.parallel(100),
    }
    rows = []
    for what, book in books.items():
        argv = [str(gert_script()), "exec", str(book)]
        contenders[f"exec {what}"] = Command(argv=argv, cwd=work.place, apart=True)  # as the one on a terminal
        contenders[f"exec {what}, terminal"] = OnTerminal(argv=argv, cwd=work.place)
        rows.append(
            against(
                f"`gert exec` on a terminal, {what}",
                "the same without a terminal",
                (1.05, 1.0),
                f"exec {what}, terminal",
                theirs=f"exec {what}",
            )
        )
    return rows


def _documents(work: Workloads, contenders: dict[str, Contender]) -> list[Row]:
    book = str(work.book("thousand", mixed_steps(200)))
    contenders["CSafeLoader"] = Worker(job=["pyyaml_load", book], cwd=work.place)
    contenders["load 1000"] = Worker(job=["load", book], cwd=work.place)
    contenders["validate 1000"] = Worker(job=["validate", book], cwd=work.place)
    return [
        against("load 1,000 steps with positions", "CSafeLoader", (1.2, 0.5), "load 1000"),
        against("validate 1,000 steps, all phases, without the load", "CSafeLoader", (1.0, 0.3), "validate 1000"),
    ]


def _programs(work: Workloads, contenders: dict[str, Contender]) -> list[Row]:
    tested, trivial = work.scenarios(100), work.trivial_tests(100)
    contenders["gert test"] = Command(argv=[str(gert_script()), "test", str(tested)], cwd=tested.parent)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(trivial)]
    contenders["pytest"] = Command(argv=pytest, cwd=trivial.parent)
    return [
        against("`gert test`, 100 scenarios", "pytest, 100 trivial tests", (0.9, 0.45), "gert test", theirs="pytest")
    ]


def _traces(work: Workloads, registry: Registry, contenders: dict[str, Contender]) -> list[Row]:
    book = work.book("traced", "".join(assert_step(n) for n in range(5_000)))
    trace = Engine(book, registry).trace()
    events = sum(1 for _ in read(trace))
    contenders["trace verify"] = Worker(job=["verify", str(trace)], cwd=work.place)
    return [
        Row(
            what="`trace verify`",
            unit="events per second",
            target=60_000,
            moonshot=200_000,
            needs=("trace verify",),
            figure=lambda samples: rate(samples, "trace verify", things=events),
            more=True,
        )
    ]


def _discovery(work: Workloads, contenders: dict[str, Contender]) -> list[Row]:
    few, many = clean_environ(), clean_environ(PYTHONPATH=str(work.hundred_plugins()))
    contenders["scan"] = Command(argv=[sys.executable, "-c", SCAN], cwd=work.place, environ=few)
    contenders["scan, 100 more"] = Command(argv=[sys.executable, "-c", SCAN], cwd=work.place, environ=many)
    return [
        Row(
            what="discovery of 100 installed plugins",
            unit="python -c pass, beyond none",
            target=1.5,
            moonshot=0.2,
            needs=("scan", "scan, 100 more", "python -c pass"),
            figure=lambda samples: extra(samples, "scan, 100 more", "scan", "python -c pass"),
        )
    ]
