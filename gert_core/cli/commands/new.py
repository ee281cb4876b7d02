"""``gert new``: write a new runbook, tool, scenario or plugin to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.api.errors import DocumentError, UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, out, paint
from gert_core.cli.scaffold import TEMPLATES, NewFiles, from_template, word
from gert_core.cli.session import project_here, registry_for
from gert_core.documents.kinds import DocumentKind

if TYPE_CHECKING:
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.plugin.registry import Registry
    from gert_core.runs.result import RunResult

_KINDS: Final = tuple(sorted(entry.name for entry in (TEMPLATES / "plugin").iterdir() if entry.name != "common"))
_SUMMARIES: Final = {
    "approval": "Asks for approvals by @name@.",
    "command": "The command gert @name@.",
    "guard": "Guards runs by the rules of @name@.",
    "input": "Reads inputs from @name@.",
    "notify": "Tells people of runs by @name@.",
    "policy": "The rules of @name@ for every run.",
    "signature": "Signs traces and approvals by @name@.",
    "step": "A runbook step @name@.",
    "tools": "Tools of @name@.",
    "transport": "Reaches tools by @name@.",
}
_NEEDS: Final = {"notify": ("gert-http",)}
"""The distributions of gert that a kind of plugin needs besides the core."""


def new_runbook(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, such as restart-web.")]) -> int:
    """Write NAME.yaml with one scenario; it validates and its test passes."""
    name = word(name.removesuffix(".yaml"), what=str(DocumentKind.RUNBOOK))
    _report(from_template("runbook", Path(), {"name": name}), f"gert test {name}.yaml")
    return 0


def new_tool(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, as runbooks list it.")]) -> int:
    """Write NAME.tool.yaml into the project's tools directory (or tools/)."""
    name = word(name.removesuffix(".yaml").removesuffix(".tool"), what=str(DocumentKind.TOOL))
    project = project_here()
    directory = _relative(project.tools_dir) if project is not None else Path("tools")
    files = from_template(str(DocumentKind.TOOL), directory, {"name": name})
    _report(files, f"gert validate {next(iter(files.texts))}")
    return 0


def new_scenario(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, such as disk-full.")],
    book: Annotated[
        Path | None,
        typer.Option(
            "--runbook", metavar="FILE", help="The runbook; default: the one in this directory.", readable=False
        ),
    ] = None,
) -> int:
    """Write a scenario for a runbook: canned answers for every tool it uses, and the result expected of them."""
    from gert_core.cli import sketch
    from gert_core.host import SilentConsole
    from gert_core.scenarios import scenarios_directory
    from gert_core.scenarios.draft import draft_scenario

    name = word(name, what=str(DocumentKind.SCENARIO))
    file = book or _only_runbook()
    if not file.is_file():
        raise UsageError(f"{file} does not exist", file=str(file), hint="give the path of a runbook")
    project = project_here(file.parent)
    registry = registry_for(project, ctx.obj)
    directory = scenarios_directory(file) / name
    runbook = _read(file, registry, project)
    draft = draft_scenario(runbook, runbook=file, registry=registry, project=project, console=SilentConsole())
    scenario = sketch.scenario_text(draft, name=name)
    result = _replayed(scenario, file, registry, project)
    texts = {
        directory / "scenario.yaml": scenario,
        directory / "test.yaml": sketch.test_text(result, runbook, name=name),
    }
    _report(NewFiles(texts=texts), f"gert test {file} --scenario {name} --all")
    if result.status == "error":
        err(f"warning: the replay of this draft ends in an error, which is not expected: {sketch.draft_error(result)}")
    return 0


def _replayed(scenario: str, file: Path, registry: Registry, project: Project | None) -> RunResult:
    """Return the result of replaying a scenario, given as its text."""
    from gert_core.documents import yaml
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.host import run

    canned = ScenarioModel.model_validate(yaml.loads(scenario.encode(), name="scenario.yaml").value)
    return run(file, mode="replay", registry=registry, project=project, scenario=canned, keep=False, observed=False)


def new_plugin(
    name: Annotated[str, typer.Argument(metavar="KIND-NAME", help=f"Such as step-sleep; kinds: {', '.join(_KINDS)}.")],
) -> int:
    """Write a plugin: a distribution gert-KIND-NAME with its entry point, its README and tests that pass."""
    point = word(name.removeprefix("gert-"), what="plugin", example="step-sleep")
    kind, _, rest = point.partition("-")
    if kind not in _KINDS or not rest:
        raise UsageError(
            f"{name!r} does not name a kind of plugin",
            hint=f"write KIND-NAME with one of the kinds {', '.join(_KINDS)}, such as step-{rest or kind}",
        )
    distribution, target = f"gert-{point}", Path(f"gert-{point}")
    names = _names(kind, rest, distribution=distribution)
    parts = (from_template(f"plugin/{part}", target, names) for part in ("common", kind))
    _report(
        NewFiles(texts={path: text for part in parts for path, text in part.texts.items()}),
        f"pip install -e './{distribution}[testing]' && pytest {distribution}",
    )
    return 0


def _names(kind: str, name: str, *, distribution: str) -> dict[str, str]:
    from gert_core import __version__

    major, minor, *_ = __version__.split(".")
    identifier = name.replace("-", "_")
    bounds = f">={major}.{minor},<{major}.{int(minor) + 1}"
    return {
        "distribution": distribution,
        "package": distribution.replace("-", "_"),
        "point": distribution.removeprefix("gert-"),
        "summary": _SUMMARIES[kind].replace("@name@", name),
        "bounds": bounds,
        "dependencies": ", ".join(f'"{needed}{bounds}"' for needed in ("gert-core", *_NEEDS.get(kind, ()))),
        "word": identifier if kind == "step" else name,
        "WORD": identifier.upper(),
        "Class": "".join(part.title() for part in identifier.split("_")),
        "name": name,
    }


def _report(files: NewFiles, command: str) -> None:
    for path in files.write():
        out(f"{paint('✓', 'green')} {path}")
    out(f"Next: {command}")


def _relative(directory: Path) -> Path:
    try:
        return directory.relative_to(Path.cwd())
    except ValueError:
        return directory


def _only_runbook() -> Path:
    from gert_core.documents import yaml
    from gert_core.documents.runbook import API_VERSION

    documents = [yaml.load(file) for file in sorted((*Path().glob("*.yaml"), *Path().glob("*.yml")))]
    found = [
        document.path
        for document in documents
        if document.path and isinstance(document.value, dict) and document.value.get("apiVersion") == API_VERSION
    ]
    if len(found) != 1:
        which = f"this directory has {len(found) or 'no'} runbooks"
        raise UsageError(f"{which}; cannot determine which one the scenario is for", hint="add --runbook FILE")
    return found[0]


def _read(file: Path, registry: Registry, project: Project | None) -> Runbook:
    from gert_core.validation import validate_runbook

    found = validate_runbook(file, registry=registry, project=project)
    if found.runbook is None or not found.valid:
        raise DocumentError(
            f"{file} is not valid", file=str(file), hint=f"`gert validate {file}` shows what is wrong with it"
        )
    return found.runbook


__all__ = ["new_plugin", "new_runbook", "new_scenario", "new_tool"]
