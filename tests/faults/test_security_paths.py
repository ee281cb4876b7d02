"""Names never become paths: ids, tickets, tools, packs, scenarios and attachments stay where they belong."""

from __future__ import annotations

import os
import shutil
import stat

import pytest
from gertproc import Gert

from gert_core.api import RunError, ToolPack, UsageError
from gert_core.approvals import valid_ticket_id
from gert_core.documents.lookup import find_tool
from gert_core.kit.tickets import TicketStore
from gert_core.plugin.registry import Registry
from gert_core.runs.directory import check_run_id
from gert_core.runs.listing import list_runs
from gert_core.stores.directory import DirectoryRun, DirectoryStore
from gert_core.testing import GertRunner


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


HOSTILE = [
    "..",
    "../..",
    "../../etc/passwd",
    "/etc/passwd",
    ".",
    "",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    ".hidden",
    "-rf",
    "~root",
    "a" * 300,
    "\x1b[2J",
    "%2e%2e",
    "\u2024\u2024/x",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_run_ids(tmp_path, name):
    """A run id is letters, digits, dots, dashes and underscores; everything else is refused before any path is made."""
    with pytest.raises(UsageError):
        check_run_id(name)
    store = DirectoryStore(tmp_path)
    for make in (store.open, lambda run_id: store.create(run_id, blobs={})):
        with pytest.raises(UsageError):
            make(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a" * 300] + ["a.b", "a" * 129])
def test_tickets(tmp_path, name):
    """The same for tickets."""
    assert not valid_ticket_id(name)
    with pytest.raises(RunError):
        TicketStore(DirectoryRun(tmp_path)).get(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in HOSTILE if "/" not in name and "\0" not in name])
def test_tool_names(tmp_path, name):
    """A tool by name is looked for in the tool directories and packs, and nowhere above them."""
    base = tmp_path / "books"
    (base / "tools").mkdir(parents=True)
    (tmp_path / f"{name[:100]}.tool.yaml").write_text("secret") if "\n" not in name else None
    packs = {"net": ToolPack(name="net", directory=base)}
    found = find_tool(name, base=base, project=None, packs=packs)
    assert found.path is None


@pytest.mark.parametrize("name", ["net/../../x", "net/..", "../net/x", "net//x", "net/./x", "/net/x", "net/x/../x"])
def test_pack_names(tmp_path, name):
    """``pack/tool`` names a file of the pack, whatever the words are."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (tmp_path / "x.tool.yaml").write_text("outside")
    packs = {"net": ToolPack(name="net", directory=pack)}
    found = find_tool(name, base=tmp_path / "books", project=None, packs=packs)
    assert found.path is None
    (pack / "x.tool.yaml").write_text("inside")
    assert find_tool("net/x", base=tmp_path / "books", project=None, packs=packs).path == pack / "x.tool.yaml"


def test_scenario_names(gert):
    """A scenario is a directory a person names on the command line: it is read, and nothing is written into it."""
    gert.write(
        book="apiVersion: kernel/v0\nmeta: {name: x}\nsteps: [{type: end, outcome: {category: resolved, code: x}}]\n"
    )
    for name in ("../../etc", "/etc", "..", "no\0pe"[:2] + "\x1b[2J", "-x"):
        said = gert("exec", "book.yaml", "--mode", "replay", f"--scenario={name}")
        assert said.code == 2, name
        assert "Traceback" not in said.err
        assert "\x1b" not in said.all
    assert gert.runs() == []


MANUAL = """
apiVersion: kernel/v0
meta: { name: attach }
steps:
  - { id: look, type: manual, instructions: Look, required_evidence: [{ kind: attachment, name: shot }] }
  - { id: more, type: manual, instructions: Look, required_evidence: [{ kind: attachment, name: again }] }
  - { type: end, outcome: { category: resolved, code: x } }
"""


def test_attachments(tmp_path):
    """A copy gets a name of its own in the run directory; a link that stands there is neither followed nor replaced."""
    victim = tmp_path / "victim"
    victim.write_text("keep me")
    source = tmp_path / "shot.png"
    source.write_text("picture")

    class Planting(GertRunner):
        pass

    gert = Planting(directory=tmp_path, registry=Registry.build())

    class Person:
        """Plants links where the copies would go, then answers."""

        interactive = True

        def say(self, text):
            pass

        def exclusive(self):
            import contextlib

            return contextlib.nullcontext()

        def ask(self, prompt, *, deadline, hidden=False, question=None):
            folder = next((tmp_path / "runs").glob("[!.]*")) / "attachments"
            folder.mkdir(exist_ok=True)
            for name in ("shot.png", "shot-2.png"):
                if not (folder / name).is_symlink():
                    (folder / name).symlink_to(victim if name == "shot.png" else tmp_path / "dangling")
            return str(source)

    from gert_core.host import run

    gert.write({"runbook.yaml": MANUAL})
    result = run(
        tmp_path / "runbook.yaml", registry=gert.registry, console=Person(), runs=tmp_path / "runs", environ={}
    )
    assert str(result.status) == "completed"
    assert victim.read_text() == "keep me"
    assert not (tmp_path / "dangling").exists()
    folder = next((tmp_path / "runs").glob("[!.]*")) / "attachments"
    assert sorted(p.name for p in folder.iterdir() if not p.is_symlink()) == ["shot-3.png", "shot-4.png"]


def test_everything_a_run_writes_is_private(gert, tmp_path):
    """Directories are 0700 and files 0600, whatever the umask says."""
    gert.write(
        tool_t="apiVersion: tool/v0\nmeta: {name: t, transport: stdio, binary: 'true'}\ncontract: {effects: [x], writes: [y]}\nactions: {run: {argv: ['true']}}\n",
        book="apiVersion: kernel/v0\nmeta: {name: x, governance: {rules: [{effects: [x], action: require-approval}]}}\ntools: [t]\n"
        "steps: [{id: a, type: tool, tool: t}, {type: end, outcome: {category: resolved, code: x}}]\n",
    )
    before = os.umask(0)
    try:
        assert "Approval pending" in gert("exec", "book.yaml", "--approval", "inbox").out
        ticket = next((gert.run() / "tickets").glob("*.json")).stem
        assert gert("approve", ticket, "--as", "ann").code == 0
        assert gert("resume", "--run", gert.run().name).code == 0
        assert gert("runs", "list").code == 0
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs").rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert len(modes) >= 7


# -- run directories that somebody prepared ---------------------------------------------------------------------


def hostile_runs(root) -> None:
    """Everything that can stand where a run directory or one of its files is expected."""
    runs = root / "runs"
    outside = root / "outside"
    outside.mkdir()
    (outside / "trace.jsonl").write_text("outside")
    runs.mkdir()
    for name in ("a\nb", "\x1b[2J", "x" * 200, ".hidden", "-rf", "just a file"):
        (runs / name).mkdir() if "file" not in name else (runs / name).write_text("")
    (runs / "linked").symlink_to(outside)
    (runs / "dangling").symlink_to(root / "nowhere")
    for name in (
        "r-linked-trace",
        "r-fifo",
        "r-directory",
        "r-zeros",
        "r-text",
        "r-meta",
        "r-meta-link",
        "r-elsewhere",
        "r-deep",
    ):
        (runs / name).mkdir()
    (runs / "r-linked-trace" / "trace.jsonl").symlink_to(outside / "trace.jsonl")
    os.mkfifo(runs / "r-fifo" / "trace.jsonl")
    (runs / "r-directory" / "trace.jsonl").mkdir()
    (runs / "r-zeros" / "trace.jsonl").write_bytes(bytes(100_000))
    (runs / "r-text" / "trace.jsonl").write_text("hello\nworld\n")
    (runs / "r-meta" / "meta.json").write_text("[1, 2")
    (runs / "r-meta-link" / "meta.json").symlink_to("/etc/passwd")
    (runs / "r-elsewhere" / "meta.json").write_text(
        '{"trace": "/etc/passwd", "runbook_path": "/etc/passwd", "mode": "real"}'
    )
    (runs / "r-deep" / "trace.jsonl").write_text("[" * 100_000 + "\n")
    (runs / "r-text" / "tickets").symlink_to(outside)
    for name in ("lock", "state.json"):
        (runs / "r-zeros" / name).symlink_to(outside / name)


def test_prepared_run_directories(gert, tmp_path):
    """Whatever stands in the runs directory, every command ends with a sentence and touches nothing outside."""
    hostile_runs(tmp_path)
    for argv in (("runs", "list"), ("runs", "list", "--json"), ("approvals", "list", "--all")):
        said = gert(*argv)
        assert said.code == 0, said.err
        assert "Traceback" not in said.err
        assert "\x1b" not in said.all
    names = [info.run_id for info in list_runs(DirectoryStore(tmp_path / "runs"))]
    assert "linked" not in names
    assert "r-text" in names
    for name in names:
        said = gert("resume", "--run", name, "--json")
        assert said.code in (1, 2), name
        assert said.document["error"]["kind"] != "internal", (name, said.out)
    for name in ("linked", "dangling", "just a file"):
        assert gert("resume", "--run", name, "--json").code in (1, 2)
    assert sorted(p.name for p in (tmp_path / "outside").iterdir()) == ["trace.jsonl"]
    assert (tmp_path / "outside" / "trace.jsonl").read_text() == "outside"


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_run_directories_without_permissions(gert, tmp_path):
    """A run that may not be read is listed as unreadable and is not resumed."""
    (tmp_path / "runs" / "r1").mkdir(parents=True)
    (tmp_path / "runs" / "r1" / "trace.jsonl").write_text("")
    (tmp_path / "runs" / "r1").chmod(0)
    try:
        assert gert("runs", "list").code == 0
        assert gert("resume", "--run", "r1", "--json").code in (1, 2)
    finally:
        (tmp_path / "runs" / "r1").chmod(0o700)
        shutil.rmtree(tmp_path / "runs")
