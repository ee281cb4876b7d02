"""Conformance tests of tool packs, with one-step runs and fake programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from gert_core.api.events import EventType
from gert_core.contracts import tool_contract
from gert_core.documents.contract import ContractModel
from gert_core.documents.load import load_tool
from gert_core.documents.lookup import find_tool
from gert_core.documents.scenario import SCENARIO_FILE, load_scenario
from gert_core.documents.tree import ToolNode
from gert_core.plugin.kinds import TOOLS
from gert_core.plugin.registry import Registry
from gert_core.testing.cases import PluginConformance, records
from gert_core.testing.findings import describe
from gert_core.tools import render_action
from gert_core.validation import validate_file
from gert_core.validation.rules import MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gert_core.documents.tool import ToolModel
    from gert_core.testing.running import GertRunner, Ran

HOSTILE: Final = "--gert-hostile"
"""A value that looks like an option, given to every input of every action."""
_STEP: Final = """\
apiVersion: kernel/v0
meta: { name: call }
tools: ["%s"]
steps:
  - { id: call, type: tool, tool: "%s", action: "%s", inputs: %s }
  - { id: done, type: end, outcome: { category: resolved } }
"""


def call(runner: GertRunner, tool: str, action: str, inputs: Mapping[str, object] | None = None, **options: Any) -> Ran:
    """Run one action of a tool for real; the tool and end step types and the transport must be installed."""
    values = {name: _literal(value) for name, value in (inputs or {}).items()}
    return runner(_STEP % (tool, tool, action, json.dumps(values)), **options)


def outputs(ran: Ran) -> Mapping[str, object]:
    """Return the outputs of the action of ``call``, also when it failed."""
    found: Mapping[str, object] = ran.of(EventType.STEP_COMPLETE, "call")[0].get("outputs") or {}
    return found


def _literal(value: object) -> object:
    """Return text as a template that gives exactly that text."""
    return value.replace("{{", '{{ "{{" }}') if isinstance(value, str) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """A fake program that records its calls and gives a fixed answer."""

    directory: Path
    name: str

    @classmethod
    def make(cls, directory: Path, name: str, *, stdout: str = "", stderr: str = "", exit_code: int = 0) -> StandIn:
        """Write the program into ``directory``, to be put on PATH."""
        directory.mkdir(parents=True, exist_ok=True)
        made = cls(directory=directory, name=name)
        program = directory / name
        program.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"call = {{'argv': sys.argv[1:], 'stdin': sys.stdin.read(), 'environ': dict(os.environ)}}\n"
            f"open({str(made._notes)!r}, 'a').write(json.dumps(call) + '\\n')\n"
            f"sys.stdout.write({stdout!r}); sys.stderr.write({stderr!r}); sys.exit({exit_code})\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        return made

    @property
    def _notes(self) -> Path:
        return self.directory / f"{self.name}.calls"

    @property
    def calls(self) -> list[dict[str, object]]:
        """Every call so far: ``argv`` without the program, ``stdin`` and ``environ``."""
        if not self._notes.exists():
            return []
        return [json.loads(line) for line in self._notes.read_text(encoding="utf-8").splitlines()]


def path_with(directory: Path, name: str, **answer: Any) -> str:
    """Return a PATH with the program ``name``: the real one, or a fake one with this answer where it is missing."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which(name, path=path):
        return path
    StandIn.make(directory, name, **answer)
    return f"{directory}{os.pathsep}{path}"


class ToolPackConformance(PluginConformance):
    """The tests every tool pack must pass; subclass it and set ``plugin`` and ``books`` (runbooks with scenarios).

    ``takes_value`` names options whose next word is always their value, whatever it looks like.
    """

    plugin: ClassVar[Any]
    books: ClassVar[Path]
    takes_value: ClassVar[Sequence[str]] = ()

    def tools(self) -> Iterator[tuple[str, Path, ToolModel]]:
        """Yield every tool of the pack: its name as runbooks list it, its file and its model."""
        for pack in records(self.plugin, TOOLS):
            for file in sorted(pack.directory.glob("*.tool.yaml")):
                loaded = load_tool(file)
                tool = loaded.tool
                assert tool is not None, f"{file.name} is not valid:\n{describe(loaded.diagnostics)}"
                yield f"{pack.name}/{file.name.removesuffix('.tool.yaml')}", file, tool

    def test_the_pack_has_tools_named_after_their_files(self) -> None:
        found = list(self.tools())
        assert found, "a pack without tools"
        for name, _, tool in found:
            assert tool.meta.name == name.partition("/")[2]

    def test_a_tool_is_found_by_its_name_with_and_without_the_pack_and_by_path(self) -> None:
        packs = {pack.name: pack for pack in records(self.plugin, TOOLS)}
        for name, file, tool in self.tools():
            for entry in (name, tool.meta.name, str(file)):
                found = find_tool(entry, base=self.books, project=None, packs=packs)
                assert found.path == file, f"{entry}: {found.reason or found.searched}"

    def test_every_tool_is_valid_without_a_warning(self) -> None:
        for _, file, tool in self.tools():
            environ = {secret.env: "present" for secret in tool.all_secrets}
            found = validate_file(file, registry=Registry.build(), environ=environ)
            about = [finding for finding in found.diagnostics if finding.rule not in MACHINE]
            assert not about, describe(about)

    def test_every_action_says_what_it_does_and_touches(self) -> None:
        for name, _, tool in self.tools():
            whole = tool.contract or ContractModel()
            for action, model in tool.actions.items():
                own = model.contract or ContractModel()
                place = f"{name}:{action}"
                assert model.description, f"{place} has no description"
                assert own.effects is not None or whole.effects is not None, f"{place} declares no effects"
                assert own.writes is not None or whole.writes is not None, f"{place} declares no writes"
                assert own.idempotent is not None or whole.idempotent is not None, f"{place}: is it idempotent?"
                for contract in (whole, own):
                    for param, given in {**(contract.inputs or {}), **(contract.outputs or {})}.items():
                        assert given.type, f"{place}: {param} has no type"

    def test_no_value_can_become_an_option(self) -> None:
        for name, file, tool in self.tools():
            loaded = load_tool(file)
            for action in tool.actions:
                contract = tool_contract(tool, action)[0]
                inputs = {
                    param: HOSTILE if given.type in ("string", "any") else given.default
                    for param, given in contract.inputs.items()
                }
                node = ToolNode(name=name, tool=tool, document=loaded.document, contracts={action: contract})
                argv = render_action(node, action, inputs, idempotency_key="").argv
                self._judge(f"{name}:{action}", argv)

    def _judge(self, place: str, argv: Sequence[str]) -> None:
        for index, word in enumerate(argv):
            if word in ("--", "--end-of-options"):
                return
            if word.startswith(HOSTILE):
                before = argv[index - 1]
                assert before in self.takes_value, f"{place}: argument {index} may be read as an option: {argv}"

    def test_every_action_has_a_scenario(self) -> None:
        used = {
            key for file in self.books.rglob(SCENARIO_FILE) for key in load_scenario(file.parent).model.tool_responses
        }
        actions = {f"{name}:{action}" for name, _, tool in self.tools() for action in tool.actions}
        assert actions <= used, f"no scenario for {sorted(actions - used)}"

    def test_every_scenario_passes(self) -> None:
        command = [sys.executable, "-m", "gert_core", "test", "--all", "--json", str(self.books)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in done.stderr, done.stderr
        assert json.loads(done.stdout)["summary"]["skipped"] == 0, done.stdout


__all__ = ["HOSTILE", "StandIn", "ToolPackConformance", "call", "outputs", "path_with"]
