"""Digests of the documents of a run: the runbook, its tools, blocks that step types generate, and what it includes."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import BlockNode, Runbook, StepNode, ToolNode


def document_digests(runbook: Runbook, policies: Mapping[str, str] | None) -> dict[str, object]:
    """Return what a run records of its documents; one that is resumed with others has drift.

    ``policies`` are the digests of those that included runbooks add, None when nothing is included.
    """
    found: dict[str, object] = {
        "runbook_hash": runbook.document.digest,
        "tool_hashes": tool_digests(runbook),
        "block_hashes": generated_digests(runbook),
    }
    if policies is not None:
        found["include_hashes"] = {name: one.runbook.document.digest for name, one in runbook.included.items()}
        found["include_policies"] = dict(policies)
    return found


def tool_digests(runbook: Runbook) -> dict[str, str]:
    """Return the digests of tools by name; those of included runbooks by path and name, ``sub/stop.yaml:service``."""
    return {name: tool.digest for name, tool in tools_by_key(runbook).items()}


def tools_by_key(runbook: Runbook) -> dict[str, ToolNode]:
    """Return all tools of a runbook and of those it includes, by the keys of their digests."""
    found = dict(runbook.tools)
    for path, included in runbook.included.items():
        found |= {f"{path}:{name}": tool for name, tool in included.runbook.tools.items()}
    return found


def generated_digests(runbook: Runbook) -> dict[str, str]:
    """Return ``sha256:...`` of the blocks of every step that has a generated block, by step id.

    The steps of included runbooks are named by path and id, ``sub/stop.yaml:drain``.
    """
    found = _digests(runbook)
    for path, included in runbook.included.items():
        found |= {f"{path}:{step_id}": digest for step_id, digest in _digests(included.runbook).items()}
    return found


def _digests(runbook: Runbook) -> dict[str, str]:
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


__all__ = ["document_digests", "generated_digests", "tool_digests", "tools_by_key"]
