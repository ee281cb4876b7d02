"""The records of a graph: a runbook as lists of steps, each with how it runs and, of a run, what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


class GraphJump(Struct, frozen=True, kw_only=True):
    """Where the run goes on after a step instead of at the next one: the key of a step of the same list."""

    to: str
    label: str = ""
    """The bound of the jump, such as ``max 3``."""

    def to_json(self) -> dict[str, object]:
        """Return the jump as the graph's JSON has it."""
        return {"to": self.to, "label": self.label}


class GraphStep(Struct, frozen=True, kw_only=True):
    """One step; ``key`` is its id behind those of the steps around it, unique in the graph.

    All texts are as the author wrote them and may hold any character: each format escapes them.
    """

    key: str
    step_id: str
    type: str
    flow: str
    line: int
    file: str
    named: bool = True
    """Whether the author gave it its id."""
    description: str = ""
    detail: str = ""
    """What it does: the tool and action, the program or the outcome."""
    when: str = ""
    loop: str = ""
    notes: tuple[str, ...] = ()
    """What else decides about its way: attempts, an approval it demands, that a failure does not stop the run."""
    continues: bool = True
    """Whether the next step of the list may follow it."""
    jump: GraphJump | None = None
    blocks: tuple[GraphBlock, ...] = ()
    status: str = ""
    """Its status in the run that is shown; empty without a run, or when it did not run."""
    runs: int = 0
    """How often it ran: items of a loop, rounds and visits."""

    @property
    def guarded(self) -> bool:
        """Whether it may be skipped by its ``when``."""
        return bool(self.when)

    def to_json(self) -> dict[str, object]:
        """Return the step as the graph's JSON has it."""
        return {
            "key": self.key,
            "step_id": self.step_id,
            "type": self.type,
            "flow": self.flow,
            "file": self.file,
            "line": self.line,
            "description": self.description,
            "detail": self.detail,
            "when": self.when,
            "loop": self.loop,
            "notes": list(self.notes),
            "continues": self.continues,
            "jump": self.jump.to_json() if self.jump else None,
            "blocks": [block.to_json() for block in self.blocks],
            "status": self.status or None,
            "runs": self.runs,
        }


class GraphBlock(Struct, frozen=True, kw_only=True):
    """One list of steps: of the runbook (without a name), of its cleanup, of a step, or a runbook that is included."""

    name: str = ""
    steps: tuple[GraphStep, ...] = ()
    condition: str = ""
    """What selects it among the blocks of its step: ``if ...``, or a word for all other cases."""
    label: str = ""
    """How often it runs, where that is not once."""
    repeats: bool = False
    cleanup: bool = False
    handles: bool = False
    """Whether it is cleanup that runs only after a failure."""
    after: tuple[str, ...] = ()
    """The blocks of the same step that it waits for."""
    jump: GraphJump | None = None
    included: str = ""
    """The runbook that it stands for, as the step names it."""
    falls: bool = True
    """Whether the run may go on behind its last step."""

    def to_json(self) -> dict[str, object]:
        """Return the block as the graph's JSON has it."""
        return {
            "name": self.name,
            "condition": self.condition,
            "label": self.label,
            "repeats": self.repeats,
            "cleanup": self.cleanup,
            "handles": self.handles,
            "after": list(self.after),
            "jump": self.jump.to_json() if self.jump else None,
            "included": self.included or None,
            "continues": self.falls,
            "steps": [step.to_json() for step in self.steps],
        }


class Graph(Struct, frozen=True, kw_only=True):
    """A runbook as a graph; ``blocks`` are its steps and its cleanup."""

    name: str
    file: str
    description: str = ""
    blocks: tuple[GraphBlock, ...] = ()
    run_id: str = ""
    run_status: str = ""

    def walk(self) -> Iterator[GraphStep]:
        """Yield every step at any depth, in the order of the documents."""
        stack = [step for block in reversed(self.blocks) for step in reversed(block.steps)]
        while stack:
            step = stack.pop()
            yield step
            stack += [inner for block in reversed(step.blocks) for inner in reversed(block.steps)]

    def render(self, form: str = "text") -> str:
        """Return it as text: ``text``, ``mermaid``, ``dot`` or ``svg``."""
        from gert_core.graph.formats import render

        return render(self, form)

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert graph --json``."""
        return {
            "name": self.name,
            "file": self.file,
            "description": self.description,
            "run_id": self.run_id or None,
            "run_status": self.run_status or None,
            "blocks": [block.to_json() for block in self.blocks],
        }


__all__ = ["Graph", "GraphBlock", "GraphJump", "GraphStep"]
