"""A runbook as a tree: steps, blocks and tools with their positions in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Block, Contract, StepType
    from gert_core.documents.project import Project
    from gert_core.documents.runbook import RunbookModel, StepFields
    from gert_core.documents.tool import ToolModel
    from gert_core.documents.type_functions import TypeFunctions
    from gert_core.documents.yaml import Document, Map
    from gert_core.kit.models import StepModel

Path = tuple[str | int, ...]
"""Where a step or block stands in its document; no two of them have the same."""

ITSELF: Final = "tool"
"""In a tool's file, the tool itself: `.tool.dir` in templates, and a value of `meta.cwd`."""


class StepNode(Struct, kw_only=True, eq=False):
    """One step of the document: ``fields`` are the common ones, ``body`` the type's own, both unrendered."""

    id: str
    named: bool
    type: StepType
    fields: StepFields
    body: StepModel
    raw: Map
    path: Path
    blocks: list[BlockNode] = field(default_factory=list)
    within: BlockNode | None = None
    index: int = 0
    claimed: bool = False
    """Whether a type other than the written one has taken the step over."""
    includes: list[BlockNode] = field(default_factory=list)
    """The runbooks that the step includes; their steps are not among those of this document."""

    @property
    def in_cleanup(self) -> bool:
        """Whether it is in a cleanup block, at any depth."""
        block = self.within
        while block is not None and not block.cleanup:
            block = block.owner.within if block.owner is not None else None
        return block is not None

    def limited_by(self) -> StepNode | None:
        """Return the nearest step around it, and around no cleanup, whose shorter time limit makes its own useless."""
        own, block = self.fields.timeout, self.within
        while own is not None and block is not None and block.owner is not None and not block.cleanup:
            owner, block = block.owner, block.owner.within
            limit = owner.fields.timeout
            if limit is not None and limit < own and "timeout" not in owner.type.owns:
                return owner
        return None

    def loops_around(self) -> Iterator[Path]:
        """Yield the paths of the loops that the step is inside: steps with ``for_each``, and blocks that repeat."""
        block = self.within
        while block is not None and block.owner is not None:
            if block.repeats:
                yield block.path
            if block.owner.fields.for_each is not None:
                yield block.owner.path
            block = block.owner.within

    def inside(self) -> Iterator[StepNode]:
        """Yield the steps inside it at any depth, except those of loops inside it."""
        for block in self.blocks:
            for step in () if block.repeats else block.steps:
                yield step
                if step.fields.for_each is None:
                    yield from step.inside()


class BlockNode(Struct, kw_only=True, eq=False):
    """One list of steps: the runbook's own or its cleanup (``owner`` None), or a block of a step."""

    block: Block | None
    steps: list[StepNode]
    path: Path
    owner: StepNode | None = None
    included: Included | None = None
    """The runbook that the block stands for; its own ``steps`` are none then."""

    @property
    def name(self) -> str:
        """The block's label; empty for the runbook's own list."""
        return self.block.name if self.block else ""

    @property
    def cleanup(self) -> bool:
        """Whether it may run after a block that failed, was denied or ended the run."""
        return self.block is not None and self.block.cleanup

    @property
    def handles(self) -> bool:
        """Whether it is a cleanup block that handles failures of the blocks before it."""
        return self.block is not None and self.block.cleanup and self.block.runs[0] < 1

    @property
    def repeats(self) -> bool:
        """Whether it may run several times, so that what its steps set is discarded unless it is exported or kept."""
        return self.block is not None and self.block.runs[1] != 1 and not self.block.keeps


class ToolNode(Struct, kw_only=True, eq=False):
    """A tool a runbook lists, loaded once; ``name`` is the name as listed, ``tool.meta.name`` its own."""

    name: str
    tool: ToolModel
    document: Document
    contracts: dict[str, Contract] = field(default_factory=dict)
    """The merged contract (tool, action, defaults) of every action."""
    cwd: str | None = None
    """The directory its programs start in, by ``meta.cwd``; None: the one gert was started in."""

    @property
    def digest(self) -> str:
        """``sha256:`` and the hash of the file's bytes."""
        return self.document.digest

    @property
    def directory(self) -> str:
        """The directory of its file, ``.tool.dir`` in its templates."""
        from pathlib import Path as FilePath

        return str((self.document.path or FilePath()).parent.resolve())


