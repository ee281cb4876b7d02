"""What there is for hosts to offer: the runbooks, tools and scenarios of a project, and the schemas of documents."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from gert_core.api import UsageError
from gert_core.kit.files import is_text
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.data import Json
    from gert_core.explain.tools import ToolEntry
    from gert_core.hosting.site import Site
    from gert_core.scenarios.find import ScenarioCandidate

_SUFFIXES: Final = (".yaml", ".yml")
_HELD: Final = 60.0
"""Seconds after which a key is free again whose process is gone."""


class Catalogue:
    """The documents below the root of a host."""

    _site: Site

    @property
    def root(self) -> Path:
        """The directory of the host, as it is resolved."""
        return self._site.root

    def documents(self) -> Iterator[Path]:
        """Yield every YAML file below the root in a stable order; hidden directories and links to others are left out.

        So is the directory of the runs: what runs keep is not the project's. A link to a file is followed if that is
        below the root too. What has a name that is not UTF-8 is left out: no run of it could be recorded.
        """
        runs = self._site.runs
        for folder, names, files in os.walk(self._site.root):
            shown = (name for name in names if not name.startswith(".") and is_text(name))
            names[:] = sorted(name for name in shown if Path(folder) / name != runs)
            for name in sorted(filter(is_text, files)):
                path = Path(folder) / name
                if name.endswith(_SUFFIXES) and (not path.is_symlink() or self._is_below(path)):
                    yield path

    def runbooks(self) -> Iterator[Path]:
        """Yield the runbooks below the root, by the line that says that they are one; they may be wrong."""
        from gert_core.scenarios.find import is_runbook

        return (path for path in self.documents() if is_runbook(path))

    def tools(self, directory: str | Path = ".") -> list[ToolEntry]:
        """Return the tools that a runbook in a directory can list, with their actions: ``gert tools list``."""
        from gert_core.explain.tools import tool_entries

        base = self._site.path(directory)
        project = self._site.project_of(base / "runbook.yaml")
        registry = self._site.registry_of(project)
        return list(tool_entries(registry=registry, project=project, base=base, environ=self._site.environ))

    def scenarios(self, runbook: str | Path) -> list[ScenarioCandidate]:
        """Return the scenarios of a runbook, by name."""
        from gert_core.scenarios.find import candidates_of

        return candidates_of(self._site.path(runbook))

    def schema(self, kind: str) -> dict[str, Any]:
        """Return the JSON Schema of a kind of document with every usable step type: ``gert schema``."""
        from gert_core.documents.model_hints import suggest
        from gert_core.documents.schema import KINDS, json_schema

        if kind not in KINDS:
            hint = suggest(kind, KINDS) or f"the kinds are {', '.join(KINDS)}"
            raise UsageError(f"there is no schema for {kind!r}", hint=hint)
        return json_schema(kind, self._site.registry.step_types())

    def remember(self, key: str, value: Json) -> None:
        """Keep a document for all hosts of the store under a key, a SHA-256 in hex."""
        self._site.store.ledger().put(key, value)

    def remembered(self, key: str) -> Json:
        """Return the document that was kept under a key; None when there is none."""
        return self._site.store.ledger().get(key)

    @contextmanager
    def exclusive(self, key: str) -> Iterator[bool]:
        """Hold a key against all hosts of the store in every process, a minute at most; False: another holds it."""
        ledger, owner = self._site.store.ledger(), uuid4().hex
        held = sha256(f"exclusive {key}".encode()).hexdigest()
        mine = ledger.claim(held, owner, timestamp(datetime.now(UTC)), ttl=_HELD).owner == owner
        try:
            yield mine
        finally:
            if mine:
                ledger.settle(held, owner, "failed")  # so that others can claim it

    def _is_below(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self._site.root)
        except (OSError, RuntimeError):  # the second: in Python before 3.13, a link that leads to itself
            return False


__all__ = ["Catalogue"]
