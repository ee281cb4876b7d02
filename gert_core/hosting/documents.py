"""What a host does with documents without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.yaml import overlaid
from gert_core.governance.findings import with_governance
from gert_core.validation import validate_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.hosting.site import Site
    from gert_core.validation.pipeline import Validated


class Documents:
    """The documents of one project, for hosts."""

    _site: Site

    def validate(
        self, path: str | Path, *, text: str | None = None, overlay: Mapping[str | Path, str] | None = None
    ) -> Validated:
        """Validate a document of any kind; with ``text`` as if its file had it, ``overlay`` has those of others."""
        file = self._site.path(path)
        texts = {self._site.path(name): given.encode() for name, given in (overlay or {}).items()}
        if text is not None:
            texts[file] = text.encode()
        with overlaid(texts):
            project = self._site.project_of(file)
            registry = self._site.registry_of(project)
            found = validate_file(file, registry=registry, project=project)
            return with_governance(found, registry=registry, project=project)


__all__ = ["Documents"]