class Runbook(Struct, kw_only=True, eq=False):
    """A runbook read completely: its model, its steps as a tree and the tools it lists."""

    document: Document
    model: RunbookModel
    root: BlockNode
    functions: TypeFunctions
    """The functions of the types of its steps."""
    tools: dict[str, ToolNode] = field(default_factory=dict)
    by_id: dict[str, StepNode] = field(default_factory=dict)
    cleanup: tuple[BlockNode, ...] = ()
    """The lists that run after the runbook's own: ``on_failure`` and ``finally``, as far as it has them."""
    included: dict[str, Included] = field(default_factory=dict)
    """All runbooks that it includes, at any depth, by their paths; empty for one that is included itself."""

    @property
    def lists(self) -> tuple[BlockNode, ...]:
        """The lists of the runbook itself: its steps and its cleanup."""
        return (self.root, *self.cleanup)

    @property
    def name(self) -> str:
        """``meta.name``."""
        return self.model.meta.name

    @property
    def every_id(self) -> dict[str, StepNode]:
        """The steps of this runbook and of those it includes, by id; its own come first."""
        if not self.included:
            return self.by_id
        found: dict[str, StepNode] = {}
        for one in self.included.values():
            found |= one.runbook.by_id
        return found | self.by_id

    def find(self, key: str) -> tuple[Runbook, StepNode] | None:
        """Return the step of a step key and the runbook it is in: this one, or one that is included on the way."""
        parts = key.split("/")  # the labels of items have no slash: they are quoted
        if not self.included:
            node = self.by_id.get(_step_id(parts[-1]))
            return None if node is None else (self, node)
        book, found, number = self, None, ""
        for part in parts:
            if part.isdigit():
                number = part
            if part.isdigit() or part.startswith("@"):
                continue
            step_id = _step_id(part)
            inner = book.by_id.get(step_id)
            if found is not None and found.includes and (inner is None or not _is_inside(inner, found)):
                book = _entered(found, step_id, number) or book
                inner = book.by_id.get(step_id)
            found = inner
            if found is None:
                return None
        return None if found is None else (book, found)

    def walk(self) -> Iterator[StepNode]:
        """Return every step at any depth, in document order."""
        found: list[StepNode] = []
        for block in self.lists:
            _add_steps(block, found)
        return iter(found)


class Included(Struct, kw_only=True, eq=False):
    """A runbook that steps of other runbooks include, read once."""

    name: str
    """Its path from the directory of the runbook that is run."""
    runbook: Runbook
    project: Project | None = None
    """The project that it belongs to itself."""


def _add_steps(block: BlockNode, found: list[StepNode]) -> None:
    for step in block.steps:
        found.append(step)
        for inner in step.blocks:
            _add_steps(inner, found)


def _step_id(part: str) -> str:
    """Return the id in one part of a step key."""
    return part.partition("[")[0].partition("#")[0]


def _is_inside(step: StepNode, owner: StepNode) -> bool:
    return step.within is not None and step.within.owner is owner


def _entered(step: StepNode, step_id: str, number: str) -> Runbook | None:
    """Return the included runbook that has a step; ``number`` of the block's key decides between several."""
    books = [node.included.runbook for node in step.includes if node.included is not None]
    having = [book for book in books if step_id in book.by_id]
    place = int(number) - len(step.blocks) if number.isdigit() else 0
    likely = books[place] if 0 <= place < len(books) else None
    return likely if likely in having else next(iter(having), None)


__all__ = ["ITSELF", "BlockNode", "Included", "Path", "Runbook", "StepNode", "ToolNode"]
