"""Choose the store of runs: the one that is asked for, else that of ``GERT_STORE``, the project or its directory."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.runs.directory import runs_root
from gert_core.stores.directory import SCHEME, DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import RunStore
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry

VARIABLE: Final = "GERT_STORE"
"""The variable with the address of the store; it may have a password in it and is given to no tool."""
OPTION: Final = "--store"


def choose_store(
    project: Project | None,
    *,
    registry: Callable[[], Registry],
    given: str | None = None,
    environ: Mapping[str, str] = os.environ,
    warn: Callable[[str], None] = lambda _: None,
) -> RunStore:
    """Return the store: ``given``, else ``GERT_STORE``, else ``store`` of the project, else its directory of runs.

    Paths in an address begin at the project's root, outside of one at the working directory. ``registry`` is asked for
    stores of plugins only, and nothing is connected before it is used. ``warn`` says a sentence to the person at the
    terminal.
    """
    own = project.model.store if project is not None else None
    named = ((given, OPTION), (environ.get(VARIABLE), VARIABLE), (own, "`store` of the project file"))
    usual, source = next(((url, source) for url, source in named[1:] if url), (None, ""))
    if given is None and usual is None:
        return DirectoryStore(runs_root(project))
    opener = _Opener(project, registry, environ, warn)
    if given is None:
        return opener.open(usual or "", source)
    store = opener.open(given, OPTION)
    if given != usual:
        store.option = _option(given)
    return store


def with_address(environ: Mapping[str, str], given: str | None) -> Mapping[str, str]:
    """Return the environment of a run whose store was ``given``: what masks its secrets finds a password there."""
    return environ if given is None else {**environ, VARIABLE: given}


@contextmanager
def opened(
    store: str | RunStore | None, root: str | Path | None, *, registry: Callable[[], Registry]
) -> Iterator[RunStore]:
    """Give the store that a program names: itself, by its address, or by the directory of its runs ``root``.

    Without any it is that of the project around the working directory. One that is opened for it is closed again.
    """
    if store is not None and not isinstance(store, str):
        yield store
    elif store is None and root is not None:
        yield DirectoryStore(Path(root))
    else:
        from gert_core.documents.project import find_project

        with choose_store(find_project(Path.cwd()), registry=registry, given=store) as found:
            yield found


class _Opener:
    """Opens stores by their addresses."""

    def __init__(
        self,
        project: Project | None,
        registry: Callable[[], Registry],
        environ: Mapping[str, str],
        warn: Callable[[str], None],
    ) -> None:
        self._project = project
        self._registry = registry
        self._environ = environ
        self._warn = warn

    @property
    def root(self) -> Path:
        """The directory from which paths are meant."""
        return Path.cwd() if self._project is None else self._project.root

    def open(self, url: str, source: str) -> RunStore:
        """Open the store of an address; ``source`` says who named it."""
        from gert_core.api.errors import UsageError
        from gert_core.kit.store_urls import split_url, without_password

        try:
            scheme, rest = split_url(url)
        except ValueError as error:
            raise UsageError(f"{source} {without_password(url)!r} is not the address of a store: {error}") from None
        if scheme != SCHEME:
            return self._plugin(url, scheme)
        if not rest.removeprefix("//"):
            raise UsageError(f"{source} {url!r} names no directory", hint=f"write it as {SCHEME}:PATH")
        return DirectoryStore(self.root / rest.removeprefix("//"))

    def _plugin(self, url: str, scheme: str) -> RunStore:
        from gert_core.api.errors import GertError
        from gert_core.api.store_records import StoreServices
        from gert_core.plugin.functions import plugin_fault
        from gert_core.plugin.kinds import STORE
        from gert_core.plugin.lazy import load_target

        plugins = self._registry()
        found = plugins.store_type(scheme)
        own = plugins.project_info(STORE, found.name, self._project)
        services = StoreServices(
            root=self.root, environ=self._environ, config={} if own is None else own.config, warn=self._warn
        )
        try:
            store: RunStore = load_target(found.open)(url, services)
        except GertError:
            raise
        except Exception as error:
            raise plugin_fault(plugins.providers(STORE, found.name), f"store {found.name!r}", error) from error
        return store


def _option(url: str) -> str:
    """Return what a command needs to find a store, to be put behind the others of its words."""
    import shlex

    from gert_core.kit.store_urls import without_password

    return f" {OPTION} {shlex.quote(without_password(url))}"


__all__ = ["OPTION", "VARIABLE", "choose_store", "opened", "with_address"]
