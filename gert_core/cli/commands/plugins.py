"""``gert plugins``: list installed plugins, what they provide and why something is missing."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, out, paint
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.plugin import kinds
from gert_core.plugin.advice import pip, ways_out
from gert_core.plugin.discovery import normalise
from gert_core.plugin.selection import unknown_plugin
from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from gert_core.plugin.registry import Registry
    from gert_core.plugin.states import PluginInfo


def list_(
    ctx: typer.Context, json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
) -> int:
    """List every installed plugin with its state."""
    registry = _registry(ctx)
    if json:
        out(json_.dumps({"plugins": [_json(registry, info) for info in registry.plugins]}, ensure_ascii=False))
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
    registry = _registry(ctx)
    wanted = normalise(name)
    found = [i for i in registry.plugins if wanted in {normalise(i.name), i.distribution}]
    if not found:
        known = {normalise(i.name) for i in registry.plugins} | {i.distribution for i in registry.plugins}
        raise unknown_plugin(name, known)
    if json:
        shown = [_json(registry, info) for info in found]
        out(json_.dumps(shown[0] if len(shown) == 1 else shown, ensure_ascii=False))
        return 0
    for info in found:
        out(paint(info.label, "bold"))
        out(f"  state: {paint(str(info.state), _colour(info))}" + (f" ({info.cause})" if info.cause else ""))
        out(f"  entry point: {info.entry_point}")
        for word, names in registry.provided(info).items():
            out(f"  {word}: {', '.join(names)}")
        if not info.healthy:
            out(f"  way out: {ways_out([info])}")
    return 0


def why(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="KIND:NAME", help="Such as step:wait or transport:ssh.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show which distribution provides something, or would provide it."""
    registry = _registry(ctx)
    kind, name = _what(what)
    found = registry.providers(kind, name)
    provider = kinds.provider_of(kind, name)
    if json:
        answer = {
            "what": what,
            "provided_by": [i.to_json() for i in found],
            "would_provide": None if found else provider,
        }
        out(json_.dumps(answer, ensure_ascii=False))
        return 0 if len(found) == 1 else 1
    if len(found) == 1:
        out(f"{kind.label} {name!r} is provided by plugin {found[0].label}")
        return 0
    if found:
        out(f"{kind.label} {name!r} is not usable: {found[0].cause}")
        return 1
    installed = [i for i in registry.plugins if i.distribution == provider]
    if installed:
        info = installed[0]
        cause = f": {info.cause}" if info.cause else ""
        out(f"{kind.label} {name!r} is missing: plugin {info.label} is {info.state}{cause}")
    else:
        out(f"no installed plugin provides {kind.label} {name!r}; by its name {provider} would")
        out(f"  {pip('install', provider)}")
    return 1


def _registry(ctx: typer.Context) -> Registry:
    # These commands show the states themselves: warnings would only say everything twice.
    return registry_for(project_or_warning(), ctx.obj, warn=False)


def _what(text: str) -> tuple[kinds.RecordKind, str]:
    word, _, name = text.partition(":")
    for kind in kinds.KINDS:
        if kind.word == word and name:
            return kind, name
    known = ", ".join(kind.word for kind in kinds.KINDS)
    raise UsageError(f"{text!r} is not of the form KIND:NAME", hint=f"the kinds are {known}; try step:NAME")


def _colour(info: PluginInfo) -> str:
    return {PluginState.ACTIVE: "green", PluginState.BLOCKED: "dim"}.get(info.state, "red")


def _json(registry: Registry, info: PluginInfo) -> dict[str, object]:
    return {**info.to_json(), "provides": registry.provided(info)}


__all__ = ["list_", "show", "why"]
