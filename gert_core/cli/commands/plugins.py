"""``gert plugins``: list installed plugins, what they provide and why something is missing."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, out, paint
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.plugin.advice import pip, ways_out
from gert_core.plugin.discovery import normalise
from gert_core.plugin.selection import unknown_plugin
from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from gert_core.documents.project import Project
    from gert_core.plugin.loader import Plugin
    from gert_core.plugin.registry import Registry
    from gert_core.plugin.states import PluginInfo


def list_(
    ctx: typer.Context, json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
) -> int:
    """List every installed plugin with its state."""
    project = project_or_warning()
    registry = _registry(ctx, project)
    if json:
        out(json_.dumps({"plugins": [_json(plugin, project) for plugin in registry.loaded]}, ensure_ascii=False))
        return 0
    plugins = registry.plugins
    if not plugins:
        err(f"no plugins are installed; `{pip('install', 'gert')}` installs the standard ones")
        return 0
    name, distribution = (max(len(getattr(i, part)) for i in plugins) for part in ("name", "distribution"))
    version = max(len(info.version) for info in plugins)
    for info in plugins:
        facts = f"{info.name:<{name}}  {info.distribution:<{distribution}}  {info.version:<{version}}"
        cause = f"  {info.cause}" if info.cause else ""
        out(f"{facts}  {paint(str(info.state), _colour(info))}{cause}")
    for note in registry.warnings()[len(registry.problems()) :]:
        err(f"warning: {note}")
    return 0


def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Its entry-point name or its distribution.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show one plugin and everything it provides."""
    from gert_core.cli.provided import provided

    project = project_or_warning()
    registry = _registry(ctx, project)
    wanted = normalise(name)
    found = [p for p in registry.loaded if wanted in {normalise(p.info.name), p.info.distribution}]
    if not found:
        known = {normalise(i.name) for i in registry.plugins} | {i.distribution for i in registry.plugins}
        raise unknown_plugin(name, known)
    if json:
        shown = [_json(plugin, project) for plugin in found]
        out(json_.dumps(shown[0] if len(shown) == 1 else shown, ensure_ascii=False))
        return 0
    for plugin in found:
        info = plugin.info
        out(paint(info.label, "bold"))
        out(f"  state: {paint(str(info.state), _colour(info))}" + (f" ({info.cause})" if info.cause else ""))
        out(f"  entry point: {info.entry_point}")
        for line in provided(plugin, project).lines():
            out(f"  {line}")
        if not info.healthy:
            out(f"  way out: {ways_out([info])}")
    return 0


def why(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="KIND:NAME",
            help="Such as step:wait, tool:net/http, policy:floor; or policy, diagnostics, observer alone.",
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show which plugin provides something, or would provide it."""
    from gert_core.cli.why import answer

    project = project_or_warning()
    found = answer(what, registry=_registry(ctx, project), project=project)
    if json:
        out(json_.dumps(found.to_json(what), ensure_ascii=False))
    else:
        for line in found.lines:
            out(line)
    return 0 if found.known else 1


def _registry(ctx: typer.Context, project: Project | None) -> Registry:
    # These commands show the states themselves: warnings would only say everything twice.
    return registry_for(project, ctx.obj, warn=False)


def _colour(info: PluginInfo) -> str:
    return {PluginState.ACTIVE: "green", PluginState.BLOCKED: "dim"}.get(info.state, "red")


def _json(plugin: Plugin, project: Project | None) -> dict[str, object]:
    from gert_core.cli.provided import provided

    found = provided(plugin, project)
    return {**plugin.info.to_json(), "provides": found.names, "notes": list(found.notes)}


__all__ = ["list_", "show", "why"]
