"""The session of a command: the global options, the project around it and the registry of plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.api.errors import ProjectError
from gert_core.cli.render.terminal import err, escape
from gert_core.documents.floor import PluginFloor, plugin_floor
from gert_core.documents.plugin_choice import BLOCK_VARIABLE, build_registry
from gert_core.documents.project_file import ProjectFileError, project_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry


class Options(Struct, frozen=True, kw_only=True):
    """The global options; a command finds them at ``ctx.obj``.

    ``plugins`` are the words after ``-p``: ``NAME`` allows a plugin, ``no:NAME`` blocks it. ``environ`` is the
    environment as the user set it, for tools and providers.
    """

    plugins: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    opened: list[Callable[[], None]] = field(default_factory=list)
    """What closes the stores that the command opened."""

    @property
    def allow(self) -> tuple[str, ...]:
        """The names to load although the project lists others."""
        return tuple(word for word in self.plugins if not word.startswith("no:"))

    @property
    def block(self) -> tuple[str, ...]:
        """The names to leave out."""
        return tuple(word[3:] for word in self.plugins if word.startswith("no:"))


def registry_for(
    project: Project | None,
    options: Options | None = None,
    *,
    executing: bool = False,
    warn: bool = True,
    floor: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> Registry:
    """Build the registry for one command, from ``-p``, ``GERT_BLOCK_PLUGINS`` and the project file.

    The machine floor is added unless ``floor`` is false. An ``executing`` command refuses to run with a broken plugin
    (exit 3); others warn on stderr, once per plugin.
    """
    machine, chosen = plugin_floor() if floor else PluginFloor(), options or Options()
    registry = build_registry(project, environ=environ, machine=machine, allow=chosen.allow, block=chosen.block)
    if executing:
        registry.require_healthy()
    if warn:
        for sentence in registry.warnings():
            err(escape(f"warning: {sentence}"))
    return registry


def project_here(start: Path | None = None, *, known: Project | None = None) -> Project | None:
    """Return the project around ``start`` (default: the working directory) or None; read YAML only if there is one.

    ``known`` is a project that was read before; it is returned when it is the one.
    """
    here = (start or Path.cwd()).resolve()
    file = project_file((here, *here.parents))
    if file is None:
        return None
    if known is not None and known.root == file.parent:
        return known
    from gert_core.documents.project import find_project

    return find_project(here)


def project_or_warning() -> Project | None:
    """Return the project, or None with a warning when it is broken: for commands that explain what is wrong.

    Raise ``ProjectFileError`` when there is no file to explain.
    """
    try:
        return project_here()
    except ProjectFileError:
        raise
    except ProjectError as exc:
        err(escape(f"warning: {exc.message}; continuing without the project"))
    except FileNotFoundError:  # the working directory was deleted
        err("warning: the working directory does not exist any more; continuing without a project")
    return None


__all__ = ["BLOCK_VARIABLE", "Options", "project_here", "project_or_warning", "registry_for"]
