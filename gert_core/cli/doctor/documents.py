"""Check the documents of a project: the programs of its tools and providers, and secrets in its scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import GertError
from gert_core.cli.doctor import Checked, ok, warn
from gert_core.cli.doctor import fail as failed
from gert_core.documents.load_tools import load_tool
from gert_core.documents.lookup import SUFFIX
from gert_core.documents.scenario import SCENARIO_FILE
from gert_core.kit.files import MIB, read_named
from gert_core.kit.programs import find_program
from gert_core.secrets.collect import withheld
from gert_core.secrets.environ import own_secrets, provider_variables
from gert_core.secrets.forms import MINIMUM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.project import Project
    from gert_core.documents.tool import ToolModel
    from gert_core.plugin.registry import Registry

    Environ = Mapping[str, str]

_LISTED: Final = 5


def check_documents(project: Project | None, registry: Registry | None, environ: Environ) -> Iterator[Checked]:
    """Yield the checks of a project's tools, providers and scenarios; those of the working directory without one."""
    root = Path() if project is None else project.root
    folders = dict.fromkeys([root / "tools", *([] if project is None else [project.tools_dir])])
    files = [file for folder in folders for file in sorted(folder.glob(f"*{SUFFIX}"))]
    tools: dict[Path, ToolModel] = {}
    wrong: list[str] = []
    for file in files:
        try:
            loaded = load_tool(file).tool
        except GertError:
            loaded = None
        if loaded is None:
            wrong.append(f"{file} is not valid")
        else:
            tools[file] = loaded
            wrong += [f"{loaded.meta.name} needs {name}" for name in _missing(loaded, environ)]
    hint = "install these programs or put them on PATH; `gert validate` says what is wrong with a file"
    yield warn("tools", _some(wrong), hint) if wrong else ok("tools", f"{len(tools)} here, whose programs are found")
    yield _providers(project, registry, environ)
    yield _scenarios(root, project, tools, environ)


def _missing(tool: ToolModel, environ: Environ) -> list[str]:
    """Return the programs of a tool that are not found; those that templates name are known only in a run."""
    named = [tool.meta.binary] if tool.meta.binary else [str(a.argv[0]) for a in tool.actions.values() if a.argv]
    if tool.meta.connect is not None:
        named = []
    return [name for name in dict.fromkeys(named) if "{{" not in name and find_program(name, environ) is None]


def _providers(project: Project | None, registry: Registry | None, environ: Environ) -> Checked:
    """Look at who answers for approvals and inputs, and at the variables that their configuration names."""
    if project is None:
        return ok("providers", "none are configured")
    model, wrong = project.model, []
    chosen = model.approvals.provider
    if chosen is not None and registry is not None and chosen not in registry.approval_providers():
        wrong.append(f"no installed plugin provides approvals by {chosen!r}")
    for name, provider in model.providers.items():
        if find_program(provider.binary, environ, str(project.root)) is None:
            wrong.append(f"provider {name} needs {provider.binary}")
    parts = [model.approvals.config, *(provider.config for provider in model.providers.values())]
    wrong += [f"{name} is not set" for name in sorted(provider_variables(parts)) if not environ.get(name)]
    hint = "runs that need them fail; install what is missing, and set the variables where runs are executed"
    return warn("providers", _some(wrong), hint) if wrong else ok("providers", "what they need is here")


def _scenarios(root: Path, project: Project | None, tools: Mapping[Path, ToolModel], environ: Environ) -> Checked:
    """Look for values of secrets that are set here in scenarios, which are kept with the runbooks."""
    names = {secret.env for tool in tools.values() for secret in tool.all_secrets} | withheld(project)
    secrets = {name: environ[name] for name in names if environ.get(name)} | own_secrets(environ)
    long = {name: value.encode("utf-8", "surrogateescape") for name, value in secrets.items() if len(value) >= MINIMUM}
    found, number = [], 0
    for file in sorted(root.glob(f"**/scenarios/*/*/{SCENARIO_FILE}")):
        number += 1
        try:
            text = read_named(file, most=4 * MIB)
        except OSError:
            continue
        found += [f"{file} has the value of {name}" for name, value in sorted(long.items()) if value in text]
    if found:
        return failed("scenarios", _some(found), "replace it there by another value, and change the secret")
    return ok("scenarios", f"no secret that is set here is in any of {number}")


def _some(found: list[str]) -> str:
    more = len(found) - _LISTED
    return "; ".join(found[:_LISTED]) + (f"; and {more} more" if more > 0 else "")


__all__ = ["check_documents"]
