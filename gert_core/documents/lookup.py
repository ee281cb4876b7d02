"""Find the file of a listed tool: next to the runbook, in the project, by path, in installed packs."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.documents import yaml
from gert_core.documents.model_hints import suggest
from gert_core.plugin.advice import would_be_called
from gert_core.plugin.kinds import TOOLS, provider_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.api import ToolPack
    from gert_core.documents.project import Project

SUFFIX: Final = ".tool.yaml"
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class ToolLookup(Struct, frozen=True, kw_only=True):
    """The file of a tool (None when not found), the places searched, and a reason when there is more to report."""

    path: Path | None
    searched: tuple[str, ...] = ()
    reason: str = ""
    hint: str | None = None
    pack: str | None = None
    hidden: str | None = None
    """A file of that name in ``tools`` of a directory that is not searched, when pack ``pack`` provides it instead."""


def find_tool(name: str, *, base: Path, project: Project | None, packs: Mapping[str, ToolPack]) -> ToolLookup:
    """Return the first file that provides ``name``; simple names never lead out of the directories searched."""
    entry = name.replace("\\", "/")
    searched: list[str] = []
    for candidate in _files(entry, base=base, project=project):
        searched.append(str(candidate))
        if yaml.is_file(candidate):
            return ToolLookup(path=candidate, searched=tuple(searched))
    if not _is_simple_name(entry) or ("/" in entry and entry.endswith(SUFFIX)):
        return ToolLookup(path=None, searched=tuple(searched), hint=_near_file(entry, base=base))
    parts = entry.split("/")
    holders = [
        (pack.name, pack.directory / f"{parts[-1]}{SUFFIX}")
        for pack in packs.values()
        if len(parts) == 1 or (len(parts) == 2 and parts[0] == pack.name)
    ]
    hits = [(pack, file) for pack, file in holders if yaml.is_file(file)]
    if len(hits) > 1:
        names = ", ".join(f"{pack}/{parts[-1]}" for pack, _ in sorted(hits))
        return ToolLookup(path=None, searched=tuple(searched), reason=f"several packs have it: write one of {names}")
    searched += [f"pack {pack}" for pack, _ in sorted(holders)]
    hint = None
    if len(parts) == 2 and parts[0] not in packs:
        near = suggest(entry, _available(2, base=base, project=project, packs=packs)) or suggest(
            parts[0], sorted(packs)
        )
        hint = f"{near + '; ' if near else ''}{would_be_called(provider_of(TOOLS, parts[0]))}"
    elif not hits:
        hint = suggest(entry, _available(len(parts), base=base, project=project, packs=packs))
    if not hits:
        return ToolLookup(path=None, searched=tuple(searched), hint=hint)
    pack, file = hits[0]
    hidden = _hidden(entry, base=base) if len(parts) == 1 else None
    return ToolLookup(path=file, searched=tuple(searched), pack=pack, hidden=hidden)


def _near_file(entry: str, *, base: Path) -> str | None:
    """Return a hint with the file of a tool that a path may mean, in the directory that it names."""
    lead = entry[: len(entry) - len(PurePosixPath(entry).name)]
    try:
        return suggest(entry, sorted(lead + file.name for file in (base / lead).glob(f"*{SUFFIX}")))
    except (OSError, ValueError):  # a name that no directory can have
        return None


def _hidden(entry: str, *, base: Path) -> str | None:
    """Return the path, from ``base``, of a tool's file that an author may mean: above ``base``, or where gert runs."""
    here = base.absolute()
    for directory in (Path.cwd(), *here.parents):
        if directory != here and yaml.is_file(directory / "tools" / f"{entry}{SUFFIX}"):
            return os.path.relpath(directory / "tools" / f"{entry}{SUFFIX}", here)
    return None


def _available(parts: int, *, base: Path, project: Project | None, packs: Mapping[str, ToolPack]) -> list[str]:
    """Return the names of one part, or of several, that would be found."""
    folders = [(f"{pack.name}/" if parts > 1 else "", pack.directory) for pack in packs.values()]
    if parts == 1:
        folders += [("", base / "tools"), *([("", project.tools_dir)] if project is not None else [])]
    return sorted({lead + f.name.removesuffix(SUFFIX) for lead, folder in folders for f in folder.glob(f"*{SUFFIX}")})


def _files(entry: str, *, base: Path, project: Project | None) -> Iterator[Path]:
    if _is_simple_name(entry):
        yield base / "tools" / f"{entry}{SUFFIX}"
        if project is not None:
            yield project.tools_dir / f"{entry}{SUFFIX}"
    if "/" in entry:
        yield base / entry


def _is_simple_name(entry: str) -> bool:
    return not entry.startswith("/") and all(
        _SEGMENT.fullmatch(part) and ".." not in part for part in PurePosixPath(entry).parts
    )


__all__ = ["SUFFIX", "ToolLookup", "find_tool"]
