"""The place of a host: its directory, the projects and plugins in it, and the store of its runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, GertError, UsageError
from gert_core.approvals.known import checked_against
from gert_core.documents.floor import PluginFloor, plugin_floor
from gert_core.documents.plugin_choice import build_registry
from gert_core.documents.project import find_project
from gert_core.runs.answers import UPLOADS
from gert_core.runs.directory import runs_root
from gert_core.runs.find import find_run
from gert_core.stores.choose import VARIABLE, choose_store, with_address
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import ApprovalRequest, RunStore
    from gert_core.approvals.checks import Approvals
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry


class Site:
    """What the runs of one host share; the environment is read once."""

    def __init__(
        self,
        root: str | Path,
        *,
        environ: Mapping[str, str] | None,
        allow: Sequence[str],
        block: Sequence[str],
        store: str | RunStore | None,
    ) -> None:
        self.root = Path(root).resolve()
        self.environ = dict(os.environ if environ is None else environ)
        self.project = find_project(self.root)
        self._allow, self._block = tuple(allow), tuple(block)
        self._building = threading.Lock()
        self._registries: dict[tuple[Path | None, bool], Registry] = {}
        self.registry = self.registry_of(self.project)
        given = store if isinstance(store, str) else None
        self.environ = dict(with_address(self.environ, given))
        self._own = store is None or given is not None
        self.store: RunStore = self._chosen(given) if store is None or isinstance(store, str) else store

    @property
    def runs(self) -> Path | None:
        """The directory of the runs, resolved; None when they are kept elsewhere."""
        return self.store.root.resolve() if isinstance(self.store, DirectoryStore) else None

    def close(self) -> None:
        """Close the store, unless the program opened it."""
        if self._own:
            self.store.close()

    def _chosen(self, given: str | None) -> RunStore:
        if self.project is None and given is None and not self.environ.get(VARIABLE):
            return DirectoryStore(runs_root(None, cwd=self.root))
        return choose_store(self.project, registry=lambda: self.registry, given=given, environ=self.environ)

    def attachment(self, run_id: str, text: str) -> str:
        """Return the path of an attachment below the root or among the uploads of a run; refuse any other."""
        path = self.path(Path(text).expanduser())
        with find_run(self.store, run_id) as stored:
            uploads = None if stored.path is None else (stored.path / UPLOADS).resolve()
        real = path.resolve()
        if real.is_relative_to(self.root) or (uploads is not None and real.is_relative_to(uploads)):
            return str(path)
        raise UsageError(
            f"{text} is not in {self.root}, and not an upload of the run",
            kind=ErrorKind.ATTACHMENT,
            hint="copy the file there first",
        )

    def path(self, path: str | Path) -> Path:
        """Return a path; a relative one begins at the root."""
        return self.root / path

    def directory(self, wanted: Path) -> Path | None:
        """Return the directory in which programs start; None where that is the one of this process."""
        try:
            return None if wanted.samefile(Path.cwd()) else wanted
        except OSError:
            return wanted

    def project_of(self, document: Path) -> Project | None:
        """Return the project that a document is in; of one whose directory is gone, that of the host."""
        if not document.parent.is_dir():
            return self.project
        found = find_project(document.resolve().parent)
        same = found is not None and self.project is not None and found.root == self.project.root
        return self.project if same else found

    def registry_of(self, project: Project | None, *, floor: bool = True) -> Registry:
        """Return the plugins that a project chooses, and the machine floor unless it is left out, as in replays."""
        with self._building:
            key = None if project is None else project.root, floor
            if key not in self._registries:
                machine = plugin_floor() if floor else PluginFloor()
                self._registries[key] = build_registry(
                    project, environ=self.environ, machine=machine, allow=self._allow, block=self._block
                )
            return self._registries[key]

    def known(self) -> Approvals:
        """Return what answers to tickets are checked against."""
        return checked_against(self.project, lambda: self.registry, self.environ)()

    def since_last(self, request: ApprovalRequest) -> dict[str, object] | None:
        """Return what changed since the step of a request was approved last; None when it never was, or is unknown."""
        from gert_core.approvals.since import since_last_json
        from gert_core.engine.known_secrets import hide, secrets_of

        found = since_last_json(self.store, request, known=self.known)
        if found is None:
            return None
        try:
            with self.store.open(request.run_id) as run:
                return dict(hide(secrets_of(run, self.environ), found))
        except (GertError, OSError):  # its run was deleted meanwhile
            return None


__all__ = ["Site"]
