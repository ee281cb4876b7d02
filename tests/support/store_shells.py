"""Shells with the same files on a directory, a SQLite file and a PostgreSQL database, and what tests do with all of them."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from shell import Shell, alive, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from faulty import Background, Faulty

T = TypeVar("T")
STORES = ("file", "sqlite", "postgres")
DATABASES = ("sqlite", "postgres")
SHORT = {"gert_core.engine.holding:LEASE_TTL": 3.0, "gert_core.engine.holding:_MARGIN": 0.5}
"""A lease that lasts for 3 s and is renewed every second."""


def make_shells(root: Path, url: str, warm: dict[str, Faulty]) -> dict[str, Shell]:
    """A shell for each store, all with the same files."""
    found = {}
    for name in STORES:
        (root / name).mkdir()
        shell = Shell(root / name, server=warm[name])
        shell.environ["GERT_STORE"] = {"file": "file:runs", "sqlite": "sqlite:runs.db", "postgres": url}[name]
        shell.program("look", "echo seen")
        shell.program("change", "echo $1 >> changed")
        shell.program("flaky", "test -e tried || { touch tried; exit 3; }")
        shell.tool("look", "[look]")
        shell.tool(
            "change",
            '[change, "{{ .what }}"]',
            contract="{ effects: [filesystem], writes: [box], idempotent: true, inputs: { what: { type: string } } }",
        )
        shell.tool("flaky", "[flaky]")
        found[name] = shell
    return found


def each(stores: dict[str, Shell], work: Callable[..., T], names: Sequence[str] = STORES) -> dict[str, T]:
    """Do the same with every store, at the same time."""
    with ThreadPoolExecutor(len(names)) as pool:
        begun = {name: pool.submit(work, stores[name]) for name in names}
        return {name: one.result() for name, one in begun.items()}


def lines(shell: Shell, run: str = "latest") -> list[str]:
    return shell.gert("runs", "tail", run, "--json").stdout.splitlines()


def without(line: str, root: str) -> str:
    """A line without what is another in every run: ids, times, hashes, process, place and store."""
    line = line.replace(root, "ROOT")
    line = re.sub(r'"(?:run_directory|store)":(?:"[^"]*"|null),?', "", line)
    line = re.sub(r'"uid":\d+,', "", line)  # who owns the file of an answer; a database has no files
    line = re.sub(r"\d{8}T\d{6}Z-book-[0-9a-f]{8}", "RUN", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)", "TIME", line)
    line = re.sub(r"\b[0-9a-f]{12,64}\b", "HASH", line)
    line = re.sub(r"\b\d+\.\d+s\b", "DURATION", line)
    return line.replace('"waited":"DURATION",', "")  # of a pause so short that it rounds to nothing on some


def alike(stores) -> list[str]:
    """The trace of the latest run, which is the same in all stores."""
    found = each(stores, lambda shell: [without(line, str(shell.root)) for line in lines(shell)])
    assert found["sqlite"] == found["file"]
    assert found["postgres"] == found["file"]
    return [json.loads(line)["type"] for line in found["file"]]


CRASH = """
- { id: one, type: tool, tool: change, action: do, inputs: { what: one } }
- { id: slow, type: tool, tool: slow, action: do }
"""
REPEATABLE = "{ effects: [network], writes: [box], idempotent: true }"
RISKY = "{ effects: [network], writes: [box], idempotent: false }"


def executing(
    shell: Shell,
    contract: str = REPEATABLE,
    steps: str = CRASH,
    patch: dict[str, object] | None = None,
    program: str = "exec sleep 60",
) -> tuple[Background, int]:
    """A run whose process executes its second step: the process, and the program that it started."""
    shell.program("slow", f"test -e again && exit 0; echo $$ > slow.new; mv slow.new slow.pid; {program}")
    shell.tool("slow", "[slow]", contract=contract)
    shell.book(steps, tools="change, slow")
    process = shell.server.start("exec", "book.yaml", environ=shell.environ, cwd=shell.root, patch=patch)
    pid = wait_for((shell.root / "slow.pid").exists, 30) and int((shell.root / "slow.pid").read_text())
    return process, pid


def killed(shell: Shell, contract: str = REPEATABLE) -> str:
    """A run whose process was killed in its second step; its id. The lease is over as it is after a minute."""
    process, pid = executing(shell, contract)
    process.kill()
    process.communicate()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    expire(shell)
    (shell.root / "again").touch()
    return shell.gert("runs", "list", "--ids").stdout.split()[0]


def expire(shell: Shell) -> None:
    """Let the leases of all runs be over."""
    change(shell, "UPDATE gert_leases SET expires = 0")


def change(shell: Shell, sql: str) -> None:
    store = shell.environ["GERT_STORE"]
    if store.startswith("sqlite:"):
        with closing(sqlite3.connect(shell.root / "runs.db")) as connection:
            connection.execute(sql)
            connection.commit()
    elif store.startswith("postgres:"):
        import psycopg

        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute(sql)


__all__ = [
    "CRASH",
    "DATABASES",
    "REPEATABLE",
    "RISKY",
    "SHORT",
    "STORES",
    "alike",
    "change",
    "each",
    "executing",
    "expire",
    "killed",
    "lines",
    "make_shells",
    "without",
]
