"""List the variables that each step of a runbook reads, with their types and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.documents.limits import bounds
from gert_core.kit.models import InputsModel
from gert_core.validation.domain.context import Context
from gert_core.validation.domain.facts import FactTable
from gert_core.validation.domain.report import Report
from gert_core.validation.domain.shapes import Shape
from gert_core.validation.domain.variables import VariableWalk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path, Runbook, StepNode
    from gert_core.plugin.registry import Registry
    from gert_core.template import Reference
    from gert_core.validation.domain.expressions import TemplateText

INPUT: Final = "input"
CONSTANT: Final = "constant"


class Read(Struct, frozen=True, kw_only=True):
    """A variable that a step reads: its name, its type as far as it is known, and what may have set it."""

    name: str
    type: str
    sources: tuple[str, ...] = ()
    """``input``, ``constant`` or ids of steps; empty for what gert itself sets, and for what is not known."""
    limits: str = ""
    """The values that an input may have."""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``reads`` in ``gert explain --json``."""
        found: dict[str, object] = {"name": self.name, "type": self.type, "from": list(self.sources)}
        return found | {"limits": self.limits} if self.limits else found


def variables_read(
    runbook: Runbook, *, registry: Registry, project: Project | None, environ: Mapping[str, str]
) -> dict[Path, tuple[Read, ...]]:
    """Return what every step reads, by its path, in the order in which it is read first."""
    ctx = Context(runbook, registry=registry, project=project, environ=environ, report=Report())
    walk = VariableWalk(ctx, FactTable(runbook))
    noted = _Noted(walk)
    walk.refs.note = noted.note
    walk.run()
    return {path: tuple(found.values()) for path, found in noted.steps.items()}


class _Noted:
    """What is read by each step, noted while the templates of a runbook are checked."""

    def __init__(self, walk: VariableWalk) -> None:
        self._walk = walk
        self._runbook = walk.ctx.runbook
        self.steps: dict[Path, dict[str, Read]] = {}

    def note(self, step: StepNode | None, _: TemplateText, references: Sequence[Reference]) -> None:
        if step is None:
            return
        found = self.steps.setdefault(step.path, {})
        for path in (*spread(step), *(reference.path for reference in references)):
            name = "." + ".".join(path)
            if name not in found:
                shape = self._walk.refs.find(path)
                value_type = shape.kind if isinstance(shape, Shape) else "any"
                sources = self._sources(path)
                limits = bounds(self._runbook.model.meta.inputs[path[0]]) if sources == (INPUT,) else ""
                found[name] = Read(name=name, type=value_type, sources=sources, limits=limits)

    def _sources(self, path: Sequence[str]) -> tuple[str, ...]:
        names, head = self._walk.env.names, path[0]
        if head == "step" and head not in names and len(path) > 1:
            return (path[1],)
        entry = names.get(head)
        steps = tuple(dict.fromkeys(step.id for step in entry.steps())) if entry is not None else ()
        if steps or head in self._runbook.by_id:
            return steps or (head,)
        meta = self._runbook.model.meta
        return (INPUT,) if head in meta.inputs else (CONSTANT,) if head in meta.constants else ()


def spread(step: StepNode) -> list[tuple[str, ...]]:
    """Return the variables whose members are the inputs of a step."""
    given = step.body.inputs_from if isinstance(step.body, InputsModel) else None
    sources = [given] if isinstance(given, str) else given or []
    return [tuple(source.removeprefix(".").split(".")) for source in sources if "{{" not in source]


__all__ = ["CONSTANT", "INPUT", "Read", "spread", "variables_read"]
