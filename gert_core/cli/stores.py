"""The store of the runs that a command reads or writes: the option that names it, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.cli.lazy import typer
from gert_core.cli.session import project_here, registry_for
from gert_core.stores.choose import OPTION, VARIABLE, choose_store

if TYPE_CHECKING:
    from gert_core.api import RunStore
    from gert_core.cli.session import Options
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry


def store_option() -> Any:
    """Declare ``--store``, for ``store: Annotated[str | None, store_option()] = None`` of a command."""
    return typer.Option(OPTION, metavar="URL", help="Where runs are kept; default: GERT_STORE, or as the project says.")


def store_here(options: Options, given: str | None) -> RunStore:
    """Return the store that a command uses by ``--store``, or by default in the working directory."""
    return store_of(project_here(), options, given)


def store_of(
    project: Project | None, options: Options, given: str | None, registry: Registry | None = None
) -> RunStore:
    """Return the store that a command uses in a project, or outside of one; it is closed when the command is over."""
    store = choose_store(
        project,
        registry=lambda: registry or registry_for(project, options, warn=False),
        given=given,
        environ=options.environ,
        warn=_warn,
    )
    options.opened.append(store.close)
    if store.secrets or options.environ.get(VARIABLE):
        _hide_password(store, options)
    return store


def _hide_password(store: RunStore, options: Options) -> None:
    """Let no tool read the password of a store out of this process, which has one in its environment."""
    from gert_core.kit.server_secrets import hide_memory
    from gert_core.secrets.environ import own_secrets

    if own_secrets(options.environ, store.secrets):
        hide_memory()


def _warn(text: str) -> None:
    from gert_core.cli.render.terminal import err, escape

    err(escape(f"warning: {text}"))


__all__ = ["store_here", "store_of", "store_option"]
