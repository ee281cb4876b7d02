"""Files that another process may have written are opened in one place, which bounds them and follows no link."""

from __future__ import annotations

import ast

import pytest
from repository import core_modules, member_directories, module_name

READER = "gert_core.kit.files"
"""The one reader; ``gert_core.kit.user_files`` and the stores read through it."""
ALLOWED = {
    "gert_core.approvals.binding": "hashes the program that is going to be started, in parts, without waiting for a pipe",
    "gert_core.cli.lean": "the null device, in place of a closed stream",
    "gert_core.cli.render.terminal": "the null device, in place of a stream whose reader is gone",
    "gert_core.cli.scaffold": "templates that are part of gert, and files that must not exist before",
    "gert_core.engine.resume.survivors": "what the kernel says about a process",
    "gert_core.kit.children": "a new file that only this process writes, and the boot id of the kernel",
    "gert_core.kit.durable": "directories that are synced, and new files that get their name when they are complete",
    "gert_core.kit.processes.group": "what the kernel says about a process",
    "gert_core.kit.sharing": "a directory that was just made, to give it to a group",
    "gert_core.plugin.discovery": "metadata of installed distributions, which are trusted as their code is",
    "gert_core.runs.export": "a new file beside the one that is written",
    "gert_core.stores.files": "a blob that is added to, and the directory that is locked while one is made",
    "gert_core.stores.imports": "new files below a directory that gets its name last",
    "gert_core.stores.index": "the index, which is written; reading goes through the reader",
    "gert_core.stores.ledger": "the ledger, which is locked while it is read and written",
    "gert_core.stores.listed": "the directory of runs, from which their files are looked at",
    "gert_core.stores.lock": "the lock of a run",
    "gert_core.stores.removal": "the directory of a run that is being deleted",
    "gert_core.stores.ticket_hints": "hints, which are written; reading goes through the reader",
    "gert_core.stores.trace_file": "the trace that was read, to cut what a crash left",
    "gert_core.trace.sinks": "the trace, which is written",
}
FOLLOWS = {
    "gert_core.approvals.binding": "the program that is found is the one that is started, through links too",
    "gert_core.cli.render.terminal": "the null device",
    "gert_core.plugin.discovery": "distributions may be linked into an environment",
}
"""Modules whose ``os.open`` follows links."""


def opened(tree: ast.AST) -> list[ast.Call]:
    """Return the calls that open or read a file by its path."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        mode = bool(node.args) and isinstance(node.args[0], ast.Constant) and name.endswith(".open")
        if name in ("open", "os.open", "io.open") or name.endswith((".read_text", ".read_bytes")) or mode:
            found.append(node)
    return [node for node in found if not _is_session(node)]


def _is_session(node: ast.Call) -> bool:
    """Return whether a call of ``open`` is of a function that a parameter of that name holds."""
    return ast.unparse(node.func) == "open" and (not node.args or ast.unparse(node.args[0]) == "lent")


def looked_at():
    return [file for file in core_modules() if not module_name(file).startswith(("gert_core.testing", READER))]


def test_no_other_module_opens_files():
    calls = {file: opened(ast.parse(file.read_text(encoding="utf-8"))) for file in looked_at()}
    wrong = [
        f"{file}:{one.lineno}" for file, found in calls.items() for one in found if module_name(file) not in ALLOWED
    ]
    assert not wrong, f"read it through {READER}"


@pytest.mark.parametrize("name", ALLOWED)
def test_the_exceptions_are_needed_and_follow_no_link(name):
    (file,) = [file for file in core_modules() if module_name(file) == name]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    calls = opened(tree)
    assert calls
    constants = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for call in calls:
        flags = ast.unparse(call.args[1]) if ast.unparse(call.func) == "os.open" else ""
        for word, value in constants.items():
            flags = flags.replace(word, value)
        kept = any(word in flags for word in ("O_NOFOLLOW", "O_DIRECTORY", "O_EXCL"))
        assert not flags or kept or name in FOLLOWS, f"{file}:{call.lineno}: {flags}"


def test_plugins_read_files_through_the_kit():
    """SQLite opens its file itself; the plugin makes that file before."""
    for directory in member_directories():
        for file in (directory / "src").rglob("*.py"):
            calls = opened(ast.parse(file.read_text(encoding="utf-8")))
            assert not calls or directory.name == "gert-store-sqlite", f"{file}:{calls[0].lineno}"
