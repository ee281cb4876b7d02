"""Read the runbooks that steps include, each once, with what is wrong with the way to them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.api.steps import Block
from gert_core.documents import yaml
from gert_core.documents.kinds import VERSIONS, DocumentKind
from gert_core.documents.load import Loaded, read_runbook
from gert_core.documents.model_errors import diagnose
from gert_core.documents.project import find_project
from gert_core.documents.tree import BlockNode, Included
from gert_core.kit.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Diagnostic, Include
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path as Place
    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.plugin.registry import Registry

MAX_DEPTH: Final = 10
"""How deep runbooks may include each other."""
MAX_COUNT: Final = 1000
"""How many runbooks one runbook may include in all, those that are included several times counted each time."""
NOT_FOUND: Final = "runbook-not-found"
CYCLE: Final = "runbook-cycle"


class LoadedInclude(Struct, kw_only=True, eq=False):
    """What was read of an included runbook.

    ``height`` is the number of levels from it to the deepest below it, ``count`` how many runbooks it is with those.
    """

    name: str
    loaded: Loaded
    project: Project | None = None
    height: int = 1
    count: int = 1
    included: Included | None = None

    def as_included(self) -> Included:
        """Return it as a complete runbook; always the same one."""
        assert self.loaded.runbook is not None  # noqa: S101 - asked by the caller
        if self.included is None:
            self.included = Included(name=self.name, runbook=self.loaded.runbook, project=self.project)
        return self.included


class IncludeLoader:
    """Loader of everything that one runbook includes, at any depth; a file is read once however it is reached."""

    def __init__(self, document: yaml.Document, *, registry: Registry) -> None:
        self._registry = registry
        self._base = _directory(document)
        self._found: dict[Path, LoadedInclude] = {}
        self._open = [(_resolved(document.path), document.file)] if document.path is not None else [(Path(), "")]
        self._heights = [0]
        self._counts = [0]

    @property
    def all(self) -> tuple[LoadedInclude, ...]:
        """Everything that was read, in the order in which it is first included."""
        return tuple(self._found.values())

    def read(self, steps: Sequence[StepNode], runbook: Runbook, project: Project | None) -> list[Diagnostic]:
        """Read what the steps of a runbook include and give it to them; return the findings at these steps."""
        findings: list[Diagnostic] = []
        for step in steps:
            for number, include in enumerate(runbook.functions.includes(step)):
                found = self._find(runbook.document, project, include, (*step.path, *include.at))
                if not isinstance(found, LoadedInclude):
                    findings.append(found)
                elif found.loaded.runbook is not None:
                    step.includes.append(_block(step, number, include, found))
        return findings

    def _find(
        self, document: yaml.Document, project: Project | None, include: Include, place: Place
    ) -> LoadedInclude | Diagnostic:
        """Return an included runbook, or the finding because of which there is none."""

        def finding(rule: str, message: str, hint: str | None = None) -> Diagnostic:
            return diagnose(document, place, rule=rule, message=message, phase=2, hint=hint)

        if "{{" in include.path or not include.path:
            hint = "choose between runbooks with steps, each of which names one"
            return finding(NOT_FOUND, "the path of an included runbook is written out, without templates", hint)
        path = _directory(document) / include.path
        key = _resolved(path)
        known = self._found.get(key)
        names = [name for opened, name in self._open if opened == key]
        if names:
            start = next(n for n, (opened, _) in enumerate(self._open) if opened == key)
            circle = " -> ".join([name for _, name in self._open[start:]] + names)
            return finding(CYCLE, f"runbooks include each other in a circle: {circle}", "remove one of these steps")
        if len(self._open) - 1 + (known.height if known is not None else 1) > MAX_DEPTH:
            hint = "call some of them one after another instead"
            return finding(CYCLE, f"runbooks include each other more than {MAX_DEPTH} levels deep", hint)
        if known is None:
            try:
                child = yaml.load(path)
            except UsageError as error:
                return finding(NOT_FOUND, f"runbook `{include.path}`: {error.message}", _near(path, include.path))
            if isinstance(other := _other_kind(child), str):
                return finding(NOT_FOUND, f"`{include.path}` is not a runbook: its `apiVersion` is `{other}`")
            known = self._load(key, child, project)
        if self._counts[-1] + known.count > MAX_COUNT:
            hint = "call some of them by runs of their own instead"
            return finding(CYCLE, f"this would be more than {MAX_COUNT:,} included runbooks in all", hint)
        self._counts[-1] += known.count
        self._heights[-1] = max(self._heights[-1], known.height)
        return known

    def _load(self, key: Path, document: yaml.Document, around: Project | None) -> LoadedInclude:
        project = find_project(key)
        if project is not None and around is not None and _resolved(project.root) == _resolved(around.root):
            project = around  # spelled as everywhere else
        name = Path(os.path.relpath(key, self._base.resolve())).as_posix()
        self._open.append((key, document.file))
        self._heights.append(0)
        self._counts.append(0)
        loaded = read_runbook(document, registry=self._registry, project=project, includes=self)
        self._open.pop()
        height, count = 1 + self._heights.pop(), 1 + self._counts.pop()
        found = LoadedInclude(name=name, loaded=loaded, project=project, height=height, count=count)
        self._found[key] = found
        return found


def _block(step: StepNode, number: int, include: Include, found: LoadedInclude) -> BlockNode:
    """Return an included runbook as a block of a step; its path is that of no field."""
    raw = found.loaded.document.value["steps"]
    return BlockNode(
        block=Block(name=include.path, steps=raw, boundary=True),
        steps=[],
        path=(*step.path, "@", number),
        owner=step,
        included=found.as_included(),
    )


def _other_kind(document: yaml.Document) -> str | None:
    """Return the ``apiVersion`` of a document of another kind, such as a tool; None for what may be a runbook."""
    version = document.value.get("apiVersion") if isinstance(document.value, dict) else None
    kind = VERSIONS.get(version) if isinstance(version, str) else None
    return version if kind not in (None, DocumentKind.RUNBOOK) else None


def _directory(document: yaml.Document) -> Path:
    return document.path.parent if document.path is not None else Path()


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links, or a name that no file can have
        return path


def _near(path: Path, written: str) -> str:
    """Return the file that may be meant, with the directory as it is written."""
    lead = written[: len(written) - len(path.name)] if written.endswith(path.name) else ""
    try:
        files = {one.stem: lead + one.name for one in path.parent.iterdir() if one.suffix in (".yaml", ".yml")}
    except (OSError, ValueError):
        files = {}
    near = nearest(path.stem, sorted(files))  # directory and suffix are alike in any case
    return (
        f"did you mean `{files[near]}`?"
        if near
        else "the path starts at the directory of the file that it is written in"
    )


__all__ = ["MAX_DEPTH", "IncludeLoader", "LoadedInclude"]
