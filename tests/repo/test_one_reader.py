"""Files that another process may have written are opened in one place, which bounds them and follows no link."""

from __future__ import annotations

import ast
import re

import pytest
from repository import ROOT, core_modules, member_directories, module_name

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
    "gert_core.kit.linkless": "each directory on the way to a file that the reader looks at then",
    "gert_core.kit.processes.group": "what the kernel says about a process",
    "gert_core.kit.processes.spawn": "the null device, which programs without input are given",
    "gert_core.kit.sharing": "a directory that was just made, to give it to a group",
    "gert_core.plugin.discovery": "metadata of installed distributions, which are trusted as their code is",
    "gert_core.runs.export": "a new file beside the one that is written",
    "gert_core.scenarios.moving": "a scenario that a person moves, with links as they are",
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
    "gert_store_sqlite.checks": "the database, which SQLite opens; what it opens was looked at before",
    "gert_store_sqlite.database": "the database, which is made before SQLite opens it",
    "gert_store_sqlite.faults": "what the kernel says about file systems",
}
OTHERWISE = {
    "gert_core.cli.scaffold": {"file.read_text", "path.open"},
    "gert_core.plugin.discovery": {"found.read_text"},
    "gert_core.runs.export": {"tarfile.open"},
    "gert_core.scenarios.moving": {"shutil.move"},
    "gert_core.stores.lock": {"_LOCKS.read_text"},
    "gert_store_sqlite.checks": {"sqlite3.connect"},
    "gert_store_sqlite.database": {"sqlite3.connect"},
    "gert_store_sqlite.faults": {"_MOUNTS.read_text"},
}
"""What these modules call besides ``os.open`` with flags, the null device and files of the kernel."""
FOLLOWS = {
    "gert_core.approvals.binding": "the program that is found is the one that is started, through links too",
    "gert_core.cli.render.terminal": "the null device",
    "gert_core.kit.processes.spawn": "the null device",
    "gert_core.plugin.discovery": "distributions may be linked into an environment",
    "gert_store_sqlite.database": "the file that a person names as the store may be linked",
}
"""Modules whose ``os.open`` follows links."""
READS = {"read_text", "read_bytes", "open", "FileIO", "open_code", "ZipFile", "mmap", "getline", "getlines", "run_path"}
READS |= {"copy2", "copyfile", "copytree", "fromfile"}
"""Names that open files wherever they stand, called or handed on."""
OF_MODULES = {"shutil.copy", "shutil.move", "sqlite3.connect"}
NO_FILES = {"store", "kept", "found", "here", "source", "target", "opener", "session", "sessions"}
NO_FILES |= {"passes", "link"}
"""What opens runs, sessions or blocks and not files, by the last word of its name."""


def opened(tree: ast.AST) -> list[ast.expr | ast.alias]:
    """Return what opens or reads a file by its path, also where it is imported, or given to something else."""
    lent = {
        inner
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.Lambda))
        if any(one.arg == "open" for one in (*function.args.args, *function.args.kwonlyargs))
        for inner in ast.walk(function)
    }
    called, found = calls_of(tree), list[ast.expr | ast.alias]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            of_files = not (node.module or "").startswith("gert")
            found += [one for one in node.names if of_files and f"{node.module}.{one.name}" in OF_MODULES]
            found += [one for one in node.names if of_files and one.name in READS]
        elif isinstance(node, ast.Name):
            found += [node] if node.id in READS and isinstance(node.ctx, ast.Load) and node not in lent else []
        elif isinstance(node, ast.Attribute) and (node.attr in READS or ast.unparse(node) in OF_MODULES):
            words = ast.unparse(node.value).rpartition(".")[2].lstrip("_")
            call = called.get(node)
            moded = call is not None and (isinstance(call.args[0], ast.Constant) if call.args else words != "link")
            opens = call is not None or words in ("os", "io", "codecs", "Path")
            found += [node] if node.attr != "open" or moded or (opens and words not in NO_FILES) else []
    return found


def calls_of(tree: ast.AST) -> dict[ast.expr, ast.Call]:
    """Return the calls by what is called."""
    return {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}


def named(file) -> str:
    """Return the name of a module of the core or of a member."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[parts.index("src") + 1 :]) if "src" in parts else module_name(file)


def looked_at():
    core = [file for file in core_modules() if not module_name(file).startswith(("gert_core.testing", READER))]
    return [*core, *(file for directory in member_directories() for file in (directory / "src").rglob("*.py"))]


def test_no_other_module_opens_files():
    """Of the core and of the members; SQLite opens its file itself."""
    calls = {file: opened(ast.parse(file.read_text(encoding="utf-8"))) for file in looked_at()}
    wrong = [f"{file}:{one.lineno}" for file, found in calls.items() for one in found if named(file) not in ALLOWED]
    assert not wrong, f"read it through {READER}"


@pytest.mark.parametrize("name", ALLOWED)
def test_the_exceptions_are_needed_and_follow_no_link(name):
    (file,) = [file for file in looked_at() if named(file) == name]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found, calls = opened(tree), calls_of(tree)
    assert found
    constants = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for one in found:
        place = f"{file}:{one.lineno}: {ast.unparse(one)}"
        call = calls.get(one) if isinstance(one, ast.expr) else None
        assert call is not None, f"{place} is not called here"
        callee = ast.unparse(call.func)
        if callee != "os.open":
            path = ast.unparse(call.args[0]) if call.args else ""
            known = path.startswith(("os.open(", "os.devnull", "'/proc/", "f'/proc/"))
            assert known or callee in OTHERWISE.get(name, ()), place
            continue
        flags = ast.unparse(call.args[1])
        for word, value in constants.items():
            flags = re.sub(rf"\b{word}\b", lambda _, text=value: text, flags)
        kept = any(word in flags for word in ("O_NOFOLLOW", "O_DIRECTORY", "O_EXCL"))
        assert kept or name in FOLLOWS, f"{place}: {flags}"


PLANTED = [
    "path.open()",
    "path.open(mode='rb')",
    "path.open(mode)",
    "found.open()",
    "found.open('rb')",
    "list(map(Path.read_bytes, paths))",
    "list(map(Path.open, paths))",
    "list(map(open, paths))",
    "io.open_code(path)",
    "shutil.copyfile(path, other)",
    "shutil.copy(path, other)",
    "linecache.getlines(path)",
    "from os import open as look",
    "from io import FileIO",
]


@pytest.mark.parametrize("text", PLANTED)
def test_other_ways_to_open_a_file_are_known(text):
    assert opened(ast.parse(text))


@pytest.mark.parametrize("text", ["store.open(run_id)", "self.link.open()", "from gert_core.kit.files import open"])
def test_what_opens_no_file_is_known(text):
    assert not opened(ast.parse(text))
