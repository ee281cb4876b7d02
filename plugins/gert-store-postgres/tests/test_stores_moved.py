"""Runs leave their store: exported and copied byte for byte, moved and resumed in another, used by two people, altered."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from store_shells import REPEATABLE, RISKY, STORES, change, each, killed, lines

PAIRS = [(one, other) for one in STORES for other in STORES if one != other]
STEPS = """
- { id: one, type: tool, tool: change, action: do, inputs: { what: one } }
- { id: gate, type: approval, message: May it go on? }
- { id: two, type: tool, tool: change, action: do, inputs: { what: two } }
"""


@pytest.fixture
def addresses(stores, url):
    """The addresses of all stores, for the shell of the directory."""
    return {"file": "file:runs", "sqlite": "sqlite:runs.db", "postgres": url}


def test_store_identical_export_of_a_run_that_was_copied_through_all_stores(stores, addresses):
    shell = stores["file"]
    shell.book("- { id: look, type: tool, tool: look, action: do, artifacts: { seen: { value: yes } } }", tools="look")
    for origin, url in addresses.items():
        run = shell.json("exec", "book.yaml", "--store", url)["run_id"]
        others = [name for name in STORES if name != origin]
        for source, target in zip([origin, others[0]], others, strict=True):
            shell.gert("store", "copy", addresses[source], addresses[target], "--run", run)
        printed, archives = set(), set()
        for name, at in addresses.items():
            printed.add(shell.gert("runs", "export", run, "--store", at).stdout)
            shell.gert("runs", "export", run, "--store", at, "--out", f"{name}.tar")
            archives.add((shell.root / f"{name}.tar").read_bytes())
            assert shell.gert("runs", "verify-ledger", run, "--store", at).stdout == "valid\n"
        assert (len(printed), len(archives)) == (1, 1), origin


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_store_a_run_that_waits_for_an_approval_goes_on_in_another_store(stores, addresses, source, target):
    shell = stores["file"]
    shell.book(STEPS, tools="change")
    here, there = ("--store", addresses[source]), ("--store", addresses[target])
    run = shell.json("exec", "book.yaml", "--approval", "inbox", *here)["run_id"]
    before = shell.gert("runs", "export", run, *here).stdout
    shell.gert("store", "copy", addresses[source], addresses[target], "--run", run, "--move")
    assert shell.gert("runs", "export", run, *there).stdout == before
    assert shell.json("resume", run, *here, code=1)["error"]["kind"] == "run_moved"
    (ticket,) = shell.json("approvals", "list", *there)["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "alice", *there)
    assert shell.json("resume", run, *there)["status"] == "completed"
    assert (shell.root / "changed").read_text() == "one\ntwo\n"
    assert shell.gert("runs", "export", run, *there).stdout.startswith(before)
    assert shell.gert("runs", "export", run, *here).stdout == before, "what stayed behind is as it was"


@pytest.mark.parametrize(("source", "target"), [("file", "postgres"), ("postgres", "sqlite"), ("sqlite", "file")])
@pytest.mark.parametrize("contract", [REPEATABLE, RISKY])
def test_store_a_run_whose_process_was_killed_goes_on_in_another_store(stores, addresses, source, target, contract):
    shell = stores[source]
    if source != "file":  # the path of the address is that of this shell's root
        addresses = addresses | {"sqlite": "sqlite:runs.db", "file": "file:runs"}
    run = killed(shell, contract)
    there = ("--store", addresses[target])
    shell.gert("store", "copy", addresses[source], addresses[target], "--run", run, "--move")
    if contract == RISKY:
        assert shell.json("resume", run, *there, code=1)["error"]["kind"] == "unknown_outcome"
        assert shell.json("runs", "reconcile", run, "slow=redo", *there)["status"] == "completed"
    else:
        assert shell.json("resume", run, *there)["status"] == "completed"
    assert (shell.root / "changed").read_text() == "one\n"
    assert shell.gert("runs", "verify-ledger", run, *there).stdout == "valid\n"


ALTER = {
    "sqlite": "UPDATE gert_events SET line = CAST(replace(CAST(line AS TEXT), '\"one\"', '\"two\"') AS BLOB) WHERE seq > 1",
    "postgres": "UPDATE gert_events SET line = convert_to(replace(convert_from(line, 'UTF8'), '\"one\"', '\"two\"'), 'UTF8') WHERE seq > 1",
}


def test_store_tampering_found_in_every_store(stores):
    def work(shell):
        shell.book(STEPS, tools="change")
        run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
        assert shell.gert("runs", "verify-ledger", run).stdout == "valid\n"
        trace = shell.root / "runs" / run / "trace.jsonl"
        if trace.exists():
            first, rest = trace.read_text().split("\n", 1)
            trace.write_text(f"{first}\n" + rest.replace('"one"', '"two"'))
        else:
            scheme = shell.environ["GERT_STORE"].partition(":")[0]
            change(shell, ALTER[scheme])
        assert shell.gert("runs", "verify-ledger", run, code=1).stdout == "invalid\n"
        assert "altered" in shell.gert("trace", "verify", "--run", run, code=1).stdout
        assert shell.json("resume", run, code=1)["error"]["kind"] == "trace_altered"
        error = shell.gert(
            "store", "copy", shell.environ["GERT_STORE"], "file:elsewhere", "--run", run, "--move", code=1
        )
        assert "was altered" in error.stderr
        assert (shell.root / "changed").read_text() == "one\n", "nothing was executed"

    each(stores, work)


@pytest.fixture
def people(url):
    """The addresses of a second person who may write the tables of the first, and of one who may only read them."""
    name = f"p{uuid4().hex[:10]}"
    schema = url.rpartition("search_path%3D")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        for role in (f"{name}w", f"{name}r"):
            connection.execute(f"CREATE ROLE {role} LOGIN")
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT ALL ON TABLES TO {name}w")
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {name}r")
    yield url.replace("postgres@", f"{name}w@", 1), url.replace("postgres@", f"{name}r@", 1)
    with psycopg.connect(url, autocommit=True) as connection:
        for role in (f"{name}w", f"{name}r"):
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


def test_store_two_users_of_a_database_work_on_one_run_and_a_reader_changes_nothing(stores, people):
    shell, (writer, reader) = stores["postgres"], people
    shell.book(STEPS, tools="change")
    run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
    assert shell.gert("runs", "list", "--ids", "--store", reader).stdout == f"{run}\n"
    assert shell.json("runs", "status", run, "--store", reader)["status"] == "approval_pending"
    before = lines(shell)
    (ticket,) = shell.json("approvals", "list", "--store", writer)["approvals"]
    for words in (
        ("exec", "book.yaml", "--approval", "inbox"),
        ("resume", run),
        ("approve", ticket["ticket_id"], "--as", "mallory"),
        ("runs", "block", run, "--key", "k"),
    ):
        said = shell.gert(*words, "--store", reader, code=2).stderr
        assert "cannot be used: this user may not read or write the tables" in said, words
        assert "hint: grant the user of the address the rights on the tables" in said
    assert lines(shell) == before
    shell.gert("approve", ticket["ticket_id"], "--as", "alice", "--store", writer)
    assert shell.json("resume", run, "--store", writer)["status"] == "completed"
    assert shell.json("runs", "status", run)["status"] == "completed"
    assert (shell.root / "changed").read_text() == "one\ntwo\n"
