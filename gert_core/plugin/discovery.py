"""Find installed plugins from distribution metadata alone; nothing of a plugin is imported here."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FAMILY: Final = "gert.v"
GROUP: Final = "gert.v0"
"""The entry-point group of this ABI; other groups of the family belong to other versions of gert."""

_METADATA: Final = ("METADATA", "PKG-INFO")
_ENTRY_POINTS: Final = "entry_points.txt"


class Candidate(Struct, frozen=True, kw_only=True):
    """One entry point of one installed distribution, known from metadata."""

    name: str
    distribution: str
    version: str
    group: str
    target: str

    @property
    def key(self) -> str:
        """The key that distinguishes plugins with the same entry-point name."""
        return f"{self.distribution}:{self.group}:{self.name}"


def normalise(name: str) -> str:
    """Return a distribution name in the one spelling of PEP 503."""
    flat = name.replace("_", "-").replace(".", "-").lower()
    return re.sub("-{2,}", "-", flat) if "--" in flat else flat


def scan(path: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """Return every entry point of the ``gert.v*`` groups on ``path`` (default: ``sys.path``), in a stable order.

    Of several copies of a distribution the first on the path counts, as for imports. The result is cached in the
    process as long as the directories do not change.
    """
    places = tuple(sys.path if path is None else path)
    return _scan(places, tuple(_stamp(place) for place in places), path is None and _foreign_finders())


def _stamp(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns  # noqa: PTH116 - pathlib costs more than the scan
    except OSError:
        return 0


def _foreign_finders() -> bool:
    """Return whether there may be distributions outside the file system (PEP 451 finders)."""
    known = {"_frozen_importlib_external", "importlib_metadata"}
    return any(
        hasattr(finder, "find_distributions")
        for finder in sys.meta_path
        if getattr(finder, "__module__", "").partition(".")[0] not in known
    )


@lru_cache(maxsize=4)
def _scan(places: tuple[str, ...], stamps: tuple[int, ...], foreign: bool) -> tuple[Candidate, ...]:
    there = (place or "." for place, stamp in zip(places, stamps, strict=True) if stamp)
    archives = not all(os.path.isdir(place) for place in there)  # noqa: PTH112
    found = _from_metadata_library(places) if foreign or archives else _from_directories(places)
    return tuple(sorted(found, key=lambda c: (c.name, c.distribution, c.group)))


def _from_directories(places: Sequence[str]) -> Iterator[Candidate]:
    """Yield entry points the fast way: names and versions from directory names, one small file per distribution."""
    seen: set[str] = set()
    for place in places:
        try:
            names = sorted(os.listdir(place or "."))  # noqa: PTH208
        except OSError:
            continue
        for entry in names:
            if entry.endswith(".dist-info"):
                # A version has no "-"; a name written by hand may.
                written, _, version = entry[:-10].rpartition("-")
            elif entry.endswith(".egg-info"):
                written, _, version = entry[:-9].partition("-")
            else:
                continue
            distribution = normalise(written or version)
            if distribution in seen:
                continue
            seen.add(distribution)
            folder = f"{place or '.'}/{entry}"
            text = _read(f"{folder}/{_ENTRY_POINTS}")
            if FAMILY not in text:
                continue
            if not written or not entry.endswith(".dist-info"):
                version = _version(folder)
            yield from _parse(text, distribution=distribution, version=version)


def _from_metadata_library(places: Sequence[str]) -> Iterator[Candidate]:
    """Yield entry points the complete way, for zip archives on the path and finders beyond the file system."""
    import importlib_metadata

    seen: set[str] = set()
    for found in importlib_metadata.distributions(path=list(places)):
        name = found.metadata["Name"]
        distribution = normalise(name) if name else ""
        if not distribution or distribution in seen:
            continue
        seen.add(distribution)
        text = found.read_text(_ENTRY_POINTS) or ""
        yield from _parse(text, distribution=distribution, version=found.version or "0")


def _parse(text: str, *, distribution: str, version: str) -> Iterator[Candidate]:
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            group = line[1:-1].strip()
        elif group.startswith(FAMILY) and "=" in line:
            name, _, target = line.partition("=")
            yield Candidate(
                name=name.strip(),
                distribution=distribution,
                version=version,
                group=group,
                target=target.partition("[")[0].strip(),
            )


def _version(folder: str) -> str:
    for name in _METADATA:
        for line in _read(f"{folder}/{name}").splitlines():
            if not line:
                break
            if line.startswith("Version:"):
                return line.partition(":")[2].strip()
    return "0"


def _read(file: str) -> str:
    # Most of the scan is reading these small files; text streams would double its cost.
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        parts = []
        while part := os.read(descriptor, 65536):
            parts.append(part)
        return b"".join(parts).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


__all__ = ["FAMILY", "GROUP", "Candidate", "normalise", "scan"]
