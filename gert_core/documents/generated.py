"""Digests of blocks that step types generate: the hash of the runbook's file does not cover their steps."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, Runbook, StepNode


def generated_digests(runbook: Runbook) -> dict[str, str]:
    """Return ``sha256:...`` of the blocks of every step that has a generated block, by step id."""
    return {step.id: _digest(step) for step in runbook.walk() if step.blocks and any(map(_is_generated, step.blocks))}


def _is_generated(block: BlockNode) -> bool:
    """Return whether the block's list is not in the document; its path is then that of its step and a number."""
    assert block.owner is not None  # noqa: S101 - asked of the blocks of a step
    return block.path[:-1] == block.owner.path and isinstance(block.path[-1], int)


def _digest(step: StepNode) -> str:
    listed = [
        {
            "name": node.name,
            "runs": node.block.runs,
            "binds": dict(node.block.binds),
            "condition": node.block.condition,
            "jump": node.block.jump,
            "steps": list(node.block.steps),
            **({"cleanup": True} if node.cleanup else {}),
        }
        for node in step.blocks
        if node.block is not None
    ]
    # A type may put values into its steps that JSON does not have, such as a path.
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


__all__ = ["generated_digests"]
