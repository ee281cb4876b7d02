"""The machine floor: nothing a user gives leaves it out, and one that cannot be trusted stops every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gert_core.documents import floor

if TYPE_CHECKING:
    from pathlib import Path

TOOL = """\
apiVersion: tool/v0
meta: {name: touch, transport: stdio, binary: touch}
contract: {effects: [host], writes: [disk]}
actions: {run: {argv: [touch, done]}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: book}
tools: [touch]
steps:
  - {id: act, type: tool, tool: touch}
  - {id: stop, type: end, outcome: {category: resolved, code: done}}
"""
RUNNER = """\
import sys
from pathlib import Path
from gert_core.documents import floor
floor.ROOT, floor.OWNERS = Path(sys.argv[1]), frozenset({0, WHO})
from gert_core.cli import main
sys.exit(main(sys.argv[2:]))
"""
DENY = "apiVersion: policy/v0\nmeta: {name: machine}\nrules: [{writes: [disk], action: deny}]\n"


class Machine:
    """A project on a machine whose floor is in a directory of the test; the constant is replaced in the process."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        self.etc = place / "etc"
        (self.root / "tools").mkdir(parents=True)
        (self.root / "tools/touch.tool.yaml").write_text(TOOL)
        (self.root / "book.yaml").write_text(BOOK)
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}

    def policy(self, text: str = DENY) -> Path:
        file = self.etc / "policies/floor.yaml"
        for folder in (self.etc, file.parent):
            folder.mkdir(mode=0o755, exist_ok=True)
        file.write_text(text)
        file.chmod(0o644)
        return file

    def plugins(self, text: str) -> None:
        self.etc.mkdir(mode=0o755, exist_ok=True)
        (self.etc / "plugins.yaml").write_text(text)
        (self.etc / "plugins.yaml").chmod(0o644)

    def __call__(self, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
        program = RUNNER.replace("WHO", str(os.getuid()))
        return subprocess.run(
            [sys.executable, "-c", program, str(self.etc), *argv],
            cwd=self.root,
            env=self.environ | environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    @property
    def done(self) -> bool:
        return (self.root / "done").exists()

    def start(self) -> dict[str, object]:
        (run,) = (self.root / "runs").glob("[!.]*")
        return json.loads((run / "trace.jsonl").read_text().splitlines()[0])["data"]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_no_flag_project_or_variable_leaves_the_machine_floor_out(machine):
    assert machine("exec", "book.yaml").returncode == 0
    (machine.root / "done").unlink()
    machine.policy()
    allow = "apiVersion: policy/v0\nmeta: {name: mild}\nrules: [{default: allow}]\n"
    (machine.root / "mild.yaml").write_text(allow)
    (machine.root / "gert-project.yaml").write_text("policies: [mild.yaml]\n")
    for argv in (["book.yaml"], ["book.yaml", "--policy", "mild.yaml"], ["book.yaml", "--no-preflight"]):
        said = machine("exec", *argv, GERT_POLICY_DIR="/nowhere", GERT_FLOOR="0", XDG_CONFIG_DIRS="/nowhere")
        assert said.returncode == 1, said.stderr
        assert "governance_denied" in said.stdout + said.stderr
    assert not machine.done


def test_which_project_policies_and_floor_apply_is_explained_and_recorded(machine):
    file = machine.policy()
    machine.plugins("block: []\n")
    (machine.root / "gert-project.yaml").write_text("name: here\n")
    said = machine("policy", "explain", "book.yaml", "--json")
    told = json.loads(said.stdout)
    files = [str(file), str(machine.etc / "plugins.yaml")]
    assert told["floor_files"] == files
    assert told["project_file"].endswith("gert-project.yaml")
    assert {"name": str(file), "kind": "floor", "rules": 1} in told["sources"]
    assert told["steps"][0]["decision"] == "deny"
    text = machine("policy", "explain", "book.yaml").stdout
    assert f"machine floor: {', '.join(files)}" in text
    machine("exec", "book.yaml")
    start = machine.start()
    assert start["floor_files"] == files
    assert start["project_file"] == str(machine.root / "gert-project.yaml")
    assert [(one["name"], one["kind"]) for one in start["policies"]] == [(str(file), "floor")]


def broken_policy(machine):
    machine.policy(
        "apiVersion: policy/v0\nmeta: {name: m}\nrules: [{default: allow}, {writes: [disk], action: deny}]\n"
    )


def broken_plugins(machine):
    machine.plugins("load: auto\n")


def open_file(machine):
    machine.policy().chmod(0o666)


def open_to_a_group(machine):
    machine.policy().chmod(0o664)


def open_directory(machine):
    machine.policy().parent.chmod(0o777)


def open_root(machine):
    machine.plugins("block: []\n")
    machine.etc.chmod(0o757)


def dangling_file(machine):
    file = machine.policy()
    file.unlink()
    file.symlink_to("nowhere.yaml")


def dangling_directory(machine):
    machine.etc.mkdir(mode=0o755)
    (machine.etc / "policies").symlink_to("nowhere")


def dangling_root(machine):
    machine.etc.symlink_to("nowhere")


def link_through_an_open_directory(machine):
    file = machine.policy()
    open_ = machine.root.parent / "open"
    open_.mkdir()
    open_.chmod(0o777)
    file.rename(open_ / "real.yaml")
    file.symlink_to(open_ / "real.yaml")


def pipe(machine):
    file = machine.policy()
    file.unlink()
    os.mkfifo(file, 0o644)


def directory(machine):
    file = machine.policy()
    file.unlink()
    file.mkdir(0o755)


def plain_file_as_directory(machine):
    machine.etc.mkdir(mode=0o755)
    (machine.etc / "policies").write_text(DENY)


def another_ending(machine):
    machine.policy().rename(machine.etc / "policies" / "deny.yml")


def another_case(machine):
    machine.policy().rename(machine.etc / "policies" / "deny.YAML")


def plugins_of_another_ending(machine):
    machine.plugins("block: [transport-stdio]\n")
    (machine.etc / "plugins.yaml").rename(machine.etc / "plugins.yml")


def policy_beside_its_directory(machine):
    machine.policy().rename(machine.etc / "deny.yaml")


def policy_below_its_directory(machine):
    below = machine.etc / "policies" / "production"
    file = machine.policy()
    below.mkdir(mode=0o755)
    file.rename(below / file.name)


KINDS = [
    plugins_of_another_ending,
    policy_beside_its_directory,
    policy_below_its_directory,
    another_ending,
    another_case,
    broken_policy,
    broken_plugins,
    open_file,
    open_to_a_group,
    open_directory,
    open_root,
    dangling_file,
    dangling_directory,
    dangling_root,
    link_through_an_open_directory,
    pipe,
    directory,
    plain_file_as_directory,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_floor_that_cannot_be_trusted_stops_every_run(machine, kind):
    kind(machine)
    for mode in ("real", "dry-run"):
        said = machine("exec", "book.yaml", "--mode", mode)
        assert said.returncode == 2, said.stdout + said.stderr
        assert str(machine.etc) in said.stderr
        assert "Traceback" not in said.stderr
    assert not machine.done
    assert not (machine.root / "runs").exists()


@pytest.mark.parametrize(
    "name", ["deny.json", "deny.JSON", ".deny.json", ".deny.yml", "deny", "deny.yaml.txt", "deny.yam"]
)
def test_a_policy_of_the_machine_that_is_not_read_by_its_name_stops_every_run(machine, name):
    machine.policy().rename(machine.etc / "policies" / name)
    said = machine("exec", "book.yaml")
    assert (said.returncode, f"{name} has another ending than .yaml" in said.stderr) == (2, True), said.stderr
    assert not machine.done


def test_a_list_of_plugins_of_the_machine_in_json_stops_every_run(machine):
    machine.plugins("block: [transport-stdio]\n")
    (machine.etc / "plugins.yaml").rename(machine.etc / "plugins.json")
    assert machine("exec", "book.yaml").returncode == 2
    assert not machine.done


@pytest.mark.parametrize("name", ["deny.yaml~", "deny.yaml.bak", "deny.yaml.disabled", ".deny.yaml.swp", "README.md"])
def test_copies_and_notes_beside_the_policies_of_the_machine_are_passed_over(machine, name):
    machine.policy().rename(machine.etc / "policies" / name)
    said = machine("exec", "book.yaml")
    assert (said.returncode, machine.done) == (0, True), said.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="gives files to another user")
def test_a_machine_floor_of_another_user_stops_every_run(machine):
    file = machine.policy()
    for path in (file, file.parent, machine.etc):
        os.chown(path, 1234, 1234)
        said = machine("exec", "book.yaml")
        assert said.returncode == 2, said.stderr
        assert "belongs to user 1234" in said.stderr
        os.chown(path, 0, 0)
    assert machine("exec", "book.yaml").returncode == 1


def test_links_of_the_administrator_are_followed(machine):
    file = machine.policy()
    kept = machine.root.parent / "kept"
    kept.mkdir(mode=0o755)
    file.rename(kept / "real.yaml")
    (kept / "via").symlink_to("real.yaml")
    file.symlink_to("../../kept/./via")
    said = machine("exec", "book.yaml")
    assert (said.returncode, machine.done) == (1, False), said.stderr
    assert "governance_denied" in said.stdout + said.stderr


def test_the_machine_requires_and_blocks_plugins(machine):
    machine.plugins("require: [gert-policy-none]\n")
    said = machine("exec", "book.yaml")
    assert said.returncode == 3, said.stderr
    assert "the machine floor requires plugin 'gert-policy-none', but it is not installed" in said.stderr
    machine.plugins("require: [gert-transport-stdio]\n")
    assert machine("-p", "no:transport-stdio", "exec", "book.yaml").returncode == 3
    assert machine("exec", "book.yaml", GERT_BLOCK_PLUGINS="gert-transport-stdio").returncode == 3
    machine.plugins("block: [transport-stdio]\n")
    (machine.root / "gert-project.yaml").write_text("plugins: {allow: [gert-transport-stdio], load: auto}\n")
    said = machine("-p", "transport-stdio", "exec", "book.yaml")
    assert said.returncode != 0
    assert not machine.done


def test_scenarios_and_replays_leave_the_floor_out_unless_asked(machine):
    machine.policy()
    scenario = machine.root / "scenarios/book/one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("steps: {act: {status: success}}\n")
    (scenario / "test.yaml").write_text("expected_outcome: resolved\n")
    replay = ("exec", "book.yaml", "--mode", "replay", "--scenario", "one")
    for argv in (("test", "book.yaml"), replay):
        assert machine(*argv).returncode == 0, machine(*argv).stderr
        assert machine(*argv, "--floor").returncode == 1


def test_a_changed_machine_floor_applies_to_a_waiting_run(machine):
    """It is no drift, also when it forbids what a person is being asked for, and no answer counts under the old one."""
    ask = DENY.replace("action: deny", "action: require-approval")
    (machine.root / "ask.yaml").write_text(ask)
    said = machine("exec", "book.yaml", "--policy", "ask.yaml", "--approval", "inbox")
    (run,) = (machine.root / "runs").glob("[!.]*")
    machine.policy(ask.replace("writes: [disk]", "writes: [other]"))
    waiting = machine("resume", "--run", run.name)
    assert "drift" not in waiting.stderr, waiting.stderr
    assert waiting.returncode == said.returncode
    machine.policy()
    denied = machine("resume", "--run", run.name)
    assert denied.returncode == 1, denied.stderr
    assert "governance_denied" in denied.stdout + denied.stderr
    assert not machine.done


def test_a_softened_machine_floor_does_not_run_what_was_denied(machine):
    """What the floor denied in this run stays denied in it, also when it is run again."""
    file = machine.policy()
    assert machine("exec", "book.yaml").returncode == 1
    (run,) = (machine.root / "runs").glob("[!.]*")
    file.write_text(DENY.replace("action: deny", "action: allow"))
    again = machine("resume", "--run", run.name, "--retry-failed")
    assert again.returncode == 1, again.stderr
    assert "drift" not in again.stderr
    assert "governance_denied" in again.stdout + again.stderr
    assert not machine.done
    assert machine("exec", "book.yaml").returncode == 0, "a new run is under the floor of today"


def test_a_machine_floor_that_came_and_went_does_not_run_what_it_denied(machine):
    gate = "steps:\n  - {id: gate, type: approval, message: go}\n"
    (machine.root / "book.yaml").write_text(BOOK.replace("steps:\n", gate))
    machine("exec", "book.yaml", "--approval", "inbox", "--as", "olga")
    (run,) = (machine.root / "runs").glob("[!.]*")
    file = machine.policy()
    waiting = json.loads(machine("resume", "--run", run.name, "--json").stdout)
    assert machine("approve", waiting["pending"][0]["ticket_id"], "--as", "ann").returncode == 0
    assert "governance_denied" in machine("resume", "--run", run.name, "--json").stdout
    file.unlink()
    again = machine("resume", "--run", run.name, "--retry-failed")
    assert again.returncode == 1, again.stderr
    assert "governance_denied" in again.stdout + again.stderr
    assert not machine.done


def test_without_a_floor_one_name_is_looked_up(monkeypatch, tmp_path):
    asked = []
    real = os.lstat
    monkeypatch.setattr(floor, "ROOT", tmp_path / "none")
    monkeypatch.setattr(floor.os, "lstat", lambda path, **more: asked.append(path) or real(path, **more))
    assert floor.floor_policies() == ()
    assert asked == [tmp_path / "none"]


def test_the_floor_of_this_machine_is_where_no_user_writes():
    assert str(floor.ROOT) == "/etc/gert"
    assert frozenset({0}) == floor.OWNERS


@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_a_list_of_plugins_that_is_no_file_stops_every_run(machine, kind):
    machine.plugins("require: []\n")
    file = machine.etc / "plugins.yaml"
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file, 0o644)
    else:
        file.mkdir(mode=0o755)
    said = machine("exec", "book.yaml")
    assert (said.returncode, machine.done) == (2, False), said.stderr
    assert f"the machine floor {file} is not a regular file" in said.stderr
