"""Build the registry with the plugins that a project, the environment and the machine floor choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.plugin.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.floor import PluginFloor
    from gert_core.documents.project import Project

BLOCK_VARIABLE: Final = "GERT_BLOCK_PLUGINS"


def build_registry(
    project: Project | None,
    *,
    environ: Mapping[str, str],
    machine: PluginFloor,
    allow: Sequence[str] = (),
    block: Sequence[str] = (),
) -> Registry:
    """Build the registry; ``allow`` and ``block`` are names that a person gave, in addition to the project's."""
    blocked = [word.strip() for word in environ.get(BLOCK_VARIABLE, "").split(",") if word.strip()]
    blocked += machine.block
    if project is None:
        return Registry.build(allow=allow, block=block, block_installed=blocked, machine_require=machine.require)
    wanted = project.model.plugins
    return Registry.build(
        allow=(*wanted.allow, *allow),
        block=block,
        block_installed=(*blocked, *wanted.block),
        require=wanted.require,
        machine_require=machine.require,
        # A project that names the plugins it allows means these and no others.
        load="listed" if wanted.allow else wanted.load,
        configured=wanted.config,
    )


__all__ = ["BLOCK_VARIABLE", "build_registry"]
