"""Check how gert is set up: versions, plugins, the project, policies, the machine floor and the terminal."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING

from gert_core import __version__
from gert_core.api.errors import GertError
from gert_core.cli.doctor import Checked, fail, ok, warn
from gert_core.cli.session import project_here, registry_for
from gert_core.documents.floor import floor_files
from gert_core.documents.project_file import FILE_NAME
from gert_core.governance.sources import load_policies
from gert_core.plugin.advice import pip, ways_out
from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from gert_core.cli.session import Options
    from gert_core.documents.project import Project
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry


def check_versions() -> Checked:
    """Return the versions in use."""
    return ok("versions", f"gert {__version__}, Python {platform.python_version()}, {platform.system()}")


def check_project() -> tuple[Project | None, Checked]:
    """Return the project around the working directory."""
    try:
        project = project_here()
    except FileNotFoundError:
        return None, fail("project", "the working directory does not exist any more", "change to another directory")
    except GertError as error:
        return None, fail("project", error.message, error.hint or f"correct {FILE_NAME}")
    if project is None:
        return None, ok("project", f"no {FILE_NAME} here or above: defaults apply")
    return project, ok("project", f"{project.root / FILE_NAME} is valid")


def check_floor() -> Checked:
    """Check that the machine floor, if there is one, can be trusted and read."""
    try:
        files = floor_files()
    except GertError as error:
        return fail("floor", error.message, error.hint or "its administrator has to repair it")
    if not files:
        return ok("floor", "this machine has no floor: policies and plugins are those of the project")
    return ok("floor", f"applies to every run: {', '.join(map(str, files))}")


def check_plugins(project: Project | None, options: Options) -> tuple[Registry | None, Checked]:
    """Load every plugin and look at its state."""
    try:
        registry = registry_for(project, options, warn=False)
        plugins = registry.plugins
        registry.require_healthy()
    except GertError as error:
        return None, fail("plugins", error.message, error.hint or "`gert plugins list` shows every state")
    active = sum(info.state is PluginState.ACTIVE for info in plugins)
    if not active:
        hint = f"`{pip('install', 'gert')}` installs the standard ones"
        return registry, warn("plugins", "no plugin is active, so no step can run", hint)
    problems = registry.problems()
    if problems:
        return registry, warn("plugins", "; ".join(registry.warnings()), ways_out(problems))
    return registry, ok("plugins", f"{active} of {len(plugins)} installed plugins are active")


def check_policies(project: Project | None, registry: Registry | None) -> tuple[Policies | None, Checked]:
    """Read every policy that applies to all runs here, as a run does."""
    try:
        policies = load_policies(registry=registry, project=project, files=(), runbook=None)
    except GertError as error:
        return None, fail("policies", error.message, error.hint or "correct the policy")
    rules = sum(len(source.rules) for source in policies.sources)
    names = ", ".join(source.name for source in policies.sources) or "none besides those of runbooks"
    return policies, ok("policies", f"{names} ({rules} rules)")


def check_terminal() -> Checked:
    """Look at where questions would be asked."""
    encoding = getattr(sys.stderr, "encoding", None) or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        hint = "set LC_ALL to a UTF-8 locale"
        return warn("terminal", f"output is encoded as {encoding}: other characters are lost", hint)
    if not (_is_terminal(0) and _is_terminal(2)):
        hint = "`--approval inbox` lets people answer later; inputs come from --var or --input"
        return warn("terminal", "this is not a terminal: questions cannot be asked here", hint)
    size = os.get_terminal_size(2)
    return ok("terminal", f"{size.columns} columns, {size.lines} lines, UTF-8")


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


__all__ = ["check_floor", "check_plugins", "check_policies", "check_project", "check_terminal", "check_versions"]
