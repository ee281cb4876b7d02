"""Conformance tests of commands and of the rules by which plugins check runbooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from gert_core.api import GertError
from gert_core.cli.verbs import VERBS
from gert_core.documents import yaml
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.kinds import COMMAND
from gert_core.plugin.lazy import load_target
from gert_core.plugin.registry import Registry
from gert_core.stores.choose import choose_store
from gert_core.stores.directory import DirectoryStore
from gert_core.testing import finish, helpers
from gert_core.testing.cases import PluginConformance
from gert_core.testing.console import ScriptedConsole
from gert_core.testing.findings import describe
from gert_core.testing.running import GertRunner
from gert_core.validation.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.api import Command, Diagnostic, Json, ProjectInfo, RunStore

_RULE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


class CommandTestHost:
    """The ``CommandHost`` of tests: a registry, a project, the settings of the plugin and a scripted console."""

    def __init__(
        self,
        *,
        registry: Registry,
        project: ProjectInfo | None,
        console: ScriptedConsole,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.registry = registry
        self.environ: Mapping[str, str] = environ or {}
        self.project = project
        self.console = console

    @property
    def config(self) -> Mapping[str, Json]:
        """The settings of the plugin."""
        return self.project.config if self.project is not None else {}

    def store(self, url: str | None = None) -> RunStore:
        """Return the store at an address, else the directory of runs of the project."""
        if url is None and self.project is not None:
            return DirectoryStore(self.project.runs_dir)
        return choose_store(None, registry=lambda: self.registry, given=url, environ=self.environ)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return a deadline that many seconds from now; None: no limit."""
        return Deadline(Stop(), seconds)


class CommandConformance(PluginConformance):
    """The tests of a command; set ``plugin``, and ``args``, words with which it succeeds.

    ``wrong`` are words that it refuses, ``helpers`` further plugins for its registry.
    """

    args: ClassVar[Sequence[str]] = ()
    wrong: ClassVar[Sequence[str]] = ("--no-such-option",)
    helpers: ClassVar[tuple[object, ...]] = ()

    def command(self) -> Command:
        """Return the command the plugin registers."""
        found: Command = self.record(COMMAND)
        return found

    def host(self, tmp_path: Path) -> CommandTestHost:
        """Return the host that the command is called with."""
        services = self.services(tmp_path)
        registry = Registry.build(scan=(), extra_plugins=[self.plugin, *self.helpers])
        console = ScriptedConsole(self.answers)
        return CommandTestHost(registry=registry, project=services.project, console=console, environ=services.environ)

    def run(self, args: Sequence[str], tmp_path: Path) -> int:
        """Call the command as gert does and return its exit code."""
        try:
            return int(load_target(self.command().target)(list(args), self.host(tmp_path)) or 0)
        except GertError as error:
            return error.exit_code
        except SystemExit as end:  # as of argparse
            return end.code if isinstance(end.code, int) else 1

    def test_the_record_is_complete(self) -> None:
        command = self.command()
        assert command.name not in VERBS, f"gert has a command {command.name!r} of its own, so this one is left out"
        assert command.summary.strip(), "say in one line what the command does"
        assert "\n" not in command.summary, "one line is shown in `gert --help`"

    def test_it_succeeds(self, tmp_path: Path) -> None:
        assert self.run(self.args, tmp_path) == 0

    def test_what_it_does_not_know_is_refused(self, tmp_path: Path) -> None:
        assert self.run(self.wrong, tmp_path) != 0


class RuleConformance(PluginConformance):
    """The tests of a plugin that checks runbooks; set ``plugin``, ``right`` and ``wrong``.

    ``right`` is a runbook without findings of the plugin, ``wrong`` are runbooks by the rule that each of them breaks.
    ``files`` are written beside them, ``helpers`` are further plugins they need.
    """

    right: ClassVar[str]
    wrong: ClassVar[Mapping[str, str]]
    files: ClassVar[Mapping[str, str]] = {}
    helpers: ClassVar[tuple[object, ...]] = ()

    def findings(self, book: str, tmp_path: Path) -> list[Diagnostic]:
        """Return the findings about a runbook that are not the core's own."""
        registry = Registry.build(scan=(), extra_plugins=[self.plugin, *self.helpers])
        needed = [one for one in (finish, helpers) if one not in self.helpers]
        runner = GertRunner(directory=tmp_path, registry=registry.with_plugins(*needed))
        if self.config:
            (owner,) = Registry.build(scan=(), extra_plugins=[self.plugin]).plugins
            runner.config = {owner.distribution: self.config}
        found = runner.findings(book, files=self.files)
        core = [one for one in found if one.rule in RULES]
        assert not core, f"the runbook of the test is wrong itself:\n{describe(core)}"
        return found

    def test_a_right_runbook_has_no_findings(self, tmp_path: Path) -> None:
        found = self.findings(self.right, tmp_path)
        assert not found, describe(found)

    def test_a_wrong_runbook_has_its_finding_at_a_place(self, tmp_path: Path) -> None:
        assert self.wrong, "give a runbook for each rule"
        for rule, book in self.wrong.items():
            found = self.findings(book, tmp_path)
            assert {one.rule for one in found} == {rule}, describe(found)
            start = yaml.load(tmp_path / "runbook.yaml").locate(())  # where validation puts what has no place
            assert all((one.line, one.column) != start for one in found), (
                f"{rule}: say where it is: `line=step.line, column=step.column`"
            )
            assert all(one.hint for one in found), f"{rule}: say how to correct it"

    def test_the_rules_have_names_of_their_own(self) -> None:
        for rule in self.wrong:
            assert _RULE.fullmatch(rule), f"{rule!r}: write rules as words in lower case with `-` between them"
            assert rule not in RULES, f"{rule!r} is a rule of the core"


__all__ = ["CommandConformance", "CommandTestHost", "RuleConformance"]
