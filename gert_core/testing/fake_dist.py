"""Create fake installed distributions: a ``.dist-info`` and a module in a directory on ``sys.path``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import invalidate_caches
from textwrap import dedent
from typing import TYPE_CHECKING

from gert_core.plugin.discovery import GROUP, Candidate, normalise, scan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeDist:
    """A directory that, once on ``sys.path``, has the distributions written into it installed."""

    directory: Path

    def add(
        self,
        distribution: str,
        source: str = "",
        *,
        version: str = "1.0",
        group: str = GROUP,
        name: str | None = None,
        module: str | None = None,
        target: str | None = None,
        files: Mapping[str, str] | None = None,
    ) -> str:
        """Install ``distribution`` with one entry point; returns the entry point's name.

        ``source`` becomes the module; name and module follow the naming rule unless given. ``files`` are further
        modules, by path relative to the directory.
        """
        module = module or normalise(distribution).replace("-", "_")
        name = name or normalise(distribution).removeprefix("gert-")
        folder = self.directory / f"{normalise(distribution).replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8"
        )
        (folder / "entry_points.txt").write_text(f"[{group}]\n{name} = {target or module}\n", encoding="utf-8")
        self.write(f"{module}.py", source)
        for path, text in (files or {}).items():
            self.write(path, text)
        os.utime(self.directory)  # discovery looks at the directory's time stamp
        invalidate_caches()
        return name

    def write(self, path: str, text: str) -> Path:
        """Write a module (or any file) next to the distributions."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def scan(self) -> tuple[Candidate, ...]:
        """Return what discovery finds in this directory alone, for ``Registry.build(scan=...)``."""
        return scan([str(self.directory)])


__all__ = ["FakeDist"]
