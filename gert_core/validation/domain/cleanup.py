"""Check cleanup: the variables of its blocks, what is defined after them, and that `finally` does not end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.validation.domain.context import FAILURE
from gert_core.validation.domain.environment import Entry, perhaps
from gert_core.validation.domain.flow import may_fail
from gert_core.validation.domain.shapes import Shape, declared_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.tree import BlockNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Key
    from gert_core.validation.domain.variables import VariableWalk

    Changes = Mapping[Key, Entry]

_TEXT: Final = declared_shape("string")
_FAILURE: Final = Shape("object", fields=dict.fromkeys(("step", "key", "kind", "message", "status"), _TEXT))


def clean_up(
    walk: VariableWalk, blocks: Sequence[BlockNode], cleanup: Sequence[BlockNode], done: Changes, *, continues: bool
) -> None:
    """Walk cleanup blocks and define what exists after them.

    ``done`` is what ``blocks`` set when they come to their end. ``continues``: the run goes on after a failure too.
    """
    env, flow = walk.env, walk.ctx.flow
    stops = any(may_fail(block) for block in blocks)
    ways: list[Changes] = [done] if all(flow.of(block).falls for block in blocks) else []
    tried = _perhaps(walk, done) if stops else dict(done)
    always: dict[Key, Entry] = {}
    for block in cleanup:
        outer = env.mark()
        _set(walk, tried)
        inner = env.mark()
        env.set(FAILURE, Entry(_FAILURE, holds=block.handles))  # what always runs also does when nothing failed
        walk.walk(block, sure=True)
        changed = {key: entry for key, entry in env.rewind(inner).items() if key != FAILURE}
        env.rewind(outer)
        if not block.handles:
            always |= changed
        elif flow.of(block).falls:
            ways.append({**tried, **changed})
        tried = {**tried, **_perhaps(walk, changed)}
    env.merge([*ways, tried] if continues else ways, every=False)
    _set(walk, _perhaps(walk, always) if continues else always)


def _perhaps(walk: VariableWalk, changes: Changes) -> dict[Key, Entry]:
    return {key: perhaps(entry, walk.env.names.get(key)) for key, entry in changes.items()}


def _set(walk: VariableWalk, changes: Changes) -> None:
    for key, entry in changes.items():
        walk.env.set(key, entry)


def check_no_end(ctx: Context, block: BlockNode, *, cleanup: str = "") -> None:
    """Report steps that would end the run in cleanup that always runs: the outcome is decided before it."""
    cleanup = cleanup or str(block.path[-1])
    for step in block.steps:
        if step.type.flow is Flow.TERMINAL:
            ctx.add(
                "end-in-finally",
                f"step `{step.id}` would end the run inside `{cleanup}`, which runs whatever the outcome is",
                path=step.path,
                hint="remove it; the run ends by a step outside of `finally`",
            )
        for inner in step.blocks:
            check_no_end(ctx, inner, cleanup=cleanup)


__all__ = ["check_no_end", "clean_up"]
